"""A store in memory: slow and obvious, what the real ones are compared with, and one to write tests on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from mdvec.clock import now_ms
from mdvec.errors import CollectionExistsError, CollectionNotFoundError, StoreError, WriterBusyError
from mdvec.stores.awaiting import await_change
from mdvec.stores.holders import HeldClaim, Holder, is_alive, new_holder, wait_for_claim
from mdvec.stores.interface import Claim
from mdvec.stores.pool import WritingThread
from mdvec.stores.records import DamagedRows, DocumentRecord
from mdvec.stores.spaces import check_shape
from mdvec.testing.contents import Contents, HeldChunk, HeldDocument
from mdvec.testing.views import MemoryView
from mdvec.types.change import Exclusion, Move, SourceEntry, Unreadable
from mdvec.types.collection import ChunkingSpec, Collection, SourceSpec
from mdvec.types.ids import ChunkId, CollectionId, DocumentId, SpaceId, TextHash
from mdvec.types.space import EmbeddingSpace, UnrelatedTexts


class MemoryWriter(MemoryView):
    """One transaction on a copy of the contents; a :class:`mdvec.stores.interface.Writer`."""

    def add_collection(
        self, name: str, description: str, source: SourceSpec, chunking: ChunkingSpec
    ) -> Collection:
        """Write a new, enabled collection."""
        if any(each.name == name for each in self._contents.collections.values()):
            msg = f"there is already a collection named {name!r}"
            raise CollectionExistsError(msg)
        collection = Collection(CollectionId(self._contents.next_id()), name, description, source, chunking)
        self._contents.collections[collection.id] = collection
        return collection

    def change_collection(
        self, collection_id: CollectionId, change: Callable[[Collection], Collection]
    ) -> Collection:
        """Rewrite a collection from what it is inside this transaction."""
        if collection_id not in self._contents.collections:
            msg = "the collection was deleted"
            raise CollectionNotFoundError(msg)
        changed = change(self._contents.collections[collection_id])
        self._contents.collections[collection_id] = changed
        return changed

    def delete_collection(self, collection_id: CollectionId) -> None:
        """Remove the collection and all it holds."""
        self.delete_documents(collection_id, [each.path for each in self._documents_of(collection_id)])
        self.set_outcome(collection_id, exclusions=(), failures=())
        self._contents.claims.pop(collection_id, None)
        self._contents.collections.pop(collection_id, None)

    def put_documents(self, collection_id: CollectionId, records: Sequence[DocumentRecord]) -> None:
        """Write documents with all that belongs to them, each instead of the one at its path."""
        for record in records:
            self.delete_documents(collection_id, [record.document.path])
            document_id = DocumentId(self._contents.next_id())
            chunks = tuple(
                HeldChunk(ChunkId(self._contents.next_id()), digest, chunk, terms)
                for digest, chunk, terms in zip(record.text_hashes, record.chunks, record.terms, strict=True)
            )
            held = HeldDocument(
                document_id, collection_id, record.entry, record, chunks, written_at_ms=now_ms()
            )
            self._contents.documents[collection_id, record.document.path] = held

    def touch_documents(self, collection_id: CollectionId, entries: Sequence[SourceEntry]) -> None:
        """Write the time, size and spelling of documents whose content is the same."""
        for entry in entries:
            held = self._contents.documents.get((collection_id, entry.path))
            if held is not None:
                clean = replace(held, entry=entry, dirty_since_ms=None)
                self._contents.documents[collection_id, entry.path] = clean

    def move_documents(self, collection_id: CollectionId, moves: Sequence[Move]) -> bool:
        """Write the new place of documents."""
        entries = {(collection_id, each.old_path): each.entry for each in moves}
        documents = [
            held.at(entries[key]) if key in entries else held
            for key, held in self._contents.documents.items()
        ]
        self._contents.documents = {(each.collection_id, each.path): each for each in documents}
        return True

    def mark_dirty(self, collection_id: CollectionId, paths: Sequence[str]) -> None:
        """Mark documents as changed since they were indexed."""
        folders = tuple(path for path in paths if path.endswith("/"))
        for each in self._documents_of(collection_id):
            if each.dirty_since_ms is None and (each.path in paths or each.path.startswith(folders)):
                self._contents.documents[collection_id, each.path] = replace(each, dirty_since_ms=now_ms())

    def delete_documents(self, collection_id: CollectionId, paths: Sequence[str]) -> None:
        """Remove documents with all that belongs to them."""
        for path in paths:
            self._contents.documents.pop((collection_id, path), None)

    def set_superseded(self, collection_id: CollectionId, documents: Iterable[DocumentId]) -> None:
        """Write which documents of a collection another one replaces."""
        own = {each.id for each in self._documents_of(collection_id)}
        self._contents.superseded = (self._contents.superseded - own) | (own & set(documents))

    def set_outcome(
        self,
        collection_id: CollectionId,
        *,
        exclusions: Iterable[Exclusion],
        failures: Iterable[Unreadable],
    ) -> None:
        """Write which files are excluded and failed, instead of what was written before."""
        excluded = {each.path: each.rule for each in exclusions}
        failed = {each.path: each.reason for each in failures}
        for outcomes, outcome in ((self._contents.exclusions, excluded), (self._contents.failures, failed)):
            outcomes.pop(collection_id, None)
            if outcome:
                outcomes[collection_id] = outcome

    def open_space(self, space: EmbeddingSpace) -> SpaceId:
        """Return the id of a space, writing it when it is new."""
        known = self.find_space(space)
        if known is not None:
            return known
        space_id = SpaceId(self._contents.next_id())
        self._contents.spaces[space_id] = space
        return space_id

    def set_unrelated(self, space_id: SpaceId, measured: UnrelatedTexts) -> None:
        """Write how similar unrelated texts are in a space, unless that is known."""
        self._contents.unrelated.setdefault(space_id, measured)

    def put_vectors(
        self, space_id: SpaceId, hashes: Sequence[TextHash], vectors: NDArray[np.float32]
    ) -> None:
        """Add unit vectors; a hash that has one keeps it."""
        check_shape(vectors.shape, len(hashes), self._contents.spaces[space_id].dimension)
        for key, vector in zip(hashes, vectors, strict=True):
            self._contents.vectors.setdefault((space_id, key), vector.astype(np.float16).tobytes())

    def drop_space(self, space_id: SpaceId) -> int:
        """Remove all vectors of a space, and return how many."""
        return self._drop([each for each in self._contents.vectors if each[0] == space_id])

    def drop_unused(self, *, keep: int = 0) -> int:
        """Remove vectors that no chunk and no name uses, but for the newest ``keep``; return how many."""
        used = {chunk.text_hash for _, chunk in self._chunks()}
        used |= {key for document in self._documents() for key in document.names}
        unused = [each for each in self._contents.vectors if each[1] not in used]
        return self._drop(unused[: max(0, len(unused) - keep)])

    def discard_damaged(self, collection_id: CollectionId) -> DamagedRows:  # noqa: ARG002
        """Find nothing damaged."""
        return DamagedRows()

    def _drop(self, keys: Sequence[tuple[SpaceId, TextHash]]) -> int:
        for key in keys:
            del self._contents.vectors[key]
        return len(keys)


class MemoryStore:
    """A store that lasts as long as its object; a :class:`mdvec.stores.interface.Store`.

    A transaction works on a copy of everything, which takes the place of the original when it succeeds.
    Safe to use from several threads.
    """

    def __init__(self) -> None:
        self._contents = Contents()
        self._writer = WritingThread()
        self._closed = False

    @property
    def location(self) -> str:
        """Where it is, for people."""
        return "memory"

    @property
    def size_bytes(self) -> int:
        """Bytes of the texts and vectors."""
        contents = self._contents
        texts = (each.record.document.body for each in contents.documents.values())
        return sum(map(len, contents.vectors.values())) + sum(
            len(each.encode("utf-8", "replace")) for each in texts
        )

    @contextmanager
    def read(self) -> Iterator[MemoryView]:
        """Open a snapshot."""
        self._check_open()
        yield MemoryView(self._contents)

    @contextmanager
    def write(self, claim: Claim | None = None) -> Iterator[MemoryWriter]:
        """Open a transaction; see :meth:`mdvec.stores.interface.Store.write`."""
        with self._changing() as contents:
            if isinstance(claim, HeldClaim):
                _confirm(claim, contents)
            yield MemoryWriter(contents)

    @contextmanager
    def claim(self, collection: Collection | None, purpose: str, *, wait_s: float) -> Iterator[HeldClaim]:
        """Claim a collection or the store; see :meth:`mdvec.stores.interface.Store.claim`."""
        claim = HeldClaim(new_holder(collection, purpose))
        key = None if collection is None else collection.id
        wait_for_claim(lambda: self._take(key, claim.holder), wait_s=wait_s)
        try:
            yield claim
        finally:
            if not self._closed:
                self._release(claim)

    def wait_for_change(self, version: int, *, timeout_s: float) -> int:
        """Return another version as soon as there is one; see :class:`mdvec.stores.interface.Store`."""
        return await_change(lambda: self._contents.version, version, timeout_s=timeout_s)

    def check(self) -> list[StoreError]:
        """Find nothing wrong."""
        self._check_open()
        return []

    @property
    def warnings(self) -> tuple[str, ...]:
        """Nothing."""
        return ()

    def compact(self) -> None:
        """Do nothing: what was deleted is gone."""
        self._check_open()

    def close(self) -> None:
        """Give the claims back and forget everything; a second call does nothing."""
        self._closed = True
        self._contents = Contents()

    def _take(self, collection_id: CollectionId | None, mine: Holder) -> Holder | None:
        """Write a claim, unless a live process has one; return who has it then."""
        with self._changing() as contents:
            current = contents.claims.get(collection_id)
            if current is not None and is_alive(current):
                return current
            if collection_id is not None and collection_id not in contents.collections:
                msg = f"the collection {mine.activity.collection!r} was deleted"
                raise CollectionNotFoundError(msg)
            contents.claims[collection_id] = mine
        return None

    def _release(self, claim: HeldClaim) -> None:
        with self._changing() as contents:
            held = {key: each for key, each in contents.claims.items() if each.token != claim.holder.token}
            contents.claims = held

    @contextmanager
    def _changing(self) -> Iterator[Contents]:
        """Change a copy of everything, which becomes the contents when nothing goes wrong."""
        with self._writer.alone():
            self._check_open()
            before = self._contents
            after = before.copied()
            yield after
            if after != before:
                after.version += 1
                self._contents = after

    def _check_open(self) -> None:
        if self._closed:
            msg = "the store has been closed"
            raise StoreError(msg)


def _confirm(claim: HeldClaim, contents: Contents) -> None:
    """Check that a claim is still held, and show that it lives."""
    token, purpose = claim.holder.token, claim.holder.activity.purpose
    found = [key for key, each in contents.claims.items() if each.token == token]
    if not found:
        msg = f"the claim was lost while {purpose}"
        raise WriterBusyError(msg)
    due = claim.due()
    if due is not None:
        contents.claims[found[0]] = due
