"""Products, similarities and candidates, on vectors shaped like those of the builtin model."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.contract.store_world import unit_vectors

from mdvec.errors import DamagedDatabaseError
from mdvec.stores import matrix
from mdvec.stores.matrix import (
    Codes,
    Matrix,
    Owners,
    VectorBlock,
    encode,
    rows_of,
    widened,
)
from mdvec.stores.records import VectorKind
from mdvec.types.ids import ChunkId


def test_both_products_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """The product by SIMD is that by numpy, but for the rounding of the query."""
    rows = unit_vectors(500, dimension=384).astype(np.float16)
    query = unit_vectors(1, seed=1, dimension=384)[0]
    block, nothing = VectorBlock(np.arange(500), rows), VectorBlock(np.arange(0), rows[:0])
    by_simd = block.products(query)
    assert nothing.products(query).shape == (0,)
    monkeypatch.setattr(matrix, "_HAS_NUMKONG", False)
    assert by_simd == pytest.approx(block.products(query), abs=2e-4)
    assert nothing.products(query).shape == (0,)


def grown(vectors: NDArray[np.float32], *, first: int, step: int) -> Matrix:
    """Return a matrix to which vectors were added in blocks; the owner of vector n is chunk n."""
    found = Matrix((VectorBlock(np.empty(0, np.int64), np.empty((0, vectors.shape[1]), np.float16)),))
    for start in (0, *range(first, len(vectors), step)):
        rows = vectors[start : first if start == 0 else start + step].astype(np.float16)
        ids = np.arange(start, start + len(rows)) + 1
        found = found.with_block(VectorBlock(ids, rows))
        found = found.with_owners(VectorKind.TEXT, np.stack([ids, ids], axis=1))
    return found


def test_a_matrix_does_not_change() -> None:
    """Rows and owners added later do not show in it; owners come in any order, and stay sorted."""
    vectors = unit_vectors(10, dimension=8).astype(np.float16)
    nothing = Matrix((VectorBlock(np.empty(0, np.int64), vectors[:0]),))
    before = nothing.with_block(VectorBlock(np.array([3, 5]), vectors[:2]))
    before = before.with_owners(VectorKind.TEXT, np.array([[1, 3], [2, 5]]))
    after = before.with_block(VectorBlock(np.arange(6, 14), vectors[2:]))
    after = after.with_owners(VectorKind.TEXT, np.array([[9, 13], [0, 6]]))
    assert before.owners[VectorKind.TEXT].ids.tolist() == [1, 2]
    assert before.owners[VectorKind.TEXT].rows.tolist() == [0, 1]
    assert (before.whole().rows == vectors[:2]).all()
    assert (after.whole().rows == vectors).all()
    assert after.owners[VectorKind.TEXT].ids.tolist() == [0, 1, 2, 9]
    assert after.owners[VectorKind.TEXT].rows.tolist() == [2, 0, 1, 9]
    assert after.owners[VectorKind.NAME] == before.owners[VectorKind.NAME]


@pytest.mark.parametrize("first", [1, 50, 100])
def test_blocks_find_what_one_finds(first: int) -> None:
    """However the rows were added; there are few blocks, and rows with codes are not copied."""
    vectors = unit_vectors(100, dimension=48, alike=0.5)
    whole = grown(vectors, first=100, step=1)
    assert len(whole.blocks) == 1
    added = grown(vectors, first=first, step=7)
    assert len(added.blocks) <= 5
    first_ids, first_rows = block_of(whole, 0, 60)
    coded = Matrix((VectorBlock(first_ids, first_rows, Codes.of(first_rows)),), whole.owners)
    coded = coded.with_block(VectorBlock(*block_of(whole, 60, 100)))
    assert [len(each.ids) for each in coded.blocks] == [60, 40]
    wanted = [100, 7, 3, 101, 55]
    queries = unit_vectors(20, seed=2, dimension=48, alike=0.5)
    for query in queries:
        found = nearest(whole, query)
        assert len(found) == 10
        assert nearest(added, query) == nearest(coded, query) == found
    expected = whole.similarities(VectorKind.TEXT, wanted, queries)
    for other in (added, coded):
        near = other.similarities(VectorKind.TEXT, wanted, queries)
        assert np.array_equal(near, expected, equal_nan=True)
    chunks = [ChunkId(each) for each in wanted]
    assert np.array_equal(added.vectors(chunks), whole.vectors(chunks), equal_nan=True)


def block_of(whole: Matrix, start: int, end: int) -> tuple[NDArray[np.int64], NDArray[np.float16]]:
    """Return ids and rows of a part of a matrix."""
    block = whole.whole()
    return block.ids[start:end], block.rows[start:end]


def nearest(found: Matrix, query: NDArray[np.float32]) -> list[tuple[int, float]]:
    """Return the ten nearest of the even chunks, which both ways of asking for them find."""
    products = found.products(query)
    even = frozenset(range(2, 101, 2))
    few = found.nearest(VectorKind.TEXT, products, query, 10, even)
    assert found.nearest(VectorKind.TEXT, products, query, 10, lambda ids: {*ids} & even) == few
    return few


def test_an_owner_may_have_several_rows() -> None:
    """It has all of them, and the largest value; one that is not there, or wanted twice, does no harm."""
    owners = Owners(np.array([2, 5, 5, 5, 9], np.int64), np.array([0, 4, 2, 3, 1], np.int64))
    some = owners.only([5, 9, 5, 1, 99])
    assert (some.ids.tolist(), some.rows.tolist()) == ([5, 5, 5, 9], [4, 2, 3, 1])
    ids, largest = some.largest(np.array([[1.0, 3.0, 2.0, 0.0], [-1.0, -3.0, -2.0, 5.0]]))
    assert (ids.tolist(), largest.tolist()) == ([5, 9], [[3.0, 0.0], [-1.0, 5.0]])
    assert not len(owners.only([]).ids)


def test_the_nearest_of_many_are_found() -> None:
    """A sample of many products shows about where the largest begin; what equals the last is there, too."""
    vectors = np.concatenate([unit_vectors(20_000, dimension=16)] * 2)
    many = grown(vectors, first=len(vectors), step=1)
    for query in unit_vectors(10, seed=9, dimension=16):
        near = many.similarities(VectorKind.TEXT, range(1, len(vectors) + 1), query[np.newaxis])[0]
        best = np.lexsort((np.arange(len(near)), -near))[:12]  # each vector is there twice
        found = many.nearest(VectorKind.TEXT, many.products(query), query, 11, lambda ids: {*ids})
        assert found == [(at + 1, near[at]) for at in best]


def test_a_number_takes_two_bytes() -> None:
    """A vector takes 2 bytes a dimension as it is stored, and comes back as it was rounded."""
    vectors = unit_vectors(100, dimension=384)
    stored = encode(vectors)
    assert {len(each) for each in stored} == {768}
    assert (rows_of(stored, "<f2", 384) == vectors.astype(np.float16)).all()


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
def test_what_is_no_number_is_damage(number: float) -> None:
    """It would be the nearest of all, or make every product one of no number."""
    vectors = unit_vectors(2, dimension=8)
    vectors[1, 3] = number
    for dtype in ("<f2", ">f2"):
        with pytest.raises(DamagedDatabaseError, match="a vector is damaged"):
            rows_of([row.astype(dtype).tobytes() for row in vectors], dtype, 8)


def test_equal_rows_are_equally_near_at_any_position() -> None:
    """Else chunks of one text would not be in order of id: a product's last digit depends on the position."""
    row = unit_vectors(1, seed=3, dimension=48)
    others = unit_vectors(20, seed=4, dimension=48)
    vectors = np.concatenate([row, others[:7], row, others[7:9], row, others[9:], row])
    whole = grown(vectors, first=len(vectors), step=1)
    same = [1, 9, 12, len(vectors)]
    everything = [*range(1, len(vectors) + 1)]
    queries = unit_vectors(2_000, seed=5, alike=0.5, dimension=48)
    for wanted in (same, same[1:], everything):
        near = whole.similarities(VectorKind.TEXT, wanted, queries)[:, [key in same for key in wanted]]
        assert (near == near[:, :1]).all()


def test_half_precision_is_widened_exactly() -> None:
    """Every finite number, whatever its exponent and sign."""
    every = np.arange(2**16, dtype=np.uint16).view(np.float16)
    finite = every[np.isfinite(every)].reshape(-1, 2)
    assert (widened(finite).view(np.uint32) == finite.astype(np.float32).view(np.uint32)).all()


@pytest.mark.parametrize("alike", [0.0, 0.8])
def test_codes_choose_the_nearest(alike: float) -> None:
    """The ten nearest in float32 are among the forty of the largest products by codes, however much alike."""
    vectors = unit_vectors(20_000, alike=alike, dimension=96)
    rows = vectors.astype(np.float16)
    block = VectorBlock(np.arange(len(rows)), rows, Codes.of(rows))
    found = 0
    for query in unit_vectors(100, seed=1, alike=alike, dimension=96):
        exact = vectors @ query
        products = block.products(query)
        assert np.abs(products - exact).max() < 0.01
        found += len({*np.argsort(-exact)[:10].tolist()} & {*np.argsort(-products)[:40].tolist()})
    assert found >= 999
