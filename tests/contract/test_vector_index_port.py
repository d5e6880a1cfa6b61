"""What every vector index beside a store must do, the one in memory included."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.contract.attached_world import (
    EVERY_INDEX,
    NAMES,
    OTHER,
    TEXTS,
    MakeIndex,
    entry,
    placed,
    queries,
    step,
)

from mdvec.stores.records import VectorKind
from mdvec.stores.vectors.index import MAX_NEAREST, IndexedSpace
from mdvec.types.ids import CollectionId

pytestmark = pytest.mark.parametrize("make", EVERY_INDEX, indirect=True)


def test_nearest_first(make: MakeIndex, tmp_path: Path) -> None:
    """Entries come by falling cosine similarity, min(limit, entries) of them, of the wanted collections."""
    index, vectors = make(tmp_path / "index"), queries(100)
    added = [entry(at + 1, each, owner=at + 501, collection=at % 3) for at, each in enumerate(vectors)]
    assert index.apply(TEXTS, step(None, "1", added))
    found = index.nearest(TEXTS, vectors[5], 10, None)
    cosines = vectors @ vectors[5]
    assert found == [501 + at for at in np.argsort(-cosines)[:10]]
    assert len(index.nearest(TEXTS, vectors[5], MAX_NEAREST, None)) == 100
    some = index.nearest(TEXTS, vectors[5], 50, [CollectionId(1), CollectionId(2)])
    assert {(owner - 501) % 3 for owner in some} == {1, 2}
    assert len(index.nearest(TEXTS, vectors[5], MAX_NEAREST, [CollectionId(1)])) == 33
    assert index.nearest(NAMES, vectors[5], 5, None) == []


def test_all_that_is_held(make: MakeIndex, tmp_path: Path) -> None:
    """Every entry of a space is given with its owner and its vector; of another space none."""
    index, vectors = make(tmp_path / "index"), queries(1_200)
    added = [entry(at, each, owner=at + 5_000, collection=at % 3) for at, each in enumerate(vectors, 1)]
    assert index.apply(TEXTS, step(None, "1", added))
    assert index.apply(TEXTS, step("1", "2", [], removed=[7]))
    found = {
        key: (owner, vector)
        for held in index.held(TEXTS)
        for key, owner, vector in zip(held.ids, held.owners, held.vectors, strict=True)
    }
    assert found.keys() == {*range(1, 1_201)} - {7}
    assert all(owner == key + 5_000 for key, (owner, _) in found.items())
    assert all(np.allclose(vector, vectors[key - 1], atol=1e-5) for key, (_, vector) in found.items())
    assert list(index.held(NAMES)) == []


def test_vectors_without_a_direction(make: MakeIndex, tmp_path: Path) -> None:
    """A vector of zeros is an entry like others, and not near to anything."""
    index, vectors = make(tmp_path / "index"), queries(3)
    vectors[1] = 0
    added = [entry(at + 1, each) for at, each in enumerate(vectors)]
    assert index.apply(TEXTS, step(None, "1", added))
    found = index.nearest(TEXTS, vectors[0], 3, None)
    assert set(found) == {1, 2, 3}
    assert found[0] == 1


def test_marks(make: MakeIndex, tmp_path: Path) -> None:
    """Changes are applied once, to the state that they are for; a dropped space starts from nothing."""
    index, vectors = make(tmp_path / "index"), queries(3)
    assert index.applied(TEXTS) is None
    assert not index.apply(TEXTS, step("0", "1", [entry(1, vectors[0])]))
    assert index.apply(TEXTS, step(None, "1", [entry(1, vectors[0])]))
    assert not index.apply(TEXTS, step(None, "1", [entry(1, vectors[0])]))
    assert index.apply(TEXTS, step("1", "2", [entry(2, vectors[1])], removed=[1, 99]))
    assert index.applied(TEXTS) == "2"
    assert index.nearest(TEXTS, vectors[0], 5, None) == [2]
    index.drop(TEXTS)
    index.drop(TEXTS)
    assert index.applied(TEXTS) is None
    assert index.nearest(TEXTS, vectors[0], 5, None) == []


def test_spaces_are_apart(make: MakeIndex, tmp_path: Path) -> None:
    """Two models have vectors of different lengths, and dropping one leaves the other."""
    index, other = make(tmp_path / "index"), IndexedSpace(OTHER.key, OTHER.dimension, VectorKind.TEXT)
    index.apply(TEXTS, step(None, "1", [entry(1, queries(1)[0])]))
    index.apply(other, step(None, "1", [entry(1, queries(1, 16)[0], owner=7)]))
    index.drop(TEXTS)
    assert index.nearest(other, queries(1, 16)[0], 5, None)[0] == 7


def test_applied_again(make: MakeIndex, tmp_path: Path) -> None:
    """A space that is begun anew holds what it is given then; an entry moves with its path and its place."""
    index, vectors = make(tmp_path / "index"), queries(3)
    first = placed(entry(1, vectors[0]), "a.md", 0)
    index.apply(TEXTS, step(None, "1", [first, placed(entry(2, vectors[1]), "a.md", 1)]))
    # Chroma knows a chunk by its path and number, which the next version of a document has again.
    later = placed(entry(3, vectors[2]), "a.md", 0)
    assert index.apply(TEXTS, step("1", "2", [later], removed=[1, 2]))
    assert index.nearest(TEXTS, vectors[0], 9, None) == [3]
    index.drop(TEXTS)
    assert index.apply(TEXTS, step(None, "1", [first]))
    assert index.nearest(TEXTS, vectors[0], 9, None) == [1]
