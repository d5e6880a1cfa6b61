"""Estimates what an import would embed, and how long that takes; nothing is written.

Before a run that goes to a service, everything is counted. Else a sample of the documents is read, and its
rates are scaled by bytes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TypeVar

from msgspec import Struct, field

from mdvec import run
from mdvec.embedding.interface import Embedder
from mdvec.indexing.embed import names_at_once, probes
from mdvec.indexing.plan import Changes
from mdvec.indexing.prepare import prepared
from mdvec.stores.interface import View
from mdvec.stores.records import DocumentRecord, PendingText, VectorKind, first_names
from mdvec.text.hashing import text_hash
from mdvec.types.change import Unreadable
from mdvec.types.chunk import under_context
from mdvec.types.collection import Collection
from mdvec.types.document import names_of
from mdvec.types.ids import SpaceId, TextHash
from mdvec.types.model_report import ImportEstimate

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


class _Texts(Struct):
    """Texts of chunks and names of documents, and how many documents were read for them."""

    chunks: list[PendingText] = field(default_factory=list)
    names: list[PendingText] = field(default_factory=list)
    documents: int = 0


def estimate_import(
    collection: Collection, changes: Changes, embedder: Embedder, space_id: SpaceId | None, *, rebuild: bool
) -> ImportEstimate:
    """Do the work of an import up to the model, and count the texts that it would embed.

    Args:
        collection: What would be imported.
        changes: What an import would do.
        embedder: Counts tokens, and is timed if it runs on this machine.
        space_id: The space of its vectors; None if it has none yet.
        rebuild: Whether every document is prepared anew.

    Returns:
        The estimate, without the name and the price of the model; the warnings are files that cannot be read.

    Raises:
        SourceError: If the source cannot be read.
        ImportStoppedError: If the run is cancelled.
    """
    is_service = embedder.requests_for(["ok"]) > 0
    entries = changes.entries
    sample = entries if is_service else _spread(entries, _MAX_DOCUMENTS)
    share = sum(each.size for each in sample) / (sum(each.size for each in entries) or 1) or 1.0
    warnings = [f"{each.path}: {each.reason}" for each in changes.failures]
    new = _Texts()
    changes.prefetch(sample)
    for item in prepared(changes, sample):
        if isinstance(item, Unreadable):
            warnings.append(f"{item.path}: {item.reason}")
        elif isinstance(item, DocumentRecord):
            new.names += [PendingText(text_hash(name), name) for name in item.names]
            hashed = zip(item.text_hashes, item.chunks, strict=True)
            title = item.document.title
            new.chunks += [PendingText(key, each.embedded_text, title) for key, each in hashed]
            new.documents += 1
            run.current().report(run.Stage.TEXT, new.documents, len(sample))
            run.current().check()
    with changes.read() as view:
        old = _Texts() if rebuild else _pending(collection, changes, view, space_id)
        seen: set[TextHash] = set()
        for texts in (old, new):
            texts.chunks = _unknown(texts.chunks, view, space_id, seen)
            texts.names = _unknown(texts.names, view, space_id, seen)
        has_chunks = old.chunks or new.chunks or view.collections.counts(collection.id, None).chunks
        measuring = probes(view, space_id) if has_chunks else ()
    every = [*old.chunks, *new.chunks, *old.names, *new.names]
    chars = _chars([*old.chunks, *old.names]) + _chars([*new.chunks, *new.names]) / share
    counted = every if is_service else _spread(every, _MAX_TEXTS)
    tokens = _tokens(counted, embedder) * chars / (_chars(counted) or 1)
    tokens += sum(len(embedder.tokens.ends(text)) for text in chain(*measuring))
    requests = 0
    if is_service:
        at_once = embedder.texts_at_once
        requests = sum(map(embedder.requests_for, measuring))
        requests += _requests([*old.chunks, *new.chunks], embedder, at_once)
        requests += _requests([*old.names, *new.names], embedder, names_at_once(at_once))
    return ImportEstimate(
        collection=collection.name,
        model="",
        documents=round(new.documents * len(entries) / len(sample)) if sample else 0,
        chunks=round(len(old.chunks) + len(new.chunks) / share),
        names=round(len(old.names) + len(new.names) * len(entries) / (len(sample) or 1)),
        tokens=round(tokens),
        exact=embedder.tokens.is_exact and len(sample) == len(entries) and len(counted) == len(every),
        requests=requests,
        usd=None,
        price=None,
        warnings=tuple(warnings),
        seconds=None if is_service else _duration(embedder, [*old.chunks, *new.chunks], tokens),
    )


def _duration(embedder: Embedder, texts: Sequence[PendingText], tokens: float) -> float | None:
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
        done += _tokens(part, embedder)
    return elapsed_s * tokens / done if done else None


def _spread(items: Sequence[_Item], most: int) -> Sequence[_Item]:
    """Return at most ``most`` of the items, spread evenly."""
    return items if len(items) <= most else [items[number * len(items) // most] for number in range(most)]


def _tokens(items: Sequence[PendingText], embedder: Embedder) -> int:
    return sum(len(embedder.tokens.ends(each.text)) for each in items)


def _chars(items: Sequence[PendingText]) -> int:
    return sum(len(each.text) for each in items)


def _requests(items: Sequence[PendingText], embedder: Embedder, at_once: int) -> int:
    """Return the requests that some texts take, in the batches of an import."""
    batches = (items[start : start + at_once] for start in range(0, len(items), at_once))
    return sum(
        embedder.requests_for([each.text for each in batch], [each.title for each in batch])
        for batch in batches
    )


def _unknown(
    items: Sequence[PendingText], view: View, space_id: SpaceId | None, seen: set[TextHash]
) -> list[PendingText]:
    """Return the texts that have no vector and were not seen before, each once."""
    unseen = {item.text_hash: item for item in items if item.text_hash not in seen}
    seen |= unseen.keys()
    known = set() if space_id is None else {*view.vectors.known(space_id, list(unseen))}
    return [item for key, item in unseen.items() if key not in known]


def _pending(collection: Collection, changes: Changes, view: View, space_id: SpaceId | None) -> _Texts:
    """Return the pending texts of the documents that do not change."""
    space = _NOWHERE if space_id is None else space_id
    chunks = view.vectors.pending(VectorKind.TEXT, collection.id, space, _EVERYTHING)
    names = view.vectors.pending(VectorKind.NAME, collection.id, space, _EVERYTHING)
    if not (chunks or names):
        return _Texts()
    plan = changes.plan
    moved = (move.old_path for move in plan.moved)
    leaving = chain((entry.path for entry in plan.changed), moved, plan.deleted)
    gone = {digest for path in leaving for digest in _hashes(collection, path, view)}
    return _Texts(
        [item for item in chunks if item.text_hash not in gone],
        [item for item in names if item.text_hash not in gone],
    )


def _hashes(collection: Collection, path: str, view: View) -> Iterator[TextHash]:
    """Yield the hashes of the texts and names under which a document is embedded now."""
    document = view.documents.find(collection.id, path)
    if document is None:
        return
    for chunk in view.chunks.of_document(document.id):
        yield text_hash(under_context(chunk.context, chunk.text))
    yield from map(text_hash, first_names(names_of(document.title, path, document.aliases)))
