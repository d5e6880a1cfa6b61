"""The reading part of the port: one snapshot, in six parts. It holds no rule of ranking."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from mdvec.stores.records import (
    ChunkPlace,
    DocumentFrequencies,
    Groups,
    PendingText,
    StoredChunk,
    StoredDocument,
    StoredSpace,
    VectorKind,
)
from mdvec.types.change import KnownDocument
from mdvec.types.collection import Collection
from mdvec.types.ids import ChunkId, CollectionId, DocumentId, SpaceId, TextHash
from mdvec.types.links import PlacedLink, Versions
from mdvec.types.query import Where
from mdvec.types.report import Activity, CollectionCounts, FileStatus, ListedDocument, TagCount
from mdvec.types.space import EmbeddingSpace, UnrelatedTexts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mdvec.stores.vectors.follower import IndexFollower


class CollectionView(Protocol):
    """The collections of a snapshot: their settings, their counts, and the state of each file."""

    def all(self) -> list[Collection]:
        """Return all collections, by name."""

    def activities(self) -> list[Activity]:
        """Return the current work of live processes: their claims, the lease on the store first."""

    def counts(self, collection_id: CollectionId, space_id: SpaceId | None) -> CollectionCounts:
        """Count the documents, chunks and files of a collection; without a space every chunk is pending."""

    def file_states(
        self, collection_id: CollectionId, space_id: SpaceId | None, *, only_odd: bool = False
    ) -> list[FileStatus]:
        """Return the state of every file, by path; or only of files that failed or have warnings."""


class DocumentView(Protocol):
    """The documents of a snapshot, with their names and links."""

    def page(
        self, collection_id: CollectionId, *, after: str, prefix: str, limit: int
    ) -> list[ListedDocument]:
        """List at most ``limit`` documents with this prefix that come after this path, in order of path."""

    def newest(self, where: Where, *, limit: int | None = None) -> dict[DocumentId, ListedDocument]:
        """List documents inside ``where``, by id: the last updated first, then by collection and path."""

    def known(self, collection_id: CollectionId) -> dict[str, KnownDocument]:
        """Return the facts for a comparison with the source, by path."""

    def find(
        self, collection_id: CollectionId, path: str, *, verified: bool = False
    ) -> StoredDocument | None:
        """Return the document at a path; its text is checked, and if ``verified`` all of it: slow.

        Raises:
            DamagedDatabaseError: If a checksum differs.
        """

    def get(self, documents: Sequence[DocumentId]) -> dict[DocumentId, StoredDocument]:
        """Return documents by id, in any order, each with its text checked; unknown ids are left out."""

    def texts(self, documents: Sequence[DocumentId]) -> dict[DocumentId, str]:
        """Return the texts of documents, by id; unknown ids are left out."""

    def tags(self, where: Where) -> list[TagCount]:
        """Count the documents of each tag, most used first, then by name."""

    def called(self, names: Sequence[str], where: Where) -> list[DocumentId]:
        """Return the documents inside ``where`` with one of some names, by path.

        The names are folded by ``text.folding.fold_name``.
        """

    def with_file_names(
        self, collection_id: CollectionId, keys: Iterable[str]
    ) -> dict[str, dict[str, DocumentId]]:
        """Return paths and ids of the documents with each :func:`mdvec.text.links.file_key`."""

    def links_of(self, documents: Iterable[DocumentId]) -> list[PlacedLink]:
        """Return the links of any number of documents, by document and position."""

    def links_to(self, collection_id: CollectionId, key: str) -> list[PlacedLink]:
        """Return the links with this :func:`mdvec.text.links.link_key`, by path and position."""

    def versions(self, collection_id: CollectionId) -> Versions:
        """Return the documents of a collection that replace others, and the replaced ones."""


class ChunkView(Protocol):
    """The chunks of a snapshot: the passages that are found."""

    def get(self, ids: Sequence[ChunkId]) -> dict[ChunkId, StoredChunk]:
        """Return chunks by id, in the order of ``ids``; unknown ids are left out."""

    def of_document(self, document_id: DocumentId) -> list[StoredChunk]:
        """Return a document's chunks, in order."""

    def places(self, ids: Sequence[ChunkId]) -> list[ChunkPlace]:
        """Return the places of chunks, each once; unknown ids are left out.

        The document that was updated last comes first, then they are in order of collection, path and
        position: ids depend on the order of imports, and equal documents should give equal answers.
        """

    def places_in(self, documents: Sequence[DocumentId], where: Where, limit: int) -> list[ChunkPlace]:
        """Return the places of some documents' chunks inside ``where``, in their order and by ordinal."""


