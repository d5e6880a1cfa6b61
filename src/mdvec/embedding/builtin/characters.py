"""Rewrites characters as the model's vocabulary spells them, and records the origin of each."""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

_SPACE = 0x20
WORD_START = 0x2581
"""``▁`` stands for a space, and before the first word."""

# ASCII characters that any vocabulary keeps unchanged or treats as a space.
_NOT_PLAIN = re.compile(r"[^\t\n -~]")
_BLOCK = 1 << 16  # characters rewritten at once: bounds the memory


class CharacterMap(Struct, frozen=True):
    """Replacements of single characters by none, one or several.

    Attributes:
        entry_of: For each code point up to the last one that is replaced, its entry; entry 0 is
            "stays as it is". One more element, 0, stands for all higher code points.
        lengths: Characters an entry is replaced with; 1 for entry 0.
        starts: Where an entry's characters start in ``targets``.
        targets: Code points of all replacements, one after the other.
    """

    entry_of: NDArray[np.int32]
    lengths: NDArray[np.int32]
    starts: NDArray[np.int32]
    targets: NDArray[np.uint32]

    def rewrite(self, text: str, *, block: int = _BLOCK) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Rewrite a text: replace characters, merge runs of spaces, mark where words start.

        Args:
            text: Any string; lone surrogates stay.
            block: Characters rewritten at once; it does not change the result.

        Returns:
            The code points, never empty and always starting with the word mark; and, for each, the
            index in ``text`` of the character it comes from (0 for a mark that was put in front).
        """
        raw = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        if text.isascii() and _NOT_PLAIN.search(text) is None:
            return _with_marks(np.where(raw <= _SPACE, np.uint32(_SPACE), raw), np.arange(raw.size))
        blocks = [self._replace(raw[begin : begin + block], begin) for begin in range(0, raw.size, block)]
        codes = np.concatenate([np.empty(0, np.uint32), *(codes for codes, _ in blocks)])
        origins = np.concatenate([np.empty(0, np.int64), *(origins for _, origins in blocks)])
        return _with_marks(codes, origins)

    def _replace(self, block: NDArray[np.uint32], begin: int) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        entries = self.entry_of.take(block, mode="clip")
        [places] = entries.nonzero()  # of the replaced characters, which are few
        entries = entries[places]
        lengths = self.lengths[entries]
        counts = np.ones(block.size, dtype=np.int64)
        counts[places] = lengths
        sources = np.repeat(np.arange(block.size), counts)
        codes = block[sources]
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        first = (np.cumsum(counts) - counts)[places]
        codes[np.repeat(first, lengths) + within] = self.targets[
            np.repeat(self.starts[entries], lengths) + within
        ]
        return codes, sources + begin


def _with_marks(
    codes: NDArray[np.uint32], origins: NDArray[np.int64]
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Merge runs of spaces, and mark where words start."""
    is_space = codes == _SPACE
    needed = np.ones(codes.size, dtype=bool)
    needed[1:] = ~(is_space[1:] & is_space[:-1])
    codes, origins = np.where(is_space, np.uint32(WORD_START), codes)[needed], origins[needed]
    if not (is_space.size and is_space[0]):
        codes = np.concatenate([np.array([WORD_START], dtype=np.uint32), codes])
        origins = np.concatenate([np.zeros(1, dtype=np.int64), origins])
    return codes, origins
