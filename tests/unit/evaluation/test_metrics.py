"""Metrics, and how far their means can be trusted."""

from __future__ import annotations

import itertools
import math

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdvec.evaluation.metrics import METRICS, SIGN_FLIPS, intervals, measure, paired_p_value

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


values = st.lists(st.floats(0, 1), min_size=1, max_size=40)


@given(values)
@settings(max_examples=30)
def test_an_interval_holds_its_mean(column: list[float]) -> None:
    """The mean of what was seen lies between the ends, and the ends between the extremes."""
    [interval] = intervals(np.array(column)[:, np.newaxis])
    slack = 1e-9
    assert interval.mean == pytest.approx(math.fsum(column) / len(column))
    assert min(column) - slack <= interval.low <= interval.high <= max(column) + slack
    assert interval.low - slack <= interval.mean <= interval.high + slack


def test_an_interval_is_as_wide_as_theory_says() -> None:
    """Of 400 coin tosses the mean is known to about ±1.96 standard errors."""
    tosses = np.array([0.0, 1.0] * 200)[:, np.newaxis]
    [interval] = intervals(tosses)
    error = 1.96 * 0.5 / math.sqrt(400)
    assert interval.low == pytest.approx(0.5 - error, abs=0.006)
    assert interval.high == pytest.approx(0.5 + error, abs=0.006)


def test_the_same_values_give_the_same_interval() -> None:
    """Two runs agree, and each metric's interval does not depend on the others."""
    both = np.random.default_rng(1).random((50, 2))
    assert intervals(both) == intervals(both)
    [alone] = intervals(both[:, :1])
    among_others = intervals(both)[0]
    assert (alone.low, alone.high) == pytest.approx((among_others.low, among_others.high))


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=9))
@settings(max_examples=30)
def test_the_p_value_is_that_of_all_sign_flips(differences: list[float]) -> None:
    """Random signs come near to what all signs give."""
    seen = abs(sum(differences)) - 1e-12
    flips = list(itertools.product((-1, 1), repeat=len(differences)))
    as_far = sum(
        abs(sum(sign * value for sign, value in zip(signs, differences, strict=True))) >= seen
        for signs in flips
    )
    assert paired_p_value(differences) == pytest.approx(as_far / len(flips), abs=0.03)


def test_p_values_at_both_ends() -> None:
    """No difference is no evidence; forty of one sign are as much as can be told."""
    assert paired_p_value([0.0] * 10) == 1.0
    assert paired_p_value([0.1] * 40) == 1 / (SIGN_FLIPS + 1)
    assert paired_p_value([0.1] * 40) == paired_p_value([-0.1] * 40)
