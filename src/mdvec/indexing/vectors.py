"""The second half of an import: gives every chunk without a vector one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from mdvec import trace
from mdvec.model.ids import CollectionId, SpaceId
from mdvec.model.report import ImportStage, Progress
from mdvec.stores.interface import Store

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Texts embedded between two commits: a few seconds of work on a laptop, which is what a kill can cost.
_TEXTS_PER_COMMIT = 96


class PassageEmbedder(Protocol):
    """The part of an embedder that indexing needs."""

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors, shape (len(texts), dim)."""
        ...


def embed_pending(
    collection_id: CollectionId,
    *,
    store: Store,
    embedder: PassageEmbedder,
    space_id: SpaceId,
    total: int,
    progress: Progress,
) -> int:
    """Embed until nothing is pending. Stopping it at any instant loses at most the current batch.

    Args:
        collection_id: The collection.
        store: Where the texts come from and the vectors go; its writer lease is held by the caller.
        embedder: Makes the vectors, outside of any transaction.
        space_id: Space of the embedder.
        total: Chunks that are pending at the start, to show progress against.
        progress: Is told of texts done.

    Returns:
        How many texts went through the model.
    """
    embedded = 0
    while pending := store.catalog.pending(collection_id, space_id, _TEXTS_PER_COMMIT):
        with trace.step("embed", texts=len(pending)):
            vectors = embedder.embed_passages([item.text for item in pending])
        with trace.step("write_vectors", texts=len(pending)), store.transaction():
            store.vectors.add(space_id, [item.text_hash for item in pending], vectors)
        embedded += len(pending)
        progress(ImportStage.EMBED, embedded, max(total, embedded))
    return embedded
