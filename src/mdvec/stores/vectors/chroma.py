"""A vector index in Chroma: collections in a folder that one process owns, or on a server for several."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit

import chromadb
import httpx
import numpy as np
from chromadb.config import Settings
from chromadb.errors import ChromaError, NotFoundError
from msgspec import Meta

from mdvec.errors import StoreError
from mdvec.settings import Count, SettingsSection
from mdvec.stores.records import VectorKind
from mdvec.stores.vectors.folders import IndexFolder, free_name, parts, usable
from mdvec.stores.vectors.index import (
    HeldEntries,
    IndexedSpace,
    Inside,
    Mark,
    VectorChanges,
    VectorEntry,
    VectorIndex,
)

if TYPE_CHECKING:
    from mdvec.stores.vectors.index import Vector

_MAX_IDS = 500  # in a condition
_LEASE_S = 120.0  # after so long a writer on a server counts as gone; a step takes seconds

# The metadata of our collections; collections of others are not touched.
_SPACE, _KIND = "mdvec_space", "mdvec_kind"
_MARK, _COLLECTION = "mdvec_mark", "mdvec_collection"

# Of a client whose folder could not be opened: AttributeError.
_FAILURES = (ChromaError, httpx.HTTPError, ValueError, OSError, RuntimeError, AttributeError)

CollectionName = Annotated[
    str,
    Meta(
        pattern=r"^[a-zA-Z0-9][a-zA-Z0-9._-]{1,200}[a-zA-Z0-9]$",
        description="3 to 200 letters, digits, dots, hyphens or underscores",
    ),
]


class ChromaSettings(SettingsSection, frozen=True, kw_only=True):
    """``[store.chroma]``. A change of the graph builds the index again.

    Attributes:
        collection_name: The first collection; other ones have a number at the end, and ``names`` if they
            hold names.
        hnsw_space: How distances are measured; vectors have unit length, so the order is the same.
        hnsw_construction_ef: Candidates that are looked at for each new vector.
        hnsw_search_ef: Candidates that are looked at for each query.
        hnsw_M: Neighbours of each vector.
    """

    collection_name: CollectionName = "documents"
    hnsw_space: Literal["cosine", "l2", "ip"] = "cosine"
    hnsw_construction_ef: Count = 200
    hnsw_search_ef: Count = 100
    hnsw_M: Count = 16  # noqa: N815 - as Chroma and its users write it


class ChromaVectorIndex(VectorIndex):
    """Vectors with the metadata of a chunk: ``file_path``, ``chunk_index`` and ``heading``.

    Each collection of mdvec has one of Chroma for its texts and one for its names. A space has an empty one,
    whose metadata hold its mark.

    Two processes that use a folder of Chroma at once miss each other's changes and can damage it. So it
    belongs to the first one until that ends, and the others do without; ``chroma run`` serves several.

    Args:
        place: A folder, or ``http://HOST:PORT`` of ``chroma run``.
        settings: See :class:`ChromaSettings`.

    Raises:
        StoreError: If the place is something else.
    """

    Settings = ChromaSettings

    def __init__(self, place: str, **settings: Any) -> None:
        chosen = ChromaSettings(**settings)
        self._folder = IndexFolder(place)
        self.location = self._folder.location
        self._name = chosen.collection_name
        self._graph = {
            "space": chosen.hnsw_space,
            "ef_construction": chosen.hnsw_construction_ef,
            "ef_search": chosen.hnsw_search_ef,
            "max_neighbors": chosen.hnsw_M,
        }
        self._guard = threading.RLock()
        self._client: Any = None
        self._owned = ExitStack()

    def applied(self, space: IndexedSpace) -> Mark | None:
        with self._usable():
            return _mark(self._marked(space))

    def apply(self, space: IndexedSpace, changes: VectorChanges) -> bool:
        """Apply changes, the mark last; entries have ids, so applying them again repairs a broken step."""
        with self._usable(), self._writing(space) as mine:
            marked: Any = self._marked(space) if mine else None
            if not mine or _mark(marked) != changes.since:
                return False
            about = {_SPACE: space.key, _KIND: space.kind.value, _MARK: ""}
            if changes.since is None:
                self._remove(space)
                marked = self._connect().create_collection(
                    self._name_of_mark(space), metadata=about, embedding_function=None
                )
            self._write(space, changes)
            marked.modify(metadata={**about, _MARK: changes.until})
        return True

    def nearest(self, space: IndexedSpace, query: Vector, limit: int, inside: Inside) -> list[int]:
        """Return the owners of the nearest entries, from the graphs of the collections."""
        found: list[tuple[float, int]] = []
        with self._usable():
            for collection_id, each in self._collections(space).items():
                if inside is not None and collection_id not in inside:
                    continue
                best = self._query(each, query, limit)
                if len(best) < limit and len(best) < each.count():  # it has lost some (chroma#7758)
                    self._remove(space)
                    return []
                found += best
        nearest = sorted(found, key=lambda pair: pair[0])[:limit]
        return [owner for _, owner in nearest]

    def held(self, space: IndexedSpace) -> Iterator[HeldEntries]:
        with self._usable():
            for each in self._collections(space).values():
                for start in range(0, each.count(), _MAX_IDS):
                    found = each.get(limit=_MAX_IDS, offset=start, include=["embeddings", "metadatas"])
                    ids, owners = (
                        [about[name] for about in found["metadatas"]] for name in ("entry", "owner")
                    )
                    yield HeldEntries(ids, owners, np.asarray(found["embeddings"], np.float32))

    def drop(self, space: IndexedSpace) -> None:
        with self._usable(), self._writing(space):
            self._remove(space)

    def close(self) -> None:
        """Close the folder, so that another process can use it."""
        with self._guard:
            client, self._client = self._client, None
            with self._owned:
                if client is not None:
                    client.close()

    # --- collections ---------------------------------------------------------------------------

    def _is_made(self) -> bool:
        return self._folder.path is None or (self._folder.path / "chroma.sqlite3").exists()

    def _connect(self) -> Any:
        """Return the client; the folder belongs to this process from then on.

        Raises:
            StoreError: If another process has the folder.
        """
        with self._guard:
            if self._client is not None and self._is_made():
                return self._client
            self.close()
            quiet = Settings(anonymized_telemetry=False)
            if not self._owned.enter_context(self._folder.locked(wait_s=0)):
                self._owned.close()
                msg = f"another process uses the vector index {self.location}"
                raise StoreError(
                    msg, hint='For several processes run "chroma run", and set vectors = "chroma:http://…".'
                )
            if self._folder.path is None:
                address = urlsplit(self.location)
                is_safe = address.scheme == "https"
                port = address.port or (443 if is_safe else 8000)
                self._client = chromadb.HttpClient(address.hostname, port, ssl=is_safe, settings=quiet)
            else:
                self._client = chromadb.PersistentClient(self._folder.path, settings=quiet)
            return self._client

    def _ours(self, space: IndexedSpace) -> list[Any]:
        """Return the collections of a space, those with a mark first."""
        every = self._connect().list_collections() if self._is_made() else ()
        wanted = {_SPACE: space.key, _KIND: space.kind.value}.items()
        ours = [each for each in every if wanted <= (each.metadata or {}).items()]
        return sorted(ours, key=lambda each: _MARK not in each.metadata)

    def _name_of_mark(self, space: IndexedSpace) -> str:
        """Return a name of its own for each graph: Chroma would go on with an old graph."""
        return f"mdvec-{_digest(space.kind.value, space.key, json.dumps(self._graph))}"

    def _marked(self, space: IndexedSpace) -> Any:
        """Return the collection that holds the mark of a space; None without one for this graph."""
        if self._is_made():
            with suppress(NotFoundError):
                return self._connect().get_collection(self._name_of_mark(space), embedding_function=None)
        return None

    def _collections(self, space: IndexedSpace) -> dict[int, Any]:
        """Return the collections with the vectors of a space, by the id of ours."""
        return {each.metadata[_COLLECTION]: each for each in self._ours(space) if _MARK not in each.metadata}

    def _make(self, space: IndexedSpace, collection_id: int) -> Any:
        """Make a collection; its name is not that of ours, which Chroma may refuse."""
        client = self._connect()
        base = self._name if space.kind is VectorKind.TEXT else f"{self._name}_names"
        return client.create_collection(
            free_name(base, {each.name for each in client.list_collections()}),
            metadata={_SPACE: space.key, _KIND: space.kind.value, _COLLECTION: collection_id},
            configuration={"hnsw": self._graph},
            embedding_function=None,
        )

    def _remove(self, space: IndexedSpace) -> None:
        """Remove a space, the mark first: without it, whatever a crash leaves is ignored."""
        for each in self._ours(space):
            with suppress(NotFoundError):
                self._connect().delete_collection(each.name)

    def _write(self, space: IndexedSpace, changes: VectorChanges) -> None:
        collections, client = self._collections(space), self._connect()
        for some in parts(changes.removed, _MAX_IDS):
            for each in collections.values():
                each.delete(where={"entry": {"$in": [*some]}})
        added: dict[int, list[VectorEntry]] = {}
        for entry in changes.added:
            added.setdefault(entry.collection_id, []).append(entry)
        most = client.get_max_batch_size()
        for collection_id, entries in added.items():
            into = collections.get(collection_id) or self._make(space, collection_id)
            for batch in parts(entries, most):
                rows = [_row(space.kind, each) for each in batch]
                ids, vectors, metadata, texts = map(list, zip(*rows, strict=True))
                into.upsert(ids, np.stack(vectors), metadata, texts)
        for each in collections.values() if changes.removed else ():
            if not each.count():
                client.delete_collection(each.name)

    def _query(self, collection: Any, query: Vector, limit: int) -> list[tuple[float, int]]:
        """Return the distances of the nearest entries, with their owners."""
        found = collection.query(
            query_embeddings=[query], n_results=limit, include=["metadatas", "distances"]
        )
        owners = [int(metadata["owner"]) for metadata in found["metadatas"][0]]
        return list(zip(found["distances"][0], owners, strict=True))

    # --- processes and errors ------------------------------------------------------------------

    @contextmanager
    def _writing(self, space: IndexedSpace) -> Iterator[bool]:
        """Keep others from writing to a space; yield whether that worked."""
        with self._guard:
            client = self._connect()
            if self._folder.path is not None:
                yield True
                return
            # A name is given once: the only thing on the server that two processes cannot both do.
            name = f"mdvec-lock-{_digest(space.kind.value, space.key)}"
            with suppress(NotFoundError):
                lock = client.get_collection(name, embedding_function=None)
                if time.time() - lock.metadata["since"] > _LEASE_S:
                    client.delete_collection(name)
            try:
                client.create_collection(name, metadata={"since": time.time()}, embedding_function=None)
            except ChromaError:
                yield False
                return
            try:
                yield True
            finally:
                with suppress(NotFoundError):
                    client.delete_collection(name)

    def _usable(self) -> AbstractContextManager[None]:
        return usable(self.location, _FAILURES, self._remove_damage)

    def _remove_damage(self) -> None:
        """Empty a folder whose collections cannot be read."""
        with self._guard:
            self.close()
            try:
                with suppress(StoreError):  # of another process
                    for each in self._connect().list_collections() if self._is_made() else ():
                        each.peek(1)
            except _FAILURES:
                self.close()
                self._folder.empty()


def _digest(*parts: str) -> str:
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:16]


def _mark(collection: Any) -> Mark | None:
    """Return the mark that a collection holds; None without one, or before the first changes are complete."""
    mark = None if collection is None else collection.metadata[_MARK]
    return Mark(mark) if mark else None


def _row(kind: VectorKind, entry: VectorEntry) -> tuple[str, Vector, dict[str, Any], str]:
    """Return id, vector, metadata and text of an entry; for a chunk, as local-rag has them."""
    is_text, section = kind is VectorKind.TEXT, entry.section
    path, number = section.document_path, section.order
    part = f"chunk_{number}" if is_text else f"name_{entry.id}"
    metadata = {"file_path": path, "chunk_index": number, "heading": entry.heading}
    metadata |= {"entry": entry.id, "owner": entry.owner}
    return f"{path}::{part}", entry.vector, metadata, section.content if is_text else entry.heading
