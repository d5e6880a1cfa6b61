"""Chunks for a vault of notes: each section of the second level is a chunk, whatever its length."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from mdvec.chunking.cutting import TokenRuler, body_token_ends, trim
from mdvec.chunking.interface import TokenEnds
from mdvec.chunking.outline import sections_at, sections_with_text
from mdvec.chunking.writing import ChunkWriter, last_sentences, short_name, vault_context
from mdvec.text.links import converter_of
from mdvec.types.chunk import CutDocument
from mdvec.types.document import Block, BlockKind, Document, Section

_VERSION = 2
# Sections of these levels are chunks; those of the last level only inside a section that is too long.
_LEVELS: Final = (1, 2, 3)
_SPARE_LEVEL: Final = 3
# The most tokens per character of a tokenizer that falls back to bytes: a short context need not be
# tokenised.
_MAX_TOKENS_PER_CHAR = 4
# The most sections that a warning names, so that it stays readable.
_NAMED_IN_WARNING = 3
_DIVIDE = "## or ### headings in them make"


class VaultChunker:
    """Cuts documents at headings of the first and second level, and nowhere else if the embedder allows it.

    A section above the limit is cut at its headings of the third level. A part that is still above it stays
    whole, with a warning. A note of properties or ``#`` headings alone gives no chunk and is not found; an
    underlined heading may be a paragraph above a rule, and so counts as text. The context of a chunk is that
    of :func:`~mdvec.chunking.writing.vault_context`.

    Args:
        token_ends: Tokenises a text; called for each document, and for contexts near the limit.
        token_limit: Most tokens the embedder reads at once, of text and context; None when there is no limit.
        tokenizer_name: Part of the fingerprint, because another tokenizer counts otherwise.
    """

    def __init__(
        self, *, token_ends: TokenEnds, token_limit: int | None = None, tokenizer_name: str = ""
    ) -> None:
        self._token_ends = token_ends
        self._token_limit = token_limit
        self._tokenizer_name = tokenizer_name

    @property
    def fingerprint(self) -> str:
        return f"vault/{_VERSION}:limit={self._token_limit}:{self._tokenizer_name}"

    def chunk(self, document: Document) -> CutDocument:
        """Cut a document, with a warning that names the sections above the limit."""
        if all(_is_heading_line(block, document.body) for block in document.blocks):
            return CutDocument((), is_found=bool(converter_of(document.path)))
        sections = sections_at(document.sections, _LEVELS)
        has_text = sections_with_text(document, sections)
        ruler = TokenRuler(body_token_ends(document, self._token_ends))
        writer = ChunkWriter(document, sections, ruler)
        context_of = functools.partial(self._context, document, sections, ruler)
        too_long: list[tuple[Section, int]] = []
        previous = ""
        for section in _whole_pieces(sections, has_text):
            whole = context_of(section, previous)
            for piece in _cut(section, has_text) if whole[1] else [section]:
                context, tokens = whole if piece is section else context_of(piece, previous)
                if tokens:
                    too_long.append((piece.named, tokens))
                start, end = trim(document.body, piece.start, piece.end)
                writer.enter(piece.sections[0].ordinal, piece.sections[-1].ordinal)
                writer.write(start, end, named=piece.named, context=context)
                previous = last_sentences(document, piece.start, piece.end)
        return CutDocument(writer.chunks, self._warnings(too_long, document))

    def _context(
        self, document: Document, sections: Sequence[Section], ruler: TokenRuler, piece: _Piece, previous: str
    ) -> tuple[str, int]:
        """Return the context, and the number of its tokens with the text if above the limit, else 0.

        The sentences before are left out if the rest fits without them.
        """
        make = functools.partial(
            vault_context,
            document,
            above=_sections_above(piece, sections),
            holds_title=any(section.level == 1 and section.heading for section in piece.sections),
        )
        context = make(previous=previous)
        text_tokens = ruler.count(piece.start, piece.end)
        most_tokens = text_tokens + _MAX_TOKENS_PER_CHAR * len(context)
        if self._token_limit is None or most_tokens <= self._token_limit:
            return context, 0
        tokens = text_tokens + len(self._token_ends(context))
        if tokens <= self._token_limit:
            return context, 0
        shorter = make(previous="")
        if text_tokens + len(self._token_ends(shorter)) <= self._token_limit:
            return shorter, 0
        return context, tokens

    def _warnings(self, too_long: Sequence[tuple[Section, int]], document: Document) -> tuple[str, ...]:
        if not too_long:
            return ()
        named = [f"{_label(section)} ({tokens:,} tokens)" for section, tokens in too_long[:_NAMED_IN_WARNING]]
        if more := len(too_long) - len(named):
            named.append(f"{more} more")
        advice = "smaller files make" if document.is_plain else _DIVIDE
        long = f"longer than {self._token_limit:,} tokens, so embedded in parts: {', '.join(named)}"
        return (f"{long}. Nothing is lost; {advice} hits more exact",)


class _Piece(Struct, frozen=True):
    """Sections that follow each other, and the one among them that they are named after."""

    sections: tuple[Section, ...]
    named: Section

    @property
    def start(self) -> int:
        """First character."""
        return self.sections[0].start

    @property
    def end(self) -> int:
        """One past the last character."""
        return self.sections[-1].end


def _is_heading_line(block: Block, body: str) -> bool:
    """Return True if a block is a heading of one line: an underlined one has at least two."""
    return block.kind is BlockKind.HEADING and body.find("\n", block.start, block.end) < 0


def _whole_pieces(sections: Sequence[Section], has_text: Sequence[bool]) -> Iterator[_Piece]:
    """Yield pieces: last-level sections stay with their parent, bare headings with the section below."""
    runs: list[list[Section]] = []
    for section in sections:
        if section.level == 0 and not has_text[0]:
            continue
        if runs and (section.level == _SPARE_LEVEL or _only_lead_to(section, runs[-1], has_text)):
            runs[-1].append(section)
        else:
            runs.append([section])
    for run in runs:
        above_spare = [section for section in run if section.level < _SPARE_LEVEL]
        yield _Piece(tuple(run), above_spare[-1] if above_spare else run[0])


def _only_lead_to(section: Section, run: Sequence[Section], has_text: Sequence[bool]) -> bool:
    return section.parent == run[-1].ordinal and not any(has_text[each.ordinal] for each in run)


def _cut(piece: _Piece, has_text: Sequence[bool]) -> list[_Piece]:
    """Divide a piece; a bare heading goes with the section below it, at the end with the one above."""
    cut: list[_Piece] = []
    run: list[Section] = []
    for section in piece.sections:
        run.append(section)
        if has_text[section.ordinal]:
            cut.append(_Piece(tuple(run), section))
            run = []
    if not cut:
        return [piece]
    if run:
        cut[-1] = _Piece((*cut[-1].sections, *run), cut[-1].named)
    return cut


def _sections_above(piece: _Piece, sections: Sequence[Section]) -> list[Section]:
    """Return the ancestors of a piece's section that are outside the piece, outermost first."""
    above: list[Section] = []
    parent = piece.named.parent
    while parent is not None:
        if parent < piece.sections[0].ordinal:
            above.insert(0, sections[parent])
        parent = sections[parent].parent
    return above


def _label(section: Section) -> str:
    return repr(short_name(section.heading)) if section.heading else "text without a heading"
