"""The port of a vector index next to a store, which keeps every vector: an index can be deleted at any time.

Before a search uses it, the store compares its mark with its own state and applies the missing changes. The
index proposes ids; the store removes those that must not be found, and computes the returned similarities.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NewType, Protocol, TypeAlias

from msgspec import Struct

from mdvec.stores.records import VectorKind
from mdvec.types.ids import CollectionId
from mdvec.types.section import IndexedSection

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector: TypeAlias = NDArray[np.float32]

Mark = NewType("Mark", str)
"""The state of a store that an index has caught up with; opaque to the index."""

Inside: TypeAlias = Sequence[CollectionId] | None
"""The collections that are searched; None for all."""

MAX_NEAREST = 4_096
"""Most entries that an index is asked for; vec0 returns no more. Of more, the store looks at all vectors."""


class IndexedSpace(Struct, frozen=True):
    """The vectors of one kind in one embedding space.

    Attributes:
        key: Names the embedding space (``EmbeddingSpace.key``): any characters, up to some hundred.
        dimension: Length of a vector.
        kind: The kind.
    """

    key: str
    dimension: int
    kind: VectorKind


class VectorEntry(Struct, frozen=True):
    """A vector with its owner.

    Attributes:
        id: Id of the chunk, or of the name. Unique in its space, and never used again.
        owner: Id of the chunk, or of the document.
        vector: Shape (dim,), unit length up to the rounding of float16.
        collection_id: The collection.
        heading: The heading path of the chunk, joined by `` > ``; for a name, the name.
        section: The chunk as a program reads it, or as one wrote it; ``is_dirty`` is as old as its vector
            here. For a name, only the path and the heading are filled.
    """

    id: int
    owner: int
    vector: Vector
    collection_id: CollectionId
    heading: str
    section: IndexedSection


class VectorChanges(Struct, frozen=True):
    """A step from one state of the store to a later one.

    Attributes:
        since: The mark that the index must have; None for a space that it does not hold.
        until: Its mark afterwards.
        removed: Ids of the entries to remove; those that are not there are no error.
        added: Entries to add. An adapter that cannot apply all or nothing must replace entries with the
            same id, and write the mark last.
    """

    since: Mark | None
    until: Mark
    removed: Sequence[int]
    added: Sequence[VectorEntry]


class HeldEntries(Struct, frozen=True):
    """Some entries that an index holds.

    Attributes:
        ids: Their ids.
        owners: Their owners.
        vectors: Their vectors, shape (n, dim), up to the rounding of the index.
    """

    ids: Sequence[int]
    owners: Sequence[int]
    vectors: NDArray[np.float32]


class VectorIndex(Protocol):
    """A rebuildable index of vectors. Safe to use from several threads and several processes.

    An index that finds its data damaged deletes them and continues empty. Every method may raise
    :class:`mdvec.errors.StoreError` when the index cannot be used now; searches then use the store's own
    vectors. A class that inherits from it needs no optimizing and holds nothing open, unless it says more.

    A factory receives its place, a path or an address, and its settings as keyword arguments (see
    :mod:`mdvec.settings`).

    Attributes:
        location: Its place, for people; never with a password.
    """

    location: str

    def applied(self, space: IndexedSpace) -> Mark | None:
        """Return the mark of the last applied changes; None for a space that it does not hold."""

    def apply(self, space: IndexedSpace, changes: VectorChanges) -> bool:
        """Apply changes: all or nothing, or in an order in which applying them again repairs a broken step.

        Returns:
            False, and no mark, if :meth:`applied` is not ``changes.since`` any more: another was faster.
        """

    def nearest(self, space: IndexedSpace, query: Vector, limit: int, inside: Inside) -> list[int]:
        """Return the owners of the entries nearest to a query.

        Args:
            space: The space of the query.
            query: Shape (dim,), unit length.
            limit: Most entries to return, from 1 to ``MAX_NEAREST``.
            inside: Only entries of these collections, at least one; None for all.

        Returns:
            The owner of each entry, best first; approximate results are allowed (recall@10 of at least .98).
            A document with several names may appear several times. Fewer than ``limit`` entries only if
            there are no more, or if the index does not hold the space.
        """

    def held(self, space: IndexedSpace) -> Iterator[HeldEntries]:
        """Yield all entries of a space, some at a time; none of a space that it does not hold."""

    def drop(self, space: IndexedSpace) -> None:
        """Remove a space and its mark; one that it does not hold is no error."""

    def optimize(self) -> None:
        """Make it fast and small, if that is due; may take minutes, and changes no result.

        It is called after imports and rebuilds, never by a search.
        """
        return

    def close(self) -> None:
        """Release everything; a second call does nothing."""
        return
