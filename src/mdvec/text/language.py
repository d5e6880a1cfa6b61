"""Decides whether a query is written without spaces between words, as Japanese is."""

from __future__ import annotations

from mdvec.text.scripts import SPACED_WORD, compiled, holds_unspaced, is_unspaced
from mdvec.text.words import STOP_WORDS

# A single function word may be part of a name, such as "Subsystem for Linux".
_FUNCTION_WORDS_OF_PROSE = 2


def is_unspaced_query(text: str) -> bool:
    """Return True if a query is in a script without spaces, even if it contains names in other scripts.

    Names are not prose, however long. An English question about a Japanese word has function words; then the
    larger share decides.
    """
    if not holds_unspaced(text):
        return False
    if is_unspaced(text):
        return True
    words = compiled(SPACED_WORD).findall(text)
    return sum(word.lower() in STOP_WORDS for word in words) < _FUNCTION_WORDS_OF_PROSE
