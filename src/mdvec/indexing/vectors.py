"""The second half of an import: gives every name and every chunk without a vector one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from mdvec import trace
from mdvec.model.ids import CollectionId, SpaceId
from mdvec.model.report import ImportStage, Progress
from mdvec.stores.interface import Catalog, PendingText, Store

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Embedded between two commits: a few seconds of work on a laptop, which is what a kill can cost.
TEXTS_PER_COMMIT = 96
NAMES_PER_COMMIT = 960  # of some ten tokens each


class PassageEmbedder(Protocol):
    """The part of an embedder that indexing needs."""

    def embed_passages(self, texts: Sequence[str], titles: Sequence[str] = ()) -> NDArray[np.float32]:
        """Return unit vectors, shape (len(texts), dim)."""
        ...


@dataclass(frozen=True, slots=True)
class Embedded:
    """What went through the model.

    Attributes:
        names: Names of documents.
        texts: Texts of chunks.
    """

    names: int = 0
    texts: int = 0


def embed_pending(
    collection_id: CollectionId,
    *,
    store: Store,
    embedder: PassageEmbedder,
    space_id: SpaceId,
    progress: Progress,
) -> Embedded:
    """Embed until nothing is pending: names first, so that they are never what is missing.

    Stopping it at any instant loses at most the current batch.

    Args:
        collection_id: The collection.
        store: Where the texts come from and the vectors go; its writer lease is held by the caller.
        embedder: Makes the vectors, outside of any transaction.
        space_id: Space of the embedder.
        progress: Is told of names and texts done.

    Returns:
        What went through the model.
    """
    chunks = store.catalog.counts(collection_id, space_id).pending_chunks
    names = 0
    if store.catalog.pending_names(collection_id, space_id, 1):
        names = store.catalog.count_pending_names(collection_id, space_id)
    total, done = names + chunks, 0
    if total:
        progress(ImportStage.EMBED, 0, total)
    for batch in _batches(store.catalog, collection_id, space_id):
        with trace.step("embed", texts=len(batch)):
            vectors = embedder.embed_passages([item.text for item in batch], [item.title for item in batch])
        with trace.step("write_vectors", texts=len(batch)), store.transaction():
            store.vectors.add(space_id, [item.text_hash for item in batch], vectors)
        done += len(batch)
        progress(ImportStage.EMBED, done, max(total, done))
    return Embedded(names, done - names)


def _batches(catalog: Catalog, collection_id: CollectionId, space_id: SpaceId) -> Iterator[list[PendingText]]:
    """Return what is pending, a batch at a time; the vectors of one are written before the next is taken."""
    while names := catalog.pending_names(collection_id, space_id, NAMES_PER_COMMIT):
        yield names
    while texts := catalog.pending(collection_id, space_id, TEXTS_PER_COMMIT):
        yield texts
