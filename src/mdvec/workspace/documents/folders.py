"""What folders hold, as their context says."""

from __future__ import annotations

from pathlib import PurePosixPath

from msgspec.structs import replace

from mdvec.errors import UsageError
from mdvec.text.folding import nfc
from mdvec.text.undecodable import spelled
from mdvec.types.collection import DEFAULT_SOURCE, Collection
from mdvec.types.folder_context import CONTEXT_FILE, MAX_CHARS, FolderContext, context_line
from mdvec.workspace.collections import Collections


class Folders:
    """The contexts of folders. A part of :class:`mdvec.workspace.Workspace`."""

    def __init__(self, collections: Collections) -> None:
        self._collections = collections

    def set_context(self, name: str, folder: str, text: str) -> FolderContext:
        """Set the context of a folder, in place of any set before; every hit below the folder shows it.

        Args:
            name: The collection.
            folder: Relative to its source, empty or ``.`` for the root; or absolute, of a folder in it.
            text: A sentence; it becomes one line.

        Raises:
            CollectionNotFoundError: If there is no such collection.
            UsageError: If the text is empty or too long, or the folder is not in the source.
        """
        if len(text) > MAX_CHARS:
            msg = f"the context has {len(text):,} characters; at most {MAX_CHARS} are shown with every hit"
            raise UsageError(msg, hint="Shorten it to a sentence.")
        line = context_line(spelled(text))
        if not line:
            msg = "the context is empty"
            raise UsageError(msg, hint="Give a sentence, or --remove.")
        collection = self._collections.named(name)
        made = FolderContext(_folder_of(folder, collection), line)
        self._write(collection, made.folder, made)
        return made

    def remove_context(self, name: str, folder: str) -> None:
        """Remove the context of a folder; that in its own file is shown again.

        Raises:
            CollectionNotFoundError: If there is no such collection.
            UsageError: If nothing was set for the folder.
        """
        collection = self._collections.named(name)
        place = _folder_of(folder, collection)
        known = [each.from_file for each in collection.folder_contexts if each.folder == place]
        if False not in known:
            msg = f"no context was set for {place or 'the root'} of {name}"
            hint = f"'mdvec tool context -n {name}' lists them."
            if known:
                hint = f"It comes from the folder's own file {CONTEXT_FILE}: change or delete that."
            raise UsageError(msg, hint=hint)
        self._write(collection, place, None)

    def holds_documents(self, name: str, folder: str) -> bool:
        """Return True if a document is indexed below a folder, given as in the context of one."""
        collection = self._collections.named(name)
        prefix = f"{folder}/" if folder else ""
        with self._collections.store().read() as view:
            return bool(view.documents(collection.id, after="", prefix=prefix, limit=1))

    def _write(self, collection: Collection, folder: str, made: FolderContext | None) -> None:
        def changed(now: Collection) -> Collection:
            others = [each for each in now.folder_contexts if each.from_file or each.folder != folder]
            return replace(now, folder_contexts=(*others, *([made] if made else [])))

        with self._collections.store().write() as writer:
            writer.change_collection(collection.id, changed)


def _folder_of(folder: str, collection: Collection) -> str:
    """Return a folder as paths of documents spell it.

    Raises:
        UsageError: If it is not in the source of the collection.
    """
    place = PurePosixPath(nfc(spelled(folder.replace("\\", "/"))))
    root = PurePosixPath(nfc(spelled(collection.source.location)))
    is_local = collection.source.kind == DEFAULT_SOURCE
    if is_local and place.is_absolute() and place.is_relative_to(root):
        place = place.relative_to(root)
    if place.is_absolute() or ".." in place.parts:
        msg = f"{folder} is not a folder of {collection.name}"
        raise UsageError(msg, hint=f"Give its path relative to {collection.source}, or '.' for all of it.")
    return "" if place == PurePosixPath() else str(place)
