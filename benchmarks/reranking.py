"""Measures what scores mean after a reranker of known quality has ordered the first passages.

    python -m benchmarks.reranking SETS_DIR --embed-cache DIR [--only NAME ...]    measures, writes JSON

No reranker is at hand that could be measured, so one is simulated: a right passage gets some points more than
a wrong one, and both get normal noise. Its quality is the probability that it puts a right one first of two.
Three ways to score the new order are compared with the order of evidence.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from benchmarks.harness import Patch, applied, write_result
from benchmarks.quality import MIN_GRADES, find_sets
from mdvec import SearchQuery, open_workspace
from mdvec.config import Config
from mdvec.config.schema import RerankSettings
from mdvec.evaluation.corpus import Corpus, Indexing, indexed_set
from mdvec.evaluation.judgements import JudgedSet
from mdvec.evaluation.runner import scope_filters
from mdvec.search import probability, search
from mdvec.search.passages import RankedPassage
from mdvec.types.query import MIN_SCORE

QUALITIES: tuple[float | None, ...] = (None, 0.0, 1.0, 2.0, 4.0)
"""Distances of right from wrong passages, in standard deviations of the noise; None for no reranker."""

PASSAGES = RerankSettings().passages
HITS = 5
DRAWS = 5


class Asked(Struct, frozen=True):
    """The first passages of a question.

    Attributes:
        own: The probability of each, by its own evidence.
        is_right: Whether its document answers.
    """

    own: NDArray[np.float64]
    is_right: NDArray[np.bool_]


Scheme = Callable[[NDArray[np.float64], NDArray[np.int64]], tuple[Sequence[int], Sequence[float]]]
"""Returns the positions that are shown, and their scores, from the own probabilities and an order."""


def by_position(own: NDArray[np.float64], order: NDArray[np.int64]) -> tuple[Sequence[int], Sequence[float]]:
    """Show as many as by evidence, with the scores of their positions."""
    shown = own[own >= MIN_SCORE][:HITS]
    return order[: len(shown)].tolist(), [*accumulate(shown.tolist(), min)]


def by_own(own: NDArray[np.float64], order: NDArray[np.int64]) -> tuple[Sequence[int], Sequence[float]]:
    """Show those that are plausible by their own evidence, none with more than the one before."""
    shown = [at for at in order.tolist() if own[at] >= MIN_SCORE][:HITS]
    return shown, [*accumulate((float(own[at]) for at in shown), min)]


def sorted_own(own: NDArray[np.float64], order: NDArray[np.int64]) -> tuple[Sequence[int], Sequence[float]]:
    """Show the same, with their own probabilities sorted."""
    shown, _ = by_own(own, order)
    return shown, sorted((float(own[at]) for at in shown), reverse=True)


SCHEMES: Mapping[str, Scheme] = {"position": by_position, "own": by_own, "sorted own": sorted_own}


def asked(judged: JudgedSet, cache: Path) -> list[Asked]:
    """Search for the questions of a set, and note the first passages of each."""
    with indexed_set(judged, Indexing(open_workspace, Config(), cache)) as corpus:
        return [*_asked(judged, corpus)]


def _asked(judged: JudgedSet, corpus: Corpus) -> Iterator[Asked]:
    names = {each.document_id: corpus.naming.name_of(each.path) for each in corpus.workspace.chunks()}
    noted: list[Asked] = []
    probabilities = probability.probabilities
    passages_of = search._passages

    def deeper(query: SearchQuery, ranking: Any, *, least: int) -> list[RankedPassage]:
        return passages_of(query, ranking, least=max(least, PASSAGES))

    for question in judged.set.questions:

        def note(passages: Sequence[RankedPassage], candidates: Any, words: Any) -> list[float]:
            found = probabilities(passages, candidates, words)
            first = [at for at, each in enumerate(passages[:PASSAGES]) if not each.best.is_folded]
            right = [names[passages[at].best.place.document_id] in question.relevant for at in first]  # noqa: B023
            noted.append(Asked(np.array([found[at] for at in first]), np.array(right, np.bool_)))
            return found

        located = corpus.naming.located(question)
        with applied([Patch(search, "probabilities", note), Patch(search, "_passages", deeper)]):
            corpus.workspace.search(
                SearchQuery(located.text, filters=scope_filters(located), limit=HITS), wait_for_vectors=True
            )
    yield from (each for each in noted if len(each.own))


def measured(questions: list[Asked], quality: float | None, scheme: Scheme) -> dict[str, float]:
    """Return what a simulated reranker makes of hits and their scores."""
    chance = np.random.default_rng(0)
    scores: list[list[tuple[float, bool]]] = [[], []]
    recall: list[float] = []
    for each in questions * (DRAWS if quality is not None else 1):
        order = np.arange(len(each.own))
        if quality is not None:
            order = np.argsort(-(quality * each.is_right + chance.normal(size=len(each.own))), kind="stable")
        shown, values = scheme(each.own, order)
        right = [bool(each.is_right[at]) for at in shown]
        recall.append(float(any(right)))
        for rank, pair in enumerate(zip(values, right, strict=True)):
            scores[min(rank, 1)].append(pair)
    result: dict[str, float] = {"found": float(np.mean(recall))}
    for name, pairs in zip(("first", "later"), scores, strict=True):
        values, right = np.array([[value, is_right] for value, is_right in pairs]).T
        result |= {
            f"{name}_right": float(right.mean()),
            f"{name}_score": float(values.mean()),
            f"{name}_brier": float(((values - right) ** 2).mean()),
        }
    return {key: round(value, 4) for key, value in result.items()}


def main() -> None:
    """Measure all sets, and write the means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", type=Path)
    parser.add_argument("--embed-cache", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[])
    arguments = parser.parse_args()
    questions: list[Asked] = []
    names: list[str] = []
    for judged in find_sets(arguments.sets, arguments.only, MIN_GRADES):
        questions += asked(judged, arguments.embed_cache)
        names.append(judged.set.name)
    rows = [
        {
            "right_before_wrong": None if quality is None else round(0.5 * (1 + math.erf(quality / 2)), 3),
            "scheme": name,
            **measured(questions, quality, scheme),
        }
        for quality in QUALITIES
        for name, scheme in SCHEMES.items()
        if quality is not None or name == "position"
    ]
    write_result("reranking", {"sets": names, "questions": len(questions), "rows": rows})
    print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
