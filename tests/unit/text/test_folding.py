"""One form for what is taken for the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdvec.text.folding import fold_name, normalise


@pytest.mark.parametrize(
    ("word", "folded"),
    [("キー", "キー"), ("コピー", "コピー"), ("サーバー", "サーバ"), ("データベース", "データベース")],
)
def test_only_long_katakana_words_drop_their_final_mark(word: str, folded: str) -> None:
    """キー is not キ."""
    assert normalise(word) == folded


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Daily-Notes", "daily notes"),
        ("snake_case.name", "Snake Case Name"),
        ("ﾃﾞｰﾀﾍﾞｰｽ　設計", "データベース 設計"),
        ("  What is mdvec?", "what is mdvec"),
    ],
)
def test_names_are_compared_by_their_words(one: str, other: str) -> None:
    """Case, width, signs and spaces between words do not matter."""
    assert fold_name(one) == fold_name(other)


def test_names_of_signs_stay_apart() -> None:
    """A note called `++` is not the one called `--`."""
    assert fold_name("++") != fold_name("--")


@given(st.text())
def test_a_folded_name_is_its_own(name: str) -> None:
    """What is stored can be folded again."""
    assert fold_name(fold_name(name)) == fold_name(name)
