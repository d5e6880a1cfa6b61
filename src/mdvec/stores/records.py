"""The values that a store takes and returns, and the constants that every store shares."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import NamedTuple

from msgspec import Struct

from mdvec.types.change import SourceEntry
from mdvec.types.chunk import Chunk
from mdvec.types.document import Comment, Document
from mdvec.types.ids import ChunkId, CollectionId, DocumentId, SpaceId, TextHash
from mdvec.types.space import EmbeddingSpace

BM25_K1 = 1.2
"""The saturation of term frequencies: a term adds less than ``(k1 + 1) * idf`` to a score."""

BM25_B = 0.75
"""The weight of the length of a chunk."""

FIELD_WEIGHTS: tuple[float, float] = (1.0, 0.4)
"""Weights of main and minor terms in BM25, the same in every store."""

FEW_CHUNKS = 5_000
"""A ``Where`` with at most this many chunks is checked chunk by chunk."""

Groups = Sequence[Sequence[str]]
"""Groups of terms, of which a chunk must hold one each."""

MAX_NAMES = 32
"""The most names of a document; a longer list of aliases is not about names."""

MAX_NAME_CHARS = 200
"""The most characters of a name; longer titles are cut."""

# As in FTS5: with less, a term in more than half of the chunks would count against them.
_SMALLEST_IDF = 1e-6


class VectorKind(StrEnum):
    """The kinds of text that have vectors."""

    TEXT = "text"
    """The text of a chunk; its owner is the chunk."""
    NAME = "name"
    """A name of a document; its owner is the document, which may have several."""


class ChunkTerms(Struct, frozen=True):
    """The terms of one chunk by field, separated by white space, repeated as often as they occur.

    They come from its text, its heading path, and the document's title, aliases and file name.

    Attributes:
        main: The subject (see :class:`mdvec.text.indexed_terms.Terms`).
        minor: All others.
    """

    main: str
    minor: str = ""


class DocumentRecord(Struct, frozen=True):
    """Everything that is written of a document.

    Attributes:
        entry: What the source listed.
        content_hash: The identity of its content.
        fingerprint: The versions of parser, terms and chunker.
        document: The parsed document, with its links and labels.
        chunks: Its chunks, in order.
        text_hashes: The identity of the embedded text of each chunk, in the same order.
        terms: The terms of each chunk, in the same order.
        unspaced: Whether its prose is mostly in scripts that are written without spaces.
        skeletons: Hashes of the chunks' texts without names and addresses, in the same order; equal ones are
            repeated text (see :func:`mdvec.text.prose.skeletons`). Empty if a chunk has no skeleton.
        names: The names by which it is found; none of a document without chunks.
    """

    entry: SourceEntry
    content_hash: bytes
    fingerprint: str
    document: Document
    chunks: tuple[Chunk, ...]
    text_hashes: tuple[TextHash, ...]
    terms: tuple[ChunkTerms, ...]
    unspaced: bool
    skeletons: tuple[bytes, ...]
    names: tuple[str, ...]


def first_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of a document that are embedded, cut to their largest size, each once."""
    return tuple(dict.fromkeys(name[:MAX_NAME_CHARS] for name in names[:MAX_NAMES]))


class StoredDocument(Struct, frozen=True):
    """A document as the store keeps it.

    Attributes:
        id: Opaque, never used again.
        collection: Name of its collection.
        collection_id: Its collection.
        path: Relative path.
        locator: The name as the file system spells it.
        title: For people.
        body: The whole text, see :class:`mdvec.types.document.Document`.
        comments: The parts that the author hid, see :func:`mdvec.types.document.with_comments`.
        content_start: Where the text after the frontmatter starts.
        frontmatter: Parsed frontmatter.
        tags: As written.
        aliases: As written.
        content_hash: The identity of its content.
        mtime_ns: As last seen.
        changed_ns: When it was last updated, by itself or else its file; 0 if nothing says when.
        size: As last seen.
        dirty: Whether it is marked as changed since it was indexed.
        indexed_at_ms: When it was written, in milliseconds since 1970.
        warnings: Messages about guesses and losses.
    """

    id: DocumentId
    collection: str
    collection_id: CollectionId
    path: str
    locator: str
    title: str
    body: str
    comments: tuple[Comment, ...]
    content_start: int
    frontmatter: Mapping[str, object]
    tags: tuple[str, ...]
    aliases: tuple[str, ...]
    content_hash: bytes
    mtime_ns: int
    changed_ns: int
    size: int
    dirty: bool
    indexed_at_ms: int
    warnings: tuple[str, ...] = ()


