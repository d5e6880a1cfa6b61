"""Measures a model once in each space: what its similarities have to be seen against."""

from __future__ import annotations

from collections.abc import Sequence

from mdvec import trace
from mdvec.embedding.interface import Embedder
from mdvec.embedding.unrelated import PASSAGES, QUESTIONS, measure_unrelated
from mdvec.errors import EmbeddingError
from mdvec.types.ids import CollectionId, SpaceId
from mdvec.stores.interface import Store


def measure_if_unknown(
    collection_id: CollectionId, *, store: Store, embedder: Embedder, space_id: SpaceId
) -> None:
    """Measure how similar unrelated texts are in a space, unless it is known or nothing is to be found there.

    Where everything is embedded already, as in a database of an older version, a model that cannot be used
    now is no failure: the next import tries again.

    Args:
        collection_id: The collection that is imported.
        store: Where the figures go; its writer lease is held by the caller.
        embedder: Is measured, outside of any transaction.
        space_id: Its space.

    Raises:
        EmbeddingError: If the model cannot be used now, and is needed for more than this.
    """
    if store.vectors.unrelated(space_id) is not None:
        return
    counts = store.catalog.counts(collection_id, space_id)
    if not counts.chunks:
        return
    try:
        with trace.step("measure_unrelated"):
            measured = measure_unrelated(embedder)
    except EmbeddingError:
        if counts.pending_chunks:
            raise
        return
    with store.transaction():
        store.vectors.set_unrelated(space_id, measured)


def texts_to_measure(store: Store, space_id: SpaceId | None) -> tuple[Sequence[str], ...]:
    """Return what an import of documents gives a model to measure it, one sequence a call.

    Args:
        store: What is there already.
        space_id: The model's space; None when there is none yet.
    """
    if space_id is not None and store.vectors.unrelated(space_id) is not None:
        return ()
    return QUESTIONS, PASSAGES
