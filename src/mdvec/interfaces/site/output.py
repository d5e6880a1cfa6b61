"""The folder of a site: unchanged files are not written again, and files no longer needed are removed."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Self

from mdvec.config.paths import user_data_dir
from mdvec.config.trust import write_private
from mdvec.errors import SiteError

_MARK = ".mdvec-site"
_MARK_TEXT = re.compile(r"[0-9a-f]{32}")


@contextlib.contextmanager
def explained(path: Path, done: str, hint: str | None = None) -> Iterator[None]:
    """Name a file or folder that cannot be read or written.

    Raises:
        SiteError: If it cannot.
    """
    try:
        yield
    except OSError as error:
        msg = f"{path} cannot be {done}: {error.strerror or error}"
        raise SiteError(msg, hint=hint) from error


class Output:
    """Writes the files of one build; a context manager.

    Files of an earlier build that this one does not write are removed at the end. Other files stay. The list
    of files is among the user's data, under a random number that is also in the folder: nothing that somebody
    else put there passes as ours.

    Attributes:
        written: Files that are new or changed.
        removed: Files that are gone.

    Raises:
        SiteError: If the folder holds something, and no build wrote it; or if a link in it leads outside.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._inside = folder.resolve()
        self._mark, self._before = self._remembered()
        for place in self._before:
            self._path(place)  # before anything is written
        self._now: set[str] = set()
        self.written = 0
        self.removed = 0

    def __enter__(self) -> Self:
        """Mark the folder as ours, so that the build after a killed one accepts it."""
        self._remember(self._before)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove files that are no longer needed, unless the build was interrupted."""
        if error is None:
            for place in self._before - self._now:
                self._remove(place)
        self._remember(self._now if error is None else self._before | self._now)

    def empty(self, place: str) -> None:
        """At the end, remove all files of a folder that this build does not write, even those of others.

        Raises:
            SiteError: If the folder is elsewhere.
        """
        for root, folders, files in os.walk(self._path(place)):
            links = [name for name in folders if Path(root, name).is_symlink()]
            found = [Path(root, name).relative_to(self._folder) for name in (*files, *links)]
            self._before.update(each.as_posix() for each in found)

    def write(self, place: str, content: bytes) -> None:
        """Write a file, unless it has this content.

        Raises:
            SiteError: If it cannot be written.
        """
        self._now.add(place)
        path = self._path(place)
        with explained(path, "written", "Choose another folder with -o."):
            if path.is_file() and path.read_bytes() == content:
                return
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        self.written += 1

    def _path(self, place: str) -> Path:
        """Return the file of a place; neither a link nor a list of files may lead out of the folder.

        Raises:
            SiteError: If it is elsewhere.
        """
        path = self._folder / PurePosixPath(place)
        if not path.resolve().is_relative_to(self._inside):
            msg = f"{path} is outside {self._folder}"
            raise SiteError(msg, hint="Choose an empty folder with -o.")
        return path

    def _remove(self, place: str) -> None:
        path = self._folder / PurePosixPath(place)
        path.unlink(missing_ok=True)
        self.removed += 1
        with contextlib.suppress(OSError):  # until one that is not empty
            for folder in path.relative_to(self._folder).parents[:-1]:
                (self._folder / folder).rmdir()

    def _remembered(self) -> tuple[str, set[str]]:
        """Return the mark of the folder, and the files that earlier builds wrote into it.

        Raises:
            SiteError: If it holds something else.
        """
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            mark = (self._folder / _MARK).read_text(encoding="ascii")
            if _MARK_TEXT.fullmatch(mark):
                record = json.loads(_record(mark).read_bytes())
                if record["folder"] == str(self._inside):
                    return mark, set(map(str, record["files"]))
        if self._folder.is_dir() and any(self._folder.iterdir()):
            msg = f"{self._folder} contains files that 'mdvec site build' did not write here"
            raise SiteError(msg, hint="Choose an empty folder with -o, or remove this one.")
        return secrets.token_hex(16), set()

    def _remember(self, places: set[str]) -> None:
        record = {"folder": str(self._inside), "files": sorted(places)}
        try:
            write_private(_record(self._mark), json.dumps(record).encode())
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / _MARK).write_text(self._mark, encoding="ascii")
        except OSError as error:
            msg = f"what is written into {self._folder} cannot be remembered: {error}"
            raise SiteError(msg, hint=f"Make it and {user_data_dir()} writable.") from error


def _record(mark: str) -> Path:
    return user_data_dir() / "sites" / f"{mark}.json"
