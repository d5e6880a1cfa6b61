"""The text of a hit: its passage, and the text around it if the caller asks for it, within a budget."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Self, assert_never

from msgspec import Struct
from msgspec.structs import replace

from mdvec.stores.interface import View
from mdvec.stores.records import StoredChunk
from mdvec.text.sentences import sentence_ends
from mdvec.text.tokens import estimate_token_count, estimate_token_ends
from mdvec.types.query import Expansion

# The share of the tokens around a passage that the text before it gets.
_SHARE_BEFORE = 0.25


class Extract(Struct, frozen=True):
    """A stretch of a document to be returned. ``text`` is ``body[start:end]``.

    Attributes:
        start: First character.
        end: One past the last.
        start_line: 1-based first line.
        end_line: 1-based last line.
        text: The stretch itself.
        tokens: Estimated number of tokens.
        cut_lines: Ranges of lines, such as ``12:40``, that were cut because they did not fit.
    """

    start: int
    end: int
    start_line: int
    end_line: int
    text: str
    tokens: int
    cut_lines: tuple[str, ...] = ()

    def is_part_of(self, other: Self) -> bool:
        """Return True if it is a part of another stretch of the same document."""
        return other.start <= self.start and self.end <= other.end

    def part(self, begin: int, end: int) -> Self:
        """Return a part of it, with the lines that were cut.

        Args:
            begin: Its first character, counted from the start of this one.
            end: One past its last, likewise.
        """
        text = self.text[begin:end]
        first = self.start_line + self.text.count("\n", 0, begin)
        last = first + text[:-1].count("\n")
        cut: list[str] = []
        if self.text[:begin].strip():
            between_lines = self.text.startswith("\n", begin - 1)
            cut.append(f"{self.start_line}:{first - between_lines}")
        if self.text[end:].strip():
            between_lines = "\n" in self.text[end - 1 : end + 1]
            cut.append(f"{last + 1 if between_lines else last}:{self.end_line}")
        tokens = estimate_token_count(text)
        start = self.start + begin
        return replace(
            self,
            start=start,
            end=start + len(text),
            start_line=first,
            end_line=last,
            text=text,
            tokens=tokens,
            cut_lines=tuple(cut),
        )


def passage_of(chunks: Sequence[StoredChunk], body: str) -> Extract:
    """Return the text of neighbouring chunks of one document; overlaps appear once.

    Args:
        chunks: In the order of the document.
        body: The text of the document; not needed for one chunk.
    """
    first, last = chunks[0], chunks[-1]
    if len(chunks) == 1:
        tokens = first.token_count or estimate_token_count(first.text)  # properties alone count as no text
        return Extract(first.start, first.end, first.start_line, first.end_line, first.text, tokens)
    return _extract(body, first.start, last.end)


def expanded(
    passage: Extract,
    chunks: Sequence[StoredChunk],
    best: StoredChunk,
    expansion: Expansion,
    body: str,
    view: View,
) -> Extract:
    """Return a passage with the text around it that an expansion asks for.

    ``section`` is the section of the best chunk with its subsections, ``neighbours`` one chunk before and one
    after, ``document`` the whole document.

    Args:
        passage: The passage itself.
        chunks: Its chunks, in the order of the document.
        best: The one for which it was found.
        expansion: How much is wanted.
        body: The text of the document; not needed for the passage alone.
        view: The snapshot.
    """
    match expansion:
        case Expansion.PASSAGE | Expansion.CHUNK:
            return passage
        case Expansion.DOCUMENT:
            return _extract(body, 0, len(body))
        case Expansion.SECTION | Expansion.NEIGHBOURS:
            every = view.chunks.of_document(best.document_id)
            first, last = _reach(every, chunks, best, expansion)
            end = max(each.end for each in every[first : last + 1])
            return _extract(body, min(passage.start, every[first].start), max(passage.end, end))
        case _:
            assert_never(expansion)


def _extract(body: str, start: int, end: int) -> Extract:
    text = body[start:end]
    start_line = body.count("\n", 0, start) + 1
    end_line = start_line + text[:-1].count("\n")
    return Extract(start, end, start_line, end_line, text, estimate_token_count(text))


def fit(
    passage: Extract, wanted: Extract, tokens_left: int | None, more_left: int, *, first: bool
) -> Extract | None:
    """Choose what fits a budget.

    Args:
        passage: What was found.
        wanted: The passage with the text around it; may be the passage itself.
        tokens_left: Tokens left for all hits; None for no limit.
        more_left: Tokens left for hits with text around their passages.
        first: Whether this is the first hit; its passage is cut rather than left out.

    Returns:
        ``wanted``, or as much of it around the passage as fits, or the beginning of the first passage;
        None if nothing fits.
    """
    if tokens_left is not None and passage.tokens > tokens_left:
        return _beginning(passage, wanted, tokens_left) if first else None
    room = more_left if tokens_left is None else min(tokens_left, more_left)
    return _around(passage, wanted, max(passage.tokens, room))


def _around(passage: Extract, wanted: Extract, room: int) -> Extract:
    """Cut ``wanted`` to ``room`` tokens, in whole lines: from its start if the passage fits in then."""
    if wanted.tokens <= room:
        return wanted
    begin, end = passage.start - wanted.start, passage.end - wanted.start
    ends = estimate_token_ends(wanted.text)
    before, upto = bisect_right(ends, begin), bisect_right(ends, end)
    first = 0 if upto <= room else before - int(_SHARE_BEFORE * max(0, room - (upto - before)))
    start = ends[first - 1] if first else 0
    stop = ends[min(len(ends), max(upto, first + room)) - 1]
    line_start = wanted.text.find("\n", start, begin) + 1
    line_end = wanted.text.rfind("\n", end, stop)
    return wanted.part(0 if not first else line_start or begin, end if line_end < 0 else line_end)


def _beginning(passage: Extract, wanted: Extract, most_tokens: int) -> Extract:
    """Keep the beginning of a passage, up to the end of a sentence when there is one."""
    ends = estimate_token_ends(passage.text)
    limit = ends[min(most_tokens, len(ends)) - 1] if ends else len(passage.text)
    end = max((stop for stop in sentence_ends(passage.text[:limit]) if stop < limit), default=limit)
    kept = len(passage.text[: end if end >= limit // 2 else limit].rstrip())
    begin = passage.start - wanted.start
    return wanted.part(begin, begin + kept)


def _reach(
    every: Sequence[StoredChunk], chunks: Sequence[StoredChunk], best: StoredChunk, expansion: Expansion
) -> tuple[int, int]:
    """Return the indexes of the first and the last chunk to show around a passage."""
    at = {each.ordinal: index for index, each in enumerate(every)}
    if expansion is Expansion.NEIGHBOURS:
        return max(0, at[chunks[0].ordinal] - 1), min(len(every) - 1, at[chunks[-1].ordinal] + 1)
    first = last = at[best.ordinal]
    path = every[first].heading_path
    while first > 0 and _is_below(every[first - 1], path):
        first -= 1
    while last + 1 < len(every) and _is_below(every[last + 1], path):
        last += 1
    return first, last


def _is_below(chunk: StoredChunk, path: tuple[str, ...]) -> bool:
    """Return True if a chunk is in the section of a heading path; without one, above the first heading."""
    return chunk.heading_path[: len(path)] == path if path else not chunk.heading_path
