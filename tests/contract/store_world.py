"""Small documents, and a world of them in two collections, written to any store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray
from tests.oracle import Oracle, Place
from tests.postgres_server import open_postgres

from mdvec.search.query_vectors import SearchedCollection
from mdvec.stores.interface import Store, View, Writer
from mdvec.stores.records import ChunkTerms, DocumentRecord, first_names
from mdvec.stores.sqlite.connection import Connection
from mdvec.stores.sqlite.database import SqliteTables
from mdvec.stores.sqlite.store import SqliteStore
from mdvec.stores.vector_tables import VectorTables
from mdvec.testing.embedder import HashingEmbedder
from mdvec.text.hashing import content_hash, text_hash
from mdvec.text.prose import is_unspaced_prose, skeletons
from mdvec.types.change import SourceEntry
from mdvec.types.chunk import Chunk
from mdvec.types.collection import Collection, SourceSpec
from mdvec.types.document import Document, TitleSource
from mdvec.types.ids import ChunkId, CollectionId, DocumentId, SpaceId
from mdvec.types.query import Filters, Where
from mdvec.types.space import EmbeddingSpace

DIMENSION = 48
SPACE = EmbeddingSpace("fake", "fake", "1", DIMENSION)
FOLDER = SourceSpec("folder", "/notes")
T = TypeVar("T")

STORES = (
    "sqlite",
    pytest.param("postgres", marks=pytest.mark.postgres),
    pytest.param("postgres-hnsw", marks=pytest.mark.postgres),
)
"""Of PostgreSQL twice: with vectors in memory, and with every space in an index of the server."""


def open_store(kind: str, folder: Path) -> Store:
    """Open an empty store of a kind."""
    match kind:
        case "postgres":
            return open_postgres()
        case "postgres-hnsw":
            return open_postgres(exact_up_to=1)
        case _:
            return SqliteStore(folder / "index.sqlite")


def make_document(
    path: str,
    texts: Sequence[str],
    *,
    tags: tuple[str, ...] = (),
    aliases: tuple[str, ...] = (),
    depths: Sequence[int] = (),
) -> tuple[Document, list[Chunk]]:
    """Make a document of one chunk for each text, with a blank line between them."""
    chunks: list[Chunk] = []
    start = 0
    for ordinal, text in enumerate(texts):
        chunks.append(
            Chunk(
                ordinal=ordinal,
                parent=ordinal - 1 if ordinal else None,
                depth=depths[ordinal] if depths else 0,
                heading_path=("Top", f"Part {ordinal}"),
                start=start,
                end=start + len(text),
                start_line=2 * ordinal + 1,
                end_line=2 * ordinal + 1,
                token_count=len(text.split()),
                text=text,
                context="",
            )
        )
        start += len(text) + 2
    title = path.rpartition("/")[2]
    body = "\n\n".join(texts)
    document = Document(path, title, TitleSource.FILE_NAME, body, 0, (), tags=tags, aliases=aliases)
    return document, chunks


def make_entry(path: str, mtime_ns: int = 1, size: int = 1) -> SourceEntry:
    """Make the entry of a file whose name is spelt as its path says."""
    return SourceEntry(path, path, mtime_ns, size)


def unit_vectors(
    count: int, *, seed: int = 0, alike: float = 0.0, dimension: int = DIMENSION
) -> NDArray[np.float32]:
    """Make random unit vectors whose mean cosine is about ``alike``."""
    rng = np.random.default_rng(seed)
    common = np.full(dimension, dimension**-0.5)
    noise = rng.normal(size=(count, dimension)) / np.sqrt(dimension)
    vectors = np.sqrt(alike) * common + np.sqrt(1 - alike) * noise
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def make_record(
    document: Document,
    chunks: Sequence[Chunk],
    *,
    entry: SourceEntry | None = None,
    terms: Sequence[ChunkTerms] | None = None,
) -> DocumentRecord:
    """Make what is written of a document; the terms of a chunk are the words between its spaces."""
    words = [ChunkTerms(" ".join(chunk.text.split())) for chunk in chunks]
    return DocumentRecord(
        entry=entry or make_entry(document.path),
        content_hash=content_hash(document.body.encode("utf-8", "replace")),
        fingerprint="test/1",
        document=document,
        chunks=tuple(chunks),
        text_hashes=tuple(text_hash(chunk.embedded_text) for chunk in chunks),
        terms=tuple(terms or words),
        unspaced=is_unspaced_prose(document.title, document.body),
        skeletons=tuple(each.encode() for each in skeletons([chunk.text for chunk in chunks], ())),
        names=first_names(document.names),
    )


def add_collection(store: Store, name: str = "notes") -> Collection:
    """Write a collection in a transaction of its own."""
    with store.write() as writer:
        return writer.collections.add(Collection(CollectionId(0), name, "My notes", FOLDER))


def put(
    writer: Writer, collection_id: CollectionId, document: Document, chunks: Sequence[Chunk]
) -> list[ChunkId]:
    """Write a document with its words, and return the ids of its chunks."""
    writer.documents.put(collection_id, [make_record(document, chunks)])
    return chunk_ids(writer, collection_id, document.path)


def chunk_ids(view: View, collection_id: CollectionId, path: str) -> list[ChunkId]:
    """Return the ids of a document's chunks, in order."""
    found = view.documents.find(collection_id, path)
    assert found is not None
    return [chunk.id for chunk in view.chunks.of_document(found.id)]


def read(store: Store, look: Callable[[View], T]) -> T:
    """Return what is seen in a snapshot of its own."""
    with store.read() as view:
        return look(view)


def connection_of(view: View) -> Connection:
    """Return the connection of a transaction of SQLite."""
    tables = vectors_in(view).tables
    assert isinstance(tables, SqliteTables)
    return tables.connection


