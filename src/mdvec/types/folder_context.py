"""The contents of folders, in a sentence each: context for the documents below them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from msgspec import Struct

from mdvec.types.fields import doc

CONTEXT_FILE = ".mdvec-context"
"""The name of a file with the context of its folder."""

MAX_CONTEXT_FILE_BYTES = 4_000
"""A larger file is no sentence."""

MAX_CHARS = 300
"""Of a context."""


class FolderContext(Struct, frozen=True, order=True):
    """A sentence on what a folder holds.

    Attributes:
        folder: Relative to the source, with ``/``, without one at its ends; empty for the root.
        text: One line.
        from_file: Whether it was read from the folder's own file. One that was set is shown instead of it.
    """

    folder: Annotated[str, doc("empty for the root")]
    text: str
    from_file: Annotated[bool, doc("read from .mdvec-context", "programs")] = False


def context_line(text: str) -> str:
    """Return a context as it is kept: one line, without control characters, and limited."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return line if len(line) <= MAX_CHARS else f"{line[: MAX_CHARS - 1].rstrip()}…"


def shown_contexts(contexts: Iterable[FolderContext]) -> list[FolderContext]:
    """Return one context for each folder, by folder: the one that was set, else that of its file."""
    found = sorted(contexts, key=lambda each: (each.folder, not each.from_file))
    return list({each.folder: each for each in found}.values())


def contexts_above(path: str, contexts: Iterable[FolderContext]) -> tuple[str, ...]:
    """Return the contexts of the folders that a document is in, from the root down."""
    return tuple(
        each.text
        for each in shown_contexts(contexts)
        if not each.folder or path.startswith(f"{each.folder}/")
    )
