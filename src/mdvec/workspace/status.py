"""The status of what is indexed, its differences from the disk, and problems of mdvec on this machine."""

from __future__ import annotations

import itertools
import platform
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from mdvec import __version__
from mdvec.errors import (
    DamagedDatabaseError,
    MdvecError,
    NoIndexError,
    OutOfFilesError,
    SourceUnavailableError,
    StoreError,
    UnreadableFileError,
)
from mdvec.indexing.plan import known_without_text, make_plan
from mdvec.indexing.work import Recipe, named_documents
from mdvec.machine import available_cores, can_open_files, is_out_of_files
from mdvec.sources.interface import Source
from mdvec.stores.interface import View
from mdvec.text.quantity import quantity
from mdvec.types.change import NEEDS_FILES, SourceEntry
from mdvec.types.collection import RESERVED_NAMES, Collection, EmbeddingSpec
from mdvec.types.document import DocumentState
from mdvec.types.links import Versions
from mdvec.types.report import (
    Activity,
    ChangeProgress,
    CollectionStatus,
    DiskCheck,
    FileStatus,
    Finding,
    ImportMode,
    Severity,
    WorkspaceStatus,
)
from mdvec.workspace.collections import PUBLISH_AGAIN, Collections
from mdvec.workspace.database import DatabasePlace
from mdvec.workspace.models import configured_otherwise
from mdvec.workspace.stages import Model, Stages

# Folders that sync clients copy file by file: a database and its log must not be copied apart.
_SYNCED_FOLDERS = ("dropbox", "onedrive", "google drive", "googledrive", "icloud", "mobile documents")
_MAX_REASONS = 3
# A bug raises these, and so may what a damaged database has led to.
_UNEXPECTED = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)


def describe_all(
    names: Sequence[str], collections: Collections, *, files: bool, check: bool
) -> WorkspaceStatus:
    """Return the status of a database; see :meth:`mdvec.workspace.Workspace.status`."""
    if collections.place.is_missing and not names:
        model = _described(collections.stages.models.for_(None))
        return WorkspaceStatus(collections.place.shown, 0, model, ())
    with collections.read() as view:
        chosen = collections.chosen(names, view, include_disabled=True)
        activities = view.collections.activities()
        statuses = [_describe(each, view, collections, activities, files=files) for each in chosen]
    if check:
        statuses = [_checked(each, collections) for each in statuses]
    models = dict.fromkeys(status.model for status in statuses)
    return WorkspaceStatus(
        database=collections.place.shown,
        size_bytes=collections.size_bytes,
        model=", ".join(models) or _described(collections.stages.models.for_(None)),
        collections=tuple(statuses),
        watchers=tuple(each for each in activities if not each.collection),
        published=collections.published,
    )


def _describe(
    collection: Collection,
    view: View,
    collections: Collections,
    activities: Sequence[Activity],
    *,
    files: bool,
) -> CollectionStatus:
    stages = collections.stages
    model, next_model = stages.model(collection), stages.next_model(collection)
    space_id = model.space_id(collection, view)
    change = None
    if next_model is not None:
        left = next_model.counts(collection, view)
        change = ChangeProgress(str(next_model.spec), left.chunks, left.pending_chunks)
    states = view.collections.file_states(collection.id, space_id, only_odd=not files)
    return CollectionStatus(
        collection,
        view.collections.counts(collection.id, space_id),
        tuple(states) if files else (),
        remarks=()
        if files
        else _first_of(states, collections.place.command("status", "-n", collection.name)),
        model=_described(model),
        change=change,
        warnings=configured_otherwise(collection, collections),
        activity=next((each for each in activities if each.collection == collection.name), None),
    )


