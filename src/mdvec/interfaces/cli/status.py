"""``mdvec status`` and ``mdvec doctor``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from mdvec.errors import UsageError
from mdvec.interfaces import present
from mdvec.interfaces.cli.common_options import Command, daemon_option, format_option
from mdvec.interfaces.cli.filters import name_option
from mdvec.interfaces.cli.session import Session
from mdvec.interfaces.cli.terminal import note_no_collections, warn, write, write_json, write_table
from mdvec.interfaces.errors import EXIT_FAILED
from mdvec.interfaces.passage import visible
from mdvec.text.quantity import quantity
from mdvec.types.folder_context import shown_contexts

if TYPE_CHECKING:
    from mdvec.types.report import CollectionStatus, DiskCheck, Finding, WorkspaceStatus


@click.command(cls=Command)
@name_option("Only this collection, with the state of each file.")
@click.option("--check", is_flag=True, help="Compare the index with its sources.")
@click.option("--exit-code", is_flag=True, help="With --check: exit with 1 if they differ.")
@format_option("table", "json")
@daemon_option
@click.pass_context
def status(ctx: click.Context, name: str | None, check: bool, exit_code: bool) -> None:
    """Show what is indexed, what is pending, and what failed."""
    from mdvec.interfaces import wire

    if exit_code and not check:
        msg = "--exit-code needs --check"
        raise UsageError(msg, hint="Run 'mdvec status --check --exit-code'.")
    session: Session = ctx.obj
    with session.reading(name) as (workspace, _):
        found = workspace.status(name, files=name is not None, check=check)
    if session.output == "json":
        write_json(wire.status(found))
    else:
        _print_status(found, name)
    unchecked = any(each.check_error for each in found.collections)
    differs = any(each.check is not None and not each.check.in_sync for each in found.collections)
    if unchecked or (exit_code and differs):
        ctx.exit(EXIT_FAILED)


@click.command(cls=Command)
@format_option("table", "json")
@click.pass_context
def doctor(ctx: click.Context) -> None:
    """Look for problems; exit with 1 if there are any."""
    from mdvec.types.report import Severity

    session: Session = ctx.obj
    with session.open() as (workspace, _):
        findings = workspace.doctor()
    text = "".join(f"{line}\n" for finding in findings for line in _finding_lines(finding))
    session.write(findings, text)
    if any(finding.severity is Severity.PROBLEM for finding in findings):
        ctx.exit(EXIT_FAILED)


def _print_status(found: WorkspaceStatus, name: str | None) -> None:
    size = f"{found.size_bytes / 1e6:,.1f} MB" if found.size_bytes else "not made yet"
    write(f"database: {visible(found.database)} ({size})\nmodel: {found.model}\n")
    if found.published is not None:
        write(f"published: {present.published_line(found.published)}\n")
    if not found.collections:
        note_no_collections()
        return
    for watcher in found.watchers:
        write(f"watcher: {visible(str(watcher))}\n")
    write("\n")
    write_table(
        ("name", "enabled", "documents", "chunks", "pending", "failed", "excluded", "last indexed"),
        [
            (
                each.collection.name,
                "yes" if each.collection.enabled else "no",
                f"{each.counts.documents:,}",
                f"{each.counts.chunks:,}",
                f"{each.counts.pending_chunks:,}",
                f"{each.counts.failed:,}",
                f"{each.counts.excluded:,}",
                present.moment(each.collection.last_indexed_ms),
            )
            for each in found.collections
        ],
    )
    for each in found.collections:
        if name is not None:
            write("\n" + "".join(f"{visible(line)}\n" for line in _registration_lines(each)))
        _print_details(each)


def _registration_lines(status: CollectionStatus) -> Iterator[str]:
    collection = status.collection
    shown = {
        "description": collection.description,
        "source": str(collection.source),
        "include": ", ".join(collection.source.include),
        "exclude": ", ".join(collection.source.exclude),
        "preset": collection.preset,
        "chunker": collection.chunking.strategy,
        "model": status.model,
        "created": present.moment(collection.created_ms) if collection.created_ms else "",
        "updated": present.moment(collection.updated_ms) if collection.updated_ms else "",
    }
    yield from (f"{key}: {value}" for key, value in shown.items() if value)
    for context in shown_contexts(collection.folder_contexts):
        yield f"context of {context.folder or '.'}: {context.text}"


def _print_details(status: CollectionStatus) -> None:
    name = status.collection.name
    for warning in status.warnings:
        warn(warning)
    if line := present.revision_line(status.collection):
        write(f"\n{visible(f'{name}: {line}')}\n")
    if status.counts.dirty:
        write(f"\n{name}: {quantity(status.counts.dirty, 'document')} changed since the last import\n")
    if status.activity is not None:
        write(f"\n{visible(f'{name}: {status.activity}')}\n")
    if hidden := status.counts.superseded:
        write(f"\n{visible(name)}: {quantity(hidden, 'older version')} hidden\n")
    if line := present.change_line(status):
        write(f"\n{name}: {line}\n")
    if status.check_error:
        write(f"\n{name}: cannot be compared with its source: {status.check_error}\n")
    if status.check is not None:
        lines = list(_check_lines(status.check)) or ["index and source agree"]
        write(f"\n{name}:\n" + "".join(f"  {visible(line)}\n" for line in lines))
    if status.files:
        write("\n")
        write_table(
            ("state", "path", "chunks", "pending", "reason"),
            [
                (each.state.value, each.path, str(each.chunks), str(each.pending_chunks), each.reason)
                for each in status.files
            ],
        )


def _check_lines(check: DiskCheck) -> Iterator[str]:
    yield from (f"new      {path}" for path in check.new)
    yield from (f"changed  {path}" for path in check.changed)
    yield from (f"moved    {old} -> {new}" for old, new in check.moved)
    yield from (f"deleted  {path}" for path in check.deleted)


def _finding_lines(finding: Finding) -> Iterator[str]:
    yield visible(f"{finding.severity.value:<8} {finding.subject}: {finding.message}")
    if finding.hint:
        yield visible(f"{'':<8} hint: {finding.hint}")
