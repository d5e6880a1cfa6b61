"""What ``.gitignore`` and ``.mdvecignore`` say, as git reads them.

pathspec translates a line to a regular expression. Which line decides is ours: git tests each folder
on the way down by itself and never enters an ignored one, so a line has to match an entry itself and not
a folder above it.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class IgnoreLine:
    """A line of an ignore file.

    Attributes:
        text: As written.
        expression: Searched in the path of an entry, relative to the file's folder. Its one group takes
            part when the line matches a folder above the entry.
        negated: It brings back what an earlier line leaves out.
        folders_only: It does not match files.
    """

    text: str
    expression: re.Pattern[str]
    negated: bool
    folders_only: bool


@dataclass(frozen=True, slots=True)
class IgnoreFile:
    """An ignore file.

    Attributes:
        name: Its path below the root, for people.
        folder: Its folder below the root, in NFC, empty or ending in ``/``.
        lines: The last first, as the last one that matches decides.
    """

    name: str
    folder: str
    lines: tuple[IgnoreLine, ...]

    def decide(self, path: str, *, is_folder: bool) -> IgnoreLine | None:
        """Return the line that decides about an entry of the folder or below; None when none does."""
        inner = path.removeprefix(self.folder)
        for line in self.lines:
            if is_folder or not line.folders_only:
                match = line.expression.search(inner)
                if match and match.lastindex is None:
                    return line
        return None


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The ignore files that hold in a folder.

    A ``.mdvecignore`` has the say over every ``.gitignore``, so that one at the top can bring back what
    git does not want; of one kind, the deeper has the say over the higher.

    Attributes:
        own: The ``.mdvecignore`` files, deepest first.
        git: The ``.gitignore`` files, deepest first.
    """

    own: tuple[IgnoreFile, ...] = ()
    git: tuple[IgnoreFile, ...] = ()

    def rule(self, path: str, *, is_folder: bool) -> str | None:
        """Say which line leaves an entry out, such as ``.gitignore: *.tmp``; None when none does.

        Args:
            path: Relative to the root, as the file system has it. No folder above it is ignored.
            is_folder: Whether it is a folder.
        """
        if not path.isascii():
            path = unicodedata.normalize("NFC", path)
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
    lines = tuple(_parse_lines(unicodedata.normalize("NFC", text).split("\n")))
    return IgnoreFile(name, unicodedata.normalize("NFC", folder), lines[::-1])


def _parse_lines(lines: Sequence[str]) -> Iterator[IgnoreLine]:
    for line in lines:
        text = _without_trailing_spaces(line.removesuffix("\r"))
        # Whether a line is for folders alone is our question; pathspec would have it match what is below.
        body = text.rstrip("/")
        expression, excludes = _translate(body)
        if expression is not None:
            yield IgnoreLine(text, expression, negated=not excludes, folders_only=body != text)


def _without_trailing_spaces(line: str) -> str:
    stripped = line.rstrip(" ")
    return f"{stripped} " if stripped.endswith("\\") and stripped != line else stripped


def _translate(body: str) -> tuple[re.Pattern[str] | None, bool | None]:
    """Return the expression and whether it leaves out; no expression for a line without effect."""
    try:
        expression, excludes = GitIgnoreSpecPattern.pattern_to_regex(body)
        if expression is None:
            return None, excludes
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # "[[" means nothing special to git
            return re.compile(expression), excludes
    except (ValueError, re.error):
        return None, None
