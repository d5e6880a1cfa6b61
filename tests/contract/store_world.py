"""Small worlds of documents, written to the indexes under test and remembered beside them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from mdvec.stores.lexical import LexicalFields, LexicalIndex
from mdvec.stores.names import embedded_names
from numpy.typing import NDArray

from mdvec.stores.interface import Store, VectorIndex
from mdvec.testing.indexes import ChunkFacts, MemoryLexicalIndex, MemoryVectorIndex
from mdvec.text.hashing import content_hash, text_hash
from mdvec.types.change import SourceEntry
from mdvec.types.chunk import Chunk
from mdvec.types.collection import ChunkingSpec, SourceSpec
from mdvec.types.document import Document, TitleSource
from mdvec.types.ids import ChunkId, CollectionId, DocumentId
from mdvec.types.query import Filters, Scope
from mdvec.types.space import EmbeddingSpace

DIMENSION = 48
SPACE = EmbeddingSpace("fake", "fake", "1", DIMENSION)
FOLDER = SourceSpec("folder", "/notes")


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
                heading="",
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
    document = Document(path, title, TitleSource.FILE_NAME, body, 0, {}, tags, aliases, (), (), ())
    return document, chunks


def make_entry(path: str, mtime_ns: int = 1, size: int = 1) -> SourceEntry:
    """Make the entry of a file whose name is spelt as its path says."""
    return SourceEntry(path, path, mtime_ns, size)


def put(store: Store, collection_id: CollectionId, document: Document, chunks: list[Chunk]) -> list[ChunkId]:
    """Write a document with its words, inside the caller's transaction."""
    ids = store.catalog.put_document(
        collection_id,
        document,
        chunks,
        entry=make_entry(document.path),
        content_hash=content_hash(document.body.encode()),
        fingerprint="test/1",
    )
    store.lexical.put(ids, [LexicalFields((), (), chunk.text.split()) for chunk in chunks])
    return ids


def unit_vectors(
    count: int, *, seed: int = 0, alike: float = 0.0, dimension: int = DIMENSION
) -> NDArray[np.float32]:
    """Make random unit vectors whose mean cosine is about ``alike``."""
    rng = np.random.default_rng(seed)
    common = np.full(dimension, dimension**-0.5)
    noise = rng.normal(size=(count, dimension)) / np.sqrt(dimension)
    vectors = np.sqrt(alike) * common + np.sqrt(1 - alike) * noise
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


class World(ABC):
    """Two collections of documents in some indexes.

    Attributes:
        chunks: What is known of every chunk that exists.
        collections: Ids of the two collections.
        lexical: The index of words under test.
        vectors: The index of vectors under test.
        added: How many documents were ever added.
    """

    added = 0
    chunks: dict[ChunkId, ChunkFacts]
    collections: tuple[CollectionId, CollectionId]
    lexical: LexicalIndex
    vectors: VectorIndex

    def add(
        self,
        path: str,
        texts: Sequence[str],
        *,
        collection: int = 0,
        fields: Sequence[LexicalFields] | None = None,
        tags: tuple[str, ...] = (),
        aliases: tuple[str, ...] = (),
        depths: Sequence[int] = (),
        mtime_ns: int = 1,
        updated_ns: int | None = None,
    ) -> list[ChunkId]:
        """Add a document, one chunk for each text; its words are those between spaces.

        It is called by its path's last part and its aliases. Documents count from 1.
        """
        collection_id = self.collections[collection]
        self.added += 1
        document, chunks = make_document(path, texts, tags=tags, aliases=aliases, depths=depths)
        document = replace(document, updated_ns=updated_ns)
        words = fields or [LexicalFields((), (), text.split()) for text in texts]
        ids = self.write(collection_id, document, chunks, mtime_ns, words)
        names = tuple(text_hash(name) for name in embedded_names(document))
        for chunk_id, chunk in zip(ids, chunks, strict=True):
            identity = text_hash(chunk.embedded_text)
            self.chunks[chunk_id] = ChunkFacts(
                collection_id=collection_id,
                document_id=DocumentId(self.added),
                depth=chunk.depth,
                text_hash=identity,
                path=path,
                updated_ns=mtime_ns if updated_ns is None else updated_ns,
                tags=tags,
                aliases=aliases,
                name_hashes=names,
            )
        return ids

    def remove(self, path: str, *, collection: int = 0) -> None:
        """Remove a document."""
        collection_id = self.collections[collection]
        self.erase(collection_id, path)
        gone = [
            key
            for key, chunk in self.chunks.items()
            if (chunk.collection_id, chunk.path) == (collection_id, path)
        ]
        for chunk_id in gone:
            del self.chunks[chunk_id]

    def scope(self, filters: Filters | None = None) -> Scope:
        """Both collections."""
        return Scope(self.collections, filters or Filters())

    @abstractmethod
    def write(
        self,
        collection_id: CollectionId,
        document: Document,
        chunks: list[Chunk],
        mtime_ns: int,
        fields: Sequence[LexicalFields],
    ) -> list[ChunkId]:
        """Write a document where the indexes look for it."""

    @abstractmethod
    def erase(self, collection_id: CollectionId, path: str) -> None:
        """Remove a document from where the indexes look for it."""


class MemoryWorld(World):
    """The reference indexes."""

    def __init__(self) -> None:
        self.chunks = {}
        self.collections = CollectionId(1), CollectionId(2)
        self.lexical = MemoryLexicalIndex(self.chunks)
        self.vectors = MemoryVectorIndex(self.chunks)
        self._last_id = 0

    def write(
        self,
        collection_id: CollectionId,
        document: Document,
        chunks: list[Chunk],
        mtime_ns: int,
        fields: Sequence[LexicalFields],
    ) -> list[ChunkId]:
        """Number the chunks."""
        ids = [ChunkId(self._last_id + 1 + chunk.ordinal) for chunk in chunks]
        self._last_id += len(chunks)
        self.lexical.put(ids, fields)
        return ids

    def erase(self, collection_id: CollectionId, path: str) -> None:
        """Nothing to do: what is not among the chunks is forgotten."""


class StoreWorld(World):
    """The indexes of a store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.chunks = {}
        self.lexical = store.lexical
        self.vectors = store.vectors
        with store.transaction():
            first = store.catalog.add_collection("first", "", FOLDER, ChunkingSpec())
            second = store.catalog.add_collection("second", "", FOLDER, ChunkingSpec())
        self.collections = first.id, second.id

    def write(
        self,
        collection_id: CollectionId,
        document: Document,
        chunks: list[Chunk],
        mtime_ns: int,
        fields: Sequence[LexicalFields],
    ) -> list[ChunkId]:
        """Write a document with its words in one transaction."""
        with self.store.transaction():
            ids = self.store.catalog.put_document(
                collection_id,
                document,
                chunks,
                entry=make_entry(document.path, mtime_ns),
                content_hash=content_hash(document.body.encode()),
                fingerprint="test/1",
            )
            self.lexical.put(ids, fields)
        return ids

    def erase(self, collection_id: CollectionId, path: str) -> None:
        """Remove a document."""
        with self.store.transaction():
            self.store.catalog.delete_document(collection_id, path)
