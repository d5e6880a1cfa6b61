"""What lexical search matches."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from mdvec.text.folding import normalise
from mdvec.text.indexed_terms import Terms, index_terms, terms_of
from mdvec.text.prose import Prose
from mdvec.text.terms import QueryTerms, query_terms, stem


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("設定", ["設定"]),
        ("設定値", ["設定", "定値"]),
        ("カタカナ", ["カタ", "タカ", "カナ"]),
        ("木", ["木"]),
        ("snake_case naïve v2", ["snake", "case", "naiv", "v2", "snakecas"]),
        ("हिन्दी खोज", ["हिन्दी", "खोज"]),
        ("서버 설정", ["서버", "설정"]),
        ("ค้นหา", ["ค้", "้น", "นห", "หา"]),
        ("--- !?", []),
        ("", []),
    ],
)
def test_main_terms_are_words_or_bigrams(text: str, terms: list[str]) -> None:
    """Spaced scripts give words, unspaced ones overlapping pairs."""
    assert index_terms(text).main.split() == terms


def test_english_words_give_a_stem_and_themselves() -> None:
    """Their forms meet in the stem; the word as it is written ranks its own form higher."""
    assert index_terms("Connecting the connections") == Terms(
        main="connect connect", words="=connecting =the =connections"
    )


@pytest.mark.parametrize(("forms", "word"), [("swam swum", "swim"), ("children", "child"), ("mice", "mouse")])
def test_irregular_forms_have_the_stem_of_their_word(forms: str, word: str) -> None:
    """Those that are as often other words, such as "found", are left."""
    assert {stem(each) for each in forms.split()} == {stem(word)}
    assert stem("found") == "found"


def test_japanese_gives_pairs_and_single_characters_once() -> None:
    """What crosses into a particle, and lone kanji, are minor: how often they occur says nothing."""
    terms = index_terms("設定を設定する。設定を")
    assert terms.main == "設定 設定 設定"
    assert terms.pairs == "定を を設 定す する"
    assert terms.singles == "設 定"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ｶﾞｲﾄﾞ", "ガイド"),
        ("レヴュー", "レビュー"),
        ("ソフトウエア", "ソフトウェア"),
        ("ウィスキー", "ウイスキー"),
        ("ファイヤウォール", "ファイアウォール"),
        ("佐々木", "佐佐木"),
        ("ＡＢＣ１２３", "abc123"),
        ("カ\u3099イト\u3099", "ガイド"),
        ("サーバー", "サーバ"),
        ("サ−バ", "サーバ"),
        ("Straße", "STRASSE"),
        ("㍍", "メートル"),
    ],
)
def test_spellings_of_one_word_give_the_same_terms(one: str, other: str) -> None:
    """Width, case, composition and long vowels do not matter."""
    assert index_terms(one) == index_terms(other)


def test_a_query_is_sorted_by_what_its_terms_tell() -> None:
    """Particles and endings are kept apart: they are looked for when nothing else is left."""
    found = query_terms("APIの設定はどこですか", limit=64)
    assert replace(found, spelled=(), translated=()) == QueryTerms(
        words=("api",),
        bigrams=("設定",),
        written=("=api",),
        pairs=("の設", "定は"),
        singles=("設", "定"),
        particles=("はど", "どこ", "こで", "です", "すか"),
    )


def test_words_that_stand_in_any_text_are_kept_apart() -> None:
    """How, to and the say nothing of what is asked."""
    terms = query_terms("How to retry the build?", limit=64)
    assert terms.words == ("retri", "build")
    assert terms.stop_words == ("=how", "=to", "=the")


def test_a_character_set_apart_is_a_term_of_its_own() -> None:
    """The user typed a word of one kanji."""
    assert query_terms("木 設定", limit=64).bigrams == ("木", "設定")


def test_query_terms_are_distinct_and_limited() -> None:
    """A repeated word is looked for once, and a long text does not make an endless query."""
    assert query_terms("x2 y2 x2 z2", limit=2).words == ("x2", "y2")


@given(st.text())
def test_no_text_gives_a_term_that_a_store_could_split(text: str) -> None:
    """Terms hold no quotes and no control characters, and spaces alone are between them."""
    terms = index_terms(text)
    for each in (terms.main, terms.minor):
        assert each == " ".join(each.split())
        assert not set("\"'\x00\x01") & set(each)


@given(st.text() | st.text("aé日- \n"))
def test_a_text_finds_itself(text: str) -> None:
    """Every term that a query looks for is one that indexing the same text gives."""
    indexed = index_terms(text)
    asked = query_terms(text, limit=10_000)
    kinds = (
        *(asked.words, asked.bigrams, asked.written, asked.pairs),
        *(asked.singles, asked.particles, asked.stop_words, asked.spellings),
    )
    assert {term for kind in kinds for term in kind} == {*indexed.main.split(), *indexed.minor.split()}


@given(st.lists(st.text(), min_size=1, max_size=5))
@example(["\x01", "a\u0301\u0301 \u0301b", "木", "ー", "", "ｶﾞ x"])
def test_texts_together_give_the_terms_that_each_gives_alone(texts: list[str]) -> None:
    """Whatever stands before and after a text, and whatever signs are in it."""
    together = terms_of([Prose(text, ()) for text in texts])
    alone = [terms_of([Prose(text, ())])[0] for text in texts]
    assert [_split(each) for each in together] == [_split(each) for each in alone]


def _split(terms: Terms) -> list[list[str]]:
    return [each.split() for each in (terms.main, terms.words, terms.pairs, terms.singles)]


@given(st.text())
def test_normalising_twice_changes_nothing(text: str) -> None:
    """A stored form is its own form."""
    once = normalise(text)
    assert index_terms(once) == index_terms(normalise(once))
