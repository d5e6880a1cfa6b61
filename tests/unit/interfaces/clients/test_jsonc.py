"""JSON with comments, edited in place."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdvec.interfaces.clients.jsonc import (
    SyntaxProblem,
    first_extension,
    load,
    remove_member,
    set_member,
)

KEYS = st.text(max_size=6)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
LAYOUTS = st.sampled_from([None, 2, 4, "\t"])
ENTRY = {"command": "/usr/bin/python", "args": ["-m", "mdvec"]}

COMMENTED = """\
// my servers
{
    "inputs": [], // none
    "servers": {
        // the first
        "github": { "url": "https://example.com//x", }, /* kept */
        // "old": {},
    },
}
"""


@given(
    st.dictionaries(KEYS, VALUES, max_size=4),
    st.dictionaries(KEYS, VALUES, max_size=4),
    LAYOUTS,
    st.booleans(),
)
def test_an_edit_changes_one_member_and_no_other(
    others: dict[str, Any], servers: dict[str, Any], layout: Any, windows: bool
) -> None:
    """Any document, in any layout: setting adds the member, removing takes it away, all else is the same."""
    document = {**others, "servers": {**servers, "mdvec": 1}}
    text = json.dumps(document, indent=layout, ensure_ascii=False)
    if windows:
        text = text.replace("\n", "\r\n")
    changed = set_member(text, ("servers", "mdvec"), ENTRY)
    assert json.loads(changed) == {**others, "servers": {**servers, "mdvec": ENTRY}}
    removed = remove_member(changed, ("servers", "mdvec"))
    rest = {key: value for key, value in servers.items() if key != "mdvec"}
    assert json.loads(removed) == {**others, "servers": rest}
    assert json.loads(set_member(removed, ("servers", "mdvec"), 1))["servers"] == {**rest, "mdvec": 1}


@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=4), st.sampled_from([None, 2, "\t"]))
def test_removing_undoes_adding_to_the_byte(servers: dict[str, Any], layout: Any) -> None:
    """Where there were members, not one byte tells that there was one more."""
    servers.pop("mdvec", None)
    text = json.dumps({"servers": servers or {"a": 1}, "z": 1}, indent=layout)
    assert remove_member(set_member(text, ("servers", "mdvec"), ENTRY), ("servers", "mdvec")) == text


@given(VALUES)
def test_plain_json_is_read_as_python_reads_it(value: Any) -> None:
    """What is plain JSON means the same here."""
    text = json.dumps(value)
    assert load(text) == value
    assert first_extension(text) is None


def test_comments_and_layout_stay() -> None:
    """Comments, indentation and the commas of the user are where they were."""
    changed = set_member(COMMENTED, ("servers", "mdvec"), {"command": "x"})
    assert changed == COMMENTED.replace(
        "/* kept */\n", '/* kept */\n        "mdvec": {\n            "command": "x"\n        },\n'
    )
    assert remove_member(changed, ("servers", "mdvec")) == COMMENTED


@pytest.mark.parametrize("text", ['{"s": {"x": 1, },}', '{"s": {\n  "x": 1, // c\n},\n}'])
def test_commas_behind_the_last_member_are_a_habit_to_follow(text: str) -> None:
    """What is added has one, too, so that removing it leaves that of the member before."""
    changed = set_member(text, ("s", "mdvec"), 2)
    assert load(changed) == {"s": {"x": 1, "mdvec": 2}}
    assert remove_member(changed, ("s", "mdvec")) == text


@pytest.mark.parametrize("text", ["", " \n", "{}", "{ }", "{\n}\n", "{ /* c */ }", "{ // c\n}", "\n// c\n{}"])
def test_the_way_to_a_member_is_made(text: str) -> None:
    """A blank or empty document gets the objects that lead there, and its comments stay."""
    changed = set_member(text, ("servers", "mdvec"), ENTRY)
    assert load(changed) == {"servers": {"mdvec": ENTRY}}
    assert ("c" in text) == ("/* c */" in changed or "// c" in changed)


@pytest.mark.parametrize(
    "text",
    [
        '{"s": {"x": 1, "mdvec": 2}}',
        '{"s": {"x": 1, "mdvec": 2,}}',
        '{"s": {"mdvec": 2, "x": 1}}',
        '{"s": {"mdvec": 2,\n  "x": 1}}',
        '{"s": {\n  "mdvec": 2, // ours\n  "x": 1\n}}',
        '{"s": {"mdvec": 2, "x": 1, "mdvec": 3}}',
        '{"s": {\n"x": 1,\n"mdvec": 3 }}',
    ],
)
def test_a_member_goes_wherever_it_stands(text: str) -> None:
    """First, last, alone on its line or not, or written twice: it is gone, with its comma and its remark."""
    removed = remove_member(text, ("s", "mdvec"))
    assert load(removed) == {"s": {"x": 1}}
    assert "ours" not in removed
    assert remove_member(removed, ("s", "mdvec")) == removed


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('{"a" 1}', 1, "colon"),
        ('{\n"a": 1', 2, "comma"),
        ('{"a": 1\n"b": 2}', 2, "comma"),
        ("[1\n2]", 2, "comma"),
        ('{"a":\n}', 2, "value"),
        ('{"a":', 1, "end"),
        ("{}\n{}", 2, "follows"),
        ("{a: 1}", 1, "double quotes"),
        ('{"a": 1 /* never closed', 1, "comma"),
        ("[" * 1000, 1, "deep"),
        ('{"a": NaN}', 1, "value"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(text: str, line: int, message: str) -> None:
    """Each error names the line and what is wrong there."""
    with pytest.raises(SyntaxProblem, match=message) as caught:
        load(text)
    assert caught.value.line == line


def test_an_edit_needs_objects_on_its_way() -> None:
    """Something else in the place of an object is an error with its line, not something to overwrite."""
    with pytest.raises(SyntaxProblem) as caught:
        set_member('{\n"s": [1]}', ("s", "m"), 1)
    assert caught.value.line == 2
    with pytest.raises(SyntaxProblem) as caught:
        remove_member('{\n"s": 1}', ("s", "m"))
    assert caught.value.line == 2


def test_what_plain_json_does_not_have_is_found() -> None:
    """Comments and trailing commas are told apart from plain JSON, with their line."""
    assert first_extension('{"a": 1}') is None
    assert first_extension('{\n  // c\n  "a": 1}') == 2
    assert first_extension("") is None
