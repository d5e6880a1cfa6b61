"""The section tree of a document."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from mdvec.types.document import Section


class Heading(Struct, frozen=True, gc=False):
    """A heading of the document's own (one inside a quotation or a nested list opens no section).

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
    subtree_ends = [length] * (len(headings) + 1)
    parents = [0]
    ancestors = [0]
    for ordinal, heading in enumerate(headings, start=1):
        while ancestors[-1] and headings[ancestors[-1] - 1].level >= heading.level:
            subtree_ends[ancestors.pop()] = heading.start
        parents.append(ancestors[-1])
        ancestors.append(ordinal)
    end = headings[0].start if headings else length
    sections = [Section(0, None, 0, "", (), content_start, end, length)]
    for ordinal, heading in enumerate(headings, start=1):
        parent = parents[ordinal]
        above = sections[parent].heading_path
        path = (*above, heading.text) if heading.text else above
        if path == sections[-1].heading_path:  # share the path: there may be a million equal headings
            path = sections[-1].heading_path
        end = headings[ordinal].start if ordinal < len(headings) else length
        sections.append(
            Section(
                ordinal, parent, heading.level, heading.text, path, heading.start, end, subtree_ends[ordinal]
            )
        )
    return tuple(sections)
