"""Links, older versions and dates of frontmatter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, timezone

import pytest
from tests.growth import assert_grows_linearly

from mdvec.documents.frontmatter import read_frontmatter
from mdvec.documents.parse import parse_document
from mdvec.documents.properties import property_links
from mdvec.types.document import Link, LinkKind


def links_of(frontmatter: str) -> list[tuple[LinkKind, str, str, str, int]]:
    """Return the parts of the links of a document that is frontmatter alone."""
    links = parse_document("x.md", f"---\n{frontmatter}\n---\n", versions=True).links
    return [(link.kind, link.target, link.fragment, link.text, link.line) for link in links]


def test_wikilinks_in_any_value_are_links() -> None:
    """Quoted or not, in lists or alone, with their line; comments and lists of lists are none."""
    assert links_of(
        'up: "[[Index]]"\nrelated:\n  - "[[A#Part|shown]]"\n  - [[B]]\n# [[no]]\n'
        "cover: '![[c.png]]'\nm: [[1, 2]]\nnames: '[[C, D]]'"
    ) == [
        (LinkKind.WIKI, "Index", "", "", 2),
        (LinkKind.WIKI, "A", "Part", "shown", 4),
        (LinkKind.WIKI, "B", "", "", 5),
        (LinkKind.EMBED, "c.png", "", "", 7),
        (LinkKind.WIKI, "C, D", "", "", 9),
    ]


@pytest.mark.parametrize(
    ("frontmatter", "found"),
    [
        ("previous: old.md", [("old.md", 2)]),
        ("previous: 'archive/old v1'", [("archive/old v1", 2)]),
        ('previous: "[[Old#Part|the old one]]"', [("Old", 2)]),
        ("previous: [[Old]]", [("Old", 2)]),
        ('previous:\n  - a.md\n  - "[[B]]"\n  - [[C]]\ntags: x', [("a.md", 3), ("B", 4), ("C", 5)]),
        ("previous:\n- a.md\n- b.md", [("a.md", 3), ("b.md", 4)]),
        ("previous: [a.md, b.md]", [("a.md", 2), ("b.md", 2)]),
        ("title: x\nPrevious: a.md", [("a.md", 3)]),
        ("previous:", []),
        ("previous: []", []),
        ("previous: ''", []),
        ("previous: 2024-01-02", [("2024-01-02", 2)]),
        ("previous: [[A]], [[B]]", [("A", 2), ("B", 2)]),  # no YAML, and yet clear
    ],
)
def test_previous_lists_older_versions(frontmatter: str, found: list[tuple[str, int]]) -> None:
    """One or several, as a path, a file's name or a wikilink; nothing of it is a link of another kind."""
    links = links_of(frontmatter)
    assert [(target, line) for _, target, _, _, line in links] == found
    assert all(kind is LinkKind.PREVIOUS for kind, *_ in links)


DAYS = [
    ("02-05-2026", "01-05-2026"),
    ("02.05.2026", "01.05.2026"),
    ("2 May 2026", "1 May 2026"),
    ("May 2nd, 2026", "May 1st, 2026"),
    ("Daily 2026-05-02", "Daily 2026-05-01"),
    ("Saturday, May 2nd 2026", "Friday, May 1st 2026"),
    ("2026年5月2日（土）", "2026年5月1日（金）"),
    ("2026-Q2", "2026-Q1"),
    ("2026", "2025"),
]


@pytest.mark.parametrize(
    ("path", "frontmatter", "versions"),
    [
        ("x.md", 'previous: "[[Draft]]"', False),
        ("x.md", 'previous: "[[Part 1]]"\nNext: "[[Part 3]]"', True),
        ("x.md", 'previous: "[[Part 1]]"\nnext:', True),
        ("daily/2026-05-02.md", 'previous: "[[2026-05-01]]"', True),
        ("2026-05-02 Sat.md", 'previous: "[[daily/2026-05-01 Fri|Friday]]"', True),
        ("2026-W18.md", 'previous: "[[2026-W17]]"', True),
        ("20260502.md", 'previous: "[[20260501]]"', True),
        *((f"{name}.md", f'previous: "[[{before}]]"', True) for name, before in DAYS),
    ],
)
def test_previous_may_be_an_ordinary_link(path: str, frontmatter: str, versions: bool) -> None:
    """In a series and between the notes of days it names what came before, and nowhere an older version."""
    (link, *_) = parse_document(path, f"---\n{frontmatter}\n---\n", versions=versions).links
    assert link.kind is LinkKind.WIKI


@pytest.mark.parametrize(
    ("path", "previous"),
    [
        ("20251231_design.md", "20251201_design.md"),
        ("1984 essay v2.md", "1984 essay v1"),
        ("2026-05-02 Plan.md", "2026-05-01 Plan"),
        ("2026 marketing.md", "2025 marketing"),
        ("1" * 100_000 + "x.md", "2026"),
        ("2.md", "1"),
    ],
    ids=["design", "essay", "plan", "marketing", "long", "number"],
)
def test_a_name_with_a_date_and_more_may_have_older_versions(path: str, previous: str) -> None:
    """It is no note of a day; a long name takes no longer."""
    (link,) = parse_document(path, f"---\nprevious: '{previous}'\n---\n", versions=True).links
    assert link.kind is LinkKind.PREVIOUS


