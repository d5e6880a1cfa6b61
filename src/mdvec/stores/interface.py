"""The ports of stage 5: a catalog, a lexical index and a vector index, held together by a store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from mdvec.types.change import Exclusion, KnownDocument, SourceEntry, Unreadable
from mdvec.types.chunk import Chunk
from mdvec.types.collection import ChunkingSpec, Collection, SourceSpec
from mdvec.types.document import Comment, Document, Link
from mdvec.types.ids import ChunkId, CollectionId, DocumentId, SpaceId, TextHash
from mdvec.types.links import PlacedLink, Versions
from mdvec.types.query import Scope
from mdvec.types.report import CollectionCounts, FileStatus, ListedDocument, TagCount
from mdvec.types.space import EmbeddingSpace, UnrelatedTexts
from mdvec.stores.lexical import LexicalIndex

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as the store keeps it.

    Attributes:
        id: Row of the catalog.
        collection: Name of its collection.
        collection_id: Row of its collection.
        path: Relative path.
        locator: The name as the file system spells it.
        title: For people.
        body: The whole text, see :class:`mdvec.types.document.Document`.
        comments: What the author hid in it, see :func:`mdvec.types.document.with_comments`.
        content_start: Where the text after the frontmatter starts.
        frontmatter: Parsed frontmatter.
        tags: As written.
        aliases: As written.
        content_hash: SHA-256 of the raw bytes.
        mtime_ns: As last seen.
        size: As last seen.
    """

    id: DocumentId
    collection: str
    collection_id: CollectionId
    path: str
    locator: str
    title: str
    body: str
    comments: tuple[Comment, ...]
    content_start: int
    frontmatter: Mapping[str, object]
    tags: tuple[str, ...]
    aliases: tuple[str, ...]
    content_hash: bytes
    mtime_ns: int
    size: int


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk with what is shown of its document. Fields as in Chunk, SearchHit and StoredDocument."""

    id: ChunkId
    document_id: DocumentId
    collection_id: CollectionId
    collection: str
    path: str
    locator: str
    title: str
    content_hash: bytes
    mtime_ns: int
    size: int
    ordinal: int
    parent: int | None
    depth: int
    heading_path: tuple[str, ...]
    start: int
    end: int
    start_line: int
    end_line: int
    token_count: int
    text: str


@dataclass(frozen=True, slots=True)
class PendingText:
    """A text that has no vector yet.

    Attributes:
        text_hash: Its identity in the vector index.
        text: What the embedder is to be given.
        title: What the document is called; empty for a name.
    """

    text_hash: TextHash
    text: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class DenseMatches:
    """The nearest chunks, and what an unrelated chunk looks like to this query.

    Attributes:
        ids: Best first.
        similarities: How near each is, see :meth:`VectorIndex.search`.
        mean: Mean cosine similarity of the texts of all chunks in the space, whatever their documents
            are called (a sample will do).
        spread: Its standard deviation; 0 when there are fewer than two.
    """

    ids: tuple[ChunkId, ...]
    similarities: tuple[float, ...]
    mean: float
    spread: float


class Catalog(Protocol):
    """Collections, documents and chunks. Methods that write must be called inside ``Store.transaction``."""

    def collections(self) -> list[Collection]:
        """Return all collections, by name."""
        ...

    def add_collection(
        self, name: str, description: str, source: SourceSpec, chunking: ChunkingSpec
    ) -> Collection:
        """Write a new, enabled collection.

        Raises:
            CollectionExistsError: If the name is taken.
        """
        ...

    def change_collection(
        self, collection_id: CollectionId, change: Callable[[Collection], Collection]
    ) -> Collection:
        """Rewrite a collection, given as it is inside this transaction: nobody else's change is lost.

        Nothing is written when nothing differs.

        Returns:
            The collection as it is now.

        Raises:
            CollectionNotFoundError: If it was deleted.
        """
        ...

    def delete_collection(self, collection_id: CollectionId) -> None:
        """Remove the collection and all it holds; vectors stay as a cache."""
        ...

    def documents(
        self, collection_id: CollectionId, *, after: str, prefix: str, limit: int
    ) -> list[ListedDocument]:
        """List documents in order of path (by code point), without reading any text.

        Args:
            collection_id: The collection.
            after: Only paths that come after this one; empty for all.
            prefix: Only paths that start so; empty for all.
            limit: Most documents to return.
        """
        ...

    def known_documents(self, collection_id: CollectionId) -> dict[str, KnownDocument]:
        """Return what is known of every document, by path."""
        ...

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
        """Write a document with its chunks, names, tags, aliases and links.

        It replaces the one at its path, whose names and chunks are gone; ids are never used again.

        Returns:
            The new chunks' ids, in order. The old chunks' words are gone from the lexical index.
        """
        ...

    def touch_document(self, collection_id: CollectionId, entry: SourceEntry) -> None:
        """Write down the time and size of a document whose content is the same."""
        ...

    def delete_document(self, collection_id: CollectionId, path: str) -> None:
        """Remove a document with its chunks and words; no error when it is not there."""
        ...

    def set_outcome(
        self,
        collection_id: CollectionId,
        *,
        exclusions: Iterable[Exclusion],
        failures: Iterable[Unreadable],
    ) -> None:
        """Write down which files are excluded and failed, replacing what was written before.

        Nothing is written when nothing differs.
        """
        ...

    def find_document(self, collection_id: CollectionId, path: str) -> StoredDocument | None:
        """Return the document at a path."""
        ...

    def document_chunks(self, document_id: DocumentId) -> list[StoredChunk]:
        """Return a document's chunks, in order."""
        ...

    def contexts(self, collection_id: CollectionId, path: str) -> list[str]:
        """Return the context of each of a document's chunks, in order; none when it is not there."""
        ...

    def links_of(self, document_id: DocumentId) -> list[Link]:
        """Return a document's links, in order."""
        ...

    def links_named(self, collection_id: CollectionId, key: str) -> list[PlacedLink]:
        """Return the links with this :func:`mdvec.stores.versions.link_key`, by path and position."""
        ...

    def documents_named(
        self, collection_id: CollectionId, keys: Iterable[str]
    ) -> dict[str, dict[str, DocumentId]]:
        """Return paths and ids of the documents with each :func:`mdvec.text.paths.file_key` that is there."""
        ...

    def versions(self, collection_id: CollectionId) -> Versions:
        """Return what :func:`mdvec.stores.versions.find_versions` says; every search asks for it."""
        ...

    def documents_of(self, ids: Sequence[ChunkId]) -> dict[ChunkId, DocumentId]:
        """Return the documents of those of the chunks that still exist, without reading any text."""
        ...

    def collections_of(self, ids: Sequence[ChunkId]) -> dict[ChunkId, CollectionId]:
        """Return the collections of those of the chunks that still exist, without reading any text."""
        ...

    def unspaced(self, ids: Sequence[ChunkId]) -> set[ChunkId]:
        """Return those of the chunks that :func:`mdvec.text.writing.is_unspaced` is true of."""
        ...

    def load_chunks(self, ids: Sequence[ChunkId]) -> dict[ChunkId, StoredChunk]:
        """Return those of the chunks that still exist, by id."""
        ...

    def counts(self, collection_id: CollectionId, space_id: SpaceId | None) -> CollectionCounts:
        """Count what a collection holds; without a space every chunk is pending."""
        ...

    def file_states(self, collection_id: CollectionId, space_id: SpaceId | None) -> list[FileStatus]:
        """Return the one state of every file, by path."""
        ...

    def tags(self, scope: Scope) -> list[TagCount]:
        """Count the documents of each tag, most used first, then by name."""
        ...

    def pending(self, collection_id: CollectionId, space_id: SpaceId, limit: int) -> list[PendingText]:
        """Return chunk texts without a vector in the space, oldest chunk first, each hash once."""
        ...

    def pending_names(self, collection_id: CollectionId, space_id: SpaceId, limit: int) -> list[PendingText]:
        """Return :func:`mdvec.stores.names.embedded_names` without a vector, oldest first, each hash once."""
        ...

    def count_pending_names(self, collection_id: CollectionId, space_id: SpaceId) -> int:
        """Return how many names :meth:`pending_names` would return without a limit."""
        ...

    def chunks_named(self, folded: str, scope: Scope, limit: int) -> list[ChunkId]:
        """Return the chunks of documents that are called so, ordered by path and then by ordinal.

        Args:
            folded: A name as :func:`mdvec.text.folding.fold_name` returns it; each of
                :func:`mdvec.stores.names.embedded_names` is compared with it in that form.
            scope: What is allowed.
            limit: Most chunks to return.
        """
        ...


