"""The default chunker: a chunk is a section, as far as its size allows."""

from __future__ import annotations

import bisect
import re
from collections.abc import Sequence
from typing import Final

from mdvec.chunking.context import context_line
from mdvec.chunking.cutting import Cutter, TokenRuler
from mdvec.chunking.grouping import Group, group_sections
from mdvec.chunking.interface import TokenEnds
from mdvec.errors import ConfigError
from mdvec.model.chunk import Chunk
from mdvec.model.document import BlockKind, Document, Section

DEFAULT_MAX_TOKENS: Final = 400
"""With its context and prefix a chunk stays inside the 512 tokens small embedders read."""
DEFAULT_MIN_TOKENS: Final = 60
"""Sections below this say too little to be found by meaning alone."""

_VERSION = 1
_MAX_DEPTH = 3


class SectionChunker:
    """Cuts documents along their section tree.

    One chunk per section; small siblings share one, large sections are cut into even parts (see
    :func:`~mdvec.chunking.grouping.group_sections` and :class:`~mdvec.chunking.cutting.Cutter`). A chunk
    is named after the first section in it that has text of its own; when it holds several, its
    context names what they share.

    Args:
        token_ends: Tokenises a text; called once per document.
        max_tokens: No chunk's text holds more. The line of context and an embedder's prefix come on top.
        min_tokens: Sections with fewer are joined with small neighbours; 0 joins none.
        overlap_tokens: Parts of one section after the first repeat about so many tokens; at most half
            of ``max_tokens`` is.
        tokenizer_name: Part of the fingerprint, because another tokenizer cuts elsewhere.

    Raises:
        ConfigError: If a number of tokens is out of range.
    """

    def __init__(
        self,
        *,
        token_ends: TokenEnds,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        min_tokens: int = DEFAULT_MIN_TOKENS,
        overlap_tokens: int = 0,
        tokenizer_name: str = "",
    ) -> None:
        if max_tokens < 1:
            msg = f"max_tokens is {max_tokens}, but a chunk holds at least one token"
            raise ConfigError(msg)
        if min_tokens < 0 or overlap_tokens < 0:
            msg = "min_tokens and overlap_tokens cannot be negative"
            raise ConfigError(msg)
        self._token_ends = token_ends
        self._max_tokens = max_tokens
        self._min_tokens = min(min_tokens, max_tokens)
        self._overlap_tokens = min(overlap_tokens, max_tokens // 2)
        self._tokenizer_name = tokenizer_name

    @property
    def fingerprint(self) -> str:
        """Strategy, version and settings as one string."""
        return (
            f"sections/{_VERSION}:max={self._max_tokens}:min={self._min_tokens}"
            f":overlap={self._overlap_tokens}:{self._tokenizer_name}"
        )

    def chunk(self, document: Document) -> list[Chunk]:
        """Cut a document.

        Returns:
            Chunks as :class:`~mdvec.chunking.interface.Chunker` promises them.
        """
        body, sections, begin = document.body, document.sections, document.content_start
        ends = self._token_ends(body[begin:])
        ruler = TokenRuler([begin + end for end in ends] if begin else ends)
        cutter = Cutter(
            body,
            document.blocks,
            ruler,
            max_tokens=self._max_tokens,
            overlap_tokens=self._overlap_tokens,
        )
        groups = group_sections(
            sections,
            has_text=_sections_with_text(document),
            tokens_between=ruler.count,
            max_tokens=self._max_tokens,
            min_tokens=self._min_tokens,
        )
        line_ends = [match.start() for match in re.finditer("\n", body)]
        chunks: list[Chunk] = []
        started_by: dict[int, int] = {}
        for group in groups:
            for ordinal in range(group.first, group.last + 1):
                started_by[ordinal] = len(chunks)
            named = sections[group.named_after]
            context = context_line(document, _shared_path(group, sections))
            for start, end in cutter.parts(sections[group.first].start, sections[group.last].end):
                chunks.append(
                    Chunk(
                        ordinal=len(chunks),
                        parent=_parent_chunk(named, sections, started_by, len(chunks)),
                        depth=min(named.level, _MAX_DEPTH),
                        heading=named.heading,
                        heading_path=named.heading_path,
                        start=start,
                        end=end,
                        start_line=bisect.bisect_left(line_ends, start) + 1,
                        end_line=bisect.bisect_left(line_ends, end - 1) + 1,
                        token_count=ruler.count(start, end),
                        text=body[start:end],
                        context=context,
                    )
                )
        return chunks


def _sections_with_text(document: Document) -> list[bool]:
    """Tell for each section whether it says more than its heading."""
    heading_ends = {block.start: block.end for block in document.blocks if block.kind is BlockKind.HEADING}
    return [
        bool(document.body[heading_ends.get(section.start, section.start) : section.end].strip())
        for section in document.sections
    ]


def _shared_path(group: Group, sections: Sequence[Section]) -> tuple[str, ...]:
    named = sections[group.named_after]
    if group.sections_with_text == 1 or named.parent is None:
        return named.heading_path
    return sections[named.parent].heading_path


def _parent_chunk(
    section: Section, sections: Sequence[Section], started_by: dict[int, int], ordinal: int
) -> int | None:
    """Return the chunk in which the nearest section above starts, if that is not the chunk itself."""
    parent = section.parent
    while parent is not None:
        chunk = started_by.get(parent)
        if chunk is not None and chunk != ordinal:
            return chunk
        parent = sections[parent].parent
    return None
