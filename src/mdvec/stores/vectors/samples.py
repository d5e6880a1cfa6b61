"""Chunks that are spread evenly over a space, remembered where no matrix in memory has them all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from mdvec.stores.records import ChunkPlace
from mdvec.types.ids import ChunkId, SpaceId

# A sample of a space is taken again when its owners have grown or shrunk by this share.
_DRIFT = 0.05


ROWS_WRITTEN = "SELECT coalesce((SELECT max(id) FROM vectors), 0) + coalesce((SELECT max(id) FROM chunks), 0)"
"""How many chunks and vectors had ever been written."""

TEXT_IDS = """SELECT c.id FROM vectors v CROSS JOIN chunks c ON c.text_hash = v.text_hash
    WHERE v.space_id = ?"""
"""The chunks with a vector in a space; from two indexes, so that no vector is read."""


class Sample(Struct, frozen=True):
    """Chunks that were spread evenly over a space when they were chosen.

    Attributes:
        ids: The chunks.
        total: Of how many.
        rows: How many chunks and vectors had ever been written, in all spaces.
    """

    ids: tuple[ChunkId, ...]
    total: int
    rows: int

    def is_current(self, rows: int, wanted: int) -> bool:
        """Return True if it still represents a space with ``rows`` rows, for ``wanted`` chunks."""
        if self.rows == rows:
            return True
        return len(self.ids) == wanted and 0 <= rows - self.rows <= _DRIFT * self.total


class Samples:
    """The samples of a store, by space and size; shared by all its snapshots."""

    def __init__(self) -> None:
        self._known: dict[tuple[SpaceId, int], Sample] = {}

    def places(
        self,
        space_id: SpaceId,
        count: int,
        rows: int,
        all_ids: Callable[[], Iterable[int]],
        places_of: Callable[[Sequence[ChunkId]], list[ChunkPlace]],
    ) -> list[ChunkPlace]:
        """Return the places of at most ``count`` chunks that are spread evenly over a space.

        Args:
            space_id: The space.
            count: How many are wanted.
            rows: How many chunks and vectors had ever been written, in all spaces.
            all_ids: Reads the chunks with a vector in the space.
            places_of: Reads the places of those chunks that exist.
        """
        known = self._known.get((space_id, count))
        if known is not None and known.is_current(rows, count):
            places = places_of(known.ids)
            if places and len(places) >= (1 - _DRIFT) * len(known.ids):
                return places
        import numpy as np

        from mdvec.stores.exact import spread_evenly

        ids = np.sort(np.fromiter(all_ids(), np.int64))
        known = self._known[space_id, count] = Sample(tuple(spread_evenly(ids, count)), len(ids), rows)
        return places_of(known.ids)
