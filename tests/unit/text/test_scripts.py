"""Telling Japanese from English, mixtures included."""

from __future__ import annotations

import pytest

from mdvec.text.scripts import holds_unspaced, is_unspaced
from mdvec.text.terms import is_unspaced_query


@pytest.mark.parametrize(
    ("text", "unspaced"),
    [
        ("The quick brown fox.", False),
        ("日本語の文章です。", True),
        ("Docker Compose で開発環境を立ち上げる手順を説明します。", True),
        ("各社の技術ブログ\n### Dropbox\n### GitHub\n### Leaner Technologies\n### SmartHR Tech Blog", True),
        ("The word 犬 means dog in Japanese.", False),
        ("Привет, мир", False),
        ("", False),
        ("123 --- 456", False),
        ("```\nnpm install\n```", False),
    ],
)
def test_a_text_is_what_most_of_it_is(text: str, unspaced: bool) -> None:
    """A few words of the other language, names, code and numbers change nothing."""
    assert is_unspaced(text) is unspaced


def test_a_long_text_is_told_by_its_beginning() -> None:
    """What comes after some pages of English does not count."""
    assert not is_unspaced("word " * 1_000 + "日本語" * 10_000)


def test_a_single_character_is_held() -> None:
    """Whatever the rest is written in."""
    assert holds_unspaced("how to type 々 in vim")
    assert not holds_unspaced("how to use Docker Compose")


@pytest.mark.parametrize(
    "text",
    [
        "SmartHR 使い方",
        "vimで文字コードを変える",
        "Docker Compose の使い方",
        "Obsidian Web Clipperの紹介",
        "Windows Subsystem for Linux を管理します",
        "Oncorhynchus ketaを日本語で？",
        "検索",
    ],
)
def test_a_japanese_query_may_hold_names_of_any_length(text: str) -> None:
    """Names are no prose, so what is around them decides."""
    assert is_unspaced_query(text)


@pytest.mark.parametrize(
    "text",
    [
        "how to type 々 in vim",
        "what is the difference between は and が",
        "what does 木漏れ日 mean",
        "how do I search for 東京都 in Obsidian?",
        "how to use Docker Compose",
        "",
    ],
)
def test_an_english_query_may_hold_a_japanese_word(text: str) -> None:
    """A word that is asked about does not make the question Japanese."""
    assert not is_unspaced_query(text)
