"""What some stores offer to other users, machines and programs."""

from __future__ import annotations

from collections.abc import Collection as AnyCollection
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from mdvec.stores.claims import Claim
from mdvec.types.collection import Collection
from mdvec.types.ids import CollectionId, SpaceId, TextHash
from mdvec.types.store_report import PublishedVersion


@runtime_checkable
class CopyableStore(Protocol):
    """A store that writes the file that is published."""

    def write_copy(self, path: Path, names: AnyCollection[str], version: int) -> str:
        """Write some collections as they are now into a database file, and nothing about this machine.

        Two copies differ only where their contents do, as far as that is possible.

        Args:
            path: A file that is not there.
            names: The collections.
            version: The version of the copy's snapshots.

        Returns:
            A digest of what the file holds, in hexadecimal digits: the same for the same content, whatever
            its version, and whenever it was read.

        Raises:
            ImportStoppedError: If the run is cancelled; a part of the file is there.
            StoreError: If the store cannot be read, or the file not written.
        """


@runtime_checkable
class FollowingStore(Protocol):
    """A store that shows what others publish."""

    @property
    def published(self) -> PublishedVersion:
        """The version that is searched now."""


@runtime_checkable
class SharedWork(Protocol):
    """A store in which processes of several machines work, and none does what another one is doing.

    Any number of processes have the lease on it, and divide the collections between them.
    """

    def take_texts(self, claim: Claim, space_id: SpaceId, hashes: Sequence[TextHash]) -> set[TextHash]:
        """Take texts to embed; ``View.pending`` and ``pending_names`` leave them out from now on.

        They are given back with their vectors, or with the claim.

        Returns:
            Those that no other live process has taken, and that have no vector yet.
        """

    def share(
        self, lease: Claim, here: Sequence[CollectionId], missing: Sequence[CollectionId]
    ) -> set[CollectionId]:
        """Offer to watch collections, and return those that the holder of a lease is to watch now.

        It changes when another process offers something or ends, so callers repeat it every few seconds.

        Args:
            lease: Of this process.
            here: The collections that it can read.
            missing: Those whose source is not on this machine; they are left to others that have it.

        Raises:
            WriterBusyError: If the lease was lost.
        """


@runtime_checkable
class SharedStore(Protocol):
    """A store whose users have rights of their own, and which any program can query."""

    def grant(self, collection: Collection, role: str) -> None:
        """Let a role read a collection; it sees nothing of those that it may not read.

        Raises:
            NotFoundError: If there is no such role.
        """

    def revoke(self, collection: Collection, role: str) -> None:
        """Revoke the right to read a collection; a role that had none is no error."""

    def make_views(self, collection: Collection, space_id: SpaceId) -> list[str]:
        """Show a collection in views and a function that other programs query; return their names.

        Args:
            collection: The collection; those of another one are replaced.
            space_id: The space of the vectors that are shown.

        Raises:
            StoreError: If there is something else of such a name; nothing is changed.
        """
