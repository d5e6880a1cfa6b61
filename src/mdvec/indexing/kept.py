"""What need not be read again: the store keeps the text of every document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from mdvec.indexing.prepare import BINARY_RULE, Prepared, Recipe, prepare, prepare_text
from mdvec.types.change import Exclusion, KnownDocument, Listing, Plan, SourceEntry
from mdvec.types.collection import Collection
from mdvec.types.document import DocumentState, with_comments
from mdvec.stores.interface import Catalog


class DocumentSource(Protocol):
    """The part of a source that indexing needs; see :class:`mdvec.sources.interface.Source`."""

    def list(self) -> Listing:
        """Say what is there."""
        ...

    def read(self, entry: SourceEntry) -> bytes:
        """Return the bytes of a listed file."""
        ...

    def expect(self, entries: Sequence[SourceEntry]) -> None:
        """Be told which files are read next."""
        ...


def known_binaries(
    collection: Collection, listing: Listing, entries: Iterable[SourceEntry], catalog: Catalog
) -> list[Exclusion]:
    """Say which new files were read by the last import, and hold no text.

    Only reading shows that, so they look new every time. In a revision that was imported they need not
    be fetched again.

    Args:
        collection: As the last import left it.
        listing: What its source lists now.
        entries: The files that look new.
        catalog: What holds the collection.
    """
    candidates = {entry.path for entry in entries}
    if not candidates or not listing.revision or listing.revision != collection.revision:
        return []
    return [
        Exclusion(file.path, file.reason)
        for file in catalog.file_states(collection.id, None)
        if file.path in candidates and file.state is DocumentState.EXCLUDED and file.reason == BINARY_RULE
    ]


def kept_texts(plan: Plan, known: Mapping[str, KnownDocument]) -> dict[str, str]:
    """Say which documents need not be read, since their source says that the store has their content.

    Returns:
        The path of the stored document, by the path of the entry.
    """
    kept = {
        entry.path: entry.path
        for entry in plan.changed  # in how they are cut alone
        if entry.content_hash is not None and entry.content_hash == known[entry.path].content_hash
    }
    return kept | {
        move.entry.path: move.old_path for move in plan.moved if move.entry.content_hash is not None
    }


@dataclass(frozen=True, slots=True)
class Texts:
    """Where the text of a document comes from: its source, or the store where that has it.

    Attributes:
        collection: What the documents belong to.
        source: What the collection is made from.
        catalog: What holds the collection.
        kept: See :func:`kept_texts`.
    """

    collection: Collection
    source: DocumentSource
    catalog: Catalog
    kept: Mapping[str, str]

    def prepared(
        self, entry: SourceEntry, recipe: Recipe, contexts: Sequence[str] | None
    ) -> Prepared | Exclusion:
        """Prepare a document.

        Raises:
            UnreadableFileError: If its file cannot be read.
        """
        if entry.content_hash is not None and entry.path in self.kept:
            stored = self.catalog.find_document(self.collection.id, self.kept[entry.path])
            if stored is not None:
                text = with_comments(stored.body, stored.comments)
                return prepare_text(
                    sized(entry, stored.size),
                    text,
                    recipe,
                    content_hash=entry.content_hash,
                    contexts=contexts,
                )
        raw = self.source.read(entry)
        return prepare(sized(entry, len(raw)), raw, recipe, contexts=contexts)


def sized(entry: SourceEntry, size: int | None) -> SourceEntry:
    """Write down the size of what was read, where times and sizes are not what a source compares by."""
    return entry if entry.content_hash is None or size is None else replace(entry, size=size)