class WordView(Protocol):
    """Searches by words."""

    def holds_few(self, where: Where) -> bool:
        """Return True if at most ``records.FEW_CHUNKS`` chunks are inside, few enough to check one by one."""

    def frequencies(self, terms: Sequence[str]) -> DocumentFrequencies:
        """Return the document frequencies of terms, as :meth:`bm25` uses them."""

    def bm25(
        self, terms: Sequence[str], where: Where, limit: int, *, must: Sequence[str] = ()
    ) -> list[tuple[ChunkId, float]]:
        """Rank the chunks that hold any of the terms by BM25 (k1 1.2, b .75).

        A repeated term counts repeatedly. The weight of a field multiplies its term frequencies
        (``records.FIELD_WEIGHTS``); a chunk's length is the number of its terms in all fields; idf is
        ``ln((N - df + .5) / (df + .5))``, at least 1e-6, over the chunks of all collections.

        Args:
            terms: The query terms.
            where: Which chunks may be found.
            limit: Most chunks to return.
            must: A subset of the terms; only chunks that hold one of these are found. Empty for all terms.

        Returns:
            Chunks and positive scores, best first; up to ``records.FEW_CHUNKS`` ties in order of place, as in
            :meth:`ChunkView.places`.
        """

    def holding(
        self, wanted: Sequence[Groups], where: Where, *, limit: int | None = None
    ) -> list[list[ChunkId]]:
        """Return the chunks inside ``where`` that hold a term of every group, in order of id.

        Args:
            wanted: Groups of terms, for each list in the result; no group is empty. A term that ends in ``*``
                matches all terms with this prefix.
            where: Which chunks may be found.
            limit: Most chunks in each list; None for any number.
        """


class SpaceView(Protocol):
    """The embedding spaces of a snapshot."""

    def all(self) -> list[StoredSpace]:
        """Return every space that was opened, in order of id."""

    def find(self, space: EmbeddingSpace) -> SpaceId | None:
        """Return the id of a space; None if it was never opened."""

    def unrelated(self, space_id: SpaceId) -> UnrelatedTexts | None:
        """Return the similarity of unrelated texts in a space; None before it was measured."""


class VectorView(Protocol):
    """The vectors of a snapshot, searches in them, and the texts that have none yet.

    Attributes:
        index: The vector index that follows the store up to this snapshot; None without one.
    """

    index: IndexFollower | None

    def nearest(
        self, kind: VectorKind, space_id: SpaceId, query: NDArray[np.float32], where: Where, limit: int
    ) -> list[tuple[Any, float]]:
        """Return the chunks whose texts, or the documents whose names, are nearest by cosine similarity.

        Args:
            kind: Texts of chunks, or names of documents. A document is as near as the nearest of its names.
            space_id: The space of the query.
            query: Shape (dim,), unit length.
            where: What may be found. Every document that holds a chunk inside counts as inside.
            limit: Most owners to return.

        Returns:
            The ids of ``min(limit, owners inside that have a vector)``, best first; ties as in
            :meth:`WordView.bm25`.
        """

    def similarities(
        self, kind: VectorKind, space_id: SpaceId, queries: NDArray[np.float32], owners: Sequence[int]
    ) -> NDArray[np.float64]:
        """Return the exact cosine similarities of n owners and k queries of unit length, shape (k, n).

        NaN where an owner has no vector; the queries have shape (k, dim).
        """

    def of_chunks(self, space_id: SpaceId, ids: Sequence[ChunkId]) -> NDArray[np.float32]:
        """Return the vectors of n chunks' texts, shape (n, dim); rows of NaN where there is none."""

    def sample(self, space_id: SpaceId, count: int) -> list[ChunkPlace]:
        """Return a sample of the chunks with a vector, in order of place.

        It has the first chunk of each of the ``count`` texts with the smallest hashes. Of texts with the same
        skeleton only the first counts. So equal documents give an equal sample, and a new one changes little.
        """

    def pages(self, space_id: SpaceId) -> Iterator[tuple[list[TextHash], NDArray[np.float32]]]:
        """Yield all stored vectors, used or not, in order of hash: hashes, and vectors of shape (n, dim)."""

    def known(self, space_id: SpaceId, hashes: Sequence[TextHash]) -> set[TextHash]:
        """Return the hashes that have a vector."""

    def pending(
        self, kind: VectorKind, collection_id: CollectionId, space_id: SpaceId, limit: int
    ) -> list[PendingText]:
        """Return texts of a kind without a vector in the space, the oldest first, each hash once."""

    def count_pending_names(self, collection_id: CollectionId, space_id: SpaceId) -> int:
        """Count the names without a vector in the space, also those that other processes have taken."""


class View(Struct, frozen=True):
    """One consistent snapshot of a store, for one thread, until its context ends.

    Attributes:
        version: Grows with every commit of any process that changed something.
        restricted: True if it shows only some collections, and no paths of this machine.
        collections: The collections, with their counts and states.
        documents: The documents, with their names and links.
        chunks: The chunks.
        words: Searches by words.
        spaces: The embedding spaces.
        vectors: The vectors, searches in them, and the texts that have none yet.
    """

    version: int
    restricted: bool
    collections: CollectionView
    documents: DocumentView
    chunks: ChunkView
    words: WordView
    spaces: SpaceView
    vectors: VectorView


def every_document(collection_id: CollectionId, view: View) -> Iterator[StoredDocument]:
    """Yield all documents of a collection, by path."""
    for _, known in sorted(view.documents.known(collection_id).items()):
        yield view.documents.get([known.id])[known.id]
