"""Imports a collection: waits for its turn to write, then brings texts and vectors up to date."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from mdvec.errors import EmbeddingError, ImportStoppedError, StoreError, WriterBusyError
from mdvec.types.collection import ChunkingSpec, Collection, EmbeddingSpec
from mdvec.types.report import ImportMode, ImportReport, ImportStage, Progress
from mdvec.stores.interface import Store
from mdvec.workspace.changing import complete
from mdvec.workspace.embedders import Model, known_space
from mdvec.workspace.wiring import Parts, given

# Between two looks at whether the one who waits has given up.
_PATIENCE_S = 0.5


def import_into(
    find: Callable[[], Collection],
    *,
    store: Store,
    parts: Parts,
    mode: ImportMode,
    embed: bool,
    allow_empty: bool,
    max_tokens: int | None,
    overlap_tokens: int | None,
    accept_pending: bool,
    wait_s: float,
    progress: Progress,
) -> ImportReport:
    """Bring a collection up to date; see :meth:`mdvec.workspace.Workspace.import_collection`.

    A change of the model that is under way goes on. Until it is complete the old model's vectors are kept
    complete, too, if they were.

    Args:
        find: Returns the collection as it is now; it may change while we wait.
        store: What holds it.
        parts: Makes its source, its chunker and its models.
        mode: What to do with what is there already.
        embed: Whether to make vectors now.
        allow_empty: Believe a source that is missing or holds nothing.
        max_tokens: Largest chunk from now on; None leaves it as it is.
        overlap_tokens: Overlap of chunks from now on; None leaves it as it is.
        accept_pending: Whether a model that fails on the way ends the import with a report.
        wait_s: How long to wait for another writer, in seconds.
        progress: Is told how far it is; what it raises ends the import.
    """
    from mdvec.indexing.pipeline import run_import

    name = find().name  # a wrong name is told before waiting for another writer
    with turn_to_write(store, f"import {name}", wait_s, progress):
        collection = find()
        chunking = chunking_of(collection, max_tokens, overlap_tokens)
        model, cutter = parts.model(collection), cutting_model(collection, parts)
        following = next_model(collection, parts)
        going_on = embed and following is not None and following.embedder is not None
        pinned = _pinned(collection, model, parts, embed=embed)
        report = run_import(
            replace(collection, chunking=chunking, embedding=pinned),
            store=store,
            source=parts.source(collection.source),
            recipe=parts.recipe(chunking, cutter),
            embedder=None if pinned is None else model.embedder,
            mode=mode,
            embed=embed and not (going_on and _pending(collection, model, store)),
            allow_empty=allow_empty,
            progress=progress,
        )
        if model.embedder is None:  # what it embedded before is not pending
            report = replace(report, pending_chunks=_pending(collection, model, store))
        report = with_warnings(report, parts.size_warnings(chunking, cutter))
        if going_on and report.failure is None:
            report = _going_on(report, find(), store=store, parts=parts, progress=progress)
    if report.failure is not None and not accept_pending:
        raise report.failure
    if not embed:
        return report
    return with_warnings(report, model_warnings(find(), parts))


def _going_on(
    report: ImportReport, collection: Collection, *, store: Store, parts: Parts, progress: Progress
) -> ImportReport:
    """Complete a change of the model, or say why that failed and how much of it is pending."""
    try:
        return complete_change(report, collection, store=store, parts=parts, progress=progress)
    except EmbeddingError as error:
        following = next_model(collection, parts)
        pending = report.pending_chunks if following is None else _pending(collection, following, store)
        return replace(report, failure=error, pending_chunks=pending)


def complete_change(
    report: ImportReport, collection: Collection, *, store: Store, parts: Parts, progress: Progress
) -> ImportReport:
    """Make the vectors of the next model and take it into use; the caller holds the writer lease.

    Returns:
        The report of the import before it, with what was done here.
    """
    started = time.perf_counter()
    following = next_model(collection, parts)
    if following is None or following.embedder is None:  # cancelled in the meantime
        return report
    changed = complete(collection, following, store=store, embedders=parts.embedders, progress=progress)
    if not changed.done:
        return with_warnings(report, (f"the change to {following.spec} was cancelled",))
    counts = store.catalog.counts(collection.id, known_space(collection, following, store))
    return replace(
        report,
        embedded_chunks=report.embedded_chunks + changed.embedded,
        pending_chunks=counts.pending_chunks,
        new_model=str(following.spec),
        elapsed_ms=report.elapsed_ms + (time.perf_counter() - started) * 1000,
    )


def next_model(collection: Collection, parts: Parts) -> Model | None:
    """Return the model that a collection is changing to."""
    return None if collection.next_embedding is None else parts.embedders.model(collection.next_embedding)


def chunking_of(collection: Collection, max_tokens: int | None, overlap_tokens: int | None) -> ChunkingSpec:
    """Return how a collection is cut once it is told other sizes; None leaves one as it is."""
    sizes = given(max_tokens=max_tokens, overlap_tokens=overlap_tokens)
    return replace(collection.chunking, **sizes)


def cutting_model(collection: Collection, parts: Parts) -> Model:
    """Return the model whose tokens count when documents are cut: of two, the one that is to stay."""
    following = next_model(collection, parts)
    return parts.model(collection) if following is None or following.embedder is None else following


def model_warnings(collection: Collection, parts: Parts) -> tuple[str, ...]:
    """Say what keeps the models of a collection from working well."""
    return tuple(_model_warnings(collection, parts))


def _model_warnings(collection: Collection, parts: Parts) -> Iterator[str]:
    model, following = parts.model(collection), next_model(collection, parts)
    if model.problem is not None:
        yield f"{model.problem}. {model.problem.hint}"
    if following is not None and following.problem is not None:
        yield f"the change to {following.spec} waits: {following.problem}. {following.problem.hint}"
    if model.embedder is not None:
        yield from model.embedder.warnings
    if following is None:
        yield from configured_otherwise(collection, parts)


def configured_otherwise(collection: Collection, parts: Parts) -> tuple[str, ...]:
    """Say that the configuration names another model than the one a collection has kept."""
    embedders, kept = parts.embedders, collection.embedding
    if kept is None or not embedders.is_chosen:
        return ()
    wanted = embedders.configured
    if wanted.provider == kept.provider and (
        _means(wanted, kept) or embedders.space_of(wanted) == embedders.space_of(kept)
    ):
        return ()
    return (
        f"the configured model is {wanted}, but {collection.name} uses {kept}: "
        f"'mdvec model use {wanted} -n {collection.name}' changes it",
    )


@contextmanager
def until(stop: threading.Event, progress: Progress | None) -> Iterator[Progress]:
    """End an import when the workspace is closed.

    Args:
        stop: Set when it is.
        progress: Told how far the import is; may be None.

    Yields:
        What the import is to report to.

    Raises:
        ImportStoppedError: If it was ended so, by itself or because the store has gone.
    """

    def listen(stage: ImportStage, done: int, total: int) -> None:
        if progress is not None:
            progress(stage, done, total)
        if stop.is_set():
            raise ImportStoppedError

    try:
        yield listen
    except StoreError as error:
        if stop.is_set():
            raise ImportStoppedError from error
        raise


@contextmanager
def turn_to_write(store: Store, purpose: str, wait_s: float, progress: Progress) -> Iterator[None]:
    """Hold the writer lease; who waits for it can give up at any time.

    Raises:
        WriterBusyError: If another process writes for longer than ``wait_s``.
    """
    deadline = time.monotonic() + wait_s
    with ExitStack() as stack:
        while True:
            left_s = deadline - time.monotonic()
            try:
                stack.enter_context(store.writer(purpose, wait_s=min(max(0.0, left_s), _PATIENCE_S)))
            except WriterBusyError:
                if left_s <= _PATIENCE_S:
                    raise
                progress(ImportStage.WAIT, 0, 0)
            else:
                break
        yield


def with_warnings(report: ImportReport, warnings: Sequence[str]) -> ImportReport:
    """Add warnings to a report."""
    return replace(report, warnings=(*report.warnings, *warnings)) if warnings else report


def _pinned(collection: Collection, model: Model, parts: Parts, *, embed: bool) -> EmbeddingSpec | None:
    """Return what a collection keeps from now on, whatever is configured later.

    Raises:
        EmbeddingError: If a service that is to make the vectors does not say how long they are.
    """
    if collection.embedding is not None or model.embedder is None:
        return collection.embedding
    try:
        return parts.embedders.pinned(None)
    except EmbeddingError:
        if embed:
            raise
        return None


def _means(wanted: EmbeddingSpec, kept: EmbeddingSpec) -> bool:
    """Whether what is left open in one spec is all that tells it from another."""
    return wanted.model in ("", kept.model) and wanted.dimension in (None, kept.dimension)


def _pending(collection: Collection, model: Model, store: Store) -> int:
    """Return how many chunks a search by meaning misses."""
    return store.catalog.counts(collection.id, known_space(collection, model, store)).pending_chunks
