"""Finds a phrase in a text word for word, regardless of case, width, punctuation and white space.

Japanese is written without spaces, so a space next to it means nothing: ``30 秒`` is ``30秒``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

from mdvec.text.folding import VARIANTS, fold_name
from mdvec.text.prose import without_marks
from mdvec.text.scripts import UNSPACED, holds_unspaced
from mdvec.text.spellings import LINE_END

_WORD_END = re.compile(rf"[^\W_{UNSPACED}]")
_HAN = re.compile("[\u4e00-\u9fff]")
_SPACE_BESIDE_UNSPACED = re.compile(rf"(?<=[{UNSPACED}]) | (?=[{UNSPACED}])")
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
    # Folding a text takes most of the time. It makes no new Chinese characters (except from variants and
    # signs such as ㈱), and no new words if all letters are ASCII.
    characters = frozenset(_HAN.findall(folded)).difference(VARIANTS.values())
    longest = max(folded.split(), key=len)
    is_joined = holds_unspaced(folded)
    folded = _joined(folded) if is_joined else folded

    def holds(text: str) -> bool:
        text = without_marks(text)
        for form in dict.fromkeys((text, LINE_END.sub("", text))):
            if (form.isascii() and longest not in form.lower()) or not characters.issubset(form):
                continue
            words = _joined(fold_name(form)) if is_joined else fold_name(form)
            start = words.find(folded)
            while start >= 0:
                end = start + len(folded)
                cut_before = starts_whole and start and _WORD_END.match(words, start - 1)
                if not cut_before and not (ends_whole and _WORD_END.match(words, end)):
                    return True
                start = words.find(folded, start + 1)
        return False

    return holds


def phrase_spans(phrase: str, text: str, *, prefix: bool = False) -> list[tuple[int, int]]:
    """Return the spans of a phrase in a text whose case and width are folded.

    Args:
        phrase: A phrase, as for :func:`phrase_finder`.
        text: The text; any punctuation may stand between its words.
        prefix: Whether the last word is only a prefix; the span covers the whole word.
    """
    folded = fold_name(phrase)
    bound = rf"[^\W_{UNSPACED}]"
    inside = re.escape(folded[0])
    for first, second in pairwise(_joined(folded)):
        if second == " ":
            inside += r"[\W_]+"
        elif first == " " or (_WORD_END.match(first) and _WORD_END.match(second)):
            inside += re.escape(second)
        else:
            inside += rf"[\W_]*{re.escape(second)}"
    before = rf"(?<!{bound})" if _WORD_END.match(folded[0]) else ""
    after = rf"{bound}*" if prefix else rf"(?!{bound})" if _WORD_END.match(folded[-1]) else ""
    return [match.span() for match in re.finditer(before + inside + after, text)]


def is_heading(phrase: str, heading: str) -> bool:
    """Return True if a heading equals a phrase, apart from an anchor such as ``{#name}``."""
    return fold_name(_HEADING_ID.sub("", heading)) == fold_name(phrase)


def _joined(folded: str) -> str:
    """Return a folded text without the spaces next to Japanese."""
    return _SPACE_BESIDE_UNSPACED.sub("", folded)
