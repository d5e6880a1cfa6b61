"""Operators as they are typed, and what stays ordinary text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdvec.text.operators import Field, parse_query

_PIECES = (
    "-",
    '"',
    "*",
    "path:",
    "tag:",
    "title:",
    " ",
    "word",
    "検索",
    "の",
    "1",
    "C++",
    "\u201d",
    "#",
    "/",
)


def understood(query: str) -> list[tuple[str, Field | None, bool, bool]]:
    return [(each.text, each.field, each.negated, each.prefix) for each in parse_query(query).operators]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('"exact phrase" more', [("exact phrase", None, False, False)]),
        ("\u201cexact phrase\u201d", [("exact phrase", None, False, False)]),
        ("\uff02検索の設定\uff02", [("検索の設定", None, False, False)]),
        ('検索"クエリの説明"', [("クエリの説明", None, False, False)]),
        ("retry -python", [("python", None, True, False)]),
        ("設定 -下書き", [("下書き", None, True, False)]),
        ("-プロジェクトマネジメント", [("プロジェクトマネジメント", None, True, False)]),
        ('retry -"exponential backoff"', [("exponential backoff", None, True, False)]),
        ("retr* policy", [("retr", None, False, True)]),
        ("-retr*", [("retr", None, True, True)]),
        ("検索*", [("検索", None, False, False)]),
        ("path:projects/** x", [("projects/**", Field.PATH, False, False)]),
        ('path:"My Notes"', [("My Notes", Field.PATH, False, False)]),
        ("-path:archive", [("archive", Field.PATH, True, False)]),
        ("tag:#draft/old", [("draft/old", Field.TAG, False, False)]),
        ("tag:draft/* -tag:＃old/", [("draft", Field.TAG, False, False), ("old", Field.TAG, True, False)]),
        ("-TAG:draft", [("draft", Field.TAG, True, False)]),
        ("title:Meeting", [("Meeting", Field.TITLE, False, False)]),
        (
            "title:meet* -title:weekly",
            [("meet", Field.TITLE, False, True), ("weekly", Field.TITLE, True, False)],
        ),
        ("tag\uff1a下書き", [("下書き", Field.TAG, False, False)]),
    ],
)
def test_operators_are_understood(query: str, expected: list[tuple[str, Field | None, bool, bool]]) -> None:
    """Quotes of all kinds, a minus, a star, and the parts of a document."""
    assert understood(query) == expected


@pytest.mark.parametrize(
    "query",
    [
        *("-", "- x", "a - b", "--", "--flag", "-1", "-1 °C", "->", "-(a b)", "-x"),
        *('"', 'say "hello', 'a 5" disk', '""', '"  "', '"---"', '"の"', "「検索」", "'quoted words'"),
        "-触の伝達・治安・治水・用水・新田開発など",
        *("*", "**bold**", "a*b", "C*", "*.md", "foo.*", "C++", "C#", "foo-bar", "e-mail"),
        *(
            "http://example.org/x",
            "-http://example.org",
            "note: text",
            "path: x",
            "tag:",
            "-tag:",
            "path::join",
        ),
    ],
)
def test_what_is_no_operator_is_ordinary_text(query: str) -> None:
    """It is left as it was typed."""
    assert understood(query) == []
    assert parse_query(query).text == query


def test_phrases_are_ranked_by_and_what_is_left_out_is_not() -> None:
    """Plain text and phrases remain, in their order; what narrows a document does not."""
    query = 'how to "sign in" -google path:docs tag:web again log*'
    assert parse_query(query).text == "how to sign in again"
    assert parse_query("tag:web -draft").text == ""


def test_signs_of_a_sentence_are_ordinary_text() -> None:
    """A line that was pasted has quotation marks of its own; fields narrow it all the same."""
    for sentence in (
        'Is there a way to disable the "did you mean" feature',
        'disable the noisy old "did you mean"',  # quoted words count once four others are there
        '検索エンジンの "もしかして" という機能を使わないようにする設定の方法を教えてほしい',
    ):
        assert parse_query(sentence).operators == ()
        [tag] = parse_query(f"{sentence} tag:web").operators
        assert tag.field is Field.TAG
    assert parse_query('disable the "did you mean" feature').operators
    assert parse_query('"もしかして" という機能').operators
    assert parse_query('where is "as we agreed to do it in the end"').operators  # most of it is a quotation
    assert parse_query("one -two -three -four -five -six -seven").operators


def test_only_plain_text_is_changed() -> None:
    """Operators stay as they were typed."""
    query = 'on "One Two"  -three path:Four five'
    assert parse_query(query).changed(str.upper) == 'ON "One Two"  -three path:Four FIVE'


@given(st.lists(st.sampled_from(_PIECES)).map("".join))
def test_any_text_is_a_query(query: str) -> None:
    """Its parts put together are what was typed, and each operator has something to look for."""
    parsed = parse_query(query)
    assert parsed.changed(str) == query
    assert all(each.text for each in parsed.operators)
