"""Which terms are looked for."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mdvec.model.ids import ChunkId
from mdvec.model.query import Scope
from mdvec.search.lexical import find_by_words
from mdvec.stores.interface import Holding, LexicalFields

COMMON, RARE = 9_000, 5


class Recorder:
    """An index that remembers what it was asked for; "the" and "of" are common, "retry" is rare."""

    def __init__(self, chunks: int) -> None:
        self.asked: list[str] = []
        self._known = {"the": COMMON, "of": COMMON, "retry": RARE}
        self._chunks = chunks

    def put(self, ids: Sequence[ChunkId], fields: Sequence[LexicalFields]) -> None:
        raise AssertionError

    def holding(self, terms: Sequence[str]) -> Holding:
        return Holding(self._chunks, {term: self._known[term] for term in terms if term in self._known})

    def search(self, terms: Sequence[str], limit: int, scope: Scope) -> list[tuple[ChunkId, float]]:
        self.asked = list(terms)
        return [(ChunkId(1), 1.0)]


@pytest.mark.parametrize(
    ("query", "chunks", "asked"),
    [
        ("the retry of things", 10_000, ["retry"]),
        ("the of", 10_000, ["the", "of"]),
        ("the retry", 100_000, ["the", "retry"]),
        ("unknown", 10_000, []),
    ],
)
def test_common_terms_are_left_out_while_others_are_left(query: str, chunks: int, asked: list[str]) -> None:
    """A term in more than a quarter of the chunks decides little and costs most."""
    index = Recorder(chunks)
    find_by_words(query, index=index, limit=5, scope=Scope(()))
    assert index.asked == asked


def test_nothing_is_too_common_in_a_small_index() -> None:
    """In a folder of ten notes every word counts."""
    index = Recorder(10)
    index._known = {"the": 9, "retry": 1}
    find_by_words("the retry", index=index, limit=5, scope=Scope(()))
    assert index.asked == ["the", "retry"]


def test_the_perfect_score_is_that_of_the_terms_looked_for() -> None:
    """Otherwise a common word would make every match look weak."""
    evidence = find_by_words("the retry", index=Recorder(10_000), limit=5, scope=Scope(()))
    assert evidence.perfect == pytest.approx(2.2 * Holding(10_000, {"retry": RARE}).idf("retry"))
