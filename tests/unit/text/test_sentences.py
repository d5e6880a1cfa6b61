"""Ends of sentences in Japanese and English."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdvec.text.sentences import sentence_ends


def _sentences(text: str) -> list[str]:
    ends = sentence_ends(text)
    return [text[start:end].strip() for start, end in zip([0, *ends], ends, strict=False)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("今日は晴れ。明日は雨！本当？", ["今日は晴れ。", "明日は雨！", "本当？"]),
        ("「行こう。」彼は立った。", ["「行こう。」", "彼は立った。"]),
        ("「行こう。」と言った。次へ。", ["「行こう。」と言った。", "次へ。"]),
        ("「はい」「いいえ」\n次", ["「はい」", "「いいえ」", "次"]),
        ("まさか…… 本当だ。", ["まさか……", "本当だ。"]),
        ("それは…違う。", ["それは…違う。"]),
        ("値は３．１４です。次。", ["値は３．１４です。", "次。"]),
        ("すごい!次です。", ["すごい!", "次です。"]),
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ('He said "Stop." Then he left.', ['He said "Stop."', "Then he left."]),
        ("Pi is 3.14 here. Next.", ["Pi is 3.14 here.", "Next."]),
        ("Use e.g. this one. See Fig. 2 now.", ["Use e.g. this one.", "See Fig. 2 now."]),
        ("I said no. Then he left.", ["I said no.", "Then he left."]),
        ("Written by J. Smith. Done.", ["Written by J. Smith.", "Done."]),
        ("1. First item\n2. Second item", ["1. First item\n2. Second item"]),
        ("It was 1999. Then it ended.", ["It was 1999.", "Then it ended."]),
        ("See a.md and b.py now", ["See a.md and b.py now"]),
        ("A title\n\nA text", ["A title", "A text"]),
        ("Spaces after it?  \n \n\nNext", ["Spaces after it?", "Next"]),
        ("Mixed. 日本語も。And back.", ["Mixed.", "日本語も。", "And back."]),
    ],
)
def test_sentences_end_where_a_reader_would_stop(text: str, expected: list[str]) -> None:
    """Stops, quotations, abbreviations, decimals and list numbers are told apart."""
    assert _sentences(text) == expected


@pytest.mark.parametrize("text", ["", "  \n\n \u3000"])
def test_blank_text_has_no_sentence(text: str) -> None:
    """Without text there is no sentence."""
    assert sentence_ends(text) == []


@given(st.text(alphabet='a1 .。！?…」「)"\n\u3000é', max_size=60))
def test_sentences_hold_all_text_in_order(text: str) -> None:
    """Ends ascend and the last one is the end of what is not blank, for every text."""
    ends = sentence_ends(text)
    assert ends == sorted(set(ends))
    assert (ends[-1] if ends else 0) == len(text.rstrip())
    assert all(text[start:end].strip() for start, end in zip([0, *ends], ends, strict=False))
