"""Searches by words, the same in every database with our tables; an adapter adds its index of words."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence

from mdvec.stores.records import FEW_CHUNKS, DocumentFrequencies, VectorKind
from mdvec.stores.tables import memorized
from mdvec.stores.view import WordView
from mdvec.stores.where_tables import NarrowedPart
from mdvec.types.ids import ChunkId
from mdvec.types.query import Where

_MAX_COUNTED_TERMS = 50_000

# So many more than wanted are ranked, to see all that are equal to the last one; else FEW_CHUNKS are.
_SPARE = 200

# Of a ranking that goes on outside, the chunks that are looked at first for each one wanted, and the growth.
_FIRST_BATCH_FACTOR = 4
_BATCH_GROWTH = 4

Ranking = list[tuple[ChunkId, float]]
"""Chunks with their scores, best first."""


class WordTables(NarrowedPart, WordView):
    """The words of a transaction; a :class:`mdvec.stores.interface.WordView`."""

    @abstractmethod
    def _count_chunks_with(self, terms: Sequence[str]) -> dict[str, int]:
        """Return how many chunks hold each of some terms; those that none holds may be missing."""

    @abstractmethod
    def _best(self, terms: Sequence[str], where: Where, limit: int, must: Sequence[str]) -> Ranking:
        """Return the best chunks as :meth:`bm25` does, ties in order of id; the limit is positive."""

    def bm25(self, terms: Sequence[str], where: Where, limit: int, *, must: Sequence[str] = ()) -> Ranking:
        if not terms or limit <= 0 or not where.collections:
            return []
        size = limit + _SPARE
        found = self._best(terms, where, size, must)
        if len(found) == size and found[-1][1] == found[limit - 1][1]:
            found = self._best(terms, where, limit + FEW_CHUNKS, must)
        return self._where.first_by_place(VectorKind.TEXT, found, limit)

    def _best_inside(self, part: Callable[[int, int], Ranking], where: Where, limit: int) -> Ranking:
        """Walk down a ranking until enough of it is inside.

        Args:
            part: Returns a part of the ranking, by the places of its first chunk and of the one after it.
            where: The chunks that may be found.
            limit: The most of them.
        """
        keep = self._where.chunk_filter(where)
        found: Ranking = []
        start, stop = 0, _FIRST_BATCH_FACTOR * limit
        while len(found) < limit and (batch := part(start, stop)):
            inside = keep(chunk for chunk, _ in batch)
            found += [each for each in batch if each[0] in inside]
            start, stop = stop, stop + (stop - start) * _BATCH_GROWTH
        return found[:limit]

    def frequencies(self, terms: Sequence[str]) -> DocumentFrequencies:
        counted = self._counted()
        if len(counted) > _MAX_COUNTED_TERMS:
            counted.clear()
        # Another thread may clear them at any moment.
        known = {term: counted.get(term) for term in terms}
        missing = [term for term, count in known.items() if count is None]
        if missing:
            found = self._count_chunks_with(missing)
            new = {term: found.get(term, 0) for term in missing}
            counted.update(new)
            known |= new
        held = {term: count for term, count in known.items() if count}
        if self.tables.readable is not None:
            held = {term: count for term, count in held.items() if self._is_readable(term, count)}
        return DocumentFrequencies(self._where.all_chunks(), held)

    @memorized
    def _counted(self) -> dict[str, int]:
        """Return how many chunks hold each of the terms that were looked up; to be added to."""
        return {}

    @memorized
    def _is_readable(self, term: str, count: int) -> bool:
        """Return True if a collection that may be read holds a term; otherwise it is as one nothing holds."""
        # A term of more chunks than there are outside need not be looked up.
        if count > self._where.all_chunks() - self._count_readable():
            return True
        inside = Where(self._where.all_readable())
        return bool(inside.collections and self.holding([[[term]]], inside, limit=1)[0])

    @memorized
    def _count_readable(self) -> int:
        inside = self.tables.one_of("collection_id", self._where.all_readable())
        sql = f"SELECT count(*) FROM chunks WHERE {inside.text}"  # noqa: S608 - a column of ours
        ((count,),) = self.tables.rows(sql, *inside.arguments)
        return int(count)

    def holds_few(self, where: Where) -> bool:
        if self._where.covers_everything(where):
            return self._where.all_chunks() <= FEW_CHUNKS
        return self._where.few_inside(where) is not None