def test_a_dated_note_may_be_an_older_version_of_one_without_a_date() -> None:
    """Only from day to day ``previous`` is the day before."""
    (link,) = parse_document("Plan.md", "---\nprevious: 2026-05-01 Plan\n---\n", versions=True).links
    assert link.kind is LinkKind.PREVIOUS


def test_toml_frontmatter_names_versions_and_links() -> None:
    """What YAML can say TOML can."""
    text = '+++\nprevious = ["old.md"]\nup = "[[Index]]"\n+++\n'
    assert parse_document("x.md", text, versions=True).links == (
        Link(LinkKind.PREVIOUS, "old.md", line=2),
        Link(LinkKind.WIKI, "Index", line=3),
    )


def test_links_of_frontmatter_come_before_those_of_the_text() -> None:
    """Links are in order of line, of the whole file."""
    links = parse_document("x.md", '---\nup: "[[A]]"\n---\n[[B]]\n').links
    assert [(link.target, link.line) for link in links] == [("A", 2), ("B", 4)]


TOKYO = timezone(timedelta(hours=9))


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("2026-05-01", datetime(2026, 5, 1, tzinfo=UTC)),
        ("2026-5-1", datetime(2026, 5, 1, tzinfo=UTC)),
        ("2026/05/01", datetime(2026, 5, 1, tzinfo=UTC)),
        ("20260501", datetime(2026, 5, 1, tzinfo=UTC)),
        ("2026-05-01T09:30", datetime(2026, 5, 1, 9, 30, tzinfo=UTC)),
        ("2026-05-01 09:30:15", datetime(2026, 5, 1, 9, 30, 15, tzinfo=UTC)),
        ("2026-05-01T09:30:15.123456Z", datetime(2026, 5, 1, 9, 30, 15, 123456, tzinfo=UTC)),
        ("2026-05-01T09:30:00+09:00", datetime(2026, 5, 1, 9, 30, tzinfo=TOKYO)),
        ("'2026-05-01'", datetime(2026, 5, 1, tzinfo=UTC)),
        ("[2026-05-01]", datetime(2026, 5, 1, tzinfo=UTC)),
        ("2026-05-01 09:30:15 +0900 JST", datetime(2026, 5, 1, 9, 30, 15, tzinfo=TOKYO)),
        ("20260501093015", datetime(2026, 5, 1, 9, 30, 15, tzinfo=UTC)),
        ("202605010930", datetime(2026, 5, 1, 9, 30, tzinfo=UTC)),
        ("Friday, May 1st 2026, 9:30:15 pm", datetime(2026, 5, 1, 21, 30, 15, tzinfo=UTC)),
        ("May 1, 2026", datetime(2026, 5, 1, tzinfo=UTC)),
        ("May 2026", datetime(2026, 5, 1, tzinfo=UTC)),
        ("2026年5月", datetime(2026, 5, 1, tzinfo=UTC)),
        ("2026", datetime(2026, 1, 1, tzinfo=UTC)),
        ("1 May 2026 12:05 AM", datetime(2026, 5, 1, 0, 5, tzinfo=UTC)),
        ("01.05.2026", datetime(2026, 5, 1, tzinfo=UTC)),
        ("2026年5月1日", datetime(2026, 5, 1, tzinfo=UTC)),
        ("令和8年5月1日", datetime(2026, 5, 1, tzinfo=UTC)),
        ("H元.5.1", datetime(1989, 5, 1, tzinfo=UTC)),
        ("Fri May  1 09:30:15 JST 2026", datetime(2026, 5, 1, tzinfo=UTC)),
        ("1-May-2026", datetime(2026, 5, 1, tzinfo=UTC)),
        ("2026 May 1", datetime(2026, 5, 1, tzinfo=UTC)),
        ("2026-May-01", datetime(2026, 5, 1, tzinfo=UTC)),
        ("2026. 5. 1.", datetime(2026, 5, 1, tzinfo=UTC)),
        ("2026년 5월 1일", datetime(2026, 5, 1, tzinfo=UTC)),
        ("2026年5月1日（金）午後9時", datetime(2026, 5, 1, 21, tzinfo=UTC)),
        ("2026-05-01 (draft 3)", datetime(2026, 5, 1, tzinfo=UTC)),
        ("2026-05", datetime(2026, 5, 1, tzinfo=UTC)),
        ("[2026-04-30, 2026-05-01]", datetime(2026, 5, 1, tzinfo=UTC)),
        ("{date: 2026-05-01, author: me}", datetime(2026, 5, 1, tzinfo=UTC)),
        ("2026年5月1日 9時30分", datetime(2026, 5, 1, 9, 30, tzinfo=UTC)),
        ("1777627800", datetime(2026, 5, 1, 9, 30, tzinfo=UTC)),
        ("1777627800123", datetime(2026, 5, 1, 9, 30, 0, 123000, tzinfo=UTC)),
    ],
)
def test_dates_are_read_as_people_write_them(value: str, moment: datetime) -> None:
    """ISO 8601 and what is near it; without an offset it is UTC; to the microsecond."""
    expected = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) * 1000
    assert parse_document("x.md", f"---\nupdated: {value}\n---\n").updated_ns == expected


