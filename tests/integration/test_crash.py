"""What must survive: an import that is killed, and many processes at once."""

from __future__ import annotations

from pathlib import Path

from benchmarks import crash, processes


def test_a_killed_import_loses_nothing(tmp_path: Path) -> None:
    """60 times SIGKILL at a random instant: the next run completes, nothing is lost, doubled or damaged."""
    result = crash.run(60, seed=20261121, folder=tmp_path)
    assert result["rounds"] == 60
    assert result["killed"] > 15


def test_readers_and_writers_never_fail(tmp_path: Path) -> None:
    """Four readers and two importers on one database: no error, no damage."""
    figures = processes.run(tmp_path, readers=4, importers=2, seconds=3)
    assert figures["errors"] == {}
    assert figures["search_count"] >= 4
    assert figures["import_count"] >= 2
