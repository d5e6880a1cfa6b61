"""Chunks along headings, with a limited number of characters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

from msgspec import Struct

from mdvec import settings
from mdvec.chunking.cutting import Cutter, TokenRuler, body_ruler
from mdvec.chunking.interface import TokenEnds, TokenEstimate
from mdvec.chunking.outline import checked_levels, sections_at, sections_with_text, text_units
from mdvec.chunking.writing import ChunkWriter, context_line
from mdvec.errors import ConfigError
from mdvec.types.chunk import CutDocument
from mdvec.types.document import Document, Section, places_of

DEFAULT_MAX_CHARS: Final = 3000
DEFAULT_MIN_CHARS: Final = 50
DEFAULT_LEVELS: Final = (1, 2, 3)

_VERSION = 2


class HeadingSettings(settings.SettingsSection, frozen=True, kw_only=True):
    """The sizes it knows; see :class:`HeadingChunker`."""

    max_chars: settings.Count | None = None
    min_chars: settings.Overlap | None = None
    levels: settings.Levels | None = None


class HeadingChunker:
    """Cuts documents at headings, and where a text under a heading is too long, at ends of sentences.

    Files that were converted are cut at their pages, too; plain text is cut at blank lines instead. A text
    that is too small joins a neighbour: a section below it or a small one after it, else the one before, else
    the one after. If none has room, it stays small. A chunk is named after the section that the others
    joined.

    Args:
        token_ends: Tokenises a text; called once per document, to count the tokens of its chunks.
        max_chars: No chunk's text is longer.
        min_chars: Texts that are shorter join a neighbour; 0 joins none.
        levels: Headings of these levels are cut at; others are text of the section above.
        tokenizer_name: Part of the fingerprint, because another tokenizer counts otherwise.
        token_limit: Not used: chunks are limited by ``max_chars``.
        token_estimate: Used instead of counting; None counts.

    Raises:
        ConfigError: If a number of characters is out of range, or a level.
    """

    Settings = HeadingSettings
    takes_token_estimate: ClassVar[bool] = True

    def __init__(
        self,
        *,
        token_ends: TokenEnds,
        max_chars: int = DEFAULT_MAX_CHARS,
        min_chars: int = DEFAULT_MIN_CHARS,
        levels: Sequence[int] = DEFAULT_LEVELS,
        tokenizer_name: str = "",
        token_limit: int | None = None,  # noqa: ARG002 - every chunker receives it
        token_estimate: TokenEstimate | None = None,
    ) -> None:
        if max_chars < 1:
            msg = f"max_chars is {max_chars}, but must be at least 1"
            raise ConfigError(msg)
        if not 0 <= min_chars <= max_chars:
            msg = f"min_chars is {min_chars}, but must be from 0 to max_chars, which is {max_chars}"
            raise ConfigError(msg)
        self._token_ends = token_ends
        self._token_estimate = token_estimate
        self._max_chars = max_chars
        self._min_chars = min_chars
        self._levels = checked_levels(levels)
        self._tokenizer_name = tokenizer_name

    @property
    def fingerprint(self) -> str:
        levels = ",".join(map(str, self._levels))
        return (
            f"headings/{_VERSION}:max={self._max_chars}:min={self._min_chars}"
            f":levels={levels}:{self._tokenizer_name}"
        )

    def chunk(self, document: Document) -> CutDocument:
        sections = sections_at(document.sections, self._levels)
        has_text = sections_with_text(document, sections)
        pieces = list(self._pieces(document, sections, has_text))
        ruler = body_ruler(document, self._token_ends, self._token_estimate, limits=())
        writer = ChunkWriter(document, sections, ruler)
        for piece in self._without_small(pieces, sections, has_text):
            named = sections[piece.named_after]
            writer.enter(piece.first, piece.last)
            context = context_line(document, named.heading_path)
            writer.write(piece.start, piece.end, named=named, context=context)
        return CutDocument(writer.chunks)

    def _pieces(
        self, document: Document, sections: Sequence[Section], has_text: Sequence[bool]
    ) -> Iterator[_Piece]:
        """Cut at headings or paragraphs, then what is still too long."""
        characters = TokenRuler(range(1, len(document.body) + 1))
        cutter = Cutter(
            document.body,
            document.blocks,
            characters,
            max_tokens=self._max_chars,
            least_rest_tokens=self._min_chars,
            places=[at for at, _ in places_of(document.comments)],
            least_place_tokens=self._min_chars,
        )
        if document.is_plain:
            for block in document.blocks:
                for start, end in cutter.pieces(block.start, block.end):
                    yield _Piece(start, end, first=0, named_after=0, last=0)
            return
        for unit in text_units(sections, has_text):
            for start, end in cutter.pieces(sections[unit.first].start, sections[unit.last].end):
                yield _Piece(start, end, unit.first, unit.named_after, unit.last)

    # --- small pieces --------------------------------------------------------------------------------

    def _without_small(
        self, pieces: Sequence[_Piece], sections: Sequence[Section], has_text: Sequence[bool]
    ) -> list[_Piece]:
        done: list[_Piece] = []
        for piece in pieces:
            if done and self._is_small(done[-1]):
                before = done[-1]
                belongs_here = sections[piece.first].parent == before.named_after or self._is_small(piece)
                cannot_go_back = len(done) == 1 or not self._fit(done[-2], before)
                if (belongs_here or cannot_go_back) and self._fit(before, piece):
                    done[-1] = self._joined(before, piece, has_text)
                    continue
                self._join_last_with_previous(done, has_text)
            done.append(piece)
        self._join_last_with_previous(done, has_text)
        return done

    def _join_last_with_previous(self, done: list[_Piece], has_text: Sequence[bool]) -> None:
        """Let the last piece join the one before, if it is small and there is room."""
        if len(done) > 1 and self._is_small(done[-1]) and self._fit(done[-2], done[-1]):
            last = done.pop()
            done[-1] = self._joined(done[-1], last, has_text)

    def _joined(self, before: _Piece, after: _Piece, has_text: Sequence[bool]) -> _Piece:
        named = before.named_after
        if self._is_small(before) and not (self._is_small(after) and has_text[named]):
            named = after.named_after
        return _Piece(before.start, after.end, before.first, named, after.last)

    def _is_small(self, piece: _Piece) -> bool:
        return piece.end - piece.start < self._min_chars

    def _fit(self, before: _Piece, after: _Piece) -> bool:
        return after.end - before.start <= self._max_chars


class _Piece(Struct, frozen=True):
    """A span, and the sections it belongs to: their ordinals."""

    start: int
    end: int
    first: int
    named_after: int
    last: int