def _first_of(odd: Sequence[FileStatus], command: str) -> tuple[str, ...]:
    """Return what is said of the first files, those that failed before others; the command shows all."""
    grouped: dict[str, list[str]] = {}
    for each in sorted(odd, key=lambda each: each.state is not DocumentState.FAILED):
        grouped.setdefault(each.reason, []).append(each.path)
    named = (f"{named_documents(paths)}: {reason}" for reason, paths in grouped.items())
    more = sum(map(len, [*grouped.values()][_MAX_REASONS:]))
    left = (f"and {quantity(more, 'more file')}: {command}",) if more else ()
    return (*itertools.islice(named, _MAX_REASONS), *left)


def _checked(status: CollectionStatus, collections: Collections) -> CollectionStatus:
    collection, stages = status.collection, collections.stages
    try:
        source = stages.source(collection.source)
        recipe = stages.recipe(collection.chunking, stages.cutting_model(collection))
        return replace(status, check=_compare_with_disk(collection, collections, source, recipe))
    except MdvecError as error:
        return replace(
            status,
            check_error=str(error),
            check_hint=error.hint.replace("-n NAME", f"-n {collection.name}"),
            is_unreachable=isinstance(error, SourceUnavailableError),
        )


def _described(model: Model) -> str:
    return str(model.problem) if model.problem is not None else model.name


def _compare_with_disk(
    collection: Collection, collections: Collections, source: Source, recipe: Recipe
) -> DiskCheck:
    """Return what an import would do.

    Raises:
        SourceMissingError: If the source is not there.
    """
    with collections.read() as view:
        known = view.documents.known(collection.id)
    listing = source.list()
    plan, _ = make_plan(listing, known, source, recipe.fingerprint, look_at=known)
    with collections.read() as view:
        without_text = {item.path for item in known_without_text(collection, listing, plan.new, view)}
    return DiskCheck(
        new=tuple(
            entry.path for entry in plan.new if entry.path not in without_text and _holds_text(entry, source)
        ),
        changed=tuple(entry.path for entry in plan.changed),
        moved=tuple((move.old_path, move.entry.path) for move in plan.moved),
        deleted=plan.deleted,
    )


def _holds_text(entry: SourceEntry, source: Source) -> bool:
    """Return True unless a file holds no text: those look new every time, and only reading them shows it."""
    from mdvec.indexing.prepare import text_or_rule  # searches do not need it

    if entry.content_hash is not None:
        return True  # reading it would mean fetching it; an import will see
    try:
        return not isinstance(text_or_rule(entry.path, source.read(entry)), str)
    except UnreadableFileError:
        return False


