"""``mdvec status`` and ``mdvec doctor``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click
import msgspec

from mdvec.errors import UsageError
from mdvec.interfaces import present
from mdvec.interfaces.cli.common_options import command, daemon_option, format_option
from mdvec.interfaces.cli.filters import name_option
from mdvec.interfaces.cli.session import Session
from mdvec.interfaces.cli.terminal import note_no_collections, warn, write, write_table
from mdvec.interfaces.errors import EXIT_FAILED
from mdvec.interfaces.printing import visible
from mdvec.text.quantity import quantity
from mdvec.types.collection import ChunkingSpec, SearchDefaults
from mdvec.types.folder_context import shown_contexts
from mdvec.types.report import CollectionStatus, DiskCheck, Finding, Severity, WorkspaceStatus


@command()
@name_option("Only this collection, with the state of each file.")
@click.option("--check", is_flag=True, help="Compare the index with its sources.")
@click.option("--exit-code", is_flag=True, help="With --check: exit with 1 if they differ.")
@format_option("table", "json")
@daemon_option
def status(session: Session, name: str | None, check: bool, exit_code: bool) -> int:
    """Show what is indexed, what is pending, and what failed."""
    from mdvec.interfaces import answers

    if exit_code and not check:
        msg = "--exit-code needs --check"
        raise UsageError(msg, hint="Run 'mdvec status --check --exit-code'.")
    with session.reading(name) as workspace:
        found = workspace.status(name, files=name is not None, check=check)
    if not session.wrote_json(answers.status(found)):
        _print_status(found, name, session)
    unchecked = any(each.check_error for each in found.collections)
    differs = any(each.check is not None and not each.check.in_sync for each in found.collections)
    return EXIT_FAILED if unchecked or (exit_code and differs) else 0


@command()
@format_option("table", "json")
def doctor(session: Session) -> int:
    """Look for problems; exit with 1 if there are any."""
    with session.open() as workspace:
        findings = workspace.doctor()
    text = "".join(f"{line}\n" for finding in findings for line in _finding_lines(finding))
    session.write(findings, text)
    return EXIT_FAILED if any(each.severity is Severity.PROBLEM for each in findings) else 0


def _print_status(found: WorkspaceStatus, name: str | None, session: Session) -> None:
    size = f"{found.size_bytes / 1e6:,.1f} MB" if found.size_bytes else "not made yet"
    write(f"database: {visible(found.database)} ({size})\nmodel: {found.model}\n")
    if found.published is not None:
        write(f"published: {present.published_line(found.published)}\n")
    session.warn(found.warnings)
    if not found.collections:
        note_no_collections(session.first_import())
        return
    for watcher in found.watchers:
        write(f"watcher: {visible(str(watcher))}\n")
    write("\n")
    counts = ("documents", "chunks", "pending_chunks", "failed", "excluded")
    write_table(
        ("name", "enabled", "documents", "chunks", "pending", "failed", "excluded", "last indexed"),
        [
            (
                each.collection.name,
                "yes" if each.collection.enabled else "no",
                *(f"{getattr(each.counts, count):,}" for count in counts),
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
        "chunker": f"{collection.chunking.strategy}{_settings(collection.chunking, ' ({})')}",
        "model": status.model,
        "search": _settings(collection.search, "{}"),
        "created": present.moment(collection.created_ms) if collection.created_ms else "",
        "updated": present.moment(collection.updated_ms) if collection.updated_ms else "",
        "by": collection.app_version and f"mdvec {collection.app_version}",
    }
    yield from (f"{key}: {value}" for key, value in shown.items() if value)


def _settings(settings: ChunkingSpec | SearchDefaults, layout: str) -> str:
    """Return the settings that were chosen for a collection, laid out; empty without any."""
    chosen = {key: value for key, value in msgspec.structs.asdict(settings).items() if value is not None}
    chosen.pop("strategy", None)
    parts = (
        f"{key} {' '.join(map(str, value)) if isinstance(value, tuple) else value}"
        for key, value in chosen.items()
    )
    return layout.format(", ".join(parts)) if chosen else ""


def _print_details(status: CollectionStatus) -> None:
    name = status.collection.name
    for warning in status.warnings:
        warn(warning)
    for line in _state_lines(status):
        write(f"\n{visible(f'{name}: {line}')}\n")
    contexts = shown_contexts(status.collection.folder_contexts)
    _write_list(f"{name}: contexts of folders", [f"{each.folder or '.'}: {each.text}" for each in contexts])
    _write_list(f"{name}: files with problems or warnings", status.remarks)
    if status.check is not None:
        _write_list(f"{name}:", list(_check_lines(status.check)) or ["index and source agree"])
    if status.files:
        write("\n")
        write_table(
            ("state", "path", "chunks", "pending", "reason"),
            [
                (each.state.value, each.path, str(each.chunks), str(each.pending_chunks), each.reason)
                for each in status.files
            ],
        )


def _write_list(title: str, lines: Sequence[str]) -> None:
    if lines:
        write(f"\n{title}\n" + "".join(f"  {visible(line)}\n" for line in lines))


def _state_lines(status: CollectionStatus) -> Iterator[str]:
    if line := present.revision_line(status.collection):
        yield line
    if status.counts.dirty:
        yield f"{quantity(status.counts.dirty, 'document')} changed since the last import"
    if status.activity is not None:
        yield str(status.activity)
    if hidden := status.counts.superseded:
        yield f"{quantity(hidden, 'older version')} hidden"
    if line := present.change_line(status):
        yield line
    if status.check_error:
        yield f"cannot be compared with its source: {status.check_error}"


def _check_lines(check: DiskCheck) -> Iterator[str]:
    yield from (f"new      {path}" for path in check.new)
    yield from (f"changed  {path}" for path in check.changed)
    yield from (f"moved    {old} -> {new}" for old, new in check.moved)
    yield from (f"deleted  {path}" for path in check.deleted)


def _finding_lines(finding: Finding) -> Iterator[str]:
    yield visible(f"{finding.severity.value:<8} {finding.subject}: {finding.message}")
    if finding.hint:
        yield visible(f"{'':<8} hint: {finding.hint}")
