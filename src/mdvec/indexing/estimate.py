"""Estimates what an import would embed, and how long it would take, from a sample; nothing is written."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from mdvec import run
from mdvec.embedding.interface import Embedder
from mdvec.indexing.changes import Changes
from mdvec.indexing.preparation import prepared
from mdvec.indexing.prepare import Prepared
from mdvec.indexing.vectors import names_at_once, probes
from mdvec.stores.interface import Store, View
from mdvec.stores.records import PendingText, first_names
from mdvec.text.hashing import text_hash
from mdvec.types.change import SourceEntry, Unreadable
from mdvec.types.chunk import under_context
from mdvec.types.collection import Collection
from mdvec.types.document import names_of
from mdvec.types.ids import SpaceId, TextHash

_Item = TypeVar("_Item")

# No space has this id, so everything is pending in it.
_NOWHERE = SpaceId(0)

_EVERYTHING = 2**62
# The sizes of the samples: documents to read, and pending texts in the store.
_MAX_DOCUMENTS = 200
_MAX_TEXTS = 500
# A model is timed with a few texts, then with more if it is fast.
_FIRST_TEXTS = 4
_MORE_TEXTS = 60
_QUICK_S = 0.5


class Outlook(Struct, frozen=True):
    """The texts that an import would embed.

    Attributes:
        documents: Documents that would be read.
        chunks: Texts of chunks.
        names: Names of documents.
        tokens: Tokens of both, and of the texts that measure a model in a new space.
        requests: Requests to a service, for all of them.
        unreadable: Files that cannot be read now, and why.
        is_sampled: Whether chunks, names, tokens and requests were scaled from a sample.
        seconds: How long a model on this machine takes, as measured now; None for others.
    """

    documents: int
    chunks: int
    names: int
    tokens: int
    requests: int
    unreadable: tuple[str, ...]
    is_sampled: bool = False
    seconds: float | None = None


def look_ahead(
    collection: Collection, changes: Changes, embedder: Embedder, space_id: SpaceId | None, *, rebuild: bool
) -> Outlook:
    """Do the work of an import up to the model, and count the texts that it would embed.

    Of many documents, only a sample is read; the counts are scaled.

    Args:
        collection: What would be imported.
        changes: What an import would do.
        embedder: Counts tokens, and is timed if it runs on this machine.
        space_id: The space of its vectors; None if it has none yet.
        rebuild: Whether every document is prepared anew.

    Raises:
        SourceError: If the source cannot be read.
        ImportStoppedError: If the run is cancelled.
    """
    store = changes.store
    new = _NewTexts(store, space_id)
    chunks = _Tally(new, embedder, embedder.texts_at_once)
    names = _Tally(new, embedder, names_at_once(embedder.texts_at_once))
    is_sampled = len(changes.entries) > _MAX_DOCUMENTS
    if not rebuild:
        with store.read() as view:
            pending = _pending(collection, changes, view, space_id)
        for tally, items in zip((chunks, names), pending, strict=True):
            sample = _spread(items, _MAX_TEXTS)
            tally.add(sample, _share(len(items), len(sample)))
            is_sampled |= len(sample) < len(items)
    documents, unreadable = _count_documents(changes, chunks, names)
    chunks.close()
    names.close()
    with store.read() as view:
        measuring = probes(view, space_id) if chunks.texts or view.counts(collection.id, None).chunks else ()
    tokens = round(chunks.tokens + names.tokens) + _tokens(measuring, embedder)
    return Outlook(
        documents=documents,
        chunks=round(chunks.texts),
        names=round(names.texts),
        tokens=tokens,
        requests=round(chunks.requests + names.requests) + sum(map(embedder.requests_for, measuring)),
        unreadable=unreadable,
        is_sampled=is_sampled,
        seconds=_duration(embedder, chunks.sample, tokens),
    )


def _count_documents(changes: Changes, chunks: _Tally, names: _Tally) -> tuple[int, tuple[str, ...]]:
    """Count the texts of the documents that an import would read, from a sample of them.

    Returns:
        How many documents that are, and which files cannot be read now, and why.
    """
    entries = changes.entries
    read = _spread(entries, _MAX_DOCUMENTS)
    sample = _only(changes, read)
    sample.prefetch()
    by_count = _share(len(entries), len(read))
    bytes_read = sum(each.size for each in read)
    by_size = _share(sum(each.size for each in entries), bytes_read) if bytes_read else by_count
    unreadable = [f"{each.path}: {each.reason}" for each in changes.failures]
    documents = 0
    for item in prepared(sample):
        if isinstance(item, Unreadable):
            unreadable.append(f"{item.path}: {item.reason}")
        elif isinstance(item, Prepared):
            document = item.record.document
            called = [PendingText(text_hash(name), name) for name in first_names(document.names)]
            names.add(called, by_count)
            hashed = zip(item.record.text_hashes, item.record.chunks, strict=True)
            texts = [PendingText(key, each.embedded_text, document.title) for key, each in hashed]
            chunks.add(texts, by_size)
            documents += 1
            run.current().report(run.Stage.TEXT, documents, len(read))
            run.current().check()
    return round(documents * by_count), tuple(unreadable)


def _duration(embedder: Embedder, texts: Sequence[PendingText], tokens: int) -> float | None:
    """Return the seconds that some tokens take, measured on this machine with a few texts."""
    if not texts or embedder.problem is not None or embedder.requests_for([texts[0].text]):
        return None
    embedder.embed_query("ok")  # loads it
    sample = _spread(texts, _FIRST_TEXTS + _MORE_TEXTS)
    done, elapsed_s = 0, 0.0
    for part in (sample[:_FIRST_TEXTS], sample[_FIRST_TEXTS:]):
        if not part or elapsed_s > _QUICK_S:
            break
        run.current().check()
        started = time.perf_counter()
        for _ in embedder.embed([each.text for each in part], titles=[each.title for each in part]):
            pass
        elapsed_s += time.perf_counter() - started
        done += sum(len(embedder.tokens.ends(each.text)) for each in part)
    return elapsed_s * tokens / done if done else None


def _spread(items: Sequence[_Item], most: int) -> Sequence[_Item]:
    """Return at most ``most`` of the items, spread evenly."""
    if len(items) <= most:
        return items
    return [items[number * len(items) // most] for number in range(most)]


def _share(total: float, part: float) -> float:
    return total / part if part else 1.0


def _only(changes: Changes, entries: Sequence[SourceEntry]) -> Changes:
    """Return the changes of some of the entries."""
    paths = {each.path for each in entries}
    plan = changes.plan
    return replace(
        changes,
        plan=replace(
            plan,
            new=tuple(each for each in plan.new if each.path in paths),
            changed=tuple(each for each in plan.changed if each.path in paths),
            moved=tuple(each for each in plan.moved if each.entry.path in paths),
        ),
    )


def _tokens(calls: Iterable[Sequence[str]], embedder: Embedder) -> int:
    return sum(len(embedder.tokens.ends(text)) for texts in calls for text in texts)


class _NewTexts:
    """Filters out texts that have a vector or were counted before."""

    def __init__(self, store: Store, space_id: SpaceId | None) -> None:
        self._store = store
        self._space_id = space_id
        self._seen: set[TextHash] = set()

    def among(self, items: Sequence[PendingText]) -> list[PendingText]:
        """Return the texts that would be embedded, each once."""
        unseen = {item.text_hash: item for item in items if item.text_hash not in self._seen}
        self._seen |= unseen.keys()
        if self._space_id is not None:
            with self._store.read() as view:
                cached = view.cached(self._space_id, list(unseen))
            return [item for key, item in unseen.items() if key not in cached]
        return list(unseen.values())


class _Tally:
    """Counts texts of one kind, the chunks or the names, from samples of them.

    Args:
        new: Filters out texts that would not be embedded.
        embedder: Counts tokens and requests.
        batch_size: Texts in a batch of an import.

    Attributes:
        texts: How many there are.
        tokens: Their tokens.
        requests: The requests they take.
        sample: The counted texts.
    """

    def __init__(self, new: _NewTexts, embedder: Embedder, batch_size: int) -> None:
        self.texts = self.tokens = self.requests = 0.0
        self.sample: list[PendingText] = []
        self._new = new
        self._embedder = embedder
        self._batch_size = batch_size
        # By scale: an import sends new and pending texts in the same requests.
        self._waiting: dict[float, list[PendingText]] = {}

    def add(self, items: Sequence[PendingText], scale: float) -> None:
        """Count the texts that would be embedded, each of which stands for so many."""
        new = self._new.among(items)
        self.sample += new
        self.texts += scale * len(new)
        self.tokens += scale * _tokens([[item.text for item in new]], self._embedder)
        waiting = self._waiting.setdefault(scale, [])
        waiting += new
        while len(waiting) >= self._batch_size:
            self._count_requests(waiting[: self._batch_size], scale)
            del waiting[: self._batch_size]

    def close(self) -> None:
        """Count the last, partial batches."""
        for scale, waiting in self._waiting.items():
            if waiting:
                self._count_requests(waiting, scale)

    def _count_requests(self, batch: Sequence[PendingText], scale: float) -> None:
        texts, titles = [item.text for item in batch], [item.title for item in batch]
        self.requests += scale * self._embedder.requests_for(texts, titles)


def _pending(
    collection: Collection, changes: Changes, view: View, space_id: SpaceId | None
) -> tuple[list[PendingText], list[PendingText]]:
    """Return the pending chunks and names of the documents that do not change."""
    space = _NOWHERE if space_id is None else space_id
    pending = view.pending(collection.id, space, _EVERYTHING)
    pending_names = view.pending_names(collection.id, space, _EVERYTHING)
    if not (pending or pending_names):
        return [], []
    plan = changes.plan
    leaving = [
        *(entry.path for entry in plan.changed),
        *(move.old_path for move in plan.moved),
        *plan.deleted,
    ]
    gone = {digest for path in leaving for digest in _hashes(collection, path, view)}
    return (
        [item for item in pending if item.text_hash not in gone],
        [item for item in pending_names if item.text_hash not in gone],
    )


def _hashes(collection: Collection, path: str, view: View) -> Iterator[TextHash]:
    """Yield the hashes of the texts and names under which a document is embedded now."""
    document = view.find_document(collection.id, path)
    if document is None:
        return
    contexts = view.contexts(collection.id, path)
    for context, chunk in zip(contexts, view.document_chunks(document.id), strict=True):
        yield text_hash(under_context(context, chunk.text))
    yield from map(text_hash, first_names(names_of(document.title, path, document.aliases)))
