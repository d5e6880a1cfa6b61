"""Globs over the relative paths of documents, for filters and for include and exclude rules.

=========  ====================================================================
``*``      any characters inside one folder or file name, none included
``?``      one character of a name
``[a-c]``  one character of a set; ``[!a-c]`` one that is not in it
``**``     at the start of a name: any number of folders; as the last name: all below
=========  ====================================================================

A pattern without ``/`` is matched against the file's name, any other against the whole path. A
leading ``/`` ties a bare name to the root, and a trailing ``/`` matches all below that folder. Every
string is a valid pattern: what has no meaning matches literally. Case counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress

from mdvec.text.folding import nfc

_WILDCARD = re.compile(r"[*?\[]")
# Characters of a set's classes, such as "[[:alpha:]]", as git has them: ASCII alone.
_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": " \\t-\\r",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}


def compile_glob(pattern: str) -> Callable[[str], bool]:
    """Make the predicate for a pattern.

    Matching takes time linear in the path for each wildcard, whatever the pattern: a pattern may come
    from an agent.

    Args:
        pattern: As described above; compared in NFC.

    Returns:
        A predicate: True if a path (relative, with ``/``, in NFC) matches. For a folder's path with a
        trailing ``/`` it is True if everything below that folder matches by the pattern's end.
    """
    segments = _segments(pattern)
    if not segments:
        return lambda _path: False
    matches = re.compile(_translate(segments), re.DOTALL).fullmatch
    if is_bare(pattern):
        return lambda path: matches(path, path.rfind("/") + 1) is not None
    return lambda path: matches(path) is not None


def is_bare(pattern: str) -> bool:
    """Return True if a pattern has no ``/``, so that it is matched against file names alone."""
    return "/" not in pattern and pattern != "**"


def literal_prefix(pattern: str) -> str:
    """Return the folder that every match of a pattern lies in.

    Returns:
        The longest such folder that the pattern spells out, ending in ``/``; empty without one.
    """
    if is_bare(pattern):
        return ""
    folders: list[str] = []
    for segment in _segments(pattern)[:-1]:
        if _WILDCARD.search(segment):
            break
        folders.append(segment)
    return "".join(f"{folder}/" for folder in folders)


def around_folders(groups: Sequence[Sequence[str]], *, below: str) -> str:
    """Return the expression of a path from those of its names.

    Between two ``**`` the leftmost place is always good enough, since the second ``**`` can take up
    what follows; the atomic groups ``(?>…)`` say so and keep the expression from backtracking.

    Args:
        groups: The names before, between and after each ``**``.
        below: The expression of all that a ``**`` at the end matches.
    """
    first, *others = ["/".join(group) for group in groups]
    if not others:
        return first
    *middle, last = others
    parts = [f"{first}/" if first else ""]
    parts += [f"(?>(?:[^/]+/)*?{group}/)" for group in middle if group]
    parts.append(f"(?:[^/]+/)*{last}" if last else below)
    return "".join(parts)


def around_stars(pieces: Sequence[str]) -> str:
    """Return the expression of a name from those of what is before, between and after each ``*``.

    It does not backtrack either; :func:`fnmatch.translate` does the same.
    """
    first, *others = pieces
    if not others:
        return first
    *middle, last = others
    return first + "".join(f"(?>[^/]*?{piece})" for piece in middle if piece) + f"[^/]*{last}"


def _segments(pattern: str) -> list[str]:
    """Split a pattern at ``/``: a trailing one becomes ``**``, repeated ``**`` one, ``**x`` ``**/*x``."""
    normal = nfc(pattern).removeprefix("./")
    if normal.endswith("/"):
        normal += "**"
    segments: list[str] = []
    for segment in normal.split("/"):
        crosses = segment.startswith("**")
        if crosses and segments[-1:] != ["**"]:
            segments.append("**")
        rest = segment.lstrip("*") if crosses else segment
        if rest:
            segments.append(f"*{rest}" if crosses else rest)
    return segments


def _translate(segments: list[str]) -> str:
    """Translate to a regular expression."""
    groups: list[list[str]] = [[]]
    for segment in segments:
        if segment == "**":
            groups.append([])
        else:
            groups[-1].append(_translate_name(segment))
    return around_folders(groups, below=".*")


def _translate_name(name: str) -> str:
    """Translate one name of a pattern; one with brackets is also matched literally, as in "[x] y.md"."""
    if not name.strip("*"):
        return "[^/]+"
    literal = _translated(name, sets=False)
    with suppress(ValueError):  # a bracket that opens no set
        return f"(?:{_translated(name, sets=True)}|{literal})" if "[" in name else literal
    return literal


def _translated(name: str, *, sets: bool) -> str:
    pieces: list[str] = [""]
    position = 0
    while position < len(name):
        match name[position]:
            case "*":
                pieces.append("")
                position += 1
            case "?":
                pieces[-1] += "[^/]"
                position += 1
            case "[" if sets:
                piece, position = translated_set(name, position + 1)
                pieces[-1] += piece
            case character:
                pieces[-1] += re.escape(character)
                position += 1
    return around_stars(pieces)


def translated_set(name: str, position: int) -> tuple[str, int]:
    """Translate the set whose first character is at a position.

    Returns:
        The expression, and the position after the set.

    Raises:
        ValueError: If the set has no end, or an unknown class.
    """
    negated = name[position : position + 1] in {"!", "^"}
    position += negated
    members = ""
    start = position
    while position == start or name[position : position + 1] != "]":
        if name.startswith("[:", position) and (end := name.find(":]", position + 2)) >= 0:
            members += _class(name[position + 2 : end])
            position = end + 2
            continue
        low, position = character_at(name, position)
        high = low
        if name[position : position + 1] == "-" and name[position + 1 : position + 2] not in {"", "]"}:
            high, position = character_at(name, position + 1)
        # A range that runs backwards contains its first character.
        members += f"{re.escape(low)}-{re.escape(max(high, low))}"
    return f"(?!/)[{'^' if negated else ''}{members}]", position + 1


def _class(name: str) -> str:
    if name not in _CLASSES:
        raise ValueError
    return _CLASSES[name]


def character_at(name: str, position: int) -> tuple[str, int]:
    """Read a character, which a backslash may precede, and return it with the position after it."""
    if name[position : position + 1] == "\\":
        position += 1
    if position >= len(name):
        raise ValueError
    return name[position], position + 1
