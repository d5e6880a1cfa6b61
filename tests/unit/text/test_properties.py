"""Properties as text that is searched."""

from __future__ import annotations

import pytest

from mdvec.text.properties import MAX_VALUE_CHARS, as_number, fold_property, property_text


@pytest.mark.parametrize(
    ("frontmatter", "text"),
    [
        ({"tags": ["garden", "soil/clay"], "tag": "summer"}, "garden\nsoil/clay\nsummer"),
        ({"季節": "冬", "rank": "C"}, "冬\nC"),
        ({"isbn": 9780262033848, "year": 1998, "rating": 4, "no": "12-3"}, "9780262033848\n1998\n4\n12-3"),
        ({"title": "T title", "aliases": ["other name"], "alias": "third"}, ""),
        ({"mdvec-context": "words of its own"}, ""),
        ({"author": "[[Ann Lee|Ann]]", "again": "Ann Lee"}, "Ann Lee"),
        ({"site": "https://example.org/1234", "of": "see https://example.org/x"}, "see"),
        ({"outer": {"inner": ["one", {"two": "three"}]}, "empty": None, "done": True}, "one\nthree\ntrue"),
    ],
)
def test_values_of_words_and_numbers_are_searched(frontmatter: dict[str, object], text: str) -> None:
    """Tags among them, each once; names have a field of their own."""
    assert property_text(frontmatter) == text


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,234,567.5", 1_234_567.5),
        ("-1,200", -1_200),
        ("3.10", 3.1),
        ("1,2", None),
        ("1,2345", None),
        ("1,", None),
        ("¥1,200", 1_200),
        ("1,200 円", 1_200),
        ("12.5%", 12.5),
        ("$", None),
        ("%", None),
        ("about 5%", None),
    ],
)
def test_a_number_is_read_as_people_write_it(text: str, number: float | None) -> None:
    """With commas between thousands, as a price, or as a percentage."""
    assert as_number(text) == number


@pytest.mark.parametrize(
    "text",
    [
        *("2024/1/5", "2024年1月5日", "２０２４年０１月０５日", "2024.01.5", "2024. 1. 5", "2024-01-05"),
        *("January 5, 2024", "5 Jan 2024", "Jan. 5th, 2024", "令和6年1月5日"),
    ],
)
def test_a_day_has_one_form(text: str) -> None:
    """So that days can be compared, whichever way they are written, also with a time."""
    assert fold_property(text) == "2024-01-05"
    assert fold_property(f"{text} 9:14 AM") == "2024-01-05 9:14 am"
    assert fold_property(f"{text} or so") != "2024-01-05"
    assert not fold_property(f"on {text}").startswith("2024-01-05")


@pytest.mark.parametrize("text", ["5/4/2024", "March 2024", "3/4", "v2024.1.5", "1500"])
def test_what_may_be_another_day_or_none_is_left(text: str) -> None:
    """Which number is the month depends on the country."""
    assert fold_property(text) == text.casefold()


def test_a_long_value_is_cut() -> None:
    """It is data."""
    assert property_text({"x": "ab" * 9_999}) == "ab" * (MAX_VALUE_CHARS // 2)
