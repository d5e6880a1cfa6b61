"""Chunks become passages, and no document crowds the others out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.search.candidates_world import place

from mdvec.search.passages import Ranked, _joined, joined_passages, single_chunks


def candidates(evidence: dict[int, float], tokens: int = 100) -> list[Ranked]:
    """Return candidates of so many tokens each, best first; chunk 203 is number 3 of document 2."""
    order = sorted(evidence, key=lambda chunk: (-evidence[chunk], chunk))
    return [Ranked(at, place(chunk, tokens=tokens), evidence[chunk]) for at, chunk in enumerate(order)]


def found(
    evidence: dict[int, float], per_document: int | None = None, tokens: int = 100
) -> list[tuple[int, ...]]:
    passages = joined_passages(candidates(evidence, tokens), per_document=per_document, documents=9)
    return [tuple(chunk.id for chunk in each.chunks) for each in passages]


def test_neighbours_become_one_passage() -> None:
    """In the order of the document, the best of them in front or not."""
    assert found({101: 8.0, 102: 7.5, 100: 7.0, 205: 6.0}) == [(100, 101, 102), (205,)]


def test_a_passage_grows_until_it_is_long_enough() -> None:
    """Many short chunks become one passage."""
    evidence = {101: 8.0, 102: 7.9, 103: 7.8, 104: 7.7, 105: 7.6, 106: 7.5}
    for tokens, chunks in ((80, 4), (100, 3), (150, 2), (250, 1)):
        alone = _joined(candidates(evidence, tokens))
        assert {len(passage) for _, passage in alone[:-1]} == {chunks}


def test_passages_that_touch_become_one() -> None:
    """Where the better one stands, as long as it stays short enough, and only of one document."""
    assert found({101: 8.0, 250: 7.9, 102: 3.0}) == [(101, 102), (250,)]
    assert found({102: 8.0, 101: 1.0, 103: 0.5}) == [(101, 102, 103)]
    assert found({101: 8.0, 103: 7.0, 201: 6.0, 102: 3.0}, tokens=250) == [(101, 102, 103), (201,)]
    assert found({101: 8.0, 102: 7.9, 103: 7.8}, tokens=400) == [(101, 102), (103,)]
    assert found({199: 8.0, 200: 7.9}) == [(199,), (200,)]


def test_only_the_best_passages_are_joined_by_touch() -> None:
    """What is far down says too little of the question to stand with the first hit."""
    others = {100 * number: 8.0 - number / 10 for number in range(2, 12)}
    assert found({101: 8.0, 102: 3.0, **others})[0] == (101,)


def test_a_neighbour_that_is_far_behind_does_not_join() -> None:
    """It says little of the question."""
    for evidence, passages in ((3.9, 2), (4.1, 1)):
        assert len(_joined(candidates({101: 8.0, 102: evidence}))) == passages


def test_other_documents_come_first() -> None:
    """A further passage has to be clearly better than what others have, or fills free places."""
    assert found({101: 8.0, 150: 7.0, 201: 6.0, 301: 5.9}) == [(101,), (201,), (301,), (150,)]
    assert found({101: 8.0, 150: 7.9, 201: 3.0}) == [(101,), (150,), (201,)]
    assert len(found({100 + 10 * number: 9.0 - number for number in range(5)})) == 5


def test_a_document_has_as_many_passages_as_wanted() -> None:
    """The best ones."""
    evidence = {101: 8.0, 110: 7.0, 120: 6.0, 201: 1.0}
    assert found(evidence, per_document=1) == [(101,), (201,)]
    assert found(evidence, per_document=2) == [(101,), (110,), (201,)]


EVIDENCE = st.dictionaries(st.integers(100, 399), st.floats(-5, 15), max_size=60)


@given(EVIDENCE)
def test_documents_keep_the_order_of_their_best_chunks(evidence: dict[int, float]) -> None:
    """Evidence falls, every chunk is shown once, and documents stay in order, whatever is joined."""
    ranked = candidates(evidence)
    passages = joined_passages(ranked, per_document=None, documents=9)
    assert [each.evidence for each in passages] == sorted((each.evidence for each in passages), reverse=True)
    assert sorted(chunk.id for each in passages for chunk in each.chunks) == sorted(evidence)
    alone = single_chunks(ranked, per_document=1)
    documents = dict.fromkeys(each.best.place.document_id for each in passages)
    best = {each.best.place.document_id: each.evidence for each in alone}
    assert [best[each] for each in documents] == [each.evidence for each in alone]
    capped = joined_passages(ranked, per_document=1, documents=9)
    assert [each.best for each in capped] == [each.best for each in alone]


@given(EVIDENCE, st.integers(1, 3))
def test_the_documents_with_the_best_candidates_are_enough(
    evidence: dict[int, float], documents: int
) -> None:
    """So many documents give the same first passages as all of them."""
    ranked = candidates(evidence)
    every = joined_passages(ranked, per_document=None, documents=9)
    some = joined_passages(ranked, per_document=None, documents=documents)
    assert some[:documents] == every[:documents]
