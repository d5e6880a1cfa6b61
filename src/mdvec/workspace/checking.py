"""Says what a collection holds, and whether the disk still agrees; changes neither."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mdvec.errors import MdvecError, SourceUnavailableError, UnreadableFileError
from mdvec.indexing.kept import known_binaries
from mdvec.indexing.prepare import Recipe
from mdvec.indexing.texts import make_plan
from mdvec.types.change import SourceEntry
from mdvec.types.collection import Collection
from mdvec.types.report import ChangeProgress, CollectionStatus, DiskCheck, WorkspaceStatus
from mdvec.sources.interface import Source
from mdvec.stores.interface import Catalog, Store
from mdvec.text.encodings import decode
from mdvec.workspace.database import Database
from mdvec.workspace.embedders import Model, known_space
from mdvec.workspace.importing import configured_otherwise, cutting_model, next_model
from mdvec.workspace.wiring import Parts


def describe_all(
    names: Sequence[str], database: Database, parts: Parts, *, files: bool, check: bool
) -> WorkspaceStatus:
    """Return what ``status`` says of a database; see :meth:`mdvec.workspace.Workspace.status`.

    Args:
        names: Collections to speak of; empty for all, disabled ones included.
        database: What holds them.
        parts: Makes their sources and their models.
        files: Whether to list the state of every file.
        check: Whether to compare the disk with the index.
    """
    store = database.store()
    chosen = database.chosen(names, include_disabled=True)
    statuses = tuple(describe(each, store, parts, files=files, check=check) for each in chosen)
    models = dict.fromkeys(status.model for status in statuses)
    return WorkspaceStatus(
        database=database.shown,
        size_bytes=store.size_bytes,
        model=", ".join(models) or _described(parts.embedders.model(None)),
        collections=statuses,
    )


def describe(
    collection: Collection, store: Store, parts: Parts, *, files: bool, check: bool
) -> CollectionStatus:
    """Return what ``status`` says of a collection.

    Args:
        collection: The collection.
        store: What holds it.
        parts: Makes its source and its models.
        files: Whether to list the state of every file.
        check: Whether to compare the disk with the index.
    """
    model = parts.model(collection)
    space_id = known_space(collection, model, store)
    status = CollectionStatus(
        collection,
        store.catalog.counts(collection.id, space_id),
        tuple(store.catalog.file_states(collection.id, space_id)) if files else (),
        model=_described(model),
        change=_change(collection, store, parts),
        warnings=configured_otherwise(collection, parts),
    )
    if not check:
        return status
    try:
        source = parts.source(collection.source)
        recipe = parts.recipe(collection.chunking, cutting_model(collection, parts))
        return replace(status, check=compare_with_disk(collection, store.catalog, source, recipe))
    except MdvecError as error:
        return replace(
            status,
            check_error=str(error),
            check_hint=error.hint,
            is_unreachable=isinstance(error, SourceUnavailableError),
        )


def _described(model: Model) -> str:
    return str(model.problem) if model.problem is not None else model.name


def _change(collection: Collection, store: Store, parts: Parts) -> ChangeProgress | None:
    following = next_model(collection, parts)
    if following is None:
        return None
    counts = store.catalog.counts(collection.id, known_space(collection, following, store))
    return ChangeProgress(str(following.spec), counts.chunks, counts.pending_chunks)


def compare_with_disk(collection: Collection, catalog: Catalog, source: Source, recipe: Recipe) -> DiskCheck:
    """Say what an import would do.

    Raises:
        SourceMissingError: If the source is not there.
    """
    known = catalog.known_documents(collection.id)
    listing = source.list()
    plan, _ = make_plan(listing, known, source, recipe.fingerprint)
    binaries = {item.path for item in known_binaries(collection, listing, plan.new, catalog)}
    return DiskCheck(
        new=tuple(
            entry.path for entry in plan.new if entry.path not in binaries and _holds_text(entry, source)
        ),
        changed=tuple(entry.path for entry in plan.changed),
        moved=tuple((move.old_path, move.entry.path) for move in plan.moved),
        deleted=plan.deleted,
    )


def _holds_text(entry: SourceEntry, source: Source) -> bool:
    """Binary files look new every time: only reading them shows that they are excluded."""
    if entry.content_hash is not None:
        return True  # reading it would mean fetching it; an import will see
    try:
        return decode(source.read(entry)) is not None
    except UnreadableFileError:
        return False
