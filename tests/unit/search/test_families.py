"""Like texts are one hit."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.unit.search.candidates_world import place

from mdvec.search.families import folded
from mdvec.search.passages import Ranked

RANKED = st.lists(st.tuples(st.integers(1, 2), st.sampled_from([b"", b"one", b"two", b"three"])))


def ranked(*families: tuple[int, bytes]) -> list[Ranked]:
    """Return candidates, best first, each with its collection and its skeleton; empty for no skeleton."""
    return [
        Ranked(at, place(100 * at, collection=collection)._replace(skeleton=skeleton or None), 9.0 - at)
        for at, (collection, skeleton) in enumerate(families)
    ]


def unnamed(candidates: list[Ranked]) -> NDArray[np.bool_]:
    """Return that the query names none of them."""
    return np.zeros(len(candidates), np.bool_)


def test_the_best_of_like_texts_represents_the_others() -> None:
    """These are counted and come last, in their order; what has no skeleton is like nothing."""
    candidates = ranked((1, b"foot"), (1, b""), (1, b"foot"), (1, b"own"), (1, b""), (1, b"foot"))
    found, similar = folded(candidates, unnamed(candidates))
    assert [each.at for each in found] == [0, 1, 3, 4, 2, 5]
    assert similar == {candidates[0].place.id: 2}


def test_what_the_query_names_is_not_folded() -> None:
    """A value in the query tells one of the like texts from the others."""
    candidates = ranked((1, b"foot"), (1, b"foot"), (1, b"foot"))
    found, similar = folded(candidates, np.array([False, True, False]))
    assert [each.at for each in found] == [0, 1, 2]
    assert [each.is_folded for each in found] == [False, False, True]
    assert similar == {candidates[0].place.id: 1}


def test_like_texts_of_two_collections_are_two_families() -> None:
    """A hit never represents texts that its reader may not read."""
    candidates = ranked((1, b"foot"), (2, b"foot"), (1, b"foot"), (2, b"foot"))
    found, similar = folded(candidates, unnamed(candidates))
    assert [each.at for each in found] == [0, 1, 2, 3]
    assert similar == {candidates[0].place.id: 1, candidates[1].place.id: 1}


@given(RANKED)
def test_folding_loses_nothing(families: list[tuple[int, bytes]]) -> None:
    """Each candidate is there once; first ones and others keep their order; all others are counted."""
    candidates = ranked(*families)
    found, similar = folded(candidates, unnamed(candidates))
    assert sorted(each.at for each in found) == [each.at for each in candidates]
    first = len(families) - sum(similar.values())
    ahead, behind = found[:first], found[first:]
    assert [each.is_folded for each in found] == [False] * len(ahead) + [True] * len(behind)
    assert ahead == sorted(ahead)
    assert behind == sorted(behind)
    keys = [(each.place.collection_id, each.place.skeleton or each.place.id) for each in found]
    assert len({*keys[:first]}) == first
    assert {*keys[first:]} <= {*keys[:first]}
    assert {*similar} <= {each.place.id for each in ahead}
