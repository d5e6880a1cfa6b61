"""Lists everything below a folder once, without following links."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from mdvec import run
from mdvec.errors import UnreadableFileError
from mdvec.files import irregular, read_regular, system_path, too_large
from mdvec.sources.files import is_dataless, path_names, reason
from mdvec.sources.ignore import IgnoreFile, IgnoreRules, parse_ignore_file
from mdvec.sources.selection import OWN_FOLDER, Selection
from mdvec.types.change import Exclusion, Listing, SourceEntry, Unreadable
from mdvec.types.folder_context import CONTEXT_FILE, MAX_CONTEXT_FILE_BYTES

_OWN_IGNORE = ".mdvecignore"
_GIT_IGNORE = ".gitignore"
IGNORE_FILES = (_OWN_IGNORE, _GIT_IGNORE)
"""Names of the files with ignore rules."""

# iCloud Drive puts such a file in the place of one that it has removed from the disk.
_EVICTED = re.compile(r"\.(.+)\.icloud")
_NOT_DOWNLOADED = "not downloaded: its program has it in the cloud only"
# A larger ignore file was not written by hand.
_MAX_IGNORE_BYTES = 1_000_000


class Folder(Struct, frozen=True):
    """A folder to enter. Its three names are empty for the root, and end in ``/`` otherwise.

    Attributes:
        path: As in the paths of entries.
        locator: The path to open, from the root, perhaps through a link.
        real: The resolved path below the root.
        rules: The ignore rules that apply to its contents; None without any.
    """

    path: str = ""
    locator: str = ""
    real: str = ""
    rules: IgnoreRules | None = None


class SymbolicLink(Struct, frozen=True):
    """A symbolic link.

    Attributes:
        path: As in :class:`mdvec.types.change.SourceEntry`.
        name: Its own name in its folder.
        folder: Where it is.
    """

    path: str
    name: str
    folder: Folder


class Scan:
    """A listing in progress.

    Attributes:
        root: Absolute path, with all links resolved.
        selection: The wanted files.
        links: Links that were found but not followed, in no order.
        entered: The folders that were entered, by their resolved path.
        listed: Path of each entry by its resolved path, while links are followed; None before.
    """

    def __init__(self, root: str, selection: Selection) -> None:
        self.root = root
        self.selection = selection
        self.links: list[SymbolicLink] = []
        self.entered: dict[str, Folder] = {}
        self.listed: dict[str, str] | None = None
        self._entries: list[SourceEntry] = []
        self._exclusions: list[Exclusion] = []
        self._unreadable: list[Unreadable] = []
        self._context_files: list[SourceEntry] = []

    def listing(self) -> Listing:
        """Return the listing so far, sorted."""
        by_path = attrgetter("path")
        return Listing(
            entries=tuple(sorted(self._entries, key=by_path)),
            exclusions=tuple(sorted(self._exclusions, key=by_path)),
            unreadable=tuple(sorted(self._unreadable, key=by_path)),
            context_files=tuple(sorted(self._context_files, key=by_path)),
        )

    def exclude(self, path: str, rule: str) -> None:
        """Record that something is excluded."""
        if path.rstrip("/").rpartition("/")[2] != OWN_FOLDER:
            self._exclusions.append(Exclusion(path, rule))

    def fail(self, path: str, why: str) -> None:
        """Record that something could not be read."""
        self._unreadable.append(Unreadable(path, why))

    def walk(self, start: Folder) -> None:
        """List everything in a folder and below; unreadable folders are recorded.

        Raises:
            ImportStoppedError: If the run is cancelled.
            OSError: If ``start`` is the root and cannot be read.
            UnreadableFileError: If ``start`` is the root and has an ignore file that cannot be used.
        """
        waiting = [start]
        while waiting:
            run.current().check()
            folder = waiting.pop()
            try:
                waiting += self._look_into(folder)
            except (OSError, UnreadableFileError) as error:
                if not folder.path:
                    raise
                self.fail(folder.path, reason(error))

    def rule(self, name: str, path: str, folder: Folder) -> str | None:
        """Return why a file or a folder is excluded; None if it is not.

        Args:
            name: Its own name in its folder.
            path: As in the paths of entries; of a folder, with a trailing ``/``.
            folder: Where it is.
        """
        selection, is_folder = self.selection, path.endswith("/")
        return (
            (selection.name_rule(name) if is_folder else selection.extension_rule(name))
            or (folder.rules and folder.rules.rule(folder.real + name, is_folder=is_folder))
            or selection.exclude_rule(path)
            or selection.include_rule(path)
        )

    def take(self, path: str, status: os.stat_result, *, locator: str, real: str) -> None:
        """List a file that no rule excludes, unless it is too large or already listed."""
        size = status.st_size
        if size > (most := self.selection.max_bytes(path)):
            self.exclude(path, too_large(size, most))
            return
        if is_dataless(status):
            self.fail(path, _NOT_DOWNLOADED)
            return
        if self.listed is not None:
            if real in self.listed:
                self.exclude(path, f"same file as {self.listed[real]}")
                return
            self.listed[real] = path
        self._entries.append(SourceEntry(path, locator, status.st_mtime_ns, status.st_size))

    def start_following(self) -> None:
        """Fill :attr:`listed` with everything listed so far, under its own name."""
        self.listed = {entry.locator: entry.path for entry in self._entries}

    def with_ignore_files(self, folder: Folder, names: Collection[str]) -> Folder:
        """Return a folder with the rules of its own ignore files, given the names of its contents.

        Raises:
            UnreadableFileError: If one of them cannot be read, so that its exclusions are unknown.
        """
        if not any(name in names for name in IGNORE_FILES):
            return folder
        reads_git = self.selection.scan.gitignore
        rules = (folder.rules or IgnoreRules()).within(
            own=self._ignore_file(folder, _OWN_IGNORE) if _OWN_IGNORE in names else None,
            git=self._ignore_file(folder, _GIT_IGNORE) if reads_git and _GIT_IGNORE in names else None,
        )
        return replace(folder, rules=rules)

    def _ignore_file(self, folder: Folder, name: str) -> IgnoreFile | None:
        """Read an ignore file; one that is not a regular file has no rules, as in git."""
        path = system_path(f"{self.root}/{folder.real}{name}")
        try:
            if not stat.S_ISREG(os.lstat(path).st_mode):
                return None
            raw = read_regular(path, _MAX_IGNORE_BYTES)
        except FileNotFoundError:
            return None
        except (OSError, UnreadableFileError) as error:
            msg = f"its {name} cannot be used: {reason(error)}"
            raise UnreadableFileError(msg) from error
        return parse_ignore_file(raw, name=folder.path + name, folder=folder.real)

    def _look_into(self, folder: Folder) -> list[Folder]:
        """List the files and links of a folder.

        Returns:
            The folders in it that no rule excludes.
        """
        with os.scandir(system_path(f"{self.root}/{folder.locator}")) as found:
            items = list(found)
        names = [item.name for item in items]
        if not folder.path:
            self.selection = self.selection.for_root(names)
        folder = self.with_ignore_files(folder, names)
        self.entered[folder.real] = folder
        respelled = path_names(names)
        inner: list[Folder] = []
        for item, name in zip(items, names, strict=True):
            path = folder.path + (respelled.get(name, name) if respelled else name)
            try:
                if item.is_symlink():
                    self.links.append(SymbolicLink(path, name, folder))
                elif item.is_dir(follow_symlinks=False):
                    inner += self._enter(name, f"{path}/", folder)
                else:
                    self._look_at(item, path, folder)
            except FileNotFoundError:  # deleted meanwhile
                continue
            except OSError as error:
                self.fail(path, reason(error))
        return inner

    def _enter(self, name: str, path: str, folder: Folder) -> list[Folder]:
        rule = self.rule(name, path, folder)
        real = f"{folder.real}{name}/"
        if rule is None and real in self.entered:
            rule = f"same folder as {self.entered[real].path}"
        if rule is not None:
            self.exclude(path, rule)
            return []
        return [Folder(path, f"{folder.locator}{name}/", real, folder.rules)]

    def _look_at(self, item: os.DirEntry[str], path: str, folder: Folder) -> None:
        if not item.is_file(follow_symlinks=False):
            self.exclude(path, irregular(item.stat(follow_symlinks=False).st_mode))
            return
        name = item.name
        if name == CONTEXT_FILE:
            self._take_context_file(item, path, folder)
            return
        evicted = _EVICTED.fullmatch(path.rpartition("/")[2])  # in NFC, as the known document is
        if evicted and self.rule(evicted[1], folder.path + evicted[1], folder) is None:
            self.fail(folder.path + evicted[1], _NOT_DOWNLOADED)
            return
        rule = self.rule(name, path, folder)
        if rule is not None:
            self.exclude(path, rule)
            return
        status = item.stat(follow_symlinks=False)
        self.take(path, status, locator=folder.locator + name, real=folder.real + name)

    def _take_context_file(self, item: os.DirEntry[str], path: str, folder: Folder) -> None:
        status = item.stat(follow_symlinks=False)
        if status.st_size > MAX_CONTEXT_FILE_BYTES:
            self.exclude(path, too_large(status.st_size, MAX_CONTEXT_FILE_BYTES))
            return
        entry = SourceEntry(path, folder.locator + item.name, status.st_mtime_ns, status.st_size)
        self._context_files.append(entry)