class VectorIndex(Protocol):
    """Vectors by space and text, and the chunks nearest to a query. Append-only, so it is a cache too."""

    def find_space(self, space: EmbeddingSpace) -> SpaceId | None:
        """Return the id of a space that is known already."""
        ...

    def open_space(self, space: EmbeddingSpace) -> SpaceId:
        """Return the id of a space, writing it down when it is new."""
        ...

    def unrelated(self, space_id: SpaceId) -> UnrelatedTexts | None:
        """Return how similar unrelated texts are in a space; None until it was measured."""
        ...

    def set_unrelated(self, space_id: SpaceId, measured: UnrelatedTexts) -> None:
        """Write down how similar unrelated texts are in a space; what is there already is left as it is."""
        ...

    def cached(self, space_id: SpaceId, hashes: Sequence[TextHash]) -> set[TextHash]:
        """Return those of the hashes that have a vector."""
        ...

    def add(self, space_id: SpaceId, hashes: Sequence[TextHash], vectors: NDArray[np.float32]) -> None:
        """Add unit vectors, shape (len(hashes), dim); a hash that is there already is left as it is."""
        ...

    def search(self, space_id: SpaceId, query: NDArray[np.float32], limit: int, scope: Scope) -> DenseMatches:
        """Return the exact nearest chunks inside the scope: min(limit, chunks with a vector) of them.

        A chunk is as near as its text, and nearer when its document is called what is looked for: with
        ``s`` the cosine similarity of query and text, and ``t`` the largest one of query and any of the
        document's names that has a vector, it is ``u = max(s, (1 - NAME_SHARE) * s + NAME_SHARE * t)``.
        What stands before and after it counts a little too: with ``v`` the mean ``u`` of the chunks next to
        it in its document that have a vector, a chunk with such is as near as
        ``(u + NEIGHBOUR_SHARE * v) / (1 + NEIGHBOUR_SHARE)``. Ties are in order of id.
        """
        ...

    def similarities(
        self, space_id: SpaceId, query: NDArray[np.float32], ids: Sequence[ChunkId]
    ) -> dict[ChunkId, float]:
        """Return how near those of the chunks are that have a vector, see :meth:`search`."""
        ...

    def drop_space(self, space_id: SpaceId) -> int:
        """Remove all vectors of a space, and return how many; who still asks for its id finds nothing."""
        ...

    def drop_unused(self, *, keep: int = 0) -> int:
        """Remove vectors that no chunk and no name uses, but for the newest ``keep``; return how many."""
        ...


