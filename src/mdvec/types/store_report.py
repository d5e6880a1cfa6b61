"""Facts about a store as a whole: its size, copies of it, and what was published."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct, field

from mdvec.types.fields import MOMENT


class PublishedVersion(Struct, frozen=True):
    """A version of a workspace that was published.

    Attributes:
        number: Counts up from 1.
        published_ms: When, in milliseconds since 1970.
    """

    number: int = field(name="version")
    published_ms: Annotated[int, MOMENT] = field(name="time")


class PublishReport(Struct, frozen=True):
    """The outcome of publishing.

    Attributes:
        location: Where it was published.
        version: The newest version.
        changed: Whether it is new; otherwise nothing was sent.
        collections: What it holds.
        documents: Documents in it.
        chunks: Chunks in it.
        size_bytes: Of its file, which every machine keeps that searches it.
        sent_bytes: What was sent: the parts that the version before has not, compressed.
        removed: Old versions that were removed.
    """

    location: str
    version: int
    changed: bool
    collections: tuple[str, ...]
    documents: int
    chunks: int
    size_bytes: int
    sent_bytes: int
    removed: int


class RebuiltIndex(Struct, frozen=True):
    """A vector index that was emptied and filled.

    Attributes:
        location: Where it is, for people.
        vectors: How many it holds.
    """

    location: str
    vectors: int


class StoreContents(Struct, frozen=True):
    """How much a store holds, and a checksum of it that does not depend on the kind of store.

    Attributes:
        collections: Number of collections.
        documents: Number of documents.
        chunks: Number of chunks.
        vectors: Number of vectors, of all spaces.
        checksum: SHA-256 of all of it but ids, in hexadecimal digits.
    """

    collections: int
    documents: int
    chunks: int
    vectors: int
    checksum: str


class MovedStore(Struct, frozen=True):
    """A copy of everything in another store.

    Attributes:
        location: Where it is, for people; never with a password.
        contents: What it holds.
    """

    location: str
    contents: StoreContents


class SpaceSize(Struct, frozen=True):
    """The vectors of one embedding space.

    Attributes:
        space: Its key.
        vectors: Those of texts and names, whether or not anything uses them now.
    """

    space: str
    vectors: int


class StoreDescription(Struct, frozen=True):
    """The store of a workspace.

    Attributes:
        name: The adapter.
        location: Where it is, for people; never with a password.
        size_bytes: Bytes it takes.
        collections: Number of collections.
        documents: Number of documents.
        chunks: Number of chunks.
        spaces: The vectors of each space.
        vector_index: Where the vector index next to it is; empty without one.
        problems: Why that index is not used or not fast.
    """

    name: str
    location: str
    size_bytes: int
    collections: int
    documents: int
    chunks: int
    spaces: tuple[SpaceSize, ...]
    vector_index: str = ""
    problems: tuple[str, ...] = ()
