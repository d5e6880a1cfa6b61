"""Figures in the documentation are those that were measured last."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks import ablations, agents, beside, calibration, other_files, scale
from benchmarks.harness import applied
from benchmarks.quality import markdown_table
from benchmarks.speed import PAGE, README, README_JA, RECORD, short_table, table
from benchmarks.speed_plot import plot
from benchmarks.summary import summary_table

from mdvec.search import probability

ROOT = Path(__file__).parents[2]


def recorded_sets() -> dict[str, Any]:
    record = json.loads((ROOT / "benchmarks/results/quality.json").read_text(encoding="utf-8"))
    sets: dict[str, Any] = record["result"]["sets"]
    return sets


def test_the_full_table_is_the_recorded_one() -> None:
    """``python -m benchmarks.quality --markdown --groups`` prints it."""
    page = (ROOT / "docs/explanation/quality.md").read_text(encoding="utf-8")
    assert markdown_table(recorded_sets(), with_groups=True) in page


def test_the_summary_is_made_of_the_recorded_figures() -> None:
    """``python -m benchmarks.summary`` prints the README's table."""
    assert summary_table(recorded_sets()) in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_japanese_summary_has_the_same_figures() -> None:
    """Row by row; only the words are translated."""
    rows = summary_table(recorded_sets()).splitlines()[2:]
    page = (ROOT / "README.ja.md").read_text(encoding="utf-8")
    for row in rows:
        assert row.split("|", 2)[2] in page


def test_the_table_of_other_tools_is_the_recorded_one() -> None:
    """``python -m benchmarks.beside --markdown`` prints it; the Japanese one has the same figures."""
    record = json.loads((ROOT / "benchmarks/results/beside.json").read_text(encoding="utf-8"))
    printed = beside.table(record["result"])
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"<!-- beside -->\n\n{printed}\n\n<!-- /beside -->" in readme
    japanese = (ROOT / "README.ja.md").read_text(encoding="utf-8")
    for row in printed.replace(" of ", " / ").replace("none", "なし").splitlines()[2:]:
        assert row.split("|", 2)[2] in japanese


def test_the_table_of_scores_is_the_recorded_one() -> None:
    """``python -m benchmarks.calibration --markdown`` prints it."""
    record = json.loads((ROOT / "benchmarks/results/calibration.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs/explanation/confidence.md").read_text(encoding="utf-8")
    assert f"<!-- calibration -->\n\n{calibration.table(record['result'])}\n\n<!-- /calibration -->" in page


def test_the_table_of_other_files_is_the_recorded_one() -> None:
    """``python -m benchmarks.other_files FOLDER`` prints it."""
    record = json.loads((ROOT / "benchmarks/results/other_files.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs/decisions/other-files.md").read_text(encoding="utf-8")
    printed = other_files.table(record["result"]["groups"])
    assert f"<!-- other files -->\n\n{printed}\n\n<!-- /other files -->" in page


def test_the_table_of_rules_is_the_recorded_one() -> None:
    """``python -m benchmarks.ablations --markdown`` prints it."""
    record = json.loads((ROOT / "benchmarks/results/ablations.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs/explanation/ranking.md").read_text(encoding="utf-8")
    assert f"<!-- ablations -->\n\n{ablations.table(record['result'])}\n\n<!-- /ablations -->" in page


def test_every_rule_that_an_ablation_leaves_out_is_there() -> None:
    """A patch of a name that the code has given up measures nothing."""
    for variant in ablations.variants():
        with applied(variant.patches):
            pass


def test_the_figures_of_the_daemon_are_the_recorded_ones() -> None:
    """``python -m benchmarks.speed_start`` records them."""
    record = json.loads((ROOT / "benchmarks/results/speed_start.json").read_text(encoding="utf-8"))["result"]
    page = " ".join((ROOT / "docs/how-to/daemon.md").read_text(encoding="utf-8").split())
    with_daemon, without = record["daemon_hybrid_search_wall_ms"], record["hybrid_search_wall_ms"]
    assert f"took {with_daemon} ms instead of {without} " in page


def test_the_figures_of_freshness_are_the_recorded_ones() -> None:
    """``python -m benchmarks.freshness`` records them."""
    record = json.loads((ROOT / "benchmarks/results/freshness.json").read_text(encoding="utf-8"))["result"]
    page = " ".join((ROOT / "docs/how-to/keep-fresh.md").read_text(encoding="utf-8").split())
    assert f"With {record['files']:,} files, 95 of 100 edits" in page
    assert f"by words within {record['words_p95_ms'] / 1000:.2f} s" in page
    assert f"by meaning within {record['vectors_p95_ms'] / 1000:.2f} s" in page
    assert f"took {record['idle_cpu_percent']} % of one core" in page
    words, vectors = record["words_p95_ms"] / 1000, record["vectors_p95_ms"] / 1000
    for name, words_text, vectors_text in (
        ("README.md", f"by words within {words:.2f} s", f"by meaning within {vectors:.2f} s"),
        ("README.ja.md", f"{words:.2f} 秒以内にキーワードで", f"{vectors:.2f} 秒以内に意味で"),
    ):
        readme = " ".join((ROOT / name).read_text(encoding="utf-8").split())
        assert words_text in readme
        assert vectors_text in readme


def test_the_figures_of_scale_are_the_recorded_ones() -> None:
    """``python -m benchmarks.scale`` records them, and what is reckoned from them follows."""
    figures = json.loads(scale.RECORD.read_text(encoding="utf-8"))["result"]
    page = scale.PAGE.read_text(encoding="utf-8")
    for name, found in scale.tables(figures).items():
        assert found in page, name
    most = max(figures["nodes"]["nodes"], key=int)
    assert (int(most), figures["served"]["chunks"]) == (3, 1_000_000)
    assert figures["nodes"]["nodes"][most]["of_linear"] >= scale.TARGET


def test_the_figures_of_speed_are_the_recorded_ones() -> None:
    """``python -m benchmarks.speed`` writes the tables and the plots."""
    figures = json.loads(RECORD.read_text(encoding="utf-8"))["result"]
    assert table(figures) in PAGE.read_text(encoding="utf-8")
    assert short_table(figures) in README.read_text(encoding="utf-8")
    assert short_table(figures, japanese=True) in README_JA.read_text(encoding="utf-8")
    for theme in ("light", "dark"):
        drawn = (ROOT / f"docs/images/speed.{theme}.svg").read_text(encoding="utf-8")
        assert drawn == plot(figures["search"], theme)


def test_the_figures_of_agents_are_the_recorded_ones() -> None:
    """``python -m benchmarks.agents`` prints the tables."""
    record = json.loads((ROOT / "benchmarks/results/agents.json").read_text(encoding="utf-8"))
    figures = record["result"]["all"]
    page = agents.PAGE.read_text(encoding="utf-8")
    for kind in ("alone", "pairs"):
        assert f"<!-- agents {kind} -->\n\n{agents.table(figures[kind])}\n\n<!-- /agents -->" in page


@pytest.mark.parametrize("page", ["reference/json.md", "reference/mcp.md", "explanation/confidence.md"])
def test_the_levels_of_confidence_are_those_of_the_code(page: str) -> None:
    """A page that says from which score on an answer has a level says it as the code has it."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    levels = (f"`{level.value}` from {least:g}".replace(" 0.", " .") for least, level in probability._LEVELS)
    assert ", ".join(levels) in " ".join(text.split())
