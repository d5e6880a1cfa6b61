"""The second half of an import: gives every name and every chunk without a vector one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mdvec import trace
from mdvec.embedding.interface import Embedder
from mdvec.errors import EmbeddingError
from mdvec.indexing.measuring import measure_if_unknown
from mdvec.types.ids import CollectionId, SpaceId
from mdvec.types.report import ImportStage, Progress
from mdvec.stores.interface import Catalog, PendingText, Store

if TYPE_CHECKING:
    from mdvec.embedding.interface import Parts

# Names are some ten tokens each, chunks some hundreds.
_NAMES_FOR_A_TEXT = 10


@dataclass(frozen=True, slots=True)
class Embedded:
    """What went through the model.

    Attributes:
        names: Names of documents.
        texts: Texts of chunks.
        failure: Why not all of what was pending did; None when it did.
    """

    names: int = 0
    texts: int = 0
    failure: EmbeddingError | None = None


def embed_pending(
    collection_id: CollectionId,
    *,
    store: Store,
    embedder: Embedder,
    space_id: SpaceId,
    progress: Progress,
) -> Embedded:
    """Embed until nothing is pending: names first, so that they are never what is missing.

    Before that, a model that was never measured in its space is.

    Every part is committed as it comes. Stopping it at any instant loses at most what a model that runs here
    has in work, or the requests to a service that are under way.

    Args:
        collection_id: The collection.
        store: Where the texts come from and the vectors go; its writer lease is held by the caller.
        embedder: Makes the vectors, outside of any transaction.
        space_id: Space of the embedder.
        progress: Is told of names and texts done.

    Returns:
        What went through the model, also where it failed on the way.
    """
    chunks = store.catalog.counts(collection_id, space_id).pending_chunks
    names = 0
    if store.catalog.pending_names(collection_id, space_id, 1):
        names = store.catalog.count_pending_names(collection_id, space_id)
    total, done = names + chunks, 0
    if total:
        progress(ImportStage.EMBED, 0, total)
    failure = None
    try:
        measure_if_unknown(collection_id, store=store, embedder=embedder, space_id=space_id)
        for batch in _batches(store.catalog, collection_id, space_id, embedder.texts_at_once):
            texts, titles = [item.text for item in batch], [item.title for item in batch]
            with closing(embedder.embed(texts, titles=titles)) as parts:
                for positions, vectors in _timed(parts, len(batch)):
                    with trace.step("write_vectors", texts=len(positions)), store.transaction():
                        store.vectors.add(
                            space_id, [batch[position].text_hash for position in positions], vectors
                        )
                    done += len(positions)
                    progress(ImportStage.EMBED, done, max(total, done))
    except EmbeddingError as error:
        failure = error
    return Embedded(min(names, done), max(0, done - names), failure)


def names_at_once(texts_at_once: int) -> int:
    """Return how many names are as much work as so many chunks."""
    return texts_at_once * _NAMES_FOR_A_TEXT


def _batches(
    catalog: Catalog, collection_id: CollectionId, space_id: SpaceId, texts_at_once: int
) -> Iterator[list[PendingText]]:
    """Return what is pending, a batch at a time; the vectors of one are written before the next is taken."""
    while names := catalog.pending_names(collection_id, space_id, names_at_once(texts_at_once)):
        yield names
    while texts := catalog.pending(collection_id, space_id, texts_at_once):
        yield texts


def _timed(parts: Parts, count: int) -> Parts:
    """Measure how long each part is waited for.

    Args:
        parts: What an embedder makes.
        count: How many texts it was given.
    """
    left = count
    while left:
        with trace.step("embed") as details:
            positions, vectors = next(parts)
            details["texts"] = len(positions)
        left -= len(positions)
        yield positions, vectors
