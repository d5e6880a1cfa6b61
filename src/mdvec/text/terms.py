"""From text to the terms that lexical search matches: words, and bigrams where no spaces are written."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

from mdvec.text.scripts import HAN, HIRAGANA, KATAKANA, UNSPACED

TERMS_VERSION = 1
"""Raised whenever the same text gives other terms, so that indexes know that they are outdated."""

# Vowel signs and accents that regular expressions do not count as letters, yet stand inside words.
_MARKS = "\u0300-\u036f\u0900-\u0dff\u0f00-\u0fff"
_LETTER = rf"[^\W_{UNSPACED}]"
_RUN = re.compile(rf"([{UNSPACED}]+)|{_LETTER}+(?:[{_MARKS}]+{_LETTER}*)*")
_HAN = re.compile(rf"[{HAN}]")
_HIRAGANA = re.compile(rf"[{HIRAGANA}]")
_HIRAGANA_ONLY = re.compile(rf"[{HIRAGANA}ー]+")
# The prolonged sound mark is typed in many ways; between kana they all mean ー.
_KANA = HIRAGANA + KATAKANA
_DASHES = "-\u2010-\u2015\u2212\u2500\uff0d\uff70~\u301c\uff5e"
_DASH_AFTER_KANA = re.compile(rf"(?<=[{_KANA}])[{_DASHES}](?=[{_KANA}])")
# サーバー and サーバ are one word: a final ー is dropped when at least three characters stand before it.
_FINAL_LONG_VOWEL = re.compile(rf"(?<=[{KATAKANA}]{{3}})ー(?![{KATAKANA}])")


def normalise(text: str) -> str:
    """Fold what readers take for the same: width, case, compatibility forms, long vowels.

    Returns:
        NFKC, case folded; dashes between kana become ``ー``, a final ``ー`` of a katakana word is dropped.
    """
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return _FINAL_LONG_VOWEL.sub("", _DASH_AFTER_KANA.sub("ー", folded))


def index_terms(text: str) -> list[str]:
    """Return the terms of a text to be indexed, repeated as often as they occur.

    Runs of Japanese, Chinese, Korean, Thai, Lao, Burmese and Khmer give overlapping bigrams, and each
    Chinese character by itself (a run of one character gives that character); other scripts give words.
    """
    terms: list[str] = []
    for match in _RUN.finditer(normalise(text)):
        run = match.group(1)
        if run is None or len(run) == 1:
            terms.append(match.group())
        else:
            terms.extend(map("".join, pairwise(run)))
            terms.extend(_HAN.findall(run))
    return terms


def query_terms(text: str, *, limit: int) -> list[str]:
    """Return the distinct terms to look for, in order of appearance.

    Bigrams of hiragana alone are particles and endings: they are dropped unless nothing else is left.
    Single Chinese characters out of a longer run find too much on long pages, so they are looked for
    only when no bigram or word without hiragana says more: the one of ``宿はどこ``, none of ``宿泊予約``.

    Args:
        text: A question or keywords.
        limit: Most terms to return.
    """
    terms: list[str] = []
    singles: list[str] = []
    for match in _RUN.finditer(normalise(text)):
        run = match.group(1)
        if run is None or len(run) == 1:
            terms.append(match.group())
        else:
            terms.extend(map("".join, pairwise(run)))
            singles.extend(_HAN.findall(run))
    telling = [term for term in terms if not _HIRAGANA_ONLY.fullmatch(term)]
    if all(_HIRAGANA.search(term) for term in telling):
        telling += singles
    return list(dict.fromkeys(telling or terms))[:limit]
