"""``mdvec search``, and hits as people read them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import click

from mdvec.interfaces import present
from mdvec.interfaces.cli.common_options import (
    Number,
    OneOf,
    WholeNumber,
    choice_of,
    command,
    daemon_option,
    format_option,
)
from mdvec.interfaces.cli.filters import filter_options, folder_options
from mdvec.interfaces.cli.progress import reporting_interruption
from mdvec.interfaces.cli.session import Session
from mdvec.interfaces.cli.terminal import (
    note,
    terminal_columns,
    use_color,
    write_documents,
    write_raw,
)
from mdvec.interfaces.excerpt import excerpt_of
from mdvec.interfaces.present import trail, versions_line
from mdvec.interfaces.printing import printable, visible, wrap
from mdvec.text.cells import cell_width
from mdvec.types.hit import Confidence, SearchHit, SearchResult
from mdvec.types.query import Expansion, SearchMode, SortBy

_PASSAGE_LINES = 4
_INDENT = "   "
_MIN_GAP = 2
_STEP = " › "
_MORE = "…"
# Longer lines are hard to read; shorter ones break Japanese sentences too often.
_MAX_COLUMNS = 100
_MIN_COLUMNS = 30


@command()
@click.argument("query", nargs=-1, required=True)
@click.option(
    "--also",
    "queries",
    metavar="QUERY",
    multiple=True,
    help="Another phrasing or part of the query, whose hits are merged; up to four.",
)
@filter_options
@click.option(
    "--depth",
    type=WholeNumber(0, 3),
    multiple=True,
    help="Only passages under a heading of this level (0: above the first one); may be repeated.",
)
@click.option("--mode", type=choice_of(SearchMode), help="How to search.  [default: hybrid]")
@click.option("-k", "--limit", type=WholeNumber(1, 1000), help="Maximum number of hits.  [default: 5]")
@click.option("--min-score", type=Number(0, 1), help="Minimum score of a hit.  [default: 0.025]")
@click.option("--all", "show_all", is_flag=True, help="Show weaker passages, too: --min-score 0.")
@click.option("--all-similar", is_flag=True, help="Show each of several like texts as a hit of its own.")
@click.option(
    "--sort",
    type=choice_of(SortBy),
    help="Order of the hits: the best first, or the newest.  [default: score]",
)
@click.option("--threshold", type=Number(-1, 1), help="Minimum cosine similarity of a hit.")
@click.option(
    "--per-document",
    type=WholeNumber(min=1),
    help="Maximum number of hits of one document.  [default: no limit]",
)
@click.option(
    "--expand",
    type=choice_of(Expansion),
    help="How much text to return around a hit.  [default: passage]",
)
@click.option("--max-tokens", type=WholeNumber(min=1), help="Maximum tokens of text in all hits together.")
@click.option("--no-rerank", is_flag=True, help="Leave out the configured reranker.")
@click.option("--explain", is_flag=True, help="Show why each hit was found.")
@format_option("text", "json", "jsonl", "md", "paths")
@click.option("--color", type=OneOf(["auto", "always", "never"]), help="When to colour words.")
@folder_options
@daemon_option
def search(
    session: Session,
    /,
    query: tuple[str, ...],
    min_score: float | None,
    show_all: bool,
    no_rerank: bool,
    explain: bool,
    color: str | None,
    **options: Any,
) -> None:
    """Find passages by meaning and by words.

    Words need no quotes around them: mdvec search how to sign in

    Operators narrow a search: "exact phrase", -word, word*, path:, tag: and title:, as in
    mdvec search '"sign in" -google tag:web'. A query that begins with - comes after --:
    mdvec search -- '-google tag:web'
    """
    import msgspec

    from mdvec.interfaces.requests import SearchRequest, search_query

    least = 0.0 if show_all else min_score
    given = {"query": " ".join(query), "min_score": least, "rerank": not no_rerank, **options}
    request = msgspec.convert(given, SearchRequest)
    names = request.collections

    with session.reading(*names, makes=session.docs_dir is not None) as workspace:
        output = session.output
        settings = workspace.search_settings(names)
        if output == "paths":  # each is printed once
            settings = msgspec.structs.replace(settings, per_document=1)
        with reporting_interruption(workspace, names):
            result = workspace.search(search_query(request, settings))
        found_in = {hit.collection for hit in result.hits}
        several = output == "text" and (len(found_in) > 1 or len(names or workspace.collections()) > 1)
    if output != "json":
        _note_shortcomings(result, session)
    write_hits(result, session, color=color, explain=explain, several=several)
    # Formats for programs get a warning only about a doubtful answer.
    doubtful = result.confidence in (Confidence.LOW, Confidence.NONE)
    answered = result.hits or result.weaker
    if answered and (output == "text" or (doubtful and output != "json")):
        weaker = present.weaker_line(result, "shown with --all")
        lines = (present.confidence_line(result), weaker, present.reranked_line(result.reranked))
        for line in filter(None, lines):
            note(line)


def _note_shortcomings(result: SearchResult, session: Session) -> None:
    for line in present.spelling_lines(result):
        note(printable(line))
    session.warn(result.warnings)
    if not result.hits:
        note("no hits")
        if result.hint:
            note(f"hint: {session.hint(result.hint)}")


def write_hits(
    result: SearchResult,
    session: Session,
    *,
    color: str | None = None,
    explain: bool = False,
    several: bool = False,
) -> None:
    """Write an answer in the format of the session."""
    if session.wrote_rows(result, result.hits, present.hit_paths(result)):
        return
    if session.output == "md":
        write_documents(present.hits_markdown(result))
        return
    display = session.loaded.config.display
    colored = use_color(color or display.color, session.env)
    editor = display.editor if colored and terminal_columns() is not None else ""
    write_raw(hits_text(result, colored=colored, explain=explain, several=several, editor=editor))


def hits_text(result: SearchResult, *, colored: bool, explain: bool, several: bool, editor: str = "") -> str:
    """Lay out an answer for people.

    ``editor`` is the address that a click on the place of a hit opens (``[display] editor``); empty for none.
    """
    width = max(_MIN_COLUMNS, min(terminal_columns() or _MAX_COLUMNS, _MAX_COLUMNS))
    query = result.searched or result.query
    lines = partial(_hit_lines, colored=colored, several=several, explain=explain, editor=editor)
    blocks = ("\n".join(lines(query, hit, width)) for hit in result.hits)
    return "".join(f"{block}\n\n" for block in blocks).removesuffix("\n")


def _hit_lines(
    query: str, hit: SearchHit, width: int, *, colored: bool, several: bool, explain: bool, editor: str
) -> Iterator[str]:
    def styled(text: str, **style: object) -> str:
        return click.style(text, **style) if colored else text  # type: ignore[arg-type]

    score = present.score_text(hit)
    number = f"{hit.rank}. "
    head = number + _short_trail(printable(trail(hit)), width - len(number) - len(score) - _MIN_GAP)
    gap = " " * max(_MIN_GAP, width - cell_width(head) - len(score))
    yield styled(head, bold=True) + (gap + styled(score, dim=True) if score else "")

    place = visible(f"{hit.collection}/{hit.path}" if several else hit.path)
    shown = styled(f"{place}:{hit.line}", fg="cyan")
    address = present.hit_address(hit, editor) if editor else ""
    linked = f"\x1b]8;;{address}\x1b\\{shown}\x1b]8;;\x1b\\" if address else shown
    stale = styled("  (changed or gone since it was indexed)", fg="yellow") if hit.stale else ""
    about = present.about_line(hit)
    yield _INDENT + linked + (styled(f"  {visible(about)}", dim=True) if about else "") + stale
    for line in filter(None, (versions_line(hit), present.context_line(hit))):
        yield _INDENT + styled(visible(line), dim=True)
    if explain:
        reasons = _reasons(hit)
        for start, end in wrap(reasons, width - len(_INDENT)):
            yield _INDENT + styled(reasons[start:end], dim=True)
    for excerpt in excerpt_of(query, hit, width=width - len(_INDENT), lines=_PASSAGE_LINES):
        yield _INDENT + "".join(
            styled(segment.text, fg="red", bold=True) if segment.matched else segment.text
            for segment in excerpt
        )
    if similar := present.similar_line(hit):
        yield _INDENT + styled(similar, dim=True)


def _short_trail(text: str, width: int) -> str:
    """Return a trail that fits: without headings in its middle, and cut if that is not enough."""
    parts = text.split(_STEP)
    while cell_width(text) > width and len(parts) > 2 + (_MORE in parts):
        parts = [parts[0], _MORE, *parts[3 if _MORE in parts else 2 :]]
        text = _STEP.join(parts)
    if cell_width(text) <= width:
        return text
    start, end = next(wrap(text, width - 2 * len(_MORE)))
    return f"{text[start:end]}{_MORE}"


def _reasons(hit: SearchHit) -> str:
    similarity = "not compared" if hit.similarity is None else f"{hit.similarity:.3f}"
    by_meaning = f"#{hit.dense_rank}" if hit.dense_rank is not None else "not among the nearest"
    by_words = f"#{hit.lexical_rank}" if hit.lexical_rank is not None else "no word found"
    return f"score {hit.score:.4f}; similarity {similarity}; by meaning {by_meaning}; by words {by_words}"
