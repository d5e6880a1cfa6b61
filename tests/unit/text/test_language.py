"""How a query is written."""

from __future__ import annotations

import pytest

from mdvec.text.language import is_unspaced_query


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
