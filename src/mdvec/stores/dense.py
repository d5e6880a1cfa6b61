"""Dense search over the vectors in memory, the same for every store that has tables."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, ClassVar, Self, cast

from mdvec.stores.inside import WhereTables
from mdvec.stores.loaded import LoadedSpace, LoadedSpaces, VectorRows
from mdvec.stores.records import ChunkPlace
from mdvec.stores.vectors.follower import AttachedIndex, FollowedIndex, NearestQuery
from mdvec.stores.vectors.index import VectorKind
from mdvec.stores.vectors.journal import ChangeJournal, Dialect
from mdvec.types.ids import ChunkId, DocumentId, SpaceId
from mdvec.types.query import Where

if TYPE_CHECKING:  # numpy is loaded when the first vector is used: searching by words needs none
    import numpy as np
    from numpy.typing import NDArray

    from mdvec.stores.matrix import ExactView


# In the order of the index of a space's vectors, so that no more than the sample is read.
_SAMPLE = """SELECT min(c.id) FROM vectors v CROSS JOIN chunks c ON c.text_hash = v.text_hash
    WHERE v.space_id = ? GROUP BY v.text_hash ORDER BY v.text_hash LIMIT ?"""


class DenseReader(WhereTables):
    """The part of a snapshot that searches by vectors; a part of :class:`mdvec.stores.interface.View`.

    Subclasses that search an index override the methods that begin with an underscore.

    Attributes:
        version: The version of the snapshot.
        vector_epoch: Grows when vectors are removed; until then they are only appended.
        loaded: The matrices of the store; None inside a transaction, whose rows no other snapshot may see.
        index: The vector index beside the store that follows the snapshot; None without one.
    """

    version: int
    vector_epoch: int
    loaded: LoadedSpaces | None = None
    index: FollowedIndex | None = None
    _products: tuple[SpaceId, NDArray[np.float32], NDArray[np.float32]] | None = None

    @abstractmethod
    def places(self, ids: Sequence[ChunkId]) -> list[ChunkPlace]:
        """Return the places of the chunks that exist, in order of id."""

    @abstractmethod
    def vector_rows(self) -> VectorRows:
        """Return the rows from which a matrix is loaded."""

    def nearest_chunks(
        self, space_id: SpaceId, query: NDArray[np.float32], where: Where, limit: int
    ) -> list[tuple[ChunkId, float]]:
        """Return the chunks whose texts are nearest to a query, by plain cosine similarity."""
        found = self._nearest_inside(VectorKind.TEXT, space_id, query, where, limit)
        return cast("list[tuple[ChunkId, float]]", found)

    def nearest_documents(
        self, space_id: SpaceId, query: NDArray[np.float32], where: Where, limit: int
    ) -> list[tuple[DocumentId, float]]:
        """Return the documents whose names are nearest to a query."""
        found = self._nearest_inside(VectorKind.NAME, space_id, query, where, limit)
        return cast("list[tuple[DocumentId, float]]", found)

    def chunk_similarities(
        self, space_id: SpaceId, queries: NDArray[np.float32], ids: Sequence[ChunkId]
    ) -> NDArray[np.float64]:
        """Return the exact cosine similarities of the chunks' texts."""
        return self._similarities(VectorKind.TEXT, space_id, queries, ids)

    def chunk_vectors(self, space_id: SpaceId, ids: Sequence[ChunkId]) -> NDArray[np.float32]:
        """Return the vectors of the chunks' texts."""
        return self._view(space_id).vectors(ids)

    def name_similarities(
        self, space_id: SpaceId, queries: NDArray[np.float32], documents: Sequence[DocumentId]
    ) -> NDArray[np.float64]:
        """Return the exact cosine similarities of the nearest of each document's names."""
        return self._similarities(VectorKind.NAME, space_id, queries, documents)

    def sampled_chunks(self, space_id: SpaceId, count: int) -> list[ChunkPlace]:
        """Return one chunk for each of the texts with the smallest hashes."""
        return self.memorized(("sampled", space_id, count), lambda: self._sampled(space_id, count))

    def _sampled(self, space_id: SpaceId, count: int) -> list[ChunkPlace]:
        return self.places([row[0] for row in self.rows(_SAMPLE, space_id, count)])

    def _nearest_inside(
        self, kind: VectorKind, space_id: SpaceId, query: NDArray[np.float32], where: Where, limit: int
    ) -> list[tuple[int, float]]:
        if limit <= 0 or not where.collections:
            return []
        chunks, documents = self.few_inside(where) or (None, None)
        few = chunks if kind is VectorKind.TEXT else documents
        inside = partial(self.owners_inside, kind, where)
        return self._nearest(NearestQuery(kind, space_id, query, where, limit, few, inside))

    def _nearest(self, query: NearestQuery) -> list[tuple[int, float]]:
        """Return the nearest of the owners inside."""
        view = self._view(query.space_id)
        owners = view.chunks if query.kind is VectorKind.TEXT else view.documents
        products = self._products_of(query.space_id, query.vector)
        inside = query.inside if query.few is None else query.few
        return view.nearest(owners, products, query.vector, query.limit, inside)

    def _similarities(
        self, kind: VectorKind, space_id: SpaceId, queries: NDArray[np.float32], ids: Sequence[int]
    ) -> NDArray[np.float64]:
        """Return the exact cosine similarities of owners; NaN for those without a vector."""
        view = self._view(space_id)
        return view.similarities(view.chunks if kind is VectorKind.TEXT else view.documents, ids, queries)

    @cached_property
    def _views(self) -> dict[SpaceId, ExactView]:
        return {}

    def _view(self, space_id: SpaceId) -> ExactView:
        if self.loaded is None:
            return LoadedSpace(self.vector_rows(), space_id, self.version, self.vector_epoch).matrix.view()
        if space_id not in self._views:
            self._views[space_id] = self.loaded.view(
                self.vector_rows(), space_id, self.version, self.vector_epoch
            )
        return self._views[space_id]

    def _products_of(self, space_id: SpaceId, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the products of a query with all rows of a space, computed once for texts and names."""
        known = self._products
        if known is None or known[0] != space_id or known[1] is not query:
            known = space_id, query, self._view(space_id).products(query)
            self._products = known if self.loaded is not None else None
        return known[2]


class IndexedReader(DenseReader):
    """Searches by vectors through the index beside the store; similarities are the store's own.

    Attributes:
        dialect: How the index reads the changes that it has missed.
    """

    dialect: ClassVar[Dialect]

    def through(self, attached: AttachedIndex, current_version: Callable[[], int]) -> Self:
        """Search through an index from now on; return this snapshot.

        Args:
            attached: The index.
            current_version: Reads the version that the store has now.
        """
        journal = ChangeJournal(self.rows, self.dialect, self.version, current_version)
        self.index = FollowedIndex(attached, journal)
        return self

    def _nearest(self, query: NearestQuery) -> list[tuple[int, float]]:
        from mdvec.stores.exact import best_first

        owners = self._proposed_by_index(query) if query.few is None else [*query.few]
        if owners is None:
            return self._without_index(query)
        near = self._similarities(query.kind, query.space_id, query.vector.reshape(1, -1), owners)
        return best_first(owners, near[0], query.limit)

    def _proposed_by_index(self, query: NearestQuery) -> list[int] | None:
        collections = None if self.covers_everything(query.where) else query.where.collections
        return cast("FollowedIndex", self.index).propose(query, collections)

    def _without_index(self, query: NearestQuery) -> list[tuple[int, float]]:
        """Return the nearest of the owners inside when the index cannot be used."""
        return super()._nearest(query)
