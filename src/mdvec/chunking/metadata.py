"""The chunk of a document without text: its frontmatter, under its names."""

from __future__ import annotations

from mdvec.types.chunk import Chunk
from mdvec.types.document import Document

_MAX_CONTEXT_CHARS = 400
_FENCES = ("---", "+++")


def metadata_chunk(document: Document) -> Chunk:
    """Return the one chunk of a document that has no text of its own.

    Its text is the inside of the frontmatter, which may be empty; its context names the title, the file, the
    aliases and the tags, so that the document is found by them.
    """
    start, end = _metadata_span(document.body, document.content_start)
    text = document.body[start:end]
    first_line = document.body.count("\n", 0, start) + 1
    names = " › ".join(document.names)
    labels = " ".join((names, *(f"#{tag}" for tag in document.tags)))
    return Chunk(
        ordinal=0,
        parent=None,
        depth=0,
        heading="",
        heading_path=(),
        start=start,
        end=end,
        start_line=first_line,
        end_line=first_line + text.count("\n"),
        token_count=0,  # it has no text
        text=text,
        context=" ".join(labels.split())[:_MAX_CONTEXT_CHARS],
    )


def _metadata_span(body: str, content_start: int) -> tuple[int, int]:
    """Return the span between the fences of the frontmatter, without outer white space."""
    lines = body[:content_start].rstrip().split("\n")
    if len(lines) < 2 or not lines[0].startswith(_FENCES):
        return 0, 0
    start, end = len(lines[0]) + 1, sum(map(len, lines[:-1])) + len(lines) - 1
    inside = body[start:end]
    stripped = inside.strip()
    start += len(inside) - len(inside.lstrip()) if stripped else 0
    return start, start + len(stripped)
