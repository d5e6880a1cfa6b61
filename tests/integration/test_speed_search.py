"""The cost of a warm search in SQL, as its benchmark counts it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from benchmarks.speed_index import NAME, fill, questions, sentences
from benchmarks.speed_search import count_sql

from mdvec import open_workspace
from mdvec.testing.embedder import HashingEmbedder


def test_a_warm_search_is_one_snapshot_and_few_statements(tmp_path: Path) -> None:
    """A hybrid search of a filled index takes one snapshot and at most 20 statements of SQL."""
    database, embedder, chance = tmp_path / "index.sqlite", HashingEmbedder(), np.random.default_rng(1)
    pools = sentences(chance, count=200)
    fill(database, 400, embedder.space, pools)
    with open_workspace(database=database, embedder=embedder) as workspace:
        counts = workspace.status(NAME).collections[0].counts
    assert (counts.chunks, counts.pending_chunks) == (400, 0)
    counted = count_sql(database, embedder, questions(chance, pools, 30))
    assert counted["snapshots"] == 1
    assert 0 < counted["statements"] <= 20
