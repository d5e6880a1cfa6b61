"""What is indexed, and whether the disk still agrees."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from mdvec.errors import MdvecError, SourceUnavailableError, UnreadableFileError
from mdvec.indexing.changes import known_without_text, make_plan
from mdvec.indexing.prepare import text_or_rule
from mdvec.indexing.recipe import Recipe
from mdvec.sources.interface import Source
from mdvec.stores.interface import Store, View
from mdvec.stores.sharing import FollowingStore
from mdvec.types.change import SourceEntry
from mdvec.types.collection import Collection
from mdvec.types.report import ChangeProgress, CollectionStatus, DiskCheck, WorkspaceStatus
from mdvec.workspace.collections import Collections
from mdvec.workspace.imports import configured_otherwise
from mdvec.workspace.storage.database import Place
from mdvec.workspace.wiring.embedders import Model
from mdvec.workspace.wiring.parts import Parts


def describe_all(
    names: Sequence[str], collections: Collections, parts: Parts, *, files: bool, check: bool
) -> WorkspaceStatus:
    """Return the status of a database; see :meth:`mdvec.workspace.Workspace.status`."""
    if collections.place.is_missing and not names:
        model = _described(parts.embedders.model(None))
        return WorkspaceStatus(collections.place.shown, 0, model, ())
    store = collections.store()
    with store.read() as view:
        chosen = collections.chosen(names, view, include_disabled=True)
        statuses = [_describe(each, view, parts, collections.place, files=files) for each in chosen]
        watchers = tuple(each for each in view.activities() if not each.collection)
    if statuses and store.warnings:  # once, for all of them
        statuses[0] = replace(statuses[0], warnings=(*store.warnings, *statuses[0].warnings))
    if check:
        statuses = [_checked(each, store, parts) for each in statuses]
    models = dict.fromkeys(status.model for status in statuses)
    return WorkspaceStatus(
        database=collections.place.shown,
        size_bytes=store.size_bytes,
        model=", ".join(models) or _described(parts.embedders.model(None)),
        collections=tuple(statuses),
        watchers=watchers,
        published=store.published if isinstance(store, FollowingStore) else None,
    )


def _describe(
    collection: Collection, view: View, parts: Parts, place: Place, *, files: bool
) -> CollectionStatus:
    model, following = parts.model(collection), parts.next_model(collection)
    space_id = model.space_id(collection, view)
    change = None
    if following is not None:
        left = following.counts(collection, view)
        change = ChangeProgress(str(following.spec), left.chunks, left.pending_chunks)
    activity = next((each for each in view.activities() if each.collection == collection.name), None)
    return CollectionStatus(
        collection,
        view.counts(collection.id, space_id),
        tuple(view.file_states(collection.id, space_id)) if files else (),
        model=_described(model),
        change=change,
        warnings=configured_otherwise(collection, parts, place),
        activity=activity,
    )


def _checked(status: CollectionStatus, store: Store, parts: Parts) -> CollectionStatus:
    collection = status.collection
    try:
        source = parts.source(collection.source)
        recipe = parts.recipe(collection.chunking, parts.cutting_model(collection))
        return replace(status, check=_compare_with_disk(collection, store, source, recipe))
    except MdvecError as error:
        return replace(
            status,
            check_error=str(error),
            check_hint=error.hint,
            is_unreachable=isinstance(error, SourceUnavailableError),
        )


def _described(model: Model) -> str:
    return str(model.problem) if model.problem is not None else model.name


def _compare_with_disk(collection: Collection, store: Store, source: Source, recipe: Recipe) -> DiskCheck:
    """Return what an import would do.

    Raises:
        SourceMissingError: If the source is not there.
    """
    with store.read() as view:
        known = view.known_documents(collection.id)
    listing = source.list()
    plan, _ = make_plan(listing, known, source, recipe.fingerprint, look_at=known)
    with store.read() as view:
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
    if entry.content_hash is not None:
        return True  # reading it would mean fetching it; an import will see
    try:
        raw = source.read(entry)
    except UnreadableFileError:
        return False
    return not isinstance(text_or_rule(raw), str)