def vectors_in(view: View) -> VectorTables:
    """Return the vectors of a snapshot, with what the port does not show of them."""
    assert isinstance(view.vectors, VectorTables)
    return view.vectors


def called(store: Store, folded: str, where: Where) -> list[str]:
    """Return the paths of the documents with a name."""
    with store.read() as view:
        paths = {
            view.documents.find(each.id, path).id: path  # type: ignore[union-attr] # it was listed just now
            for each in view.collections.all()
            for path in view.documents.known(each.id)
        }
        return [paths[document] for document in view.documents.called([folded], where)]


def open_space(store: Store, space: EmbeddingSpace) -> SpaceId:
    """Return the id of a space, writing it in a transaction of its own when it is new."""
    with store.write() as writer:
        return writer.spaces.open(space)


def vector_of(text: str, *, alike: float = 0.0) -> NDArray[np.float32]:
    """Return the vector of a text, the same whenever it is embedded; shape (DIMENSION,)."""
    vector: NDArray[np.float32] = unit_vectors(1, seed=int.from_bytes(text_hash(text)[:4]), alike=alike)[0]
    return vector


class QueryEmbedder(HashingEmbedder):
    """Embeds a query as a function says."""

    def __init__(self, vector: Callable[[str], NDArray[np.float32]]) -> None:
        super().__init__(dimension=DIMENSION)
        self._vector_of_query = vector

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors that the function returns."""
        return np.stack([*map(self._vector_of_query, texts)])


def searched_in(
    space_id: SpaceId, collections: Iterable[Collection], vector: Callable[[str], NDArray[np.float32]]
) -> list[SearchedCollection]:
    """Return collections as they are searched in a space, with the vectors of queries."""
    return [SearchedCollection(each, QueryEmbedder(vector), space_id) for each in collections]


def toward(query: NDArray[np.float32], *cosines: float) -> NDArray[np.float32]:
    """Make a unit vector for each cosine similarity to the query."""
    noise = unit_vectors(len(cosines), seed=77, dimension=len(query))
    noise -= np.outer(noise @ query, query)
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    near = np.array(cosines, np.float32)[:, np.newaxis]
    return np.asarray(near * query + np.sqrt(1 - near**2) * noise, np.float32)


NAMES = ("first", "second")
"""Of the collections of a world."""


class World:
    """Two collections of documents, and a space, in a store.

    Attributes:
        store: The store.
        first: A collection.
        second: Another one.
        space_id: An empty space.
        oracle: What was written through this world.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.oracle = Oracle()
        self.first, self.second = (add_collection(store, name) for name in NAMES)
        with store.write() as writer:
            self.space_id: SpaceId = writer.spaces.open(SPACE)

    def add(
        self,
        path: str,
        texts: Sequence[str],
        *,
        collection: int = 0,
        terms: Sequence[ChunkTerms] | None = None,
        tags: tuple[str, ...] = (),
        aliases: tuple[str, ...] = (),
        depths: Sequence[int] = (),
        mtime_ns: int = 1,
        updated_ns: int | None = None,
    ) -> list[ChunkId]:
        """Add a document, one chunk for each text; it is called by its path's last part and its aliases."""
        collection_id = self.collections[collection]
        document, chunks = make_document(path, texts, tags=tags, aliases=aliases, depths=depths)
        document = replace(document, updated_ns=updated_ns)
        record = make_record(document, chunks, entry=make_entry(path, mtime_ns), terms=terms)
        self.oracle.put(NAMES[collection], record)
        with self.store.write() as writer:
            writer.documents.put(collection_id, [record])
            return chunk_ids(writer, collection_id, path)

    def remove(self, path: str, *, collection: int = 0) -> None:
        """Remove a document."""
        self.oracle.remove(NAMES[collection], path)
        with self.store.write() as writer:
            writer.documents.delete(self.collections[collection], [path])

    def mark_dirty(self, path: str, *, collection: int = 0) -> None:
        """Mark a document as changed."""
        self.oracle.mark_dirty(NAMES[collection], path)
        with self.store.write() as writer:
            writer.documents.mark_dirty(self.collections[collection], [path])

    def embed(self, vectors: Mapping[str, NDArray[np.float32]], space_id: SpaceId | None = None) -> None:
        """Give texts and names vectors."""
        if vectors:
            if space_id in (None, self.space_id):
                self.oracle.embed(vectors)
            with self.store.write() as writer:
                writer.vectors.put(
                    self.space_id if space_id is None else space_id,
                    [text_hash(text) for text in vectors],
                    np.stack(list(vectors.values())),
                )

    def embed_toward(self, query: NDArray[np.float32], cosines: Mapping[str, float]) -> None:
        """Give texts and names vectors of some cosine similarities to the query."""
        self.embed(dict(zip(cosines, toward(query, *cosines.values()), strict=True)))

    @property
    def collections(self) -> tuple[CollectionId, CollectionId]:
        """The ids of both collections."""
        return self.first.id, self.second.id

    def where(self, filters: Filters | None = None) -> Where:
        """Both collections."""
        return Where(self.collections, filters or Filters())

    def document_id(self, path: str, *, collection: int = 0) -> DocumentId:
        """Return the id of a document."""
        with self.store.read() as view:
            found = view.documents.find(self.collections[collection], path)
        assert found is not None
        return found.id

    def places(self, ids: Iterable[ChunkId]) -> list[Place]:
        """Return chunks by what is the same in every store, in the given order."""
        ids = list(ids)
        with self.store.read() as view:
            chunks = view.chunks.get(ids)
        return [Place(chunks[key].collection, chunks[key].path, chunks[key].ordinal) for key in ids]
