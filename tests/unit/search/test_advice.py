"""Advice about queries."""

from __future__ import annotations

import pytest

from mdvec.search.advice import not_operators


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("restic OR pasta", "'OR'"),
        ("tags:backup -folder:x NOT restic", "'tags', '-folder', 'NOT'"),
        ("tag: backup", "'tag:'"),
        ("backup title:", "'title:'"),
        ("tag:backup path:notes title:x", ""),
        ("file:///home/a.md", ""),
        ("note: buy milk or bread, not both", ""),
        ("type: a word", ""),
        ("AND" + " one more word" * 4, ""),
        ("one\nOR two", ""),
    ],
)
def test_what_other_programs_read_as_an_operator_is_named(query: str, words: str) -> None:
    """Words and fields that are none here, and fields without a value, unless a text was pasted."""
    found = [*not_operators(query, ())]
    assert [each.partition(": ")[2].partition(";")[0] for each in found] == ([words] if words else [])


def test_operators_in_a_sentence_are_named() -> None:
    """They are plain text there; a pasted text is none of a person's."""
    [line] = not_operators("how do I leave out all drafts -draft", ["-draft"])
    assert line.endswith("plain text: -draft")
    assert [*not_operators("a text", ["-a", "-b", "-c", "-d"])] == []
