"""Figures in the documentation are those that were measured last."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.quality import markdown_table

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("page", "with_groups"),
    [("README.md", False), ("README.ja.md", False), ("docs/explanation/quality.md", True)],
)
def test_the_table_of_retrieval_is_the_recorded_one(page: str, *, with_groups: bool) -> None:
    """``python -m benchmarks.quality --markdown`` (``--groups``) prints it."""
    recorded = json.loads((ROOT / "benchmarks/results/quality.json").read_text(encoding="utf-8"))
    table = markdown_table(recorded["result"]["sets"], with_groups=with_groups)
    assert table in (ROOT / page).read_text(encoding="utf-8")
