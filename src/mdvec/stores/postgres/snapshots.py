"""What is read and written in one transaction, put together from its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mdvec.stores.postgres.collections import CollectionReader, CollectionWriter
from mdvec.stores.postgres.hnsw import LargeSpaceReader
from mdvec.stores.postgres.vectors import VectorWriter
from mdvec.stores.postgres.words import WordReader
from mdvec.stores.postgres.writing import DocumentWriter

if TYPE_CHECKING:
    from mdvec.stores.vectors.following import FollowedIndex


class Snapshot(LargeSpaceReader, WordReader, CollectionReader):
    """One consistent snapshot; a :class:`mdvec.stores.interface.View`.

    Attributes:
        index: The vector index that follows it; None without one.
    """

    index: FollowedIndex | None = None


class Transaction(VectorWriter, Snapshot, DocumentWriter, CollectionWriter):
    """One transaction; a :class:`mdvec.stores.interface.Writer`."""
