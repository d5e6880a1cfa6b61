"""Says what a collection holds, and whether the disk still agrees; changes neither."""

from __future__ import annotations

from dataclasses import replace

from mdvec.errors import MdvecError, UnreadableFileError
from mdvec.indexing.prepare import Recipe
from mdvec.indexing.texts import make_plan
from mdvec.model.change import SourceEntry
from mdvec.model.collection import Collection
from mdvec.model.report import CollectionStatus, DiskCheck
from mdvec.sources.interface import Source
from mdvec.stores.interface import Catalog, Store
from mdvec.text.encodings import decode
from mdvec.workspace.answering import space_in_use
from mdvec.workspace.wiring import Parts


def model_in_use(parts: Parts) -> str:
    """Name the embedding space in use, or say why there is none."""
    embedder = parts.embedder
    return str(parts.embedder_problem) if embedder is None else embedder.space.key


def describe(
    collection: Collection, store: Store, parts: Parts, *, files: bool, check: bool
) -> CollectionStatus:
    """Return what ``status`` says of a collection.

    Args:
        collection: The collection.
        store: What holds it.
        parts: Makes its source.
        files: Whether to list the state of every file.
        check: Whether to compare the disk with the index.
    """
    space_id = space_in_use(store, parts)
    status = CollectionStatus(
        collection,
        store.catalog.counts(collection.id, space_id),
        tuple(store.catalog.file_states(collection.id, space_id)) if files else (),
    )
    if not check:
        return status
    try:
        source, recipe = parts.source(collection.source), parts.recipe(collection.chunking)
        return replace(status, check=compare_with_disk(collection, store.catalog, source, recipe))
    except MdvecError as error:
        return replace(status, check_error=str(error))


def compare_with_disk(collection: Collection, catalog: Catalog, source: Source, recipe: Recipe) -> DiskCheck:
    """Say what an import would do.

    Raises:
        SourceMissingError: If the source is not there.
    """
    known = catalog.known_documents(collection.id)
    plan, _ = make_plan(source.list(), known, source, recipe.fingerprint)
    return DiskCheck(
        new=tuple(entry.path for entry in plan.new if _holds_text(entry, source)),
        changed=tuple(entry.path for entry in plan.changed),
        moved=tuple((move.old_path, move.entry.path) for move in plan.moved),
        deleted=plan.deleted,
    )


def _holds_text(entry: SourceEntry, source: Source) -> bool:
    """Binary files look new every time: only reading them shows that they are excluded."""
    try:
        return decode(source.read(entry)) is not None
    except UnreadableFileError:
        return False