class Store(Protocol):
    """One place that holds a catalog and its indexes."""

    @property
    def catalog(self) -> Catalog:
        """Collections, documents and chunks."""
        ...

    @property
    def lexical(self) -> LexicalIndex:
        """Words."""
        ...

    @property
    def vectors(self) -> VectorIndex:
        """Vectors."""
        ...

    @property
    def size_bytes(self) -> int:
        """Bytes it takes on disk."""
        ...

    @property
    def generation(self) -> int:
        """A number that grows with every commit that changed something, of any process."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """Write all or nothing; keep it short, compute before it."""
        ...

    def writer(self, purpose: str, *, wait_s: float) -> AbstractContextManager[None]:
        """Hold the database's single writer lease.

        Args:
            purpose: For people who are told that they have to wait, such as ``import notes``.
            wait_s: How long to wait for another process, in seconds.

        Raises:
            WriterBusyError: If another live process still holds it then; the message names it.
        """
        ...

    def check(self) -> list[str]:
        """Examine the whole store for damage; slow.

        Returns:
            What is wrong, for people; empty when all is well.
        """
        ...

    def close(self) -> None:
        """Release everything; a second call does nothing."""
        ...


NAME_SHARE = 0.5
"""How much what a document is called says of a chunk, where it says more than the chunk's text."""

NEIGHBOUR_SHARE = 0.2
"""How much the chunks before and after say of a chunk, next to what it says itself."""
