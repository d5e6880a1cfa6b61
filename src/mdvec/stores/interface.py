"""The port of stage 5: a store keeps facts and finds by plain measures. It holds no ranking rule.

``Store.read()`` gives one consistent snapshot for a whole answer, ``Store.write()`` a writer for one short
transaction, and ``Store.claim()`` the right to bring one collection up to date.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from mdvec.errors import StoreError
from mdvec.stores.claims import Claim
from mdvec.stores.records import DamagedRows, DocumentRecord
from mdvec.stores.tables import Readable
from mdvec.stores.view import CollectionView, DocumentView, SpaceView, VectorView, View
from mdvec.types.change import Exclusion, SourceEntry, Unreadable
from mdvec.types.collection import Collection
from mdvec.types.ids import CollectionId, SpaceId, TextHash
from mdvec.types.space import EmbeddingSpace, UnrelatedTexts
from mdvec.types.store_report import PublishedVersion

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Claim", "Store", "View", "Writer"]


class CollectionWriter(CollectionView, Protocol):
    """The collections of a transaction."""

    def add(self, collection: Collection) -> Collection:
        """Write a new collection, and return it with its id; the one that it comes with is ignored.

        Raises:
            CollectionExistsError: If the name is taken.
        """

    def change(self, collection_id: CollectionId, change: Callable[[Collection], Collection]) -> Collection:
        """Change a collection, starting from its state inside this transaction, so that no change is lost.

        Nothing is written if nothing differs.

        Returns:
            The changed collection.

        Raises:
            CollectionNotFoundError: If it was deleted.
        """

    def delete(self, collection_id: CollectionId) -> None:
        """Remove a collection with its documents; vectors stay as a cache."""


class DocumentWriter(DocumentView, Protocol):
    """The documents of a transaction."""

    def put(self, collection_id: CollectionId, records: Sequence[DocumentRecord]) -> None:
        """Write documents with their chunks, terms, names, labels and links.

        Each replaces the document at its path. Ids are never reused; those of new chunks grow in the order of
        the records and of the chunks in them.
        """

    def touch(self, collection_id: CollectionId, entries: Sequence[SourceEntry]) -> None:
        """Write the time, size and spelling of documents with the same content, and mark them clean."""

    def mark_dirty(self, collection_id: CollectionId, paths: Sequence[str]) -> None:
        """Mark documents as changed since they were indexed.

        The mark is removed when the document is put, touched or deleted. A marked document keeps its
        time. A path that ends in ``/`` stands for all documents below it; unknown paths are ignored.
        """

    def delete(self, collection_id: CollectionId, paths: Sequence[str]) -> None:
        """Remove documents with their chunks, names, labels and links; unknown paths are ignored."""

    def finish(
        self,
        collection_id: CollectionId,
        *,
        exclusions: Iterable[Exclusion],
        failures: Iterable[Unreadable],
    ) -> None:
        """End the writing of many documents; nothing is written if nothing differs.

        The excluded and the failed files are those given from now on. The words of the documents become quick
        to find. Replaced ones are superseded, as :meth:`versions` says: their texts and names are not
        pending. Searches find them unless ``Where.hidden`` names them.
        """


class SpaceWriter(SpaceView, Protocol):
    """The spaces of a transaction."""

    def open(self, space: EmbeddingSpace, measured: UnrelatedTexts | None = None) -> SpaceId:
        """Return the id of a space; a new one is written.

        Args:
            space: The space.
            measured: The similarity of unrelated texts in it, which is written unless one was before.
        """

    def drop(self, space_id: SpaceId) -> int:
        """Remove all vectors of a space, and return how many; its id stays valid."""


class VectorWriter(VectorView, Protocol):
    """The vectors of a transaction."""

    def put(self, space_id: SpaceId, hashes: Sequence[TextHash], vectors: NDArray[np.float32]) -> None:
        """Add unit vectors, shape (len(hashes), dim); a hash with a vector keeps it.

        Raises:
            ValueError: If the vectors have another shape.
        """

    def drop_unused(self, *, keep: int = 0) -> int:
        """Remove vectors that no chunk and no name uses, except the newest ``keep``; return how many."""

    def discard_damaged(self, collection_id: CollectionId) -> DamagedRows:
        """Compare every text and vector with its checksum, and discard the damaged ones; slow.

        Damaged vectors of all collections are removed. Damaged documents of this collection lose their
        fingerprint and content hash, so that its next import reads them again; their text stays until then.
        A store whose database checks its pages discards nothing.
        """


class Writer(View, frozen=True):
    """One short transaction, written as a whole or not at all. It sees its own changes."""

    collections: CollectionWriter
    documents: DocumentWriter
    spaces: SpaceWriter
    vectors: VectorWriter


class Team(Protocol):
    """Abilities of a store for the processes of several machines, and for users with rights of their own.

    Any number of processes have the lease on it, and divide the collections between them.

    Attributes:
        has_checksums: Whether the server compares each page that it reads with a checksum.
    """

    has_checksums: bool

    def take_texts(self, claim: Claim, space_id: SpaceId, hashes: Sequence[TextHash]) -> set[TextHash]:
        """Take texts to embed; ``pending`` leaves them out from now on.

        They are given back with their vectors, or with the claim.

        Returns:
            The ones that have no vector yet, and that no other live process has taken.
        """

    def share(
        self, lease: Claim, here: Sequence[CollectionId], missing: Sequence[CollectionId]
    ) -> set[CollectionId]:
        """Offer to watch collections, and return the ones that the holder of a lease is to watch now.

        It changes when another process offers something or ends, so callers repeat it every few seconds.

        Args:
            lease: Of this process.
            here: The collections that it can read.
            missing: The ones whose source is not on this machine; they are left to others that have it.

        Raises:
            WriterBusyError: If the lease was lost.
        """

    def set_access(self, collection: Collection, role: str, *, may_read: bool) -> None:
        """Grant a role the right to read a collection, or revoke it; it sees nothing of other collections.

        Raises:
            NotFoundError: If the right is granted, and there is no such role.
        """

    def make_views(self, collection: Collection, space_id: SpaceId) -> list[str]:
        """Show a collection in views and a function that other programs query; return their names.

        Args:
            collection: The collection; views of another one are replaced.
            space_id: The space of the vectors that are shown.

        Raises:
            StoreError: If something else has one of the names; nothing is changed.
        """


class Store(Protocol):
    """A place that holds collections with their documents, words and vectors.

    Attributes:
        location: Where it is, for people; never with a password.
    """

    location: str

    @property
    def size_bytes(self) -> int:
        """Bytes it takes."""

    @property
    def published(self) -> PublishedVersion | None:
        """The version of a published copy; None in a store that is no copy."""

    @property
    def team(self) -> Team | None:
        """Its abilities for several machines and users; None in a store for one machine."""

    def read(self, readable: Readable = None) -> AbstractContextManager[View]:
        """Open a snapshot.

        Args:
            readable: The collections it shows, also if a ``Where`` names others; None for all. A word that
                occurs only in others is unknown.
        """

    def write(self, claim: Claim | None = None) -> AbstractContextManager[Writer]:
        """Open a transaction; keep it short, and compute before it.

        Args:
            claim: A claim that must still be held; the transaction renews it.

        Raises:
            WriterBusyError: If the claim was taken over, say while the machine slept, or if another process
                locks the store for too long.
            ReadOnlyDatabaseError: If the store cannot be written.
            DatabaseFullError: If there is no space; nothing of the transaction is kept.
            RuntimeError: If this thread already has a transaction of this store.
        """

    def claim(
        self, collection: Collection | None, purpose: str, *, wait_s: float
    ) -> AbstractContextManager[Claim]:
        """Claim a collection, or the lease on the store, for as long as the context lasts.

        Claims are independent: a collection can be claimed while another process has the lease. A claim ends
        with its process. The run reports the waiting as ``Stage.WAIT``.

        Args:
            collection: The collection; None for the lease of the one process that keeps the store up to date,
                or of one of several in a store with a :class:`Team`.
            purpose: For people who wait, such as ``importing notes``.
            wait_s: How long to wait for another claim to end, in seconds.

        Raises:
            CollectionNotFoundError: If it was deleted, before or meanwhile.
            WriterBusyError: If it is still claimed then; the message names the process and its progress.
            ImportStoppedError: If the run is cancelled meanwhile.
        """

    def make_vector_indexes(self) -> None:
        """Create the missing ones among the indexes that the store itself searches.

        Raises:
            StoreError: If they cannot be made.
        """

    def check(self) -> list[StoreError]:
        """Examine the whole store for damage; slow.

        Returns:
            The problems, each with the next step; empty if there are none.

        Raises:
            StoreError: If it cannot be examined, for example because the disk is full.
        """

    @property
    def warnings(self) -> tuple[str, ...]:
        """Reasons why its answers may be incomplete, for people; usually empty."""

    def compact(self) -> None:
        """Rewrite the store without the space of deleted rows.

        Raises:
            ReadOnlyDatabaseError: If the store cannot be written.
            WriterBusyError: If another process uses it for too long.
            DatabaseFullError: If there is no space for a second copy; nothing is lost.
        """

    def close(self) -> None:
        """Release everything; a second call does nothing."""
