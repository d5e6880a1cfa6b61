"""What is read and written in one transaction, put together from its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mdvec.stores.claims import ClaimTable
from mdvec.stores.sqlite.collections import CollectionReader, CollectionWriter
from mdvec.stores.sqlite.documents import DocumentWriter
from mdvec.stores.sqlite.vectors import VectorReader, VectorWriter
from mdvec.stores.sqlite.words import WordReader

if TYPE_CHECKING:
    from mdvec.stores.vectors.following import FollowedIndex

CLOCK = "CAST(round(unixepoch('subsec') * 1000) AS INTEGER)"
"""The time, in milliseconds since 1970."""


class Snapshot(VectorReader, WordReader, CollectionReader, ClaimTable):
    """One consistent snapshot; a :class:`mdvec.stores.interface.View`.

    Attributes:
        index: The vector index that follows it; None without one.
    """

    clock = CLOCK
    index: FollowedIndex | None = None


class Transaction(Snapshot, CollectionWriter, DocumentWriter, VectorWriter):
    """One transaction; a :class:`mdvec.stores.interface.Writer`."""
