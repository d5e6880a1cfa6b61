"""Characters that must not be torn apart."""

from __future__ import annotations

import pytest

from mdvec.chunking.graphemes import is_inside_cluster


@pytest.mark.parametrize(
    "cluster",
    [
        "e\u0301",
        "👨\u200d👩\u200d👧",
        "👍🏽",
        "❤\ufe0f",
        "🇯🇵",
        "ｶﾞ",
        "か\u3099",
        "\u1100\u1161\u11a8",
        "क्षि",
        "\ud83d\ude00",
    ],
)
def test_every_place_in_a_cluster_is_inside(cluster: str) -> None:
    """Marks, joined emoji, skin tones, flags, jamo and surrogate pairs hold together."""
    text = f"あ{cluster}あ"
    inside = [position for position in range(len(text) + 1) if is_inside_cluster(text, position)]
    # A virama does not join the next consonant here, so the Devanagari cluster has one gap.
    expected = [2, 4] if cluster == "क्षि" else list(range(2, 1 + len(cluster)))
    assert [place for place in expected if place not in inside] == []
    assert not {0, 1, 1 + len(cluster), len(text)} & set(inside)


@pytest.mark.parametrize("text", ["", "a", "ab", "日本", "a b\n\nc", "🇯🇵🇫🇷"[2:], "😀😀"])
def test_ordinary_places_are_not_inside(text: str) -> None:
    """Between whole characters one may cut."""
    flags = {1} if text == "🇫🇷" else set()
    assert {place for place in range(len(text) + 1) if is_inside_cluster(text, place)} == flags


def test_a_row_of_flags_is_cut_between_flags() -> None:
    """Regional letters go in pairs, counted from the first of the row."""
    row = "x" + "🇯🇵" * 5
    assert [place for place in range(len(row)) if not is_inside_cluster(row, place)] == [0, 1, 3, 5, 7, 9]
