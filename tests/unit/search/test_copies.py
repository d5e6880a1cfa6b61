"""Copies that programs make when they synchronise a folder."""

from __future__ import annotations

import pytest
from tests.unit.search.candidates_world import place

from mdvec.search.families import without_copies
from mdvec.search.passages import Ranked, RankedPassage, ScoredPassage
from mdvec.stores.records import StoredChunk
from mdvec.types.ids import ChunkId

TEXT = "Blow in the insulation before the heat pump comes."


def shown(notes: dict[str, str], *, folded: int = 0) -> tuple[list[tuple[str, float]], list[int]]:
    """Return path and score of what is shown, and the numbers of texts like it.

    Args:
        notes: Paths and texts, best first.
        folded: How many of the last ones are like the first one, and were folded.
    """
    chunks: dict[ChunkId, StoredChunk] = {}
    scored: list[ScoredPassage] = []
    for at, (path, text) in enumerate(notes.items()):
        where = place(100 * (at + 1))
        chunks[where.id] = StoredChunk(
            id=where.id,
            document_id=where.document_id,
            collection_id=where.collection_id,
            collection="notes",
            path=path,
            title=path,
            ordinal=0,
            parent=None,
            depth=0,
            heading_path=(),
            start=0,
            end=len(text),
            start_line=1,
            end_line=1,
            token_count=10,
            context="",
            text=text,
        )
        is_folded = at >= len(notes) - folded
        passage = RankedPassage(Ranked(at, where, -at, is_folded=is_folded), (where,), -at)
        scored.append(ScoredPassage(passage, 0.9 - 0.1 * at, "", similar={place(100).id: folded}))
    left, counts = without_copies(scored, chunks)
    named = [(chunks[each.passage.best.place.id].path, round(each.score, 1)) for each in left]
    return named, [count for count in counts.values() if count]


@pytest.mark.parametrize(
    "copy",
    [
        "a.sync-conflict-20250101-120000-ABCDEFG.md",
        "a (1).md",
        "a (Anna's conflicted copy 2025-01-03).md",
        "a (Annaの競合コピー 2025-01-03).md",
        "a (SFConflict anna 2025-01-03-10-11-12).md",
        "a_conf(Jan-03-101112-2025).md",
        "a-DESKTOP-AB12CD.md",
        "a - Copy.md",
        "a copy 2.md",
        "a - Copy (2).md",
        "a (Kopie).md",
        "Copy of a.md",
        "a_conflict-20250101-120000.md",
        "a-MacBook-Pro-2.md",
        "a のコピー.md",
        "a 2.md",
        "a（1）.md",
    ],
)
def test_an_original_takes_the_place_of_its_copies(copy: str) -> None:
    """With the score of the best of them, and their number."""
    notes = {copy: f"{TEXT} Changed.", "other.md": "Milk, eggs and bread.", "a.md": TEXT}
    assert shown(notes) == ([("a.md", 0.9), ("other.md", 0.8)], [1])


def test_several_copies_of_one_file_are_one_hit() -> None:
    """A copy with a number is one of the original, also next to the copy without it."""
    notes = {"a copy.md": TEXT, "a copy 2.md": TEXT, "a.md": TEXT}
    assert shown(notes) == ([("a.md", 0.9)], [2])


def test_copies_without_their_original_are_one() -> None:
    """The original is folded where it is equal to a copy."""
    notes = {"a.sync-conflict-20250101-120000-ABCDEFG.md": TEXT, "a (1).md": TEXT}
    assert shown(notes) == ([("a (1).md", 0.9)], [1])


@pytest.mark.parametrize("paths", [["a.md", "a (1).md"], ["a (1).md", "a.md"]])
def test_a_copy_that_was_folded_counts_once(paths: list[str]) -> None:
    """Its family counts it already, whichever of them came first."""
    notes = dict.fromkeys((*paths, "template.md"), TEXT)
    assert shown(notes, folded=2) == ([("a.md", 0.9), ("template.md", 0.7)], [2])


def test_a_number_alone_makes_no_copy() -> None:
    """Parts of a series are called so; iCloud adds the number to the name of another file."""
    notes = {"part 1.md": TEXT, "part 2.md": TEXT}
    assert shown(notes) == ([("part 1.md", 0.9), ("part 2.md", 0.8)], [])


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("setup-macbook", "setup"),
        ("setup-imac", "setup"),
        ("setup-MacBook", "setup"),
        ("notes-laptop", "notes"),
        ("notes-desktop-computer", "notes"),
        ("notes-LAPTOP-2020s", "notes"),
        ("merge-conflict", "merge"),
        ("merge conflict", "merge"),
    ],
)
def test_words_for_machines_and_conflicts_make_no_copy(name: str, other: str) -> None:
    """A copy has the id of a machine or a date in its name."""
    notes = {f"{name}.md": TEXT, f"{other}.md": TEXT}
    assert shown(notes) == ([(f"{name}.md", 0.9), (f"{other}.md", 0.8)], [])


def test_another_text_of_such_a_name_is_no_copy() -> None:
    """A second meeting may be called so."""
    notes = {"meeting (2).md": "We chose a boat.", "meeting.md": TEXT}
    assert shown(notes) == ([("meeting (2).md", 0.9), ("meeting.md", 0.8)], [])
