"""Equal documents give equal answers, in whatever order they were imported and whatever happened between."""

from __future__ import annotations

import random
import shutil
from contextlib import closing
from pathlib import Path

import pytest
from tests.fakes.runs import cancelled_when, noting
from tests.workspaces import workspace_of, written

from mdvec.errors import ImportStoppedError
from mdvec.indexing.transfer import copy_store
from mdvec.stores.sqlite.store import SqliteStore
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.query import SearchMode, SearchQuery
from mdvec.workspace import Workspace, open_workspace

NOTES = 700  # more than the background of a query samples


def words(chance: random.Random, count: int) -> str:
    """Return words of letters: texts that differ only in numbers count as one."""
    return " ".join("".join(chance.choices("abcdefghijklmnopqrst", k=2)) for _ in range(count))


def note(number: int) -> str:
    chance = random.Random(number if number % 8 else number + 1)  # of each eight, two are copies
    return f"# Note {words(chance, 2)}\n\n{words(chance, 30)}.\n"


def answers(workspace: Workspace) -> list[list[tuple[str, float]]]:
    """Return the hits of some queries in each mode, each with its score."""
    queries = [words(random.Random(-number), 3) for number in range(1, 11)]
    return [
        [
            (hit.path, hit.score)
            for hit in workspace.search(SearchQuery(text, mode, limit=5, min_score=0.0)).hits
        ]
        for text in queries
        for mode in SearchMode
    ]


def test_a_folder_with_a_history_answers_as_one_that_is_imported_at_once(tmp_path: Path) -> None:
    """Notes that come in parts, change, go and come back get the order and the scores of a fresh import."""
    fresh, lived = tmp_path / "fresh", tmp_path / "lived"
    order = [*range(NOTES)]
    random.Random(5).shuffle(order)
    for folder in (fresh, lived):
        folder.mkdir()
    for number in order:
        (fresh / f"{number}.md").write_text(note(number))
    with (
        open_workspace(database=tmp_path / "fresh.sqlite", embedder=HashingEmbedder()) as one,
        open_workspace(database=tmp_path / "lived.sqlite", embedder=HashingEmbedder()) as other,
    ):
        one.add_collection("notes", "", str(fresh))
        one.import_collection("notes")
        other.add_collection("notes", "", str(lived))
        for part in (order[:300], order[200:500], order[400:]):
            for number in part:
                (lived / f"{number}.md").write_text(note(number))
            for number in part[:40]:
                (lived / f"{number}.md").write_text(note(number + NOTES))
            for number in part[40:60]:
                (lived / f"{number}.md").unlink()
            other.import_collection("notes")
        for number in order:
            (lived / f"{number}.md").write_text(note(number))
            shutil.copystat(fresh / f"{number}.md", lived / f"{number}.md")
        other.import_collection("notes")
        assert answers(other) == answers(one)


def test_a_move_that_was_resumed_answers_as_before(tmp_path: Path) -> None:
    """Documents, texts and vectors have other ids there than where they come from."""
    notes = written(tmp_path / "notes", {f"{number}.md": note(number) for number in range(NOTES)})
    with workspace_of(tmp_path / "first.sqlite", {"notes": notes}) as workspace:
        before = answers(workspace)
    first, second = (SqliteStore(tmp_path / f"{name}.sqlite") for name in ("first", "second"))
    with closing(first), closing(second):
        with cancelled_when(lambda _, done: done > 0), pytest.raises(ImportStoppedError):
            copy_store(first, second, wait_s=0)
        with noting() as resumed:
            copy_store(first, second, wait_s=0)
    assert 0 < resumed.reports[0][1] < NOTES
    with open_workspace(database=tmp_path / "second.sqlite", embedder=HashingEmbedder()) as workspace:
        assert answers(workspace) == before
