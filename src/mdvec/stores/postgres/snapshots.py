"""What is read and written in one transaction, put together from its parts."""

from __future__ import annotations

from mdvec.stores.postgres.collections import CollectionReader, CollectionWriter
from mdvec.stores.postgres.hnsw import LargeSpaceReader
from mdvec.stores.postgres.vectors import VectorWriter
from mdvec.stores.postgres.words import WordReader
from mdvec.stores.postgres.writing import DocumentWriter, RowWriter


class Snapshot(LargeSpaceReader, WordReader, CollectionReader):
    """One consistent snapshot; a :class:`mdvec.stores.interface.View`."""


class Transaction(VectorWriter, Snapshot, DocumentWriter, CollectionWriter, RowWriter):
    """One transaction; a :class:`mdvec.stores.interface.Writer`."""
