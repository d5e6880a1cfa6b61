"""The comparison of stores runs, and the page shows what it measured last."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import stores

ROOT = Path(__file__).parents[2]


@pytest.mark.harness
def test_a_small_size() -> None:
    """Each store is written and searched by processes of its own, with figures for all columns."""
    results = stores.run(["sqlite-vec"], [120], report=lambda line: None)["120"]
    assert [*results] == ["sqlite", "sqlite-vec"]
    for found in results.values():
        assert all(found[key] > 0 for _, key in stores.FIGURES.values())
        assert found["overlap"] >= 0.98
        assert found["rare_equal"]
        assert found["fewest_often"] == results["sqlite"]["fewest_often"] > 0
    table = stores.markdown_table({"120": results}).splitlines()
    assert len(table) == 4
    assert table[2].count("|") == table[3].count("|") == table[0].count("|")
    assert table[3].count("×") == len(stores.FIGURES)


def test_the_page_shows_the_recorded_figures() -> None:
    """``python -m benchmarks.stores --page`` writes it."""
    page = (ROOT / "docs/how-to/choose-a-store.md").read_text(encoding="utf-8")
    shown = page.partition(stores.TABLE_START)[2].partition(stores.TABLE_END)[0]
    assert shown == stores.recorded_table()
