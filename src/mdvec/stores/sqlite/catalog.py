"""The catalog: each method is one snapshot or part of one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from mdvec.types.change import Exclusion, KnownDocument, SourceEntry, Unreadable
from mdvec.types.chunk import Chunk
from mdvec.types.collection import ChunkingSpec, Collection, SourceSpec
from mdvec.types.document import Document, Link
from mdvec.types.ids import ChunkId, CollectionId, DocumentId, SpaceId
from mdvec.types.links import PlacedLink, Versions
from mdvec.types.query import Scope
from mdvec.types.report import CollectionCounts, FileStatus, ListedDocument, TagCount
from mdvec.stores.interface import PendingText, StoredChunk, StoredDocument
from mdvec.stores.sqlite import (
    chunk_rows,
    collection_rows,
    document_rows,
    file_states,
    link_rows,
    name_rows,
)
from mdvec.stores.sqlite.database import Database, generation, vector_epoch


class SqliteCatalog:
    """Collections, documents and chunks in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._counts: dict[tuple[CollectionId, SpaceId | None], tuple[int, CollectionCounts]] = {}
        self._versions: dict[CollectionId, tuple[int, Versions]] = {}
        self._embedded_up_to: dict[tuple[CollectionId, SpaceId, int], int] = {}
        self._named_up_to: dict[tuple[CollectionId, SpaceId, int], int] = {}

    def collections(self) -> list[Collection]:
        """Return all collections, by name."""
        with self._database.reading() as connection:
            return collection_rows.collections(connection)

    def add_collection(
        self, name: str, description: str, source: SourceSpec, chunking: ChunkingSpec
    ) -> Collection:
        """Write a new, enabled collection."""
        with self._database.writing() as connection:
            return collection_rows.add_collection(connection, name, description, source, chunking)

    def change_collection(
        self, collection_id: CollectionId, change: Callable[[Collection], Collection]
    ) -> Collection:
        """Rewrite a collection, given as it is inside this transaction."""
        with self._database.writing() as connection:
            return collection_rows.change_collection(connection, collection_id, change)

    def delete_collection(self, collection_id: CollectionId) -> None:
        """Remove a collection and all it holds."""
        with self._database.writing() as connection:
            collection_rows.delete_collection(connection, collection_id)

    def documents(
        self, collection_id: CollectionId, *, after: str, prefix: str, limit: int
    ) -> list[ListedDocument]:
        """List documents in order of path, without reading any text."""
        with self._database.reading() as connection:
            return document_rows.documents(connection, collection_id, after=after, prefix=prefix, limit=limit)

    def known_documents(self, collection_id: CollectionId) -> dict[str, KnownDocument]:
        """Return what is known of every document, by path."""
        with self._database.reading() as connection:
            return document_rows.known_documents(connection, collection_id)

    def put_document(
        self,
        collection_id: CollectionId,
        document: Document,
        chunks: Sequence[Chunk],
        *,
        entry: SourceEntry,
        content_hash: bytes,
        fingerprint: str,
    ) -> list[ChunkId]:
        """Write a document and all that hangs on it, replacing the one at its path."""
        with self._database.writing() as connection:
            return document_rows.put_document(
                connection,
                collection_id,
                document,
                chunks,
                entry=entry,
                content_hash=content_hash,
                fingerprint=fingerprint,
            )

    def touch_document(self, collection_id: CollectionId, entry: SourceEntry) -> None:
        """Write down the time, size and spelling of a document whose content is the same."""
        with self._database.writing() as connection:
            document_rows.touch_document(connection, collection_id, entry)

    def delete_document(self, collection_id: CollectionId, path: str) -> None:
        """Remove a document and all that hangs on it."""
        with self._database.writing() as connection:
            document_rows.delete_document(connection, collection_id, path)

    def set_outcome(
        self,
        collection_id: CollectionId,
        *,
        exclusions: Iterable[Exclusion],
        failures: Iterable[Unreadable],
    ) -> None:
        """Write down which files are excluded and failed; only what differs is written."""
        with self._database.writing() as connection:
            file_states.set_outcome(connection, collection_id, exclusions=exclusions, failures=failures)

    def find_document(self, collection_id: CollectionId, path: str) -> StoredDocument | None:
        """Return the document at a path."""
        with self._database.reading() as connection:
            return document_rows.find_document(connection, collection_id, path)

    def document_chunks(self, document_id: DocumentId) -> list[StoredChunk]:
        """Return a document's chunks, in order."""
        with self._database.reading() as connection:
            return chunk_rows.document_chunks(connection, document_id)

    def contexts(self, collection_id: CollectionId, path: str) -> list[str]:
        """Return the context of each of a document's chunks, in order."""
        with self._database.reading() as connection:
            return chunk_rows.contexts(connection, collection_id, path)

    def links_of(self, document_id: DocumentId) -> list[Link]:
        """Return a document's links, in order."""
        with self._database.reading() as connection:
            return link_rows.links_of(connection, document_id)

    def links_named(self, collection_id: CollectionId, key: str) -> list[PlacedLink]:
        """Return the links that may lead to the files of a name."""
        with self._database.reading() as connection:
            return link_rows.links_named(connection, collection_id, key)

    def documents_named(
        self, collection_id: CollectionId, keys: Iterable[str]
    ) -> dict[str, dict[str, DocumentId]]:
        """Return paths and ids of the documents whose files have one of the names, by name."""
        with self._database.reading() as connection:
            return link_rows.documents_named(connection, collection_id, keys)

    def versions(self, collection_id: CollectionId) -> Versions:
        """Return which documents replace which; found out once for every state of the database."""
        with self._database.reading() as connection:
            if self._database.in_transaction:
                return link_rows.versions(connection, collection_id)
            now = generation(connection)
            found_at, known = self._versions.get(collection_id, (-1, None))
            if known is None or found_at != now:
                known = link_rows.versions(connection, collection_id)
                self._versions[collection_id] = now, known
            return known

    def documents_of(self, ids: Sequence[ChunkId]) -> dict[ChunkId, DocumentId]:
        """Return the documents of those of the chunks that still exist."""
        with self._database.reading() as connection:
            return chunk_rows.documents_of(connection, ids)

    def collections_of(self, ids: Sequence[ChunkId]) -> dict[ChunkId, CollectionId]:
        """Return the collections of those of the chunks that still exist."""
        with self._database.reading() as connection:
            return chunk_rows.collections_of(connection, ids)

    def unspaced(self, ids: Sequence[ChunkId]) -> set[ChunkId]:
        """Return those of the chunks that are mostly in scripts without spaces."""
        with self._database.reading() as connection:
            return chunk_rows.unspaced(connection, ids)

    def load_chunks(self, ids: Sequence[ChunkId]) -> dict[ChunkId, StoredChunk]:
        """Return those of the chunks that still exist, by id."""
        with self._database.reading() as connection:
            return chunk_rows.load_chunks(connection, ids)

    def counts(self, collection_id: CollectionId, space_id: SpaceId | None) -> CollectionCounts:
        """Count what a collection holds; counted once for every state of the database."""
        key = collection_id, space_id
        with self._database.reading() as connection:
            if self._database.in_transaction:
                return file_states.counts(connection, collection_id, space_id)
            now = generation(connection)
            counted_at, known = self._counts.get(key, (-1, None))
            if known is None or counted_at != now:
                known = file_states.counts(connection, collection_id, space_id)
                self._counts[key] = now, known
            return known

    def file_states(self, collection_id: CollectionId, space_id: SpaceId | None) -> list[FileStatus]:
        """Return the one state of every file, by path."""
        with self._database.reading() as connection:
            return file_states.file_states(connection, collection_id, space_id)

    def tags(self, scope: Scope) -> list[TagCount]:
        """Count the documents of each tag, most used first, then by name."""
        with self._database.reading() as connection:
            return file_states.tags(connection, scope)

    def pending(self, collection_id: CollectionId, space_id: SpaceId, limit: int) -> list[PendingText]:
        """Return texts without a vector; starts where the last call found the first one."""
        with self._database.reading() as connection:
            # Ids only grow, and vectors only go when the epoch changes.
            key = collection_id, space_id, vector_epoch(connection)
            after = self._embedded_up_to.get(key, 0)
            texts, after = chunk_rows.pending(connection, collection_id, space_id, limit, after=after)
            if not self._database.in_transaction:
                self._embedded_up_to[key] = after
            return texts

    def pending_names(self, collection_id: CollectionId, space_id: SpaceId, limit: int) -> list[PendingText]:
        """Return names without a vector; starts where the last call found the first one."""
        with self._database.reading() as connection:
            key = collection_id, space_id, vector_epoch(connection)
            after = self._named_up_to.get(key, 0)
            names, after = name_rows.pending_names(connection, collection_id, space_id, limit, after=after)
            if not self._database.in_transaction:
                self._named_up_to[key] = after
            return names

    def count_pending_names(self, collection_id: CollectionId, space_id: SpaceId) -> int:
        """Count the names without a vector, each hash once."""
        with self._database.reading() as connection:
            return name_rows.count_pending_names(connection, collection_id, space_id)

    def chunks_named(self, folded: str, scope: Scope, limit: int) -> list[ChunkId]:
        """Return the chunks of the documents inside the scope that are called so."""
        with self._database.reading() as connection:
            return name_rows.chunks_named(connection, folded, scope, limit)
