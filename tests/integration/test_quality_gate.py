"""Retrieval quality on a small real set, with the real model, must not fall below what is recorded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mdvec.embedding.builtin.embedder import available
from mdvec.evaluation.judgements import read_judged_set
from mdvec.evaluation.metrics import METRICS

ROOT = Path(__file__).resolve().parents[2]
SET = Path("tests", "data", "astro_docs")
BASELINE = SET / "baseline.json"

_NEEDS_MODEL = pytest.mark.skipif(not available(), reason="the builtin model is not installed here")


def recorded() -> Any:
    return json.loads((ROOT / BASELINE).read_text(encoding="utf-8"))


@pytest.mark.harness
@_NEEDS_MODEL
def test_quality_has_not_fallen(tmp_path: Path, model_cache: Path) -> None:
    """Every metric of every mode is as good as recorded, within the recorded tolerance."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MDVEC_", "XDG_"))}
    done = subprocess.run(
        [sys.executable, "-m", "mdvec", *f"eval {SET} --min-grade 2 --by lang --gate {BASELINE}".split()],
        cwd=ROOT,
        env={**inherited, "HOME": str(tmp_path), "MDVEC_EMBEDDING_CACHE_DIR": str(model_cache)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"gate: {3 * len(METRICS)} values are as good as recorded" in done.stderr


def test_the_record_is_complete() -> None:
    """It holds every mode and metric with a tolerance small against the value, and no place of a machine."""
    record = recorded()
    [measured] = record["sets"]
    assert [each["system"] for each in measured["systems"]] == ["lexical", "dense", "hybrid"]
    for system in measured["systems"]:
        assert list(system["metrics"]) == list(METRICS)
        assert [group["name"] for group in system["groups"]] == ["en", "ja"]
    assert record["tolerance"].keys() == set(METRICS)
    assert max(record["tolerance"].values()) <= 0.02
    assert measured["min_grade"] == 2
    assert "/" not in json.dumps(record)


def test_no_page_holds_its_question() -> None:
    """A description was taken out of its page's frontmatter; else every system would find it by its words."""
    judged = read_judged_set(ROOT / SET, min_grade=2)
    assert len(judged.set.questions) == 126
    for question in judged.set.questions:
        [path] = question.relevant
        text = (ROOT / SET / "tree" / path).read_text(encoding="utf-8")
        assert f"description: {question.text}" not in text
        assert not text.split("---")[1].count("\ndescription:")
