"""The section tree of a document."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from mdvec.types.document import Section


class Heading(Struct, frozen=True):
    """A heading of the document's own (one inside a list or a quotation opens no section).

    Attributes:
        level: 1-6.
        text: Without markup.
        start: First character of its line, in the document's body.
    """

    level: int
    text: str
    start: int


def build_sections(headings: Sequence[Heading], *, content_start: int, length: int) -> tuple[Section, ...]:
    """Arrange headings as a tree.

    A heading's parent is the nearest one before it with a smaller level, so a jump from level 1 to 4
    makes the fourth level a child of the first.

    Returns:
        Sections in document order, the root first; headings without text are left out of the paths.
    """
    starts = [content_start, *(heading.start for heading in headings), length]
    subtree_ends = [length] * (len(headings) + 1)
    parents: list[int | None] = [None]
    paths: list[tuple[str, ...]] = [()]
    levels = [0]
    ancestors = [0]
    for ordinal, heading in enumerate(headings, start=1):
        while levels[ancestors[-1]] >= heading.level:
            subtree_ends[ancestors.pop()] = heading.start
        parent = ancestors[-1]
        parents.append(parent)
        paths.append((*paths[parent], heading.text) if heading.text else paths[parent])
        levels.append(heading.level)
        ancestors.append(ordinal)
    return tuple(
        Section(
            ordinal=ordinal,
            parent=parents[ordinal],
            level=levels[ordinal],
            heading=headings[ordinal - 1].text if ordinal else "",
            heading_path=paths[ordinal],
            start=starts[ordinal],
            end=starts[ordinal + 1],
            subtree_end=subtree_ends[ordinal],
        )
        for ordinal in range(len(levels))
    )
