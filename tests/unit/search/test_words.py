"""Which terms are looked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import pytest
from tests.contract.store_world import World

from mdvec.search.words import Words, find_by_words
from mdvec.stores.interface import View
from mdvec.stores.records import FEW_CHUNKS, ChunkTerms, DocumentFrequencies, Groups
from mdvec.text.indexed_terms import index_terms
from mdvec.types.ids import ChunkId, CollectionId
from mdvec.types.query import Where

COMMON, RARE = 9_000, 5
NOTES = CollectionId(1)


class Recorder:
    """A snapshot of one collection that knows how common some terms are, and remembers its calls."""

    def __init__(self, known: Mapping[str, int], chunks: int = 10_000, *, found: int = 10_000) -> None:
        self.calls: list[tuple[list[str], list[str]]] = []
        self.counted: list[str] = []
        self.groups: Sequence[Sequence[str]] = ()
        self._known = known
        self._chunks = chunks
        self._found = found
        self.words = self

    def holds_few(self, where: Where) -> bool:
        assert where.collections == (NOTES,)
        return self._chunks <= FEW_CHUNKS

    def frequencies(self, terms: Sequence[str]) -> DocumentFrequencies:
        self.counted += terms
        of_term = {term: self._known[term] for term in terms if term in self._known}
        return DocumentFrequencies(self._chunks, of_term)

    def holding(self, wanted: Sequence[Groups], _where: Where) -> list[list[ChunkId]]:
        [self.groups] = wanted
        return [[]]

    def bm25(
        self, terms: Sequence[str], _where: Where, limit: int, *, must: Sequence[str] = ()
    ) -> list[tuple[ChunkId, float]]:
        self.calls.append((list(terms), list(must)))
        found = self._found if must else self._chunks
        return [(ChunkId(number), 1.0) for number in range(min(limit, found))]


def looked_for(text: str, known: Mapping[str, int], chunks: int = 10_000) -> list[str]:
    recorder = Recorder(known, chunks)
    find(text, recorder)
    return recorder.calls[0][0]


def find(text: str, recorder: Recorder, limit: int = 200) -> Words:
    return find_by_words(text, cast("View", recorder), where=Where((NOTES,)), limit=limit)


RETRY = {"retri": RARE, "=retry": RARE}


@pytest.mark.parametrize(
    ("known", "chunks", "terms"),
    [
        ({"news": COMMON, "=news": COMMON, **RETRY}, 10_000, ["retri", "=retry"]),
        ({"news": COMMON, "=news": COMMON}, 10_000, ["news", "=news"]),
        ({"news": COMMON, **RETRY}, 100_000, ["news", "retri", "=retry"]),
        ({"news": 900, "retri": 1}, 1_000, ["news", "retri"]),
        ({}, 10_000, []),
    ],
)
def test_common_terms_are_left_out_while_others_are_left(
    known: dict[str, int], chunks: int, terms: list[str]
) -> None:
    """A term in more than a quarter of a large index decides little and costs most."""
    assert looked_for("news retry", known, chunks) == terms


@pytest.mark.parametrize(
    ("known", "limit", "essential"),
    [
        # The rarest hold enough chunks, and say more than half.
        ({"alpha": 1_500, "beta": 1_500, "gamma": 2_400}, 200, ["alpha", "beta"]),
        # The rarest holds enough, but says a third: a chunk with both others may be the best.
        ({"alpha": 2_300, "beta": 2_350, "gamma": 2_400}, 200, ["alpha", "beta"]),
        ({"alpha": 2_300, "beta": 2_350}, 200, ["alpha"]),
        # The rarest hold too few chunks to choose among.
        ({"alpha": 900, "beta": 900, "gamma": 2_400}, 200, ["alpha", "beta", "gamma"]),
        # More are wanted, so more are looked at.
        ({"alpha": 1_500, "beta": 1_500, "gamma": 2_400}, 400, ["alpha", "beta", "gamma"]),
    ],
)
def test_common_terms_only_count_where_rare_ones_find_enough(
    known: dict[str, int], limit: int, essential: list[str]
) -> None:
    """What holds a common word of the question alone is not among the best, and most of what is held."""
    recorder = Recorder(known)
    find("alpha beta gamma", recorder, limit)
    ((terms, must),) = recorder.calls
    assert sorted(terms) == sorted(known)
    assert sorted(must) == essential


def test_among_few_chunks_every_term_finds() -> None:
    """However common it is there."""
    recorder = Recorder({"alpha": 1_900, "beta": 1_950}, chunks=5_000)
    find("alpha beta", recorder, 10)
    assert recorder.calls == [(["alpha", "beta"], ["alpha", "beta"])]


def test_common_terms_find_where_rare_ones_find_too_little() -> None:
    """As where a filter leaves out what holds a rare term."""
    recorder = Recorder({"alpha": 2_300, "beta": 2_350}, found=3)
    assert len(find("alpha beta", recorder).scores) == 200
    assert recorder.calls == [(["alpha", "beta"], ["alpha"]), (["alpha", "beta"], [])]


def test_words_among_japanese_count_three_times() -> None:
    """API in a Japanese question says as much as a word of four kanji."""
    known = {"api": RARE, "=api": RARE, "設定": RARE}
    assert looked_for("APIの設定", known) == ["api"] * 3 + ["=api"] * 3 + ["設定"]
    assert looked_for("API", known) == ["api", "=api"]


def test_a_lone_character_does_not_count_while_a_bigram_is_known() -> None:
    """In a text of another language, or another word, it is a chance meeting."""
    assert looked_for("設定の値段", {"設定": RARE, "設": RARE, "値": RARE}) == ["設定"]


@pytest.mark.parametrize(
    ("text", "known", "terms"),
    [
        ("宿はどこ", {"宿": RARE, "どこ": RARE}, ["宿", "どこ"]),
        ("宿はどこ", {"どこ": RARE}, ["どこ"]),
        ("to be or not to be", {"=to": RARE, "=be": RARE}, ["=to", "=be"]),
        ("the retry", {"=the": RARE, **RETRY}, ["retri", "=retry"]),
    ],
)
def test_what_says_little_is_a_last_resort(text: str, known: dict[str, int], terms: list[str]) -> None:
    """Lone characters, particles and words like "the" count when nothing else is known."""
    assert looked_for(text, known) == terms


def test_what_says_little_is_not_counted_while_something_else_is_known() -> None:
    """Half of all chunks may hold it, and the store reads as much to count them."""
    recorder = Recorder(RETRY)
    find("how to retry", recorder)
    assert not {"how", "=how", "to", "=to"}.intersection(recorder.counted)


def test_a_word_in_hiragana_is_a_subject() -> None:
    """Alone, it is no particle: what holds it is a sure hit, and half of it is half a hit."""
    for known, weight in ({"きり": RARE, "りん": RARE}, 1.0), ({"きり": RARE}, 0.5):
        found = find("きりん", Recorder(known))
        assert found.matched_weight == pytest.approx(weight, abs=0.2)
    assert find("きりんの図", Recorder({"きり": RARE, "りん": RARE})).matched_weight == 0


def test_the_max_score_is_that_of_the_terms_looked_for() -> None:
    """Minor terms reach half of their share, words among Japanese count three times."""
    recorder = Recorder({"api": RARE, "=api": RARE, "設定": RARE, "の設": RARE})
    idf = DocumentFrequencies(10_000, {"api": RARE}).idf("api")
    assert find("APIの設定", recorder).max_score == pytest.approx(2.2 * idf * (3 + 1.5 + 1 + 0.5))


def test_unknown_words_weigh_as_the_rarest_would() -> None:
    """A word that no chunk holds weighs as the rarest one would."""
    evidence = find("alpha beta", Recorder({"alpha": 1, "=alpha": 1}, chunks=300))
    known, missing = DocumentFrequencies(300, {"x": 1}).idf("x"), DocumentFrequencies(300, {}).largest_idf
    assert evidence.matched_weight == pytest.approx(known / (known + missing))
    assert find("alpha beta", Recorder({})).matched_weight == 0.0


@pytest.mark.parametrize(
    ("text", "known"), [("how to retry", True), ("the retry of news", False), ("the of", True)]
)
def test_a_word_of_the_subject_that_no_chunk_holds_is_missed(text: str, known: bool) -> None:
    """Function words are not."""
    assert find(text, Recorder(RETRY)).all_known is known


def test_a_word_of_all_like_texts_tells_them_from_others(world: World) -> None:
    """It is in most chunks, but parts of a manual count once: they hold three words, the note only one."""

    def add(path: str, text: str) -> ChunkId:
        terms = index_terms(text)
        [chunk] = world.add(path, [text], terms=[ChunkTerms(terms.main, terms.minor)])
        return chunk

    note = add("flat.md", "The tap drips: write to the landlord.")
    parts = [add(f"{number}.md", f"If oil drips from housing {number}, stop it.") for number in range(30)]
    sample = [note, add("bread.md", "Knead the dough."), add("tax.md", "Pay in May."), parts[0]]
    where = Where(world.collections)
    with world.store.read() as view:
        of_all, of_sample = (
            find_by_words("stop the oil of the housing, landlord", view, where=where, limit=99, sample=each)
            for each in ((), sample)
        )
    assert of_all.scores[note] > of_all.scores[parts[0]]
    assert of_sample.scores[note] < of_sample.scores[parts[0]]
    assert of_sample.matched_weight == of_all.matched_weight == 1
    assert next(iter(of_sample.scores)) in parts


@pytest.mark.parametrize(("notes", "says"), [(8, True), (240, False)])
def test_a_word_is_not_common_because_notes_are_few(world: World, notes: int, says: bool) -> None:
    """Most of ten notes may hold a word that is rare elsewhere; of hundreds they do not by chance."""
    for number in range(notes):
        words = index_terms(f"phone of {number}" if number % 4 else f"bread {number}")
        world.add(f"{number}.md", [f"{number}"], terms=[ChunkTerms(words.main, words.minor)])
    with world.store.read() as view:
        found = find_by_words("the phone", view, where=Where(world.collections), limit=notes)
        assert len(found.scores) == 0.75 * notes
        assert (found.max_score > 1) is says
        assert (max(found.scores.values()) > 1) is says
        stop_words = find_by_words("of the", view, where=Where(world.collections), limit=notes)
        assert stop_words.scores
        assert max(stop_words.scores.values()) < 1


def test_a_word_with_hyphens_is_looked_for_as_texts_write_it() -> None:
    """Its parts alone are other words, unless texts have all of them."""
    email = {"email": RARE, "e": COMMON}
    assert set(looked_for("an e-mail", email)) == {"email"}
    assert find("an e-mail", Recorder(email)).all_known
    assert set(looked_for("an e-mail", email | {"mail": RARE})) == {"email", "mail"}


@pytest.mark.parametrize(
    ("query", "known", "groups"),
    [
        ("news of the retry", ["news"], [("news",), ("retri",)]),
        ("an e-mail", ["email"], [("e", "email", "=email"), ("mail", "email", "=email")]),
        ("オムツ替え", ["オム"], [("オム",), ("ムツ",), ("ツ替",)]),
        ("オムツ替え", ["おむ", "むつ"], [("オム", "おむ", "むつ"), ("ムツ", "おむ", "むつ"), ("ツ替",)]),
        ("的を射る", ["的"], []),
        ("かれー", ["カレ", "レー"], [("かれ", "カレ", "レー"), ("れー", "カレ", "レー")]),
        ("やちん", ["家賃"], [("やち", "家賃"), ("ちん", "家賃")]),
    ],
)
def test_a_passage_with_every_word_may_have_it_in_another_spelling(
    query: str, known: list[str], groups: list[tuple[str, ...]]
) -> None:
    """Function words, and pairs of letters with hiragana, are not looked for."""
    recorder = Recorder(dict.fromkeys(known, RARE))
    find(query, recorder)
    assert [*recorder.groups] == groups


def test_a_translation_counts_as_the_word() -> None:
    """A text in the other language lacks nothing then; both together are no more than one of them."""
    asked = "花粉症"
    here = find(asked, Recorder({"花粉": RARE, "粉症": RARE}))
    there = find(asked, Recorder({"hay": RARE, "fever": RARE}))
    both = find(asked, Recorder({"花粉": RARE, "粉症": RARE, "hay": RARE, "fever": RARE}))
    assert here.all_known
    assert there.all_known
    assert there.matched_weight == 1
    assert both.max_score == here.max_score
    assert not find(asked, Recorder({"hay": RARE})).all_known


@pytest.mark.parametrize(
    ("query", "known", "terms"),
    [
        ("花粉症", ["花粉", "粉症", "hay", "fever"], ["花粉", "花粉", "粉症", "粉症", "hay", "fever"]),
        ("hay fever", ["hay", "fever", "花粉", "粉症"], ["hay", "hay", "fever", "fever", "花粉", "粉症"]),
        ("打合せ", ["打ち", "ち合", "合わ", "わせ"], ["打ち", "ち合", "合わ", "わせ"]),
        ("花粉症", ["hay", "fever"], ["hay", "fever"]),
    ],
)
def test_another_form_counts_half_where_texts_have_the_word_as_typed(
    query: str, known: list[str], terms: list[str]
) -> None:
    """A page and its translation, of which the one in the language of the query is wanted."""
    recorder = Recorder(dict.fromkeys(known, RARE))
    found = find(query, recorder)
    assert recorder.calls[0][0] == terms
    assert set(found.scores.values()) == {0.5 if len(terms) > len(known) else 1.0}


def test_a_word_in_the_other_kana_counts_if_all_of_it_is_known() -> None:
    """One pair of its letters is a part of other words; a word that texts have in the other kana is known."""
    assert not find("オムツ", Recorder({"おむ": RARE})).all_known
    recorder = Recorder({"おむ": RARE, "むつ": RARE})
    assert find("オムツ", recorder).all_known
    assert recorder.calls[0][0] == ["おむ", "むつ"]
