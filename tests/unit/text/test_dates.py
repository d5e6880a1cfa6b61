"""Days and months, as people ask for them and as notes write them."""

from __future__ import annotations

import datetime
from fnmatch import fnmatchcase

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdvec.text.dates import Date, find_date, without_date


def date_in(query: str) -> Date | None:
    found = find_date(query)
    return found[0] if found else None


MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


@pytest.mark.parametrize(
    ("query", "date"),
    [
        ("2025-03-15", Date(2025, 3, 15)),
        ("what did I do on 2025/3/5?", Date(2025, 3, 5)),
        ("2025年3月15日の日記", Date(2025, 3, 15)),
        ("2025年 3月 15日", Date(2025, 3, 15)),
        ("3月15日にやったこと", Date(None, 3, 15)),
        ("2024年9月に決めたこと", Date(2024, 9, None)),
        ("minutes of 2024-09", Date(2024, 9, None)),
        ("March 15, 2025", Date(2025, 3, 15)),
        ("on march 15th", Date(None, 3, 15)),
        ("Sept. 2024 decisions", Date(2024, 9, None)),
        ("Sep. 2024 decisions", Date(2024, 9, None)),
        ("decisions of September 2024", Date(2024, 9, None)),
        ("September, 2024", Date(2024, 9, None)),
        ("the 3rd of May 2023", Date(2023, 5, 3)),
        ("1 Feb 2023", Date(2023, 2, 1)),
        ("15 March", Date(None, 3, 15)),
        ("13/9/2024", Date(2024, 9, 13)),
        ("on 9/13/2024", Date(2024, 9, 13)),
        ("what I paid on 01.07.2024", Date(2024, 7, 1, other=Date(2024, 1, 7))),
        ("5/5/2024", Date(2024, 5, 5)),
        ("2025.6.9", Date(2025, 6, 9)),
        ("6/8", Date(None, 6, 8)),
        ("Ｒ６年１２月の理事会", Date(2024, 12, None)),
        ("H30.4.1", Date(2018, 4, 1)),
        ("R6-12-14 の議事録", Date(2024, 12, 14)),
    ],
)
def test_a_date_is_understood(query: str, date: Date | None) -> None:
    """English or Japanese, with or without its year; a month with its year."""
    assert date_in(query) == date


@pytest.mark.parametrize(
    "query",
    [
        *("", "2025", "March", "march of progress", "May I ask?", "in may", "3月", "15日", "9月の予定"),
        *(
            "24/7 support",
            "version 3.15",
            "1.2.2024-03.1",
            "12024-03-15",
            "2025-13-40",
            "13月40日",
            "2025-00",
        ),
        *("room 2024-999", "10 decimal places", "12 marching bands", "3 mayors", "sun 2024", "call 555-2025"),
        *("13/13/2024", "0/5/2024", "6/8 of it"),
        *("May 99", "RFC 2119", "port 8080", "1/2", "3-15", "2048-bit keys", "mars 2024", "Janus 2024"),
        *("1024年の3月", "R4.2.1 release notes", "h2.1.5", "r6年12月", "S3.1.2 bucket"),
    ],
)
def test_ordinary_text_is_no_date(query: str) -> None:
    """Numbers, versions, and words that begin or read like months."""
    assert date_in(query) is None


@given(st.text() | st.text("0123456789RHSrhs年月日令和元-./ "))
def test_any_text_may_be_asked(text: str) -> None:
    """What is found is a month of the year, and a day that a month may have; text without digits has none."""
    found = date_in(text)
    if found is not None:
        assert 1 <= found.month <= 12
        assert found.day is None or 1 <= found.day <= 31
        assert any(each.isdigit() for each in text)


DATES = st.dates(datetime.date(1900, 1, 1), datetime.date(2099, 12, 31))


def forms_of(day: datetime.date) -> list[str]:
    """Return how a day is written with its year."""
    name = MONTHS[day.month - 1]
    return [
        f"{day:%Y-%m-%d}",
        f"{day:%Y/%m/%d}",
        f"{day.year}/{day.month}/{day.day}",
        f"{day.year}年{day.month}月{day.day}日",
        f"{day.year} 年 {day.month} 月 {day.day} 日",
        f"{name} {day.day}, {day.year}",
        f"{name[:3]} {day.day} {day.year}",
        f"{day.day} {name} {day.year}",
        f"{day.day}th of {name.lower()} {day.year}",
    ]


