"""The cost of a warm search in SQL, as its benchmark counts it."""

from __future__ import annotations

import random
from contextlib import closing
from pathlib import Path

import numpy as np
from benchmarks.speed_search import NAME, count_sql, fill_vectors, write_corpus

from mdvec import open_workspace
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.report import ImportOptions
from mdvec.workspace.wiring import open_store

SOURCE = Path(__file__).parents[1] / "data/astro_docs/tree/ja"


def test_a_warm_search_is_one_snapshot_and_few_statements(tmp_path: Path) -> None:
    """A hybrid search of a filled index takes one snapshot and at most 20 statements of SQL."""
    docs, database, embedder = tmp_path / "docs", tmp_path / "index.sqlite", HashingEmbedder()
    docs.mkdir()
    questions = write_corpus(docs, [SOURCE], 300, random.Random(1))
    with open_workspace(database=database, embedder=embedder) as workspace:
        collection = workspace.add_collection(NAME, "", str(docs))
        workspace.import_collection(NAME, ImportOptions(embed=False))
        with closing(open_store(database)) as store:
            fill_vectors(store, embedder, collection.id, np.random.default_rng(1))
        assert workspace.status(NAME).collections[0].counts.pending_chunks == 0
    counted = count_sql(database, embedder, questions)
    assert counted["snapshots"] == 1
    assert 0 < counted["statements"] <= 20
