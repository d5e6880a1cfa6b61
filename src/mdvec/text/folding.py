"""Folds texts that readers take for the same to one form: width, case, long vowels."""

from __future__ import annotations

import re
import unicodedata

from mdvec.text.scripts import HIRAGANA, KATAKANA

# The prolonged sound mark is typed in many ways; between kana they all mean ー.
_KANA = HIRAGANA + KATAKANA
_DASHES = "-\u2010-\u2015\u2212\u2500\uff0d\uff70~\u301c\uff5e"
# These expressions begin with a rare character, so that the rest of a text is skipped quickly.
_DASH_AFTER_KANA = re.compile(rf"[{_DASHES}](?<=[{_KANA}].)(?=[{_KANA}])")
# サーバー and サーバ are one word: a final ー is dropped when at least three characters stand before it.
_FINAL_LONG_VOWEL = re.compile(rf"ー(?<=[{KATAKANA}]{{3}}ー)(?![{KATAKANA}])")
_BETWEEN_WORDS = re.compile(r"[\W_]+")
# All of ASCII but letters and digits; quicker than the expression above.
_ASCII_BETWEEN_WORDS = {code: " " for code in range(128) if not chr(code).isalnum()}
_ASCII = bytes(range(128))

# Normalising sorts the combining marks of a character, in quadratic time in Python. As in Unicode's
# stream-safe text format (UAX 15), a joiner, which is no mark, parts more than 30 of them.
_MAX_MARKS = 30
_JOINER = "\u034f"
# Voicing marks of half-width kana are letters that decompose to combining marks.
_HALF_WIDTH_MARKS = "\uff9e\uff9f"
_NO_LETTER = r"[^\w\s\x00-\x7f]"
_LONG_RUN = re.compile(f"{_NO_LETTER}{_NO_LETTER}{{{_MAX_MARKS},}}")
_LONG_RUN_WITH_HALF_WIDTH = re.compile(f"(?:{_NO_LETTER}|[{_HALF_WIDTH_MARKS}]){{{_MAX_MARKS + 1},}}")


def nfc(text: str) -> str:
    """Return a text in Unicode's normalization form C, in time linear in its length."""
    return text if text.isascii() else unicodedata.normalize("NFC", _with_joiners(text))


def normalise(text: str) -> str:
    """Fold width, case, compatibility forms and long vowels.

    Returns:
        NFKC, case folded; dashes between kana become ``ー``, a final ``ー`` of a katakana word is dropped.
    """
    if text.isascii():
        return text.lower()
    return unify_long_vowels(fold_characters(text))


def fold_characters(text: str) -> str:
    """Fold width, case and compatibility forms."""
    compatible = unicodedata.normalize("NFKC", _with_joiners(text))
    return unicodedata.normalize("NFKC", compatible.casefold())


def unify_long_vowels(folded: str) -> str:
    """Write long vowels of kana in one way."""
    return _FINAL_LONG_VOWEL.sub("", _DASH_AFTER_KANA.sub("ー", folded))


def fold_name(name: str) -> str:
    """Return the form in which names are compared: ``Daily-Notes`` equals ``daily notes``.

    Returns:
        Words separated by single spaces; a name of punctuation alone is only stripped of outer space.
    """
    folded = normalise(name)
    words = ascii_words(folded) if folded.isascii() else _BETWEEN_WORDS.sub(" ", folded).split()
    return " ".join(words) or folded.strip()


def beyond_ascii(text: str) -> str:
    """Return the characters of a text that are not ASCII, in order; much faster than a loop."""
    raw = text.encode("utf-8", "surrogatepass")
    return raw.translate(None, _ASCII).decode("utf-8", "surrogatepass")


def ascii_words(text: str) -> list[str]:
    """Return the runs of letters and digits of a text in ASCII."""
    return text.translate(_ASCII_BETWEEN_WORDS).split()


def _with_joiners(text: str) -> str:
    is_half_width = any(mark in text for mark in _HALF_WIDTH_MARKS)
    return (_LONG_RUN_WITH_HALF_WIDTH if is_half_width else _LONG_RUN).sub(_stream_safe, text)


def _stream_safe(run: re.Match[str]) -> str:
    characters: list[str] = []
    marks = 0
    for character in run[0]:
        is_mark = unicodedata.category(character)[0] == "M" or character in _HALF_WIDTH_MARKS
        marks = marks + 1 if is_mark else 0
        if marks > _MAX_MARKS:
            characters.append(_JOINER)
            marks = 1
        characters.append(character)
    return "".join(characters)