@settings(max_examples=25)  # each date is another pattern
@given(DATES, DATES)
def test_all_forms_of_a_day_are_the_same_day(day: datetime.date, other: datetime.date) -> None:
    """A question in any form finds text in any form, and text of another day in none."""
    asked = Date(day.year, day.month, day.day)
    for form in forms_of(day):
        assert date_in(f"notes of {form} again") == asked
        assert asked.is_in(f"On {form} we met.")
        assert Date(None, day.month, day.day).is_in(f"On {form} we met.")
        assert Date(day.year, day.month, None).is_in(f"On {form} we met.")
    if other != day:
        assert not any(asked.is_in(f"On {form} we met.") for form in forms_of(other))


@pytest.mark.parametrize(
    ("date", "text", "named"),
    [
        (Date(2025, 3, 15), "3月15日に会う", True),  # a year may be left out in the text
        (Date(2025, 3, 15), "On March 15 we met", True),
        (Date(2025, 3, 15), "On March 15, 2024 we met", False),
        (Date(2025, 3, 15), "2024年3月15日", False),
        (Date(2025, 3, 1), "3月15日", False),
        (Date(2025, 3, 1), "March 15", False),
        (Date(2025, 3, 15), "13月15日", False),
        (Date(None, 3, 15), "2019.03.15", True),
        (Date(2024, 3, 11), "| 11/03/2024 | Rent", True),
        (Date(2024, 3, 11), "3/11/2024", True),
        (Date(2024, 3, 11), "11.03.2024", True),
        (Date(2024, 3, 11), "11/03/2023", False),
        (Date(2024, 3, 11), "12/03/2024", False),
        (Date(2024, 3, None), "11/03/2024", True),
        (Date(2024, 3, None), "03/11/2024", False),
        (Date(2024, 9, 5, other=Date(2024, 5, 9)), "9 May 2024", True),
        (Date(None, 5, 5), "5 mayors, May 5mm", False),
        (Date(None, 9, 5), "Sept. 5", True),
        (Date(2024, 12, 14), "開催日 R6-12-14", True),
        (Date(2024, 9, None), "in September 2024", True),
        (Date(2024, 9, None), "in September", False),
        (Date(2024, 9, None), "2024年9月の会議", True),
        (Date(2024, 9, 3), "２０２４年９月３日に開催", True),
        (Date(2024, 1, None), "2024-12", False),
        (Date(2024, 1, None), "2024-10-01", False),
    ],
)
def test_a_text_names_a_date(date: Date, text: str, named: bool) -> None:
    """A day without its year is any year's; with another year it is another day."""
    assert date.is_in(text) is named


@pytest.mark.parametrize(
    ("date", "path", "named"),
    [
        (Date(2025, 3, 5), "journal/2025-03-05.md", True),
        (Date(2025, 3, 5), "20250305 standup.md", True),
        (Date(2025, 3, 5), "日記/2025年3月5日.md", True),
        (Date(2025, 3, 5), "journal/2025-03-15.md", False),
        (Date(2024, 12, None), "理事会/第4回_R6-12-14.md", True),
        (Date(2024, 12, None), "理事会/第4回_R5-12-09.md", False),
        (Date(2025, 3, None), "journal/2025-03-15.md", True),
        (Date(None, 3, 5), "journal/1999-03-05.md", True),
        (Date(None, 3, 5), "journal/x-03-05.md", False),
    ],
)
def test_documents_are_named_after_a_date(date: Date, path: str, named: bool) -> None:
    """Daily notes and minutes."""
    assert any(fnmatchcase(f"/{path}", glob) for glob in date.globs) is named


def test_a_query_without_its_date() -> None:
    """What is left may be missed by the documents; they write dates in another way."""
    assert without_date("dentist on 21 November?").split() == ["dentist", "on", "?"]
    assert without_date("11月21日の予定").strip() == "の予定"
    assert without_date("no date") == "no date"
