"""One rule for all places that suggest a name: only what was probably meant."""

from __future__ import annotations

import pytest

from mdvec.errors import did_you_mean, meant_or_known, nearest_names


@pytest.mark.parametrize(
    ("name", "known", "near"),
    [
        ("serach", ["status", "search", "site"], ["search"]),
        ("diner", ["winner", "dinner"], ["dinner", "winner"]),  # the nearest first
        ("夕食", ["夕飯", "昼寝"], ["夕飯"]),  # two letters are a word
        ("HYBIRD", ["hybrid"], ["hybrid"]),
        ("search.limt", ["search.limit", "site.limit"], ["search.limit"]),
        ("nottes/Plan.md", ["notes/plan.md"], ["notes/plan.md"]),
        ("since", ["updated_since"], ["updated_since"]),  # a word of it
        ("cook", ["cooking"], ["cooking"]),  # half of it
        ("kyoto 京都 tripp", ["京都 trip"], ["京都 trip"]),
    ],
)
def test_a_slip_of_the_pen_is_understood(name: str, known: list[str], near: list[str]) -> None:
    """A letter too many, too few, wrong or in the wrong place; or a part of the name."""
    assert nearest_names(name, known, most=3) == near


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("東京.md", "読書.md"),
        ("nope.md", "index.md"),
        ("nothing.md", "coding/gdb.md"),
        ("notes/2026/東京.md", "notes/2026/読書.md"),
        ("search.foo", "search.top_k"),
        ("nope", "not-p"),
        ("rent", "preset"),
        ("a", "b"),
        ("re", "retry"),  # less than half, as of many names
        ("", "a"),
    ],
)
def test_what_only_shares_some_letters_is_not_suggested(name: str, known: str) -> None:
    """A wrong suggestion sends a reader to a text that has nothing to do with what was meant."""
    assert nearest_names(name, [known]) == []
    assert did_you_mean(name, [known]) == ""
    assert meant_or_known(name, {known: f"[{known}]"}) == f"known: [{known}]"


def test_names_that_are_as_near_are_all_suggested() -> None:
    """Two letters of Japanese are near to many words; the nearest alone is clear."""
    assert did_you_mean("夕食", ["朝食", "夕飯", "昼寝"], quote="'") == "; did you mean '夕飯' or '朝食'?"
    assert did_you_mean("diner", ["winner", "dinner"]) == "; did you mean `dinner`?"


def test_a_long_name_is_compared_by_its_beginning() -> None:
    """The time to compare grows with the square of the length."""
    assert nearest_names("x" * 100_000, ["x" * 200]) == ["x" * 200]
