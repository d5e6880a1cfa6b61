"""Cuts a text that is too long for one chunk."""

from __future__ import annotations

import bisect
import re
from array import array
from collections.abc import Iterator, Sequence

from msgspec import Struct

from mdvec.chunking.graphemes import is_inside_cluster
from mdvec.chunking.interface import TokenEnds, TokenEstimate
from mdvec.text.sentences import sentence_ends
from mdvec.types.document import Block, BlockKind, Document

# A part is at least this much of the even share: parts get balanced, yet good places are in reach.
_MIN_SHARE = 0.5
# How many code points a cut moves back to keep a grapheme cluster whole; longer clusters are split.
_MAX_CLUSTER = 64

_SOLID = re.compile(r"\S")
_SPACE = re.compile(r"\s+")
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
_LINE_END = re.compile(r"\n")

# How far an estimate may be off: by a factor and a few tokens.
_ESTIMATE_FACTOR = 1.3
_ESTIMATE_TOKENS = 8
# In a longer document, some section is near a limit anyway.
_MAX_ESTIMATED_CHARS = 100_000


def body_token_ends(document: Document, token_ends: TokenEnds) -> Sequence[int]:
    """Tokenise the text after the frontmatter; the ends are positions in the body."""
    import numpy as np

    begin = document.content_start
    ends = token_ends(document.body[begin:])
    return array("i", (np.array(ends, np.int32) + np.int32(begin)).tobytes()) if begin else ends


class TokenRuler:
    """Measures spans of a text in tokens. The text is tokenised once.

    If every position is the end of a token, it measures in characters.

    Args:
        ends: One past the last character of each token, ascending.
    """

    def __init__(self, ends: Sequence[int]) -> None:
        self._ends = ends

    def count(self, start: int, end: int) -> int:
        """Return the number of tokens that end in ``(start, end]``."""
        return bisect.bisect_right(self._ends, end) - bisect.bisect_right(self._ends, start)

    def measure(self, start: int, end: int) -> int:
        """Return the number of tokens to be shown; it may be an estimate."""
        return self.count(start, end)

    @property
    def exact(self) -> TokenRuler:
        """A ruler that counts exactly: this one."""
        return self

    def reach(self, start: int, tokens: int, *, limit: int) -> int:
        """Return the furthest end of a span from ``start`` with at most ``tokens`` tokens."""
        index = bisect.bisect_right(self._ends, start) + tokens
        return min(limit, self._ends[index] - 1) if index < len(self._ends) else limit

    def back(self, end: int, tokens: int, *, limit: int) -> int:
        """Return the start of a span of ``tokens`` tokens that ends at ``end``, at the earliest ``limit``."""
        index = bisect.bisect_right(self._ends, end) - tokens - 1
        return max(limit, self._ends[index]) if index >= 0 else limit

    def last_token_end(self, start: int, end: int) -> int:
        """Return the end of the last token that ends in ``(start, end]``, else ``end``."""
        index = bisect.bisect_right(self._ends, end) - 1
        return self._ends[index] if index >= 0 and self._ends[index] > start else end


class EstimatingRuler:
    """Measures spans like a :class:`TokenRuler`, but tokenises only if a limit depends on it.

    As long as every span is far from every limit, it returns estimates. At the first span that is near one,
    it tokenises the whole text.

    Args:
        document: Its body is measured.
        token_ends: Tokenises.
        estimate: Estimates.
        limits: The numbers of tokens that :meth:`count` is compared with.
    """

    def __init__(
        self, document: Document, token_ends: TokenEnds, estimate: TokenEstimate, *, limits: Sequence[int]
    ) -> None:
        self._document = document
        self._token_ends = token_ends
        self._totals = estimate(document.body)
        self._limits = limits
        self._exact: TokenRuler | None = None

    @property
    def exact(self) -> TokenRuler:
        """A ruler that counts exactly."""
        if self._exact is None:
            self._exact = TokenRuler(body_token_ends(self._document, self._token_ends))
        return self._exact

    def count(self, start: int, end: int) -> int:
        """Return the number of tokens; an estimate is on the right side of every limit."""
        estimate = float(self._totals[end] - self._totals[start])
        low = (estimate - _ESTIMATE_TOKENS) / _ESTIMATE_FACTOR
        high = estimate * _ESTIMATE_FACTOR + _ESTIMATE_TOKENS
        if self._exact is not None or any(low <= limit <= high for limit in self._limits):
            return self.exact.count(start, end)
        return max(1, round(estimate))

    def measure(self, start: int, end: int) -> int:
        """Return the number of tokens to be shown: an estimate unless the text is tokenised."""
        if self._exact is not None:
            return self._exact.count(start, end)
        return max(1, round(float(self._totals[end] - self._totals[start])))


