"""Changes the model of a collection: a new space is filled beside the old one, then takes its place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from mdvec.types.collection import Collection, EmbeddingSpec
from mdvec.types.ids import CollectionId
from mdvec.types.report import ImportStage, Progress
from mdvec.stores.interface import Catalog, Store
from mdvec.workspace.embedders import Embedders, Model, known_space


class _CancelledError(Exception):
    """Somebody has cancelled the change that is under way."""


@dataclass(frozen=True, slots=True)
class Changed:
    """What a change has come to.

    Attributes:
        done: Whether the new model is in use; False when the change was cancelled meanwhile.
        embedded: Texts of chunks that went through the new model.
    """

    done: bool
    embedded: int = 0


def choose(
    collection: Collection, wanted: EmbeddingSpec, *, store: Store, embedders: Embedders
) -> Collection:
    """Write down which model a collection is to have; its vectors are made by :func:`complete`.

    A collection without any vector has it at once. What an earlier change to another model has made is
    dropped. The caller holds the writer lease.

    Args:
        collection: The collection as it is now.
        wanted: The model, pinned.
        store: What holds it.
        embedders: Makes the models.

    Returns:
        The collection as it is afterwards: ``next_embedding`` is what is left to do.
    """
    aim = embedders.space_of(wanted)
    in_use = _has_vectors(collection, store, embedders)
    same = in_use and aim == embedders.space_of(collection.embedding)
    going_on = collection.next_embedding is not None and aim == embedders.space_of(collection.next_embedding)

    def changed(now: Collection) -> Collection:
        if same:
            return replace(now, embedding=now.embedding or wanted, next_embedding=None)
        if not in_use:
            return replace(now, embedding=wanted, next_embedding=None)
        return now if going_on else replace(now, next_embedding=wanted)

    with store.transaction():
        after = store.catalog.change_collection(collection.id, changed)
        _drop_left_behind(collection, store, embedders)
    return after


def complete(
    collection: Collection, model: Model, *, store: Store, embedders: Embedders, progress: Progress
) -> Changed:
    """Make the vectors of ``next_embedding``, then put it into the place of ``embedding`` in one transaction.

    Stopping it at any instant loses at most what is in work or under way. The caller holds the writer lease.

    Args:
        collection: The collection, which has a ``next_embedding``.
        model: That model, which can be used here.
        store: What holds it.
        embedders: Makes the models.
        progress: Is told of names and texts done.

    Raises:
        EmbeddingError: If the model fails; what it made is kept.
    """
    from mdvec.indexing.vectors import embed_pending

    wanted, embedder = collection.next_embedding, model.embedder
    assert wanted is not None and embedder is not None  # noqa: S101, PT018 - said above
    with store.transaction():
        space_id = store.vectors.open_space(embedder.space)
    try:
        embedded = embed_pending(
            collection.id,
            store=store,
            embedder=embedder,
            space_id=space_id,
            progress=_while_wanted(collection.id, wanted, store.catalog, progress),
        )
        if embedded.failure is not None:
            raise embedded.failure
        with store.transaction():
            store.catalog.change_collection(collection.id, lambda now: _switched(now, wanted))
            _drop_left_behind(collection, store, embedders)
    except _CancelledError:
        with store.transaction():
            _drop_left_behind(collection, store, embedders)
        return Changed(done=False)
    return Changed(done=True, embedded=embedded.texts)


def cancel(collection: Collection, *, store: Store, embedders: Embedders) -> bool:
    """Forget a change, and drop what was made for it; whoever works on it stops at the next batch.

    Returns:
        Whether there was one.
    """
    before: list[Collection] = []

    def forget(now: Collection) -> Collection:
        before.append(now)
        return replace(now, next_embedding=None)

    with store.transaction():
        store.catalog.change_collection(collection.id, forget)
        _drop_left_behind(before[0], store, embedders)
    return before[0].next_embedding is not None


def _has_vectors(collection: Collection, store: Store, embedders: Embedders) -> bool:
    """Whether a search by meaning finds anything in the collection now.

    A model that cannot be used finds nothing, but may be mended: what it made is kept until all is new.
    """
    model = embedders.model(collection.embedding)
    if model.embedder is None:
        return collection.embedding is not None
    counts = store.catalog.counts(collection.id, known_space(collection, model, store))
    return counts.pending_chunks < counts.chunks


def _switched(now: Collection, wanted: EmbeddingSpec) -> Collection:
    if now.next_embedding != wanted:
        raise _CancelledError
    return replace(now, embedding=wanted, next_embedding=None)


def _while_wanted(
    collection_id: CollectionId, wanted: EmbeddingSpec, catalog: Catalog, progress: Progress
) -> Progress:
    def listen(stage: ImportStage, done: int, total: int) -> None:
        progress(stage, done, total)
        now = next((each for each in catalog.collections() if each.id == collection_id), None)
        if now is None or now.next_embedding != wanted:
            raise _CancelledError

    return listen


def _drop_left_behind(before: Collection, store: Store, embedders: Embedders) -> None:
    """Drop the vectors of the spaces a collection was in, where no collection is in them any more."""
    used = {embedders.space_of(spec) for spec in _specs(store.catalog)}
    if None in used:  # what is not known may be any of them
        return
    for spec in (before.embedding or embedders.configured, before.next_embedding):
        if spec is not None and (key := embedders.space_of(spec)) is not None and key not in used:
            space_id = embedders.find_space(spec, store)
            if space_id is not None:
                store.vectors.drop_space(space_id)


def _specs(catalog: Catalog) -> Iterator[EmbeddingSpec | None]:
    """Return the models whose vectors may be searched, or are to be."""
    for each in catalog.collections():
        if each.embedding is not None or catalog.counts(each.id, None).chunks:
            yield each.embedding
        if each.next_embedding is not None:
            yield each.next_embedding
