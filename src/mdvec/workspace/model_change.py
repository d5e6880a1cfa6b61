"""The change of a collection to another model.

It fills a new space beside the old one, which is searched until all vectors are there.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from msgspec.structs import replace

from mdvec.indexing.work import Work
from mdvec.stores.interface import Store, View, Writer
from mdvec.types.collection import Collection, EmbeddingSpec
from mdvec.types.report import ImportReport
from mdvec.workspace.wiring.embedders import Embedders
from mdvec.workspace.wiring.parts import Parts


def choose_model(work: Work, wanted: EmbeddingSpec, embedders: Embedders) -> Collection:
    """Write which model a collection will have; :func:`resume_change` makes its vectors.

    A collection without any vector has it at once. What an earlier change to another model has made is
    dropped.

    Returns:
        The collection afterwards; ``next_embedding`` is set if vectors remain to be made.
    """
    collection = work.collection
    target = embedders.space_of(wanted)
    with work.store.read() as view:
        in_use = _has_vectors(collection, view, embedders)
    same = in_use and target == embedders.space_of(collection.embedding)
    following = collection.next_embedding
    resuming = following is not None and target == embedders.space_of(following)

    def changed(now: Collection) -> Collection:
        if same:
            return replace(now, embedding=now.embedding or wanted, next_embedding=None)
        if not in_use:
            return replace(now, embedding=wanted, next_embedding=None)
        return now if resuming else replace(now, next_embedding=wanted)

    with work.write() as writer:
        after = writer.change_collection(collection.id, changed)
        _drop_left_behind(collection, writer, embedders)
    return after


def resume_change(work: Work, report: ImportReport, parts: Parts) -> ImportReport:
    """Make the vectors of the next model, and then take it into use in one transaction.

    Stopping at any moment loses at most the current batch and the requests in flight.

    Returns:
        That report, with the work done here added.

    Raises:
        EmbeddingError: If the model fails; what it made is kept.
    """
    from mdvec.indexing.vectors import embed_pending

    started = time.perf_counter()
    collection, embedders = work.collection, parts.embedders
    following = parts.next_model(collection)
    if following is None or following.embedder is None:  # cancelled in the meantime
        return report
    wanted = collection.next_embedding
    with work.write() as writer:
        space_id = writer.open_space(following.embedder.space)
    embedded = embed_pending(
        work, following.embedder, space_id, wanted=lambda view: _next_model(collection, view) == wanted
    )
    if embedded.failure is not None:
        raise embedded.failure
    with work.write() as writer:
        switched = not embedded.stopped and _next_model(collection, writer) == wanted
        if switched:
            writer.change_collection(
                collection.id, lambda now: replace(now, embedding=wanted, next_embedding=None)
            )
        _drop_left_behind(collection, writer, embedders)
    if not switched:
        warning = f"the change to {following.spec} was cancelled"
        return replace(report, warnings=(*report.warnings, warning))
    with work.store.read() as view:
        pending = following.counts(collection, view).pending_chunks
    return replace(
        report,
        embedded_chunks=report.embedded_chunks + embedded.texts,
        embedded_names=report.embedded_names + embedded.names,
        pending_chunks=pending,
        new_model=str(following.spec),
        elapsed_ms=report.elapsed_ms + (time.perf_counter() - started) * 1000,
    )


def cancel_change(collection: Collection, store: Store, embedders: Embedders) -> bool:
    """Cancel a change of the model, and drop its vectors; return whether there was one."""
    before: list[Collection] = []

    def forget(now: Collection) -> Collection:
        before.append(now)
        return replace(now, next_embedding=None)

    with store.write() as writer:
        writer.change_collection(collection.id, forget)
        _drop_left_behind(before[0], writer, embedders)
    return before[0].next_embedding is not None


def _has_vectors(collection: Collection, view: View, embedders: Embedders) -> bool:
    """Return True if a search by meaning finds anything in the collection now.

    A model that cannot be used finds nothing, but may be repaired: what it made is kept until all is new.
    """
    model = embedders.model(collection.embedding)
    if model.embedder is None:
        return collection.embedding is not None
    counts = model.counts(collection, view)
    return counts.pending_chunks < counts.chunks


def _next_model(collection: Collection, view: View) -> EmbeddingSpec | None:
    now = next((each for each in view.collections() if each.id == collection.id), None)
    return None if now is None else now.next_embedding


def _drop_left_behind(before: Collection, writer: Writer, embedders: Embedders) -> None:
    """Drop the vectors of the spaces a collection was in, where no collection is in them any more."""
    used = {embedders.space_of(spec) for spec in _specs(writer)}
    if None in used:  # what is not known may be any of them
        return
    for spec in (before.embedding or embedders.configured, before.next_embedding):
        space = None if spec is None else embedders.space_of(spec)
        if space is not None and space not in used:
            space_id = writer.find_space(space)
            if space_id is not None:
                writer.drop_space(space_id)


def _specs(view: View) -> Iterator[EmbeddingSpec | None]:
    """Yield the models whose vectors may be searched, now or later."""
    for each in view.collections():
        if each.embedding is not None or view.counts(each.id, None).chunks:
            yield each.embedding
        if each.next_embedding is not None:
            yield each.next_embedding
