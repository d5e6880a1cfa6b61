"""What an import would embed: everything up to the model, in memory, and nothing written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mdvec.embedding.interface import Embedder
from mdvec.errors import UnreadableFileError
from mdvec.indexing.kept import DocumentSource, Texts, kept_texts, known_binaries
from mdvec.indexing.measuring import texts_to_measure
from mdvec.indexing.prepare import Prepared, Recipe
from mdvec.indexing.texts import kept_contexts, list_source, make_plan
from mdvec.indexing.vectors import names_at_once
from mdvec.types.change import Plan, SourceEntry
from mdvec.types.collection import Collection
from mdvec.types.ids import SpaceId, TextHash
from mdvec.types.report import ImportStage, Progress
from mdvec.stores.interface import Catalog, PendingText, Store
from mdvec.stores.names import embedded_names
from mdvec.text.hashing import text_hash

# A space that there is not: everything is pending in it.
_NOWHERE = SpaceId(0)

_EVERYTHING = 2**62


@dataclass(frozen=True, slots=True)
class Outlook:
    """What would go through the model.

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
    source: DocumentSource,
    recipe: Recipe,
    embedder: Embedder,
    space_id: SpaceId | None,
    rebuild: bool,
    allow_empty: bool,
    progress: Progress,
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
        allow_empty: Believe a source that holds nothing.
        progress: Is told of documents done.

    Raises:
        SourceMissingError: If the root is not there.
        SourceEmptyError: If it is empty though documents are known.
    """
    known = store.catalog.known_documents(collection.id)
    progress(ImportStage.SCAN, 0, 0)
    listing = list_source(source, knows_documents=bool(known), allow_empty=allow_empty)
    plan, failures = Plan(new=listing.entries), list(listing.unreadable)
    if not rebuild:
        plan, unreadable = make_plan(listing, known, source, recipe.fingerprint)
        failures += unreadable
        binaries = {each.path for each in known_binaries(collection, listing, plan.new, store.catalog)}
        plan = replace(plan, new=tuple(entry for entry in plan.new if entry.path not in binaries))
    told = [f"{each.path}: {each.reason}" for each in failures]
    counted = _Counted(store, space_id)
    names = _Tally(names_at_once(embedder.texts_at_once), counted, embedder)
    chunks = _Tally(embedder.texts_at_once, counted, embedder)
    if not rebuild:
        _add_pending(collection, plan, store.catalog, space_id, names, chunks)
    entries = [*plan.new, *plan.changed, *(move.entry for move in plan.moved)]
    kept = kept_texts(plan, known)
    source.expect([entry for entry in entries if entry.path not in kept])
    contexts = kept_contexts(collection, plan, known, recipe.fingerprint, store.catalog)
    documents = 0
    for item in _prepared(entries, contexts, Texts(collection, source, store.catalog, kept), recipe, told):
        document = item.document
        names.add([PendingText(text_hash(name), name) for name in embedded_names(document)])
        texts = [chunk.embedded_text for chunk in item.chunks]
        chunks.add([PendingText(text_hash(text), text, document.title) for text in texts])
        documents += 1
        progress(ImportStage.TEXT, documents, len(entries))
    names.close()
    chunks.close()
    has_chunks = chunks.texts or store.catalog.counts(collection.id, None).chunks
    probes = texts_to_measure(store, space_id) if has_chunks else ()
    return Outlook(
        documents=documents,
        chunks=chunks.texts,
        names=names.texts,
        tokens=names.tokens + chunks.tokens + _tokens(probes, embedder),
        requests=names.requests + chunks.requests + sum(map(embedder.requests_for, probes)),
        unreadable=tuple(told),
    )


def _tokens(calls: Iterable[Sequence[str]], embedder: Embedder) -> int:
    return sum(len(embedder.tokens.ends(text)) for texts in calls for text in texts)


class _Counted:
    """Knows the texts that need no counting: they have a vector, or were counted before."""

    def __init__(self, store: Store, space_id: SpaceId | None) -> None:
        self._store = store
        self._space_id = space_id
        self._seen: set[TextHash] = set()

    def new(self, items: Sequence[PendingText]) -> list[PendingText]:
        """Return those that need it, each once."""
        unseen = {item.text_hash: item for item in items if item.text_hash not in self._seen}
        self._seen |= unseen.keys()
        if self._space_id is not None:
            for digest in self._store.vectors.cached(self._space_id, list(unseen)):
                del unseen[digest]
        return list(unseen.values())


class _Tally:
    """Counts texts of one kind, in the batches in which an import embeds them.

    Attributes:
        texts: How many there were.
        tokens: Their tokens.
        requests: The requests they take.
    """

    def __init__(self, batch_size: int, counted: _Counted, embedder: Embedder) -> None:
        self.texts = self.tokens = self.requests = 0
        self._batch_size = batch_size
        self._counted = counted
        self._embedder = embedder
        self._ends = embedder.tokens.ends
        self._waiting: list[PendingText] = []

    def add(self, items: Sequence[PendingText]) -> None:
        """Count those of the texts that would go through the model."""
        new = self._counted.new(items)
        self.texts += len(new)
        self.tokens += sum(len(self._ends(item.text)) for item in new)
        self._waiting += new
        while len(self._waiting) >= self._batch_size:
            self._ask(self._waiting[: self._batch_size])
            del self._waiting[: self._batch_size]

    def close(self) -> None:
        """Count the last batch, which is not full."""
        if self._waiting:
            self._ask(self._waiting)

    def _ask(self, batch: Sequence[PendingText]) -> None:
        texts, titles = [item.text for item in batch], [item.title for item in batch]
        self.requests += self._embedder.requests_for(texts, titles)


def _add_pending(
    collection: Collection,
    plan: Plan,
    catalog: Catalog,
    space_id: SpaceId | None,
    names: _Tally,
    chunks: _Tally,
) -> None:
    """Count what the documents that stay as they are lack."""
    space = _NOWHERE if space_id is None else space_id
    pending = catalog.pending(collection.id, space, _EVERYTHING)
    pending_names = catalog.pending_names(collection.id, space, _EVERYTHING)
    if not (pending or pending_names):
        return
    leaving = [
        *(entry.path for entry in plan.changed),
        *(move.old_path for move in plan.moved),
        *plan.deleted,
    ]
    gone: set[TextHash] = set()
    for path in leaving:
        gone.update(_hashes(collection, path, catalog))
    chunks.add([item for item in pending if item.text_hash not in gone])
    names.add([item for item in pending_names if item.text_hash not in gone])


def _hashes(collection: Collection, path: str, catalog: Catalog) -> Iterator[TextHash]:
    """Return the texts and names under which a document is embedded now."""
    document = catalog.find_document(collection.id, path)
    if document is None:
        return
    contexts = catalog.contexts(collection.id, path)
    for context, chunk in zip(contexts, catalog.document_chunks(document.id), strict=True):
        yield text_hash(f"{context}\n{chunk.text}" if context else chunk.text)
    file_name = path.rpartition("/")[2]
    for name in (document.title, file_name.rpartition(".")[0] or file_name, *document.aliases):
        yield text_hash(name)


def _prepared(
    entries: Iterable[SourceEntry],
    contexts: Mapping[str, Sequence[str]],
    texts: Texts,
    recipe: Recipe,
    told: list[str],
) -> Iterator[Prepared]:
    for entry in entries:
        try:
            item = texts.prepared(entry, recipe, contexts.get(entry.path))
        except UnreadableFileError as error:
            told.append(f"{entry.path}: {error}")
            continue
        if isinstance(item, Prepared):
            yield item