def examine(collections: Collections) -> list[Finding]:
    """Examine everything; what cannot even be opened is a finding too.

    Returns:
        The findings, in the order of a reader's interest.
    """
    stages, findings = collections.stages, [_about_machine(), *_about_place(collections.place)]
    try:
        warnings = collections.warnings  # opens the store
    except MdvecError as error:
        severity = Severity.NOTE if isinstance(error, NoIndexError) else Severity.PROBLEM
        return [*findings, *_about_models(stages, ()), Finding(severity, "database", str(error), error.hint)]
    try:
        registered = collections.chosen((), include_disabled=True)
        findings.extend(_about_models(stages, registered))
        findings.append(_about_database(collections))
        findings.extend(_about_checksums(collections))
        findings.extend(_about_vector_index(collections))
        findings.extend(Finding(Severity.NOTE, "database", warning) for warning in warnings)
        with collections.read() as view:
            versions = {each.id: view.documents.versions(each.id) for each in registered}
        findings.extend(
            finding
            for item in describe_all((), collections, files=True, check=True).collections
            for finding in (
                *_about_collection(item, collections),
                *(Finding(Severity.NOTE, item.collection.name, each) for each in item.warnings),
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
        yield
    except Exception as error:
        # SQLite does not say why it cannot open a file.
        if is_out_of_files(error) or (isinstance(error, StoreError) and not can_open_files()):
            raise OutOfFilesError from error
        damage = _find_damage(collections) if isinstance(error, _UNEXPECTED) else None
        if damage is None:
            raise
        raise damage from error


def _find_damage(collections: Collections) -> DamagedDatabaseError | None:
    """Return the damage in a database; None if it is intact, was not used or cannot be examined."""
    if not collections.is_open:
        return None
    try:
        problems = collections.damage()
    except MdvecError:
        return None
    if not problems:
        return None
    return DamagedDatabaseError(f"{collections.place.shown} is damaged: {problems[0]}", hint=problems[0].hint)


def _about_machine() -> Finding:
    text = f"mdvec {__version__}, Python {platform.python_version()}, {platform.platform()}"
    return Finding(Severity.OK, "machine", f"{text}, {available_cores()} cores")


def _about_place(place: DatabasePlace) -> Iterator[Finding]:
    synced = [part for part in Path(place.shown).parts if part.casefold().startswith(_SYNCED_FOLDERS)]
    if synced:
        message = f"the database lies in {synced[0]}, which may be copied while it is written"
        cure = "give --data-dir" if place.docs_dir else "set [store] location in mdvec.toml"
        yield Finding(Severity.NOTE, "place", message, f"Keep it elsewhere: {cure}.")


def _about_models(stages: Stages, collections: Sequence[Collection]) -> Iterator[Finding]:
    """Try each model that is in use or about to be, the configured one where none is, and the reranker."""
    specs = dict.fromkeys(each.embedding for each in collections)
    specs.update(dict.fromkeys(each.next_embedding for each in collections if each.next_embedding))
    # The configured model of a new collection is often one that others name; it is shown once.
    yield from dict.fromkeys(_try_model(stages, spec) for spec in specs or (None,))
    yield from _about_reranker(stages)


def _try_model(stages: Stages, spec: EmbeddingSpec | None) -> Finding:
    try:
        model = stages.models.for_(spec)
        if model.problem is not None:
            return Finding(Severity.NOTE, "model", str(model.problem), model.problem.hint)
        stages.models.check(model.spec)
    except MdvecError as error:
        return Finding(Severity.PROBLEM, "model", str(error), error.hint)
    warnings = "; ".join(model.known().warnings)
    if warnings:
        return Finding(Severity.NOTE, "model", f"{model.name}: {warnings}")
    return Finding(Severity.OK, "model", model.name)


def _about_reranker(stages: Stages) -> Iterator[Finding]:
    """Say whether the configured reranker can be used; nothing is loaded or sent."""
    try:
        made = stages.models.reranker()
        if made is None:
            return
        if made.reranker.problem is not None:
            raise made.reranker.problem
        yield Finding(Severity.OK, "reranker", made.name)
    except MdvecError as error:
        yield Finding(Severity.PROBLEM, "reranker", str(error), error.hint)


def _about_database(collections: Collections) -> Finding:
    database = collections.place.shown
    try:
        problems = collections.damage()
    except MdvecError as error:  # what keeps it from being examined is no damage
        return Finding(Severity.PROBLEM, "database", str(error), error.hint)
    if problems:
        message = f"{database}: {'; '.join(map(str, problems[:_MAX_REASONS]))}"
        return Finding(Severity.PROBLEM, "database", message, problems[0].hint)
    return Finding(Severity.OK, "database", f"{database}: intact")


def _about_checksums(collections: Collections) -> Iterator[Finding]:
    """Yield that a server does not notice damage in its files."""
    team = collections.store().team
    if team is not None and not team.has_checksums:
        message = "the server has no checksums (data_checksums is off): damage in its files stays unnoticed"
        hint = "Stop the server, run 'pg_checksums --enable' on its data, and start it again."
        yield Finding(Severity.NOTE, "database", message, hint)


def _about_vector_index(collections: Collections) -> Iterator[Finding]:
    """Yield problems of the vector index of a store; it is compared with the store, which reads all of it."""
    with collections.read() as view:
        index = view.vectors.index
        if index is None:
            return
        problem = index.problem(compare=True)
        if problem:
            hint = "Searches are slower without it, or miss texts. Build it again: mdvec store rebuild"
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
        missing = f"{'; '.join(named)}{f'; and {more} more' if more else ''}"
        message = f"'previous' names what is not there: {missing}"
        hint = "Correct 'previous' in their frontmatter, or take it out."
        yield Finding(Severity.NOTE, collection.name, message, hint)
    for cycle in versions.cycles:
        circle = f"each is the previous version of another: {' → '.join((*cycle, cycle[0]))}"
        message = f"{circle}; none of them is left out of results for that"
        yield Finding(Severity.NOTE, collection.name, message, "Take 'previous' out of the oldest one.")


def _about_collection(status: CollectionStatus, collections: Collections) -> Iterator[Finding]:
    name = status.collection.name
    counts = status.counts
    if name in RESERVED_NAMES:
        message = "agents have another tool of this name, so the collection has none of its own"
        hint = "Agents reach it with 'search'. To give it a tool, add its folder under another name."
        yield Finding(Severity.NOTE, name, message, hint)
    if status.check_error and not (status.is_unreachable and counts.documents):
        yield Finding(Severity.PROBLEM, name, status.check_error, status.check_hint)
        return
    in_order = f"{quantity(counts.documents, 'document')}, {quantity(counts.chunks, 'chunk')}, up to date"
    yield from list(_about_state(status, collections)) or [Finding(Severity.OK, name, in_order)]
    if counts.superseded:
        hidden = f"{quantity(counts.superseded, 'older version')} hidden"
        named = "another document names it" if counts.superseded == 1 else "other documents name them"
        files = collections.place.command("status", "-n", name)
        hint = f"'{files}' lists them; a search with --include-superseded finds them."
        yield Finding(Severity.OK, name, f"{hidden}: {named} as 'previous'", hint)


def _about_state(status: CollectionStatus, collections: Collections) -> Iterator[Finding]:
    """Yield what keeps a collection from being up to date."""
    name = status.collection.name
    counts = status.counts

    def note(message: str, hint: str) -> Finding:
        return Finding(Severity.NOTE, name, message, hint)

    is_new = status.collection.last_indexed_ms is None
    update = collections.place.import_command([name], ImportMode.NEW if is_new else ImportMode.UPDATE)
    files = collections.place.command("status", "-n", name)
    complete = f"{PUBLISH_AGAIN.capitalize()}." if collections.published else f"Run '{update}'."
    if status.is_unreachable:
        message = f"cannot be reached now; searches use what was indexed: {status.check_error}"
        yield note(message, f"Run '{update}' when it can be reached again.")
    if is_new:
        yield note("never imported", complete)
        return
    if counts.failed:
        failed = (each for each in status.files if each.state is DocumentState.FAILED)
        named = "".join(f": {each.path}: {each.reason}" for each in itertools.islice(failed, 1))
        message = f"{quantity(counts.failed, 'file')} could not be read{named}"
        yield Finding(Severity.PROBLEM, name, message, f"Run '{files}' to see which and why.")
    if status.check is not None and not status.check.in_sync:
        check = status.check
        differing = len(check.new) + len(check.changed) + len(check.moved) + len(check.deleted)
        yield note(f"{quantity(differing, 'difference')} between the files and the index", f"Run '{update}'.")
    if odd := [each for each in status.files if each.state is DocumentState.READY and each.reason]:
        yield note("; ".join(_first_of(odd, files)), f"Run '{files}' to see all.")
    if lacking := [each for each in status.files if each.reason == NEEDS_FILES]:
        yield note(f"{quantity(len(lacking), 'file')} not searched: {NEEDS_FILES}", "Then import again.")
    if counts.pending_chunks:
        yield note(f"{counts.pending_chunks:,} of {counts.chunks:,} chunks have no vector", complete)
