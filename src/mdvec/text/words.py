"""English words: function words, and stems."""

from __future__ import annotations

import re
import threading

import Stemmer

STEMMER_VERSION: str = Stemmer.version()
"""The version of the stemmer; another one may give other stems."""

_FUNCTION_WORDS = (
    "a an and are as at be been but by can could did do does for from had has have he her his how i if in "
    "into is it its me my no not of on or our she should so than that the their them then there these they "
    "this those to was we were what when where which who why will with would you your"
)
STOP_WORDS = frozenset(_FUNCTION_WORDS.split())
"""Words that occur in any text: articles, pronouns, prepositions, auxiliaries, question words."""

# English alone: words of other languages in these letters are stemmed too, in documents and queries alike.
_ENGLISH = re.compile(r"[a-z]+")


class _Stemmers(threading.local):
    """A stemmer for each thread: it has state while it works."""

    def __init__(self) -> None:
        # Its own cache is slower than stemming; ours is in mdvec.text.terms.
        self.english = Stemmer.Stemmer("english", 0)


_stemmers = _Stemmers()


def is_english(word: str) -> bool:
    """Return True if a lower-case word is written in the letters of English alone."""
    return _ENGLISH.fullmatch(word) is not None


def stem(word: str) -> str:
    """Return the stem that the forms of a word share: ``connect`` of ``connecting`` and ``connections``.

    References:
        Porter, "Snowball: A language for stemming algorithms", 2001; the English stemmer.
    """
    stemmed: str = _stemmers.english.stemWord(word)
    return stemmed
