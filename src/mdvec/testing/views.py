"""How a memory store is read: plain loops over all documents, from the definitions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from mdvec.stores.holders import is_alive
from mdvec.stores.records import (
    FEW_CHUNKS,
    ChunkPlace,
    DocumentFacts,
    DocumentFrequencies,
    StoredChunk,
    StoredDocument,
)
from mdvec.testing.contents import (
    HeldChunk,
    HeldDocument,
    document_inside,
    fields_of,
    fold,
    holds_one,
    inside,
    place_of,
    stored_chunk,
    updated_ns_of,
)
from mdvec.testing.vector_views import VectorView
from mdvec.testing.words import bm25_scores
from mdvec.text.folding import fold_name
from mdvec.text.links import file_key, link_key
from mdvec.types.change import KnownDocument
from mdvec.types.collection import Collection
from mdvec.types.document import DocumentState, Link, LinkKind
from mdvec.types.ids import ChunkId, CollectionId, DocumentId, SpaceId
from mdvec.types.links import PlacedLink
from mdvec.types.query import Where
from mdvec.types.report import Activity, CollectionCounts, FileStatus, ListedDocument, TagCount


class MemoryView(VectorView):
    """One consistent snapshot; a :class:`mdvec.stores.interface.View`.

    Args:
        contents: The state that is shown; it does not change while the snapshot is open.
    """

    @property
    def version(self) -> int:
        """A number that grows with every commit that changed something."""
        return self._contents.version

    # --- collections ---------------------------------------------------------------------------

    def collections(self) -> list[Collection]:
        """Return all collections, by name."""
        return sorted(self._contents.collections.values(), key=lambda each: each.name)

    def activities(self) -> list[Activity]:
        """Return what live processes are doing to collections now."""
        holders = filter(is_alive, self._contents.claims.values())
        return sorted((each.activity for each in holders), key=lambda each: each.collection)

    def counts(self, collection_id: CollectionId, space_id: SpaceId | None) -> CollectionCounts:
        """Count what a collection holds; without a space every chunk is pending."""
        documents = self._documents_of(collection_id)
        chunks = [chunk for each in documents for chunk in each.chunks]
        return CollectionCounts(
            documents=len(documents),
            failed=len(self._contents.failures.get(collection_id, {})),
            excluded=len(self._contents.exclusions.get(collection_id, {})),
            chunks=len(chunks),
            pending_chunks=sum(
                not self._has_vector(space_id, chunk.text_hash)
                for each in documents
                if each.id not in self._contents.superseded
                for chunk in each.chunks
            ),
            dirty=len(self.dirty_paths(collection_id, len(documents))),
            superseded=sum(each.id in self._contents.superseded for each in documents),
        )

    def file_states(self, collection_id: CollectionId, space_id: SpaceId | None) -> list[FileStatus]:
        """Return the one state of every file, by path."""
        found: dict[str, FileStatus] = {}
        for each in self._documents_of(collection_id):
            pending = sum(not self._has_vector(space_id, chunk.text_hash) for chunk in each.chunks)
            superseded = each.id in self._contents.superseded
            pending = 0 if superseded else pending
            dirty = each.dirty_since_ms is not None
            state = DocumentState.of(pending_chunks=pending, dirty=dirty, superseded=superseded)
            odd = "; ".join(each.record.document.warnings)
            found[each.path] = FileStatus(each.path, state, odd, len(each.chunks), pending)
        for state, outcome in (
            (DocumentState.EXCLUDED, self._contents.exclusions),
            (DocumentState.FAILED, self._contents.failures),
        ):
            for path, reason in outcome.get(collection_id, {}).items():
                known = found.get(path, FileStatus(path, state))
                found[path] = FileStatus(path, state, reason, known.chunks, known.pending_chunks)
        return [found[path] for path in sorted(found)]

    def tags(self, where: Where) -> list[TagCount]:
        """Count the documents of each tag, most used first, then by name."""
        counted: Counter[str] = Counter()
        shown: dict[str, str] = {}
        for each in self._documents():
            if document_inside(each, where):
                for tag in each.record.document.tags:
                    shown.setdefault(fold(tag), tag)
                counted.update({fold(tag) for tag in each.record.document.tags})
        return [
            TagCount(shown[tag], counted[tag])
            for tag in sorted(counted, key=lambda tag: (-counted[tag], tag))
        ]

    # --- documents and chunks ------------------------------------------------------------------

    def documents(
        self, collection_id: CollectionId, *, after: str, prefix: str, limit: int
    ) -> list[ListedDocument]:
        """List documents in order of path."""
        name = self._collection_name(collection_id)
        listed = [
            ListedDocument(name, each.path, each.record.document.title, each.entry.size, each.entry.mtime_ns)
            for each in self._documents_of(collection_id)
            if each.path > after and each.path.startswith(prefix)
        ]
        return sorted(listed, key=lambda each: each.path)[:limit]

    def newest_documents(self, where: Where, *, limit: int) -> list[ListedDocument]:
        """List documents inside ``where``, the last updated first, then by path."""
        listed = [
            ListedDocument(
                self._collection_name(each.collection_id),
                each.path,
                each.record.document.title,
                each.entry.size,
                each.entry.mtime_ns,
                each.record.document.updated_ns,
                each.entry.locator,
            )
            for each in self._documents()
            if document_inside(each, where)
        ]
        listed.sort(key=lambda each: (-each.changed_ns, each.collection, each.path))
        return listed[:limit]

    def documents_inside(self, where: Where) -> dict[DocumentId, str]:
        """Return the titles of documents inside ``where``, by id: the last updated first, then by path."""
        found = [each for each in self._documents() if document_inside(each, where)]
        found.sort(key=lambda each: (-updated_ns_of(each), each.path, each.id))
        return {each.id: each.record.document.title for each in found}

    def known_documents(self, collection_id: CollectionId) -> dict[str, KnownDocument]:
        """Return what comparing with the source needs of every document, by path."""
        return {
            each.path: KnownDocument(
                each.path,
                each.entry.locator,
                each.entry.mtime_ns,
                each.entry.size,
                each.record.content_hash,
                each.record.fingerprint,
                each.dirty_since_ms,
            )
            for each in self._documents_of(collection_id)
        }

    def dirty_paths(self, collection_id: CollectionId, limit: int) -> list[str]:
        """Return the documents that are marked dirty, the oldest mark first, then by path."""
        marked = [
            (each.dirty_since_ms, each.path)
            for each in self._documents_of(collection_id)
            if each.dirty_since_ms is not None
        ]
        return [path for _, path in sorted(marked)[:limit]]

    def find_document(self, collection_id: CollectionId, path: str) -> StoredDocument | None:
        """Return the document at a path."""
        held = self._contents.documents.get((collection_id, path))
        if held is None:
            return None
        document = held.record.document
        return StoredDocument(
            id=held.id,
            collection=self._collection_name(collection_id),
            collection_id=collection_id,
            path=path,
            locator=held.entry.locator,
            title=document.title,
            body=document.body,
            comments=document.comments,
            content_start=document.content_start,
            frontmatter=document.frontmatter,
            tags=document.tags,
            aliases=document.aliases,
            content_hash=held.record.content_hash,
            mtime_ns=held.entry.mtime_ns,
            size=held.entry.size,
            dirty=held.dirty_since_ms is not None,
            indexed_at_ms=held.written_at_ms,
        )

    def facts(self, documents: Sequence[DocumentId]) -> dict[DocumentId, DocumentFacts]:
        """Return what those of the documents that exist say of themselves, by id."""
        return {
            each.id: DocumentFacts(
                each.record.document.tags, each.record.document.frontmatter, updated_ns_of(each)
            )
            for each in self._documents()
            if each.id in documents
        }

    def document_chunks(self, document_id: DocumentId) -> list[StoredChunk]:
        """Return a document's chunks, in order."""
        return [
            self._stored(document, chunk) for document, chunk in self._chunks() if document.id == document_id
        ]

    def chunks(self, ids: Sequence[ChunkId]) -> dict[ChunkId, StoredChunk]:
        """Return those of the chunks that exist, by id."""
        wanted = set(ids)
        return {
            chunk.id: self._stored(document, chunk)
            for document, chunk in self._chunks()
            if chunk.id in wanted
        }

    def bodies(self, documents: Sequence[DocumentId]) -> dict[DocumentId, str]:
        """Return the texts of those of the documents that exist, by id."""
        wanted = set(documents)
        return {each.id: each.record.document.body for each in self._documents() if each.id in wanted}

    def places(self, ids: Sequence[ChunkId]) -> list[ChunkPlace]:
        """Return the places of those of the chunks that exist, in order of id."""
        wanted = set(ids)
        return sorted(place_of(document, chunk) for document, chunk in self._chunks() if chunk.id in wanted)

    def skeletons(self, ids: Sequence[ChunkId]) -> dict[ChunkId, bytes]:
        """Return the skeletons of those of the chunks that have one."""
        wanted = set(ids)
        return {
            chunk.id: skeleton
            for document, chunk in self._chunks()
            if chunk.id in wanted and (skeleton := document.record.skeletons[chunk.chunk.ordinal])
        }

    def places_in(self, documents: Sequence[DocumentId], where: Where, limit: int) -> list[ChunkPlace]:
        """Return the places of the chunks of some documents inside ``where``, in their order."""
        by_id = {each.id: each for each in self._documents()}
        return [
            place_of(by_id[document_id], chunk)
            for document_id in documents
            if document_id in by_id
            for chunk in by_id[document_id].chunks
            if inside(by_id[document_id], chunk, where)
        ][:limit]

    def contexts(self, collection_id: CollectionId, path: str) -> list[str]:
        """Return the context of each of a document's chunks, in order."""
        held = self._contents.documents.get((collection_id, path))
        return [] if held is None else [each.chunk.context for each in held.chunks]

    # --- links and names -----------------------------------------------------------------------

    def links_of(self, document_id: DocumentId) -> list[Link]:
        """Return a document's links, in order."""
        return [
            link
            for each in self._documents()
            if each.id == document_id
            for link in each.record.document.links
        ]

    def links_to(self, collection_id: CollectionId, key: str) -> list[PlacedLink]:
        """Return the links with this :func:`mdvec.text.links.link_key`, by path and position."""
        found = [each for each in self._links(collection_id) if link_key(each.link) == key]
        return sorted(found, key=lambda each: each.path)

    def previous_links(self, collection_id: CollectionId) -> list[PlacedLink]:
        """Return the links to older versions, by document and position."""
        return [each for each in self._links(collection_id) if each.link.kind is LinkKind.PREVIOUS]

    def files_named(
        self, collection_id: CollectionId, keys: Iterable[str]
    ) -> dict[str, dict[str, DocumentId]]:
        """Return paths and ids of the documents whose files have one of the names, by name."""
        wanted = set(keys)
        found: defaultdict[str, dict[str, DocumentId]] = defaultdict(dict)
        for each in self._documents_of(collection_id):
            if file_key(each.path) in wanted:
                found[file_key(each.path)][each.path] = each.id
        return dict(found)

    def documents_called(self, folded: str, where: Where) -> list[DocumentId]:
        """Return the documents inside ``where`` with this name, by path."""
        found = [
            each
            for each in self._documents()
            if document_inside(each, where) and folded in map(fold_name, each.names.values())
        ]
        return [each.id for each in sorted(found, key=lambda each: (each.path, each.id))]

    def holds_few(self, where: Where) -> bool:
        """Return True if at most ``FEW_CHUNKS`` chunks are inside."""
        return sum(inside(document, chunk, where) for document, chunk in self._chunks()) <= FEW_CHUNKS

    # --- words ---------------------------------------------------------------------------------

    def document_frequencies(self, terms: Sequence[str]) -> DocumentFrequencies:
        """Return how many chunks hold each of the terms."""
        held = [{term for each in fields_of(chunk) for term in each} for _, chunk in self._chunks()]
        counted = {term: sum(term in each for each in held) for term in terms}
        return DocumentFrequencies(len(held), {term: count for term, count in counted.items() if count})

    def bm25(
        self, terms: Sequence[str], where: Where, limit: int, *, must: Sequence[str] = ()
    ) -> list[tuple[ChunkId, float]]:
        """Rank the chunks that hold any of the terms by BM25."""
        ranked = bm25_scores(
            list(self._chunks()), self.document_frequencies(terms), terms, must or terms, where
        )
        return sorted(ranked, key=lambda pair: (-pair[1], pair[0]))[: max(limit, 0)]

    def holding(
        self, groups: Sequence[Sequence[str]], where: Where, *, limit: int | None = None
    ) -> list[ChunkId]:
        """Return the chunks inside ``where`` that hold a term of every group, in order of id."""
        found = sorted(
            chunk.id
            for document, chunk in self._chunks()
            if inside(document, chunk, where) and all(holds_one(chunk, group) for group in groups)
        )
        return found[:limit]

    # --- loops ---------------------------------------------------------------------------------

    def _links(self, collection_id: CollectionId) -> list[PlacedLink]:
        return [
            PlacedLink(each.id, each.path, link)
            for each in self._documents_of(collection_id)
            for link in each.record.document.links
        ]

    def _collection_name(self, collection_id: CollectionId) -> str:
        collection = self._contents.collections.get(collection_id)
        return "" if collection is None else collection.name

    def _stored(self, document: HeldDocument, held: HeldChunk) -> StoredChunk:
        return stored_chunk(document, held, self._collection_name(document.collection_id))
