"""Texts that hold a phrase word for word."""

from __future__ import annotations

import pytest

from mdvec.text.matches import fold_heading, phrase_finder


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("422", "It answers with 422."),
        ("state of the art", "The State of\nthe Art is"),
        ("defineProps()", "Use `defineProps` here"),
        ("検索クエリの説明", "この章では検索クエリの\n説明をする。"),
        ("ﾃﾞｰﾀﾍﾞｰｽ", "データベースを作る"),
        ("データベー", "データベースを作る"),
        ("X-Forwarded-Proto", "the header x-forwarded-proto is"),
        ("Pythonで書く", "今日はPythonで書く。"),
        ("art", "part of the art"),
        ("02079460456", "call 020 7946 0456 now"),
        ("020 7946 0456", "call 02079460456 now"),
        ("07700900456", "call +44 7700 900 456 now"),
        ("04-4003-5673", "電話は04ー4003ー5673、または"),
        ("0240015671", "電話は０２−４００１−５６７１まで"),
        ("03-1234-5678", "TEL03-1234-5678"),
        ("350,000円", "見積額３５０，０００円です。"),
        ("１，２００個", "数量は1200個です。"),
        ("16万5千円", "家賃は165,000円です。"),
        ("165000円", "家賃は１６万５千円です。"),
        ("5000万", "1億3千万ではなく50,000,000だった"),
        ("1.5万人", "参加者は15,000人"),
        ("1,234.5万円", "売上は12345000円"),
        ("1920x1080", "解像度は1920×1080です"),
        ("1920×1080", "a screen of 1920 x 1080 pixels"),
        ("1080", "a screen of 1920 x 1080 pixels"),
        ("16GB", "It has 16 GB RAM."),
        ("16 GB RAM", "It has 16GB RAM."),
        ("read_file", "use readFile"),
        ("BA502", "flight BA 502"),
        ("30秒", "リトライの間隔は 30 秒です"),
        ("間隔は30秒", "リトライの間隔は 30 秒です"),
        ("リトライ の間隔", "リトライの間隔"),
        ("東京 大阪", "東京・大阪"),
        ("Composition APIの", "Composition API の例"),
        ("東京都", "東**京**都"),
        ("東京都庁", "<ruby>東<rt>とう</rt>京<rt>きょう</rt></ruby>都庁"),
        ("東京タワー", "[東京](x)タワー"),
        ("検索", "&#x691C;&#32034;"),
        ("高橋さん", "髙橋さん"),
        ("社長", "社⻑"),
        ("resume", "the résumé"),
        ("embedding of", "the embed-\n> ding of passages"),
        ("well known", "a well-\nknown text"),
        ("annual report", "A N N U A L report"),
        ("cryptography key", "the crypto\u00ad\ngraphy key"),
        ("東京塔へ", "[東](x)[京](y)塔へ"),
        ("the guide explains", "the [guide](https://x.example/a) explains"),
        ("see the guide here", "see [[Guide|the guide]] here"),
        ("foo bar", "foo[^1] bar"),
        ("吾輩は武士の猫", "吾輩《わがはい》は｜武士の猫《ぶしのねこ》"),
        ("the guide explains", "the [guide][1] [explains]{.sc}"),
        ("one two", "one<br>two"),
        ("Ctrl+C", "<kbd>Ctrl</kbd>+<kbd>C</kbd>"),
        ("x.example/a", "the [guide](https://x.example/a) explains"),
    ],
)
def test_held(phrase: str, text: str) -> None:
    """Case, width, signs and line breaks do not count."""
    holds = phrase_finder(phrase)
    assert holds is not None
    assert holds(text)


def test_a_prefix_goes_on() -> None:
    """Its last word alone."""
    holds = phrase_finder("retry pol", prefix=True)
    assert holds is not None
    assert holds("the retry policy")
    assert not holds("the pretry policy")


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("422", "14220 and 422a"),
        ("ref", "a reference"),
        ("200個", "数量は１，２００個です。"),
        ("5千円", "家賃は16万5千円です。"),
        ("165万円", "家賃は16万5千円です。"),
        ("state art", "state of the art"),
        ("検索", "検 討し索引"),
        ("30秒", "130 秒"),
        ("API の", "RAPIの"),
        ("a b", "ab"),
    ],
)
def test_not_held(phrase: str, text: str) -> None:
    """A word is found whole, and nothing may stand between two."""
    holds = phrase_finder(phrase)
    assert holds is not None
    assert not holds(text)


def test_signs_alone_are_no_phrase() -> None:
    """There is nothing to look for."""
    assert phrase_finder("-- !") is None


def test_headings_are_compared_by_their_words() -> None:
    """In any forms, without function words; a number is one word, and another version another one."""
    assert fold_heading("onMounted()") == fold_heading("onMounted")
    assert fold_heading("onMounted and onUnmounted") != fold_heading("onMounted")
    assert fold_heading("Changing the PIN") == fold_heading("how do I change PINs?")
    assert fold_heading("To do") == fold_heading("to do") != fold_heading("To be")
    assert fold_heading("1,200 yen") == fold_heading("1200 yen")
    assert len({*map(fold_heading, ("1.1.0", "11.0", "1.10", "110"))}) == 4
