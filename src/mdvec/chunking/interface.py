"""The port of stage 3."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from mdvec.types.chunk import CutDocument
from mdvec.types.document import Document

TokenEnds = Callable[[str], Sequence[int]]
"""Tokenises a text: the character offset one past the end of each token, ascending.

The number of tokens in ``text[a:b]`` is the number of ends ``e`` with ``a < e <= b``, give or take one.
"""

TokenEstimate = Callable[[str], Sequence[float]]
"""Estimates the tokens before each position of a text, one more than it has characters; ascending.

For what people write, the estimate of a span is off by less than a third and eight tokens.
"""


class ChunkerFactory(Protocol):
    """An entry of the registry.

    A factory with the attribute ``takes_token_estimate`` also receives the argument ``token_estimate``, which
    may be None.
    """

    def __call__(
        self, *, token_ends: TokenEnds, tokenizer_name: str, token_limit: int | None, **settings: object
    ) -> Chunker:
        """Make a chunker.

        Args:
            token_ends: Tokenises a text.
            tokenizer_name: The name of that tokenizer, for the fingerprint.
            token_limit: Most tokens of text and context that the embedder reads at once; None for no limit.
            settings: The declared settings (see :mod:`mdvec.settings`) that are set by the collection, in
                ``[chunking.NAME]``, or in ``[chunking]``.

        Raises:
            ConfigError: If a setting cannot be used.
        """


class Chunker(Protocol):
    """Cuts documents, deterministically. See :class:`ChunkerFactory`.

    It uses only the file name of a path: a document that moves to another folder is not cut again.
    """

    @property
    def fingerprint(self) -> str:
        """Strategy, version and settings as one string; if it changes, documents are cut again."""

    def chunk(self, document: Document) -> CutDocument:
        """Cut a document.

        Returns:
            Chunks in document order, ordinals from 0. For each, ``document.body[start:end] == text``; starts
            and ends ascend, so that chunks may overlap but none contains another. Together they cover every
            character after ``content_start`` that is not white space. A document without text gives no
            chunk; a chunker may treat a document of headings alone in the same way.
        """
