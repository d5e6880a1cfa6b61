"""Pseudo-relevance feedback: candidates that resemble the first hits, not those behind them, gain a little.

The answers to a question resemble each other, and differ from texts that only touch the subject. ``v`` is the
mean vector of the first documents' best chunks, weighted by their evidence, less the mean vector of the
documents behind them. A candidate gains :data:`GAIN` for each standard deviation by which its similarity to
``v`` exceeds the mean of all candidates (docs/decisions/0053-first-hits-speak-for-others.md).

References:
    After Rocchio, "Relevance feedback in information retrieval", 1971, with the first hits taken as relevant
    and those behind them as not relevant.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from mdvec import run
from mdvec.search.fusion import Evidence
from mdvec.search.proximity import QuerySpace
from mdvec.stores.interface import View
from mdvec.stores.records import ChunkPlace
from mdvec.types.ids import ChunkId

GAIN = 0.25
"""The evidence gained for one standard deviation of similarity to the first hits."""

# The first _GOOD documents are taken as relevant, those up to _JUDGED as not relevant.
_GOOD = 5
_JUDGED = 20

# The weight of a document falls by a factor of e with so many standard deviations behind the first.
_BEHIND = 0.3

# If the relevant documents of a space have a smaller weight in all, they change nothing.
_MIN_WEIGHT = 1e-6

# With a smaller spread, all candidates are equally near.
_MIN_SPREAD = 1e-6


def with_likeness(
    evidence: Evidence,
    spaces: Sequence[QuerySpace],
    other_language: Collection[ChunkId],
    places: Mapping[ChunkId, ChunkPlace],
    view: View,
) -> Evidence:
    """Return the evidence for each candidate, with the gain for resembling the first hits.

    Other-language hits do not count among the first hits, or they would favour others in their language.

    Args:
        evidence: The fused evidence.
        spaces: The spaces with the candidates' vectors.
        other_language: The candidates in the other kind of script.
        places: The places of all candidates that have a vector.
        view: The snapshot.
    """
    judged = _best_of_documents(evidence, places)
    if len(judged) <= _GOOD:
        return evidence
    best = evidence[judged[0]]
    weights = {chunk: math.exp((evidence[chunk] - best) / _BEHIND) for chunk in judged[:_GOOD]}
    whole = sum(weights.values())
    weights = {chunk: weight / whole for chunk, weight in weights.items() if chunk not in other_language}
    bad = [chunk for chunk in judged[_GOOD:] if chunk not in other_language]
    gained = dict(evidence)
    with run.current().step("likeness"):
        for space in spaces:
            own = [chunk for chunk in evidence if _inside(space, chunk, places)]
            good_here = {chunk: each for chunk, each in weights.items() if _inside(space, chunk, places)}
            bad_here = [chunk for chunk in bad if _inside(space, chunk, places)]
            for chunk, gain in _gains(own, good_here, bad_here, space, view).items():
                gained[chunk] += gain
    return gained


def _best_of_documents(evidence: Evidence, places: Mapping[ChunkId, ChunkPlace]) -> list[ChunkId]:
    """Return the best chunk of each of the first documents, best first."""
    found: dict[int, ChunkId] = {}
    for chunk in sorted(evidence, key=lambda chunk: (-evidence[chunk], chunk)):
        if chunk in places:
            found.setdefault(places[chunk].document_id, chunk)
            if len(found) == _JUDGED:
                break
    return [*found.values()]


def _inside(space: QuerySpace, chunk: ChunkId, places: Mapping[ChunkId, ChunkPlace]) -> bool:
    return chunk in places and places[chunk].collection_id in space.collections


def _gains(
    candidates: Sequence[ChunkId],
    good: Mapping[ChunkId, float],
    bad: Sequence[ChunkId],
    space: QuerySpace,
    view: View,
) -> dict[ChunkId, float]:
    """Return the gain of each candidate of a space that has a vector; the gains are 0 on average.

    Args:
        candidates: The candidates of the space.
        good: Those of the first documents, with their weights, at most 1 in all.
        bad: Those of the documents behind them.
        space: The space.
        view: The snapshot.
    """
    import numpy as np

    if not (good and bad):
        return {}
    vectors = view.chunk_vectors(space.id, [*good, *bad])
    known = ~np.isnan(vectors[:, 0])
    weights = np.fromiter(good.values(), np.float64, len(good))[known[: len(good)]]
    firsts, others = vectors[: len(good)][known[: len(good)]], vectors[len(good) :][known[len(good) :]]
    if weights.sum() < _MIN_WEIGHT or not len(others):
        return {}
    target = weights @ firsts / weights.sum() - others.mean(axis=0)
    length = float(np.linalg.norm(target))
    if length < _MIN_SPREAD:
        return {}
    aim = (target / length).astype(np.float32)
    near = view.chunk_similarities(space.id, aim[np.newaxis], candidates)[0]
    spread = float(np.nanstd(near))
    if spread < _MIN_SPREAD:
        return {}
    gains = GAIN * float(weights.sum()) * (near - np.nanmean(near)) / spread
    return {
        chunk: gain for chunk, gain in zip(candidates, gains.tolist(), strict=True) if not math.isnan(gain)
    }
