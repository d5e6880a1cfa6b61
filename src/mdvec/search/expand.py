"""The text of a hit: more than the found chunk where the caller wants that, within its budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mdvec.errors import StoreError
from mdvec.stores.interface import View
from mdvec.stores.records import StoredChunk
from mdvec.text.sentences import sentence_ends
from mdvec.text.tokens import estimate_token_count, estimate_token_ends
from mdvec.types.query import Expansion


@dataclass(frozen=True, slots=True)
class Extract:
    """A stretch of a document to be returned. ``text`` is ``body[start:end]``.

    Attributes:
        start: First character.
        end: One past the last.
        start_line: 1-based first line.
        end_line: 1-based last line.
        text: The stretch itself.
        tokens: How many tokens it has, about.
    """

    start: int
    end: int
    start_line: int
    end_line: int
    text: str
    tokens: int


def extract(chunk: StoredChunk, expansion: Expansion, view: View) -> Extract:
    """Return the text around a found chunk that the caller wants to see.

    ``section`` is the chunk's section with its subsections, ``neighbours`` one chunk before and one
    after, ``document`` the whole document.
    """
    if expansion is Expansion.CHUNK:
        return Extract(
            chunk.start, chunk.end, chunk.start_line, chunk.end_line, chunk.text, chunk.token_count
        )
    chunks = view.document_chunks(chunk.document_id)
    document = view.find_document(chunk.collection_id, chunk.path)
    if document is None:
        msg = f"chunk {chunk.id} has no document"
        raise StoreError(msg)
    if expansion is Expansion.DOCUMENT:
        start, end = 0, len(document.body)
    else:
        at = next((index for index, other in enumerate(chunks) if other.ordinal == chunk.ordinal), 0)
        first, last = _reach(chunks, at, expansion)
        start, end = chunks[first].start, max(other.end for other in chunks[first : last + 1])
    text = document.body[start:end]
    start_line = document.body.count("\n", 0, start) + 1
    end_line = start_line + text[:-1].count("\n")
    return Extract(start, end, start_line, end_line, text, estimate_token_count(text))


def _reach(chunks: Sequence[StoredChunk], at: int, expansion: Expansion) -> tuple[int, int]:
    """Return the first and last of the chunks to be shown around the one at ``at``."""
    if expansion is Expansion.NEIGHBOURS:
        return max(0, at - 1), min(len(chunks) - 1, at + 1)
    path = chunks[at].heading_path
    first = last = at
    while first > 0 and _is_below(chunks[first - 1], path):
        first -= 1
    while last + 1 < len(chunks) and _is_below(chunks[last + 1], path):
        last += 1
    return first, last


def _is_below(chunk: StoredChunk, path: tuple[str, ...]) -> bool:
    """Return True if a chunk is in the section of a heading path; without one, above the first heading."""
    return chunk.heading_path[: len(path)] == path if path else not chunk.heading_path


def fit(wanted: Extract, fallback: Extract, tokens_left: int, *, first: bool) -> Extract | None:
    """Choose what fits a token budget.

    Args:
        wanted: The expanded text.
        fallback: The chunk alone.
        tokens_left: What is left of the budget.
        first: Whether nothing was returned yet; the first one is cut rather than dropped.

    Returns:
        The larger one that fits, a cut one when it is the first, or None.
    """
    for choice in (wanted, fallback):
        if choice.tokens <= tokens_left:
            return choice
    return _cut(fallback, tokens_left) if first else None


def _cut(whole: Extract, max_tokens: int) -> Extract:
    """Keep the beginning, up to the end of a sentence when there is one."""
    ends = estimate_token_ends(whole.text)
    limit = ends[min(max_tokens, len(ends)) - 1] if ends else len(whole.text)
    end = max((stop for stop in sentence_ends(whole.text[:limit]) if stop < limit), default=limit)
    text = whole.text[: end if end >= limit // 2 else limit].rstrip()
    return Extract(
        whole.start,
        whole.start + len(text),
        whole.start_line,
        whole.start_line + text.count("\n"),
        text,
        min(max_tokens, len(ends)),
    )
