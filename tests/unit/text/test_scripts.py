"""Telling Japanese from English, mixtures included."""

from __future__ import annotations

import pytest

from mdvec.text.scripts import holds_unspaced, is_unspaced


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
