"""One form for what is taken for the same."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.growth import assert_grows_linearly

from mdvec.text.folding import fold_characters, fold_name, nfc, normalise
from mdvec.text.matches import match_spans


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


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Châtelier", "chatelier"),
        ("Cha\u0302telier", "chatelier"),
        ("Slovenská literatúra", "slovenska literatura"),
        ("Việt Łódź straße", "viet lodz strasse"),
        ("Ἀθῆναι", "αθηναι"),
        ("שָׁלוֹם", "שלום"),
        ("مدرسة کتابی", "مدرسه كتابي"),
        ("مُحَمَّد", "محمد"),
        ("محمـــد ٢٠٢٤", "محمد 2024"),
        ("髙橋 﨑 國", "高橋 崎 国"),
        ("社⻑ ⽇本", "社長 日本"),
        ("ヱビス、ゐる", "エビス、いる"),
        ("葛\U000e0100城", "葛城"),
        ("photo\u00adsynthesis", "photosynthesis"),
        ("kuber\u200bnetes\u2060\ufeff", "kubernetes"),
        ("ヴァイオリン、ヴェネツィア", "バイオリン、ベネツィア"),
    ],
)
def test_words_that_look_the_same_are_the_same(one: str, other: str) -> None:
    """Accents, points, variants, radicals and what has no width make no other word, also in the index."""
    assert normalise(one) == normalise(other)


@pytest.mark.parametrize(
    ("one", "other"), [("は", "ば"), ("は", "ぱ"), ("कि", "क"), ("ก็", "ก"), ("斎", "斉")]
)
def test_other_letters_stay_apart(one: str, other: str) -> None:
    """The marks of kana and of Indic scripts make other letters."""
    assert normalise(one) != normalise(other)


def test_names_of_signs_stay_apart() -> None:
    """A note called `++` is not the one called `--`."""
    assert fold_name("++") != fold_name("--")


@given(st.text())
@example("ァ-ㇰ-\U0001b168")  # no letter, amid kana
def test_a_folded_name_is_its_own(name: str) -> None:
    """What is stored can be folded again."""
    assert fold_name(fold_name(name)) == fold_name(name)


@pytest.mark.parametrize("marks", ["\u0301\u0316", "\u0f73", "\uff9e\u0301"])
@pytest.mark.parametrize("fold", [normalise, nfc, lambda text: match_spans("a", text)])
def test_piles_of_combining_marks_take_linear_time(fold: Callable[[str], object], marks: str) -> None:
    """Python sorts the marks of one character in quadratic time, so they are parted."""
    assert_grows_linearly(lambda size: "e" + marks * (size // len(marks)), fold, 8_000)


@given(st.text(alphabet="eか\u0301\u0316\u3099\uff9e\u0f73─- x", max_size=30))
def test_nfc_is_that_of_unicode_for_up_to_thirty_marks(text: str) -> None:
    """Only text that no language has is changed otherwise."""
    assert nfc(text) == unicodedata.normalize("NFC", text)


def test_signs_that_are_no_marks_are_not_parted() -> None:
    """A line of forty dashes stays one."""
    assert nfc("─" * 40) == "─" * 40


@given(
    st.text(max_size=30)
    | st.text("a=kｶﾞがサーバ-~\u0301\u3099\u1100\u1161\uac00\u3315ß…ﬁİ\n\x01", max_size=30)
)
def test_characters_are_folded_one_by_one_as_in_a_text(text: str) -> None:
    """A text without marks is folded character by character, and a mark at its end folds it as a whole."""
    assert fold_characters(f"{text} ") == fold_characters(f"{text} \u0301")
