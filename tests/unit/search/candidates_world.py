"""Candidates made of numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from mdvec.search.candidates import Candidates
from mdvec.search.words import Words
from mdvec.stores.records import ChunkPlace
from mdvec.types.ids import ChunkId, CollectionId, DocumentId

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHUNKS_OF_A_DOCUMENT = 100
MAX_SCORE = 25.0


def place(chunk: int, *, tokens: int = 100, collection: int = 1, unspaced: bool = False) -> ChunkPlace:
    """Return a place; chunk 203 is number 3 of document 2."""
    document, ordinal = divmod(chunk, CHUNKS_OF_A_DOCUMENT)
    return ChunkPlace(
        ChunkId(chunk),
        DocumentId(document),
        CollectionId(collection),
        ordinal,
        unspaced=unspaced,
        token_count=tokens,
    )


def candidates(
    deviations: Mapping[int, float],
    shares: Mapping[int, float] | None = None,
    *,
    exact: Collection[int] = (),
    named: Collection[int] = (),
    other_language: Collection[int] = (),
    above_unrelated: Mapping[int, float] | None = None,
    tokens: Mapping[int, int] | None = None,
) -> Candidates:
    """Return candidates, each the first chunk of a document of its own number.

    Args:
        deviations: By document; those that are found by words alone may be left out.
        shares: The share of the maximum score; 0 for the others.
        exact: Which the query names.
        named: Which a part of the query names.
        other_language: Which are in another language than the query.
        above_unrelated: As the deviations for all, if None.
        tokens: 100 for the others.
    """
    shares = shares or {}
    above = deviations if above_unrelated is None else above_unrelated
    numbers = sorted({*deviations, *shares, *exact})

    def array(values: Mapping[int, float], default: float) -> NDArray[np.float64]:
        return np.array([values.get(each, default) for each in numbers], np.float64)

    return Candidates(
        places=[
            place(
                CHUNKS_OF_A_DOCUMENT * each,
                tokens=(tokens or {}).get(each, 100),
                unspaced=each in other_language,
            )
            for each in numbers
        ],
        word_share=array({**shares, **dict.fromkeys(exact, 1.0)}, 0.0),
        exact=np.array([each in exact for each in numbers], np.bool_),
        named=np.array([each in named for each in numbers], np.bool_),
        other_language=np.array([each in other_language for each in numbers], np.bool_),
        similarity=array(deviations, np.nan),
        deviations=array(deviations, np.nan),
        above_unrelated=array(above, np.nan),
        commonness=array(dict.fromkeys(above, 0.0), np.nan),
    )


def words(*, max_score: float = MAX_SCORE, matched: float = 1.0, holding: Iterable[int] = ()) -> Words:
    """Return evidence of words; candidates hold the scores of chunks."""
    every = frozenset(map(ChunkId, holding))
    return Words(are_used=True, max_score=max_score, matched_weight=matched, holding=every)
