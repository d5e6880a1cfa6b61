"""Finds a phrase in a text word for word, regardless of case, width, punctuation and white space."""

from __future__ import annotations

import re
from collections.abc import Callable

from mdvec.text.folding import fold_name
from mdvec.text.scripts import UNSPACED

_WORD_END = re.compile(rf"[^\W_{UNSPACED}]")
_HAN = re.compile("[\u4e00-\u9fff]")
_HEADING_ID = re.compile(r"\{\s*[#.:][^{}]*\}\s*$")


def phrase_finder(phrase: str, *, prefix: bool = False) -> Callable[[str], bool] | None:
    """Return a predicate: True for a text that contains a phrase; None if the phrase has no words.

    Words match whole: ``422`` is not in ``1422``. Scripts without spaces have no word boundaries.

    Args:
        phrase: The phrase.
        prefix: Whether its last word is only a prefix.
    """
    folded = fold_name(phrase)
    if not any(map(str.isalnum, folded)):
        return None
    starts_whole = _WORD_END.match(folded[0]) is not None
    ends_whole = _WORD_END.match(folded[-1]) is not None and not prefix
    # A line break may stand inside a Japanese word.
    is_one_word = _is_unspaced(folded) and " " not in folded
    # Folding a text takes most of the time. It makes no new Chinese characters (except from signs
    # such as ㈱), and no new words if all letters are ASCII.
    characters = frozenset(_HAN.findall(folded))
    longest = max(folded.split(), key=len)

    def holds(text: str) -> bool:
        if text.isascii() and longest not in text.lower():
            return False
        if not characters.issubset(text):
            return False
        text = fold_name(text)
        if is_one_word:
            return folded in text.replace(" ", "")
        start = text.find(folded)
        while start >= 0:
            end = start + len(folded)
            cut_before = starts_whole and start and _WORD_END.match(text, start - 1)
            if not cut_before and not (ends_whole and _WORD_END.match(text, end)):
                return True
            start = text.find(folded, start + 1)
        return False

    return holds


def phrase_spans(phrase: str, text: str, *, prefix: bool = False) -> list[tuple[int, int]]:
    """Return the spans of a phrase in a text whose case and width are folded.

    Args:
        phrase: A phrase, as for :func:`phrase_finder`.
        text: The text; any punctuation may stand between its words.
        prefix: Whether the last word is only a prefix; the span covers the whole word.
    """
    words = fold_name(phrase).split()
    bound = rf"[^\W_{UNSPACED}]"
    inside = r"[\W_]+".join(
        r"\s?".join(map(re.escape, word)) if _is_unspaced(word) else re.escape(word) for word in words
    )
    before = rf"(?<!{bound})" if _WORD_END.match(words[0][0]) else ""
    after = rf"{bound}*" if prefix else rf"(?!{bound})" if _WORD_END.match(words[-1][-1:]) else ""
    return [match.span() for match in re.finditer(before + inside + after, text)]


def is_heading(phrase: str, heading: str) -> bool:
    """Return True if a heading equals a phrase, apart from an anchor such as ``{#name}``."""
    return fold_name(_HEADING_ID.sub("", heading)) == fold_name(phrase)


def _is_unspaced(text: str) -> bool:
    return not any(map(_WORD_END.match, text))
