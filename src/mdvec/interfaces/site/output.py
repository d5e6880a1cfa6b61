"""The folder of a project: unchanged files are not written again, and files no longer needed are removed."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Self

from mdvec.errors import SiteError

_MANIFEST = ".vitepress/mdvec-files.json"


class Output:
    """Writes the files of one build; a context manager.

    Files of an earlier build that this one does not write are removed at the end. Files that no build wrote,
    such as ``node_modules`` or a theme of the user's, stay.

    Attributes:
        written: Files that are new or changed.
        removed: Files that are gone.

    Raises:
        SiteError: If the folder holds something, and no build wrote it; or if what a build is said to have
            written is outside the folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._inside = folder.resolve()
        self._before = self._read_manifest()
        for place in self._before:
            self._path(place)  # before anything is written
        self._now: set[str] = set()
        self.written = 0
        self.removed = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove files that are no longer needed, unless the build was interrupted."""
        if error is None:
            for place in self._before - self._now:
                self._remove(place)
        self._write_manifest(self._now if error is None else self._before | self._now)

    def write(self, place: str, content: bytes) -> None:
        """Write a file, unless it has this content.

        Raises:
            SiteError: If it cannot be written.
        """
        self._now.add(place)
        path = self._path(place)
        try:
            if path.is_file() and path.read_bytes() == content:
                return
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        except OSError as error:
            msg = f"{path} cannot be written: {error.strerror or error}"
            raise SiteError(msg, hint="Choose another folder with -o.") from error
        self.written += 1

    def _path(self, place: str) -> Path:
        """Return the file of a place; no link and no manifest of others may lead out of the folder.

        Raises:
            SiteError: If it is elsewhere.
        """
        path = self._folder / PurePosixPath(place)
        if not path.resolve().is_relative_to(self._inside):
            msg = f"{path} is outside {self._folder}"
            raise SiteError(msg, hint="Somebody else made this project. Choose an empty folder with -o.")
        return path

    def _remove(self, place: str) -> None:
        path = self._folder / PurePosixPath(place)
        path.unlink(missing_ok=True)
        self.removed += 1
        for folder in path.parents:
            if folder == self._folder or any(folder.iterdir()):
                break
            folder.rmdir()

    def _read_manifest(self) -> set[str]:
        try:
            return set(map(str, json.loads((self._folder / _MANIFEST).read_text(encoding="utf-8"))))
        except FileNotFoundError:
            if self._folder.is_dir() and any(self._folder.iterdir()):
                msg = f"{self._folder} contains files that 'mdvec site build' did not write"
                raise SiteError(msg, hint="Choose an empty folder with -o.") from None
            return set()
        except (OSError, ValueError, TypeError) as error:
            msg = f"{self._folder / _MANIFEST} cannot be read: {error}"
            raise SiteError(msg, hint="Remove the folder, or choose another one with -o.") from error

    def _write_manifest(self, places: set[str]) -> None:
        path = self._folder / _MANIFEST
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(sorted(places), ensure_ascii=False, indent=0), encoding="utf-8")
