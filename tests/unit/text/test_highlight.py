"""Where matched words stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdvec.text.matches import beyond_name, match_spans


def matched(query: str, text: str) -> list[str]:
    return [text[start:end] for start, end in match_spans(query, text)]


def test_latin_words_match_whole_words_in_any_case() -> None:
    """`art` is not in `start`."""
    assert matched("art Start", "Art to start, smart") == ["Art", "start"]


def test_all_forms_of_a_word_match() -> None:
    """What was found by its stem is shown."""
    assert matched("retries", "Retry, and retrying; the retriever") == ["Retry", "retrying"]


def test_particles_match_only_when_nothing_else_is_asked() -> None:
    """A reader does not want every です marked, nor every "the"."""
    assert matched("設定です", "設定です。そうです") == ["設定で"]
    assert matched("です", "そうです") == ["です"]
    assert matched("to the lighthouse", "The way to the lighthouse") == ["lighthouse"]
    assert matched("How to", "x=to: how to do it") == ["to", "how", "to"]


def test_what_is_quoted_matches_as_it_stands() -> None:
    """Its words elsewhere do not, nor what is left out; a word with a star matches whole."""
    text = "Sign in, or sign **in** again; signing in the signs"
    assert matched('"sign in" -again', text) == ["Sign in", "sign **in"]
    assert matched("sig* path:again tag:in", text) == ["Sign", "sign", "signing", "signs"]
    assert matched('"クエリの説明"', "検索クエリの\n説明。説明") == ["クエリの\n説明"]


def test_neighbouring_bigrams_become_one_span() -> None:
    """A reader sees the word, not the pairs it was found by."""
    assert matched("リトライ回数は？", "既定のリトライ回数です") == ["リトライ回数"]


@pytest.mark.parametrize(
    ("code", "text", "found"),
    [
        ("02079460456", "call 020 7946 0456 now", "020 7946 0456"),
        ("call 020 7946 0456", "on 02079460456 now", "02079460456"),
        ("842219073", "No. 84.221.907.3", "84.221.907.3"),
        ("16万5千円", "家賃は165,000円です", "165,000"),
        ("165000円", "家賃は16万5千円です", "16万5千円"),
        ("1920×1080", "a 1920x1080 screen", "1920x1080"),
        ("legacy_auth", "the legacyAuth flag", "legacyAuth"),
        ("E142のエラー", "E 142 is a full disk", "E 142"),
    ],
)
def test_a_code_matches_in_any_notation(code: str, text: str, found: str) -> None:
    """With and without signs and spaces inside it."""
    assert found in matched(code, text)


@pytest.mark.parametrize("query", ["____", "a____b ____", "0000", "0 0 0 0", "_ _", "4 B"])
def test_signs_alone_are_no_code(query: str) -> None:
    """Nothing is found between characters."""
    assert all(start < end for start, end in match_spans(query, "____ 0000 a b 4B __x__"))


def test_a_day_matches_in_any_notation() -> None:
    """Also with full-width or decomposed characters before it; of another day, only its words match."""
    assert matched("3月16日の集合", "ｶﾞｲﾄﾞ 2024/03/16(土) 9時に") == ["2024/03/16"]
    assert matched("on March 16", "Sat, 16 March 2024") == ["16 March"]
    assert matched("2024-03-16", "2024年3月16日と17日") == ["2024年3月16日"]
    assert matched("2021年2月3日", "2021年3月1日（月）\n2021年2月3日（水）") == ["2021年2月3日"]


@pytest.mark.parametrize(
    ("query", "name", "rest"),
    [
        ("work rules article 30", "Work rules", "article 30"),
        ("就業規則第30条", "就業規則 hr/就業規則.md", "第30条"),
        ("5月13日の決定事項", "定例会議 2024-05-13 定例会議.md", "の決定事項"),
        ("雨天の場合の遠足は", "春の遠足について 遠足.md", "雨天の場合"),
        ("work rules", "Work rules", "work rules"),
        ("anything else", "Work rules", "anything else"),
    ],
)
def test_what_the_name_of_a_document_does_not_have_is_left(query: str, name: str, rest: str) -> None:
    """Unless nothing is: then the whole query counts."""
    assert beyond_name(query, name).strip() == rest


def test_positions_are_those_of_the_original_text() -> None:
    """Half-width and decomposed spellings are found where they stand."""
    assert matched("ガイド", "新ｶﾞｲﾄﾞ版") == ["ｶﾞｲﾄﾞ"]
    assert matched("ガイド", "カ\u3099イト\u3099") == ["カ\u3099イト\u3099"]
    assert matched("ᄀ", "a㈀b") == ["㈀"]
    assert matched("chatelier", "Le Châtelier") == ["Châtelier"]
    assert matched("バイオリン", "古いヴァイオリン") == ["ヴァイオリン"]
    assert matched("高橋", "髙橋さん") == ["髙橋"]


@given(st.text(max_size=20), st.text(max_size=60))
def test_spans_are_inside_the_text_ascending_and_apart(query: str, text: str) -> None:
    """For any input."""
    end = -1
    for start, stop in match_spans(query, text):
        assert end < start < stop <= len(text)
        end = stop
