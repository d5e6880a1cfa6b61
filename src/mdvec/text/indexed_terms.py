"""The terms of many texts at once, for the index, without a Python call for each word or character."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from operator import itemgetter
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from mdvec.text import terms
from mdvec.text.folding import normalise
from mdvec.text.joined import PART, CharacterKinds, codes_of, in_batches, join_texts, text_of
from mdvec.text.prose import Prose, prose_of
from mdvec.text.scripts import HAN, HIRAGANA, UNSPACED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SPACE = 0x20
# Kinds of characters. Those from _UNSPACED on belong to scripts without spaces.
_OTHER, _PART, _MARK, _LETTER, _UNSPACED, _HAN, _LONG_VOWEL, _HIRAGANA = range(1, 9)
_CLASSES = (
    (re.compile(PART), _PART),
    (re.compile("ー"), _LONG_VOWEL),
    (re.compile(f"[{HIRAGANA}]"), _HIRAGANA),
    (re.compile(f"[{HAN}]"), _HAN),
    (re.compile(f"[{UNSPACED}]"), _UNSPACED),
    (re.compile(terms.LETTER), _LETTER),
    (re.compile(f"[{terms.MARKS}]"), _MARK),
)
_WORDS = re.compile(f"{PART}|{terms.WORD}")
# All of ASCII but letters, digits and the separator between texts.
_ASCII_BETWEEN_WORDS = {code: " " for code in range(128) if not chr(code).isalnum() and chr(code) != PART}

_stem_of, _written_of = itemgetter(0), itemgetter(1)


class Terms(Struct, frozen=True):
    """The terms of a text, separated by white space.

    Attributes:
        main: The subject of the text: stems of English words, other words, and bigrams of unspaced
            scripts without hiragana.
        words: English words as written, ``the`` and ``of`` included, and the words of addresses.
        pairs: Bigrams with hiragana, which mostly cross from one word into a particle.
        singles: Chinese characters out of longer runs.
    """

    main: str = ""
    words: str = ""
    pairs: str = ""
    singles: str = ""

    @property
    def minor(self) -> str:
        """All terms that are not ``main``."""
        return " ".join(filter(None, (self.words, self.pairs, self.singles)))


def index_terms(text: str) -> Terms:
    """Return the terms of one text, separated by spaces, pairs and singles once; see :func:`terms_of`."""
    [found] = terms_of([prose_of(text)])
    main, words = (" ".join(each.split()) for each in (found.main, found.words))
    return Terms(main, words, once(found.pairs), once(found.singles))


def once(found: str) -> str:
    """Return each of some terms once."""
    return " ".join(dict.fromkeys(found.split()))


def terms_of(texts: Sequence[Prose]) -> list[Terms]:
    """Return the terms of texts for the index, each repeated as often as it occurs.

    Runs of Japanese, Chinese, Korean, Thai, Lao, Burmese and Khmer give overlapping bigrams (a run of
    one character gives that character); other scripts give words. The words of an address can be found, but
    are not words of the text around it.
    """
    found = in_batches(_by_text, [" ".join((each.text, *each.spellings)) for each in texts])
    addressed = [at for at, each in enumerate(texts) if each.addresses]
    inside = in_batches(_by_text, [" ".join(texts[at].addresses) for at in addressed])
    for at, address in zip(addressed, inside, strict=True):
        found[at] = replace(found[at], words=f"{found[at].words} {address.main} {address.pairs}")
    return found


def _by_text(texts: Sequence[str]) -> list[Terms]:
    joined = join_texts(texts)
    others = [[""] * len(texts)] * 3
    if joined.isascii():
        words = joined.lower().translate(_ASCII_BETWEEN_WORDS).split()
    else:
        codes = codes_of(normalise(joined))
        kinds = _kinds()(codes)
        words = _words(codes, kinds)
        if (kinds >= _UNSPACED).any():
            others = [each.split(PART) for each in _bigrams(codes, kinds)]
    found: list[Terms] = []
    start = 0
    for bigrams, pairs, singles in zip(*others, strict=True):
        stop = words.index(PART, start) if len(found) < len(texts) - 1 else len(words)
        known = list(map(terms.forms_of.__getitem__, words[start:stop]))
        stems, written = " ".join(map(_stem_of, known)), " ".join(map(_written_of, known))
        found.append(Terms(f"{stems} {bigrams}" if bigrams else stems, written, pairs, singles))
        start = stop + 1
    return found


def _words(codes: NDArray[np.uint32], kinds: NDArray[np.uint8]) -> list[str]:
    """Return the words; the separator between texts is a word of its own."""
    import numpy as np

    if (kinds == _MARK).any():  # part of a word only after a letter
        return _WORDS.findall(text_of(codes))
    return text_of(np.where((kinds == _LETTER) | (kinds == _PART), codes, np.uint32(_SPACE))).split()


def _bigrams(codes: NDArray[np.uint32], kinds: NDArray[np.uint8]) -> tuple[str, str, str]:
    """Return the bigrams without and with hiragana, and the Chinese characters out of longer runs."""
    import numpy as np

    is_part, in_run, is_hiragana = kinds == _PART, kinds >= _UNSPACED, kinds == _HIRAGANA
    goes_on = np.append(in_run[:-1] & in_run[1:], False)  # the next character is of the same run
    is_alone = in_run & ~goes_on
    is_alone[1:] &= ~goes_on[:-1]
    holds_hiragana = is_hiragana.copy()
    holds_hiragana[:-1] |= is_hiragana[1:]
    rows = np.full((codes.size, 3), _SPACE, np.uint32)
    rows[:, 0] = codes
    rows[:-1, 1][goes_on[:-1]] = codes[1:][goes_on[:-1]]
    main = text_of(rows[is_part | is_alone | (goes_on & ~holds_hiragana)])
    pairs = text_of(rows[is_part | (goes_on & holds_hiragana)])
    singles = text_of(rows[is_part | ((kinds == _HAN) & ~is_alone)][:, ::2])
    return main, pairs, singles


@functools.cache
def _kinds() -> CharacterKinds:
    return CharacterKinds(
        lambda character: next((kind for pattern, kind in _CLASSES if pattern.match(character)), _OTHER)
    )
