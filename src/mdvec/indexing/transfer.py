"""Copies everything from one store to another through their port: nothing is embedded."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Sequence
from contextlib import ExitStack

from msgspec.structs import replace

from mdvec import run
from mdvec.documents.parse import parse_document
from mdvec.errors import StoreError
from mdvec.indexing.prepare import make_record
from mdvec.stores.interface import Store, View
from mdvec.stores.records import DocumentRecord
from mdvec.stores.view import every_document
from mdvec.text.quantity import quantity
from mdvec.types.change import Exclusion, KnownDocument, SourceEntry, Unreadable
from mdvec.types.chunk import Chunk
from mdvec.types.collection import Collection
from mdvec.types.document import DocumentState, with_comments
from mdvec.types.ids import CollectionId, DocumentId
from mdvec.types.store_report import StoreContents

_DOCUMENT_FACTS = (
    *("path", "locator", "title", "body", "comments", "content_start", "frontmatter", "tags", "aliases"),
    *("content_hash", "mtime_ns", "size", "dirty"),
)
_DOCUMENTS_A_BATCH = 100
_PURPOSE = "moving to another store"


def copy_store(source: Store, target: Store, *, wait_s: float) -> StoreContents:
    """Copy all collections, documents, words and vectors, and compare both stores afterwards.

    What the target has already stays, so a copy that was interrupted is resumed.

    Args:
        source: Where everything is; it is claimed meanwhile, and not changed.
        target: An empty store, or one that an earlier copy has begun.
        wait_s: How long to wait for another process that works on a collection, in seconds.

    Returns:
        What the target holds.

    Raises:
        StoreError: If the target holds anything else, or differs from the source afterwards.
        WriterBusyError: If a collection is being imported for longer than that.
        ImportStoppedError: If the run is cancelled; what was copied stays.
    """
    with ExitStack() as claims:
        with source.read() as view:
            collections = view.collections.all()
        for each in collections:
            claims.enter_context(source.claim(each, _PURPOSE, wait_s=wait_s))
        _refuse_itself(target)
        # No process writes documents from here on; vectors of other imports may still come, and stay behind.
        with source.read() as view:
            collections = view.collections.all()
            _refuse_others(target, collections)
            total = sum(len(view.documents.known(each.id)) for each in collections)
            done = 0
            for each in collections:
                done = _copy_collection(view, target, each, done, total)
            _copy_vectors(view, target)
            expected = describe(view)
    with target.read() as view:
        found = describe(view)
    if found != expected:
        held, wanted = _in_words(found), _in_words(expected)
        how = f"{held} instead of {wanted}" if held != wanted else f"{held}, but not the same"
        msg = f"{target.location} differs from {source.location} after copying: {how}"
        raise StoreError(
            msg, hint="Nothing was changed in the old one. Run it again, or give an empty place."
        )
    return found


def describe(view: View) -> StoreContents:
    """Count everything in a store and compute its checksum; reads all of it."""
    total = hashlib.sha256()
    documents = chunks = vectors = 0

    def add(*values: object) -> None:
        for value in values:
            total.update(str(value).encode(errors="surrogatepass") + b"\0")

    collections = sorted(view.collections.all(), key=lambda each: each.name)
    for collection in collections:
        states = view.collections.file_states(collection.id, None)
        add(replace(collection, id=CollectionId(0)), *sorted((e.path, e.state, e.reason) for e in states))
        for stored in every_document(collection.id, view):
            run.current().check()
            cut = _chunks(view, stored.id)
            facts = (getattr(stored, name) for name in _DOCUMENT_FACTS)
            add(*facts, [each.link for each in view.documents.links_of([stored.id])], *cut)
            documents, chunks = documents + 1, chunks + len(cut)
    for each in sorted(view.spaces.all(), key=lambda each: each.space.key):
        counted = 0
        for hashes, matrix in view.vectors.pages(each.id):
            counted += len(hashes)
            total.update(b"".join(hashes))
            total.update(matrix.astype("<f2").tobytes())
        if counted:  # an empty space is nothing
            add(each.space.key, view.spaces.unrelated(each.id))
        vectors += counted
    return StoreContents(len(collections), documents, chunks, vectors, total.hexdigest())


def _refuse_itself(target: Store) -> None:
    """Raise if the target is the source by another address: then the claims just made are in it."""
    own = (_PURPOSE, os.getpid(), platform.node())
    with target.read() as view:
        is_source = any((each.purpose, each.pid, each.host) == own for each in view.collections.activities())
    if is_source:
        msg = f"{target.location} is the store that is to be moved, by another address"
        raise StoreError(msg, hint="Name another file, or the address of another store.")


def _in_words(contents: StoreContents) -> str:
    counts = ("document", contents.documents), ("chunk", contents.chunks), ("vector", contents.vectors)
    return ", ".join(quantity(number, noun) for noun, number in counts)


def _refuse_others(target: Store, collections: Sequence[Collection]) -> None:
    with target.read() as view:
        known = {each.name: each for each in view.collections.all()}
    for each in collections:
        if each.name in known and known[each.name].source == each.source:
            del known[each.name]
    if known:
        msg = f"{target.location} contains other collections: {', '.join(sorted(known))}"
        raise StoreError(msg, hint="Give an empty place, or delete them there first.")


def _copy_collection(view: View, target: Store, collection: Collection, done: int, total: int) -> int:
    """Copy what differs; return how many documents are done."""
    with target.write() as writer:
        found = next((each for each in writer.collections.all() if each.name == collection.name), None)
        if found is None:
            found = writer.collections.add(collection)
        own = found.id
        writer.collections.change(own, lambda _: replace(collection, id=own))
        there = writer.documents.known(own)
    here = view.documents.known(collection.id)
    gone = [path for path in there if path not in here]
    paths = [path for path, known in sorted(here.items()) if not _is_same(known, there.get(path))]
    done += len(here) - len(paths)
    for at in range(0, len(paths), _DOCUMENTS_A_BATCH):
        run.current().check()
        run.current().report(run.Stage.TEXT, done, total)
        batch = paths[at : at + _DOCUMENTS_A_BATCH]
        records = [_record(view, here[path]) for path in batch]
        with target.write() as writer:
            writer.documents.put(own, records)
            writer.documents.mark_dirty(
                own, [path for path in batch if here[path].dirty_since_ms is not None]
            )
        done += len(batch)
    states = view.collections.file_states(collection.id, None)
    with target.write() as writer:
        writer.documents.delete(own, gone)
        writer.documents.finish(
            own,
            exclusions=[Exclusion(e.path, e.reason) for e in states if e.state is DocumentState.EXCLUDED],
            failures=[Unreadable(e.path, e.reason) for e in states if e.state is DocumentState.FAILED],
        )
    return done


def _is_same(known: KnownDocument, other: KnownDocument | None) -> bool:
    """Return True if two documents are equal but for the id and the time of a mark, which are not copied."""
    if other is None or (known.dirty_since_ms is None) != (other.dirty_since_ms is None):
        return False
    return known == replace(other, id=known.id, dirty_since_ms=known.dirty_since_ms)


def _record(view: View, known: KnownDocument) -> DocumentRecord:
    """Return a document as it was written: parsed again, but with its own chunks, links and warnings.

    Parsing the text alone knows no property that names older versions, and nothing that a conversion lost.
    """
    path, stored = known.path, view.documents.get([known.id])[known.id]
    links = tuple(each.link for each in view.documents.links_of([known.id]))
    document = parse_document(path, with_comments(stored.body, stored.comments))
    document = replace(document, links=links, warnings=stored.warnings)
    entry = SourceEntry(path, stored.locator, stored.mtime_ns, stored.size)
    return make_record(entry, stored.content_hash, known.fingerprint, document, _chunks(view, stored.id))


def _chunks(view: View, document_id: DocumentId) -> tuple[Chunk, ...]:
    names, chunks = Chunk.__struct_fields__, view.chunks.of_document(document_id)
    return tuple(Chunk(**{name: getattr(each, name) for name in names}) for each in chunks)


def _copy_vectors(view: View, target: Store) -> None:
    """Copy all vectors; a space that holds more than the source is begun anew."""
    spaces = view.spaces.all()
    counts = {each.space: each.vectors for each in spaces}
    with target.write() as writer:
        for each in writer.spaces.all():
            if each.vectors > counts.get(each.space, 0):
                writer.spaces.drop(each.id)
    for each in spaces:
        unrelated = view.spaces.unrelated(each.id)
        for hashes, vectors in view.vectors.pages(each.id):
            run.current().check()
            with target.write() as writer:
                writer.vectors.put(writer.spaces.open(each.space, unrelated), hashes, vectors)
