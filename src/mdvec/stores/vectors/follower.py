"""Keeps a vector index up to date with its store, and searches it: one mechanism for every store."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct, field

from mdvec import run
from mdvec.errors import StoreError
from mdvec.stores.records import VectorKind
from mdvec.stores.tables import Tables
from mdvec.stores.vectors.index import MAX_NEAREST, IndexedSpace, VectorIndex
from mdvec.stores.vectors.journal import Progress, SpaceJournal, read_journals
from mdvec.text.quantity import quantity
from mdvec.types.ids import CollectionId, SpaceId
from mdvec.types.query import Where

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# A search catches up with about this many entries, a second or two of work. The rest waits for the next
# search or import; until then, the vectors of the store answer.
_MAX_PER_SEARCH = 3_000

# The index ranks by similarities of its own: the last of the nearest may come out just behind.
_SPARE = 32

# A filter usually lets a good part through; where it does not, more and more are proposed.
_FIRST_FACTOR = 2
_NEXT_FACTOR = 4


class NearestQuery(Struct, frozen=True):
    """A search for the nearest chunks by their texts, or for the nearest documents by their names.

    Attributes:
        kind: Which of the two.
        space_id: The space of the vector.
        vector: Shape (dim,), unit length.
        where: What may be found.
        limit: Most owners to return.
        few: The owners that may be found; None if they are many.
        inside: Filters owners: returns the ones that may be found.
    """

    kind: VectorKind
    space_id: SpaceId
    vector: NDArray[np.float32]
    where: Where
    limit: int
    few: frozenset[int] | None
    inside: Callable[[Sequence[int]], set[int]]


class AttachedIndex(Struct, frozen=True):
    """The vector index of a store, shared by all snapshots.

    Attributes:
        index: The index.
        current_version: Reads the version that the store has now.
        catching_up: Held by the thread that applies changes: one is enough.
    """

    index: VectorIndex
    current_version: Callable[[], int]
    catching_up: threading.Lock = field(default_factory=threading.Lock)


class IndexFollower:
    """A vector index that follows its store up to one snapshot.

    Attributes:
        location: Where the index is, for people.

    Args:
        attached: The index.
        tables: The snapshot.
    """

    def __init__(self, attached: AttachedIndex, tables: Tables) -> None:
        self.location = attached.index.location
        self._attached = attached
        self._index = attached.index
        self._tables = tables
        self._is_current: dict[tuple[SpaceId, VectorKind], bool] = {}

    @cached_property
    def _journals(self) -> dict[tuple[SpaceId, VectorKind], SpaceJournal]:
        return read_journals(self._tables, self._attached.current_version)

    def propose(self, query: NearestQuery, collections: Sequence[CollectionId] | None) -> list[int] | None:
        """Return the owners that may be among the nearest, after the index has caught up.

        Args:
            query: What is searched for.
            collections: The owners that may be found are in these; None where nearly all may.

        Returns:
            ``min(limit, owners inside)`` and some more; None when the index cannot be used now, or would have
            to propose too many. The vectors of the store answer then.
        """
        with run.current().step("vector index", kind=query.kind.value) as details:
            try:
                proposed = self._propose(query, collections)
            except StoreError as error:
                details.update(problem=str(error))
                proposed = None
            details.update(used=proposed is not None)
        return proposed

    def update(self) -> int:
        """Apply every missing change, and make the index fast; return how many vectors it holds.

        Raises:
            StoreError: If it cannot be filled.
        """
        total = 0
        for journal in self._journals.values():
            entries = journal.count_entries()
            # More than is needed, so that another process may interfere; but not for ever.
            if entries and not self._catch_up(journal, _MAX_PER_SEARCH + 3 * entries, total=entries):
                msg = f"the vector index {self.location} cannot be filled"
                raise StoreError(msg, hint="Another process may be rebuilding it; try again.")
            total += entries
        self._index.optimize()
        return total

    def rebuild(self) -> int:
        """Empty the index and fill it; return how many vectors it holds.

        Raises:
            StoreError: If it cannot be filled.
        """
        for journal in self._journals.values():
            self._index.drop(journal.space)
        return self.update()

    def problem(self, *, compare: bool = False) -> str:
        """Return the reason why searches cannot use the index, and look at all vectors; empty if they can.

        Args:
            compare: Whether to compare its vectors with the store's, where it has caught up; slow.
        """
        try:
            self._index.applied(IndexedSpace("", 1, VectorKind.TEXT))  # reads its list of spaces
            if not compare:
                return ""
            journals = [each for each in self._journals.values() if self._progress(each) is Progress.CURRENT]
            differing = sum(each.count_differing(self._index) for each in journals)
        except StoreError as error:
            return str(error)
        return f"{self.location}: {quantity(differing, 'vector')} missing or damaged" if differing else ""

    def _propose(self, query: NearestQuery, collections: Sequence[CollectionId] | None) -> list[int] | None:
        wanted, limit = (query.space_id, query.kind), query.limit
        journal = self._journals[wanted]
        if wanted not in self._is_current:
            self._is_current[wanted] = self._catch_up(journal, _MAX_PER_SEARCH)
        if not self._is_current[wanted]:
            return None
        # A document may have many names.
        is_direct = collections is None and query.kind is VectorKind.TEXT
        size = (1 if is_direct else _FIRST_FACTOR) * limit + _SPARE
        while size <= MAX_NEAREST:
            found = self._index.nearest(journal.space, query.vector, size, collections)
            owners = list(dict.fromkeys(found))
            allowed = query.inside(owners)
            if len(allowed) >= limit or len(found) < size:
                # Another process may have gone on, or be rebuilding it.
                is_current = self._progress(journal) is Progress.CURRENT
                return [each for each in owners if each in allowed][: limit + _SPARE] if is_current else None
            size *= _NEXT_FACTOR
        return None

    def _progress(self, journal: SpaceJournal) -> Progress:
        return journal.progress(self._index.applied(journal.space))

    def _catch_up(self, journal: SpaceJournal, most: int, *, total: int = 0) -> bool:
        """Apply about ``most`` entries; return True if the index then holds all that the snapshot shows.

        Args:
            journal: The changes of a space.
            most: When to stop.
            total: Entries in the space, for reports of progress; 0 for a search, which does not wait for
                another thread that does the same.
        """
        if self._progress(journal) is Progress.CURRENT:
            return True
        if not self._attached.catching_up.acquire(blocking=total > 0):
            return False
        try:
            applied = 0
            while applied < most and (step := self._apply_next(journal)):
                applied += step
                if total:
                    run.current().report(run.Stage.INDEX, min(applied, total), total)
        finally:
            self._attached.catching_up.release()
        return self._progress(journal) is Progress.CURRENT

    def _apply_next(self, journal: SpaceJournal) -> int:
        """Apply the next step; return its size, which is 0 where none is to be applied."""
        run.current().check()
        mark = self._index.applied(journal.space)
        progress = journal.progress(mark)
        if progress in (Progress.CURRENT, Progress.AHEAD):
            return 0
        if progress is Progress.LOST:
            self._index.drop(journal.space)
            mark = None
        # None of these is searched again, and would be noticed then.
        for other in [] if mark is None else journal.dropped_spaces(mark):
            self._index.drop(self._journals[other, journal.space.kind].space)
        changes = journal.changes(mark)
        self._index.apply(journal.space, changes)
        return len(changes.added) + len(changes.removed) + 1
