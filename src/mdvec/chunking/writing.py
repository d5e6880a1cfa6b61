"""Turns the spans that a chunker finds into chunks."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from mdvec.chunking.cutting import EstimatingRuler, TokenRuler
from mdvec.types.chunk import Chunk
from mdvec.types.document import Document, Section

_MAX_DEPTH = 3
_NOWHERE = -1


class ChunkWriter:
    """Makes the chunks of one document: adds their numbers, lines, parents and token counts."""

    def __init__(
        self, document: Document, sections: Sequence[Section], ruler: TokenRuler | EstimatingRuler
    ) -> None:
        self._body = document.body
        self._sections = sections
        self._ruler = ruler
        self._start, self._start_line = 0, 1  # of the last chunk
        self._started_by = array("i", [_NOWHERE]) * len(sections)
        self._chunks: list[Chunk] = []

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """The chunks written so far."""
        return tuple(self._chunks)

    def enter(self, first: int, last: int) -> None:
        """Record that sections start in the next chunk, which becomes the parent of chunks below them.

        Args:
            first: Ordinal of the first section.
            last: Ordinal of the last one; a section that started in an earlier chunk stays there.
        """
        for ordinal in range(first, last + 1):
            if self._started_by[ordinal] == _NOWHERE:
                self._started_by[ordinal] = len(self._chunks)

    def write(self, start: int, end: int, *, named: Section, context: str) -> None:
        """Add a chunk.

        Args:
            start: First character.
            end: One past the last.
            named: The section it is named after.
            context: The text above it when it is embedded.
        """
        # Starts ascend, so that each line is counted once.
        self._start_line += self._body.count("\n", self._start, start)
        self._start = start
        self._chunks.append(
            Chunk(
                ordinal=len(self._chunks),
                parent=self._parent_of(named),
                depth=min(named.level, _MAX_DEPTH),
                heading=named.heading,
                heading_path=named.heading_path,
                start=start,
                end=end,
                start_line=self._start_line,
                end_line=self._start_line + self._body.count("\n", start, end - 1),
                token_count=self._ruler.measure(start, end),
                text=self._body[start:end],
                context=context,
            )
        )

    def _parent_of(self, section: Section) -> int | None:
        """Return the chunk in which the nearest section above starts, unless it is the next chunk."""
        parent = section.parent
        while parent is not None:
            chunk = self._started_by[parent]
            if chunk != _NOWHERE and chunk != len(self._chunks):
                return chunk
            parent = self._sections[parent].parent
        return None
