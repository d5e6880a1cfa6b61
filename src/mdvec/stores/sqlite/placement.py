"""Which chunks and names the vectors of a space belong to, in memory, and how near that makes chunks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mdvec.types.ids import ChunkId
from mdvec.stores.interface import NAME_SHARE, NEIGHBOUR_SHARE
from mdvec.stores.sqlite.matrix import MatrixView, products_by_numpy

_SAMPLE_CHUNKS = 512


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Which chunks stand next to each other in their documents, as factors: looking at all takes no branch.

    Attributes:
        follows: 1 where the one before each is also the one before it in its document, else 0; float32,
            shape (n,).
        part: What part of its neighbours each of them is, 0 without any; float32, shape (n,).
        has_any: 1 where there is any, else 0; float32, shape (n,).
    """

    follows: NDArray[np.float32]
    part: NDArray[np.float32]
    has_any: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Placement:
    """The rows of a matrix that are the texts of chunks and the names of documents.

    Chunks and documents that were deleted may still be in it. 28 bytes a chunk, 8 a document and 8 a name.

    Attributes:
        chunks: Ids of the chunks that have a vector, ascending, int64, shape (n,).
        chunk_slots: Where the document of each stands in ``documents``, int32, shape (n,).
        chunk_rows: The row of each one's text, int32, shape (n,).
        neighbours: Which of the chunks stand next to each other.
        documents: Ids of documents, ascending, int64, shape (d,).
        name_slots: Where the document of each name stands in ``documents``, int32, shape (m,).
        name_rows: The row of each name, int32, shape (m,).
    """

    chunks: NDArray[np.int64]
    chunk_slots: NDArray[np.int32]
    chunk_rows: NDArray[np.int32]
    neighbours: Neighbours
    documents: NDArray[np.int64]
    name_slots: NDArray[np.int32]
    name_rows: NDArray[np.int32]

    def with_documents(self, ids: NDArray[np.int64]) -> Placement:
        """Add documents.

        Args:
            ids: Ascending, larger than all before; shape (k,).
        """
        return replace(self, documents=np.concatenate([self.documents, ids]))

    def with_chunks(
        self, ids: NDArray[np.int64], documents: NDArray[np.int64], rows: NDArray[np.intp]
    ) -> Placement:
        """Add chunks.

        Args:
            ids: In any order, none of them here already; shape (k,).
            documents: The document of each, which is here already; shape (k,).
            rows: The row of each one's text; shape (k,).
        """
        chunks = np.concatenate([self.chunks, ids])
        slots = np.concatenate([self.chunk_slots, self._slots_of(documents)])
        all_rows = np.concatenate([self.chunk_rows, rows.astype(np.int32)])
        if not np.all(chunks[:-1] < chunks[1:]):  # some got their vector later than younger ones
            order = np.argsort(chunks, kind="stable")
            chunks, slots, all_rows = chunks[order], slots[order], all_rows[order]
        return replace(
            self,
            chunks=chunks,
            chunk_slots=slots,
            chunk_rows=all_rows,
            neighbours=_neighbours(chunks, slots),
        )

    def with_names(self, documents: NDArray[np.int64], rows: NDArray[np.intp]) -> Placement:
        """Add names.

        Args:
            documents: The document of each, which is here already; shape (k,).
            rows: The row of each; shape (k,).
        """
        slots = np.concatenate([self.name_slots, self._slots_of(documents)])
        return replace(
            self, name_slots=slots, name_rows=np.concatenate([self.name_rows, rows.astype(np.int32)])
        )

    def part(self, at: NDArray[np.intp]) -> tuple[Placement, NDArray[np.intp]]:
        """Keep some chunks, and the names of their documents.

        Args:
            at: Where the chunks stand, ascending. How near one is said to be depends on its neighbours:
                they have to be among them.

        Returns:
            The part, and the rows it is about: a matrix of these alone is what it belongs to.
        """
        slots = self.chunk_slots[at]
        wanted = np.zeros(len(self.documents), np.bool_)
        wanted[slots] = True
        names = np.flatnonzero(wanted[self.name_slots])
        rows = np.concatenate([self.chunk_rows[at], self.name_rows[names]])
        kept, places = np.unique(rows, return_inverse=True)
        new_rows: NDArray[np.int32] = places.astype(np.int32)
        part = Placement(
            chunks=self.chunks[at],
            chunk_slots=slots,
            chunk_rows=new_rows[: len(at)],
            neighbours=_neighbours(self.chunks[at], slots),
            documents=self.documents,
            name_slots=self.name_slots[names],
            name_rows=new_rows[len(at) :],
        )
        return part, kept.astype(np.intp)

    def with_neighbours(self, at: NDArray[np.intp]) -> NDArray[np.intp]:
        """Add the chunks before and after some chunks in their documents.

        Args:
            at: Where the chunks stand, ascending.

        Returns:
            Where all of them stand, ascending.
        """
        follows = self.neighbours.follows > 0
        followed = np.append(follows[1:], False)
        return np.unique(np.concatenate([at, at[follows[at]] - 1, at[followed[at]] + 1]))

    def combined(self, similarities: NDArray[np.float32]) -> NDArray[np.float32]:
        """Combine what texts, names and neighbours say.

        See :meth:`mdvec.stores.interface.VectorIndex.search`.

        Args:
            similarities: Of every row of the matrix.

        Returns:
            How near each chunk is, float32, shape (n,); equal where the numbers it is made of are equal.
        """
        best_names = np.full(len(self.documents), -1, np.float32)  # no name is farther, and none lifts less
        np.maximum.at(best_names, self.name_slots, similarities[self.name_rows])
        of_texts = similarities[self.chunk_rows]
        of_names = best_names[self.chunk_slots]
        near = np.maximum(of_texts, (1 - NAME_SHARE) * of_texts + NAME_SHARE * of_names)
        return self._smoothed(near)

    def _smoothed(self, near: NDArray[np.float32]) -> NDArray[np.float32]:
        neighbours = self.neighbours
        beside = np.zeros(len(near), np.float32)
        np.multiply(near[:-1], neighbours.follows[1:], out=beside[1:])
        beside[:-1] += near[1:] * neighbours.follows[1:]
        change = beside * neighbours.part - near * neighbours.has_any
        # The same as (near + NEIGHBOUR_SHARE * mean) / (1 + NEIGHBOUR_SHARE) where there is a mean.
        return np.asarray(near + NEIGHBOUR_SHARE / (1 + NEIGHBOUR_SHARE) * change, np.float32)

    def _slots_of(self, documents: NDArray[np.int64]) -> NDArray[np.int32]:
        return np.searchsorted(self.documents, documents).astype(np.int32)


