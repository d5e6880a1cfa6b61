"""Cutting a text into segments changes none of its pieces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdvec.embedding.builtin import segments
from mdvec.embedding.builtin.pieces import build_piece_table
from mdvec.embedding.builtin.segments import Segmenter

# Whole numbers as scores: sums are exact, so ties are broken alike however a text is cut.
_vocabularies = st.dictionaries(
    st.text("ab▁漢𠮷", min_size=1, max_size=5), st.integers(-9, -1), min_size=1, max_size=25
)
_texts = st.text("ab▁漢𠮷z\U0010ffff", max_size=60)


def _segmenter(vocabulary: dict[str, int]) -> Segmenter:
    scores = np.array([0, *vocabulary.values()], dtype=np.float32)
    return Segmenter(build_piece_table(["<unk>", *vocabulary], scores, unknown=0))


def _pieces(segmenter: Segmenter, text: str, *, whole: bool) -> tuple[list[int], list[int]]:
    codes = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    ids, ends = (segmenter.table if whole else segmenter).segment(codes)
    return ids.tolist(), ends.tolist()


@given(_vocabularies, st.lists(_texts, min_size=1, max_size=4))
@settings(max_examples=150, deadline=None)
def test_same_pieces(vocabulary: dict[str, int], texts: list[str]) -> None:
    """A text has the pieces of the search over all of it, and again when its segments are known."""
    segmenter = _segmenter(vocabulary)
    for text in [*texts, *texts]:
        assert _pieces(segmenter, text, whole=False) == _pieces(segmenter, text, whole=True)


def test_cuts_between_words() -> None:
    """A text is cut wherever no piece holds both neighbours."""
    table = _segmenter({"▁ab": -1, "▁b": -1, "漢": -1}).table
    codes = np.frombuffer("▁ab▁b漢漢".encode("utf-32-le"), dtype=np.uint32)
    assert table.cuts(codes).tolist() == [3, 5, 6]


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither many segments nor long ones stay in memory."""
    monkeypatch.setattr(segments, "_MAX_SEGMENTS", 3)
    segmenter = _segmenter({"a": -1, "aa": -3, "b": -1, "bb": -1, "c": -1})
    for text in ("a" * 40, "b" * 33, "ac", "abc", "bba", "abbc"):
        assert _pieces(segmenter, text, whole=False) == _pieces(segmenter, text, whole=True)
        assert len(segmenter._ids) == len(segmenter._lengths) <= segments._MAX_SEGMENTS
        assert max(map(len, segmenter._ids), default=0) <= segments._MAX_SEGMENT_CHARS


@given(st.lists(st.lists(st.text("ab漢z", max_size=8), min_size=1, max_size=6), min_size=1, max_size=4))
@settings(max_examples=150, deadline=None)
def test_ends_by_words_are_those_of_the_pieces(texts: list[list[str]]) -> None:
    """Where no piece goes on after a space, words are cut one by one, and remembered."""
    segmenter = _segmenter({"▁": -2, "▁a": -1, "ab": -1, "a": -2, "b": -2, "漢": -1, "▁b": -3})
    for words in [*texts, *texts]:
        text = "▁" + "▁".join(words)
        codes = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
        assert segmenter.ends(codes).tolist() == _pieces(segmenter, text, whole=True)[1]
