"""Which way a text is written: with spaces between words, or without."""

from __future__ import annotations

import re

from mdvec.text.scripts import UNSPACED

_UNSPACED_RUN = re.compile(f"[{UNSPACED}]+")
_WORD = re.compile(rf"[^\W\d_{UNSPACED}]+")

# A kana or kanji says about as much as so many letters.
_LETTERS_PER_CHARACTER = 3

# The beginning tells; a chunk can be megabytes long.
_SAMPLE_CHARS = 2_000


def holds_unspaced(text: str) -> bool:
    """Tell whether any of a text is in a script without spaces; Japanese questions name English things."""
    return _UNSPACED_RUN.search(text) is not None


def is_unspaced(text: str) -> bool:
    """Tell whether a text is mostly in scripts without spaces, such as Japanese with some English names."""
    sample = text[:_SAMPLE_CHARS]
    if sample.isascii():
        return False
    unspaced = sum(map(len, _UNSPACED_RUN.findall(sample)))
    return unspaced * _LETTERS_PER_CHARACTER > sum(map(len, _WORD.findall(sample)))
