"""The state of a vector index, told from its mark."""

from __future__ import annotations

import msgspec
import pytest

from mdvec.stores.records import VectorKind
from mdvec.stores.vectors.index import IndexedSpace, Mark
from mdvec.stores.vectors.journal import Applied, Progress, SpaceJournal
from mdvec.types.ids import SpaceId

NOW = Applied(store=7, version=5, vector=20, owner=10, removed=3)
LATEST = 9


def marked(**fields: int) -> str:
    """Return the mark of an index that differs from the snapshot in some facts."""
    return msgspec.json.encode(msgspec.structs.replace(NOW, **fields)).decode()


@pytest.mark.parametrize(
    ("mark", "progress"),
    [
        (marked(), Progress.CURRENT),
        (marked(version=1, vector=25), Progress.CURRENT),
        (marked(version=LATEST, removed=4), Progress.AHEAD),
        (marked(version=LATEST + 1), Progress.LOST),
        (marked(store=8), Progress.LOST),
        ("another version wrote it", Progress.LOST),
        (marked().replace("]", ",1]"), Progress.LOST),
    ],
)
def test_an_index_is_known_by_its_mark(mark: str, progress: Progress) -> None:
    """It may go on, wait for a later snapshot, or have to start from nothing: after a backup, for example."""
    space = IndexedSpace("model", 4, VectorKind.TEXT)
    journal = SpaceJournal(SpaceId(1), space, NOW, tables=None, current_version=lambda: LATEST)  # type: ignore[arg-type]
    assert journal.progress(Mark(mark)) is progress
