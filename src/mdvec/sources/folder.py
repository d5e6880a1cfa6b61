"""A folder of files as a source of documents."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from mdvec.errors import SourceError, SourceMissingError, UnreadableFileError
from mdvec.files import expanded, inside, read_regular, resolved, system_path
from mdvec.sources.events import watched_folders
from mdvec.sources.files import reason
from mdvec.sources.interface import Source
from mdvec.sources.links import follow_links
from mdvec.sources.scan import IGNORE_FILES, Folder, Scan
from mdvec.sources.selection import ScanSettings, Selection
from mdvec.text.folding import nfc, spelled
from mdvec.text.hashing import content_hash
from mdvec.types.change import Listing, SourceEntry
from mdvec.types.folder_context import CONTEXT_FILE

_DEFAULTS = ScanSettings()


class FolderSource(Source):
    """Lists and reads the files below a folder.

    ``.gitignore`` and ``.mdvecignore`` apply in their folder and below, as in git. Nothing outside the folder
    is read, except through links that the user chose, and only regular files are opened. A glob to exclude
    without ``/`` also leaves out every folder of that name.
    """

    def __init__(
        self,
        *,
        location: str,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        scan: ScanSettings = _DEFAULTS,
        cache_dir: Path | None = None,  # noqa: ARG002 - every source receives it
    ) -> None:
        self._location = str(Path(location).absolute())
        self._selection = Selection.parse(scan, include=include, exclude=exclude)

    @staticmethod
    def parse(location: str) -> str:
        """Return the absolute path of a folder, links followed; ``~`` is the home directory.

        Raises:
            SourceMissingError: If there is no such folder.
        """
        path = expanded(location)
        if not path.is_dir():
            msg = f"{location} is not a folder"
            raise SourceMissingError(msg, hint="Give a folder that exists.")
        return str(path.resolve())

    def list(self) -> Listing:
        """List everything once; only ignore files are opened."""
        return self._scan().listing()

    def is_here(self) -> bool:
        return Path(self._location).is_dir()

    def folders(self) -> Sequence[str]:
        scan = self._scan()
        within = [f"{scan.root}/{real}".rstrip("/") for real in scan.entered if not real.startswith("../")]
        return watched_folders(scan.root, within)

    def concerned(self, path: str) -> Sequence[str]:
        """Return the documents that an event may concern; a path that is gone may have been a folder."""
        # The system spells the folder as its disk does, which macOS and Windows let people write otherwise.
        place = inside(path, os.path.realpath(self._location), key=lambda name: nfc(name).casefold())
        if place is None:
            return []
        relative = nfc(spelled(place))
        if place.rpartition("/")[2] in (*IGNORE_FILES, CONTEXT_FILE):
            return [relative]
        try:
            mode = os.lstat(system_path(path)).st_mode
        except (OSError, ValueError):
            mode = stat.S_IFLNK
        match stat.S_IFMT(mode):
            case stat.S_IFDIR:
                return [f"{relative}/"]
            case stat.S_IFLNK:
                return [relative, f"{relative}/"]
            case _:
                return [] if self._selection.extension_rule(place) else [relative]

    def _scan(self) -> Scan:
        try:
            root = self._root()
            identity = _identity(root)
            scan = Scan(root, self._selection)
            scan.walk(Folder())
            if scan.links:
                follow_links(scan)
            if _identity(root) != identity:
                msg = f"the folder {self._location} was replaced while it was listed"
                raise SourceMissingError(msg)
        except FileNotFoundError as error:
            msg = f"there is no folder {self._location}"
            raise SourceMissingError(msg) from error
        except NotADirectoryError as error:
            msg = f"{self._location} is not a folder"
            raise SourceMissingError(msg) from error
        except (OSError, UnreadableFileError) as error:
            msg = f"the folder {self._location} cannot be read: {reason(error)}"
            raise SourceError(msg, hint="Make the folder readable.") from error
        return scan

    def read(self, entry: SourceEntry) -> bytes:
        """Return the raw bytes of a listed file; the message of an error is only the reason."""
        try:
            root = self._root()
            real = resolved(f"{root}/{entry.locator}")
            if not Path(real).is_relative_to(root) and not self._is_chosen(real, root, entry.locator):
                msg = "it is outside the folder now"
                raise UnreadableFileError(msg)
            return read_regular(real, self._selection.max_bytes(entry.path))
        except OSError as error:
            raise UnreadableFileError(reason(error)) from error

    def _is_chosen(self, real: str, root: str, locator: str) -> bool:
        """Return True if a file outside is in, or is, the target of a link that the user chose."""
        path = nfc(spelled(locator))
        return any(
            f"{path}/".startswith(f"{link}/") and Path(real).is_relative_to(resolved(f"{root}/{link}"))
            for link in self._selection.follow
        )

    def differs(self, known: SourceEntry) -> bool:
        try:
            status = Path(system_path(f"{self._location}/{known.locator}")).stat()
        except (OSError, ValueError):
            return True
        if not stat.S_ISREG(status.st_mode) or status.st_size != known.size:
            return True
        if status.st_mtime_ns == known.mtime_ns:
            return False
        try:
            return content_hash(self.read(known)) != known.content_hash
        except UnreadableFileError:
            return True

    def _root(self) -> str:
        return resolved(self._location)


def _identity(folder: str) -> tuple[int, int]:
    """Return an identity that changes if a folder is replaced, for example when a disk is unmounted."""
    status = Path(system_path(folder)).stat()
    return status.st_dev, status.st_ino
