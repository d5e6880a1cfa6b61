"""The evidence of a search: what needs no vector, and all that is known about each candidate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from mdvec.search.exact import Exact, Missed
from mdvec.search.words import Words
from mdvec.stores.records import ChunkPlace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Lexical(Struct, frozen=True):
    """The evidence that needs no vector.

    Attributes:
        words: That of the words of the query.
        exact: The passages that the query names.
    """

    words: Words = Words()
    exact: Exact = Exact()


class Candidates(Struct, frozen=True):
    """The chunks that may be found; each array has one entry for each of them.

    Attributes:
        places: Their places, in order (see :meth:`mdvec.stores.view.ChunkView.places`).
        word_share: BM25 score as a share of the largest score that a chunk could reach, 0..1; 1 for exact
            evidence.
        exact: Whether the query is the name of the chunk or its document, or is in it word for word.
        named: Whether a date, a value or an identifier in the query names it.
        other_language: Whether the chunk is in the other kind of script (with or without spaces between
            words) than the query. Such chunks contain few words of the query, whatever they are about.
        similarity: Plain cosine similarity of query and text; NaN without a vector.
        deviations: The similarity with names and neighbours counted in, in standard deviations above the
            background of its collection; NaN without a vector.
        above_unrelated: The nearness in standard deviations above unrelated texts in the same model; NaN if
            these were not measured.
        commonness: The chunk's own similarity to unrelated passages, in the same deviations: texts such as
            lists of names are near to every question. NaN where ``above_unrelated`` is.
        missed: The things that the query asks for and none has.
    """

    places: Sequence[ChunkPlace]
    word_share: NDArray[np.float64]
    exact: NDArray[np.bool_]
    named: NDArray[np.bool_]
    other_language: NDArray[np.bool_]
    similarity: NDArray[np.float64]
    deviations: NDArray[np.float64]
    above_unrelated: NDArray[np.float64]
    commonness: NDArray[np.float64]
    missed: Missed = Missed()
