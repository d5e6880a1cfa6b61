"""The parser of Markdown: its events, and the characters that they come from."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, cast

import pyromark

from mdvec.documents.links import with_plain_addresses
from mdvec.text.scripts import UNSPACED, compiled

Event = tuple[Any, Mapping[str, int]]
"""An element or a text that the parser found, and its place in bytes."""

_OPTIONS = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_WIKILINKS
    | pyromark.Options.ENABLE_FOOTNOTES
    | pyromark.Options.ENABLE_MATH
)
# The parser takes some 80 bytes for each character that may be markup. A text with more of them than this is
# pathological, and is parsed without links, emphasis, code, quotations and tables.
_MAX_SIGNS = 2_000_000
_SIGNS = "[]()*_`<>!&|\\"
_WITHOUT_SIGNS = str.maketrans(_SIGNS, "x" * len(_SIGNS))

# Blocks of formulas, in which a line is no heading, the indented text of an admonition or a tab (MkDocs),
# which is no code, and the bar of a wikilink in a table, which divides no cells. The parser reads them as
# signs without meaning, as a quotation, and as a slash.
_FORMULA = re.compile(
    r"^\$\$(?![^\n]*\$\$)[^\n]*+\n(?:(?![^\n]*\$\$)[ \t]*+\S[^\n]*+\n)*+[^\n$]*+\$\$[ \t]*$", re.MULTILINE
)
_FORMULA_SIGNS = str.maketrans("#=-+*>_`~|<[", "x" * 12)
_ADMONITION = re.compile(
    r"^(?:(?:!!!|\?\?\?\+?)[ \t]+[\"\w]|===!?[ \t]+\")[^\n]*\n"
    r"(?:(?:[ ]{4}[^\n]*|[ \t]*)\n)*+(?:[ ]{4}[^\n]*)?",
    re.MULTILINE,
)
_INDENTATION = re.compile(r"^    (?=\S)", re.MULTILINE)
_ROW = re.compile(r"^[ \t>]*+\|[^\n]*\[\[[^\n]*", re.MULTILINE)
_PIPED_LINK = re.compile(r"(\[\[[^\[\]|\n]+)\|(?=[^\[\]|\n]+\]\])")
# A dollar sign that belongs to no formula: of an amount of money, or between a formula's end and a digit.
# Code, escapes and formulas come first.
_DOLLAR = re.compile(
    r"\\.|(`+)[^`\n]+\1(?!`)|\$\$"
    r"|(?<!\d)\$(?![\s$]|\d[\d.,]*[kKMB]?[ ]+(?:[^\W\d_]{2}|\*))[^$]*(?<![\s\\])\$(?!\d)"
    r"|(?P<money>\$)",
    re.DOTALL,
)
_PRICE = re.compile(r"\$\d|\d\$")
_STARS = re.compile(r"\*+(?=[^\s*])")
# A Japanese letter and a punctuation mark of each length in bytes.
_LETTERS = {3: "一", 4: "\U00020000"}
_PUNCTUATION = {3: "、", 4: "\U00010100"}
JAPANESE = rf"[{UNSPACED}\u3000-\u303f\uff01-\uff65]"
"""The expression for a character of Japanese, or of its punctuation."""


class MarkdownSource:
    """A Markdown text and what the parser reads in its place, character by character.

    Args:
        body: The text.
        content_start: The start of a line; the text before it is not parsed.

    Attributes:
        is_changed: True if the parser reads other characters.
    """

    def __init__(self, body: str, content_start: int = 0) -> None:
        text = body[content_start:]
        if not text.isascii():
            text = text.encode("utf-8", "replace").decode()  # without lone surrogates
        if "]({" in text:
            text = with_plain_addresses(text)
        # An address of fewer bytes than characters moves what follows; then nothing can be restored.
        is_aligned = len(text) == len(body) - content_start
        self._start = content_start
        self._text = text
        self._parsed = _readable(text)
        self.is_changed = is_aligned and self._parsed != text

    def events(self, *, merge_text: bool = True) -> Iterable[Event]:
        """Return the parser's events with their places, in bytes from the start of the content."""
        found = pyromark.events_with_range(self._parsed, options=_OPTIONS, merge_text=merge_text)
        return cast("Iterable[Event]", found)

    def is_verbatim(self, value: str, start: int, end: int) -> bool:
        """Return True if the parser's value is all that is between two characters."""
        return self._parsed[start - self._start : end - self._start] == value

    def restored(self, value: str, start: int, end: int) -> str:
        """Return a value of the parser as the text has it.

        Args:
            value: What the parser read between the two characters, without some of them.
            start: The first one.
            end: One past the last.
        """
        if not self.is_changed:
            return value
        parsed = self._parsed[start - self._start : end - self._start]
        text = self._text[start - self._start : end - self._start]
        at = parsed.find(value)
        if at >= 0:
            return text[at : at + len(value)]
        shown, at = [], 0
        for each in value:  # without the marks of a quotation, or the backslashes in a cell
            found = parsed.find(each, at)
            shown.append(each if found < 0 else text[found])
            at = at if found < 0 else found + 1
        return "".join(shown)


