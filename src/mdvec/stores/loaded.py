"""Matrices of whole spaces in memory; they follow the commits of a store by ids that only grow."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from mdvec.stores.vectors.index import VectorKind
from mdvec.types.ids import CollectionId, SpaceId

if TYPE_CHECKING:  # numpy is loaded when the first vector is used: searching by words needs none
    import numpy as np
    from numpy.typing import NDArray

    from mdvec.stores.blocks import Block
    from mdvec.stores.matrix import ExactView, Owners

# Up to this many chunks are read anew after every commit, which takes milliseconds and drops deleted ones.
_FEW_CHUNKS = 4096

# With more chunks, deleted ones are dropped once there are this many times as many owners as chunks.
_MAX_OWNERS = 1.25

# A space is written to its file once this many rows, or this share of all, were added to those of the file.
_FEW_ADDED = 8192
_MAX_ADDED = 0.05


class Seen(Struct, frozen=True):
    """The largest ids that were read, in any space; ids are never reused."""

    vector: int = 0
    chunk: int = 0
    name: int = 0


TABLES = {VectorKind.TEXT: "chunks", VectorKind.NAME: "names"}
"""What has vectors."""

OWNERS = {VectorKind.TEXT: "o.id", VectorKind.NAME: "o.document_id"}
"""Chunks own the vectors of their texts, documents those of their names; a row of the table is ``o``."""


class KeptSpace(Struct, frozen=True):
    """A space in a snapshot.

    Attributes:
        version: The version of the snapshot.
        epoch: Its vector epoch.
        seen: The largest ids that had been read.
        block: The vectors.
        chunks: The chunks whose texts they are.
        documents: The documents whose names they are.
    """

    version: int
    epoch: int
    seen: Seen
    block: Block
    chunks: Owners
    documents: Owners


class VectorRows(Protocol):
    """The vectors that a snapshot shows. Later commits have larger ids than earlier ones."""

    def vector_count(self, space_id: SpaceId) -> int:
        """Return the number of vectors of a space."""
        ...

    def dimension(self, space_id: SpaceId) -> int:
        """Return the length of a vector of a space."""
        ...

    def all_chunks(self) -> int:
        """Return the number of chunks in all collections."""
        ...

    def newest(self) -> Seen:
        """Return the largest ids there are; 0 without a row."""
        ...

    def vectors_after(
        self, space_id: SpaceId, vector: int
    ) -> Iterable[tuple[Sequence[int], Sequence[bytes]]]:
        """Yield ids and vectors of a space with larger ids, some at a time and in order."""
        ...

    def owners_after(self, kind: VectorKind, space_id: SpaceId, owner: int) -> NDArray[np.int64]:
        """Return owners whose rows have larger ids, in that order, with the ids of their vectors.

        Returns:
            Shape (n, 2).
        """
        ...

    def owners_of_vectors_after(
        self, kind: VectorKind, space_id: SpaceId, vector: int, owner: int
    ) -> NDArray[np.int64]:
        """Return owners whose rows have ids up to ``owner`` and whose vectors have ids above ``vector``.

        Returns:
            Shape (n, 2): owners with the ids of their vectors.
        """
        ...

    def kept(self, space_id: SpaceId, version: int, epoch: int) -> KeptSpace | None:
        """Return the space kept at this version or earlier in the same epoch; None if there is none."""
        ...

    def keep(self, space_id: SpaceId, space: KeptSpace) -> KeptSpace | None:
        """Keep a space for later processes, and return it as they will read it; None if it cannot be kept."""
        ...


class LoadedSpace:
    """The matrix of a space, with the versions of the store that it can answer for.

    Attributes:
        matrix: The vectors and their owners.
        epoch: The vector epoch it was read in.
        newest: The newest version that was read.
    """

    def __init__(self, rows: VectorRows, space_id: SpaceId, version: int, epoch: int) -> None:
        from mdvec.stores.matrix import ExactMatrix

        self.epoch = epoch
        self.newest = version
        self._versions = {version}
        self._space_id = space_id
        kept = rows.kept(space_id, version, epoch)
        if kept is None:
            self._seen = Seen()
            self.matrix = ExactMatrix(rows.dimension(space_id), rows.vector_count(space_id))
            self._read(rows)
            self._keep(rows)
        else:
            self._use(kept)
            if kept.version != version:
                self.catch_up(rows, version)

    def serves(self, version: int, epoch: int) -> bool:
        """Return True if every owner in a snapshot of this version is here.

        Owners that were added and deleted between two loaded versions are not.
        """
        return self.epoch == epoch and version in self._versions

    def catch_up(self, rows: VectorRows, version: int) -> None:
        """Read the new rows of a newer version of the same epoch. After an exception, drop this object."""
        from mdvec.stores.matrix import NO_OWNERS

        chunks = rows.all_chunks()
        many_are_gone = len(self.matrix.chunks.ids) > _MAX_OWNERS * max(chunks, _FEW_CHUNKS)
        if chunks <= _FEW_CHUNKS or many_are_gone:
            self.matrix.chunks = self.matrix.documents = NO_OWNERS
            self._seen = Seen(vector=self._seen.vector)
            self._versions.clear()
        self.newest = version
        self._read(rows)
        self._versions.add(version)
        self._keep(rows, always=many_are_gone)

    def _use(self, kept: KeptSpace) -> None:
        from mdvec.stores.matrix import ExactMatrix

        self.matrix = ExactMatrix(kept.block.rows.shape[1], 0, kept.block)
        self.matrix.chunks, self.matrix.documents = kept.chunks, kept.documents
        self._seen = kept.seen

    def _read(self, rows: VectorRows) -> None:
        seen, now = self._seen, rows.newest()
        # The newest row may have been deleted meanwhile.
        now = Seen(max(now.vector, seen.vector), max(now.chunk, seen.chunk), max(now.name, seen.name))
        if now.vector > seen.vector:
            for ids, vectors in rows.vectors_after(self._space_id, seen.vector):
                self.matrix.append(ids, vectors)
        chunks = self._owners(rows, VectorKind.TEXT, seen.chunk, now)
        self.matrix.chunks = self.matrix.chunks.adding(chunks[:, 0], self.matrix.rows_of(chunks[:, 1]))
        names = self._owners(rows, VectorKind.NAME, seen.name, now)
        self.matrix.documents = self.matrix.documents.adding(names[:, 0], self.matrix.rows_of(names[:, 1]))
        self._seen = now

    def _keep(self, rows: VectorRows, *, always: bool = False) -> None:
        """Keep the space for later processes, if many rows were added."""
        if not always and self.matrix.added <= max(_FEW_ADDED, _MAX_ADDED * len(self.matrix)):
            return
        view = self.matrix.view()
        kept = rows.keep(
            self._space_id,
            KeptSpace(self.newest, self.epoch, self._seen, view.whole(), view.chunks, view.documents),
        )
        if kept is not None:
            self._use(kept)

    def _owners(self, rows: VectorRows, kind: VectorKind, owner: int, now: Seen) -> NDArray[np.int64]:
        """Return new pairs of owner and vector, shape (n, 2)."""
        import numpy as np

        found = [rows.owners_after(kind, self._space_id, owner)]
        if now.vector > self._seen.vector and owner:
            found.append(rows.owners_of_vectors_after(kind, self._space_id, self._seen.vector, owner))
        return np.concatenate(found)


class LoadedSpaces:
    """The spaces in memory, shared by all snapshots of a store. Safe to use from several threads.

    Attributes:
        embedded_up_to: By table, collection, space and vector epoch: the id up to which every row of the
            table has its vector.
        store: The database beside which spaces are kept in files; None to keep none.
        read_only: Whether such files are read, but not written.
    """

    def __init__(self, store: Path | None = None, *, read_only: bool = False) -> None:
        self.store = store
        self.read_only = read_only
        self._guard = threading.Lock()
        self._loaded: dict[SpaceId, LoadedSpace] = {}
        self.embedded_up_to: dict[tuple[str, CollectionId, SpaceId, int], int] = {}

    def view(self, rows: VectorRows, space_id: SpaceId, version: int, epoch: int) -> ExactView:
        """Return the vectors of a space with at least the owners that a snapshot shows.

        Args:
            rows: The snapshot.
            space_id: The space.
            version: The version of the snapshot.
            epoch: Grows when vectors are removed; until then they are only appended.
        """
        with self._guard:
            # It is only put back when complete: Ctrl-C may interrupt the reading.
            loaded = self._loaded.pop(space_id, None)
            if loaded is None or loaded.epoch < epoch:
                loaded = LoadedSpace(rows, space_id, version, epoch)
            elif loaded.epoch == epoch and loaded.newest < version:
                loaded.catch_up(rows, version)
            self._loaded[space_id] = loaded
            if loaded.serves(version, epoch):
                return loaded.matrix.view()
        # The snapshot is older than the loaded version; this is rare.
        return LoadedSpace(rows, space_id, version, epoch).matrix.view()
