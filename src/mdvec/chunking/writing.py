"""Turns spans into chunks, each with its context: the text above it when it is embedded."""

from __future__ import annotations

import bisect
import itertools
import re
from array import array
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from string import punctuation
from typing import Final

from mdvec.chunking.cutting import EstimatingRuler, TokenRuler
from mdvec.chunking.graphemes import is_inside_cluster
from mdvec.text.sentences import sentence_ends
from mdvec.types.chunk import Chunk
from mdvec.types.document import Block, BlockKind, Document, Section, TitleSource

_MAX_DEPTH = 3
_NOWHERE = -1
# The first two lines of a table: the names of its columns, and the line below them. In a quotation or an
# item, some lines may be above them.
_TABLE_HEAD = re.compile(
    r"(?:(?:[^\n|]*+\n){1,3}(?=[^\n]*\|))?[ \t]*+(?:>[ \t>]*+(?=[^\n]*\|))?(?!>)(?P<names>[^\n]*+)\n"
    r"[ \t>]*+\|?[ \t]*+:?-++:?[ \t]*+(?:\|[-:| \t]*+)?\n"
)
_HTML_NAME = re.compile(r"<th\b[^<>]*>([^<>\n]+)", re.IGNORECASE)
_HTML_HEAD_CHARS = 2_000
_MARKS = re.compile(r"\[\[|\]\]|\*\*|`")

# The embedder reads a few hundred tokens: the context must not push the text out.
MAX_CONTEXT_CHARS = 200
# One long heading must not push the others out.
_MAX_NAME_CHARS = 80
_SEPARATOR = " › "

# A date, or a date and a time, in front of a file's name.
_TIMESTAMP = re.compile(r"^\d{8,14}[_-](?=.)")

_MAX_SENTENCES: Final = 2
MAX_PREVIOUS_CHARS: Final = 300
"""Longer ones would weigh as much as the text below them."""

# Only the end of a block is read: room for two sentences, with the markup that is taken out of them.
_READ_CHARS = 4 * MAX_PREVIOUS_CHARS
_MARKERS = re.compile(r"^(?:[ \t]*(?:[-*+]|\d{1,9}[.)]|>))*(?:[ \t]+|$)(?:\[[ xX]\][ \t]+)?", re.MULTILINE)
# Lists and quotations are prose; tables, HTML, indented code and rules are not.
_ITEM = re.compile(r"[ \t]*(?:[-*+][ \t]|\d{1,9}[.)][ \t]|>)")
_SPACES = re.compile(r"\s+")
_WORD = re.compile(r"[^\W_]")


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
        first = self._blocks[at].start
        head = _TABLE_HEAD.match(self._body, first, start)
        if head:
            names = _MARKS.sub("", head["names"]).split("|")
        else:
            names = _HTML_NAME.findall(self._body, first, min(start, first + _HTML_HEAD_CHARS))
        columns = short_name(" · ".join(filter(None, map(str.strip, names))))
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


def context_line(document: Document, heading_path: Sequence[str]) -> str:
    """Return ``title › h1 › h2 #tag #tag``.

    A first heading that repeats the title is left out, and so is a title of punctuation alone (of a file
    named ``-.md``, for example). When the line gets too long, headings in the middle go first, then tags.

    Returns:
        At most :data:`MAX_CONTEXT_CHARS` characters, without line breaks; empty when there is nothing to add.
    """
    names = [short_name(heading) for heading in heading_path]
    title = short_name(document.title)
    if title.strip(punctuation) and (not names or names[0].casefold() != title.casefold()):
        names.insert(0, title)
    while len(_SEPARATOR.join(names)) > MAX_CONTEXT_CHARS:
        # Of two names each fits, so there are three or more here.
        del names[1]
    line = _SEPARATOR.join(names)
    for tag in document.tags:
        longer = f"{line} #{tag}" if line else f"#{tag}"
        if len(longer) > MAX_CONTEXT_CHARS:
            break
        line = longer
    return line


