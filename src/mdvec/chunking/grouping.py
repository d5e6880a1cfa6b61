"""Which sections share a chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mdvec.types.document import Section


@dataclass(frozen=True, slots=True)
class Group:
    """Sections that follow each other and go together.

    Attributes:
        first: Ordinal of the section the group starts with.
        named_after: Ordinal of the first section that has text of its own: what the group is about.
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
    tokens_between: Callable[[int, int], int],
    max_tokens: int,
    min_tokens: int,
) -> Iterator[Group]:
    """Put small sections together.

    Only siblings share a group, so a group has one parent and one depth. Small siblings that
    follow each other are collected until they are no longer small; a small rest joins the group
    before it. A heading without text of its own goes with the first section below it.

    Args:
        sections: The section tree; ordinals are the indices.
        has_text: By ordinal, whether there is text besides the heading.
        tokens_between: Tokens from one position of the body to another.
        max_tokens: Groups of several sections with text hold no more.
        min_tokens: Sections with fewer are small.

    Yields:
        Groups in order; together they hold every section but an empty root.
    """

    def size(group: Group) -> int:
        return tokens_between(sections[group.first].start, sections[group.last].end)

    run: list[Group] = []  # small siblings that follow each other, joined so far
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


def _with_rest_joined(
    run: list[Group], size: Callable[[Group], int], max_tokens: int, min_tokens: int
) -> list[Group]:
    """Let the last group of a run join the one before it if it stayed small."""
    if len(run) > 1 and size(run[-1]) < min_tokens and size(_join(run[-2], run[-1])) <= max_tokens:
        return [*run[:-2], _join(run[-2], run[-1])]
    return run


def text_units(sections: Sequence[Section], has_text: Sequence[bool]) -> Iterator[Group]:
    """Yield single sections, each with the headings without text that lead to it.

    Args:
        sections: The section tree; ordinals are the indices.
        has_text: By ordinal, whether there is text besides the heading.

    Yields:
        Groups in order; together they hold every section but an empty root.
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
            yield Group(first, ordinal, ordinal, 1)
            first = None


def _are_siblings(group: Group, other: Group, sections: Sequence[Section]) -> bool:
    return (
        other.first == other.named_after
        and sections[group.named_after].parent == sections[other.first].parent
    )


def _join(group: Group, other: Group) -> Group:
    return Group(group.first, group.named_after, other.last, group.sections_with_text + 1)
