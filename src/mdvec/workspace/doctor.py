"""Looks for what keeps mdvec from working well on this machine."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from pathlib import Path

from mdvec import __version__
from mdvec.embedding.cores import available_cores
from mdvec.errors import MdvecError
from mdvec.types.collection import Collection, EmbeddingSpec
from mdvec.types.names import RESERVED_NAMES
from mdvec.types.report import CollectionStatus, Finding, ImportMode, Severity
from mdvec.stores.interface import Store
from mdvec.workspace.advice import import_command
from mdvec.workspace.checking import describe_all
from mdvec.workspace.database import Database
from mdvec.workspace.embedders import Model
from mdvec.workspace.wiring import Parts

# Folders that sync clients copy file by file: a database and its log must not be copied apart.
_SYNCED_FOLDERS = ("dropbox", "onedrive", "google drive", "googledrive", "icloud", "mobile documents")

_MAX_REASONS = 3


def examine(database: Database, parts: Parts) -> list[Finding]:
    """Look at everything; what cannot even be opened is a finding too.

    Args:
        database: The index.
        parts: Makes the models and the sources.

    Returns:
        What was looked at, in the order of a reader's interest.
    """
    findings = [_about_machine(), *_about_place(database.shown)]
    try:
        store = database.store()
    except MdvecError as error:
        return [
            *findings,
            *_about_models(parts, ()),
            Finding(Severity.PROBLEM, "database", str(error), error.hint),
        ]
    try:
        findings.extend(_about_models(parts, store.catalog.collections()))
        findings.append(_about_database(database.shown, store))
        findings.extend(
            finding
            for item in describe_all((), database, parts, files=False, check=True).collections
            for finding in (
                *_about_collection(item, database.docs_dir),
                *_about_versions(item.collection, store),
            )
        )
    except MdvecError as error:
        findings.append(Finding(Severity.PROBLEM, "database", str(error), error.hint))
    return findings


def _about_machine() -> Finding:
    text = f"mdvec {__version__}, Python {platform.python_version()}, {platform.platform()}"
    return Finding(Severity.OK, "machine", f"{text}, {available_cores()} cores")


def _about_place(database: str) -> Iterator[Finding]:
    synced = [part for part in Path(database).parts if part.casefold().startswith(_SYNCED_FOLDERS)]
    if synced:
        yield Finding(
            Severity.NOTE,
            "place",
            f"the database lies in {synced[0]}, which may be copied while it is written",
            "Keep it elsewhere: set [store] location in mdvec.toml.",
        )


def _about_models(parts: Parts, collections: Sequence[Collection]) -> Iterator[Finding]:
    """Try each model that is in use or about to be, and the configured one where none is."""
    specs = dict.fromkeys(each.embedding for each in collections)
    specs.update(dict.fromkeys(each.next_embedding for each in collections if each.next_embedding))
    # The configured model of a new collection is often one that others name; it is told once.
    yield from dict.fromkeys(_try_model(parts, spec) for spec in specs or (None,))


def _try_model(parts: Parts, spec: EmbeddingSpec | None) -> Finding:
    try:
        return _about_model(parts.embedders.model(spec))
    except MdvecError as error:
        return Finding(Severity.PROBLEM, "model", str(error), error.hint)


def _about_model(model: Model) -> Finding:
    if model.embedder is None:
        return Finding(
            Severity.NOTE, "model", str(model.problem), model.problem.hint if model.problem else ""
        )
    model.embedder.embed_query("ok")
    told = "; ".join(model.embedder.warnings)
    if told:
        return Finding(Severity.NOTE, "model", f"{model.name}: {told}")
    return Finding(Severity.OK, "model", model.name)


def _about_database(database: str, store: Store) -> Finding:
    problems = store.check()
    if problems:
        return Finding(
            Severity.PROBLEM,
            "database",
            f"{database}: {'; '.join(problems[:_MAX_REASONS])}",
            "Rebuild it: remove the file and import again. Your documents are not touched.",
        )
    return Finding(Severity.OK, "database", f"{database}: intact")


def _about_versions(collection: Collection, store: Store) -> Iterator[Finding]:
    versions = store.catalog.versions(collection.id)
    if versions.dangling:
        named = [
            f"{each.path}:{each.link.line} names {each.link.target!r}"
            for each in versions.dangling[:_MAX_REASONS]
        ]
        more = len(versions.dangling) - len(named)
        yield Finding(
            Severity.NOTE,
            collection.name,
            f"'previous' names what is not there: {'; '.join(named)}{f'; and {more} more' if more else ''}",
            "Correct 'previous' in their frontmatter, or take it out.",
        )
    for cycle in versions.cycles:
        yield Finding(
            Severity.NOTE,
            collection.name,
            f"each is the previous version of another: {' → '.join((*cycle, cycle[0]))}; "
            "none of them is left out of results for that",
            "Take 'previous' out of the oldest one.",
        )


def _about_collection(status: CollectionStatus, docs_dir: Path | None) -> Iterator[Finding]:
    name = status.collection.name
    counts = status.counts
    if name in RESERVED_NAMES:
        yield Finding(
            Severity.NOTE,
            name,
            "agents have another tool of this name, so the collection has none of its own",
            "Agents reach it with 'search'. To give it a tool, add its folder under another name.",
        )
    if status.check_error and not (status.is_unreachable and counts.documents):
        yield Finding(Severity.PROBLEM, name, status.check_error, status.check_hint)
        return
    in_order = f"{counts.documents} documents, {counts.chunks} chunks, up to date"
    yield from list(_about_state(status, docs_dir)) or [Finding(Severity.OK, name, in_order)]


def _about_state(status: CollectionStatus, docs_dir: Path | None) -> Iterator[Finding]:
    """Say what keeps a collection from being up to date.

    Args:
        status: What is known of it.
        docs_dir: The folder of a workspace that has no other, for what to run next.
    """
    name = status.collection.name
    counts = status.counts
    is_new = status.collection.last_indexed_ms is None
    update = import_command([name], ImportMode.NEW if is_new else ImportMode.UPDATE, docs_dir=docs_dir)
    if status.is_unreachable:
        yield Finding(
            Severity.NOTE,
            name,
            f"cannot be reached now, what was indexed is searched: {status.check_error}",
            f"Run '{update}' when it can be reached again.",
        )
    if is_new:
        yield Finding(Severity.NOTE, name, "never imported", f"Run '{update}'.")
        return
    if counts.failed:
        yield Finding(
            Severity.PROBLEM,
            name,
            f"{counts.failed} files could not be read",
            f"Run 'mdvec status -n {name}' to see which and why.",
        )
    if status.check is not None and not status.check.in_sync:
        check = status.check
        differing = len(check.new) + len(check.changed) + len(check.moved) + len(check.deleted)
        yield Finding(Severity.NOTE, name, f"{differing} files differ from the index", f"Run '{update}'.")
    if counts.pending_chunks:
        yield Finding(
            Severity.NOTE,
            name,
            f"{counts.pending_chunks} of {counts.chunks} chunks have no vector",
            f"Run '{update}'.",
        )