def unpacked(event: Event) -> tuple[str, Any, int, int]:
    """Return the name of an event, its value, its first byte and one past the last."""
    what, place = event
    [(name, value)] = ((what, None),) if isinstance(what, str) else what.items()
    return name, value, place["start"], place["end"]


def named(tag: Any) -> tuple[str, Any]:
    """Return the name of an element and its details."""
    [(name, details)] = ((tag, None),) if isinstance(tag, str) else tag.items()
    return name, details


def _readable(text: str) -> str:
    """Return a text in as many characters and bytes, in which the parser sees what its author meant."""
    if "*" in text and not text.isascii():
        text = _with_japanese_emphasis(text)
    if "$$" in text:
        text = _FORMULA.sub(lambda formula: formula[0].translate(_FORMULA_SIGNS), text)
    if "$" in text and _PRICE.search(text):
        text = _DOLLAR.sub(lambda found: "x" if found["money"] else found[0], text)
    if "!!! " in text or "??? " in text or "???+ " in text or '=== "' in text:
        text = _ADMONITION.sub(lambda block: _INDENTATION.sub(">   ", block[0]), text)
    if "|" in text and "[[" in text:
        text = _ROW.sub(lambda row: _PIPED_LINK.sub(r"\1/", row[0]), text)
    if len(text) > _MAX_SIGNS and sum(map(text.count, _SIGNS)) > _MAX_SIGNS:
        text = text.translate(_WITHOUT_SIGNS)
    return text


def _with_japanese_emphasis(text: str) -> str:
    """Let emphasis begin and end next to Japanese, whatever punctuation is on the other side.

    CommonMark asks whether both neighbours of the stars are letters or punctuation. The Japanese one
    becomes what the other one is.

    References:
        The specification of https://github.com/tats-u/markdown-cjk-friendly
    """
    japanese = compiled(JAPANESE).match
    changed: list[str] = []
    for stars in _STARS.finditer(text):
        first, last = stars.start() - 1, stars.end()
        if first < 0 or text[first].isspace():
            continue
        around = [(changed or text)[at] for at in (first, last)]
        are_japanese = [bool(japanese(each)) for each in around]
        are_signs = [unicodedata.category(each)[0] in "PS" for each in around]
        if not any(are_japanese) or are_signs[0] == are_signs[1]:
            continue
        changed = changed or list(text)
        side = 1 if are_japanese[1] else 0  # the character before may be next to other stars
        like = _LETTERS if are_signs[side] else _PUNCTUATION
        changed[(first, last)[side]] = like[len(around[side].encode())]
    return "".join(changed) if changed else text


class Places:
    """Turns the parser's bytes into characters. Mostly called in ascending order, which takes linear time.

    Args:
        body: The text.
        content_start: The character of byte 0.
    """

    def __init__(self, body: str, content_start: int) -> None:
        self._body = body
        self._content_start = content_start
        text = body[content_start:]
        self._raw = None if text.isascii() else text.encode("utf-8", "replace")
        self._byte, self._character = 0, content_start
        self._line, self._line_at = body.count("\n", 0, content_start) + 1, content_start

    def character(self, byte: int) -> int:
        """Return the position in the body."""
        if self._raw is None:
            return byte + self._content_start
        first, last = sorted((byte, self._byte))
        between = len(self._raw[first:last].decode())
        self._character += between if byte > self._byte else -between
        self._byte = byte
        return self._character

    def lines(self, start: int, end: int) -> tuple[int, int]:
        """Return the beginning of the first line that the bytes are on, and one past the end of the last."""
        line_start = self._body.rfind("\n", self._content_start, self.character(start)) + 1
        return max(self._content_start, line_start), self.line_end(end)

    def line_end(self, end: int) -> int:
        """Return one past the end of the last line with text before a byte, which may be in indentation."""
        last = self.character(end)
        line_start = self._body.rfind("\n", self._content_start, last) + 1
        if not self._body[line_start:last].strip():
            return line_start
        line_end = self._body.find("\n", last)
        return len(self._body) if line_end < 0 else line_end + 1

    def line(self, character: int) -> int:
        """Return the line of a position, from 1; ascending."""
        self._line += self._body.count("\n", self._line_at, character)
        self._line_at = character
        return self._line
