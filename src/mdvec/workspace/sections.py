"""The sections of all documents, and those that clients write themselves."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from itertools import groupby

from msgspec.structs import replace

from mdvec.clock import now_ms
from mdvec.errors import CollectionExistsError, UsageError
from mdvec.indexing.plan import marked_dirty
from mdvec.search.references import document_at, spellings
from mdvec.stores.interface import View, Writer
from mdvec.stores.records import StoredDocument
from mdvec.text.folding import nfc
from mdvec.text.links import file_key
from mdvec.text.tokens import estimate_token_count
from mdvec.types.collection import Collection
from mdvec.types.document import DocumentState
from mdvec.types.hit import SearchResult
from mdvec.types.query import Where
from mdvec.types.report import ImportOptions, ImportReport
from mdvec.types.section import FoundSection, IndexedSection, SectionTotals
from mdvec.workspace.collections import PUSH, Collections
from mdvec.workspace.importing import BackgroundImport

PUSHED_COLLECTION = "pushed"
"""Name of the collection that the first section makes when there is none for sections."""

_DESCRIPTION = "Sections that other programs have written"
_MS = 1_000_000
_ALL = 2**31


class Sections:
    """The sections of a workspace. Safe to use from several threads."""

    def __init__(self, collections: Collections, embed: Callable[[str, ImportOptions], ImportReport]) -> None:
        self._collections = collections
        self._import = embed
        self._imports: dict[str, BackgroundImport] = {}

    # --- writing -------------------------------------------------------------------------------

    def add(
        self, sections: Sequence[IndexedSection], *, collection: str | None = None, wait_s: float = 0.0
    ) -> list[str]:
        """Write sections as they are; their vectors are made behind this call.

        A section replaces the one of the same id in its document. Where an id, a number of tokens, a hash or
        a time is missing (empty, or 0), mdvec fills it in.

        Args:
            sections: Any number, of any documents.
            collection: A collection with the source ``push:``; the only one when None, which is made if there
                is none.
            wait_s: How long to wait for their vectors, in seconds.

        Returns:
            Their ids.

        Raises:
            UsageError: If there are several such collections and none is named, or it has another source.
            CollectionNotFoundError: If there is no such collection.
        """
        written_ms = now_ms()
        filled = [_filled(each, written_ms) for each in sections]
        place = self._place(collection)
        with self._collections.store().write() as writer:
            by_path = sorted(filled, key=lambda each: each.document_path)
            for path, added in groupby(by_path, key=lambda each: each.document_path):
                _write(place, path, list(added), writer)
            writer.collections.change(place.id, lambda now: replace(now, last_indexed_ms=written_ms))
        self._embed_behind(place.name).join(wait_s)
        return [each.id for each in filled]

    def delete(self, path: str) -> int:
        """Remove the sections of a document that a client wrote, and return how many there were.

        Raises:
            UsageError: If the document comes from elsewhere: the next import would bring it back.
        """
        deleted = 0
        with self._collections.store().write() as writer:
            for place in self._collections.chosen((), writer):
                # No text is read: a damaged one can be deleted, too. Each section is a chunk.
                named = writer.documents.with_file_names(place.id, map(file_key, spellings(path))).values()
                ids = {each: document for found in named for each, document in found.items()}
                name = next((each for each in spellings(path) if each in ids), "")
                documents = [ids[name]] if name else []
                sections = len(writer.chunks.places_in(documents, Where((place.id,)), _ALL))
                if sections and place.source.kind != PUSH:
                    msg = f"{name} comes from {place.source}, and must be deleted there"
                    raise UsageError(msg, hint="Delete the file; the next import removes its sections.")
                writer.documents.delete(place.id, [name] if sections else [])
                deleted += sections
        return deleted

    def mark_dirty(self, path: str) -> int:
        """Mark a document as changed since it was indexed, and return the number of its sections."""
        from mdvec.indexing.pushed import pushed_record

        marked = 0
        with self._collections.store().write() as writer:
            for place, document in self._documents_at(path, writer):
                if not document.dirty and (written := _written(document, place)):
                    # A vector index follows new rows alone, and its readers see the mark.
                    writer.documents.put(place.id, [pushed_record(document.path, written)])
                writer.documents.mark_dirty(place.id, [document.path])
                marked += len(_sections_of(document, place, writer))
        return marked

    def resume(self) -> None:
        """Make the vectors that clients' sections lack, behind this call."""
        with self._collections.read() as view:
            places = [each for each in self._collections.chosen((), view) if each.source.kind == PUSH]
        for place in places:
            self._embed_behind(place.name)

    # --- reading -------------------------------------------------------------------------------

    def at(self, path: str) -> list[IndexedSection]:
        """Return the sections of a document, in order; none when it is not there."""
        with self._collections.read() as view:
            return [
                section
                for place, document in self._documents_at(path, view)
                for section in _sections_of(document, place, view)
            ]

    def dirty(self, limit: int) -> list[IndexedSection]:
        """Return sections of documents that have changed since they were indexed, the oldest first."""
        found: list[IndexedSection] = []
        with self._collections.read() as view:
            for place in self._collections.chosen((), view):
                for each in marked_dirty(place.id, view):
                    [document] = view.documents.get([each.id]).values()
                    found += _sections_of(document, place, view)
        found.sort(key=lambda each: (each.created_at_ms, each.document_path, each.order))
        return found[:limit]

    def totals(self) -> SectionTotals:
        """Count what all enabled collections hold."""
        sections = documents = dirty = 0
        with self._collections.read() as view:
            for place in self._collections.chosen((), view):
                counts = view.collections.counts(place.id, None)
                sections, documents = sections + counts.chunks, documents + counts.documents
                if counts.dirty:
                    states = view.collections.file_states(place.id, None)
                    dirty += sum(each.chunks for each in states if each.state is DocumentState.DIRTY)
        return SectionTotals(sections, dirty, documents)

    def found(self, result: SearchResult) -> list[FoundSection]:
        """Return the sections that a search found, best first.

        Args:
            result: Of a query that expands no chunk: each hit is one section.
        """
        found: list[FoundSection] = []
        with self._collections.read() as view:
            for hit in result.hits:
                place = self._collections.named(hit.collection, view)
                document = view.documents.find(place.id, hit.path)
                sections = () if document is None else _sections_of(document, place, view)
                if hit.chunk_index < len(sections):  # else it was deleted meanwhile
                    section = sections[hit.chunk_index]
                    found.append(FoundSection(section, hit.score, hit.similarity))
        return found

    def close(self, wait_s: float) -> None:
        """Leave the missing vectors to the next import, and wait for the threads that make them.

        Args:
            wait_s: How long to wait for each, in seconds.
        """
        for each in list(self._imports.values()):
            each.cancel()
            each.join(wait_s)

    # --- inside --------------------------------------------------------------------------------

    def _place(self, name: str | None) -> Collection:
        """Return the collection to write to."""
        if name is not None:
            place = self._collections.named(name)
            if place.source.kind != PUSH:
                msg = f"{name} takes no sections from clients: its source is not push:"
                raise UsageError(
                    msg, hint="Add one for clients: mdvec tool add -n NAME -d DESCRIPTION -s push:"
                )
            return place
        places = [each for each in self._collections.chosen(()) if each.source.kind == PUSH]
        if len(places) > 1:
            msg = (
                f"several collections accept sections from clients: {', '.join(each.name for each in places)}"
            )
            raise UsageError(msg, hint="Name one of them in `collection`.")
        if places:
            return places[0]
        try:
            return self._collections.add(PUSHED_COLLECTION, _DESCRIPTION, f"{PUSH}:")
        except CollectionExistsError:  # another client was faster
            return self._place(PUSHED_COLLECTION)

    def _documents_at(self, path: str, view: View) -> list[tuple[Collection, StoredDocument]]:
        """Return the documents at a path, with their collections."""
        return [
            (place, document)
            for place in self._collections.chosen((), view)
            if (document := document_at(path, place, view)) is not None
        ]

    def _embed_behind(self, name: str) -> BackgroundImport:
        """Make the missing vectors of a collection in a thread, which ends when nothing is missing.

        If that fails they stay pending, which every answer says; the next import makes them.
        """
        options = ImportOptions(accept_pending=True, wait_s=float("inf"))
        made = BackgroundImport(lambda: self._import(name, options))
        made = self._imports.setdefault(name, made)
        made.start()
        return made


