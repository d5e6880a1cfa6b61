"""Parses the operators of a query: quotation marks, a minus, a star, ``path:``, ``tag:`` and ``title:``.

Everything else is ordinary text, so every text is a valid query: a lone minus or quotation mark, ``C++``,
``-1``, ``foo-bar``, ``--flag``, ``http://…``, ``note: text``. In a sentence, which may be pasted, only fields
are operators; quotation marks, a minus and a star are ordinary text there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import StrEnum

from msgspec import Struct

from mdvec.text.scripts import UNSPACED, holds_unspaced
from mdvec.text.terms import phrase_terms

QUOTES = '"\u201c\u201d\u201e\uff02'
"""Marks around a phrase."""

_MINUS = "-\uff0d"
_STAR = "*"
# An operator follows white space; a quotation may also follow Japanese, which has no spaces.
_OPERATOR = re.compile(
    rf"""(?:(?<!\S)|(?<=[{UNSPACED}])(?=[{QUOTES}]))
    (?P<minus>[{_MINUS}]?)(?:(?P<field>(?i:path|tag|title))[:\uff1a](?![:\uff1a]))?
    (?:[{QUOTES}](?P<quoted>[^{QUOTES}]+)[{QUOTES}]|(?P<bare>[^\s{QUOTES}]+))""",
    re.VERBOSE,  # letters of either case in the class of characters would take long to compile
)
_FIELD_ALONE = re.compile("(?:path|tag|title)[:\uff1a]", re.IGNORECASE)
_SENTENCE_WORDS = 7
_PLAIN_WORDS = 4  # of these, outside operators
_WORD_LETTERS = 3  # of a word in a script without spaces, about
_PHRASE_LETTERS = 14  # longer text without spaces is more than one word
_MIN_LETTERS = 2  # one letter after a minus is an option of some command, before a star a pointer


class Field(StrEnum):
    """The parts of a document that an operator may name."""

    PATH = "path"
    TAG = "tag"
    TITLE = "title"


class Operator(Struct, frozen=True):
    """A condition that is in a query.

    Attributes:
        typed: The operator as typed.
        text: Its words, tag or path.
        field: The field to match; None for a passage with its headings and the names of its document.
        negated: Whether matches are left out.
        prefix: Whether the last word is only a prefix.
    """

    typed: str
    text: str
    field: Field | None = None
    negated: bool = False
    prefix: bool = False

    @property
    def is_evidence(self) -> bool:
        """True if passages that match contain its words; these also rank and are highlighted."""
        return self.field is None and not self.negated


class ParsedQuery(Struct, frozen=True):
    """A query with its operators.

    Attributes:
        parts: Operators and the text between them, in order; joined as typed, they are the query.
        as_text: What would be operators in a shorter query, as typed.
    """

    parts: tuple[str | Operator, ...]
    as_text: tuple[str, ...] = ()

    @property
    def operators(self) -> tuple[Operator, ...]:
        """The operators, in order."""
        return tuple(part for part in self.parts if isinstance(part, Operator))

    @property
    def plain(self) -> tuple[str, ...]:
        """The text between the operators, in order."""
        return tuple(part for part in self.parts if isinstance(part, str))

    @property
    def text(self) -> str:
        """The text that ranks passages: plain text, and phrases without their quotation marks."""
        if not self.operators:
            return "".join(self.plain)
        ranked = (
            part if isinstance(part, str) else part.text
            for part in self.parts
            if isinstance(part, str) or (part.is_evidence and not part.prefix)
        )
        return " ".join(filter(None, map(str.strip, ranked)))

    def changed(self, change: Callable[[str], str]) -> str:
        """Return the query with its plain text changed and its operators as typed."""
        return "".join(change(part) if isinstance(part, str) else part.typed for part in self.parts)


def parse_query(query: str) -> ParsedQuery:
    """Return the operators of a query, and the text between them. Takes time in proportion to its length."""
    parts: list[str | Operator] = []
    end = 0
    for match in _OPERATOR.finditer(query):
        operator = _operator(match)
        if operator is None:
            continue
        if end < match.start():
            parts.append(query[end : match.start()])
        parts.append(operator)
        end = match.end()
    if end < len(query):
        parts.append(query[end:])
    if _is_sentence(parts):
        plain = [part.typed for part in parts if isinstance(part, Operator) and part.field is None]
        parts = [part if isinstance(part, str) or part.field is not None else part.typed for part in parts]
        return ParsedQuery(tuple(parts), tuple(plain))
    return ParsedQuery(tuple(parts))


def _is_sentence(parts: Sequence[str | Operator]) -> bool:
    """Return True if a query is prose: it has enough words, more of them outside quotation marks than one."""
    plain = _count_words("".join(part for part in parts if isinstance(part, str)))
    quoted = (part for part in parts if isinstance(part, Operator) and part.is_evidence and not part.prefix)
    return (
        plain >= _PLAIN_WORDS and plain + sum(_count_words(each.text) for each in quoted) >= _SENTENCE_WORDS
    )


def _count_words(text: str) -> int:
    words = len(text.split())
    return words + sum(map(holds_unspaced, text)) // _WORD_LETTERS if holds_unspaced(text) else words


def _operator(match: re.Match[str]) -> Operator | None:
    """Return a piece of a query as an operator; None for ordinary text."""
    quoted, bare = match["quoted"], match["bare"]
    field = None if match["field"] is None else Field(match["field"].lower())
    text = (bare if quoted is None else quoted).strip()
    negated = bool(match["minus"])
    match field:
        case Field.TAG:
            text = text.lstrip("#＃").removesuffix("/*").rstrip("/")
        case Field.PATH:
            pass
        case None | Field.TITLE:
            starred = quoted is None and text.endswith(_STAR)
            if quoted is None and field is None and not _is_bare_operator(text, negated=negated):
                return None
            text = text.removesuffix(_STAR) if starred else text
            # In scripts without spaces a word is found anywhere, even inside other words.
            prefix = starred and not holds_unspaced(text[-1:])
            if not phrase_terms(text, prefix=prefix).groups:
                return None
            return Operator(match[0], text, field, negated, prefix)
    return Operator(match[0], text, field, negated) if text else None


def _is_bare_operator(text: str, *, negated: bool) -> bool:
    """Return True if text without quotation marks is an operator: a word with a minus or a star."""
    starred = text.endswith(_STAR)
    word = text.removesuffix(_STAR)
    if _STAR in word or "://" in word or _FIELD_ALONE.match(word):
        return False
    if len(word) < _MIN_LETTERS and not holds_unspaced(word):
        return False
    if starred and not word[-1:].isalnum():
        return False
    if sum(map(holds_unspaced, word)) >= _PHRASE_LETTERS:  # the minus is before an item of a list
        return False
    return word[:1].isalpha() if negated else starred and word[:1].isalnum()
