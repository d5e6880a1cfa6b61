"""A vector index in memory: brute force, and what the real ones are compared with."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct, field

from mdvec.stores.vectors.index import (
    HeldEntries,
    IndexedSpace,
    Inside,
    Mark,
    VectorChanges,
    VectorEntry,
)

if TYPE_CHECKING:
    from mdvec.stores.vectors.index import Vector


class _Space(Struct):
    mark: Mark
    entries: dict[int, VectorEntry] = field(default_factory=dict)


class MemoryVectorIndex:
    """Every entry in a dictionary; it ends with the process.

    Attributes:
        applications: How many times changes were applied.

    Args:
        place: Shown to people.
    """

    def __init__(self, place: str = "memory") -> None:
        self.applications = 0
        self.location = place
        self._guard = threading.Lock()
        self._spaces: dict[IndexedSpace, _Space] = {}

    def applied(self, space: IndexedSpace) -> Mark | None:
        """Return the mark of the last applied changes."""
        with self._guard:
            return self._spaces[space].mark if space in self._spaces else None

    def apply(self, space: IndexedSpace, changes: VectorChanges) -> bool:
        """Apply changes, all or nothing."""
        with self._guard:
            held = self._spaces.get(space)
            if (None if held is None else held.mark) != changes.since:
                return False
            if held is None:
                held = self._spaces[space] = _Space(changes.until)
            for key in changes.removed:
                held.entries.pop(key, None)
            held.entries.update({entry.id: entry for entry in changes.added})
            held.mark = changes.until
            self.applications += 1
            return True

    def nearest(self, space: IndexedSpace, query: Vector, limit: int, inside: Inside) -> list[int]:
        """Return the owners of the nearest entries; exact, ties in order of id."""
        with self._guard:
            if space not in self._spaces:
                return []
            entries = [
                each
                for each in self._spaces[space].entries.values()
                if inside is None or each.collection_id in inside
            ]
        found = [(each.id, each.owner, float(each.vector @ query)) for each in entries]
        best = sorted(found, key=lambda row: (-row[2], row[0]))[:limit]
        return [owner for _, owner, _ in best]

    def entries(self, space: IndexedSpace) -> list[VectorEntry]:
        """Return what it holds, by id."""
        with self._guard:
            if space not in self._spaces:
                return []
            return [entry for _, entry in sorted(self._spaces[space].entries.items())]

    def held(self, space: IndexedSpace) -> Iterator[HeldEntries]:
        """Yield all entries at once."""
        if entries := self.entries(space):
            vectors = np.stack([each.vector for each in entries])
            yield HeldEntries([each.id for each in entries], [each.owner for each in entries], vectors)

    def drop(self, space: IndexedSpace) -> None:
        """Remove a space."""
        with self._guard:
            self._spaces.pop(space, None)

    def optimize(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing: there is nothing to release."""