def _write(place: Collection, path: str, added: Sequence[IndexedSection], writer: Writer) -> None:
    from mdvec.indexing.pushed import pushed_record  # what makes terms is not needed to read

    stored = writer.documents.find(place.id, path)
    sections = {} if stored is None else {each.id: each for each in _sections_of(stored, place, writer)}
    for each in added:
        before = sections.get(each.id)
        created_at_ms = each.created_at_ms if before is None else before.created_at_ms
        sections[each.id] = replace(each, created_at_ms=created_at_ms)
    writer.documents.put(place.id, [pushed_record(path, [*sections.values()])])
    if any(each.is_dirty for each in added):
        writer.documents.mark_dirty(place.id, [path])


def _filled(section: IndexedSection, written_ms: int) -> IndexedSection:
    """Return a section with what its client left open.

    Raises:
        UsageError: If it names no document.
    """
    path = nfc(section.document_path.replace("\\", "/")).removeprefix("./")
    # A page's address cannot hold "..": a browser takes it for the folder above.
    if not path.strip("/ ") or "\0" in path or {".", ".."} & {*path.split("/")}:
        msg = f"not the path of a document: {section.document_path!r}"
        raise UsageError(msg, hint="Write a path such as guides/setup.md.")
    return replace(
        section,
        document_path=path,
        id=section.id or uuid.uuid4().hex,
        token_count=section.token_count or estimate_token_count(section.content),
        created_at_ms=section.created_at_ms or written_ms,
        updated_at_ms=section.updated_at_ms or written_ms,
    )


def _sections_of(document: StoredDocument, place: Collection, view: View) -> tuple[IndexedSection, ...]:
    """Return the sections of a document: as a client wrote them, or its chunks."""
    written = _written(document, place)
    if written is not None:
        return written
    chunks = view.chunks.of_document(document.id)
    return tuple(
        IndexedSection(
            id=str(chunk.id),
            document_path=document.path,
            heading=chunk.heading_path[-1] if chunk.heading_path else "",
            depth=chunk.depth,
            content=chunk.text,
            token_count=chunk.token_count,
            parent_id=None if chunk.parent is None else str(chunks[chunk.parent].id),
            order=chunk.ordinal,
            is_dirty=document.dirty,
            document_hash=document.content_hash.hex(),
            created_at_ms=document.indexed_at_ms,
            updated_at_ms=document.mtime_ns // _MS,
        )
        for chunk in chunks
    )


def _written(document: StoredDocument, place: Collection) -> tuple[IndexedSection, ...] | None:
    """Return the sections of a document as a client wrote them; None for a document of another source."""
    from mdvec.indexing.pushed import pushed_sections

    return pushed_sections(document) if place.source.kind == PUSH else None