@pytest.mark.parametrize(
    "key",
    [
        "updated",
        "Updated",
        "modified",
        "date modified",
        "date_modified",
        "last-modified",
        "lastmod",
        "last_updated",
        "lastUpdated",
        "Last edited time",
        "更新日",
        "pubDate",
        "created_time",
        "作成日",
    ],
)
def test_many_keys_say_when_a_document_was_updated(key: str) -> None:
    """Those of Obsidian's plug-ins and of site generators, in any spelling."""
    assert parse_document("x.md", f"---\n{key}: 1970-01-02\n---\n").updated_ns == 86_400 * 10**9


@pytest.mark.parametrize(
    "frontmatter",
    [
        "birthday: 2026-05-01",
        "updated: soon",
        "updated:",
        "updated: 1960-01-01",
        "updated: 9999-12-31",
        "updated: 9999999999999",
    ],
)
def test_other_keys_and_values_say_nothing(frontmatter: str) -> None:
    """A date from 1970 to 2262 in a property of that name is needed."""
    assert parse_document("x.md", f"---\n{frontmatter}\n---\n").updated_ns is None


@pytest.mark.parametrize(
    ("path", "frontmatter", "day"),
    [
        ("journal/1970-01-02.md", "n: 1", 1),
        ("journal/1970-01-02.md", "created: 1970-01-03", 2),
        ("journals/1970_01_02.md", "n: 1", 1),  # Logseq
        ("1970-01-02 Plan.md", "n: 1", None),
        ("_posts/1970-01-02-plan.md", "n: 1", 1),  # Jekyll
        ("daily/1970/01/02.md", "n: 1", 1),
        ("日記 1970-01-02.md", "n: 1", 1),
        ("1970-01-02.txt", "", 1),
        ("昭和45年1月2日.md", "n: 1", 1),
        ("1984.md", "n: 1", None),
        ("x.md", "date: 1970-01-03\nlastmod: 1970-01-04", 3),
        ("x.md", "created: 1970-01-02", 1),
    ],
)
def test_a_change_comes_before_the_date_of_a_document_and_that_before_its_name(
    path: str, frontmatter: str, day: int | None
) -> None:
    """Without any of them the time of the file counts."""
    found = parse_document(path, f"---\n{frontmatter}\n---\n").updated_ns
    assert found == (None if day is None else day * 86_400 * 10**9)


@pytest.mark.parametrize(
    ("value", "is_read"),
    [
        ("the 31st", False),
        ("2/3/2026", False),
        ("2/13/2026", True),
        ("13-2-2026", True),
        ("2026-05-01", True),
        ("'{{date}}'", True),
        ("<% tp.date.now('YYYY-5') %>", True),
        ("true", True),
        ("", True),
    ],
)
def test_a_date_that_cannot_be_read_is_a_warning(value: str, is_read: bool) -> None:
    """It names the property; a template, and a value that is no date, are none."""
    warnings = [
        each for each in parse_document("x.md", f"---\nupdated: {value}\n---\n").warnings if "date" in each
    ]
    assert any("'updated'" in each for each in warnings) is not is_read


def test_the_first_key_that_holds_a_date_counts() -> None:
    """``updated`` comes before ``modified``, wherever they stand, unless it holds none."""
    text = "---\nmodified: 1970-01-02\nupdated: {}\n---\n"
    assert parse_document("x.md", text.format("1970-01-03")).updated_ns == 2 * 86_400 * 10**9
    assert parse_document("x.md", text.format("never")).updated_ns == 86_400 * 10**9


def _escaped(size: int) -> str:
    return "previous:\n" + "".join(f'- "\\u00e9{number}"\n' for number in range(size // 16))


def _in_one_line(size: int) -> str:
    return "previous: [" + ", ".join(f"n{number}" for number in range(size // 8)) + "]\n"


def _wikilinks(size: int) -> str:
    return "related: " + "[[a]] " * (size // 6)


@pytest.mark.parametrize("make", [_escaped, _in_one_line, _wikilinks])
def test_many_links_take_linear_time(make: Callable[[int], str]) -> None:
    """Neither the names of older versions nor the links of a long line are each looked for in all of it."""

    def read(size: int) -> tuple[str, Mapping[str, object]]:
        text = f"---\n{make(size)}\n---\n"
        return text, read_frontmatter(text).values

    assert_grows_linearly(read, lambda front: property_links("a.md", *front, versions=True), 20_000)
