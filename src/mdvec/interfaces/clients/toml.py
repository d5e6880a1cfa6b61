"""Edits TOML in place: what is not changed keeps every byte.

The usual library for this gives the comment above a table to the table before it, and takes it away with
that one. Here a file is cut into its statements, and only those that are ours change.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from mdvec.interfaces.clients.jsonc import SyntaxProblem

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
# Good for text that a parser has accepted: it only tells strings and comments from the rest.
_TOKEN = re.compile(
    r"""
    \#[^\n]*
    | \"{3} (?: \\. | [^\\] )*? \"{3,5}
    | '{3} .*? '{3,5}
    | " (?: \\. | [^"\\\n] )* "
    | ' [^'\n]* '
    | [\[\]{}\n]
    | [^\#"'\[\]{}\n]+
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class _Statement:
    """One table header, one ``key = value``, or one line without either.

    Attributes:
        text: As written, with its line end.
        path: Keys from the top of the file; None when it sets nothing.
        header: Whether it opens a table.
    """

    text: str
    path: tuple[str, ...] | None = None
    header: bool = False


def load(text: str) -> dict[str, Any]:
    """Read a text.

    Raises:
        SyntaxProblem: If it is not TOML.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        # Before Python 3.14 the place is only in the words: "... (at line 3, column 5)".
        message, _, place = str(error).partition(" (at line ")
        line = place.partition(",")[0]
        raise SyntaxProblem(message, int(line) if line.isdecimal() else text.count("\n") + 1) from error


def set_member(text: str, path: Sequence[str], value: object) -> str:
    """Set a value of a table, or add a table.

    Args:
        text: The document.
        path: Where; at least two keys for a value, its table being there.
        value: A string or a list of strings. A mapping of such is a new table, which goes to the end.

    Returns:
        The document.

    Raises:
        SyntaxProblem: If it cannot be read.
    """
    load(text)
    newline = _newline(text)
    if isinstance(value, Mapping):
        gap = "" if not text.strip() else newline if text.endswith("\n") else newline * 2
        pairs = (_pair(key, each) for key, each in value.items())
        return text + gap + newline.join((f"[{'.'.join(map(_key, path))}]", *pairs, ""))
    statements = list(_statements(text))
    for index, each in enumerate(statements):
        if each.path == tuple(path) and not each.header:
            statements[index] = _Statement(_with_value(each.text, path[-1], value, newline))
            return _joined(statements)
    place = [
        index for index, each in enumerate(statements) if each.path and _parent(each) == tuple(path[:-1])
    ]
    if place:
        before = statements[place[-1]].text
        gap = "" if before.endswith("\n") else newline
        statements.insert(place[-1] + 1, _Statement(gap + _pair(path[-1], value) + newline))
    return _joined(statements)


def remove_member(text: str, path: Sequence[str]) -> str:
    """Remove a value, or a table with what is in it; without such a member nothing changes.

    Raises:
        SyntaxProblem: If it cannot be read.
    """
    load(text)
    kept: list[_Statement] = []
    pending: list[_Statement] = []  # lines between two statements of ours go with them
    removing = False
    for each in _statements(text):
        if each.path is None and removing:
            pending.append(each)
        elif each.path is not None and each.path[: len(path)] == tuple(path):
            removing = True
            pending.clear()
        else:
            # The empty line before what is gone is enough.
            kept += pending[1:] if pending and not pending[0].text.strip() else pending
            pending.clear()
            removing = False
            kept.append(each)
    rest = _joined(kept)
    if removing:  # it stood at the end: the empty line before it goes, what follows stays
        rest = rest.rstrip("\r\n") + _newline(text) if rest.strip() else ""
        remarks = _joined(pending)
        rest += remarks if remarks.strip() else ""
    return rest


def _statements(text: str) -> Iterator[_Statement]:
    table: tuple[str, ...] = ()
    for statement in _cut(text):
        data = tomllib.loads(statement)
        if not data:
            yield _Statement(statement)
        elif statement.lstrip().startswith("["):
            table = _keys(data)
            yield _Statement(statement, table, header=True)
        else:
            yield _Statement(statement, table + _keys(data))


def _cut(text: str) -> Iterator[str]:
    start = depth = 0
    for token in _TOKEN.finditer(text):
        match token[0]:
            case "[" | "{":
                depth += 1
            case "]" | "}":
                depth -= 1
            case "\n" if depth == 0:
                yield text[start : token.end()]
                start = token.end()
            case _:
                pass
    if start < len(text):
        yield text[start:]


def _keys(data: object) -> tuple[str, ...]:
    """Return the keys that lead to what a statement sets."""
    keys: list[str] = []
    while isinstance(data, dict | list) and len(data) == 1:
        if isinstance(data, list):  # the table of an array of tables, or a list as a value
            [data] = data
        else:
            [(key, data)] = data.items()
            keys.append(key)
    return tuple(keys)


def _parent(statement: _Statement) -> tuple[str, ...]:
    path = statement.path or ()
    return path if statement.header else path[:-1]


def _with_value(statement: str, key: str, value: object, newline: str) -> str:
    indent = "".join(takewhile(str.isspace, statement))
    tokens = [token[0] for token in _TOKEN.finditer(statement.rstrip("\r\n"))]
    remark = f" {tokens[-1]}" if tokens[-1].startswith("#") else ""
    return indent + _pair(key, value) + remark + (newline if statement.endswith("\n") else "")


def _pair(key: str, value: object) -> str:
    # Strings and lists of strings are written alike in JSON and TOML.
    return f"{_key(key)} = {json.dumps(value, ensure_ascii=False)}"


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False)


def _joined(statements: Sequence[_Statement]) -> str:
    return "".join(each.text for each in statements)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
