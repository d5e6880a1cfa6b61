"""Cutting into pieces, against a search by definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from conversion.tables import build_piece_table
from mdvec.embedding.builtin.pieces import PieceTable

_UNKNOWN = "<unk>"

# Whole numbers as scores: sums are exact, so the best total is the same in any order of adding.
_vocabularies = st.dictionaries(
    st.text("ab▁漢𠮷", min_size=1, max_size=5), st.integers(-9, -1), min_size=1, max_size=25
)
_texts = st.text("ab▁漢𠮷z", min_size=1, max_size=60)


def _table(vocabulary: dict[str, int]) -> PieceTable:
    scores = np.array([0, *vocabulary.values()], dtype=np.float32)
    return build_piece_table([_UNKNOWN, *vocabulary], scores, unknown=0)


def _codes(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)


def _best_total(text: str, vocabulary: dict[str, int]) -> float:
    """The best total by definition: every cut of the text is considered."""
    unknown = min(0, *vocabulary.values()) - 10
    best = [0.0]
    for end in range(1, len(text) + 1):
        totals = [best[end - 1] + unknown]
        totals += [
            best[start] + vocabulary[text[start:end]] for start in range(end) if text[start:end] in vocabulary
        ]
        best.append(max(totals))
    return best[-1]


@given(_vocabularies, _texts, st.integers(1, 70))
@settings(max_examples=150, deadline=None)
def test_best_cut(vocabulary: dict[str, int], text: str, block: int) -> None:
    """The pieces spell the text, and no other pieces have a higher total; blocks change nothing."""
    table = _table(vocabulary)
    spelling = [_UNKNOWN, *vocabulary]
    ids, ends = table.segment(_codes(text), block=block)
    starts = [0, *ends[:-1].tolist()]
    for piece, start, end in zip(ids.tolist(), starts, ends.tolist(), strict=True):
        part = text[start:end]
        assert spelling[piece] == part or (piece == 0 and len(part) == 1 and part not in vocabulary)
    assert ends[-1] == len(text)
    assert table.scores[ids].sum() == _best_total(text, vocabulary)


def test_longest_piece_wins_a_tie() -> None:
    """Of two cuts with the same total, the one with the longer last piece is taken."""
    ids, _ends = _table({"a": -1, "aa": -2, "aaa": -3}).segment(_codes("aaa"))
    assert ids.tolist() == [3]


def test_unknown_piece_is_not_spelled() -> None:
    """A text that spells the unknown piece's name is cut like any other text."""
    ids, _ends = _table({"<": -1, "u": -1, "n": -1, "k": -1, ">": -1}).segment(_codes(_UNKNOWN))
    assert 0 not in ids.tolist()


def test_unknown_characters_one_by_one() -> None:
    """Each character that no piece contains is a token of its own."""
    ids, ends = _table({"a": -1}).segment(_codes("azza"))
    assert ids.tolist() == [1, 0, 0, 1]
    assert ends.tolist() == [1, 2, 3, 4]


def test_no_text_no_pieces() -> None:
    """Nothing is cut into nothing."""
    ids, ends = _table({"a": -1}).segment(_codes(""))
    assert ids.size == 0
    assert ends.size == 0
