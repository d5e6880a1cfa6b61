"""One import, from the source to searchable vectors."""

from __future__ import annotations

import time
from dataclasses import replace

from mdvec.embedding.interface import Embedder
from mdvec.errors import CollectionNotEmptyError
from mdvec.indexing.kept import DocumentSource
from mdvec.indexing.prepare import Recipe
from mdvec.indexing.texts import TextOutcome, bring_texts_up_to_date
from mdvec.indexing.vectors import Embedded, embed_pending
from mdvec.types.collection import Collection
from mdvec.types.ids import SpaceId
from mdvec.types.report import ImportMode, ImportReport, Progress
from mdvec.stores.interface import Store

# Vectors that no chunk uses are kept, so that a checkout of another branch and back costs nothing;
# beyond this many the oldest go.
_UNUSED_VECTORS_KEPT = 50_000


def run_import(
    collection: Collection,
    *,
    store: Store,
    source: DocumentSource,
    recipe: Recipe,
    embedder: Embedder | None,
    mode: ImportMode,
    embed: bool,
    allow_empty: bool,
    progress: Progress,
) -> ImportReport:
    """Bring a collection up to date. The caller holds the writer lease.

    Args:
        collection: What to import into; its chunking and embedding are those of this run and of later ones.
        store: Where.
        source: What the collection is made from.
        recipe: How documents are prepared.
        embedder: Makes vectors, in the space that the collection is searched in; None when there is no model
            here.
        mode: What to do with what is there already.
        embed: Whether to make the vectors now.
        allow_empty: Believe a source that holds nothing.
        progress: Is told how far it is.

    Returns:
        What was done. When the embedder fails, the texts and what it made before are kept and searchable, and
        ``failure`` says why the rest is pending.

    Raises:
        CollectionNotEmptyError: If ``mode`` is ``new`` and the collection was imported before.
        SourceMissingError: If the source is not there.
        SourceEmptyError: If it is empty though documents are known.
    """
    started = time.perf_counter()
    if mode is ImportMode.NEW and collection.last_indexed_ms is not None:
        counts = store.catalog.counts(collection.id, None)
        if counts.documents:
            msg = f"collection {collection.name!r} already has {counts.documents} documents"
            raise CollectionNotEmptyError(msg)
    with store.transaction():
        # Before anything is cut, so that a run that is interrupted goes on in the same way.
        store.catalog.change_collection(
            collection.id,
            lambda now: replace(now, chunking=collection.chunking, embedding=collection.embedding),
        )
        space_id = None if embedder is None else store.vectors.open_space(embedder.space)
    outcome = bring_texts_up_to_date(
        collection,
        store=store,
        source=source,
        recipe=recipe,
        space_id=space_id,
        rebuild=mode is ImportMode.REPLACE,
        allow_empty=allow_empty,
        progress=progress,
    )
    with store.transaction():
        now_ms = time.time_ns() // 1_000_000
        store.catalog.change_collection(
            collection.id,
            lambda now: replace(
                now,
                last_indexed_ms=now_ms,
                # Of another place, if the collection was pointed there meanwhile, nothing is imported yet.
                revision=outcome.revision if now.source == collection.source else "",
            ),
        )
    embedded = Embedded()
    if embed and embedder is not None and space_id is not None:
        embedded = embed_pending(
            collection.id, store=store, embedder=embedder, space_id=space_id, progress=progress
        )
        if embedded.names or embedded.texts:
            with store.transaction():
                store.vectors.drop_unused(keep=_UNUSED_VECTORS_KEPT)
    return _report(collection, store, space_id, outcome, embedded, started)


def _report(
    collection: Collection,
    store: Store,
    space_id: SpaceId | None,
    outcome: TextOutcome,
    embedded: Embedded,
    started: float,
) -> ImportReport:
    counts = store.catalog.counts(collection.id, space_id)
    return ImportReport(
        collection=collection.name,
        added=outcome.added,
        updated=outcome.updated,
        moved=outcome.moved,
        deleted=outcome.deleted,
        unchanged=outcome.unchanged,
        failed=len(outcome.failures),
        excluded=len(outcome.exclusions),
        total_documents=counts.documents,
        total_chunks=counts.chunks,
        embedded_chunks=embedded.texts,
        cached_chunks=outcome.cached_chunks,
        pending_chunks=counts.pending_chunks,
        warnings=(
            *(f"{failure.path}: {failure.reason}" for failure in sorted(outcome.failures)),
            *outcome.warnings,
        ),
        elapsed_ms=(time.perf_counter() - started) * 1000,
        failure=embedded.failure,
    )
