"""Step 4 of an import: embeds every name and every chunk without a vector.

Lines that most documents of a collection share are left out of what is embedded. A vector index is brought up
to date at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from mdvec import run
from mdvec.embedding.interface import Embedder
from mdvec.embedding.unrelated import PASSAGES, QUESTIONS, measure_unrelated
from mdvec.errors import EmbeddingError, StoreError
from mdvec.indexing.work import Work
from mdvec.stores.interface import Store, View
from mdvec.stores.records import PendingText, VectorKind
from mdvec.text.boilerplate import MIN_DOCUMENTS, MOST, shared_lines, without_boilerplate
from mdvec.types.collection import Boilerplate
from mdvec.types.ids import SpaceId
from mdvec.types.query import Where
from mdvec.types.report import CollectionCounts

if TYPE_CHECKING:
    from mdvec.embedding.interface import Parts

_WAIT_FOR_OTHERS_S = 0.5

# Names are some ten tokens each, chunks some hundreds.
_NAMES_FOR_A_TEXT = 10

# A sample of this size is enough, however many documents there are.
_SAMPLED_DOCUMENTS = 400
_DOCUMENTS_AT_ONCE = 50


class EmbedOutcome(Struct, frozen=True):
    """The texts that were embedded.

    Attributes:
        names: Names of documents.
        texts: Texts of chunks.
        failure: Why texts are still pending; None if none are.
        stopped: Whether it ended early because it was no longer wanted.
    """

    names: int = 0
    texts: int = 0
    failure: EmbeddingError | None = None
    stopped: bool = False


def embed_pending(
    work: Work, embedder: Embedder, space_id: SpaceId, *, wanted: Callable[[View], bool] | None = None
) -> EmbedOutcome:
    """Embed until nothing is pending, names first. Before that, measure a model that was not measured yet.

    Each part is committed as it arrives, and no transaction is open while the model computes. Stopping loses
    at most the current part of a local model, or the current requests to a service.

    Args:
        work: The collection, and the claim under which it is written.
        embedder: Makes the vectors.
        space_id: Space of the embedder.
        wanted: Called after each part; returns False if the rest is no longer wanted. None for always.

    Returns:
        The number of embedded texts, also if the model failed on the way.

    Raises:
        ImportStoppedError: If the run is cancelled.
    """
    collection_id = work.collection.id
    with work.store.read() as view:
        counts = view.collections.counts(collection_id, space_id)
        names = 0
        if view.vectors.pending(VectorKind.NAME, collection_id, space_id, 1):
            names = view.vectors.count_pending_names(collection_id, space_id)
    total, done = names + counts.pending_chunks, 0
    if total:
        work.report(run.Stage.EMBED, 0, total)
    failure: EmbeddingError | None = None
    stopped = False
    try:
        _measure_if_unknown(work, embedder, space_id, counts)
        boilerplate = known_boilerplate(work, counts)
        for count in _embed_batches(work, embedder, space_id, boilerplate):
            done += count
            work.report(run.Stage.EMBED, done, max(total, done))
            if wanted is not None:
                with work.store.read() as view:
                    stopped = not wanted(view)
                if stopped:
                    break
    except EmbeddingError as error:
        failure = error
    return EmbedOutcome(min(names, done), max(0, done - names), failure, stopped)


def names_at_once(texts_at_once: int) -> int:
    """Return the number of names that are as much work as a number of chunks."""
    return texts_at_once * _NAMES_FOR_A_TEXT


def probes(view: View, space_id: SpaceId | None) -> tuple[Sequence[str], ...]:
    """Return the texts that measure a model in its space, one sequence a call; none once it was measured."""
    measured = None if space_id is None else view.spaces.unrelated(space_id)
    return () if measured is not None else (QUESTIONS, PASSAGES)


def _measure_if_unknown(work: Work, embedder: Embedder, space_id: SpaceId, counts: CollectionCounts) -> None:
    """Measure how similar unrelated texts are in a space, once there is a chunk.

    If nothing is pending, a failing model is no error: the next import tries again.
    """
    with work.store.read() as view:
        if not counts.chunks or view.spaces.unrelated(space_id) is not None:
            return
    try:
        with run.current().step("measure_unrelated"):
            measured = measure_unrelated(embedder)
    except EmbeddingError:
        if counts.pending_chunks:
            raise
        return
    with work.write() as writer:
        writer.spaces.open(embedder.space, measured)


def _embed_batches(
    work: Work, embedder: Embedder, space_id: SpaceId, boilerplate: Collection[str]
) -> Iterator[int]:
    """Embed and write; yield how many texts each part had."""
    for batch in _pending_batches(work, space_id, embedder.texts_at_once):
        texts = [_embedded(item, boilerplate) for item in batch]
        titles = [item.title for item in batch]
        with closing(embedder.embed(texts, titles=titles)) as batches:
            for positions, vectors in _timed(batches, len(batch)):
                hashes = [batch[position].text_hash for position in positions]
                with run.current().step("write_vectors", texts=len(positions)), work.write() as writer:
                    writer.vectors.put(space_id, hashes, vectors)
                yield len(positions)


def _pending_batches(work: Work, space_id: SpaceId, texts_at_once: int) -> Iterator[list[PendingText]]:
    """Yield pending texts in batches; the vectors of one are written before the next is read.

    In a shared store, this waits for texts that another process has taken, and embeds them if it ends first.
    """
    at_once = {VectorKind.NAME: names_at_once(texts_at_once), VectorKind.TEXT: texts_at_once}
    while True:
        for kind, limit in at_once.items():
            while texts := _pending(work, kind, space_id, limit):
                if mine := _taken(work, space_id, texts):
                    yield mine
        if work.store.team is None or not _others_embed(work, space_id):
            return
        run.current().sleep(_WAIT_FOR_OTHERS_S)


def _embedded(item: PendingText, boilerplate: Collection[str]) -> str:
    """Return a text without boilerplate, which would make it similar to all others."""
    return item.text[: item.start] + without_boilerplate(item.text[item.start :], boilerplate)


def _taken(work: Work, space_id: SpaceId, texts: list[PendingText]) -> list[PendingText]:
    """Return the texts that no other process is embedding, which are left to this one."""
    if work.store.team is None:
        return texts
    mine = work.store.team.take_texts(work.claim, space_id, [each.text_hash for each in texts])
    return [each for each in texts if each.text_hash in mine]


def _others_embed(work: Work, space_id: SpaceId) -> bool:
    """Return True if a process may be embedding what this collection still lacks."""
    collection_id = work.collection.id
    with work.store.read() as view:
        lacks = view.collections.counts(collection_id, space_id).pending_chunks
        if not lacks and not view.vectors.count_pending_names(collection_id, space_id):
            return False
        own = ("", work.collection.name)
        return any(each.collection not in own for each in view.collections.activities())


def _pending(work: Work, kind: VectorKind, space_id: SpaceId, limit: int) -> list[PendingText]:
    with work.store.read() as view:
        return view.vectors.pending(kind, work.collection.id, space_id, limit)


def _timed(batches: Parts, count: int) -> Parts:
    """Measure how long each part of ``count`` texts takes."""
    left = count
    while left:
        with run.current().step("embed") as details:
            positions, vectors = next(batches)
            details["texts"] = len(positions)
        left -= len(positions)
        yield positions, vectors


def known_boilerplate(work: Work, counts: CollectionCounts) -> frozenset[str]:
    """Return the keys of a collection's boilerplate, for :func:`mdvec.text.boilerplate.without_boilerplate`.

    It is learned again when the number of documents has doubled, or when half of the chunks are pending. In
    between, the collection remembers it, so that a small update reads no other documents. The counts are
    those after all texts were written.
    """
    known = work.collection.boilerplate
    has_doubled = counts.documents >= 2 * known.documents
    is_mostly_new = counts.pending_chunks and 2 * counts.pending_chunks >= counts.chunks
    if counts.documents >= MIN_DOCUMENTS and (has_doubled or is_mostly_new):
        with run.current().step("learn_boilerplate"), work.store.read() as view:
            shares = shared_lines(_sampled_bodies(work, view))
            lines = tuple(key for key, share in shares.items() if share >= MOST)
            known = Boilerplate(counts.documents, lines, frequent=tuple(shares))
        with work.write() as writer:
            writer.collections.change(work.collection.id, lambda now: replace(now, boilerplate=known))
    return frozenset(known.lines)


def _sampled_bodies(work: Work, view: View) -> Iterator[str]:
    """Yield the texts of documents spread over the collection; the same for the same collection."""
    ids = sorted(view.documents.newest(Where((work.collection.id,))))
    sample = ids[:: 1 + len(ids) // _SAMPLED_DOCUMENTS]
    for start in range(0, len(sample), _DOCUMENTS_AT_ONCE):
        yield from view.documents.texts(sample[start : start + _DOCUMENTS_AT_ONCE]).values()


def update_vector_index(store: Store) -> tuple[str, ...]:
    """Bring the vector indexes of a store, and the one next to it, up to date; for the end of an import.

    Returns:
        A warning when that does not work; searches then are right without it.
    """
    try:
        store.make_vector_indexes()
        with store.read() as view:
            if view.vectors.index is not None:
                view.vectors.index.update()
    except StoreError as error:
        return (f"the vector index is behind, and searches do without it: {error}",)
    return ()
