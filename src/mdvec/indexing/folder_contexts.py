"""Reads folder contexts from the files of a source."""

from __future__ import annotations

from msgspec.structs import replace

from mdvec.errors import UnreadableFileError
from mdvec.sources.interface import Source
from mdvec.text.encodings import decode
from mdvec.types.change import Exclusion, Listing, SourceEntry
from mdvec.types.collection import Collection
from mdvec.types.folder_context import FolderContext, context_line

_MAX_FILES = 200  # contexts are stored with the collection, and read with it


def read_contexts(
    collection: Collection, listing: Listing, source: Source
) -> tuple[tuple[FolderContext, ...], list[Exclusion]]:
    """Return the folder contexts in the files of a source, and the files above the limit.

    Files nearest to the root come first. For a revision that was imported, they are known.
    """
    if listing.pushed or (listing.revision and listing.revision == collection.revision):
        return contexts_of_files(collection), []
    files = sorted(listing.context_files, key=lambda each: (each.path.count("/"), each.path))
    if files:
        source.prefetch(files[:_MAX_FILES])
    found = [context for entry in files[:_MAX_FILES] if (context := _read(entry, source)) is not None]
    rule = f"more than {_MAX_FILES} folder contexts"
    return tuple(sorted(found)), [Exclusion(each.path, rule) for each in files[_MAX_FILES:]]


def contexts_of_files(collection: Collection) -> tuple[FolderContext, ...]:
    """Return the contexts that files defined at the last import."""
    return tuple(each for each in collection.folder_contexts if each.from_file)


def with_contexts_of_files(collection: Collection, found: tuple[FolderContext, ...]) -> Collection:
    """Return a collection with these contexts from files; contexts that users set stay."""
    set_here = tuple(each for each in collection.folder_contexts if not each.from_file)
    return replace(collection, folder_contexts=(*set_here, *found))


def _read(entry: SourceEntry, source: Source) -> FolderContext | None:
    """Return the context in a file; None if it is empty or cannot be read."""
    try:
        decoded = decode(source.read(entry))
    except UnreadableFileError:
        return None
    text = context_line(decoded.text) if decoded is not None else ""
    return FolderContext(entry.path.rpartition("/")[0], text, from_file=True) if text else None
