"""Other spellings: one word that is written in several ways is found by each of them."""

from __future__ import annotations

import pytest

from mdvec.text.indexed_terms import index_terms
from mdvec.text.terms import other_spellings, query_terms


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("an e-mail", "email"),
        ("an email", "e-mail"),
        ("well-\nknown", "well known"),
        ("well-\nknown", "wellknown"),
        ("GPT-4", "gpt4"),
        ("GPT4", "gpt-4"),
        ("ISBN 978-4-87311-778-2", "9784873117782"),
        ("1,234,567円", "1234567"),
        ("費用は年間１，２３４円です", "1234"),
        ("返信はe-mailで送る", "email"),
        ("前はU.S.A.にいた", "USA"),
        ("a neuro\u2010transmitter", "neurotransmitter"),
        ("a pre\u2011flight check", "preflight"),
        ("crypto\u00ad\ngraphy", "cryptography"),
        ("photo- \ngraphy", "photography"),
        ("archi¬\ntecture", "architecture"),
        ("in the U.S.A.", "USA"),
        ("a Ph.D. thesis", "phd"),
        ("a trans-\n  formation", "transformation"),
        ("証明書を発\n行する", "発行"),
        ("マーク・トウェイン", "クト"),
        ("A N N U A L report", "annual"),
        ("検 索 エ ン ジ ン", "検索"),
        ("打ち合わせの記録", "打合せ"),
        ("打合せの記録", "打ち合わせ"),
        ("引っ越しをする", "引越"),
        ("ネコが来た", "ねこ"),
        ("ウサギの餌", "うさぎ"),
        ("ラーメンの店", "らーめん"),
        ("らーめんの店", "ラーメン"),
        ("done 🎉", "🎉"),
    ],
)
def test_a_word_is_found_in_its_other_spellings(text: str, query: str) -> None:
    """The terms of the text hold one by which the query looks."""
    terms = index_terms(text)
    asked = query_terms(query, limit=9)
    held = {*terms.main.split(), *terms.minor.split()}
    kana = {term for word in asked.kana for term in word}
    assert held & {*asked.words[:1], *asked.bigrams, *asked.spellings, *asked.particles, *kana}


def test_two_letters_find_the_other_kana_only_where_nothing_else_is_known() -> None:
    """Most pairs of hiragana are particles or parts of words; longer words are looked for in both kana."""
    asked = query_terms("ネコ", limit=9)
    assert (asked.bigrams, asked.spellings, asked.particles, asked.kana) == (("ネコ",), (), ("ねこ",), ())
    assert query_terms("オムツ", limit=9).kana == (("おむ", "むつ"),)
    assert query_terms("かれー", limit=9).kana == (("カレ", "レー"),)
    assert query_terms("おむつとインターネット", limit=9).kana == ()


@pytest.mark.parametrize(
    "text",
    [
        "私の本を山で読む",  # particles
        "サーバーとネットワーク",  # foreign words: long, or with a long vowel
        "1 2 3 4 5 and a b c",
        "-x, a--b, 1,5 and 12,34",
        "見る人と話した人",
    ],
)
def test_other_words_have_no_other_spelling(text: str) -> None:
    """Neither what stands between two words, nor numbers, nor a few letters in a row."""
    assert other_spellings(text) == []
