"""An import that is killed, and many processes at once: nothing is lost, and nothing fails.

``benchmarks.crash`` makes 1,000 rounds.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import crash, processes

pytestmark = pytest.mark.harness


def test_a_killed_import_loses_nothing(tmp_path: Path) -> None:
    """30 times SIGKILL at a random instant: the next run completes, nothing is lost, doubled or damaged."""
    result = crash.run(30, seed=20261121, folder=tmp_path)
    assert result["rounds"] == 30
    assert result["killed"] > 7


@pytest.mark.parametrize(
    ("vectors", "rounds"),
    [
        ("sqlite-vec", 15),
        # Each round starts two processes that load these for seconds.
        pytest.param("lancedb", 4, marks=pytest.mark.lancedb),
        pytest.param("chroma", 4, marks=pytest.mark.chroma),
    ],
)
def test_a_killed_import_leaves_a_vector_index_that_completes(
    tmp_path: Path, vectors: str, rounds: int
) -> None:
    """SIGKILL while a store and the index beside it are written: the next run completes both."""
    result = crash.run(rounds, seed=20261122, folder=tmp_path, vectors=vectors)
    assert result["rounds"] == rounds
    assert result["killed"] > rounds // 10  # fewer where other work makes the first import slow


def test_readers_and_writers_never_fail(tmp_path: Path) -> None:
    """Four readers and two importers on one database: no error, no damage."""
    figures = processes.run(tmp_path, readers=4, importers=2, seconds=3)
    assert figures["errors"] == {}
    assert figures["search_count"] >= 4
    assert figures["import_count"] >= 2
