"""Cutting a text into segments or words changes none of its pieces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from conversion.tables import build_piece_table
from mdvec.embedding.builtin import segments
from mdvec.embedding.builtin.characters import CharacterMap
from mdvec.embedding.builtin.segments import Segmenter
from mdvec.embedding.builtin.tokenizer import Tokenizer, Tokens

# Whole numbers as scores: sums are exact, so ties are broken alike however a text is cut.
_vocabularies = st.dictionaries(
    st.text("ab▁漢𠮷", min_size=1, max_size=5), st.integers(-9, -1), min_size=1, max_size=25
)
_texts = st.text("ab▁漢𠮷z\U0010ffff", max_size=60)


def _segmenter(vocabulary: dict[str, int]) -> Segmenter:
    scores = np.array([0, *vocabulary.values()], dtype=np.float32)
    return Segmenter(build_piece_table(["<unk>", *vocabulary], scores, unknown=0))


def _codes(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)


def _pieces(segmenter: Segmenter, text: str, *, whole: bool) -> tuple[list[int], list[int]]:
    ids, ends = (segmenter.table if whole else segmenter).segment(_codes(text))
    return ids.tolist(), ends.tolist()


@given(_vocabularies, st.lists(_texts, min_size=1, max_size=4))
@settings(max_examples=150, deadline=None)
def test_same_pieces(vocabulary: dict[str, int], texts: list[str]) -> None:
    """A text has the pieces of the search over all of it, and again when its segments are known."""
    segmenter = _segmenter(vocabulary)
    for text in [*texts, *texts]:
        assert _pieces(segmenter, text, whole=False) == _pieces(segmenter, text, whole=True)


@given(_vocabularies, st.lists(st.text("ab▁漢z", max_size=9), min_size=1, max_size=30))
@settings(max_examples=60, deadline=None)
def test_same_pieces_of_many_segments_at_once(vocabulary: dict[str, int], texts: list[str]) -> None:
    """Short segments that are searched side by side have the pieces of the search one after the other."""
    table = _segmenter(vocabulary).table
    codes = _codes("".join(f"{text}\0" for text in sorted(texts, key=len)))
    found, expected = table.segment_short(codes), table.segment(codes)
    assert [each.tolist() for each in found] == [each.tolist() for each in expected]


def test_cuts_between_words() -> None:
    """A text is cut wherever no piece holds both neighbours."""
    table = _segmenter({"▁ab": -1, "▁b": -1, "漢": -1}).table
    assert table.cuts(_codes("▁ab▁b漢漢")).tolist() == [False, False, True, False, True, True]


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither many segments nor long ones stay in memory."""
    monkeypatch.setattr(segments, "_MAX_TEXTS", 3)
    monkeypatch.setattr(segments, "_MAX_CHARS", 50)
    segmenter = _segmenter({"a": -1, "aa": -3, "b": -1, "bb": -1, "c": -1})
    for text in ("a" * 40, "b" * 33, "ac", "abc", "bba", "abbc"):
        assert _pieces(segmenter, text, whole=False) == _pieces(segmenter, text, whole=True)
        assert len(segmenter._cache._known) <= segments._MAX_TEXTS
        assert sum(map(len, segmenter._cache._known)) <= segments._MAX_CHARS


def test_words_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A word is tokenised once, with others, until the memory is full."""
    monkeypatch.setattr(segments, "_MAX_TEXTS", 3)
    calls: list[str] = []

    class Characters(Tokenizer, frozen=True):
        """Each character is a token, but for the space with the character after it."""

        def encode(self, text: str) -> Tokens:
            calls.append(text)
            ends = np.array([place + 1 for place, character in enumerate(text) if character != " "])
            return Tokens(ends.astype(np.int32), ends)

    nothing = np.zeros(1, np.int32)
    characters = CharacterMap(nothing, nothing, nothing, nothing.astype(np.uint32))
    memory = Characters(characters, _segmenter({})).words
    assert memory.joined(["ab", "c", "ab"]) == bytes([2, 1, 2, 2, 1])
    assert memory.joined(["c", "c"]) == bytes([2, 2])
    assert [sorted(call.split()) for call in calls] == [["ab", "c"]]
    assert memory.joined(["d", "ab", "e"]) == bytes([2, 2, 1, 2])
    assert memory.joined(["c"]) == bytes([2])
    assert calls[-1] == " c"
