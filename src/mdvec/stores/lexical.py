"""The port of the index of words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from mdvec.types.ids import ChunkId
from mdvec.types.query import Scope

BM25_K1 = 1.2
"""How fast a repeated term stops counting: its part of a score stays below ``(k1 + 1) * idf``."""

FIELD_WEIGHTS: tuple[float, float, float, float] = (2.0, 1.0, 1.0, 0.4)
"""Weights of title, heading, body and minor terms in BM25, the same in every lexical index."""

# As in FTS5: with less, a term in more than half of the chunks would count against them.
_SMALLEST_IDF = 1e-6


@dataclass(frozen=True, slots=True)
class LexicalFields:
    """The terms of one chunk, by field, in order, repeated as often as they occur.

    Attributes:
        title: Main terms of the document's title, aliases and file name.
        heading: Main terms of the heading path.
        body: Main terms of the chunk's text.
        minor: Minor terms of all three (see :class:`mdvec.text.terms.Terms`).
    """

    title: Sequence[str]
    heading: Sequence[str]
    body: Sequence[str]
    minor: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Holding:
    """How common some terms are.

    Attributes:
        chunks: How many chunks there are, in all collections.
        of_term: How many of them hold a term; terms that none holds are left out.
    """

    chunks: int
    of_term: Mapping[str, int]

    @property
    def largest_idf(self) -> float:
        """What the idf of a term is that no chunk holds."""
        return self._idf(0)

    def idf(self, term: str) -> float:
        """Return how telling a term is in BM25: larger for rarer ones, never below a trifle."""
        return self._idf(self.of_term[term])

    def _idf(self, held: int) -> float:
        return max(_SMALLEST_IDF, math.log((self.chunks - held + 0.5) / (held + 0.5)))


class LexicalIndex(Protocol):
    """Finds chunks by terms. It never tokenises: it is given terms and holds terms."""

    def put(self, ids: Sequence[ChunkId], fields: Sequence[LexicalFields]) -> None:
        """Add the terms of new chunks, inside the transaction that writes the chunks."""
        ...

    def search(
        self, terms: Sequence[str], limit: int, scope: Scope, inessential: Sequence[str] = ()
    ) -> list[tuple[ChunkId, float]]:
        """Rank the chunks that hold any of the terms by BM25 (k1 1.2, b .75).

        A term that is given twice counts twice. The weight of a field multiplies its term frequencies
        (``FIELD_WEIGHTS``); a chunk's length is the number of its terms in all fields; idf is
        ``ln((N - df + .5) / (df + .5))``, at least 1e-6.

        Args:
            terms: What is looked for.
            limit: Most chunks to return.
            scope: Where to look.
            inessential: More terms, which count like the others in a chunk that holds any of those. A chunk
                that holds these alone may be left out as long as there are others.

        Returns:
            Chunks and positive scores, best first; ties in order of id. As many as without the distinction.
        """
        ...

    def holding(self, terms: Sequence[str]) -> Holding:
        """Return how many chunks hold each of the terms, as :meth:`search` counts them."""
        ...
