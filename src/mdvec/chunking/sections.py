"""The default chunker: a chunk is a section, as far as its size allows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import ClassVar, Final, NamedTuple

from mdvec import settings
from mdvec.chunking.cutting import Cutter, body_ruler
from mdvec.chunking.interface import TokenEnds, TokenEstimate
from mdvec.chunking.outline import (
    ALL_LEVELS,
    SectionGroup,
    checked_levels,
    group_sections,
    join_neighbours,
    sections_at,
    sections_with_text,
)
from mdvec.chunking.writing import ChunkWriter, context_line
from mdvec.errors import ConfigError
from mdvec.types.chunk import CutDocument
from mdvec.types.document import Document, Section, places_of

DEFAULT_MAX_TOKENS: Final = 400
"""With its context and prefix, such a chunk fits into the 512 tokens that small embedders read."""
DEFAULT_MIN_TOKENS: Final = 60
"""Smaller sections contain too little to be found by meaning alone."""

_VERSION = 2


class SectionSettings(settings.SettingsSection, frozen=True, kw_only=True):
    """The sizes it knows; see :class:`SectionChunker`."""

    max_tokens: settings.ChunkTokens | None = None
    min_tokens: settings.Overlap | None = None
    overlap_tokens: settings.Overlap | None = None
    levels: settings.Levels | None = None


class SectionChunker:
    """Cuts documents along their section tree.

    One chunk per section, and per page of a file that was converted; small siblings share one, large sections
    are cut into even parts (see
    :func:`~mdvec.chunking.outline.group_sections` and :class:`~mdvec.chunking.cutting.Cutter`). A chunk
    is named after the first section in it that has text of its own; when it holds several, its
    context names what they share.

    Args:
        token_ends: Tokenises a text; called once per document.
        max_tokens: No chunk's text has more. The line of context and an embedder's prefix come on top.
        min_tokens: Sections with fewer join a neighbour that has room; 0 joins none.
            None joins only small siblings, up to :data:`DEFAULT_MIN_TOKENS`, so that sections of good size
            keep their subject.
        overlap_tokens: Parts of one section after the first repeat about so many tokens; at most half
            of ``max_tokens`` is.
        levels: Headings of these levels start a section; others are text of the section above.
        tokenizer_name: Part of the fingerprint, because another tokenizer cuts elsewhere.
        token_limit: Not used: chunks are limited by ``max_tokens``.
        token_estimate: Avoids counting tokens of sections far from both limits; None counts all.

    Raises:
        ConfigError: If a number of tokens is out of range, or a level.
    """

    Settings = SectionSettings
    takes_token_estimate: ClassVar[bool] = True

    def __init__(
        self,
        *,
        token_ends: TokenEnds,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        min_tokens: int | None = None,
        overlap_tokens: int = 0,
        levels: Sequence[int] = ALL_LEVELS,
        tokenizer_name: str = "",
        token_limit: int | None = None,  # noqa: ARG002 - every chunker receives it
        token_estimate: TokenEstimate | None = None,
    ) -> None:
        if max_tokens < 1:
            msg = f"max_tokens is {max_tokens}, but must be at least 1"
            raise ConfigError(msg)
        if (min_tokens or 0) < 0 or overlap_tokens < 0:
            msg = "min_tokens and overlap_tokens cannot be negative"
            raise ConfigError(msg)
        self._token_ends = token_ends
        self._token_estimate = token_estimate
        self._max_tokens = max_tokens
        self._joins_neighbours = min_tokens is not None
        self._min_tokens = min(DEFAULT_MIN_TOKENS if min_tokens is None else min_tokens, max_tokens)
        self._overlap_tokens = min(overlap_tokens, max_tokens // 2)
        self._levels = checked_levels(levels)
        self._tokenizer_name = tokenizer_name

    @property
    def fingerprint(self) -> str:
        levels = "" if self._levels == ALL_LEVELS else f":levels={','.join(map(str, self._levels))}"
        joined = ":joined=2" if self._joins_neighbours else ""
        return (
            f"sections/{_VERSION}:max={self._max_tokens}:min={self._min_tokens}"
            f":overlap={self._overlap_tokens}{levels}{joined}:{self._tokenizer_name}"
        )

    def chunk(self, document: Document) -> CutDocument:
        sections = sections_at(document.sections, self._levels)
        limits = (self._min_tokens, self._max_tokens)
        ruler = body_ruler(document, self._token_ends, self._token_estimate, limits=limits)
        cutter = Cutter(
            document.body,
            document.blocks,
            ruler,
            max_tokens=self._max_tokens,
            overlap_tokens=self._overlap_tokens,
            places=[at for at, _ in places_of(document.comments)],
            least_place_tokens=self._min_tokens,
        )

        def size(group: SectionGroup) -> int:
            return ruler.count(sections[group.first].start, sections[group.last].end)

        sizes = {"max_tokens": self._max_tokens, "min_tokens": self._min_tokens}
        has_text = sections_with_text(document, sections)
        groups: Iterable[SectionGroup] = group_sections(sections, has_text=has_text, size=size, **sizes)
        if self._joins_neighbours:
            groups = join_neighbours(groups, sections, size=size, **sizes)
        pieces: Iterable[_Piece] = (
            _Piece(start, end, group, (group,) if number == 0 else ())
            for group in groups
            for number, (start, end) in enumerate(
                cutter.pieces(sections[group.first].start, sections[group.last].end)
            )
        )
        if self._joins_neighbours:
            pieces = _joined_pieces(pieces, ruler.count, **sizes)
        writer = ChunkWriter(document, sections, ruler)
        for piece in pieces:
            for group in piece.begun:
                writer.enter(group.first, group.last)
            named = sections[piece.group.named_after]
            context = context_line(document, _shared_path(piece.group, sections))
            writer.write(piece.start, piece.end, named=named, context=context)
        return CutDocument(writer.chunks)


class _Piece(NamedTuple):
    """What becomes a chunk: a part of a group of sections, or several parts.

    Attributes:
        start: First character.
        end: One past the last.
        group: The group that it is named after.
        begun: The groups that begin in it.
    """

    start: int
    end: int
    group: SectionGroup
    begun: tuple[SectionGroup, ...]


def _joined_pieces(
    pieces: Iterable[_Piece], count: Callable[[int, int], int], *, max_tokens: int, min_tokens: int
) -> Iterator[_Piece]:
    """Yield pieces, small ones joined with the one before or after that has room, named after the larger."""
    before: _Piece | None = None
    for piece in pieces:
        if before is None:
            before = piece
            continue
        sizes = count(before.start, before.end), count(piece.start, piece.end)
        if min(sizes) < min_tokens and count(before.start, piece.end) <= max_tokens:
            group = before.group if sizes[0] >= sizes[1] else piece.group
            before = _Piece(before.start, piece.end, group, before.begun + piece.begun)
        else:
            yield before
            before = piece
    if before is not None:
        yield before


def _shared_path(group: SectionGroup, sections: Sequence[Section]) -> tuple[str, ...]:
    named = sections[group.named_after]
    if group.sections_with_text == 1 or named.parent is None:
        return named.heading_path
    return sections[named.parent].heading_path
