"""Pseudo-relevance feedback: candidates that resemble the first hits, not those behind them, gain a little.

The answers to a question resemble each other, and differ from texts that only touch the subject. ``v`` is the
mean vector of the first documents' best chunks, weighted by their evidence, less the mean vector of the
documents behind them. A candidate gains :data:`GAIN` for each standard deviation by which its similarity to
``v`` exceeds the mean of all candidates.

References:
    After Rocchio, "Relevance feedback in information retrieval", 1971, with the first hits taken as relevant
    and those behind them as not relevant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mdvec import run
from mdvec.search.candidates import Candidates
from mdvec.search.meaning import QuerySpace
from mdvec.stores.interface import View

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
    if len(judged) <= _RELEVANT:
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
    near = view.vectors.chunk_similarities(space.id, aim[np.newaxis], ids)[0]
    spread = float(near.std())
    if spread < _LEAST:
        return nothing
    gains: NDArray[np.float64] = GAIN * float(weights.sum()) * (near - near.mean()) / spread
    return gains
