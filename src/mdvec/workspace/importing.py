"""Imports a collection: waits for its turn to write, then brings texts and vectors up to date."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from mdvec.errors import ImportStoppedError, StoreError, WriterBusyError
from mdvec.model.collection import ChunkingSpec, Collection
from mdvec.model.report import ImportMode, ImportReport, ImportStage, Progress
from mdvec.stores.interface import Store
from mdvec.workspace.wiring import Parts

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
    wait_s: float,
    progress: Progress,
) -> ImportReport:
    """Bring a collection up to date; see :meth:`mdvec.workspace.Workspace.import_collection`.

    Args:
        find: Returns the collection as it is now; it may change while we wait.
        store: What holds it.
        parts: Makes its source, its chunker and the embedder.
        mode: What to do with what is there already.
        embed: Whether to make vectors now.
        allow_empty: Believe a source that is missing or holds nothing.
        max_tokens: Largest chunk from now on; None leaves it as it is.
        overlap_tokens: Overlap of chunks from now on; None leaves it as it is.
        wait_s: How long to wait for another writer, in seconds.
        progress: Is told how far it is; what it raises ends the import.
    """
    from mdvec.indexing.pipeline import run_import

    name = find().name  # a wrong name is told before waiting for another writer
    with _turn_to_write(store, f"import {name}", wait_s, progress):
        collection = find()
        chunking = ChunkingSpec(
            collection.chunking.strategy,
            collection.chunking.max_tokens if max_tokens is None else max_tokens,
            collection.chunking.overlap_tokens if overlap_tokens is None else overlap_tokens,
        )
        report = run_import(
            replace(collection, chunking=chunking),
            store=store,
            source=parts.source(collection.source),
            recipe=parts.recipe(chunking),
            embedder=parts.embedder,
            mode=mode,
            embed=embed,
            allow_empty=allow_empty,
            progress=progress,
        )
    return _with_model_warnings(report, parts) if embed else report


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
def _turn_to_write(store: Store, purpose: str, wait_s: float, progress: Progress) -> Iterator[None]:
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


def _with_model_warnings(report: ImportReport, parts: Parts) -> ImportReport:
    problem = parts.embedder_problem
    added = (f"{problem}. {problem.hint}",) if problem is not None else parts.embedder_warnings()
    return replace(report, warnings=(*report.warnings, *added)) if added else report
