"""Several queries in one search: their passages are merged."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.search.candidates_world import place

from mdvec.search.passages import Ranked, RankedPassage, ScoredPassage, merged_passages

CHUNKS = [place(100 * (number // 4) + number % 4) for number in range(12)]


@st.composite
def answers(draw: st.DrawFn) -> list[list[ScoredPassage]]:
    """Draw the passages of some queries: runs of chunks of one document, with scores that fall."""
    lists = []
    for _ in range(draw(st.integers(1, 4))):
        left = {*range(12)}
        own = []
        for best in draw(st.lists(st.integers(0, 11), unique=True)):
            first = draw(st.integers(best - best % 4, best))
            last = draw(st.integers(best, best - best % 4 + 3))
            if left.issuperset(range(first, last + 1)):
                left -= {*range(first, last + 1)}
                own.append(
                    RankedPassage(Ranked(best, CHUNKS[best], 0.0), tuple(CHUNKS[first : last + 1]), 0.0)
                )
        scores = sorted(draw(st.lists(st.floats(0, 1), min_size=len(own), max_size=len(own))), reverse=True)
        lists.append([ScoredPassage(each, score, "q") for each, score in zip(own, scores, strict=True)])
    return lists


@given(answers(), st.none() | st.integers(1, 3))
def test_a_passage_comes_once_and_the_best_first(lists: list[list[ScoredPassage]], most: int | None) -> None:
    """Each chunk is in one passage at most, with the best score of it as a best chunk; a list alone stays."""
    merged = merged_passages(lists, per_document=most, most=99)
    assert merged_passages(lists, per_document=most, most=2) == merged[:2]
    scores = [each.score for each in merged]
    assert scores == sorted(scores, reverse=True)
    shown = [chunk.id for each in merged for chunk in each.passage.chunks]
    assert len(shown) == len({*shown})
    for each in merged:
        ordinals = [chunk.ordinal for chunk in each.passage.chunks]
        assert each.passage.best.place in each.passage.chunks
        assert ordinals == [*range(ordinals[0], ordinals[-1] + 1)]
        documents = [other.passage.best.place.document_id for other in merged]
        assert most is None or documents.count(each.passage.best.place.document_id) <= most
    if most is None:
        found = {each.passage.best.place.id for own in lists for each in own}
        assert found <= {*shown}
        assert merged_passages(lists[:1], per_document=None, most=99) == lists[0]