def body_ruler(
    document: Document, token_ends: TokenEnds, estimate: TokenEstimate | None, *, limits: Sequence[int]
) -> TokenRuler | EstimatingRuler:
    """Return the ruler for a document's body; it estimates if it can and no limit is near."""
    if estimate is None or len(document.body) > _MAX_ESTIMATED_CHARS:
        return TokenRuler(body_token_ends(document, token_ends))
    return EstimatingRuler(document, token_ends, estimate, limits=limits)


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """Leave white space out of a span.

    Returns:
        Start and end without blank lines at the start and white space at the end. The indentation of
        a first line stays, because it may be what makes the line code or a nested item; a span
        that starts inside a line starts at its first word. Equal when the span is blank.
    """
    first = trimmed_start(text, start, end)
    return first, first + len(text[first:end].rstrip())


def trimmed_start(text: str, start: int, end: int) -> int:
    """Return the start that :func:`trim` returns, or ``end`` for a blank span, without reading on."""
    word = first_solid(text, start, end)
    if word == end:
        return end
    line_start = text.rfind("\n", start, word) + 1
    if line_start:
        return line_start
    return start if start == 0 or text[start - 1] == "\n" else word


def first_solid(text: str, start: int, end: int) -> int:
    """Return the first position that is not white space, ``end`` when there is none."""
    match = _SOLID.search(text, start, end)
    return match.start() if match else end


class _Window(Struct, frozen=True):
    """The range of the next cut: ``low`` to ``high``, as near to ``target`` as possible."""

    low: int
    target: int
    high: int


