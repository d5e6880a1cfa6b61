"""From text to the terms that lexical search matches: stems, and bigrams where no spaces are written."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto
from itertools import pairwise

from mdvec.text.folding import normalise
from mdvec.text.scripts import HAN, HIRAGANA, UNSPACED
from mdvec.text.words import STEMMER_VERSION, STOP_WORDS, is_english, stem

TERMS_VERSION = f"2-{STEMMER_VERSION}"
"""Changes whenever the same text gives other terms, so that indexes are recognised as outdated."""

# Vowel signs and accents that regular expressions do not count as letters, yet stand inside words.
_MARKS = "\u0300-\u036f\u0900-\u0dff\u0f00-\u0fff"
_LETTER = rf"[^\W_{UNSPACED}]"
RUN = re.compile(rf"([{UNSPACED}]+)|{_LETTER}+(?:[{_MARKS}]+{_LETTER}*)*")
"""A run of an unspaced script (group 1), or a word."""

_HAN = re.compile(rf"[{HAN}]")
_HIRAGANA = re.compile(rf"[{HIRAGANA}]")
_HIRAGANA_ONLY = re.compile(rf"[{HIRAGANA}ー]+")

# Marks a word as it is written, beside its stem. No text gives a term with this sign in it.
_AS_WRITTEN = "="


class _Kind(Enum):
    WORD = auto()
    WRITTEN = auto()
    STOP_WORD = auto()
    BIGRAM = auto()
    PAIR = auto()
    PARTICLE = auto()
    SINGLE = auto()


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a text, in order.

    Attributes:
        main: The subject of the text: stems of English words, other words, and bigrams of unspaced
            scripts without hiragana; repeated as often as they occur.
        words: English words as they are written, ``the`` and ``of`` included; repeated as often.
        pairs: Bigrams with hiragana, which mostly cross from one word into a particle; each once.
        singles: Chinese characters out of longer runs; each once.
    """

    main: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()
    singles: tuple[str, ...] = ()

    @property
    def minor(self) -> tuple[str, ...]:
        """All terms that are not ``main``."""
        return (*self.words, *self.pairs, *self.singles)


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """The terms of a query, each once.

    Attributes:
        words: Stems of English words, and other words.
        bigrams: Bigrams without hiragana, and characters that stand alone.
        written: The English words among ``words``, as they are written.
        pairs: Bigrams of hiragana and something else.
        singles: Chinese characters out of longer runs.
        particles: Bigrams of hiragana alone, which carry no subject.
        stop_words: English function words, as they are written.
    """

    words: tuple[str, ...] = ()
    bigrams: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()
    singles: tuple[str, ...] = ()
    particles: tuple[str, ...] = ()
    stop_words: tuple[str, ...] = ()


def index_terms(text: str) -> Terms:
    """Return the terms of a text to be indexed.

    Runs of Japanese, Chinese, Korean, Thai, Lao, Burmese and Khmer give overlapping bigrams (a run of
    one character that character); other scripts give words.
    """
    kinds = _by_kind(text)
    return Terms(
        main=(*kinds[_Kind.WORD], *kinds[_Kind.BIGRAM]),
        words=(*kinds[_Kind.WRITTEN], *kinds[_Kind.STOP_WORD]),
        pairs=_once([*kinds[_Kind.PAIR], *kinds[_Kind.PARTICLE]]),
        singles=_once(kinds[_Kind.SINGLE]),
    )


def query_terms(text: str, *, limit: int) -> QueryTerms:
    """Return the terms of a query.

    Args:
        text: A question or keywords.
        limit: Most terms of each kind.
    """
    kinds = {kind: _once(terms)[:limit] for kind, terms in _by_kind(text).items()}
    return QueryTerms(
        words=kinds[_Kind.WORD],
        bigrams=kinds[_Kind.BIGRAM],
        written=kinds[_Kind.WRITTEN],
        pairs=kinds[_Kind.PAIR],
        singles=kinds[_Kind.SINGLE],
        particles=kinds[_Kind.PARTICLE],
        stop_words=kinds[_Kind.STOP_WORD],
    )


def word_terms(word: str) -> tuple[str, ...]:
    """Return every term that a folded word of a spaced script is found by."""
    kinds: dict[_Kind, list[str]] = {kind: [] for kind in _Kind}
    _add_word(word, kinds)
    return tuple(term for terms in kinds.values() for term in terms)


def _by_kind(text: str) -> dict[_Kind, list[str]]:
    """Sort the terms of a text, repeated as often as they occur."""
    kinds: dict[_Kind, list[str]] = {kind: [] for kind in _Kind}
    for match in RUN.finditer(normalise(text)):
        run = match.group()
        if match.group(1) is None:
            _add_word(run, kinds)
        elif len(run) == 1:
            kinds[_Kind.BIGRAM].append(run)
        else:
            for bigram in map("".join, pairwise(run)):
                kinds[_kind_of(bigram)].append(bigram)
            kinds[_Kind.SINGLE] += _HAN.findall(run)
    return kinds


def _add_word(word: str, kinds: dict[_Kind, list[str]]) -> None:
    if not is_english(word):
        kinds[_Kind.WORD].append(word)
    elif word in STOP_WORDS:
        kinds[_Kind.STOP_WORD].append(_AS_WRITTEN + word)
    else:
        kinds[_Kind.WORD].append(stem(word))
        kinds[_Kind.WRITTEN].append(_AS_WRITTEN + word)


def _kind_of(bigram: str) -> _Kind:
    if _HIRAGANA.search(bigram) is None:
        return _Kind.BIGRAM
    return _Kind.PARTICLE if _HIRAGANA_ONLY.fullmatch(bigram) else _Kind.PAIR


def _once(terms: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(terms))
