"""A document's section tree, as coarse as a chunker wants it."""

from __future__ import annotations

import bisect
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from mdvec.errors import ConfigError
from mdvec.types.document import BlockKind, Document, Section

ALL_LEVELS: Final = (1, 2, 3, 4, 5, 6)
"""The levels Markdown has."""


def checked_levels(levels: Collection[int]) -> tuple[int, ...]:
    """Sort levels of headings, each once.

    Raises:
        ConfigError: If there is none, or one that Markdown does not have.
    """
    if not levels or not set(levels) <= set(ALL_LEVELS):
        msg = f"levels is {sorted(levels)}, but headings have levels 1 to 6"
        raise ConfigError(msg, hint="Name the levels to split at, such as [1, 2, 3].")
    return tuple(sorted(set(levels)))


def sections_at(sections: Sequence[Section], levels: Collection[int]) -> Sequence[Section]:
    """Keep the headings of some levels; the others become text of the section above them.

    Args:
        sections: The section tree.
        levels: Levels to keep.

    Returns:
        A section tree as :class:`~mdvec.types.document.Section` describes it, with the root; a parent is
        the nearest section above that is left, and paths name all headings as before.
    """
    kept = [section for section in sections if section.level == 0 or section.level in levels]
    if len(kept) == len(sections):
        return sections
    numbers = {section.ordinal: number for number, section in enumerate(kept)}
    ends = [*(section.start for section in kept[1:]), kept[0].subtree_end]
    return tuple(
        replace(section, ordinal=number, parent=_kept_parent(section, sections, numbers), end=end)
        for number, (section, end) in enumerate(zip(kept, ends, strict=True))
    )


def _kept_parent(section: Section, sections: Sequence[Section], numbers: dict[int, int]) -> int | None:
    parent = section.parent
    while parent is not None and parent not in numbers:
        parent = sections[parent].parent
    return None if parent is None else numbers[parent]


def sections_with_text(document: Document, sections: Sequence[Section]) -> list[bool]:
    """Tell for each section, by ordinal, whether it says more than its own heading."""
    starts = [section.start for section in sections]
    found = [False] * len(sections)
    for block in document.blocks:
        ordinal = bisect.bisect_right(starts, block.start) - 1
        is_heading = block.kind is BlockKind.HEADING
        if not (is_heading and block.start == starts[ordinal] and sections[ordinal].level):
            found[ordinal] = True
    return found