class Cutter:
    """Cuts spans of one document.

    Args:
        text: The body of the document.
        blocks: Its blocks, in order.
        ruler: Measures the text.
        max_tokens: No part holds more.
        overlap_tokens: About how many tokens of the previous part are repeated.
        least_rest_tokens: Fill each part up to the limit, but leave this many tokens for the last; None makes
            parts of about the same size.
        places: Where the parts of a file that was converted begin, ascending: a span is cut there first.
        least_place_tokens: Not where less than this is left on one side.
    """

    def __init__(
        self,
        text: str,
        blocks: Sequence[Block],
        ruler: TokenRuler | EstimatingRuler,
        *,
        max_tokens: int,
        overlap_tokens: int = 0,
        least_rest_tokens: int | None = None,
        places: Sequence[int] = (),
        least_place_tokens: int = 0,
    ) -> None:
        self._text = text
        self._blocks = blocks
        self._block_starts = [block.start for block in blocks]
        self._whole = ruler
        self._ruler = TokenRuler(())  # until something has to be cut
        self._max_tokens = max_tokens
        self._overlap_tokens = overlap_tokens
        self._least_rest_tokens = least_rest_tokens
        self._places = places
        self._least_place_tokens = least_place_tokens
        self._ends_in_block: dict[tuple[int, bool], list[int]] = {}

    def pieces(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Cut a span into parts that are small enough, of one page if pages have enough text.

        The parts get about the same size (the rest is divided evenly anew before each cut) or are filled up.
        A cut is made at the best place within reach, in this order: between blocks; at a blank line in a
        block; at the end of a sentence (in lists and tables: of a line); at the end of any line; at white
        space; between characters. Places inside a fence come last. A fence that fits into one part is never
        cut, even if the part before gets short.

        Yields:
            Trimmed spans in order. Starts and ends ascend; without overlap they do not overlap.
        """
        first, last = bisect.bisect_right(self._places, start), bisect.bisect_left(self._places, end)
        for at in self._places[first:last]:
            if min(self._whole.count(start, at), self._whole.count(at, end)) >= self._least_place_tokens:
                yield from self._even_parts(start, at)
                start = at
        yield from self._even_parts(start, end)

    def _even_parts(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        begin, end = trim(self._text, start, end)
        if self._whole.count(begin, end) <= self._max_tokens:
            if begin < end:
                yield begin, end
            return
        self._ruler = self._whole.exact
        fresh = begin  # the text before is in a part already; with overlap begin is further back
        while self._ruler.count(begin, end) > self._max_tokens:
            solid = first_solid(self._text, fresh, end)
            if self._ruler.reach(begin, self._max_tokens, limit=end) <= solid:
                begin = solid  # neither repetition nor indentation leaves room for a new character
            cut = self._next_cut(begin, solid, end)
            yield trim(self._text, begin, cut)
            fresh = trimmed_start(self._text, cut, end)
            if fresh == end:
                return
            begin = self._overlapped(begin, fresh)
        if begin < end:
            yield begin, end

    # --- one cut -------------------------------------------------------------------------------------

    def _next_cut(self, begin: int, solid: int, end: int) -> int:
        ruler, total = self._ruler, self._ruler.count(begin, end)
        most = self._max_tokens
        if self._least_rest_tokens is None:
            share = -(-total // -(-total // most))
        else:
            share = most = max(1, min(most, total - self._least_rest_tokens))
        high = max(solid + 1, ruler.reach(begin, most, limit=end - 1))
        target = max(solid + 1, ruler.reach(begin, share, limit=high))
        low = min(target, max(solid + 1, ruler.reach(begin, int(share * _MIN_SHARE), limit=high)))
        window = _Window(low, target, high)
        if (place := self._nearest(self._block_bounds(window), window)) is not None:
            return place
        if (place := self._before_whole_fence(solid, window)) is not None:
            return place
        for places in (
            self._matches(_BLANK_LINE, window),
            self._sentence_ends(window, lines_in=BlockKind.OTHER),
            self._sentence_ends(window),
            self._matches(_LINE_END, window),
            self._matches(_SPACE, window),
            *(self._matches(pattern, window, in_fences=True) for pattern in (_BLANK_LINE, _LINE_END, _SPACE)),
        ):
            if (place := self._nearest(places, window)) is not None:
                return place
        return self._between_characters(begin, solid, target)

    def _nearest(self, places: Iterator[int], window: _Window) -> int | None:
        best: int | None = None
        for place in places:
            if not window.low <= place <= window.high or is_inside_cluster(self._text, place):
                continue
            if best is None or abs(place - window.target) < abs(best - window.target):
                best = place
        return best

    def _before_whole_fence(self, solid: int, window: _Window) -> int | None:
        """Return the start of a fence that fits whole only into the next part."""
        index = self._block_at(window.high)
        if index is None or self._blocks[index].kind is not BlockKind.FENCE:
            return None
        fence = self._blocks[index]
        fits = self._ruler.count(fence.start, fence.end) <= self._max_tokens
        return fence.start if fence.start > solid and fence.end > window.high and fits else None

    def _between_characters(self, begin: int, solid: int, target: int) -> int:
        place = max(solid + 1, self._ruler.last_token_end(begin, target))
        for back in range(place, max(solid, place - _MAX_CLUSTER), -1):
            if not is_inside_cluster(self._text, back):
                return back
        return place

    # --- places of each kind -------------------------------------------------------------------------

    def _block_bounds(self, window: _Window) -> Iterator[int]:
        first = bisect.bisect_left(self._block_starts, window.low)
        for index in range(first, bisect.bisect_right(self._block_starts, window.high)):
            # A heading stays with what it introduces.
            if index == 0 or self._blocks[index - 1].kind is not BlockKind.HEADING:
                yield self._block_starts[index]

    def _sentence_ends(self, window: _Window, *, lines_in: BlockKind | None = None) -> Iterator[int]:
        """Yield the ends of sentences; in blocks of a kind, those of lines instead."""
        first = max(0, bisect.bisect_right(self._block_starts, window.low) - 1)
        for index in range(first, bisect.bisect_right(self._block_starts, window.high)):
            block = self._blocks[index]
            if block.kind is BlockKind.FENCE:
                continue
            by_line = block.kind is lines_in
            ends = self._ends_in_block.get((index, by_line))
            if ends is None:
                text = self._text[block.start : block.end]
                found = [m.end() for m in _LINE_END.finditer(text)] if by_line else sentence_ends(text)
                ends = self._ends_in_block[index, by_line] = [block.start + end for end in found]
            yield from ends[bisect.bisect_left(ends, window.low) : bisect.bisect_right(ends, window.high)]

    def _matches(
        self, pattern: re.Pattern[str], window: _Window, *, in_fences: bool = False
    ) -> Iterator[int]:
        first, last = (bisect.bisect_left(self._block_starts, each) for each in (window.low, window.high))
        has_fence = any(each.kind is BlockKind.FENCE for each in self._blocks[max(0, first - 1) : last])
        for match in pattern.finditer(self._text, max(0, window.low - 1), window.high):
            if in_fences or not (has_fence and self._in_fence(match.end())):
                yield match.end()

    # --- blocks --------------------------------------------------------------------------------------

    def _block_at(self, position: int) -> int | None:
        """Return the block that contains this position, but does not start there."""
        index = bisect.bisect_left(self._block_starts, position) - 1
        return index if index >= 0 and position < self._blocks[index].end else None

    def _in_fence(self, position: int) -> bool:
        index = self._block_at(position)
        return index is not None and self._blocks[index].kind is BlockKind.FENCE

    # --- overlap -------------------------------------------------------------------------------------

    def _overlapped(self, begin: int, fresh: int) -> int:
        """Return the start of a part that repeats the end of the one before, preferably whole sentences."""
        if not self._overlap_tokens or self._in_fence(fresh):
            return fresh
        earliest = self._ruler.back(fresh, self._overlap_tokens, limit=begin + 1)
        window = _Window(earliest, earliest, fresh)
        starts = (trimmed_start(self._text, end, fresh) for end in self._sentence_ends(window))
        words = (trimmed_start(self._text, end, fresh) for end in self._matches(_SPACE, window))
        anywhere = iter(range(earliest, min(fresh, earliest + _MAX_CLUSTER)))
        for place in (*self._block_bounds(window), *starts, *words, *anywhere):
            if earliest <= place < fresh and self._can_start(place):
                return place
        return fresh

    def _can_start(self, place: int) -> bool:
        return not (
            self._text[place].isspace() or self._in_fence(place) or is_inside_cluster(self._text, place)
        )
