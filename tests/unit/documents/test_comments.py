"""What ``%%`` hides."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from tests.growth import assert_grows_linearly

from mdvec.documents.comments import blank_out, find_comments
from mdvec.documents.parse import parse_document
from mdvec.types.document import with_comments


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a %%hidden%% b\n", "a b"),
        ("%%\n# Hidden\n\nhidden\n%%\nafter\n", "after"),
        ("%% hidden\n\n- hidden %%\nafter", "after"),
        ("before\n%%hidden%%", "before"),
        ("%%hidden%% text", "text"),
        ("> %%hidden%% quoted", "> quoted"),
        ("%%\n```\n%% hidden\n```\n%%\nafter", "after"),
        ("%%%%", ""),
        ("`%%shown%%` %%hidden%%", "`%%shown%%`"),
        ("`` ` %%shown `` and %%hidden%%", "`` ` %%shown `` and"),
        ("```\n%%shown%%\n```\n%%hidden%%", "``` %%shown%% ```"),
        ("    %%shown%%\n\n%%hidden%%", "%%shown%%"),
        ("\\%%shown%%", "\\%%shown%%"),
        ("50%% of it\n\nand 7%% more", "50%% of it and 7%% more"),
        ("50%% of it", "50%% of it"),
        ("%%never\n\nclosed", "%%never closed"),
        ("`open %%hidden%%", "`open"),
        ("50%% of it and 20%% of that", "50%% of it and 20%% of that"),
        ("%%hidden: 50%% after", "after"),
        ("{/* hidden */} <Tab>shown</Tab> {/* two\n\nlines */}", "<Tab>shown</Tab>"),
        ("`{/* shown */}` {/* never closed", "`{/* shown */}` {/* never closed"),
        ("<!-- never closed {/* hidden */}", "<!-- never closed"),
        ("a <!--> b <!---> c <!-- -- > hidden --> d", "a b c d"),
        (
            "- a\n  id:: 64f1c2aa\n  collapsed:: true\n  background-color:: #533e7d\n"
            "\t- b\n\t  logseq.order-list-type:: number",
            "- a - b",
        ),
        ("id:: shown\n- a\n  ident:: shown", "id:: shown - a ident:: shown"),
    ],
)
def test_comments_are_blanked_and_nothing_else_is(text: str, shown: str) -> None:
    """Comments end at the next ``%%``, inline ones in their paragraph; code and stray signs are text."""
    document = parse_document("x.md", text)
    assert " ".join(document.body.split()) == shown
    assert with_comments(document.body, document.comments) == text


def test_a_comment_leaves_every_other_character_in_its_place() -> None:
    """The body is as long as the file, line for line, so that positions are those of the file."""
    text = "one %%two\nthree%% four\n%%\nfive\n%%\nsix"
    body = parse_document("x.md", text).body
    assert [len(line) for line in body.split("\n")] == [len(line) for line in text.split("\n")]
    assert (body.index("four"), body.index("six")) == (text.index("four"), text.index("six"))


def test_nothing_inside_a_comment_counts() -> None:
    """A tag, a link or a heading in a comment is none; those around it are."""
    text = "#yes %%#no [[No]] [no](no.md)%% [[Yes]]\n\n%%\n# No\n#no [[No]]\n%%\n\n# Yes\n"
    document = parse_document("x.md", text)
    assert document.tags == ("yes",)
    assert [link.target for link in document.links] == ["Yes"]
    assert [section.heading for section in document.sections] == ["", "Yes"]
    assert document.title == "Yes"


@pytest.mark.parametrize(
    "text", ["%%hidden%% [[A]] #t\n", "- %%hidden%% [[A]] #t\n", "x\n\n%%a%%  [[A]] #t\n"]
)
def test_what_follows_a_comment_does_not_become_code(text: str) -> None:
    """The space that is left is no indentation."""
    document = parse_document("x.md", text)
    assert ([link.target for link in document.links], document.tags) == (["A"], ("t",))


def test_plain_text_has_no_comments() -> None:
    """In a text file ``%%`` is text."""
    assert parse_document("x.txt", "a %%b%% c").body == "a %%b%% c"


@pytest.mark.parametrize("text", ["%%" * 50_001, "%% `" * 25_000, "a %%b\n\n" * 20_000, "``%%`" * 20_000])
def test_hostile_texts_are_read_in_reasonable_time(text: str) -> None:
    """Work grows with the length of the text: these would take minutes otherwise."""
    document = parse_document("x.md", text)
    assert with_comments(document.body, document.comments) == text


def _of(unit: str) -> Callable[[int], str]:
    return lambda size: (unit * size)[:size]


def _rising_runs(size: int) -> str:
    """Runs of backticks of all lengths, opened before a blank line and met again only after it."""
    runs = " ".join("`" * length for length in range(1, math.isqrt(size)))
    return f"%%x%% {runs}\n\n%%x%% {runs}"


@pytest.mark.parametrize(
    "make",
    [_of("%%"), _of("%%x%% "), _of("%% `a`` "), _of("a%%\n\n"), _of("\u3000%%"), _rising_runs],
    ids=["bare", "short", "with code", "unclosed", "after blanks", "runs"],
)
def test_many_delimiters_take_linear_time(make: Callable[[int], str]) -> None:
    """However many comments stand in one line, none of them looks at the whole line."""

    def work(text: str) -> None:
        blank_out(text, find_comments(text, 0, ()))

    assert_grows_linearly(make, work, 20_000)
