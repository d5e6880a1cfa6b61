"""What an import would embed: everything up to the model, in memory, and nothing written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from mdvec import run
from mdvec.embedding.interface import Embedder
from mdvec.indexing.prepare import Prepared, Recipe
from mdvec.indexing.texts import Changes, find_changes
from mdvec.indexing.vectors import names_at_once, probes
from mdvec.sources.interface import Source
from mdvec.stores.interface import Store, View
from mdvec.stores.records import PendingText, embedded_names
from mdvec.text.hashing import text_hash
from mdvec.types.change import Unreadable
from mdvec.types.collection import Collection
from mdvec.types.ids import SpaceId, TextHash

# A space that does not exist: everything is pending in it.
_NOWHERE = SpaceId(0)

_EVERYTHING = 2**62


@dataclass(frozen=True, slots=True)
class Outlook:
    """The texts that would go through the model.

    Attributes:
        documents: Documents that would be read.
        chunks: Texts of chunks.
        names: Names of documents.
        tokens: Tokens of both, and of the texts that measure a model in a new space.
        requests: Requests to a service, for all of them.
        unreadable: Files that cannot be read now, and why.
    """

    documents: int
    chunks: int
    names: int
    tokens: int
    requests: int
    unreadable: tuple[str, ...]


def look_ahead(
    collection: Collection,
    *,
    store: Store,
    source: Source,
    recipe: Recipe,
    embedder: Embedder,
    space_id: SpaceId | None,
    rebuild: bool,
    allow_empty: bool,
) -> Outlook:
    """Do what an import does up to the model, and count what would go through it.

    Args:
        collection: What would be imported.
        store: What is there already.
        source: What the collection is made from.
        recipe: How documents are prepared.
        embedder: Counts.
        space_id: Where vectors are found already; None when there are none.
        rebuild: Whether every document is prepared anew.
        allow_empty: Whether to believe a source that holds nothing.

    Raises:
        SourceMissingError: If the root is not there.
        SourceEmptyError: If it is empty though documents are known.
        ImportStoppedError: If the run is cancelled.
    """
    changes = find_changes(
        collection, store=store, source=source, recipe=recipe, rebuild=rebuild, allow_empty=allow_empty
    )
    unreadable = [f"{each.path}: {each.reason}" for each in changes.failures]
    new = _NewTexts(store, space_id)
    names = _Tally(names_at_once(embedder.texts_at_once), new, embedder)
    chunks = _Tally(embedder.texts_at_once, new, embedder)
    if not rebuild:
        with store.read() as view:
            _add_pending(collection, changes, view, space_id, names, chunks)
    changes.prefetch()
    documents = 0
    for item in changes.prepared():
        if isinstance(item, Unreadable):
            unreadable.append(f"{item.path}: {item.reason}")
        elif isinstance(item, Prepared):
            document = item.record.document
            names.add([PendingText(text_hash(name), name) for name in embedded_names(document)])
            texts = [chunk.embedded_text for chunk in item.record.chunks]
            chunks.add([PendingText(text_hash(text), text, document.title) for text in texts])
            documents += 1
            run.current().report(run.Stage.TEXT, documents, len(changes.entries))
            run.current().check()
    names.close()
    chunks.close()
    with store.read() as view:
        has_chunks = chunks.texts or view.counts(collection.id, None).chunks
        measuring = probes(view, space_id) if has_chunks else ()
    return Outlook(
        documents=documents,
        chunks=chunks.texts,
        names=names.texts,
        tokens=names.tokens + chunks.tokens + _tokens(measuring, embedder),
        requests=names.requests + chunks.requests + sum(map(embedder.requests_for, measuring)),
        unreadable=tuple(unreadable),
    )


def _tokens(calls: Iterable[Sequence[str]], embedder: Embedder) -> int:
    return sum(len(embedder.tokens.ends(text)) for texts in calls for text in texts)


class _NewTexts:
    """Leaves out texts that have a vector, or were counted before."""

    def __init__(self, store: Store, space_id: SpaceId | None) -> None:
        self._store = store
        self._space_id = space_id
        self._seen: set[TextHash] = set()

    def among(self, items: Sequence[PendingText]) -> list[PendingText]:
        """Return those of the texts that would be embedded, each once."""
        unseen = {item.text_hash: item for item in items if item.text_hash not in self._seen}
        self._seen |= unseen.keys()
        if self._space_id is not None:
            with self._store.read() as view:
                cached = view.cached(self._space_id, list(unseen))
            return [item for key, item in unseen.items() if key not in cached]
        return list(unseen.values())


class _Tally:
    """Counts texts of one kind, in the batches in which an import embeds them.

    Attributes:
        texts: How many there were.
        tokens: Their tokens.
        requests: The requests they take.
    """

    def __init__(self, batch_size: int, new: _NewTexts, embedder: Embedder) -> None:
        self.texts = self.tokens = self.requests = 0
        self._batch_size = batch_size
        self._new = new
        self._embedder = embedder
        self._ends = embedder.tokens.ends
        self._waiting: list[PendingText] = []

    def add(self, items: Sequence[PendingText]) -> None:
        """Count those of the texts that would go through the model."""
        new = self._new.among(items)
        self.texts += len(new)
        self.tokens += sum(len(self._ends(item.text)) for item in new)
        self._waiting += new
        while len(self._waiting) >= self._batch_size:
            self._count_requests(self._waiting[: self._batch_size])
            del self._waiting[: self._batch_size]

    def close(self) -> None:
        """Count the last batch, which is not full."""
        if self._waiting:
            self._count_requests(self._waiting)

    def _count_requests(self, batch: Sequence[PendingText]) -> None:
        texts, titles = [item.text for item in batch], [item.title for item in batch]
        self.requests += self._embedder.requests_for(texts, titles)


def _add_pending(
    collection: Collection,
    changes: Changes,
    view: View,
    space_id: SpaceId | None,
    names: _Tally,
    chunks: _Tally,
) -> None:
    """Count what the documents that stay as they are lack."""
    space = _NOWHERE if space_id is None else space_id
    pending = view.pending(collection.id, space, _EVERYTHING)
    pending_names = view.pending_names(collection.id, space, _EVERYTHING)
    if not (pending or pending_names):
        return
    plan = changes.plan
    leaving = [
        *(entry.path for entry in plan.changed),
        *(move.old_path for move in plan.moved),
        *plan.deleted,
    ]
    gone = {digest for path in leaving for digest in _hashes(collection, path, view)}
    chunks.add([item for item in pending if item.text_hash not in gone])
    names.add([item for item in pending_names if item.text_hash not in gone])


def _hashes(collection: Collection, path: str, view: View) -> Iterator[TextHash]:
    """Yield the hashes of the texts and names under which a document is embedded now."""
    document = view.find_document(collection.id, path)
    if document is None:
        return
    contexts = view.contexts(collection.id, path)
    for context, chunk in zip(contexts, view.document_chunks(document.id), strict=True):
        yield text_hash(f"{context}\n{chunk.text}" if context else chunk.text)
    file_name = path.rpartition("/")[2]
    for name in (document.title, file_name.rpartition(".")[0] or file_name, *document.aliases):
        yield text_hash(name)
