"""Exactness and cost of dense search, on vectors shaped like those of the builtin model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from mdvec.stores.sqlite.matrix import VectorMatrix, encode, products_by_numkong, products_by_numpy
from numpy.typing import NDArray
from tests.contract.store_world import FOLDER, make_document, put, unit_vectors

from mdvec.stores.sqlite import matrix
from mdvec.stores.sqlite.store import SqliteStore
from mdvec.text.hashing import text_hash
from mdvec.types.collection import ChunkingSpec
from mdvec.types.query import Scope
from mdvec.types.space import EmbeddingSpace

MODEL = EmbeddingSpace("fake", "e5-like", "1", 384)
CHUNKS = 3000


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    """A collection of 3,000 chunks whose vectors have a mean cosine of .8, as e5's do."""
    store = SqliteStore(tmp_path / "index.sqlite")
    texts = [f"text {number}" for number in range(CHUNKS)]
    with store.transaction():
        notes = store.catalog.add_collection("notes", "", FOLDER, ChunkingSpec())
        put(store, notes.id, *make_document("a.md", texts))
        space_id = store.vectors.open_space(MODEL)
        vectors = unit_vectors(CHUNKS, alike=0.8, dimension=384)
        store.vectors.add(space_id, [text_hash(text) for text in texts], vectors)
    return store


def beside_each_other(cosines: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return how near the chunks of one document are, with what their neighbours add."""
    around = np.convolve(cosines, [1, 0, 1], "same")
    around[1:-1] /= 2
    return np.asarray((cosines + 0.2 * around) / 1.2, np.float32)


@pytest.mark.parametrize("numkong", [True, False])
def test_recall(store: SqliteStore, monkeypatch: pytest.MonkeyPatch, *, numkong: bool) -> None:
    """At least .99 of the ten nearest by float32 are found, with numkong and without."""
    monkeypatch.setattr(matrix, "_HAS_NUMKONG", numkong)
    vectors = unit_vectors(CHUNKS, alike=0.8, dimension=384)
    queries = unit_vectors(100, seed=1, alike=0.8, dimension=384)
    assert np.mean(vectors @ queries.T) == pytest.approx(0.8, abs=0.02)
    collection = store.catalog.collections()[0]
    space_id = store.vectors.find_space(MODEL)
    assert space_id is not None
    same = 0
    for query in queries:
        cosines = vectors @ query
        near = beside_each_other(cosines)
        nearest = np.argsort(-near)[:10]
        found = store.vectors.search(space_id, query, 10, Scope((collection.id,)))
        same += len(set(found.ids) & {int(row) + 1 for row in nearest})
        assert found.similarities == pytest.approx(near[np.array(found.ids) - 1], abs=2e-4)
        assert found.mean == pytest.approx(cosines.mean(), abs=0.01)
        assert found.spread == pytest.approx(cosines.std(), rel=0.2)
    assert same >= 990
    store.close()


def test_both_products_agree() -> None:
    """The product by SIMD is that by numpy, but for the rounding of the query."""
    rows = unit_vectors(500, dimension=384).astype(np.float16)
    query = unit_vectors(1, seed=1, dimension=384)[0]
    assert products_by_numkong(rows, query) == pytest.approx(products_by_numpy(rows, query), abs=2e-4)


def test_views_do_not_change() -> None:
    """Rows appended later do not show in an earlier view, also when the arrays had to grow."""
    rows = VectorMatrix(8, 2)
    vectors = unit_vectors(10, dimension=8)
    rows.append([3, 5], encode(vectors[:2]))
    view = rows.view()
    rows.append(list(range(6, 14)), encode(vectors[2:]))
    assert view.ids.tolist() == [3, 5]
    assert view.rows == pytest.approx(vectors[:2], abs=1e-3)
    assert rows.view().rows == pytest.approx(vectors, abs=1e-3)
    assert rows.view().take(np.array([1, 9])).ids.tolist() == [5, 13]


def test_a_number_takes_two_bytes() -> None:
    """A vector takes 2 bytes a dimension, stored and in memory: 10,000 of 384 numbers take 8 MB."""
    vectors = unit_vectors(100, dimension=384)
    rows = VectorMatrix(384, 100)
    rows.append(list(range(100)), encode(vectors))
    assert {len(stored) for stored in encode(vectors)} == {768}
    assert rows.view().rows.nbytes == 100 * 768


@pytest.mark.parametrize("shape", [(2, 384), (1, 383)])
def test_vectors_of_another_shape_are_refused(store: SqliteStore, shape: tuple[int, int]) -> None:
    """A vector of the wrong dimension, or one too many, is a mistake of the caller."""
    space_id = store.vectors.open_space(MODEL)
    with pytest.raises(ValueError, match="shape"), store.transaction():
        store.vectors.add(space_id, [text_hash("x")], np.zeros(shape, np.float32))
    store.close()
