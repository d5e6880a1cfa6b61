"""The section tree as chunkers use it: reduced to some levels, and in groups that share a chunk."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from mdvec.errors import ConfigError
from mdvec.types.document import BlockKind, Document, Section

ALL_LEVELS: Final = (1, 2, 3, 4, 5, 6)
"""The levels Markdown has."""


def checked_levels(levels: Collection[int]) -> tuple[int, ...]:
    """Return the levels of headings, sorted, each once.

    Raises:
        ConfigError: If there is no level, or one that Markdown does not have.
    """
    if not levels or not set(levels) <= set(ALL_LEVELS):
        msg = f"levels is {sorted(levels)}, but headings have levels 1 to 6"
        raise ConfigError(msg, hint="Name the levels to split at, such as [1, 2, 3].")
    return tuple(sorted(set(levels)))


def sections_at(sections: Sequence[Section], levels: Collection[int]) -> Sequence[Section]:
    """Return the section tree reduced to some levels; other headings become text of the section above them.

    Returns:
        A section tree as :class:`~mdvec.types.document.Section` describes it, with the root. A parent is the
        nearest section above that remains; paths still name all headings.
    """
    remaining = [section for section in sections if section.level == 0 or section.level in levels]
    if len(remaining) == len(sections):
        return sections
    numbers = {section.ordinal: number for number, section in enumerate(remaining)}
    ends = [*(section.start for section in remaining[1:]), remaining[0].subtree_end]
    return tuple(
        replace(section, ordinal=number, parent=_remaining_parent(section, sections, numbers), end=end)
        for number, (section, end) in enumerate(zip(remaining, ends, strict=True))
    )


def _remaining_parent(section: Section, sections: Sequence[Section], numbers: dict[int, int]) -> int | None:
    parent = section.parent
    while parent is not None and parent not in numbers:
        parent = sections[parent].parent
    return None if parent is None else numbers[parent]


def sections_with_text(document: Document, sections: Sequence[Section]) -> list[bool]:
    """Return for each section, by ordinal, True if it has more text than its own heading."""
    starts = [section.start for section in sections]
    found = [False] * len(sections)
    for block in document.blocks:
        ordinal = bisect.bisect_right(starts, block.start) - 1
        is_heading = block.kind is BlockKind.HEADING
        if not (is_heading and block.start == starts[ordinal] and sections[ordinal].level):
            found[ordinal] = True
    return found


# --- groups ----------------------------------------------------------------------------------------


class SectionGroup(Struct, frozen=True):
    """Sections that follow each other and go together.

    Attributes:
        first: Ordinal of the section the group starts with.
        named_after: Ordinal of the section that is the subject of the group; it has text of its own.
        last: Ordinal of the last section.
        sections_with_text: How many have text of their own.
    """

    first: int
    named_after: int
    last: int
    sections_with_text: int


def group_sections(
    sections: Sequence[Section],
    *,
    has_text: Sequence[bool],
    size: Callable[[SectionGroup], int],
    max_tokens: int,
    min_tokens: int,
) -> Iterator[SectionGroup]:
    """Group small sections.

    Only siblings share a group, so a group has one parent and one depth. Consecutive small siblings are
    collected until they are no longer small; a small rest joins the group before it. A heading without text
    of its own goes with the first section below it.

    Args:
        sections: The section tree; ordinals are the indices.
        has_text: By ordinal, True if there is text besides the heading.
        size: Returns the number of tokens of a group.
        max_tokens: Groups of several sections with text hold no more.
        min_tokens: Sections with fewer are small.

    Yields:
        Groups in order; together they contain every section but an empty root.
    """
    run: list[SectionGroup] = []  # small siblings that follow each other, joined so far
    for group in text_units(sections, has_text):
        is_small = size(group) < min_tokens
        if run and not (is_small and _are_siblings(run[-1], group, sections)):
            yield from _with_rest_joined(run, size, max_tokens, min_tokens)
            run = []
        if not is_small:
            yield group
        elif run and size(run[-1]) < min_tokens and size(_join(run[-1], group)) <= max_tokens:
            run[-1] = _join(run[-1], group)
        else:
            run.append(group)
    yield from _with_rest_joined(run, size, max_tokens, min_tokens)


def join_neighbours(
    groups: Iterable[SectionGroup],
    sections: Sequence[Section],
    *,
    size: Callable[[SectionGroup], int],
    max_tokens: int,
    min_tokens: int,
) -> list[SectionGroup]:
    """Join groups that are still small with a neighbour of any size that has room.

    A neighbour is the group of the section above, of a section right below, or of the sibling before or
    after: what belongs together is joined first. The joined group is named after the larger one.

    Args:
        groups: From :func:`group_sections`.
        sections: The section tree.
        size: Returns the number of tokens of a group.
        max_tokens: No joined group holds more.
        min_tokens: Groups with fewer are small.
    """
    done: list[SectionGroup] = []
    for group in groups:
        if done and min(size(group), size(done[-1])) < min_tokens and _are_near(done[-1], group, sections):
            named_after = max(done[-1], group, key=size).named_after
            joined = replace(_join(done[-1], group), named_after=named_after)
            if size(joined) <= max_tokens:
                done[-1] = joined
                continue
        done.append(group)
    return done


def _with_rest_joined(
    run: list[SectionGroup], size: Callable[[SectionGroup], int], max_tokens: int, min_tokens: int
) -> list[SectionGroup]:
    """Let the last group of a run join the one before it if it stayed small."""
    if len(run) > 1 and size(run[-1]) < min_tokens and size(_join(run[-2], run[-1])) <= max_tokens:
        return [*run[:-2], _join(run[-2], run[-1])]
    return run


def text_units(sections: Sequence[Section], has_text: Sequence[bool]) -> Iterator[SectionGroup]:
    """Yield single sections, each with the headings without text that lead to it.

    Args:
        sections: The section tree; ordinals are the indices.
        has_text: By ordinal, whether there is text besides the heading.

    Yields:
        Groups in order; together they contain every section but an empty root.
    """
    first: int | None = None
    for section in sections:
        ordinal = section.ordinal
        if ordinal == 0 and not has_text[0]:
            continue
        if first is None:
            first = ordinal
        has_child = ordinal + 1 < len(sections) and sections[ordinal + 1].parent == ordinal
        if has_text[ordinal] or not has_child:
            yield SectionGroup(first, ordinal, ordinal, 1)
            first = None


def _are_siblings(group: SectionGroup, other: SectionGroup, sections: Sequence[Section]) -> bool:
    return (
        other.first == other.named_after
        and sections[group.named_after].parent == sections[other.first].parent
    )


def _are_near(group: SectionGroup, other: SectionGroup, sections: Sequence[Section]) -> bool:
    """Return True if a group that follows another is right below it, or its sibling."""
    parent = sections[other.first].parent
    is_below = parent is not None and group.first <= parent <= group.last
    return is_below or parent == sections[group.first].parent


def _join(group: SectionGroup, other: SectionGroup) -> SectionGroup:
    return SectionGroup(
        group.first, group.named_after, other.last, group.sections_with_text + other.sections_with_text
    )
