"""The lines of a plain text that are its headings."""

from __future__ import annotations

import pytest

from mdvec.text.plain_headings import plain_headings


@pytest.mark.parametrize(
    ("lines", "headings"),
    [
        (
            ["第1条（目的）", "第5条の2 (契約 期間)", "第１２条"],
            [(1, "第1条（目的）"), (1, "第5条の2 (契約 期間)"), (1, "第１２条")],
        ),
        (
            ["第三章　総則", "第百二条　目的", "附　則"],
            [(1, "第三章 総則"), (2, "第百二条 目的"), (1, "附 則")],
        ),
        (
            ["第1編", "第2章 売買", "第3節 効力", "第4款 解除"],
            [(1, "第1編"), (2, "第2章 売買"), (3, "第3節 効力"), (4, "第4款 解除")],
        ),
        (["第5条（期間）　甲は、乙に貸す。", "第6条 甲は乙に支払う。"], [(1, "第5条（期間）"), (1, "第6条")]),
        (
            ["（目的）\n第１条　この規則は、労働条件を定める。", "（範囲）\n第２条"],
            [(1, "第１条（目的）"), (1, "第２条（範囲）")],
        ),
        (
            [
                "第1章 総則（第1条―第4条）",
                "第2章 採用（第5条）",
                "第5条の規定により",
                "第6条（期間）に従い",
                "第3章 では、",
            ],
            [],
        ),
        (["第5条（契約期間）"], []),
        (
            ["2024年4月1日", "2024年5月1日", "第1条（目的）", "第2条（報酬）"],
            [(1, "第1条（目的）"), (1, "第2条（報酬）")],
        ),
    ],
)
def test_articles_and_chapters_are_headings(lines: list[str], headings: list[tuple[int, str]]) -> None:
    """In any width, with a title in brackets, behind a space or above; references to one are none."""
    text = "".join(f"{line}\n　甲は、乙に支払う。\n\n" for line in lines)
    assert [(each.level, each.text) for each in plain_headings(text)] == headings
    for line, (_, name) in zip(lines[-1:], headings[-1:], strict=False):  # in a passage, one is enough
        assert [each.text for each in plain_headings(f"{line}\n", name)] == [name]


CLIPPING = "{} (Author)\n- Your Highlight on page 5\n\nA quote.\n"
RULE = "=" * 10 + "\n"


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        (RULE.join(map(CLIPPING.format, "ABC")) + RULE, ["A (Author)", "B (Author)", "C (Author)"]),
        (
            RULE.join(map(CLIPPING.format, "ABC")).replace("=", "-"),
            ["A (Author)", "B (Author)", "C (Author)"],
        ),
        (RULE.join(map(CLIPPING.format, "AB")), []),
        (RULE.join(["A long way.\nIt ended,\n"] * 4), []),  # prose
        (RULE.join(["\nA long way\nto go\n"] * 4), []),
        (RULE.join(["Title\n", "\nProse\nof it.\n\nTitle\n", "\nProse.\n\nTitle\n", "\nProse\n"]), []),
        (RULE.join(["Name   Age\n", "Anna   12\nBen    9\n", "Eve    11\nSum    32\n", ""]), []),
        (RULE.join(["A note\n"] * 4), []),
        (RULE.join(["A note\n------\nText\n"] * 4), []),
        (RULE.join([*map(CLIPPING.format, "ABC"), *["\nText.\n"] * 3]), []),  # most lines are decoration
        (RULE.join(["- one\n- two\n"] * 4), []),
    ],
)
def test_the_first_lines_of_records_are_headings(text: str, headings: list[str]) -> None:
    """Short first lines with another one below, between lines of signs; no prose, tables, titles or lists."""
    assert [each.text for each in plain_headings(text)] == headings


def test_the_line_of_signs_above_a_record_belongs_to_its_heading() -> None:
    """So the heading of a passage that begins in the middle of a record is not its first line."""
    text = RULE.join(map(CLIPPING.format, "ABC"))
    second = plain_headings(text)[1]
    assert text[second.start : second.end] == f"{RULE}B (Author)"
