"""What is read and written in one transaction, put together from its parts."""

from __future__ import annotations

from mdvec.stores.claims import ClaimTable
from mdvec.stores.sqlite.collections import CollectionReader, CollectionWriter
from mdvec.stores.sqlite.documents import DocumentWriter
from mdvec.stores.sqlite.vectors import VectorReader, VectorWriter
from mdvec.stores.sqlite.words import WordReader
from mdvec.stores.sqlite.writing import RowWriter

CLOCK = "CAST(round(unixepoch('subsec') * 1000) AS INTEGER)"
"""The time, in milliseconds since 1970."""


class Snapshot(VectorReader, WordReader, CollectionReader, ClaimTable):
    """One consistent snapshot; a :class:`mdvec.stores.interface.View`."""

    clock = CLOCK


class Transaction(Snapshot, CollectionWriter, DocumentWriter, VectorWriter, RowWriter):
    """One transaction; a :class:`mdvec.stores.interface.Writer`."""
