"""Joins texts, and handles characters as arrays of code points, so that no Python code loops over them."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress
from typing import TYPE_CHECKING, TypeVar

from mdvec.text.folding import fold_characters, normalise, unify_kana
from mdvec.text.scripts import HIRAGANA, KATAKANA

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PART = "\x01"
"""The separator between joined texts, on a line of its own."""

_BETWEEN = f"\n{PART}\n"  # markup that must close on its line ends there

# The size of a batch: bounds the memory, and is large enough to be fast.
_MAX_CHARS = 1 << 16


T = TypeVar("T")


def in_batches(function: Callable[[Sequence[str]], Iterable[T]], texts: Sequence[str]) -> list[T]:
    """Apply a function that takes several texts and gives as many results; return these in order.

    A joined text is slow as a whole if one of its characters is not ASCII, so texts in ASCII are apart.
    """
    kinds = [text.isascii() for text in texts]
    found = {
        kind: (each for batch in _batches(list(compress(texts, chosen))) for each in function(batch))
        for kind, chosen in ((True, kinds), (False, [not kind for kind in kinds]))
    }
    return [next(found[kind]) for kind in kinds]


def _batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the texts in order, in batches for joining; a long text is a batch of its own."""
    start = chars = 0
    for at, text in enumerate(texts):
        chars += len(text)
        if chars > _MAX_CHARS and at > start:
            yield texts[start:at]
            start, chars = at, len(text)
    if start < len(texts):
        yield texts[start:]


def join_texts(texts: Sequence[str]) -> str:
    """Return the texts joined by :data:`PART`."""
    joined = _BETWEEN.join(texts)
    if joined.count(PART) >= max(1, len(texts)):
        return _BETWEEN.join(text.replace(PART, " ") for text in texts)
    return joined


def codes_of(text: str) -> NDArray[np.uint32]:
    """Return the code points of a text."""
    import numpy as np

    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def text_of(codes: NDArray[np.uint32]) -> str:
    """Return the text of some code points."""
    return codes.tobytes().decode("utf-32-le", "surrogatepass")


class CharacterKinds:
    """The kinds of characters, each computed once. Threads may share it.

    Args:
        kind_of: Returns the kind of a character, from 1 to 255.
    """

    def __init__(self, kind_of: Callable[[str], int]) -> None:
        import numpy as np

        self._kind_of = kind_of
        self._known = np.zeros(0x110000, np.uint8)  # takes memory where it is written alone

    def __call__(self, codes: NDArray[np.uint32]) -> NDArray[np.uint8]:
        """Return the kinds of some code points."""
        import numpy as np

        kinds: NDArray[np.uint8] = self._known[codes]
        if kinds.all():
            return kinds
        for code in np.unique(codes[kinds == 0]).tolist():
            self._known[code] = self._kind_of(chr(code))
        found: NDArray[np.uint8] = self._known[codes]
        return found


# What folding a character gives: one other, one kana, several or none, or a result that depends on others.
_ONE, _KANA, _SEVERAL, _DEPENDS = range(1, 5)
_IS_KANA = re.compile(f"[{HIRAGANA}{KATAKANA}々]")
_HANGUL_VOWELS_AND_FINALS = re.compile("[\u1160-\u11ff]")


class _Folding:
    """Folds single characters, each computed once. Threads may share it."""

    def __init__(self) -> None:
        import numpy as np

        self.folded = np.zeros(0x110000, np.uint32)  # takes memory where it is written alone
        self.kinds = CharacterKinds(self._kind)

    def _kind(self, character: str) -> int:
        first = unicodedata.normalize("NFKD", character)[0]
        if unicodedata.category(first)[0] == "M" or _HANGUL_VOWELS_AND_FINALS.match(first):
            return _DEPENDS
        folded = fold_characters(character)
        if len(folded) != 1:
            return _SEVERAL
        self.folded[ord(character)] = ord(folded)
        return _KANA if _IS_KANA.match(folded) else _ONE


_folding = functools.cache(_Folding)


def folded_codes(text: str) -> NDArray[np.uint32]:
    """Return the code points of a text as :func:`mdvec.text.folding.normalise` folds it, four times as fast.

    Characters that do not depend on others are looked up one by one.
    """
    import numpy as np

    folding, codes = _folding(), codes_of(text)
    kinds = folding.kinds(codes)
    most = kinds.max(initial=_ONE)
    if most == _DEPENDS:
        return codes_of(normalise(text))
    if most == _SEVERAL:
        for code in np.unique(codes[kinds == _SEVERAL]).tolist():
            text = text.replace(chr(code), fold_characters(chr(code)))
        return folded_codes(text)
    folded: NDArray[np.uint32] = folding.folded[codes]
    return codes_of(unify_kana(text_of(folded))) if most == _KANA else folded
