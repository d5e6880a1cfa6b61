"""Reads what the folders of a source say they hold."""

from __future__ import annotations

from msgspec.structs import replace

from mdvec.errors import UnreadableFileError
from mdvec.sources.interface import Source
from mdvec.text.encodings import decode
from mdvec.types.change import Exclusion, Listing, SourceEntry
from mdvec.types.collection import Collection
from mdvec.types.folder_context import FolderContext, context_line

_MOST_FILES = 200  # they are kept with the collection, and read with it


def read_contexts(
    collection: Collection, listing: Listing, source: Source
) -> tuple[tuple[FolderContext, ...], list[Exclusion]]:
    """Return what the files of a source say of their folders, and the files that are too many.

    Those nearest to the root come first. What a revision says that was imported is known.
    """
    if listing.pushed or (listing.revision and listing.revision == collection.revision):
        return contexts_of_files(collection), []
    files = sorted(listing.context_files, key=lambda each: (each.path.count("/"), each.path))
    if files:
        source.expect(files[:_MOST_FILES])
    found = [context for entry in files[:_MOST_FILES] if (context := _read(entry, source)) is not None]
    rule = f"more than {_MOST_FILES} folder contexts"
    return tuple(sorted(found)), [Exclusion(each.path, rule) for each in files[_MOST_FILES:]]


def contexts_of_files(collection: Collection) -> tuple[FolderContext, ...]:
    """Return what files said when the collection was imported."""
    return tuple(each for each in collection.folder_contexts if each.from_file)


def with_contexts_of_files(collection: Collection, found: tuple[FolderContext, ...]) -> Collection:
    """Return a collection with other contexts from files; those that were set stay."""
    set_here = tuple(each for each in collection.folder_contexts if not each.from_file)
    return replace(collection, folder_contexts=(*set_here, *found))


def _read(entry: SourceEntry, source: Source) -> FolderContext | None:
    """Return what a file says; None when it says nothing, or cannot be read."""
    try:
        decoded = decode(source.read(entry))
    except UnreadableFileError:
        return None
    text = context_line(decoded.text) if decoded is not None else ""
    return FolderContext(entry.path.rpartition("/")[0], text, from_file=True) if text else None
