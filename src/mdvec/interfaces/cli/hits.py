"""Hits as people read them in a terminal."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator

import click

from mdvec.interfaces.passage import best_passage, cell_width, printable
from mdvec.interfaces.present import trail, versions_line
from mdvec.types.hit import SearchHit, SearchResult

_HEADING = re.compile(r"#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*")
_PASSAGE_LINES = 4
_INDENT = "   "
# Longer lines are hard to read; shorter ones break Japanese sentences too often.
_MAX_COLUMNS = 100
_MIN_COLUMNS = 30


def hits_text(result: SearchResult, *, colored: bool, explain: bool) -> str:
    """Lay out an answer for people.

    Args:
        result: The answer; one without hits gives an empty text.
        colored: Whether to use terminal colours.
        explain: Whether to say why each hit was found.
    """
    columns = shutil.get_terminal_size((_MAX_COLUMNS, 24)).columns if sys.stdout.isatty() else _MAX_COLUMNS
    width = max(_MIN_COLUMNS, min(columns, _MAX_COLUMNS))
    several = len({hit.collection for hit in result.hits}) > 1
    blocks = (
        "\n".join(_hit_lines(result.query, hit, width, colored=colored, several=several, explain=explain))
        for hit in result.hits
    )
    return "".join(f"{block}\n\n" for block in blocks).removesuffix("\n")


def _hit_lines(
    query: str, hit: SearchHit, width: int, *, colored: bool, several: bool, explain: bool
) -> Iterator[str]:
    def styled(text: str, **style: object) -> str:
        return click.style(text, **style) if colored else text  # type: ignore[arg-type]

    head = f"{hit.rank}. {printable(trail(hit))}"
    score = f"{hit.score:.2f}"
    gap = " " * max(2, width - cell_width(head) - len(score))
    yield styled(head, bold=True) + gap + styled(score, dim=True)

    place = printable(f"{hit.collection}: {hit.path}" if several else hit.path)
    stale = styled("  (changed since it was indexed)", fg="yellow") if hit.stale else ""
    yield _INDENT + styled(f"{place}:{hit.start_line}", fg="cyan") + stale
    if versions := versions_line(hit):
        yield _INDENT + styled(printable(versions), dim=True)
    if explain:
        yield _INDENT + styled(_reasons(hit), dim=True)
    for line in best_passage(query, _below_headings(hit), width=width - len(_INDENT), lines=_PASSAGE_LINES):
        yield _INDENT + "".join(
            styled(segment.text, fg="red", bold=True) if segment.matched else segment.text for segment in line
        )


def _below_headings(hit: SearchHit) -> str:
    """Return the text without the headings it starts with, as far as the line above it says them."""
    said = {hit.title, *hit.heading_path}
    lines = hit.text.split("\n")
    first = 0
    while first < len(lines):
        underlined = first + 1 < len(lines) and _UNDERLINE.fullmatch(lines[first + 1]) is not None
        heading = lines[first].strip() if underlined else _heading(lines[first])
        if lines[first].strip() and heading not in said:
            break
        first += 2 if underlined and lines[first].strip() else 1
    return "\n".join(lines[first:]) or hit.text


def _heading(line: str) -> str | None:
    found = _HEADING.fullmatch(line)
    return found[1] if found else None


def _reasons(hit: SearchHit) -> str:
    similarity = "not compared" if hit.similarity is None else f"{hit.similarity:.3f}"
    by_meaning = f"#{hit.dense_rank}" if hit.dense_rank is not None else "not among the nearest"
    by_words = f"#{hit.lexical_rank}" if hit.lexical_rank is not None else "no word found"
    return f"score {hit.score:.4f}; similarity {similarity}; by meaning {by_meaning}; by words {by_words}"