def _neighbours(chunks: NDArray[np.int64], slots: NDArray[np.int32]) -> Neighbours:
    """Find the chunks that stand next to each other: a document's are written with ids that follow."""
    follows = np.zeros(len(chunks), np.float32)
    follows[1:] = (chunks[1:] == chunks[:-1] + 1) & (slots[1:] == slots[:-1])
    count = follows.copy()
    count[:-1] += follows[1:]
    has_any = (count > 0).astype(np.float32)
    return Neighbours(follows, np.divide(has_any, np.maximum(count, 1), dtype=np.float32), has_any)


def nothing_placed() -> Placement:
    """Return a placement without chunks and names."""
    ids, places = np.empty(0, np.int64), np.empty(0, np.int32)
    return Placement(ids, places, places, _neighbours(ids, places), ids, places, places)


@dataclass(frozen=True, slots=True)
class SpaceView:
    """The vectors of a space known at some moment, and what they belong to.

    Attributes:
        matrix: The vectors.
        placement: What they belong to.
    """

    matrix: MatrixView
    placement: Placement

    @property
    def chunks(self) -> NDArray[np.int64]:
        """Ids of the chunks that have a vector, ascending, shape (n,)."""
        return self.placement.chunks

    def estimates(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return about how near each chunk is, shape (n,): good for choosing chunks."""
        return self.placement.combined(self.matrix.products(query))

    def estimates_at(self, positions: NDArray[np.intp], query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return about how near some chunks are, looking at no others.

        Args:
            positions: Where they stand, ascending, shape (k,).
            query: What to be near to.

        Returns:
            Shape (k,).
        """
        part, wanted = self._part(positions)
        return part.estimates(query)[wanted]

    def similarities(self, positions: NDArray[np.intp], query: NDArray[np.float32]) -> dict[ChunkId, float]:
        """Return how near some chunks are, without the rounding of the query.

        Args:
            positions: Where they stand, ascending.
            query: What to be near to.
        """
        part, wanted = self._part(positions)
        near = part.placement.combined(part.matrix.similarities(query))[wanted]
        ids = self.chunks[positions]
        return {ChunkId(key): value for key, value in zip(ids.tolist(), near.tolist(), strict=True)}

    def positions(self, ids: Iterable[ChunkId]) -> NDArray[np.intp]:
        """Return where those of some chunks stand that are here, ascending; the ids in any order."""
        wanted = np.unique(np.fromiter(ids, np.int64))
        positions: NDArray[np.intp] = np.searchsorted(self.chunks, wanted)
        positions = positions[positions < len(self.chunks)]
        # Both ascend, so what was cut off is at the end.
        return np.asarray(positions[self.chunks[positions] == wanted[: len(positions)]])

    def _part(self, positions: NDArray[np.intp]) -> tuple[SpaceView, NDArray[np.intp]]:
        """Copy what some chunks depend on.

        Returns:
            A smaller view, and where the chunks stand in it.
        """
        kept = self.placement.with_neighbours(positions)
        placement, rows = self.placement.part(kept)
        return SpaceView(self.matrix.take(rows), placement), np.searchsorted(kept, positions)

    def mean_and_spread(self, query: NDArray[np.float32]) -> tuple[float, float]:
        """Describe how similar the query is to any text, from chunks spread evenly over all of them."""
        count = len(self.chunks)
        if not count:
            return 0.0, 0.0
        sample = np.linspace(0, count - 1, min(count, _SAMPLE_CHUNKS)).astype(np.intp)
        similarities = products_by_numpy(self.matrix.rows[self.placement.chunk_rows[sample]], query)
        return float(similarities.mean()), float(similarities.std())
