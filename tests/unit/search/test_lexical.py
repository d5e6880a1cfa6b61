"""Which terms are looked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from mdvec.stores.lexical import Holding, LexicalFields

from mdvec.search.fusion import LexicalEvidence
from mdvec.search.lexical import find_by_words
from mdvec.types.ids import ChunkId
from mdvec.types.query import Scope

COMMON, RARE = 9_000, 5


class Recorder:
    """An index that knows some terms and remembers what it was asked for."""

    def __init__(self, known: Mapping[str, int], chunks: int = 10_000) -> None:
        self.asked: list[str] = []
        self.inessential: list[str] = []
        self.names: list[str] = []
        self._known = known
        self._chunks = chunks

    def put(self, ids: Sequence[ChunkId], fields: Sequence[LexicalFields]) -> None:
        raise AssertionError

    def holding(self, terms: Sequence[str]) -> Holding:
        return Holding(self._chunks, {term: self._known[term] for term in terms if term in self._known})

    def search(
        self, terms: Sequence[str], limit: int, scope: Scope, inessential: Sequence[str] = ()
    ) -> list[tuple[ChunkId, float]]:
        self.asked, self.inessential = list(terms), list(inessential)
        return [(ChunkId(1), 1.0)]

    def chunks_named(self, folded: str, scope: Scope, limit: int) -> list[ChunkId]:
        self.names.append(folded)
        return [ChunkId(2)]


def asked(text: str, known: Mapping[str, int], chunks: int = 10_000) -> list[str]:
    index = Recorder(known, chunks)
    find(text, index)
    return [*index.asked, *index.inessential]


def find(text: str, index: Recorder, limit: int = 200) -> LexicalEvidence:
    return find_by_words(text, index=index, names=index, limit=limit, scope=Scope(()))


RETRY = {"retri": RARE, "=retry": RARE}


@pytest.mark.parametrize(
    ("known", "chunks", "terms"),
    [
        ({"news": COMMON, "=news": COMMON, **RETRY}, 10_000, ["retri", "=retry"]),
        ({"news": COMMON, "=news": COMMON}, 10_000, ["news", "=news"]),
        ({"news": COMMON, **RETRY}, 100_000, ["news", "retri", "=retry"]),
        ({"news": 9, "retri": 1}, 10, ["news", "retri"]),
        ({}, 10_000, []),
    ],
)
def test_common_terms_are_left_out_while_others_are_left(
    known: dict[str, int], chunks: int, terms: list[str]
) -> None:
    """A term in more than a quarter of a large index decides little and costs most."""
    assert asked("news retry", known, chunks) == terms


@pytest.mark.parametrize(
    ("known", "limit", "inessential"),
    [
        # The rarest hold enough chunks, and say more than half.
        ({"alpha": 1_500, "beta": 1_500, "gamma": 2_400}, 200, ["gamma"]),
        # The rarest holds enough, but says a third: a chunk with both others may be the best.
        ({"alpha": 2_300, "beta": 2_350, "gamma": 2_400}, 200, ["gamma"]),
        ({"alpha": 2_300, "beta": 2_350}, 200, ["beta"]),
        # The rarest hold too few chunks to choose among.
        ({"alpha": 900, "beta": 900, "gamma": 2_400}, 200, []),
        # More are wanted, so more are looked at.
        ({"alpha": 1_500, "beta": 1_500, "gamma": 2_400}, 400, []),
    ],
)
def test_common_terms_only_count_where_rare_ones_find_enough(
    known: dict[str, int], limit: int, inessential: list[str]
) -> None:
    """What holds a common word of the question alone is not among the best, and most of what is held."""
    index = Recorder(known)
    find("alpha beta gamma", index, limit)
    assert index.inessential == inessential
    assert sorted([*index.asked, *index.inessential]) == sorted(known)


def test_words_among_japanese_count_three_times() -> None:
    """API in a Japanese question says as much as a word of four kanji."""
    known = {"api": RARE, "=api": RARE, "設定": RARE}
    assert asked("APIの設定", known) == ["api"] * 3 + ["=api"] * 3 + ["設定"]
    assert asked("API", known) == ["api", "=api"]


def test_a_character_counts_where_its_bigram_occurs() -> None:
    """In a text of another language a lone character is a chance meeting."""
    assert asked("設定の値段", {"設定": RARE, "設": RARE, "値": RARE}) == ["設定", "設"]


@pytest.mark.parametrize(
    ("text", "known", "terms"),
    [
        ("宿はどこ", {"宿": RARE, "どこ": RARE}, ["宿"]),
        ("宿はどこ", {"どこ": RARE}, ["どこ"]),
        ("to be or not to be", {"=to": RARE, "=be": RARE}, ["=to", "=be"]),
        ("the retry", {"=the": RARE, **RETRY}, ["retri", "=retry"]),
    ],
)
def test_what_says_little_is_a_last_resort(text: str, known: dict[str, int], terms: list[str]) -> None:
    """Lone characters first, then particles and words like "the", when nothing else is known."""
    assert asked(text, known) == terms


def test_the_perfect_score_is_that_of_the_terms_looked_for() -> None:
    """Minor terms reach half of their share, words among Japanese count three times."""
    index = Recorder({"api": RARE, "=api": RARE, "設定": RARE, "の設": RARE})
    idf = Holding(10_000, {"api": RARE}).idf("api")
    assert find("APIの設定", index).perfect == pytest.approx(2.2 * idf * (3 + 1.5 + 1 + 0.5))


def test_what_is_known_of_a_query_is_weighed() -> None:
    """A word that no chunk holds weighs as the rarest one would."""
    evidence = find("alpha beta", Recorder({"alpha": 1, "=alpha": 1}, chunks=3))
    known, missing = Holding(3, {"x": 1}).idf("x"), Holding(3, {}).largest_idf
    assert evidence.known == pytest.approx(known / (known + missing))
    assert find("alpha beta", Recorder({})).known == 0.0


def test_names_are_asked_for_in_their_folded_form() -> None:
    """Documents called so are found whatever terms they hold."""
    index = Recorder({})
    assert find("Daily-Notes", index).named == {ChunkId(2)}
    assert index.names == ["daily notes"]
