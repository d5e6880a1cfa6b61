"""Which of a document's names are written down and embedded."""

from __future__ import annotations

from mdvec.types.document import Document

MAX_NAMES = 32
"""A document has no more names; a longer list of aliases is something else."""

MAX_NAME_CHARS = 200
"""A name has no more characters; a longer title is a text."""


def embedded_names(document: Document) -> tuple[str, ...]:
    """Return the names by which a document is found, each to be embedded by itself.

    Returns:
        Each once; the title first.
    """
    names = (name[:MAX_NAME_CHARS] for name in document.names[:MAX_NAMES])
    return tuple(dict.fromkeys(names))
