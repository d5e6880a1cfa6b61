"""The evidence for each candidate: meaning and words on one scale, then feedback from the first hits.

Evidence is in standard deviations: ``z + 0.8 * bm25 / sqrt(max_score)``. z is the nearness of a chunk above
the background of its space. The maximum score grows with the number of query terms, and the score that a
chunk reaches by chance grows with the square root of that number. Divided by the square root, scores of short
and long queries are on one scale.

Pseudo-relevance feedback: the answers to a question resemble each other, and differ from texts that only
touch the subject. ``v`` is the mean vector of the first documents' best chunks, weighted by their evidence,
less the mean vector of the documents behind them. A candidate gains :data:`GAIN` for each standard deviation
by which its similarity to ``v`` exceeds the mean of all candidates.

References:
    After Rocchio, "Relevance feedback in information retrieval", 1971, with the first hits taken as relevant
    and those behind them as not relevant.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mdvec import run
from mdvec.search.candidates import Candidates
from mdvec.search.meaning import QuerySpace
from mdvec.search.words import Words
from mdvec.stores.interface import View
from mdvec.stores.records import VectorKind

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
# after texts with as much evidence, by so many standard deviations. Where most notes are that short, such as
# contacts or notes of tags alone, they are what one looks for.
_STUB_TOKENS = 8
_STUB_LOSS = 2.0
_FEW_STUBS = 0.5

# The weight of words in an other-language chunk without a vector, where a word of the query is a name, a
# translation or a coincidence, and nothing says how near the chunk is.
_OTHER_LANGUAGE_SHARE = 0.8

# Other-language chunks get cross-language credit if they are nearer to the query than unrelated texts: none
# up to _ORDINARY standard deviations above these, all of it from _RELATED on. The credit of a chunk falls to
# nothing at _CREDIT_REACH deviations behind the nearest such chunk.
_ORDINARY, _RELATED = 1.0, 3.0
_CREDIT_REACH = 1.5

GAIN = 0.25
"""The evidence gained for one standard deviation of similarity to the first hits."""

# The first _RELEVANT documents are taken as relevant, those up to _JUDGED as not relevant.
_RELEVANT = 5
_JUDGED = 20

# The weight of a document falls by a factor of e with so many standard deviations behind the first.
_BEHIND = 0.3

# If the relevant documents of a space have a smaller weight in all, they change nothing; nor does a smaller
# difference, or a smaller spread of the candidates.
_LEAST = 1e-6


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
    share = np.where(candidates.other_language & ~known, _OTHER_LANGUAGE_SHARE, 1.0) * candidates.word_share
    if candidates.other_language.any():
        share = np.maximum(share, _cross_language_credit(candidates, share))
    is_stub = np.array([place.token_count <= _STUB_TOKENS for place in candidates.places], np.bool_)
    stub_loss = _STUB_LOSS if is_stub.sum() <= _FEW_STUBS * len(is_stub) else 0.0
    evidence: NDArray[np.float64] = (
        np.where(known, z, average)
        + most_by_words(words) * share
        + EXACT_EVIDENCE * candidates.exact
        + _NAMED_EVIDENCE * (candidates.named & ~candidates.exact)
        - stub_loss * (is_stub & ~candidates.exact & ~candidates.named)
    )
    return evidence


def most_by_words(words: Words) -> float:
    """Return the evidence, in standard deviations, for a chunk with the maximum score by words."""
    return _WORD_WEIGHT * math.sqrt(words.max_score)


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


def with_feedback(
    evidence: NDArray[np.float64], candidates: Candidates, spaces: Sequence[QuerySpace], view: View
) -> NDArray[np.float64]:
    """Return the evidence for each candidate, shape (n,), with the gain for resembling the first hits.

    Other-language hits do not count among the first hits, or they would favour others in their language.

    Args:
        evidence: The fused evidence, shape (n,).
        candidates: The candidates.
        spaces: The spaces with the candidates' vectors.
        view: The snapshot.
    """
    import numpy as np

    judged = _best_of_documents(evidence, candidates)
    if len(judged) < _JUDGED:
        return evidence
    weights = np.exp((evidence[judged] - evidence[judged[0]]) / _BEHIND)
    weights[_RELEVANT:] = 0.0
    weights /= weights.sum()
    usable = ~candidates.other_language[judged]
    gained = evidence.copy()
    with run.current().step("feedback"):
        for space in spaces:
            inside = np.array([place.collection_id in space.collections for place in candidates.places])
            own = np.flatnonzero(inside & ~np.isnan(candidates.deviations))
            here = usable & inside[judged] & ~np.isnan(candidates.deviations[judged])
            gained[own] += _gains(own, judged[here], weights[here], candidates, space, view)
    return gained


def _best_of_documents(evidence: NDArray[np.float64], candidates: Candidates) -> NDArray[np.intp]:
    """Return the best chunk of each of the first documents, best first."""
    import numpy as np

    found: dict[int, int] = {}
    for at in np.argsort(-evidence, kind="stable").tolist():
        found.setdefault(candidates.places[at].document_id, at)
        if len(found) == _JUDGED:
            break
    return np.array([*found.values()], np.intp)


def _gains(
    own: NDArray[np.intp],
    judged: NDArray[np.intp],
    weights: NDArray[np.float64],
    candidates: Candidates,
    space: QuerySpace,
    view: View,
) -> NDArray[np.float64]:
    """Return the gain of each candidate of a space, 0 on average.

    Args:
        own: The candidates of the space.
        judged: The best chunks of the first documents in it.
        weights: Their weights as relevant ones; 0 for those that are taken as not relevant.
        candidates: All candidates.
        space: The space.
        view: The snapshot.
    """
    import numpy as np

    nothing = np.zeros(len(own))
    relevant = weights > 0
    if weights.sum() < _LEAST or relevant.all():
        return nothing
    vectors = view.vectors.of_chunks(space.id, [candidates.places[at].id for at in judged.tolist()])
    target = weights @ vectors / weights.sum() - vectors[~relevant].mean(axis=0)
    length = float(np.linalg.norm(target))
    if length < _LEAST:
        return nothing
    aim = (target / length).astype(np.float32)
    ids = [candidates.places[at].id for at in own.tolist()]
    near = view.vectors.similarities(VectorKind.TEXT, space.id, aim[np.newaxis], ids)[0]
    spread = float(near.std())
    if spread < _LEAST:
        return nothing
    gains: NDArray[np.float64] = GAIN * float(weights.sum()) * (near - near.mean()) / spread
    return gains
