"""What a ranking is worth."""

from __future__ import annotations

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdvec.evaluation.metrics import METRICS, measure

# The same metrics as a library of the field names them; its nDCG has linear gains, as ours.
THEIRS = dict(
    zip(
        METRICS,
        (
            ir_measures.nDCG(dcg="log2") @ 10,
            ir_measures.R @ 5,
            ir_measures.R @ 10,
            ir_measures.RR @ 10,
            ir_measures.Success @ 1,
        ),
        strict=True,
    )
)
DOCUMENTS = [f"d{number}" for number in range(30)]

rankings = st.lists(st.sampled_from(DOCUMENTS), unique=True, min_size=1)
judgements = st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(1, 4), min_size=1)


@given(rankings, judgements)
def test_metrics_agree_with_ir_measures(ranking: list[str], relevant: dict[str, int]) -> None:
    """Whatever the run and the grades, every metric is that of ir-measures to 1e-9."""
    run = [ir_measures.ScoredDoc("q", document, float(-rank)) for rank, document in enumerate(ranking)]
    judged = [ir_measures.Qrel("q", document, grade) for document, grade in relevant.items()]
    theirs = ir_measures.calc_aggregate(THEIRS.values(), judged, run)
    assert measure(ranking, relevant) == pytest.approx(
        {name: theirs[metric] for name, metric in THEIRS.items()}, abs=1e-9
    )


@given(judgements)
def test_the_best_ranking_is_worth_one(relevant: dict[str, int]) -> None:
    """Relevant documents in the order of their grades have an nDCG, MRR and Hit of 1."""
    best = sorted(relevant, key=lambda document: -relevant[document])
    values = measure(best, relevant)
    assert [values[name] for name in ("nDCG@10", "MRR@10", "Hit@1")] == pytest.approx([1, 1, 1])


def test_a_ranking_without_a_relevant_document_is_worth_nothing() -> None:
    """Neither an empty answer nor a wrong one has any value."""
    nothing = dict.fromkeys(METRICS, 0.0)
    assert measure([], {"a": 1}) == nothing
    assert measure(["b", "c"], {"a": 1}) == nothing


def test_a_known_value() -> None:
    """Grades 1 at rank 1 and 2 at rank 3: (1 + 2/2) / (2 + 1/log2 3), worked out by hand."""
    values = measure(["b", "x", "a"], {"a": 2, "b": 1, "far": 1})
    assert values["nDCG@10"] == pytest.approx(2 / (2 + 0.6309297535714575 + 0.5))
    assert values["R@5"] == pytest.approx(2 / 3)


def test_without_a_relevant_document_there_is_no_value() -> None:
    """A question nobody can answer is an error, not a zero."""
    with pytest.raises(ValueError, match="relevant"):
        measure(["a"], {})
