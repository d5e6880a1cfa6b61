"""Embedding spaces as rows, the same in every database with our tables."""

from __future__ import annotations

from mdvec.stores.tables import TableReader, TableWriter
from mdvec.types.ids import SpaceId
from mdvec.types.space import EmbeddingSpace, Unrelated, UnrelatedTexts

NEW_EPOCH = "UPDATE meta SET value = value + 1 WHERE key = 'vector_epoch'"
"""What is in memory of vectors is of no use any more."""

# Only if a vector index was attached.
_REMEMBER_DROPPED = """INSERT INTO removed_owners(id, kind, owner_id)
    SELECT coalesce((SELECT max(id) FROM removed_owners), 0) + 1, 'space', CAST(? AS bigint)
    WHERE EXISTS(SELECT 1 FROM meta WHERE key = 'vector_index')"""
_DROP_UNUSED = f"""DELETE FROM vectors WHERE id IN (
    SELECT v.id FROM vectors v
    WHERE NOT EXISTS(SELECT 1 FROM chunks c WHERE c.text_hash = v.text_hash)
    AND NOT EXISTS(SELECT 1 FROM names n WHERE n.text_hash = v.text_hash)
    ORDER BY v.id DESC LIMIT {2**62} OFFSET ?)"""  # noqa: S608 - a number


def check_shape(shape: tuple[int, ...], hashes: int, dimension: int) -> None:
    """Refuse an array that is not one vector for each hash.

    Raises:
        ValueError: If it is not.
    """
    if shape != (hashes, dimension):
        msg = f"vectors of shape {shape} where {(hashes, dimension)} was expected"
        raise ValueError(msg)


class SpaceReader(TableReader):
    """Reads spaces."""

    def spaces(self) -> dict[SpaceId, EmbeddingSpace]:
        """Return every space that was opened."""
        rows = self.rows("SELECT id, key FROM spaces ORDER BY id")
        return {SpaceId(space_id): EmbeddingSpace.from_key(key) for space_id, key in rows}

    def find_space(self, space: EmbeddingSpace) -> SpaceId | None:
        """Return the id of a space; None if it was never opened."""

        def find() -> SpaceId | None:
            found = self.rows("SELECT id FROM spaces WHERE key = ?", space.key)
            return SpaceId(found[0][0]) if found else None

        return self.memorized(("space", space.key), find)

    def dimension(self, space_id: SpaceId) -> int:
        """Return the length of a vector of a space."""

        def read() -> int:
            ((dimension,),) = self.rows("SELECT dimension FROM spaces WHERE id = ?", space_id)
            return int(dimension)

        return self.memorized(("dimension", space_id), read)

    def vector_count(self, space_id: SpaceId) -> int:
        """Return the number of stored vectors of a space, used or not."""
        ((count,),) = self.rows("SELECT count(*) FROM vectors WHERE space_id = ?", space_id)
        return int(count)

    def unrelated(self, space_id: SpaceId) -> UnrelatedTexts | None:
        """Return how similar unrelated texts are in a space; None until that was measured."""

        def read() -> UnrelatedTexts | None:
            sql = "SELECT unspaced, mean, spread, passages FROM unrelated WHERE space_id = ?"
            found = {bool(unspaced): Unrelated(*rest) for unspaced, *rest in self.rows(sql, space_id)}
            return UnrelatedTexts(spaced=found[False], unspaced=found[True]) if found else None

        return self.memorized(("unrelated", space_id), read)


class SpaceWriter(SpaceReader, TableWriter):
    """Writes spaces, and removes their vectors."""

    def open_space(self, space: EmbeddingSpace) -> SpaceId:
        """Return the id of a space; a new one is written."""
        known = self.find_space(space)
        if known is not None:
            return known
        sql = "INSERT INTO spaces(key, dimension) VALUES (?, ?) RETURNING id"
        ((space_id,),) = self.rows(sql, space.key, space.dimension)
        return SpaceId(space_id)

    def set_unrelated(self, space_id: SpaceId, measured: UnrelatedTexts) -> None:
        """Write how similar unrelated texts are, unless that is known."""
        if self.unrelated(space_id) is not None:
            return
        for unspaced, each in ((False, measured.spaced), (True, measured.unspaced)):
            self.rows(
                "INSERT INTO unrelated(space_id, unspaced, mean, spread, passages) VALUES (?, ?, ?, ?, ?)",
                *(space_id, unspaced, each.mean, each.spread, each.passages),
            )

    def drop_space(self, space_id: SpaceId) -> int:
        """Remove all vectors of a space; its row stays, so that its id is not used again."""
        self.change(_REMEMBER_DROPPED, space_id)
        return self.removed(self.change("DELETE FROM vectors WHERE space_id = ?", space_id))

    def drop_unused(self, *, keep: int = 0) -> int:
        """Remove vectors of any space that no chunk and no name uses, except the newest ``keep``."""
        return self.removed(self.change(_DROP_UNUSED, keep))

    def removed(self, vectors: int) -> int:
        """Return how many vectors were removed; those in memory are of no use then."""
        if vectors:
            self.change(NEW_EPOCH)
        return vectors
