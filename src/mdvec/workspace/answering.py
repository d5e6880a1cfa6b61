"""Answers a query over some collections, and says how far the answer can be trusted."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from mdvec.types.change import SourceEntry
from mdvec.types.collection import Collection, EmbeddingSpec
from mdvec.types.hit import Confidence, SearchHit, SearchResult
from mdvec.types.query import SearchMode, SearchQuery
from mdvec.types.report import ImportMode
from mdvec.search.dense import AskedSpace
from mdvec.search.engine import find
from mdvec.search.filters import clean
from mdvec.sources.interface import Source
from mdvec.stores.interface import Store, StoredChunk, StoredDocument
from mdvec.workspace.advice import first_step, import_command
from mdvec.workspace.asking import ask_models
from mdvec.workspace.narrowing import narrowed, with_versions
from mdvec.workspace.wiring import Parts

# A change of model is seldom; two of them during one search are none.
_MOST_TRIES = 3


def answer(
    query: SearchQuery,
    find_collections: Callable[[], Sequence[Collection]],
    *,
    store: Store,
    parts: Parts,
    docs_dir: Path | None = None,
    going_on: bool = False,
) -> SearchResult:
    """Answer a query.

    Args:
        query: As the caller gave it.
        find_collections: Returns where to look, as it is now.
        store: What holds them.
        parts: Makes the models and the sources.
        docs_dir: The folder of a workspace that has no other, for what the asker is told to run.
        going_on: Whether what is pending is being worked on.

    Returns:
        The hits and the state of the index behind them.

    Raises:
        InvalidQueryError: If the query is empty.
        UsageError: If one of its numbers is out of range.
        EmbeddingError: If it asks for ``dense`` and a model cannot be used or does not answer.
        DocumentNotFoundError: If it asks for documents that link to one that is not there.
    """
    for _ in range(_MOST_TRIES):
        before = store.generation
        collections = find_collections()
        result = _answer_now(
            query, collections, store=store, parts=parts, docs_dir=docs_dir, going_on=going_on
        )
        if store.generation == before or _models(collections) == _models(find_collections()):
            break  # else the vectors that were looked at may be gone
    return result


def _models(collections: Sequence[Collection]) -> list[EmbeddingSpec | None]:
    return [collection.embedding for collection in collections]


def _answer_now(
    query: SearchQuery,
    collections: Sequence[Collection],
    *,
    store: Store,
    parts: Parts,
    docs_dir: Path | None,
    going_on: bool,
) -> SearchResult:
    started = time.perf_counter()
    cleaned, warnings = clean(query)
    asking = ask_models(cleaned.text, cleaned.mode, collections, store=store, parts=parts)
    mode = asking.mode
    hits, confidence = _hits(replace(cleaned, mode=mode), collections, store, parts, asking.spaces)
    counts = [store.catalog.counts(each.id, asking.space_of[each.id]) for each in collections]
    total = sum(count.chunks for count in counts)
    pending = sum(count.pending_chunks for count in counts)
    incomplete = [
        collection.name for collection, count in zip(collections, counts, strict=True) if count.pending_chunks
    ]
    command = import_command(incomplete, ImportMode.UPDATE, docs_dir=docs_dir)
    go_on = "they are being made" if going_on else f"'{command}' goes on with them"
    return SearchResult(
        query=query.text,
        mode=mode,
        hits=hits,
        confidence=confidence,
        total_chunks=total,
        pending_chunks=pending,
        last_indexed_ms=_last_indexed_ms(collections),
        elapsed_ms=(time.perf_counter() - started) * 1000,
        warnings=(
            *warnings,
            *asking.warnings,
            *(() if going_on or not total else _unfinished_warning(collections, docs_dir)),
            *_pending_warning(mode, pending, total, go_on),
        ),
        hint=None if hits else _hint(collections, total, docs_dir, mode=mode, pending_chunks=pending),
    )


def is_stale(known: StoredChunk | StoredDocument, source: Source) -> bool:
    """Tell whether a file differs from what was indexed; a touched one does not."""
    return source.differs(
        SourceEntry(known.path, known.locator, known.mtime_ns, known.size, known.content_hash)
    )


def _hits(
    query: SearchQuery,
    collections: Sequence[Collection],
    store: Store,
    parts: Parts,
    spaces: Sequence[AskedSpace],
) -> tuple[tuple[SearchHit, ...], Confidence]:
    if not collections:
        return (), Confidence.NONE
    scope = narrowed(query.filters, collections, store.catalog)
    found = find(query, scope, store=store, spaces=spaces)
    sources = {collection.id: parts.source(collection.source) for collection in collections}
    hits = (
        replace(with_versions(hit, chunk, store.catalog), stale=is_stale(chunk, sources[chunk.collection_id]))
        for hit, chunk in found.hits
    )
    return tuple(hits), found.confidence


def _last_indexed_ms(collections: Sequence[Collection]) -> int | None:
    times = [collection.last_indexed_ms for collection in collections]
    known = [moment for moment in times if moment is not None]
    return min(known) if known and len(known) == len(times) else None


def _unfinished_warning(collections: Sequence[Collection], docs_dir: Path | None) -> tuple[str, ...]:
    """Say which collections are there in part: an import was stopped, or an older mdvec wrote them."""
    names = [collection.name for collection in collections if collection.last_indexed_ms is None]
    if not names:
        return ()
    command = import_command(names, ImportMode.UPDATE, docs_dir=docs_dir)
    return (f"not imported to the end, so documents may be missing: {', '.join(names)}; '{command}' goes on",)


def _pending_warning(mode: SearchMode, pending: int, total: int, go_on: str) -> tuple[str, ...]:
    if not pending or mode is SearchMode.LEXICAL:
        return ()
    return (f"{pending:,} of {total:,} chunks have no vector yet and are found by words only; {go_on}",)


def _hint(
    collections: Sequence[Collection],
    total_chunks: int,
    docs_dir: Path | None,
    *,
    mode: SearchMode,
    pending_chunks: int,
) -> str:
    if not total_chunks:
        empty = "There is no text to search: the folders hold no document that is taken."
        return first_step(collections, docs_dir=docs_dir) or empty
    if mode is SearchMode.DENSE and pending_chunks == total_chunks:
        return "There is no vector yet. Search in mode hybrid or lexical."
    return "Nothing matches. Try other words, or fewer filters."
