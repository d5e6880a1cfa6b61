"""The fusion: evidence of meaning and of words on one scale, in standard deviations.

``z + 0.8 * bm25 / sqrt(max_score)``: z is the nearness of a chunk in standard deviations above the background
of its space. The maximum score grows with the number of query terms, and the score that a chunk reaches by
chance grows with the square root of that number. Divided by the square root, scores of short and long queries
are on one scale.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from mdvec.search.candidates import Candidates
from mdvec.search.words import Words
from mdvec.stores.interface import View
from mdvec.stores.records import ChunkPlace
from mdvec.types.query import Where

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# What BM25 is worth in standard deviations of similarity, once it is divided by the square root of the
# maximum score.
_WORD_WEIGHT = 0.8

EXACT_EVIDENCE = 7.0
"""The evidence of a document or passage that the query names word for word: more than of anything else."""

# The evidence of one that a date, a value or an identifier in the query names.
_NAMED_EVIDENCE = 2.5

# A note of at most so many tokens, such as "TODO" or properties alone, says nothing but its name. It comes
# after texts with as much evidence, by so many standard deviations.
_STUB_TOKENS = 8
_STUB_LOSS = 3.0

# The weight of words in an other-language chunk, where a word of the query is a name or a coincidence.
_OTHER_LANGUAGE_SHARE = 0.8

# Other-language chunks get cross-language credit if they are nearer to the query than unrelated texts: none
# up to _ORDINARY standard deviations above these, all of it from _RELATED on. The credit of a chunk falls to
# nothing at _CREDIT_REACH deviations behind the nearest such chunk.
_ORDINARY, _RELATED = 1.0, 3.0
_CREDIT_REACH = 1.5


def fuse(candidates: Candidates, words: Words) -> NDArray[np.float64]:
    """Return the evidence for each candidate, shape (n,), in standard deviations.

    A chunk without a vector counts as an average one of those found by words, so that it is neither buried
    nor favoured while it is pending.

    Args:
        candidates: The candidates.
        words: The evidence of words; empty if words were not used.
    """
    import numpy as np

    z = candidates.deviations
    known = ~np.isnan(z)
    found = known & (candidates.word_share > 0)
    average = float(z[found].mean()) if found.any() else 0.0
    share = np.where(candidates.other_language, _OTHER_LANGUAGE_SHARE, 1.0) * candidates.word_share
    if candidates.other_language.any():
        share = np.maximum(share, _cross_language_credit(candidates, share))
    weight = _WORD_WEIGHT * math.sqrt(words.max_score)
    is_stub = np.array([place.token_count <= _STUB_TOKENS for place in candidates.places], np.bool_)
    evidence: NDArray[np.float64] = (
        np.where(known, z, average)
        + weight * share
        + EXACT_EVIDENCE * candidates.exact
        + _NAMED_EVIDENCE * candidates.named
        - _STUB_LOSS * (is_stub & ~candidates.exact & ~candidates.named)
    )
    return evidence


def _cross_language_credit(candidates: Candidates, share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of the maximum score that near other-language chunks get for words they cannot hold.

    It is at most the lead of the nearest chunk in the query's language over the nearest other-language chunk.
    """
    import numpy as np

    z, other = candidates.deviations, candidates.other_language
    credit = np.zeros(len(z))
    same = np.flatnonzero(~other & ~np.isnan(z))
    across = np.flatnonzero(other & ~np.isnan(z))
    if not (len(same) and len(across)):
        return credit
    nearest_same, nearest_across = same[np.argmax(z[same])], across[np.argmax(z[across])]
    related = (candidates.above_unrelated[nearest_across] - _ORDINARY) / (_RELATED - _ORDINARY)
    lead = max(0.0, share[nearest_same] - share[nearest_across])
    behind = (z[nearest_across] - z[across]) / _CREDIT_REACH
    credit[across] = lead * min(1.0, max(0.0, related)) * np.maximum(0.0, 1.0 - behind)
    return credit


def best_first(
    evidence: NDArray[np.float64], places: Sequence[ChunkPlace], where: Where, view: View
) -> list[int]:
    """Return the positions of candidates in the order of evidence.

    Of equal ones, the document that was updated last comes first, then the one whose path does. Ids depend on
    the order of imports, and equal documents should give equal answers.
    """
    import numpy as np

    order: list[int] = np.argsort(-evidence, kind="stable").tolist()
    values, counts = np.unique(evidence, return_counts=True)
    tied = np.flatnonzero(np.isin(evidence, values[counts > 1])).tolist()
    documents = frozenset(places[at].document_id for at in tied)
    if len(documents) <= 1:
        return order
    ranks = {key: rank for rank, key in enumerate(view.documents.titles(replace(where, only=documents)))}
    tie_breaks = {at: (ranks[places[at].document_id], places[at].ordinal) for at in tied}
    return sorted(order, key=lambda at: (-evidence[at], tie_breaks.get(at, ())))
