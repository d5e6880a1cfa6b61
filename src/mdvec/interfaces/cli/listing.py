"""``mdvec ls`` and ``mdvec related``: documents by what is known of them, and by what they are about."""

from __future__ import annotations

from typing import Any

import click

from mdvec.interfaces import present
from mdvec.interfaces.cli.filters import filter_options, path_name_option
from mdvec.interfaces.cli.search import hits_text
from mdvec.interfaces.cli.session import Command, Session, common_options, daemon_option, format_option
from mdvec.interfaces.cli.terminal import (
    note,
    terminal_columns,
    use_color,
    warn,
    write_documents,
    write_json,
    write_raw,
    write_table,
)

_DEFAULT_LIMIT = 50


@click.command(cls=Command)
@filter_options
@click.option(
    "-k",
    "--limit",
    type=click.IntRange(1, 1000),
    default=_DEFAULT_LIMIT,
    show_default=True,
    help="Most documents.",
)
@format_option("table", "json", "jsonl", "paths")
@daemon_option
@common_options
@click.pass_obj
def ls(session: Session, /, **options: Any) -> None:
    """List documents, the last updated first.

    Options choose which: mdvec ls --tag seedling --since 7d
    """
    import msgspec

    from mdvec.interfaces.document_lists import documents
    from mdvec.interfaces.requests import SearchRequest, search_query

    request = msgspec.convert({"query": "", **options}, SearchRequest)
    with session.reading(names=request.collections) as (workspace, config):
        output = session.output
        query = search_query(request, config.search)
        found = workspace.browse.newest(query.filters, query.collections, limit=query.limit + 1)
        several = len(query.collections or workspace.collections()) > 1
    page = documents(found[: query.limit], more=len(found) > query.limit)
    match output:
        case "json":
            write_json(page)
        case "jsonl":
            for each in page.documents:
                write_json(each)
        case "paths":
            write_documents("".join(f"{each.collection}/{each.path}\n" for each in page.documents))
        case _:
            rows = [
                (
                    present.moment_of(each.updated),
                    f"{each.collection}/{each.path}" if several else each.path,
                    each.title,
                )
                for each in page.documents
            ]
            if rows:
                write_table(("updated", "path", "title"), rows)
    if not page.documents:
        note("no documents")
    elif page.more and output == "table":
        note(f"there are more than {query.limit:,}; --limit shows more")


@click.command(cls=Command)
@click.argument("path")
@path_name_option
@click.option(
    "-k", "--limit", type=click.IntRange(1, 100), default=5, show_default=True, help="Most documents."
)
@format_option("text", "json", "jsonl", "paths")
@daemon_option
@common_options
@click.pass_obj
def related(session: Session, path: str, name: str | None, limit: int) -> None:
    """Find the documents that are about the same as one."""
    from mdvec.interfaces import wire

    with session.reading(names=(name,) if name else ()) as (workspace, config):
        result = workspace.browse.related(path, collection=name, limit=limit)
    output = session.output
    if output != "json":
        for warning in result.warnings:
            warn(warning)
    match output:
        case "json":
            write_json(wire.search_answer(result))
        case "jsonl":
            for hit in result.hits:
                write_json(wire.hit(hit))
        case "paths":
            write_documents("".join(f"{each}\n" for each in present.hit_paths(result)))
        case _:
            colored = use_color(config.display.color, session.env)
            editor = config.display.editor if colored and terminal_columns() is not None else ""
            write_raw(hits_text(result, colored=colored, explain=False, several=False, editor=editor))
    if not result.hits:
        note("no related documents")
