"""Chunks of a fixed number of tokens, regardless of the structure of the text."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from typing import Final

from mdvec import settings
from mdvec.chunking.cutting import TokenRuler, body_token_ends, trim
from mdvec.chunking.interface import TokenEnds
from mdvec.chunking.writing import ChunkWriter, context_line
from mdvec.errors import ConfigError
from mdvec.types.chunk import CutDocument
from mdvec.types.document import Document

DEFAULT_MAX_TOKENS: Final = 1024
DEFAULT_OVERLAP_TOKENS: Final = 64
MIN_MAX_TOKENS: Final = 512
GREATEST_MAX_TOKENS: Final = 4096

_VERSION = 1


class WindowSettings(settings.SettingsSection, frozen=True, kw_only=True):
    """The sizes it knows; see :class:`WindowChunker`."""

    max_tokens: settings.ChunkTokens | None = None
    overlap_tokens: settings.Overlap | None = None


class WindowChunker:
    """Cuts documents into windows of tokens that overlap.

    A chunk has the heading under which it starts, and no parent.

    Args:
        token_ends: Tokenises a text; called once per document.
        max_tokens: Tokens of every chunk but the last one, :data:`MIN_MAX_TOKENS` to
            :data:`GREATEST_MAX_TOKENS`.
        overlap_tokens: Tokens at its start that a chunk shares with the one before; less than half of
            ``max_tokens``.
        tokenizer_name: Part of the fingerprint, because another tokenizer cuts elsewhere.
        token_limit: Not used: chunks are limited by ``max_tokens``.

    Raises:
        ConfigError: If a number of tokens is out of range.
    """

    Settings = WindowSettings

    def __init__(
        self,
        *,
        token_ends: TokenEnds,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        overlap_tokens: int = DEFAULT_OVERLAP_TOKENS,
        tokenizer_name: str = "",
        token_limit: int | None = None,  # noqa: ARG002 - every chunker receives it
    ) -> None:
        if not MIN_MAX_TOKENS <= max_tokens <= GREATEST_MAX_TOKENS:
            sizes = f"{MIN_MAX_TOKENS} to {GREATEST_MAX_TOKENS}"
            msg = f"max_tokens is {max_tokens}, but windows must have {sizes} tokens"
            hint = f"Choose {sizes} (--chunk-size, [chunking] max_tokens), or another chunker."
            raise ConfigError(msg, hint=hint)
        if not 0 <= overlap_tokens < max_tokens / 2:
            msg = f"overlap_tokens is {overlap_tokens}, but must be under half of max_tokens ({max_tokens})"
            hint = f"Choose 0 to {(max_tokens - 1) // 2} (--chunk-overlap, [chunking] overlap_tokens)."
            raise ConfigError(msg, hint=hint)
        self._token_ends = token_ends
        self._max_tokens = max_tokens
        self._overlap_tokens = overlap_tokens
        self._tokenizer_name = tokenizer_name

    @property
    def fingerprint(self) -> str:
        return (
            f"windows/{_VERSION}:max={self._max_tokens}:overlap={self._overlap_tokens}:{self._tokenizer_name}"
        )

    def chunk(self, document: Document) -> CutDocument:
        ends = body_token_ends(document, self._token_ends)
        sections = document.sections
        section_starts = [section.start for section in sections]
        writer = ChunkWriter(document, sections, TokenRuler(ends))
        for start, end in self._spans(document, ends):
            named = sections[max(0, bisect.bisect_right(section_starts, start) - 1)]
            context = context_line(document, named.heading_path)
            writer.write(start, end, named=named, context=context)
        return CutDocument(writer.chunks)

    def _spans(self, document: Document, ends: Sequence[int]) -> list[tuple[int, int]]:
        """Turn windows of tokens into spans of text without white space around them."""
        spans: list[tuple[int, int]] = []
        for first, last in windows(ends, size=self._max_tokens, overlap=self._overlap_tokens):
            # Characters that the tokenizer skips go with the next token, or with the last one.
            begin = ends[first - 1] if first else document.content_start
            stop = ends[last - 1] if last < len(ends) else len(document.body)
            start, end = trim(document.body, begin, stop)
            if start == end or (spans and end <= spans[-1][1]):
                continue  # white space, where that counts as tokens
            if spans and start <= spans[-1][0]:
                spans.pop()
            spans.append((start, end))
        return spans


def windows(ends: Sequence[int], *, size: int, overlap: int) -> Iterator[tuple[int, int]]:
    """Move a window over tokens until it reaches the last one.

    A character of several tokens is not split: a window ends before it, a few tokens short.

    Args:
        ends: One past the last character of each token, ascending.
        size: Tokens in a window, 1 or more.
        overlap: Tokens a window shares with the one before, less than ``size``.

    Yields:
        Index of the first token, and one past that of the last; both ascend. A single empty window if there
        are no tokens.
    """
    total = len(ends)
    first, reached = 0, -1
    while reached < total:
        last = min(total, first + size)
        last = _character_start(ends, last, above=first) or _character_end(ends, last)
        if last > reached:
            yield first, last
            reached = last
        first = _character_start(ends, max(first + 1, last - overlap), above=first) or last


def _character_start(ends: Sequence[int], token: int, *, above: int) -> int:
    """Return the first token of a character; 0 if that is not above ``above``."""
    while above < token < len(ends) and ends[token - 1] == ends[token]:
        token -= 1
    return token if token > above else 0


def _character_end(ends: Sequence[int], token: int) -> int:
    while 0 < token < len(ends) and ends[token - 1] == ends[token]:
        token += 1
    return token
