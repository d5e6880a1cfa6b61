"""What lexical search matches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdvec.text.terms import index_terms, normalise, query_terms


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Retry the Build", ["retry", "the", "build"]),
        ("設定", ["設定", "設", "定"]),
        ("設定値", ["設定", "定値", "設", "定", "値"]),
        ("カタカナ", ["カタ", "タカ", "カナ"]),
        ("木", ["木"]),
        ("config.tomlで設定", ["config", "toml", "で設", "設定", "設", "定"]),
        ("snake_case naïve don't", ["snake", "case", "naïve", "don", "t"]),
        ("हिन्दी खोज", ["हिन्दी", "खोज"]),
        ("서버 설정", ["서버", "설정"]),
        ("ค้นหา", ["ค้", "้น", "นห", "หา"]),
        ("--- !?", []),
        ("", []),
    ],
)
def test_terms_are_words_or_bigrams(text: str, terms: list[str]) -> None:
    """Spaced scripts give words, unspaced ones overlapping pairs and single Chinese characters."""
    assert index_terms(text) == terms


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ｶﾞｲﾄﾞ", "ガイド"),
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


def test_short_katakana_words_keep_their_final_long_vowel() -> None:
    """キー is not キ: only longer words drop their final mark."""
    assert normalise("キー") == "キー"
    assert normalise("コピー") != "コピ" or len("コピー") > 3


def test_a_query_drops_hiragana_pairs() -> None:
    """Particles and endings say nothing about the subject."""
    assert query_terms("設定はどこですか", limit=64) == ["設定", "定は"]


def test_a_query_of_hiragana_alone_keeps_them() -> None:
    """Otherwise nothing would be left to look for."""
    assert query_terms("ありがとう", limit=64) == ["あり", "りが", "がと", "とう"]


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("宿", ["宿"]),
        ("宿はどこ", ["宿は", "宿"]),
        ("宿泊予約", ["宿泊", "泊予", "予約"]),
        ("木 設定", ["木", "設定"]),
        ("木のURL", ["木の", "url"]),
    ],
)
def test_single_characters_are_looked_for_when_nothing_says_more(query: str, terms: list[str]) -> None:
    """A word of one kanji is found whatever follows it; one the user sets apart always counts."""
    assert query_terms(query, limit=64) == terms


def test_query_terms_are_distinct_and_limited() -> None:
    """A repeated word is looked for once, and a long text does not make an endless query."""
    assert query_terms("a b a c", limit=2) == ["a", "b"]


@given(st.text())
def test_no_text_gives_a_term_that_a_store_could_split(text: str) -> None:
    """Terms hold no white space, no quotes and no control characters."""
    for term in index_terms(text):
        assert term
        assert not any(character.isspace() or character in "\"'\x00" for character in term)


@given(st.text())
def test_normalising_twice_changes_nothing(text: str) -> None:
    """A stored form is its own form."""
    once = normalise(text)
    assert index_terms(once) == index_terms(normalise(once))
