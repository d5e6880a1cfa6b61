"""The rules of ``.gitignore`` and ``.mdvecignore``, as git reads them (gitignore(5), wildmatch.c).

Matching takes time linear in the path for each star, whatever the line: an ignore file may come with the
documents of other people. Git tests each folder on the way down by itself and never enters an ignored one,
so a line has to match an entry itself and not a folder above it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence

from msgspec import Struct

from mdvec.text.folding import nfc
from mdvec.text.globs import around_folders, around_stars, character_at, translated_set

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_DOUBLE_STAR = re.compile(r"\*\*(?:/|$)")
# No path is longer.
_MAX_PATTERN_CHARS = 4_096


class IgnoreLine(Struct, frozen=True):
    """A line of an ignore file.

    Attributes:
        text: As written.
        expression: Matches all of the path of an entry, relative to the file's folder, or all of its name.
        is_bare: Whether it is matched against names: the line has no slash, except possibly at its end.
        negated: Whether it brings back what an earlier line excludes.
        folders_only: Whether it matches only folders.
    """

    text: str
    expression: re.Pattern[str]
    is_bare: bool
    negated: bool
    folders_only: bool


class IgnoreFile(Struct, frozen=True):
    """An ignore file.

    Attributes:
        name: Its path below the root, for messages.
        folder: Its folder below the root, in NFC, empty or ending in ``/``.
        lines: Its lines, the last first, since the last one that matches decides.
    """

    name: str
    folder: str
    lines: tuple[IgnoreLine, ...]

    def decide(self, path: str, *, is_folder: bool) -> IgnoreLine | None:
        """Return the line that decides about an entry of the folder or below; None if none does."""
        start = len(self.folder) if path.startswith(self.folder) else 0
        name = path.rfind("/") + 1
        for line in self.lines:
            if (is_folder or not line.folders_only) and line.expression.fullmatch(
                path, name if line.is_bare else start
            ):
                return line
        return None


class IgnoreRules(Struct, frozen=True):
    """The ignore files that apply in a folder.

    A ``.mdvecignore`` takes precedence over every ``.gitignore``, so that one at the top can bring back what
    git ignores; of one kind, the deeper file takes precedence.

    Attributes:
        own: The ``.mdvecignore`` files, deepest first.
        git: The ``.gitignore`` files, deepest first.
    """

    own: tuple[IgnoreFile, ...] = ()
    git: tuple[IgnoreFile, ...] = ()

    def rule(self, path: str, *, is_folder: bool) -> str | None:
        """Return the line that excludes an entry, such as ``.gitignore: *.tmp``; None if none does.

        Args:
            path: Relative to the root, as the file system has it. No folder above it is ignored.
            is_folder: Whether it is a folder.
        """
        path = nfc(path)
        for file in (*self.own, *self.git):
            line = file.decide(path, is_folder=is_folder)
            if line is not None:
                return None if line.negated else f"{file.name}: {line.text}"
        return None

    def within(self, *, own: IgnoreFile | None, git: IgnoreFile | None) -> IgnoreRules:
        """Return the rules of a folder below with ignore files of its own."""
        return IgnoreRules(
            own=(own, *self.own) if own else self.own, git=(git, *self.git) if git else self.git
        )


def parse_ignore_file(raw: bytes, *, name: str, folder: str) -> IgnoreFile:
    """Read an ignore file; a line that git could not use is skipped, as git does.

    Args:
        raw: Its bytes.
        name: Its path below the root, for people.
        folder: Its folder below the root, empty or ending in ``/``.
    """
    text = raw.removeprefix(_BYTE_ORDER_MARK).decode("utf-8", "surrogateescape")
    return IgnoreFile(name, nfc(folder), tuple(_parse_lines(nfc(text).split("\n")))[::-1])


def _parse_lines(lines: Sequence[str]) -> Iterator[IgnoreLine]:
    for line in lines:
        text = _without_trailing_spaces(line.removesuffix("\r"))
        negated = text.startswith("!")
        body = text.removeprefix("!") if negated else text
        pattern = body.rstrip("/")
        if not pattern or text.startswith("#") or len(pattern) > _MAX_PATTERN_CHARS:
            continue
        expression = _compiled(pattern)
        if expression is not None:
            yield IgnoreLine(
                text, expression, is_bare="/" not in pattern, negated=negated, folders_only=pattern != body
            )


def _without_trailing_spaces(line: str) -> str:
    stripped = line.rstrip(" ")
    return f"{stripped} " if stripped.endswith("\\") and stripped != line else stripped


def _compiled(pattern: str) -> re.Pattern[str] | None:
    """Return the expression of a pattern without a trailing slash; None if git could not use it."""
    try:
        expression = _translated(pattern.removeprefix("/"), is_bare="/" not in pattern)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # "[[" means nothing special to git
            return re.compile(expression, re.DOTALL)
    except (ValueError, re.error):
        return None


def _translated(pattern: str, *, is_bare: bool) -> str:
    """Translate a pattern."""
    groups: list[list[str]] = [[]]
    position = 0
    while position <= len(pattern):
        if not is_bare and _DOUBLE_STAR.match(pattern, position):
            groups.append([])
            position += len("**/")
        else:
            name, position = _translated_name(pattern, position)
            groups[-1].append(name)
    return around_folders(groups, below=".+")


def _translated_name(pattern: str, position: int) -> tuple[str, int]:
    """Translate a pattern from a position to the next slash, and return the position after that."""
    pieces = [""]
    while position < len(pattern) and pattern[position] != "/":
        match pattern[position]:
            case "*":
                pieces.append("")
                position += 1
            case "?":
                pieces[-1] += "[^/]"
                position += 1
            case "[":
                piece, position = translated_set(pattern, position + 1)
                pieces[-1] += piece
            case _:
                character, position = character_at(pattern, position)
                pieces[-1] += re.escape(character)
    return around_stars(pieces), position + 1
