"""Exactness and size of dense search, on vectors shaped like those of the builtin model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.contract.store_world import add_collection, make_document, put, unit_vectors

from mdvec.stores import blocks
from mdvec.stores.blocks import products_by_numkong, products_by_numpy, widened
from mdvec.stores.exact import encode
from mdvec.stores.matrix import ExactMatrix, Owners
from mdvec.stores.sqlite.store import SqliteStore
from mdvec.text.hashing import text_hash
from mdvec.types.query import Where
from mdvec.types.space import EmbeddingSpace

MODEL = EmbeddingSpace("fake", "e5-like", "1", 384)
CHUNKS = 3000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """A collection of 3,000 chunks whose vectors have a mean cosine of .8, as e5's do."""
    store = SqliteStore(tmp_path / "index.sqlite")
    texts = [f"text {number}" for number in range(CHUNKS)]
    notes = add_collection(store)
    with store.write() as writer:
        put(writer, notes.id, *make_document("a.md", texts))
        vectors = unit_vectors(CHUNKS, alike=0.8, dimension=384)
        writer.put_vectors(writer.open_space(MODEL), [text_hash(text) for text in texts], vectors)
    yield store
    store.close()


@pytest.mark.parametrize("numkong", [True, False])
def test_recall(store: SqliteStore, monkeypatch: pytest.MonkeyPatch, *, numkong: bool) -> None:
    """At least .99 of the ten nearest by float32 are found, with numkong and without."""
    monkeypatch.setattr(blocks, "_HAS_NUMKONG", numkong)
    vectors = unit_vectors(CHUNKS, alike=0.8, dimension=384)
    queries = unit_vectors(100, seed=1, alike=0.8, dimension=384)
    assert np.mean(vectors @ queries.T) == pytest.approx(0.8, abs=0.02)
    same = 0
    with store.read() as view:
        where = Where((view.collections()[0].id,))
        space_id = view.find_space(MODEL)
        assert space_id is not None
        for query in queries:
            cosines = vectors @ query
            found = view.nearest_chunks(space_id, query, where, 10)
            chunks = view.chunks([key for key, _ in found])
            ordinals = [chunks[key].ordinal for key, _ in found]
            same += len(set(ordinals) & set(np.argsort(-cosines)[:10].tolist()))
            assert [near for _, near in found] == pytest.approx(cosines[ordinals], abs=2e-4)
            sampled = [place.id for place in view.sampled_chunks(space_id, 512)]
            sample = view.chunk_similarities(space_id, query[np.newaxis], sampled)
            assert sample.mean() == pytest.approx(cosines.mean(), abs=0.01)
            assert sample.std() == pytest.approx(cosines.std(), rel=0.2)
    assert same >= 990


def test_both_products_agree() -> None:
    """The product by SIMD is that by numpy, but for the rounding of the query."""
    rows = unit_vectors(500, dimension=384).astype(np.float16)
    query = unit_vectors(1, seed=1, dimension=384)[0]
    assert products_by_numkong(rows, query) == pytest.approx(products_by_numpy(rows, query), abs=2e-4)
    assert products_by_numkong(rows[:0], query).shape == products_by_numpy(rows[:0], query).shape == (0,)


def test_views_do_not_change() -> None:
    """Rows and owners added later do not show in an earlier view, also when the arrays had to grow."""
    matrix = ExactMatrix(8, 2)
    vectors = unit_vectors(10, dimension=8)
    matrix.append([3, 5], encode(vectors[:2]))
    keys = np.array([3, 5], np.int64)
    matrix.chunks = matrix.chunks.adding(np.array([1, 2], np.int64), matrix.rows_of(keys))
    view = matrix.view()
    matrix.append(list(range(6, 14)), encode(vectors[2:]))
    later = np.array([13, 6], np.int64)
    matrix.chunks = matrix.chunks.adding(np.array([9, 0], np.int64), matrix.rows_of(later))
    assert (view.chunks.ids.tolist(), view.chunks.rows.tolist()) == ([1, 2], [0, 1])
    assert view.whole().rows == pytest.approx(vectors[:2], abs=1e-3)
    assert matrix.view().whole().rows == pytest.approx(vectors, abs=1e-3)
    assert (matrix.chunks.ids.tolist(), matrix.chunks.rows.tolist()) == ([0, 1, 2, 9], [2, 0, 1, 9])


def test_positions_are_all_rows_of_the_wanted_owners() -> None:
    """An owner of several rows gives them all; those that are not there, or wanted twice, do no harm."""
    owners = Owners(np.array([2, 5, 5, 5, 9], np.int64), np.arange(5, dtype=np.int64))
    assert owners.positions(np.array([5, 9, 5, 1, 99])).tolist() == [1, 2, 3, 4]
    assert owners.positions(np.empty(0, np.int64)).tolist() == []


def test_a_number_takes_two_bytes() -> None:
    """A vector takes 2 bytes a dimension, stored and in memory: 10,000 of 384 numbers take 8 MB."""
    vectors = unit_vectors(100, dimension=384)
    matrix = ExactMatrix(384, 100)
    matrix.append(list(range(100)), encode(vectors))
    assert {len(stored) for stored in encode(vectors)} == {768}
    assert matrix.view().whole().rows.nbytes == 100 * 768


def test_equal_rows_are_equally_near_wherever_they_stand() -> None:
    """Else chunks of one text would not be in order of id: a product's last digit depends on the place."""
    row = unit_vectors(1, seed=3, dimension=48)
    others = unit_vectors(20, seed=4, dimension=48)
    vectors = np.concatenate([row, others[:7], row, others[7:9], row, others[9:], row])
    matrix = ExactMatrix(48, len(vectors))
    keys = np.arange(1, len(vectors) + 1, dtype=np.int64)
    matrix.append(keys.tolist(), encode(vectors))
    matrix.chunks = matrix.chunks.adding(keys, matrix.rows_of(keys))
    view = matrix.view()
    same = [1, 9, 12, len(vectors)]
    queries = unit_vectors(2_000, seed=5, alike=0.5, dimension=48)
    for wanted in (same, same[1:], keys.tolist()):
        near = view.similarities(view.chunks, wanted, queries)[:, [key in same for key in wanted]]
        assert (near == near[:, :1]).all()


def test_half_precision_is_widened_exactly() -> None:
    """Every finite number, whatever its exponent and sign."""
    every = np.arange(2**16, dtype=np.uint16).view(np.float16)
    finite = every[np.isfinite(every)].reshape(-1, 2)
    assert (widened(finite).view(np.uint32) == finite.astype(np.float32).view(np.uint32)).all()
