"""Edits JSON with comments in place: what is not changed keeps every byte.

Python's parsers throw comments and layout away, and the libraries that keep them are young and write the
whole file anew. Here a file is read once for the places of its members, and only those places change.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

Path = Sequence[str]
"""Keys from the outermost object to a member."""

# Files that nest deeper are no configuration; the limit keeps the parser off Python's own.
_MAX_DEPTH = 200
_DEFAULT_INDENT = "  "

_BLANK = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_SAME_LINE = re.compile(r"(?:[ \t]+|//[^\r\n]*|/\*(?:[^*\r\n]|\*(?!/))*\*/)*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_LITERAL = re.compile(r"true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_INDENT = re.compile(r'^([ \t]+)"', re.MULTILINE)


class SyntaxProblem(ValueError):  # noqa: N818 - a finding about somebody's file, not a failure of ours
    """The text cannot be read, or not be edited where it was asked for.

    Attributes:
        line: Where, from 1.
    """

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class _Node:
    """A value and where it stands.

    Attributes:
        start: Its first character.
        end: Behind its last one.
        value: As Python has it.
        members: Those of an object, in order; None for anything else.
    """

    start: int
    end: int
    value: object
    members: tuple[_Member, ...] | None = None


@dataclass(frozen=True, slots=True)
class _Member:
    """A key with its value.

    Attributes:
        key: The key.
        start: First character of the key.
        node: The value.
        comma: Where the comma behind the value is; None when there is none.
    """

    key: str
    start: int
    node: _Node
    comma: int | None


def load(text: str) -> object:
    """Read a text; comments and trailing commas are allowed. A blank one is an empty object.

    Raises:
        SyntaxProblem: If it cannot be read.
    """
    return _parse(text).value if text.strip() else {}


def first_extension(text: str) -> int | None:
    """Return the line of the first thing plain JSON does not have, such as a comment; None without one."""
    try:
        json.loads(text or "{}")
    except ValueError as error:
        return getattr(error, "lineno", 1)
    return None


def set_member(text: str, path: Path, value: object) -> str:
    """Set a member, and make the objects that lead to it.

    Args:
        text: The document; a blank one is an empty object.
        path: Where; at least one key.
        value: What JSON can hold.

    Returns:
        The document, with the member in the layout of what is around it.

    Raises:
        SyntaxProblem: If the text cannot be read, or something on the path is no object.
    """
    if not text.strip():
        text = "{}" + _newline(text)
    node = _parse(text)
    for depth, key in enumerate(path):
        member = _find(text, node, key)
        if member is None:
            for inner in reversed(path[depth + 1 :]):
                value = {inner: value}
            return _insert(text, node, key, value)
        node = member.node
    return text[: node.start] + _written(text, value, _line_indent(text, node.start)) + text[node.end :]


def remove_member(text: str, path: Path) -> str:
    """Remove a member, with a comment that follows it on its line; without such a member nothing changes.

    Raises:
        SyntaxProblem: If the text cannot be read, or something on the path is no object.
    """
    if not text.strip():
        return text
    node = _parse(text)
    for key in path[:-1]:
        member = _find(text, node, key)
        if member is None:
            return text
        node = member.node
    member = _find(text, node, path[-1])
    # JSON allows a key twice; the last one counts, and behind a removed one the first would come to life.
    return text if member is None else remove_member(_without(text, node, member), path)


def _parse(text: str) -> _Node:
    node = _read_value(text, _skip(text, 0), 0)
    end = _skip(text, node.end)
    if end < len(text):
        raise _problem(text, end, "something follows the end of the value")
    return node


def _read_value(text: str, start: int, depth: int) -> _Node:
    if depth > _MAX_DEPTH:
        raise _problem(text, start, "it nests too deeply")
    match text[start : start + 1]:
        case "{":
            return _read_object(text, start, depth)
        case "[":
            return _read_array(text, start, depth)
        case '"':
            key, end = _read_string(text, start)
            return _Node(start, end, key)
    found = _LITERAL.match(text, start)
    if found is None:
        raise _problem(text, start, "a value is missing here" if start < len(text) else "the end is missing")
    return _Node(start, found.end(), json.loads(found[0]))


def _read_string(text: str, start: int) -> tuple[str, int]:
    found = _STRING.match(text, start)
    if found is None:
        raise _problem(text, start, "here must be a string in double quotes")
    value: str = json.loads(found[0])
    return value, found.end()


def _read_object(text: str, start: int, depth: int) -> _Node:
    members: list[_Member] = []
    at = _skip(text, start + 1)
    while text[at : at + 1] != "}":
        if members and members[-1].comma is None:
            raise _problem(text, at, "a comma or } is missing here")
        key_start = at
        key, at = _read_string(text, at)
        at = _skip(text, at)
        if text[at : at + 1] != ":":
            raise _problem(text, at, "a colon is missing here")
        node = _read_value(text, _skip(text, at + 1), depth + 1)
        at = _skip(text, node.end)
        comma = at if text[at : at + 1] == "," else None
        members.append(_Member(key, key_start, node, comma))
        if comma is not None:
            at = _skip(text, comma + 1)
    return _Node(start, at + 1, {each.key: each.node.value for each in members}, tuple(members))


def _read_array(text: str, start: int, depth: int) -> _Node:
    items: list[object] = []
    at = _skip(text, start + 1)
    separated = True
    while text[at : at + 1] != "]":
        if not separated:
            raise _problem(text, at, "a comma or ] is missing here")
        node = _read_value(text, at, depth + 1)
        items.append(node.value)
        at = _skip(text, node.end)
        separated = text[at : at + 1] == ","
        if separated:
            at = _skip(text, at + 1)
    return _Node(start, at + 1, items)


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _problem(text: str, at: int, message: str) -> SyntaxProblem:
    return SyntaxProblem(message, text.count("\n", 0, at) + 1)


def _find(text: str, node: _Node, key: str) -> _Member | None:
    if node.members is None:
        raise _problem(text, node.start, f"an object with {key!r} is expected here")
    return next((each for each in reversed(node.members) if each.key == key), None)


def _insert(text: str, node: _Node, key: str, value: object) -> str:
    name = json.dumps(key, ensure_ascii=False)
    members = node.members or ()
    if not members:
        outer = _line_indent(text, node.start)
        inner = outer + _indent_unit(text)
        member = f"{_newline(text)}{inner}{name}: {_written(text, value, inner)}"
        rest = text[node.start + 1 : node.end - 1]
        if not rest.strip():
            rest = _newline(text) + outer
        return text[: node.start + 1] + member + rest + text[node.end - 1 :]
    last = members[-1]
    # Who writes a comma behind the last member wants one there, and finds it again afterwards.
    missing, behind = (",", "") if last.comma is None else ("", ",")
    if "\n" not in text[node.start : members[0].start]:
        member = f" {name}: {json.dumps(value, ensure_ascii=False)}"
        at = last.node.end if last.comma is None else last.comma + 1
        return text[:at] + missing + member + behind + text[at:]
    indent = _line_indent(text, members[0].start)
    member = f"{_newline(text)}{indent}{name}: {_written(text, value, indent)}{behind}"
    end = last.node.end if last.comma is None else last.comma + 1
    at = _end_of_remark(text, end)
    return text[:end] + missing + text[end:at] + member + text[at:]


def _without(text: str, node: _Node, member: _Member) -> str:
    members = node.members or ()
    index = members.index(member)
    start = member.start
    end = _end_of_remark(text, member.node.end if member.comma is None else member.comma + 1)
    line_start = text.rfind("\n", 0, start) + 1
    line_end = re.compile(r"\r?\n").match(text, end)
    if not text[line_start:start].strip() and line_end:
        start, end = line_start, line_end.end()
    elif index == len(members) - 1:
        start = len(text[:start].rstrip(" \t"))
    text = text[:start] + text[end:]
    previous = members[index - 1] if index else None
    if previous is not None and previous.comma is not None and member.comma is None:
        text = text[: previous.comma] + text[previous.comma + 1 :]
    elif len(members) == 1:
        close = _skip(text, node.start + 1)
        if not text[node.start + 1 : close].strip():
            text = text[: node.start + 1] + text[close:]
    return text


def _end_of_remark(text: str, at: int) -> int:
    """Return the end of the comments that follow on the same line; without one, the place itself."""
    found = _SAME_LINE.match(text, at)
    return found.end() if found and found[0].strip() else at


def _written(text: str, value: object, indent: str) -> str:
    lines = json.dumps(value, ensure_ascii=False, indent=_indent_unit(text)).split("\n")
    return (_newline(text) + indent).join(lines)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _indent_unit(text: str) -> str:
    found = _INDENT.search(text)
    return found[1] if found else _DEFAULT_INDENT


def _line_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]