def short_name(name: str) -> str:
    """Return a title or heading in one line of at most 80 characters."""
    # Cut by length first: a title may be megabytes long.
    text = " ".join(name[: _MAX_NAME_CHARS * 4].split())
    return text if len(text) <= _MAX_NAME_CHARS else f"{text[: _MAX_NAME_CHARS - 1]}…"


# --- vaults ----------------------------------------------------------------------------------------


def vault_context(document: Document, *, above: Iterable[Section], holds_title: bool, previous: str) -> str:
    """Return a line of metadata, the end of the text before, and the headings above.

    The parts are ``title:…|tags:…``, ``[prev] …`` and the headings as in Markdown, separated by blank lines.
    Without a heading of the first level, the title in the frontmatter takes its place, else the file's name
    without a leading date.

    Args:
        document: The document; its title and tags are used.
        above: Sections above the chunk, from the outermost; those that start in the chunk are left out.
        holds_title: True if the chunk has a heading of the first level itself.
        previous: The last sentences of the chunk before; may be empty.

    Returns:
        A text that ends in a line break, so that a blank line separates it from the chunk's.
    """
    headings = [(section.level, short_name(section.heading)) for section in above if section.heading]
    if not holds_title and not (headings and headings[0][0] == 1):
        frontmatter_title = document.title if document.title_source is TitleSource.FRONTMATTER else ""
        headings.insert(0, (1, short_name(frontmatter_title) or _slug(document)))
    parts = [_metadata(document)]
    if previous:
        parts.append(f"[prev] {previous}")
    parts.extend(f"{'#' * level} {heading}" for level, heading in headings)
    return "\n\n".join(parts) + "\n"


def _metadata(document: Document) -> str:
    is_file_name = document.title_source is TitleSource.FILE_NAME
    line = f"title:{_slug(document) if is_file_name else short_name(document.title)}"
    separator = "|tags:"
    for tag in document.tags:
        longer = f"{line}{separator}{tag}"
        if len(longer) > MAX_CONTEXT_CHARS:
            break
        line, separator = longer, ","
    return line


def _slug(document: Document) -> str:
    return short_name(_TIMESTAMP.sub("", PurePosixPath(document.path).stem, count=1))


def last_sentences(document: Document, start: int, end: int) -> str:
    """Return the last one or two sentences of a span, in one line. A block starts with the span or before it.

    Headings, code, tables and HTML do not count. The second to last sentence is left out if both together are
    too long; of a single sentence that is too long, only the end is returned.

    Returns:
        At most :data:`MAX_PREVIOUS_CHARS` characters; empty if the span contains no sentence.
    """
    sentences: list[str] = []
    index = bisect.bisect_left(document.blocks, end, key=lambda block: block.start)
    while index and len(sentences) < _MAX_SENTENCES:
        index -= 1
        block = document.blocks[index]
        if block.end <= start:
            break
        sentences = [*_sentences(document.body, block), *sentences][-_MAX_SENTENCES:]
    if sum(map(len, sentences)) > MAX_PREVIOUS_CHARS:
        del sentences[:-1]
    return _ending("".join(sentences).strip())


def _sentences(body: str, block: Block) -> list[str]:
    """Return the sentences at the end of a block, each with the space before it."""
    match block.kind:
        case BlockKind.HEADING | BlockKind.FENCE:
            return []
        case BlockKind.OTHER if not _ITEM.match(body, block.start, block.end):
            return []
        case BlockKind.PARAGRAPH | BlockKind.OTHER:
            text = body[max(block.start, block.end - _READ_CHARS) : block.end]
    if block.kind is BlockKind.OTHER:
        text = _MARKERS.sub("", text)
    text = f" {text.strip()}"
    bounds = itertools.pairwise([0, *sentence_ends(text)])
    found = (_SPACES.sub(" ", text[begin:end]) for begin, end in bounds)
    return [sentence for sentence in found if _WORD.search(sentence)]


def _ending(text: str) -> str:
    if len(text) <= MAX_PREVIOUS_CHARS:
        return text
    start = len(text) - MAX_PREVIOUS_CHARS + 1
    while is_inside_cluster(text, start):
        start += 1
    return f"…{text[start:]}"
