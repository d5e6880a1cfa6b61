"""From the tree of a commit or a bucket to a listing: the same selection as for a folder, without any I/O."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from msgspec import Struct, field

from mdvec.errors import SourceMissingError
from mdvec.files import too_large
from mdvec.sources.files import path_names
from mdvec.sources.selection import Selection
from mdvec.text.folding import nfc
from mdvec.types.change import Exclusion, Listing, SourceEntry
from mdvec.types.folder_context import CONTEXT_FILE, MAX_CONTEXT_FILE_BYTES

FOLDER_MODE = "040000"
"""The mode of a folder that is known by name alone; files imply theirs."""

FILE_MODE = "100644"
"""The mode of an ordinary file."""

_LINK_MODE = "120000"
_SUBMODULE_MODE = "160000"
# Git refuses to create them, but a tree from elsewhere may contain them.
_FORBIDDEN_NAMES = frozenset({"", ".", ".."})


class TreeItem(Struct, frozen=True):
    """A file, link, submodule or folder of a commit.

    Attributes:
        path: From the root of the repository, with ``/`` (``os.fsdecode`` form).
        mode: As git writes it, such as ``100644``.
        blob_id: The id of its content: 20 bytes (SHA-1) or 32 (SHA-256).
        size: In bytes; None if unknown.
        mtime_ns: Time of the last change, in nanoseconds since 1970; 0 in a commit, which knows no times.
    """

    path: str
    mode: str
    blob_id: bytes
    size: int | None = None
    mtime_ns: int = 0


class _Folder(Struct):
    items: dict[str, TreeItem] = field(default_factory=dict)
    folders: dict[str, _Folder] = field(default_factory=dict)


def listing_of_tree(items: Iterable[TreeItem], selection: Selection, *, path: str, revision: str) -> Listing:
    """Apply a selection to the tree of a commit.

    Args:
        items: The items of the commit, in any order; those outside ``path`` or in a folder that is not
            entered do not matter.
        selection: The wanted files.
        path: The folder that is listed, without slashes around it; empty for the root.
        revision: The commit.

    Returns:
        The listing; its paths are relative to ``path``. Links and submodules are excluded: their targets are
        listed under their own names, or are in another repository.

    Raises:
        SourceMissingError: If there is no such folder.
    """
    entries: list[SourceEntry] = []
    exclusions: list[Exclusion] = []
    context_files: list[SourceEntry] = []
    root = _found(_as_folders(items), path, revision)
    selection = selection.for_root(root.folders)
    waiting = [("", root)]
    while waiting:
        prefix, folder = waiting.pop()
        respelled = path_names([*(folder.items | folder.folders)])
        for name, inner in folder.folders.items():
            place = f"{prefix}{respelled.get(name, name)}/"
            if (rule := path_rule(selection, name, place)) is None:
                waiting.append((place, inner))
            else:
                exclusions.append(Exclusion(place, rule))
        for name, item in folder.items.items():
            place = prefix + respelled.get(name, name)
            if item.mode == _SUBMODULE_MODE:
                exclusions.append(Exclusion(f"{place}/", "submodule"))
            elif (
                name == CONTEXT_FILE
                and item.mode != _LINK_MODE
                and (item.size or 0) <= MAX_CONTEXT_FILE_BYTES
            ):
                context_files.append(_entry(place, item))
            elif (rule := _file_rule(selection, name, place, item)) is None:
                entries.append(_entry(place, item))
            else:
                exclusions.append(Exclusion(place, rule))
    by_path = attrgetter("path")
    return Listing(
        entries=tuple(sorted(entries, key=by_path)),
        exclusions=tuple(sorted(exclusions, key=by_path)),
        revision=revision,
        context_files=tuple(sorted(context_files, key=by_path)),
    )


def path_rule(selection: Selection, name: str, path: str) -> str | None:
    """Return why a file is not listed or a folder not entered; None if it is.

    Args:
        selection: The wanted files.
        name: Its own name.
        path: As in a listing; of a folder, with a trailing ``/``.
    """
    if name in _FORBIDDEN_NAMES:
        return "not a name that a file can have"
    own_rule = selection.name_rule if path.endswith("/") else selection.extension_rule
    return own_rule(name) or selection.exclude_rule(path) or selection.include_rule(path)


def _entry(path: str, item: TreeItem) -> SourceEntry:
    return SourceEntry(path, item.path, item.mtime_ns, item.size or 0, item.blob_id)


def _file_rule(selection: Selection, name: str, path: str, item: TreeItem) -> str | None:
    rule = path_rule(selection, name, path)
    if rule is None and item.mode == _LINK_MODE:
        return "link"
    if rule is None and item.size is not None and item.size > (most := selection.max_bytes(path)):
        return too_large(item.size, most)
    return rule


def _as_folders(items: Iterable[TreeItem]) -> _Folder:
    root = _Folder()
    for item in items:
        *above, name = item.path.split("/")
        folder = root
        for part in above:
            folder = folder.folders.setdefault(part, _Folder())
        if item.mode == FOLDER_MODE:
            folder.folders.setdefault(name, _Folder())
        else:
            folder.items[name] = item
    return root


def _found(root: _Folder, path: str, revision: str) -> _Folder:
    """Return the folder at a path, regardless of how its name is encoded."""
    folder = root
    for part in path.split("/") if path else ():
        inner = folder.folders.get(part) or next(
            (each for name, each in folder.folders.items() if nfc(name) == nfc(part)), None
        )
        if inner is None:
            msg = f"there is no folder {path!r} in the repository at {revision[:12]}"
            raise SourceMissingError(msg, hint="Look for its new name, or leave out ':PATH' to take all.")
        folder = inner
    return folder