class StoredChunk(Struct, frozen=True):
    """A chunk with the names of its document. Fields as in Chunk, SearchHit and StoredDocument."""

    id: ChunkId
    document_id: DocumentId
    collection_id: CollectionId
    collection: str
    path: str
    title: str
    ordinal: int
    parent: int | None
    depth: int
    heading_path: tuple[str, ...]
    start: int
    end: int
    start_line: int
    end_line: int
    token_count: int
    context: str
    text: str


class StoredSpace(Struct, frozen=True):
    """An embedding space.

    Attributes:
        id: Opaque, never used again.
        space: Its model.
        vectors: Number of its vectors, used or not.
    """

    id: SpaceId
    space: EmbeddingSpace
    vectors: int


class ChunkPlace(NamedTuple):
    """The position of a chunk, without its text; a tuple, since a search makes a thousand of them.

    Attributes:
        id: The chunk.
        document_id: Its document.
        collection_id: Its collection.
        ordinal: Its position in the document, from 0.
        unspaced: Whether its document is mostly in scripts that are written without spaces.
        token_count: How many tokens it has.
        skeleton: Equal in like texts (see :class:`DocumentRecord`); None if it has none.
        before: The chunk right before it in its document; 0 where there is none.
        after: The one right after it.
    """

    id: ChunkId
    document_id: DocumentId
    collection_id: CollectionId
    ordinal: int
    unspaced: bool
    token_count: int
    skeleton: bytes | None = None
    before: ChunkId = ChunkId(0)
    after: ChunkId = ChunkId(0)


def places_of_rows(rows: Iterable[tuple[object, ...]]) -> list[ChunkPlace]:
    """Return places from rows with their fields in order, three times as fast as ``_make``."""
    return list(map(partial(tuple.__new__, ChunkPlace), rows))


class PendingText(Struct, frozen=True):
    """A text that has no vector yet.

    Attributes:
        text_hash: The key of its vector.
        text: What is embedded.
        title: The title of its document; empty for a name.
        start: Where the text of a chunk starts in it, below its context.
    """

    text_hash: TextHash
    text: str
    title: str = ""
    start: int = 0


class DamagedRows(Struct, frozen=True):
    """The numbers of documents and vectors that differ from their checksums; true if any does.

    Attributes:
        documents: Number of documents.
        vectors: Number of vectors.
        paths: The damaged documents of the collection, if they were discarded.
        elsewhere: Then, the other collections that have damaged documents or lost a vector.
    """

    documents: int = 0
    vectors: int = 0
    paths: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()

    def __str__(self) -> str:
        counts = ((self.documents, "documents"), (self.vectors, "vectors"))
        return " and ".join(f"{count:,} {kind}" for count, kind in counts if count)

    def __bool__(self) -> bool:
        return bool(self.documents or self.vectors)


class DocumentFrequencies(Struct, frozen=True):
    """The document frequencies of some terms.

    Attributes:
        chunks: Number of chunks, in all collections.
        of_term: Number of chunks that hold a term; unknown terms are left out.
    """

    chunks: int
    of_term: Mapping[str, int]

    @property
    def largest_idf(self) -> float:
        """The idf of a term that no chunk holds."""
        return self._idf(0)

    def idf(self, term: str) -> float:
        """Return the inverse document frequency of a term, as BM25 counts it: positive, larger if rarer."""
        return self._idf(self.of_term[term])

    def _idf(self, held: int) -> float:
        return max(_SMALLEST_IDF, math.log((self.chunks - held + 0.5) / (held + 0.5)))
