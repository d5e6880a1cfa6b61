"""Scripts: the characters of those without spaces between words, and which texts are written in them."""

from __future__ import annotations

import functools
import re

HIRAGANA = "\u3041-\u3096\u309d-\u309f"
KATAKANA = (
    "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    "\U0001b000-\U0001b122\U0001b150-\U0001b152\U0001b164-\U0001b167"  # letters, without what is unassigned
)
HAN = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
HANGUL = "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"
SOUTH_EAST_ASIAN = "\u0e00-\u0e4e\u0e50-\u0e7f\u0e80-\u0ecf\u1000-\u103f\u1780-\u17d3"
"""Thai, Lao, Burmese and Khmer without their digits."""

UNSPACED = HIRAGANA + KATAKANA + HAN + HANGUL + SOUTH_EAST_ASIAN
"""The inside of a regular expression's character class."""

_UNSPACED_RUN = f"[{UNSPACED}]+"
SPACED_WORD = rf"[^\W\d_{UNSPACED}]+"
"""The expression for a word of another script."""

# A kana or kanji carries about as much as this many letters.
_LETTERS_PER_CHARACTER = 3

# The beginning decides; a chunk can be megabytes long.
_SAMPLE_CHARS = 2_000


def is_english(word: str) -> bool:
    """Return True if a lower-case word is written in the letters of English alone, whatever its language."""
    return word.isascii() and word.isalpha()


def holds_unspaced(text: str) -> bool:
    """Return True if any character of a text is in a script without spaces."""
    return not text.isascii() and compiled(_UNSPACED_RUN).search(text) is not None


def is_unspaced(text: str) -> bool:
    """Return True if a text is mostly in scripts without spaces, such as Japanese with many English names.

    Names occur in texts of any language, so words with a capital letter do not count.
    """
    sample = text[:_SAMPLE_CHARS]
    if sample.isascii():
        return False
    unspaced = sum(map(len, compiled(_UNSPACED_RUN).findall(sample)))
    spaced = sum(len(word) for word in compiled(SPACED_WORD).findall(sample) if word == word.lower())
    return unspaced * _LETTERS_PER_CHARACTER > spaced


@functools.cache
def compiled(expression: str) -> re.Pattern[str]:
    """Compile an expression on first use: the character classes above take a millisecond each."""
    return re.compile(expression)
