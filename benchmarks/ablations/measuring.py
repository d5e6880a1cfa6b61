"""Searches with the parts of the real search, and computes the metrics of the rankings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import assert_never

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from benchmarks.ablations.index import Index
from benchmarks.ablations.variant import Evidence, Patch, Query, Variant, applied
from mdvec.evaluation.judgements import Question
from mdvec.evaluation.metrics import DEPTH, ndcg
from mdvec.evaluation.naming import Naming
from mdvec.search import answer, fusion
from mdvec.search.filters import clean
from mdvec.search.fusion import Candidate, DenseEvidence, LexicalEvidence
from mdvec.types.ids import ChunkId
from mdvec.types.query import SearchMode, SearchQuery

MODES = (SearchMode.LEXICAL, SearchMode.DENSE, SearchMode.HYBRID)
"""In the order of reports."""

Scores = Mapping[SearchMode, NDArray[np.float64]]
"""nDCG@10 of each question, shape (questions,), in their order."""

Found = dict[tuple[str, int], tuple[Evidence, Query]]
"""The evidence for a question (by its id) with so many chunks from each side."""


def score_questions(
    questions: Sequence[Question], naming: Naming, index: Index, variant: Variant, found: Found
) -> Scores:
    """Judge all modes of a variant; to be called while its patches are applied.

    Args:
        questions: The questions.
        naming: Between the names that judgements use and paths.
        index: The index to search.
        variant: The variant of the search.
        found: What was found already, before it was revised; what is looked for is added.
    """
    located = [naming.located(question) for question in questions]
    return {
        mode: np.array(
            [
                ndcg(
                    [naming.name_of(path) for path in _best(place, mode, index, variant, found)],
                    question.relevant,
                    depth=DEPTH,
                )
                for question, place in zip(questions, located, strict=True)
            ]
        )
        for mode in MODES
    }


def _best(question: Question, mode: SearchMode, index: Index, variant: Variant, found: Found) -> list[str]:
    """Return the paths of the best documents, as :func:`mdvec.search.answer.find` and ``mdvec eval`` do."""
    wanted = DEPTH + len(question.exclude)
    depth = answer.depth_for(wanted)
    while True:
        key = (question.id, depth)
        if key not in found:
            found[key] = _find(question, index, variant, depth)
        evidence, query = found[key]
        ranking, complete = _ranked(mode, variant.revise(evidence, query), query, variant, depth)
        documents = list(dict.fromkeys(index.path_of[chunk] for chunk in ranking))
        if complete or len(documents) >= wanted:
            return [path for path in documents[:wanted] if path not in question.exclude][:DEPTH]
        depth *= answer._DEPTH_GROWTH


def _find(question: Question, index: Index, variant: Variant, depth: int) -> tuple[Evidence, Query]:
    """Return the evidence that the real search hands to its fusion."""
    text = clean(SearchQuery(question.text))[0].text
    query = Query(text, index.embed_both(text), index.where(question), index)
    query = replace(query, vector=variant.aim(query))
    handed: list[Evidence] = []

    def record(
        lexical: LexicalEvidence,
        dense: DenseEvidence,
        *,
        repetitions: Mapping[ChunkId, int],
        revise: Callable[[fusion.Evidence], fusion.Evidence],
    ) -> list[Candidate]:
        handed.append(Evidence(lexical, dense, repetitions, revise))
        return []

    with applied([Patch(answer, "fuse", record)]):
        answer._rank(SearchQuery(text), query.where, index.view, [query.space], depth, None)
    return handed[0], query


def _ranked(
    mode: SearchMode, evidence: Evidence, query: Query, variant: Variant, depth: int
) -> tuple[Sequence[ChunkId], bool]:
    """Return chunks, best first, and whether a greater depth would give no more of them."""
    all_words = len(evidence.lexical.ranking) < depth
    all_near = len(evidence.dense.ranking) < depth
    match mode:
        case SearchMode.LEXICAL:
            return [
                each.id for each in fusion.rank_by_words(evidence.lexical, repetitions=evidence.repetitions)
            ], all_words
        case SearchMode.DENSE:
            return [
                each.id
                for each in fusion.rank_by_similarity(evidence.dense, repetitions=evidence.repetitions)
            ], all_near
        case SearchMode.HYBRID:
            return variant.rank(evidence, query), all_words and all_near
        case _:
            assert_never(mode)
