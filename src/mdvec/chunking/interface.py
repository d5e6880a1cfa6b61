"""The port of stage 3."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from mdvec.model.chunk import Chunk
from mdvec.model.document import Document

TokenEnds = Callable[[str], Sequence[int]]
"""Tokenises a text: the character offset one past the end of each token, ascending.

The number of tokens in ``text[a:b]`` is the number of ends ``e`` with ``a < e <= b``, give or take one.
"""


class Chunker(Protocol):
    """Cuts documents. The same document gives the same chunks, always."""

    @property
    def fingerprint(self) -> str:
        """Strategy, version and settings as one string: another one means other chunks."""
        ...

    def chunk(self, document: Document) -> list[Chunk]:
        """Cut a document.

        Returns:
            Chunks in document order, ordinals from 0. For each, ``document.body[start:end] == text``.
            Together they cover every character after ``content_start`` that is not white space. A
            document without text gives no chunk.
        """
        ...
