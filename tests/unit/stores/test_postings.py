"""Postings in blocks, without a server."""

from __future__ import annotations

import numpy as np
import pytest

from mdvec.stores.postgres.postings import (
    CHUNKS_A_BLOCK,
    ENTRY_BYTES,
    WeighedTerm,
    best_first,
    packed,
    scored,
    unpacked,
    without,
)

LAST = CHUNKS_A_BLOCK - 1


def test_entries_come_back_as_they_were() -> None:
    """From the first chunk of a block to the last, up to the largest counts and lengths."""
    rows = [
        (7, LAST, 3, (32_767, 2)),
        (7, LAST + 1, 2**31 - 1, (1, 0)),
        (5, 0, 1, (1, 0)),
        (7, 5 * 2**40, 9, (4, 3)),
    ]
    blocks = packed(rows)
    assert [*blocks] == [(5, 0), (7, 0), (7, 1), (7, 5 * 2**40 // CHUNKS_A_BLOCK)]
    found = unpacked([(block, entries) for (term, block), entries in blocks.items() if term == 7])
    assert found.chunks.tolist() == [LAST, LAST + 1, 5 * 2**40]
    assert found.entries["length"].tolist() == [3, 2**31 - 1, 9]
    assert found.entries["counts"].tolist() == [[32_767, 2], [1, 0], [4, 3]]


def test_removed_chunks_leave_the_others_of_a_block() -> None:
    """Down to none, which are no bytes."""
    rows = [(1, CHUNKS_A_BLOCK + at, 1, (1, 0)) for at in (0, 3, LAST)]
    ((key, entries),) = packed(rows).items()
    left = without(key[1], entries, [CHUNKS_A_BLOCK + 3, 99_999])
    assert unpacked([(1, left)]).chunks.tolist() == [CHUNKS_A_BLOCK, CHUNKS_A_BLOCK + LAST]
    assert without(key[1], entries, [row[1] for row in rows]) == b""
    assert len(entries) == 3 * ENTRY_BYTES


def test_the_best_come_first_and_ties_in_order_of_id() -> None:
    """Also where a tie is cut."""
    chunks, scores = np.array([4, 5, 6, 7]), np.array([1.0, 2.0, 2.0, 2.0])
    assert best_first(chunks, scores, 2) == [(5, 2.0), (6, 2.0)]
    assert [chunk for chunk, _ in best_first(chunks, scores, 9)] == [5, 6, 7, 4]
    assert best_first(chunks[:0], scores[:0], 3) == []


def test_required_terms_find_and_others_count() -> None:
    """A chunk with an optional term alone is not found; a field weighs what all stores have it weigh."""
    one, other = (
        unpacked([(block, entries) for (_, block), entries in packed(rows).items()])
        for rows in (
            [(1, 600, 4, (1, 0)), (1, 2, 4, (2, 0))],
            [(2, 600, 4, (0, 1)), (2, 3, 4, (9, 0))],
        )
    )
    terms = [WeighedTerm(2.0, required=True, postings=one), WeighedTerm(1.0, required=False, postings=other)]
    chunks, scores = scored(terms, 4.0)
    assert chunks.tolist() == [2, 600]
    assert scores.tolist() == pytest.approx([2 * 2 / 3.2, 2 * 1 / 2.2 + 0.4 / 1.6])
    inside, alone = scored(terms, 4.0, np.array([3, 600]))
    assert inside.tolist() == [600]
    assert alone.tolist() == [scores[1]]
