"""Turns the spans that a chunker finds into chunks."""

from __future__ import annotations

import bisect
import re
from array import array
from collections.abc import Sequence

from mdvec.chunking.context import short_name
from mdvec.chunking.cutting import EstimatingRuler, TokenRuler
from mdvec.types.chunk import Chunk
from mdvec.types.document import BlockKind, Document, Section

_MAX_DEPTH = 3
_NOWHERE = -1
# The first two lines of a table: the names of its columns, and the line below them.
_TABLE_HEAD = re.compile(r"(?P<names>[^\n]*+)\n[ \t]*+\|?[ \t]*+:?-++:?[ \t]*+(?:\|[-:| \t]*+)?\n")


class ChunkWriter:
    """Makes the chunks of one document: adds their numbers, lines, parents and token counts."""

    def __init__(
        self, document: Document, sections: Sequence[Section], ruler: TokenRuler | EstimatingRuler
    ) -> None:
        self._body, self._blocks = document.body, document.blocks
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
        """Add a chunk; one that starts among the rows of a table is below the names of its columns.

        Args:
            start: First character.
            end: One past the last.
            named: The section it is named after.
            context: The text above it when it is embedded.
        """
        # Starts ascend, so that each line is counted once.
        self._start_line += self._body.count("\n", self._start, start)
        self._start = start
        columns = self._columns_above(start)
        self._chunks.append(
            Chunk(
                ordinal=len(self._chunks),
                parent=self._parent_of(named),
                depth=min(named.level, _MAX_DEPTH),
                heading=columns[0] if columns else named.heading,
                heading_path=(*named.heading_path, *columns),
                start=start,
                end=end,
                start_line=self._start_line,
                end_line=self._start_line + self._body.count("\n", start, end - 1),
                token_count=self._ruler.measure(start, end),
                text=self._body[start:end],
                context="\n".join((context, *columns)) if context else "".join(columns),
            )
        )

    def _columns_above(self, start: int) -> tuple[str, ...]:
        """Return one text, the names of the columns of the table that goes on at a place, or nothing."""
        at = bisect.bisect_left(self._blocks, start, key=lambda block: block.start) - 1
        if at < 0 or self._blocks[at].end <= start or self._blocks[at].kind is not BlockKind.OTHER:
            return ()
        head = _TABLE_HEAD.match(self._body, self._blocks[at].start, start)
        names = filter(None, map(str.strip, head["names"].split("|"))) if head else ()
        columns = short_name(" · ".join(names))
        return (columns,) if columns else ()

    def _parent_of(self, section: Section) -> int | None:
        """Return the chunk in which the nearest section above starts, unless it is the next chunk."""
        parent = section.parent
        while parent is not None:
            chunk = self._started_by[parent]
            if chunk != _NOWHERE and chunk != len(self._chunks):
                return chunk
            parent = self._sections[parent].parent
        return None
