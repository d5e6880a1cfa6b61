"""What stands above a chunk of a vault when it is embedded."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from mdvec.chunking.context import MAX_CONTEXT_CHARS, short_name
from mdvec.types.document import Document, Section, TitleSource

# A date, or a date and a time, in front of a file's name.
_TIMESTAMP = re.compile(r"^\d{8,14}[_-](?=.)")


def vault_context(document: Document, *, above: Iterable[Section], holds_title: bool, previous: str) -> str:
    """Return a line of metadata, the end of the text before, and the headings above.

    They are ``title:…|tags:…``, ``[prev] …`` and the headings as in Markdown, with blank lines between
    them. Where there is no heading of the first level, the title of the frontmatter stands for it, else what
    the file is called without the time in front.

    Args:
        document: The document; its title and tags are used.
        above: Sections above the chunk, from the outermost; those that start in the chunk are left out.
        holds_title: Whether the chunk has a heading of the first level itself.
        previous: The last sentences of the chunk before; may be empty.

    Returns:
        A text that ends in a line break, so that a blank line parts it from the chunk's.
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
