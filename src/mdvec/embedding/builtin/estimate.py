"""An estimate of the model's tokens from the kinds of neighbouring characters, much faster than counting."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_KINDS = 12
_SPACE, _LOWER, _UPPER, _DIGIT, _SIGN, _ACCENTED = range(6)
_SYMBOL, _HIRAGANA, _KATAKANA, _OTHER, _HAN, _CJK_SIGN = range(6, _KINDS)
_LAST = 0x2FFFF  # of Chinese characters; what is above is of the kind of this one
_RANGES = (
    (0x00, 0x20, _SPACE),
    (0x21, 0x7F, _SIGN),
    (0x30, 0x39, _DIGIT),
    (0x41, 0x5A, _UPPER),
    (0x61, 0x7A, _LOWER),
    (0x80, 0xBF, _SYMBOL),
    (0xA0, 0xA0, _SPACE),
    (0xC0, 0x24F, _ACCENTED),
    (0x2000, 0x2DFF, _SYMBOL),
    (0x2E80, 0x2FDF, _HAN),
    (0x3000, 0x3000, _SPACE),
    (0x3001, 0x303F, _CJK_SIGN),
    (0x3040, 0x309F, _HIRAGANA),
    (0x30A0, 0x30FF, _KATAKANA),
    (0x3400, 0x9FFF, _HAN),
    (0xFF00, 0xFF20, _CJK_SIGN),
    (0x20000, _LAST, _HAN),
)
# Tokens by the kind of a character (column) and of the one before it (row), fitted by least squares of the
# relative error; pairs that hardly occur have .6.
_WEIGHTS = (
    (0, 0.11, 0, 0, 0.65, 0.6, 0.6, 0.6, 1.96, 0.6, 2.01, 0.6),  # space
    (0.59, 0.12, 0.97, 1.42, 0.81, 0.6, 0.6, 0.89, 0.6, 0.6, 0.6, 0.6),  # lower
    (0.95, 0.47, 0.25, 0.6, 1.11, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6),  # upper
    (0.93, 0.46, 0.6, 0.26, 0.33, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6),  # digit
    (0.73, 1.3, 1.08, 1.28, 0.33, 0.6, 0.6, 0, 0.4, 0.6, 0.6, 0.6),  # sign
    (0, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6),  # accented
    (0, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6),  # symbol
    (0, 0.6, 1.23, 0.6, 2.21, 0.6, 0.6, 0.18, 1.01, 0.6, 1.1, 1.35),  # hiragana
    (0, 0.6, 0.6, 0.6, 0.9, 0.6, 0.6, 0.11, 0.45, 0.6, 0.68, 0.6),  # katakana
    (0, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6),  # other
    (0, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.05, 0.6, 0.6, 0.61, 0.6),  # han
    (0.3, 0.6, 0.6, 0.6, 2.24, 0.6, 0.6, 0.48, 0.97, 0.6, 1, 0.6),  # cjk_sign
)
# By the kind of a character and, twelve times, of the one before it.
_HUNDREDTHS = bytes(round(100 * weight) for row in _WEIGHTS for weight in row).ljust(256, b"\0")


def estimate_tokens(text: str) -> Sequence[float]:
    """Return an estimate of the tokens before each position of a text, one more than it has characters.

    Of four thousand sections of real notes and pages in English and Japanese, none was off by more than 27 %.
    """
    import numpy as np

    pairs = _classes(text).copy()
    pairs[1:] += pairs[:-1] * np.uint8(_KINDS)
    totals = np.zeros(pairs.size + 1)
    np.cumsum(np.frombuffer(pairs.tobytes().translate(_HUNDREDTHS), np.uint8), out=totals[1:])
    totals /= 100
    return totals  # type: ignore[return-value] # what is indexed alone


def _classes(text: str) -> NDArray[np.uint8]:
    import numpy as np

    if text.isascii():
        return np.frombuffer(text.encode().translate(_kinds()[:256].tobytes()), np.uint8)
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    return _kinds().take(codes, mode="clip")


@functools.cache
def _kinds() -> NDArray[np.uint8]:
    import numpy as np

    kinds = np.full(_LAST + 1, _OTHER, np.uint8)
    for first, last, kind in _RANGES:
        kinds[first : last + 1] = kind
    return kinds
