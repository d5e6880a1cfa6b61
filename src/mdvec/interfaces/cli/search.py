"""``mdvec search``."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

from mdvec.interfaces.arguments import parse_since, parse_until
from mdvec.interfaces.cli.formats import choice_of, chosen_format, format_option
from mdvec.interfaces.cli.interruption import saying_what_is_pending
from mdvec.interfaces.cli.progress import shown_progress
from mdvec.interfaces.cli.session import Command, Session, common_options
from mdvec.interfaces.cli.terminal import note, use_color, warn, write, write_documents, write_json
from mdvec.types.hit import Confidence
from mdvec.types.query import Expansion, Filters, SearchMode, SearchQuery, TagMatch

if TYPE_CHECKING:
    from mdvec.config import Config
    from mdvec.types.hit import SearchResult

_FORMATS = ("text", "json", "jsonl", "md", "paths")


@click.command(cls=Command)
@click.argument("query", nargs=-1, required=True)
@click.option("-n", "--name", "names", multiple=True, help="Search this collection; may be repeated.")
@click.option(
    "--tag", "tags", multiple=True, help="Only documents with this tag, or a/b for a; may be repeated."
)
@click.option(
    "--tag-match", type=choice_of(TagMatch), default="any", show_default=True, help="Whether one tag will do."
)
@click.option("--alias-prefix", metavar="TEXT", help="Only documents with an alias that starts so.")
@click.option("--path", metavar="GLOB", help="Only documents at such a path.")
@click.option(
    "--depth",
    "depths",
    type=click.IntRange(0, 3),
    multiple=True,
    help="Only passages at this depth: 0 above all headings, 1-3 below such a heading; may be repeated.",
)
@click.option(
    "--updated-since", metavar="WHEN", help="Only documents changed since: 2026-05-01, 12h, 7d or 2w."
)
@click.option(
    "--updated-until", metavar="WHEN", help="Only documents changed before then; a day is counted in."
)
@click.option("--linked-to", metavar="PATH", help="Only documents with a link to this one.")
@click.option("--include-superseded", is_flag=True, help="Find older versions of documents too.")
@click.option("--mode", type=choice_of(SearchMode), help="How to search.  [default: hybrid]")
@click.option("-k", "--limit", type=click.IntRange(1, 1000), help="Most hits.  [default: 5]")
@click.option("--threshold", type=click.FloatRange(-1, 1), help="Smallest cosine similarity of a hit.")
@click.option("--per-document", type=click.IntRange(min=1), help="Most hits of one document.  [default: 1]")
@click.option("--expand", type=choice_of(Expansion), help="How much text around a hit.  [default: chunk]")
@click.option("--max-tokens", type=click.IntRange(min=1), help="Most tokens of text in all hits together.")
@click.option("--explain", is_flag=True, help="Say why each hit was found.")
@format_option(*_FORMATS)
@click.option("--color", type=click.Choice(["auto", "always", "never"]), help="When to colour matched words.")
@common_options
@click.pass_obj
def search(
    session: Session,
    query: tuple[str, ...],
    names: tuple[str, ...],
    tags: tuple[str, ...],
    tag_match: str,
    alias_prefix: str | None,
    path: str | None,
    depths: tuple[int, ...],
    updated_since: str | None,
    updated_until: str | None,
    linked_to: str | None,
    include_superseded: bool,
    mode: str | None,
    limit: int | None,
    threshold: float | None,
    per_document: int | None,
    expand: str | None,
    max_tokens: int | None,
    explain: bool,
    format_name: str | None,
    color: str | None,
) -> None:
    """Find passages by meaning and by words.

    Words need no quotes around them: mdvec search how to sign in
    """
    now = datetime.now().astimezone()
    filters = Filters(
        tags=tags,
        tag_match=TagMatch(tag_match),
        alias_prefix=alias_prefix,
        path=path,
        depths=depths,
        updated_since_ns=parse_since(updated_since, now=now) if updated_since else None,
        updated_until_ns=parse_until(updated_until, now=now) if updated_until else None,
        linked_to=linked_to,
        include_superseded=include_superseded,
    )
    with session.open() as (workspace, config), shown_progress() as progress:
        defaults = workspace.search_settings(names)
        question = SearchQuery(
            text=" ".join(query),
            mode=SearchMode(mode) if mode else defaults.mode,
            collections=names,
            filters=filters,
            limit=limit if limit is not None else defaults.k,
            threshold=threshold if threshold is not None else defaults.threshold,
            per_document=per_document if per_document is not None else defaults.per_document,
            expand=Expansion(expand) if expand else defaults.expand,
            max_tokens=max_tokens if max_tokens is not None else defaults.max_tokens,
        )
        with saying_what_is_pending(workspace, names):
            result = workspace.search(question, progress=progress)
    output = chosen_format(format_name, config, _FORMATS)
    if output != "json":
        _tell(result)
    _print(result, output, config, session, color=color, explain=explain)
    if result.hits and output != "json":
        _tell_confidence(result, always=output == "text")


def _tell(result: SearchResult) -> None:
    for warning in result.warnings:
        warn(warning)
    if not result.hits:
        note("no hits")
        if result.hint:
            note(f"hint: {result.hint}")


def _tell_confidence(result: SearchResult, *, always: bool) -> None:
    """Say how sure the answer is; formats for programs are only warned of a bad one."""
    from mdvec.interfaces import present

    if always or result.confidence in (Confidence.LOW, Confidence.NONE):
        note(present.confidence_line(result.confidence))


def _print(
    result: SearchResult, output: str, config: Config, session: Session, *, color: str | None, explain: bool
) -> None:
    from mdvec.interfaces import present

    match output:
        case "json":
            write_json(present.search_json(result))
        case "jsonl":
            for hit in result.hits:
                write_json(present.hit_json(hit))
        case "md":
            write_documents(present.hits_markdown(result))
        case "paths":
            write_documents("".join(f"{path}\n" for path in present.hit_paths(result)))
        case _:
            from mdvec.interfaces.cli.hits import hits_text

            colored = use_color(color or config.display.color, session.env)
            write(hits_text(result, colored=colored, explain=explain))
