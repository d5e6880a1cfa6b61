"""Gains and losses of variants: differences on both folds, a verdict, a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.ablations.measuring import MODES, Scores
from benchmarks.ablations.variant import SHIPPED
from mdvec.evaluation.judgements import Question
from mdvec.text.hashing import text_hash
from mdvec.types.query import SearchMode

FOLDS = 2

# A difference of the mean over all sets that counts, and what a set may lose for it.
_MIN_GAIN = 0.001
_MAX_LOSS = 0.005

_DIGITS = 5
_NAME_WIDTH = 20
_COLUMN_WIDTH = 6


class Verdict(StrEnum):
    """The effect of a variant on hybrid search, on average over the sets and on both folds."""

    HELPS = "helps"
    COSTS = "helps, but costs a set"
    HURTS = "hurts"
    SAME = "same"


@dataclass(frozen=True, slots=True)
class Difference:
    """nDCG@10 of a variant less that of the shipped search.

    Attributes:
        all: Over all questions.
        folds: Over the questions of each fold; 0 where it has none.
    """

    all: float
    folds: tuple[float, ...]


Differences = Mapping[SearchMode, Difference]


def folds_of(questions: Sequence[Question]) -> NDArray[np.int64]:
    """Return the fold of each question, by its id alone: shape (questions,)."""
    return np.array([text_hash(question.id)[0] % FOLDS for question in questions], np.int64)


def compare(shipped: Scores, variant: Scores, folds: NDArray[np.int64]) -> dict[SearchMode, Difference]:
    """Compare two ways to search on the same questions.

    Args:
        shipped: Of the search as it is.
        variant: Of the other one.
        folds: See :func:`folds_of`.
    """
    found: dict[SearchMode, Difference] = {}
    for mode in MODES:
        change = variant[mode] - shipped[mode]
        parts = [change[folds == fold] for fold in range(FOLDS)]
        found[mode] = Difference(
            float(change.mean()), tuple(float(part.mean()) if len(part) else 0.0 for part in parts)
        )
    return found


def mean_of(sets: Sequence[Differences]) -> dict[SearchMode, Difference]:
    """Return the mean over sets, each counted once however many questions it has."""
    return {
        mode: Difference(
            float(np.mean([each[mode].all for each in sets])),
            tuple(np.mean([each[mode].folds for each in sets], axis=0).tolist()),
        )
        for mode in MODES
    }


def judge(sets: Sequence[Differences]) -> Verdict:
    """Return the verdict on a variant.

    It helps when the mean over sets gains more than .001 on both folds and no set loses more than .005;
    it hurts when the mean loses as much on both folds.
    """
    mean = mean_of(sets)[SearchMode.HYBRID]
    if all(fold < -_MIN_GAIN for fold in mean.folds):
        return Verdict.HURTS
    if not all(fold > _MIN_GAIN for fold in mean.folds):
        return Verdict.SAME
    worst = min(each[SearchMode.HYBRID].all for each in sets)
    return Verdict.COSTS if worst < -_MAX_LOSS else Verdict.HELPS


# --- as JSON and as a table --------------------------------------------------------------------


def result_of(
    scores: Mapping[str, Mapping[str, Scores]],
    questions: Mapping[str, Sequence[Question]],
    changes: Mapping[str, str],
) -> dict[str, Any]:
    """Return all figures as they are written.

    Args:
        scores: By set and variant; those of the shipped search among them.
        questions: Of each set, in the order of their scores.
        changes: What each variant changes, in the order of the table.
    """
    folds = {name: folds_of(questions[name]) for name in scores}
    return {
        "sets": {
            name: {
                "questions": len(folds[name]),
                "folds": [int((folds[name] == fold).sum()) for fold in range(FOLDS)],
                **{mode.value: round(float(of[SHIPPED.name][mode].mean()), _DIGITS) for mode in MODES},
            }
            for name, of in scores.items()
        },
        "variants": {
            variant: _variant_figures(
                change,
                {name: compare(of[SHIPPED.name], of[variant], folds[name]) for name, of in scores.items()},
            )
            for variant, change in changes.items()
        },
    }


def _variant_figures(change: str, sets: Mapping[str, Differences]) -> dict[str, Any]:
    every = list(sets.values())
    return {
        "change": change,
        "verdict": judge(every).value,
        "mean": _figures(mean_of(every)),
        "sets": {name: _figures(each) for name, each in sets.items()},
    }


def _figures(differences: Differences) -> dict[str, list[float]]:
    """Return the difference on all questions and on each fold, by mode."""
    return {
        mode.value: [round(value, _DIGITS) for value in (each.all, *each.folds)]
        for mode, each in differences.items()
    }


def table(result: Mapping[str, Any]) -> str:
    """Return recorded figures as an aligned table.

    Args:
        result: ``sets`` and ``variants`` of the JSON.

    Returns:
        A row for each variant, in hundredths of nDCG@10: means over sets, then hybrid on each set.
    """
    names = list(result["sets"])
    letters = [_letter(number) for number in range(len(names))]
    lines = [
        f"{letter:>2} {name} ({figures['questions']:,}): "
        + ", ".join(f"{mode} {figures[mode.value]:.3f}" for mode in MODES)
        for letter, (name, figures) in zip(letters, result["sets"].items(), strict=True)
    ]
    heads = ["hybrid", "fold 1", "fold 2", "words", "dense", *letters]
    lines += ["", f"{'':{_NAME_WIDTH}}" + "".join(f"{head:>{_COLUMN_WIDTH + 1}}" for head in heads)]
    for name, figures in result["variants"].items():
        mean = figures["mean"]
        shown = [*mean["hybrid"], mean["lexical"][0], mean["dense"][0]]
        shown += [figures["sets"][each]["hybrid"][0] for each in names]
        cells = "".join(f"{_points(value):>{_COLUMN_WIDTH + 1}}" for value in shown)
        lines.append(f"{name:{_NAME_WIDTH}}{cells}  {figures['verdict']}")
    return "\n".join(lines)


def _letter(number: int) -> str:
    first, second = divmod(number, 26)
    return (chr(ord("a") + first - 1) if first else "") + chr(ord("a") + second)


def _points(value: float) -> str:
    """Write a difference in hundredths; a dot where there is none."""
    return "." if abs(value) < 5 * 10**-_DIGITS else f"{100 * value:+.2f}"
