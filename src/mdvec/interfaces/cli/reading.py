"""``mdvec get``, ``tags``, ``ls`` and ``related``: documents, their links and tags, and lists of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from mdvec.errors import UsageError
from mdvec.interfaces import present
from mdvec.interfaces.cli.common_options import Option, WholeNumber, command, daemon_option, format_option
from mdvec.interfaces.cli.filters import document_options, filter_options, names_option
from mdvec.interfaces.cli.search import write_hits
from mdvec.interfaces.cli.session import Session
from mdvec.interfaces.cli.terminal import note, warn, write, write_documents, write_table
from mdvec.interfaces.printing import visible
from mdvec.types.document import LinkKind
from mdvec.types.links import Backlink, DocumentLinks, LinkState, OutgoingLink

if TYPE_CHECKING:
    from mdvec import Workspace

_INDENT = "  "


def _limit_option(most: int, default: int) -> Option:
    number = WholeNumber(1, most)
    text = "Maximum number of documents."
    return click.option("-k", "--limit", type=number, default=default, show_default=True, help=text)


@command()
@document_options
@click.option("--lines", metavar="A:B", help="Only these lines; A or B may be left out.")
@click.option("--section", metavar="HEADING", help="Only the section under this heading.")
@click.option("--outline", is_flag=True, help="Print its headings with lines and tokens instead.")
@click.option("--links", "with_links", is_flag=True, help="Print its links, backlinks and versions instead.")
@click.option(
    "--steps",
    type=WholeNumber(1, 3),
    default=1,
    help="With --links: also documents so many links away.  [default: 1]",
)
@format_option("text", "json")
@daemon_option
def get(
    session: Session,
    path: str,
    name: str | None,
    lines: str | None,
    section: str | None,
    outline: bool,
    with_links: bool,
    steps: int,
) -> None:
    """Print a document, a part of it, its headings or its links.

    PATH is as results show it, such as notes/a.md or notes/a.md:10-20; the name of a note is enough.
    """
    if with_links or outline:
        option = "--links" if with_links else "--outline"
        if lines is not None or section is not None or (with_links and outline):
            msg = f"{option} applies to a whole document"
            raise UsageError(msg, hint=f"Give {option} alone.")
        if with_links:
            _print_links(session, path, name, steps)
        else:
            _print_outline(session, path, name)
        return
    if lines is not None and section is not None:
        msg = "--lines and --section cannot be used together"
        raise UsageError(msg, hint="Give one of them.")
    from mdvec.interfaces.requests import parse_lines

    line_range = parse_lines(lines) if lines is not None else None
    with session.reading(name) as workspace:
        passage = workspace.read(path, collection=name, lines=line_range, section=section)
    if passage.stale:
        warn(f"{passage.path} was changed or deleted since it was indexed; this is the indexed text")
    for warning in passage.warnings:
        warn(f"{passage.path}: {warning}")
    if session.format_name == "json":
        session.wrote_json(passage)
        return
    text = passage.text
    write_documents(text if text.endswith("\n") or not text else text + "\n")


def _print_links(session: Session, path: str, name: str | None, steps: int) -> None:
    with session.reading(name) as workspace:
        found = workspace.links(path, collection=name, steps=steps)
    if session.wrote_json(found):
        return
    text = links_text(found)
    write(text)
    if not text:
        note("no links")


def _print_outline(session: Session, path: str, name: str | None) -> None:
    with session.reading(name) as workspace:
        found = workspace.browse.outline(path, collection=name)
    if session.wrote_json(found):
        return
    if found.sections:
        write_table(
            ("heading", "lines", "tokens"),
            [
                (
                    f"{_INDENT * max(0, each.depth - 1)}{each.heading or '(text above the first heading)'}",
                    f"{each.start_line}-{each.end_line}",
                    f"{each.tokens:,}",
                )
                for each in found.sections
            ],
        )
    else:
        note("no text")


@contextmanager
def _up_to_date(session: Session, names: Sequence[str]) -> Iterator[Workspace]:
    """Open the workspace; first look for changed files, as a search does, and warn about what is not read."""
    with session.reading(*names) as workspace:
        left, _ = workspace.freshness.bring_up(names)
        session.warn(left)
        yield workspace


@command()
@names_option()
@format_option("table", "json")
@daemon_option
def tags(session: Session, names: tuple[str, ...]) -> None:
    """List the tags, most used first."""
    from mdvec.types.query import Filters

    with _up_to_date(session, names) as workspace:
        found = workspace.tags(names)
        hint = "" if found else workspace.browse.unmet(Filters(), names)
    if session.wrote_json(found):
        return
    if found:
        write_table(("tag", "documents"), [(each.tag, f"{each.documents:,}") for each in found])
    else:
        note("no tags")
        if hint:
            note(f"hint: {session.hint(hint)}")


def links_text(found: DocumentLinks) -> str:
    """Return the links of a document, its backlinks and versions as text; empty without any."""
    parts = (
        ("links", [_outgoing(link) for link in found.links]),
        ("backlinks", [_backlink(link) for link in found.backlinks]),
        ("supersedes", list(found.supersedes)),
        ("superseded by", list(found.superseded_by)),
        ("near", [f"{each.path} ({each.steps} links away, by way of {each.via})" for each in found.near]),
    )
    return "".join(f"{line}\n" for title, lines in parts if lines for line in _part(title, lines))


def _part(title: str, lines: list[str]) -> Iterator[str]:
    yield f"{title} ({len(lines):,})"
    yield from (_INDENT + visible(line) for line in lines)


def _outgoing(link: OutgoingLink) -> str:
    return f"{link.line}: {_written(link.kind, link.target, link.fragment, link.text)} → {_end(link)}"


def _end(link: OutgoingLink) -> str:
    return link.path or ("a file, not a document" if link.state is LinkState.FILE else link.state.value)


def _backlink(link: Backlink) -> str:
    shown = " ".join(each for each in (f"#{link.fragment}" if link.fragment else "", link.text) if each)
    return f"{link.path}:{link.line}{' ' + shown if shown else ''}"


def _written(kind: LinkKind, target: str, fragment: str, text: str) -> str:
    address = f"{target}#{fragment}" if fragment else target
    if kind is LinkKind.MARKDOWN:
        return f"[{text}]({address})"
    return f"{'!' * (kind is LinkKind.EMBED)}[[{address}{'|' + text if text else ''}]]"


@command()
@filter_options
@_limit_option(1000, 50)
@format_option("table", "json", "jsonl", "paths")
@daemon_option
def ls(session: Session, /, **options: Any) -> None:
    """List documents, the last updated first.

    Options choose which: mdvec ls --tag seedling --since 7d
    """
    import msgspec

    from mdvec.interfaces.operations import listed
    from mdvec.interfaces.requests import SearchRequest

    request = msgspec.convert({"query": "", **options}, SearchRequest)
    with _up_to_date(session, request.collections) as workspace:
        page = listed(workspace, request)
        several = len(request.collections or workspace.collections()) > 1
    paths = (each.file or f"{each.collection}/{each.path}" for each in page.documents)
    if not session.wrote_rows(page, page.documents, paths) and page.documents:
        rows = [
            (
                present.iso_moment(each.updated),
                f"{each.collection}/{each.path}" if several else each.path,
                each.title,
            )
            for each in page.documents
        ]
        write_table(("updated", "path", "title"), rows)
    if not page.documents:
        note("no documents")
        if page.hint:
            note(f"hint: {session.hint(page.hint)}")
    elif page.more and session.output == "table":
        note(f"there are more than {request.limit:,}; --limit shows more")


@command()
@document_options
@_limit_option(100, 5)
@format_option("text", "json", "jsonl", "paths")
@daemon_option
def related(session: Session, path: str, name: str | None, limit: int) -> None:
    """Find documents on the same subject as a given one.

    PATH is as results show it; the name of a note is enough.
    """
    with session.reading(name) as workspace:
        result = workspace.browse.related(path, collection=name, limit=limit)
    if session.output != "json":
        session.warn(result.warnings)
    write_hits(result, session)
    if not result.hits:
        note("no related documents")
