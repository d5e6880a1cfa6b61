"""Estimates what an import would embed, and how long that takes; nothing is written.

Before a run that goes to a service, everything is counted. Else a sample of the documents is read, and its
counts are scaled by bytes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

from msgspec import Struct

from mdvec import run
from mdvec.embedding.interface import Embedder
from mdvec.indexing.changes import Changes
from mdvec.indexing.embed import names_at_once, probes
from mdvec.indexing.prepare import Prepared, prepared
from mdvec.stores.interface import View
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
# The sizes of the samples: documents to read, and texts whose tokens are counted.
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
        is_sampled: Whether the counts were scaled from a sample.
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


class _NewTexts(Struct, frozen=True):
    """The texts of the documents that an import would read, as far as they were read.

    Attributes:
        documents: How many hold text.
        chunks: Texts of their chunks.
        names: Their names.
        unreadable: Files that cannot be read now, and why.
    """

    documents: int
    chunks: list[PendingText]
    names: list[PendingText]
    unreadable: tuple[str, ...]


def look_ahead(
    collection: Collection, changes: Changes, embedder: Embedder, space_id: SpaceId | None, *, rebuild: bool
) -> Outlook:
    """Do the work of an import up to the model, and count the texts that it would embed.

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
    is_service = embedder.requests_for(["ok"]) > 0
    entries = changes.entries
    sample = entries if is_service else _spread(entries, _MAX_DOCUMENTS)
    new = _read(changes, sample)
    with changes.store.read() as view:
        old_chunks, old_names = ([], []) if rebuild else _pending(collection, changes, view, space_id)
        cached = _Cached(view, space_id)
        old_chunks, new_chunks = cached.without(old_chunks), cached.without(new.chunks)
        old_names, new_names = cached.without(old_names), cached.without(new.names)
        has_chunks = bool(old_chunks or new_chunks or view.collections.counts(collection.id, None).chunks)
        measuring = probes(view, space_id) if has_chunks else ()
    by_count = _share(len(entries), len(sample))
    bytes_read = sum(each.size for each in sample)
    by_size = _share(sum(each.size for each in entries), bytes_read) if bytes_read else by_count
    chunks, names = [*old_chunks, *new_chunks], [*old_names, *new_names]
    counted = [*chunks, *names] if is_service else _spread([*chunks, *names], _MAX_TEXTS)
    chars = (
        _chars(old_chunks) + _chars(old_names) + by_size * _chars(new_chunks) + by_count * _chars(new_names)
    )
    tokens = sum(_tokens(each.text, embedder) for each in counted) * _share(chars, _chars(counted))
    tokens += sum(_tokens(text, embedder) for texts in measuring for text in texts)
    requests = sum(map(embedder.requests_for, measuring))
    if is_service:
        requests += _requests(chunks, embedder, embedder.texts_at_once)
        requests += _requests(names, embedder, names_at_once(embedder.texts_at_once))
    return Outlook(
        documents=round(new.documents * by_count),
        chunks=round(len(old_chunks) + by_size * len(new_chunks)),
        names=round(len(old_names) + by_count * len(new_names)),
        tokens=round(tokens),
        requests=requests,
        unreadable=new.unreadable,
        is_sampled=len(sample) < len(entries) or len(counted) < len(chunks) + len(names),
        seconds=None if is_service else _duration(embedder, chunks, round(tokens)),
    )


def _read(changes: Changes, entries: Sequence[SourceEntry]) -> _NewTexts:
    """Read and prepare some of the documents that an import would read."""
    changes.prefetch(entries)
    chunks: list[PendingText] = []
    names: list[PendingText] = []
    unreadable = [f"{each.path}: {each.reason}" for each in changes.failures]
    documents = 0
    for item in prepared(changes, entries):
        if isinstance(item, Unreadable):
            unreadable.append(f"{item.path}: {item.reason}")
        elif isinstance(item, Prepared):
            record, document = item.record, item.record.document
            names += [PendingText(text_hash(name), name) for name in record.names]
            hashed = zip(record.text_hashes, record.chunks, strict=True)
            chunks += [PendingText(key, each.embedded_text, document.title) for key, each in hashed]
            documents += 1
            run.current().report(run.Stage.TEXT, documents, len(entries))
            run.current().check()
    return _NewTexts(documents, chunks, names, tuple(unreadable))


def _duration(embedder: Embedder, texts: Sequence[PendingText], tokens: int) -> float | None:
    """Return the seconds that some tokens take, measured on this machine with a few texts."""
    if not texts or embedder.problem is not None:
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
        done += sum(_tokens(each.text, embedder) for each in part)
    return elapsed_s * tokens / done if done else None


def _spread(items: Sequence[_Item], most: int) -> Sequence[_Item]:
    """Return at most ``most`` of the items, spread evenly."""
    if len(items) <= most:
        return items
    return [items[number * len(items) // most] for number in range(most)]


def _share(total: float, part: float) -> float:
    return total / part if part else 1.0


def _tokens(text: str, embedder: Embedder) -> int:
    return len(embedder.tokens.ends(text))


def _chars(items: Sequence[PendingText]) -> int:
    return sum(len(each.text) for each in items)


def _requests(items: Sequence[PendingText], embedder: Embedder, at_once: int) -> int:
    """Return the requests that some texts take, in the batches of an import."""
    batches = (items[start : start + at_once] for start in range(0, len(items), at_once))
    return sum(
        embedder.requests_for([each.text for each in batch], [each.title for each in batch])
        for batch in batches
    )


class _Cached:
    """Leaves out the texts that have a vector, or were there before."""

    def __init__(self, view: View, space_id: SpaceId | None) -> None:
        self._view = view
        self._space_id = space_id
        self._seen: set[TextHash] = set()

    def without(self, items: Sequence[PendingText]) -> list[PendingText]:
        """Return the texts that would be embedded, each once."""
        unseen = {item.text_hash: item for item in items if item.text_hash not in self._seen}
        self._seen |= unseen.keys()
        cached = (
            set() if self._space_id is None else {*self._view.vectors.known(self._space_id, list(unseen))}
        )
        return [item for key, item in unseen.items() if key not in cached]


def _pending(
    collection: Collection, changes: Changes, view: View, space_id: SpaceId | None
) -> tuple[list[PendingText], list[PendingText]]:
    """Return the pending chunks and names of the documents that do not change."""
    space = _NOWHERE if space_id is None else space_id
    pending = view.vectors.pending(collection.id, space, _EVERYTHING)
    pending_names = view.vectors.pending_names(collection.id, space, _EVERYTHING)
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
    document = view.documents.find(collection.id, path)
    if document is None:
        return
    contexts = view.chunks.contexts(collection.id, path)
    for context, chunk in zip(contexts, view.chunks.of_document(document.id), strict=True):
        yield text_hash(under_context(context, chunk.text))
    yield from map(text_hash, first_names(names_of(document.title, path, document.aliases)))
