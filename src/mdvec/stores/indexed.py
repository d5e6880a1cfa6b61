"""Dense search through a vector index beside the store, the same for every store that has tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Self, cast

from mdvec.stores.dense import DenseReader
from mdvec.stores.exact import best_first
from mdvec.stores.tables import TableReader
from mdvec.stores.vectors.feed import ChangeFeed, Dialect
from mdvec.stores.vectors.following import AttachedIndex, FollowedIndex, NearestQuery


class IndexedReader(TableReader, DenseReader):
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
        feed = ChangeFeed(self.rows, self.dialect, self.version, current_version)
        self.index = FollowedIndex(attached, feed)
        return self

    def _nearest(self, query: NearestQuery) -> list[tuple[int, float]]:
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
