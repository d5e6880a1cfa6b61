"""Changes the model of one collection, from the choice to the last vector."""

from __future__ import annotations

import time
from collections.abc import Callable

from mdvec.errors import SourceError
from mdvec.types.collection import Collection, EmbeddingSpec
from mdvec.types.model_report import ModelChange, ModelChangeOutcome
from mdvec.types.report import ImportMode, ImportReport, Progress
from mdvec.stores.interface import Store
from mdvec.workspace.changing import cancel, choose
from mdvec.workspace.importing import complete_change, import_into, turn_to_write
from mdvec.workspace.wiring import Parts


def change_model(
    wanted: EmbeddingSpec,
    find: Callable[[], Collection],
    *,
    store: Store,
    parts: Parts,
    wait_s: float,
    progress: Progress,
) -> ModelChange:
    """Change the model of one collection; see :meth:`mdvec.workspace.models.Models.use`.

    Args:
        wanted: The model, pinned and checked.
        find: Returns the collection as it is now.
        store: What holds it.
        parts: Makes its models.
        wait_s: How long to wait for another writer, in seconds.
        progress: Is told how far it is.
    """
    started = time.perf_counter()
    with turn_to_write(store, f"model use {find().name}", wait_s, progress):
        before = find()
        after = choose(before, wanted, store=store, embedders=parts.embedders)
    counts = store.catalog.counts(before.id, None)
    warnings: tuple[str, ...] = ()
    embedded = 0
    if after.embedding == before.embedding and after.next_embedding is None:
        outcome = ModelChangeOutcome.SAME
        if before.next_embedding is not None:
            warnings = (f"the change to {before.next_embedding} is forgotten",)
    elif not counts.chunks:
        outcome = ModelChangeOutcome.CHOSEN
    else:
        report = _go_on(find, store=store, parts=parts, wait_s=wait_s, progress=progress)
        embedded, warnings = report.embedded_chunks, report.warnings
        done = parts.embedders.space_of(find().embedding) == parts.embedders.space_of(wanted)
        outcome = ModelChangeOutcome.CHANGED if done else ModelChangeOutcome.CANCELLED
    now = find()
    return ModelChange(
        collection=now.name,
        outcome=outcome,
        model="" if now.embedding is None else str(now.embedding),
        embedded_chunks=embedded,
        total_chunks=store.catalog.counts(now.id, None).chunks,
        warnings=warnings,
        elapsed_ms=(time.perf_counter() - started) * 1000,
    )


def cancel_change(collection: Collection, *, store: Store, parts: Parts) -> ModelChange:
    """Forget the change of a collection's model; who is at work on it stops after a batch."""
    started = time.perf_counter()
    was_changing = cancel(collection, store=store, embedders=parts.embedders)
    return ModelChange(
        collection=collection.name,
        outcome=ModelChangeOutcome.CANCELLED if was_changing else ModelChangeOutcome.SAME,
        model="" if collection.embedding is None else str(collection.embedding),
        total_chunks=store.catalog.counts(collection.id, None).chunks,
        elapsed_ms=(time.perf_counter() - started) * 1000,
    )


def _go_on(
    find: Callable[[], Collection],
    *,
    store: Store,
    parts: Parts,
    wait_s: float,
    progress: Progress,
) -> ImportReport:
    """Import with the new model; without the documents themselves, embed what is indexed of them."""
    try:
        return import_into(
            find,
            store=store,
            parts=parts,
            mode=ImportMode.UPDATE,
            embed=True,
            allow_empty=False,
            max_tokens=None,
            overlap_tokens=None,
            accept_pending=False,
            wait_s=wait_s,
            progress=progress,
        )
    except SourceError as error:
        told = f"the documents are embedded as they were indexed: {error}"
    with turn_to_write(store, f"model use {find().name}", wait_s, progress):
        collection = find()
        report = ImportReport(collection.name, warnings=(told,))
        return complete_change(report, collection, store=store, parts=parts, progress=progress)
