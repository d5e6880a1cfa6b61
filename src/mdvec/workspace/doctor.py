"""What keeps mdvec from working well here."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from mdvec import __version__
from mdvec.errors import DamagedDatabaseError, MdvecError, NoIndexError, OutOfFilesError, StoreError
from mdvec.machine import available_cores, can_open_files, is_out_of_files
from mdvec.stores.interface import Store
from mdvec.stores.vectors.follower import IndexedStore
from mdvec.stores.versions import read_versions
from mdvec.text.quantity import quantity
from mdvec.types.collection import RESERVED_NAMES, Collection, EmbeddingSpec
from mdvec.types.document import DocumentState
from mdvec.types.links import Versions
from mdvec.types.report import CollectionStatus, Finding, ImportMode, Severity
from mdvec.workspace.collections import PUBLISH_AGAIN, Collections
from mdvec.workspace.status import describe_all
from mdvec.workspace.storage.database import Place
from mdvec.workspace.wiring.parts import Parts

# Folders that sync clients copy file by file: a database and its log must not be copied apart.
_SYNCED_FOLDERS = ("dropbox", "onedrive", "google drive", "googledrive", "icloud", "mobile documents")

_MAX_REASONS = 3

# A bug raises these, and so may what a damaged database has led to.
_UNEXPECTED = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)


def examine(collections: Collections, parts: Parts) -> list[Finding]:
    """Examine everything; what cannot even be opened is a finding too.

    Returns:
        The findings, in the order of a reader's interest.
    """
    findings = [_about_machine(), *_about_place(collections.place)]
    try:
        store = collections.store()
    except MdvecError as error:
        severity = Severity.NOTE if isinstance(error, NoIndexError) else Severity.PROBLEM
        return [*findings, *_about_models(parts, ()), Finding(severity, "database", str(error), error.hint)]
    try:
        registered = collections.chosen((), include_disabled=True)
        findings.extend(_about_models(parts, registered))
        findings.append(_about_database(collections.place.shown, store))
        findings.extend(_about_vector_index(store))
        findings.extend(Finding(Severity.NOTE, "database", warning) for warning in store.warnings)
        with store.read() as view:
            versions = {each.id: read_versions(each.id, view) for each in registered}
        findings.extend(
            finding
            for item in describe_all((), collections, parts, files=True, check=True).collections
            for finding in (
                *_about_collection(item, collections),
                *_about_versions(item.collection, versions.get(item.collection.id, Versions())),
            )
        )
    except MdvecError as error:
        findings.append(Finding(Severity.PROBLEM, "database", str(error), error.hint))
    return findings


@contextmanager
def explaining(collections: Collections) -> Iterator[None]:
    """Find the cause of an error: no more files can be opened, or the database is damaged.

    Raises:
        OutOfFilesError: In place of an error that it explains.
        DamagedDatabaseError: In place of an unexpected error that damage explains.
    """
    try:
        with _counting_files():
            yield
    except _UNEXPECTED as error:
        damage = _find_damage(collections)
        if damage is None:
            raise
        raise damage from error


@contextmanager
def _counting_files() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # SQLite does not say why it cannot open a file.
        if is_out_of_files(error) or (isinstance(error, StoreError) and not can_open_files()):
            raise OutOfFilesError from error
        raise


def _find_damage(collections: Collections) -> DamagedDatabaseError | None:
    """Return the damage in a database; None if it is intact, was not used or cannot be examined."""
    if not collections.database.is_open:
        return None
    try:
        problems = collections.store().check()
    except MdvecError:
        return None
    if not problems:
        return None
    return DamagedDatabaseError(f"{collections.place.shown} is damaged: {problems[0]}", hint=problems[0].hint)


def _about_machine() -> Finding:
    text = f"mdvec {__version__}, Python {platform.python_version()}, {platform.platform()}"
    return Finding(Severity.OK, "machine", f"{text}, {available_cores()} cores")


def _about_place(place: Place) -> Iterator[Finding]:
    synced = [part for part in Path(place.shown).parts if part.casefold().startswith(_SYNCED_FOLDERS)]
    if synced:
        yield Finding(
            Severity.NOTE,
            "place",
            f"the database lies in {synced[0]}, which may be copied while it is written",
            "Keep it elsewhere: give --data-dir."
            if place.docs_dir
            else "Keep it elsewhere: set [store] location in mdvec.toml.",
        )


def _about_models(parts: Parts, collections: Sequence[Collection]) -> Iterator[Finding]:
    """Try each model that is in use or about to be, and the configured one where none is."""
    specs = dict.fromkeys(each.embedding for each in collections)
    specs.update(dict.fromkeys(each.next_embedding for each in collections if each.next_embedding))
    # The configured model of a new collection is often one that others name; it is shown once.
    yield from dict.fromkeys(_try_model(parts, spec) for spec in specs or (None,))


def _try_model(parts: Parts, spec: EmbeddingSpec | None) -> Finding:
    try:
        model = parts.embedders.model(spec)
        if model.problem is not None:
            return Finding(Severity.NOTE, "model", str(model.problem), model.problem.hint)
        embedder = parts.embedders.tried(model.spec)
    except MdvecError as error:
        return Finding(Severity.PROBLEM, "model", str(error), error.hint)
    warnings = "; ".join(embedder.warnings)
    if warnings:
        return Finding(Severity.NOTE, "model", f"{model.name}: {warnings}")
    return Finding(Severity.OK, "model", model.name)


def _about_database(database: str, store: Store) -> Finding:
    try:
        problems = store.check()
    except MdvecError as error:  # what keeps it from being examined is no damage
        return Finding(Severity.PROBLEM, "database", str(error), error.hint)
    if problems:
        return Finding(
            Severity.PROBLEM,
            "database",
            f"{database}: {'; '.join(map(str, problems[:_MAX_REASONS]))}",
            problems[0].hint,
        )
    return Finding(Severity.OK, "database", f"{database}: intact")


def _about_vector_index(store: Store) -> Iterator[Finding]:
    """Yield problems of the index beside a store; searches work without it, but slower."""
    if not isinstance(store, IndexedStore):
        return
    with store.vector_index() as index:
        if index is None:
            return
        problem = index.problem()
        if problem:
            hint = "Searches work without it, but slower. Build it again: mdvec store rebuild"
            yield Finding(Severity.NOTE, "vector index", problem, hint)
        else:
            yield Finding(Severity.OK, "vector index", f"{index.location}: can be used")


def _about_versions(collection: Collection, versions: Versions) -> Iterator[Finding]:
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


def _about_collection(status: CollectionStatus, collections: Collections) -> Iterator[Finding]:
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
    in_order = f"{quantity(counts.documents, 'document')}, {quantity(counts.chunks, 'chunk')}, up to date"
    yield from list(_about_state(status, collections)) or [Finding(Severity.OK, name, in_order)]
    if counts.superseded:
        files = collections.place.command("status", "-n", name)
        yield Finding(
            Severity.OK,
            name,
            f"{quantity(counts.superseded, 'older version')} hidden: other documents name them as 'previous'",
            f"'{files}' lists them; a search with --include-superseded finds them.",
        )


def _about_state(status: CollectionStatus, collections: Collections) -> Iterator[Finding]:
    """Yield what keeps a collection from being up to date."""
    name = status.collection.name
    counts = status.counts

    def note(message: str, hint: str) -> Finding:
        return Finding(Severity.NOTE, name, message, hint)

    is_new = status.collection.last_indexed_ms is None
    update = collections.place.import_command([name], ImportMode.NEW if is_new else ImportMode.UPDATE)
    files = collections.place.command("status", "-n", name)
    complete = f"{PUBLISH_AGAIN.capitalize()}." if collections.is_published else f"Run '{update}'."
    if status.is_unreachable:
        yield note(
            f"cannot be reached now; searches use what was indexed: {status.check_error}",
            f"Run '{update}' when it can be reached again.",
        )
    if is_new:
        yield note("never imported", complete)
        return
    if counts.failed:
        yield Finding(
            Severity.PROBLEM,
            name,
            f"{quantity(counts.failed, 'file')} could not be read",
            f"Run '{files}' to see which and why.",
        )
    if status.check is not None and not status.check.in_sync:
        check = status.check
        differing = len(check.new) + len(check.changed) + len(check.moved) + len(check.deleted)
        yield note(f"{quantity(differing, 'difference')} between the files and the index", f"Run '{update}'.")
    if odd := [each for each in status.files if each.state is DocumentState.READY and each.reason]:
        more = f"; {quantity(len(odd) - 1, 'more file')} with warnings" if len(odd) > 1 else ""
        yield note(f"{odd[0].path}: {odd[0].reason}{more}", f"Run '{files}' to see all.")
    if counts.pending_chunks:
        yield note(f"{counts.pending_chunks:,} of {counts.chunks:,} chunks have no vector", complete)
