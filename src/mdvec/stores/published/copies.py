"""Versions on this machine, shared by all its processes: one of them fetches, all search one file."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from mdvec.errors import WriterBusyError
from mdvec.locks import locked
from mdvec.stores.published.dataset import LocalFile, Manifest, fetch
from mdvec.stores.published.places import Place, translated

_WAIT_S: Final = 600.0  # for another process that fetches the same version
_NAME_CHARS: Final = 16  # of the hash of a manifest


class LocalCopies:
    """The copies of one place, in a folder that is its owner's alone, and made when it is needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def newest(self) -> LocalFile | None:
        """Return the newest version that is here; None without one."""
        return next(iter(self._found()), None)

    def bring(self, place: Place, manifest: Manifest, prepare: Callable[[Path], None]) -> LocalFile:
        """Return the copy of a version, fetching what is not here; no reader sees it before it is prepared.

        The copy before it stays, for processes that still search it; older ones are removed.

        Raises:
            DatabaseFullError: If there is no space for it.
            WriterBusyError: If another process has been fetching it for too long.
            StoreError: If it cannot be fetched or kept.
        """
        copy = LocalFile(self._path(manifest), manifest)
        if copy.path.exists():
            return copy
        when_full = "Free some space: two versions are kept there."
        hint = "Name another folder in [store.published] cache_dir."
        with translated(self._folder, when_full=when_full, hint=hint):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with locked(self._folder / "lock", wait_s=_WAIT_S) as held:
                if not held:
                    msg = f"another process has been fetching {place.location} for too long"
                    raise WriterBusyError(msg)
                if not copy.path.exists():
                    self._fetch(place, copy, prepare)
        return copy

    def _fetch(self, place: Place, copy: LocalFile, prepare: Callable[[Path], None]) -> None:
        before = self.newest()
        new = self._folder / "new"
        self._remove(new)  # of a process that was killed
        os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        try:
            fetch(place, copy.manifest, new, before)
            prepare(new)
        except BaseException:  # half a copy would fill a disk that is nearly full
            self._remove(new)
            raise
        about = copy.path.with_suffix(".json")
        about.write_bytes(msgspec.json.encode(copy.manifest))
        new.replace(copy.path)
        for other in self._found():
            if other != copy and other != before:
                self._remove(other.path)
                other.path.with_suffix(".json").unlink(missing_ok=True)

    def _found(self) -> Iterator[LocalFile]:
        """Yield the versions that are here, from the newest on."""
        for path in sorted(self._folder.glob("*.sqlite"), reverse=True):
            with contextlib.suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError):
                about = path.with_suffix(".json").read_bytes()
                yield LocalFile(path, msgspec.json.decode(about, type=Manifest))

    def _path(self, manifest: Manifest) -> Path:
        # A place that was emptied and begins with 1 again has other versions of the same numbers.
        digest = hashlib.sha256(msgspec.json.encode(manifest)).hexdigest()[:_NAME_CHARS]
        return self._folder / f"{manifest.number:010}-{digest}.sqlite"

    def _remove(self, path: Path) -> None:
        """Remove a file with its companions; one that is in use on Windows stays until the next time."""
        for each in self._folder.glob(f"{path.name}*"):
            with contextlib.suppress(OSError):
                each.unlink()
