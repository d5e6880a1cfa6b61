"""The compact table of retrieval quality."""

from __future__ import annotations

from typing import Any

import pytest
from benchmarks.summary import CROSS_LANGUAGE, SYSTEMS, kind_of, summary_table


def figures(questions: int, **means: float) -> dict[str, Any]:
    """Return one set as it is recorded: mean and interval of each system."""
    return {
        "questions": questions,
        "systems": {system: {"nDCG@10": [means.get(system, 0.0), 0.0, 1.0]} for system in SYSTEMS},
    }


def test_a_row_is_the_mean_over_its_sets() -> None:
    """Every set counts alike, however many questions it has; the best mean is bold."""
    sets = {"ja_one": figures(10, hybrid=0.5, grep=0.4), "ja_two": figures(1_000, hybrid=0.9, grep=0.2)}
    row = summary_table(sets).splitlines()[-1]
    assert row == "| Japanese questions | 1,010 | 0.30 | 0.00 | 0.00 | 0.00 | 0.00 | **0.70** |"


@pytest.mark.parametrize("name", ["docs_astro_xl", "vault_obsidian_help_xl", "xl_kyoto_en2ja"])
def test_cross_language_sets_are_one_row(name: str) -> None:
    """Whatever their documents are."""
    assert kind_of(name) == CROSS_LANGUAGE


def test_a_set_of_no_kind_is_an_error() -> None:
    """No recorded set is left out of the table in silence."""
    with pytest.raises(ValueError, match="new_set"):
        summary_table({"new_set": figures(1)})
