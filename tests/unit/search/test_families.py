"""Like texts are one hit."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from numpy.typing import NDArray
from tests.unit.search.candidates_world import candidates as candidates_of
from tests.unit.search.candidates_world import place

from mdvec.search.candidates import Candidates
from mdvec.search.families import folded, without_titles
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


def footers(*, own: bool, shares: dict[int, float] | None = None, named: tuple[int, ...] = ()) -> Candidates:
    """Return four footers of a family, near by 1 to 4 deviations, and one other text of a document."""
    found = candidates_of({1: 1.0, 2: 2.0, 3: 3.0, 4: 4.0, 5: 2.9}, shares, named=named)
    places = [each._replace(skeleton=b"foot") for each in found.places[:4]]
    text = found.places[4]
    places.append(text._replace(document_id=places[0].document_id) if own else text)
    return replace(found, places=places)


def test_the_title_of_its_document_does_not_bring_a_footer_near() -> None:
    """A footer is as near as all of its family are on average, which leaves the best text first."""
    found = without_titles(footers(own=True))
    assert found.deviations.tolist() == found.above_unrelated.tolist() == [1.0, 2.0, 2.5, 2.5, 2.9]


def test_a_footer_with_words_of_the_query_may_be_a_little_nearer() -> None:
    """It is what was asked for if most of the family have such words."""
    some, most = (dict.fromkeys(range(1, last), 0.2) for last in (2, 4))
    assert without_titles(footers(own=True, shares=some)).deviations.tolist()[3] == 2.5
    assert without_titles(footers(own=True, shares=most)).deviations.tolist()[3] == 3.0


def test_what_tells_whole_notes_of_a_template_apart_counts() -> None:
    """No member is in a document with text of its own, so a title is what its note is about."""
    assert without_titles(footers(own=False)).deviations.tolist() == [1.0, 2.0, 3.0, 4.0, 2.9]


def test_a_footer_that_the_query_names_is_as_near_as_it_is() -> None:
    """Nor does it make the others nearer."""
    found = without_titles(footers(own=True, named=(4,)))
    assert found.deviations.tolist() == [1.0, 2.0, 2.0, 4.0, 2.9]


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
