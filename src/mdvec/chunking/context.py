"""What stands above a chunk's text when it is embedded, in one line."""

from __future__ import annotations

from collections.abc import Sequence
from string import punctuation

from mdvec.types.document import Document

# The embedder reads a few hundred tokens: the context must not push the text out.
MAX_CONTEXT_CHARS = 200
# One long heading must not push the others out.
_MAX_NAME_CHARS = 80
_SEPARATOR = " › "


def context_line(document: Document, heading_path: Sequence[str]) -> str:
    """Return ``title › h1 › h2 #tag #tag``.

    A first heading that repeats the title is said once, and a title of punctuation alone (of a file named
    ``-.md``, say) is not said. When the line gets too long, headings in the middle go first, then tags.

    Args:
        document: The document; its title and tags are used.
        heading_path: Headings from the outermost one.

    Returns:
        At most :data:`MAX_CONTEXT_CHARS` characters, without line breaks; empty when there is nothing to say.
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
