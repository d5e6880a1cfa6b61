"""Exact evidence: what a query names word for word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import pytest
from tests.contract.store_world import World

from mdvec.chunking.sections import SectionChunker
from mdvec.indexing.prepare import prepare
from mdvec.indexing.work import Recipe
from mdvec.search.exact import _IDENTIFIER, _with_all_words, find_exact
from mdvec.search.words import Words, find_by_words
from mdvec.stores.interface import View
from mdvec.stores.records import DocumentRecord, Groups
from mdvec.stores.sqlite.store import SqliteStore
from mdvec.text.tokens import estimate_token_ends
from mdvec.types.change import SourceEntry
from mdvec.types.ids import ChunkId
from mdvec.types.query import Filters, Where

RECIPE = Recipe(SectionChunker(token_ends=estimate_token_ends, tokenizer_name="estimate", max_tokens=60))
NOTES: Mapping[str, str] = {
    "Retry policy.md": "Sent again after a delay, as the rules say.",
    "heading.md": f"# Rules\n\n## Rate limit\n\nA hundred a minute. {'More of it. ' * 20}",
    "phrase.md": "# Text\n\nOver the rate limit, requests wait. The blue whale sings; blue, whale.",
    "screen.md": f"# Screen\n\n## Display {{#display}}\n\nOf any size. {'More of it. ' * 20}",
    "style.md": "# Style\n\nPictures of this kind will not display.",
    "typed.md": "# Typed\n\nUse whale.blue() there, or whale blue.",
    "status.md": "---\nstatus: on hold\ntags: [gardening]\n---\n# A plan\n\nA hold on it. Status of gardens.",
    "journal/2025-03-05.md": "# Wednesday\n\nPlanted the tomatoes.",
    "journal/2024-03-05.md": "# Tuesday\n\nBought the seeds.",
    "dates.md": "# Dates\n\nOn March 5, 2025 the server moved; on March 6, 2025 it came back.",
    "errors.md": "# Errors\n\nThe error E142 means a full disk; read_file raises it.",
    "202402180900 Attics.md": "# On storing things\n\nAttics are memories, and 202402180900 is one.",
    "index.md": "# Index\n\n202402180900 Attics",
    "leak.md": "# Leak\n\nW710 dripped in the cellar.",
    "roof.md": "# Roof\n\nW710 is new.",
    "more.md": "# More errors\n\nThe error E143 means that read file failed.",
    "parts.md": "".join(f"## Part {number}\n\nScrews {'and bolts ' * 25}\n\n" for number in range(38, 43)),
    "Letters/北山書店/delivery.md": "# Delivery\n\nTwelve boxes on Monday.",
    "people.md": "# 名簿\n\n担当は高橋です。林が補佐し、小林は休みです。",
    "trains.md": "# 鉄道\n\n電車が止まった。",
    "car.md": "# 持ち物\n\n車を洗った。",
    "sales.md": "# Sales of 2023\n\n| month | sales |\n|---|---|\n| 3 | 10 |\n| 4 | 12 |",
    "rules.md": "# 規則\n\n第1条 届出は書面による。\n\n第2条 届出の期限は月末。\n\n第4条 届出の様式。",
    "bank.md": "# Statement\n\n| 02/05/1998 | Rent |",
    "may.md": "# Spring\n\nOn 2 May 1998 the storks came.",
    "person.md": "---\nbirthday: 1980-04-09\n---\n# Ann\n\nA friend.",
    "hosts.md": "# Hosts\n\nThe server is 10.0.0.12, the printer 10.0.0.35.",
    "lease.md": "# Lease\n\n12.1 Notice of a month.\n\n12.2 See clause 3.1 and clause 4.2.",
    "rooms.md": "# 鍵\n\n101号室と102号室の鍵は管理人にある。2022年5月に替えた。",
    "fees.md": "# Fees\n\nGuests pay 1,200 yen.",
    "signed.md": "# Contract\n\n締結日 令和6年7月12日、更新は8/20。",
    "diary/250107 walk.md": "# Walk\n\nAlong the river.",
    "2024/archive.md": "# Old\n\nThe attic.",
    "Letters/boxes.md": "# Boxes\n\nOf cardboard.",
    "film.md": "---\n公開年: 1954\n---\n# 七人の侍\n\n七人の侍が村を守る映画。",
    "form.md": "# {{date}}\n\n## Supper\n\n- [ ] \n",
    "supper.md": "# Monday\n\n## Supper\n\nNoodles with the garden's beans, as every week of this summer.",
    "novel.md": "---\nauthor: '[[Ursula K. Le Guin]]'\n---\n# The Dispossessed\n\nA physicist on two worlds.",
    "film 2.md": "---\n公開年: 1961\n---\n# 用心棒\n\n用心棒の映画。19541年。",
}


def write(world: World, notes: Mapping[str, str]) -> World:
    records = []
    for path, text in notes.items():
        prepared = prepare(SourceEntry(path, path, 1, 1), text.encode(), RECIPE)
        assert isinstance(prepared, DocumentRecord)
        records.append(prepared)
    with world.store.write() as writer:
        writer.documents.put(world.first.id, records)
    return world


def found(world: World, query: str, filters: Filters | None = None) -> dict[str, int]:
    """Return how many chunks of each document have exact evidence."""
    where = world.where(filters)
    with world.store.read() as view:
        words = find_by_words(query, view, where=where, limit=200)
        exact = find_exact(query, words, where, view)
        chunks = view.chunks.get(sorted(exact.whole | exact.parts))
    counts: dict[str, int] = {}
    for each in chunks.values():
        counts[each.path] = counts.get(each.path, 0) + 1
    return counts


@pytest.fixture(scope="module")
def noted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    store = SqliteStore(tmp_path_factory.mktemp("exact") / "index.sqlite")
    yield write(World(store), NOTES)
    store.close()


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("retry-policy", {"Retry policy.md"}),
        ("Rate limit", {"heading.md"}),  # not the text that holds it
        ("display", {"screen.md"}),  # an anchor is no part of a heading
        ("will not display", {"style.md"}),  # not a heading that has one of the words
        ("over the rate limit", {"phrase.md"}),
        ("blue whale", {"phrase.md"}),
        ("whale blue", {"typed.md"}),
        ("whale.blue", {"typed.md"}),
        ("blue whales", {"phrase.md"}),
        ("how are the rates limited?", {"heading.md"}),
        ("hundreds of minutes", {"heading.md"}),
        ("a storm and a hundred minutes", set()),
        ("on hold", {"status.md"}),
        ("Supper", {"supper.md"}),
        ("gardening", {"status.md"}),
        ("error E142", {"errors.md"}),
        ("what does E142 mean?", {"errors.md"}),
        ("when does E143 come", {"more.md"}),
        ("are E142 and E143 alike", set()),
        ("which screws does Part 40 need", {"parts.md"}),
        ("which screws does Part 4 need", set()),
        ("1954年公開の映画", {"film.md"}),
        ("195年公開の映画", set()),
        ("books by Ursula Le Guin", {"novel.md"}),
        ("books by Ursula K. Le Guin", {"novel.md"}),
        ("books by Ursula", set()),
        ("letters", {"Letters/北山書店/delivery.md", "Letters/boxes.md"}),
        ("letters on cardboard", set()),
        ("the attic in 2024", {"2024/archive.md"}),
        ("W710 in the cellar", {"leak.md"}),
        ("202402180900", {"202402180900 Attics.md"}),
        ("Attics", {"202402180900 Attics.md", "index.md"}),
        ("W710 in the tower", {"leak.md", "roof.md"}),
        ("高橋さん", {"people.md"}),
        ("くるま", {"car.md"}),
        ("200 yen", set()),
        ("1200 yen", {"fees.md"}),
        ("北山書店の納品", {"Letters/北山書店/delivery.md"}),
        ("nothing of the kind", set()),
        ("---", set()),
        ("", set()),
    ],
)
def test_the_first_kind_that_finds_any_counts(noted: World, query: str, paths: set[str]) -> None:
    """Names, headings, phrases and properties, dates, values and folders, identifiers."""
    assert found(noted, query).keys() == paths


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("what did I do on 2025-03-05", {"journal/2025-03-05.md", "dates.md"}),
        ("2025年3月5日の作業 planted", {"journal/2025-03-05.md", "dates.md"}),
        ("planted on March 5", {"journal/2025-03-05.md", "journal/2024-03-05.md", "dates.md"}),
        ("bought in March 2024", {"journal/2024-03-05.md"}),
        ("server of March 2025", {"journal/2025-03-05.md", "dates.md"}),
        ("server on March 6, 2025", {"dates.md"}),
        ("tomatoes of March 7, 2025", set()),
        ("2024年7月12日の契約", {"signed.md"}),
        ("令和6年7月の契約", {"signed.md"}),
        ("8月20日の更新", {"signed.md"}),
        ("8月2日の更新", set()),
        ("walk of January 7, 2025", {"diary/250107 walk.md"}),
        ("march 6, 2025", {"dates.md"}),
        ("6/3/2025", {"dates.md"}),
        ("3/6/2025", {"dates.md"}),
        ("5 March", {"journal/2025-03-05.md", "journal/2024-03-05.md", "dates.md"}),
        ("anything on 2 May 1998", {"bank.md", "may.md"}),
        ("anything on 5/2/1998", {"bank.md", "may.md"}),
        ("born on 9 April", {"person.md"}),
        ("2025/3/5", {"journal/2025-03-05.md", "dates.md"}),
    ],
)
def test_a_date_finds_what_is_named_after_it_and_what_names_it(
    noted: World, query: str, paths: set[str]
) -> None:
    """A day without a year is one of any year; passages are found among those that hold words."""
    assert found(noted, query).keys() == paths


def test_of_numbered_headings_the_one_in_the_query_counts(noted: World) -> None:
    """One section of five, which differ in their number alone."""
    assert found(noted, "which screws does Part 40 need") == {"parts.md": 1}


def test_only_what_is_wanted_is_named(noted: World) -> None:
    """A filter of paths leaves dates to the passages that name them."""
    inside = Filters(path="dates.md")
    assert found(noted, "what moved on 2025-03-05", inside).keys() == {"dates.md"}
    assert found(noted, "blue whale", Filters(path="typed.md")).keys() <= {"typed.md"}


@pytest.mark.parametrize(("documents", "is_evidence"), [(1, True), (10, True), (11, False), (30, False)])
def test_a_phrase_of_many_documents_is_none(world: World, documents: int, is_evidence: bool) -> None:
    """It is a term of the subject, and no evidence for any of them."""
    notes = {f"{number}.md": f"# N\n\nThe blue whale {'sings ' * number}" for number in range(documents)}
    others = {f"o{number}.md": f"# O\n\nOther notes {'here ' * number}" for number in range(20)}
    assert len(found(write(world, {**notes, **others}), "blue whale")) == documents * is_evidence


@pytest.mark.parametrize(("notes", "is_evidence"), [(11, True), (31, True), (32, False)])
def test_a_value_may_have_a_month_of_notes(world: World, notes: int, is_evidence: bool) -> None:
    """Whether it is the query or a part of it; a value of more is one of a kind of notes."""
    films = {f"{at}.md": f'---\nby: "[[Ridley Scott]]"\n---\nSeen {at} times.' for at in range(notes)}
    others = {f"o{at}.md": "---\nby: Jane Campion\n---\nSeen at home." for at in range(40)}
    write(world, {**films, **others})
    for query in ("Ridley Scott", "seen of Ridley Scott"):
        assert found(world, query).keys() == (films.keys() if is_evidence else set())


@pytest.mark.parametrize(("days", "is_evidence"), [(28, True), (31, True), (32, False)])
def test_a_month_may_have_a_note_a_day(world: World, days: int, is_evidence: bool) -> None:
    """More of them are a term of the subject."""
    names = [f"{day // 32}2025-03-{1 + day % 31:02}" for day in range(days)]
    names = list(dict.fromkeys(names)) + ["9 2025-03-01"] * (days > 31)
    notes = {f"{name}.md": "# Day\n\nWater the garden." for name in names}
    assert len(found(write(world, notes), "garden in March 2025")) == len(names) * is_evidence


@pytest.mark.parametrize(("sections", "counted"), [(5, 5), (15, 1)])
def test_of_a_long_document_one_passage_counts(world: World, sections: int, counted: int) -> None:
    """If more passages hold the phrase than a few, so that it does not fill the answer."""
    text = "\n\n".join(
        f"## Part {number}\n\nThe blue whale {'sings of it ' * 14}" for number in range(sections)
    )
    notes = {"long.md": f"# Long\n\n{text}"}
    assert found(write(world, notes), "blue whale") == {"long.md": counted}


@pytest.mark.parametrize(("documents", "paths"), [(10, 10), (11, 1)])
def test_a_code_in_the_names_of_many_documents_names_none(world: World, documents: int, paths: int) -> None:
    """Such as a year, which then names the text that mentions it."""
    notes = {f"2025 {number}.md": f"# N\n\nA note {'more ' * number}" for number in range(documents)}
    assert len(found(write(world, {**notes, "rain.md": "# Rain\n\nIn 2025 it rained."}), "2025")) == paths


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            "CVE-2024-1234 in read_file of notes.md, v1.2.3?",
            ["CVE-2024-1234", "read_file", "notes.md", "v1.2.3"],
        ),
        ("E142 and os.path.join", ["E142", "os.path.join"]),
        ("well-known words, e.g. this one. And a/b", []),
        ("HTTP 503, or 2024", ["503", "2024"]),
        ("42 and 1.5 and 3-4 and 2024-05-01", []),
        ("弁47番を20分後に", ["47番", "20分"]),
        ("2,580円の商品と1,200 guests", ["2,580円", "1,200"]),
        ("3つの注意", []),
    ],
)
def test_identifiers_are_codes_versions_and_joined_names(text: str, names: Sequence[str]) -> None:
    """And numbers that are long or counted in Japanese; neither plain words nor short numbers and dates."""
    assert _IDENTIFIER.findall(text) == names


@pytest.mark.parametrize(
    ("query", "missed"),
    [
        ("error E142", ()),
        ("error E149", ("E149",)),
        ("error E4", ("E4",)),
        ("the number of Part 41", ()),
        ("screws of Part 50", ("Part 50",)),
        ("bolts of part 7.1", ("part 7.1",)),
        ("screws of chapter 50", ()),
        ("第3条の届出", ("第3条",)),
        ("第2条の届出", ()),
        ("the server 10.0.0.12", ()),
        ("the server 10.0.0.99", ("10.0.0.99",)),
        ("read_file or write_file", ("write_file",)),
        ("2025-03-05", ()),
        ("notes of 2025-03-09", ("2025-03-09",)),
        ("seeds of May 2025", ("May 2025",)),
        ("sales in April 2023", ()),
        ("sales on 7 April 2023", ("7 April 2023",)),
        ("zzz of 9 March 2025", ("9 March 2025",)),
        ("2023年3月の売上", ()),
        ("2023年5月の売上", ("2023年5月",)),
        ("letters 0195", ("0195",)),
        ("102号室の鍵", ()),
        ("１０３号室の鍵", ("103号室",)),
        ("clause 12.1 on notice", ()),  # by the number before its line
        ("clause 9.9 on notice", ("clause 9.9",)),
        ("seeds and tomatoes", ()),
        (f"a pasted message with E149 in it {'and more ' * 5}", ()),
    ],
)
def test_a_date_or_a_code_that_no_text_has_is_missed(
    noted: World, query: str, missed: tuple[str, ...]
) -> None:
    """A pasted message has many."""
    with noted.store.read() as view:
        words = find_by_words(query, view, where=noted.where(), limit=200)
        exact = find_exact(query, words, noted.where(), view)
    assert exact.missed.words == missed


class _Recording:
    """Remembers the groups of terms that a chunk has to hold."""

    groups: Sequence[Sequence[str]] = ()

    def __init__(self) -> None:
        self.words = self.chunks = self

    def holding(self, wanted: Sequence[Groups], _: Where, *, limit: int) -> list[list[ChunkId]]:
        assert limit > 0
        [self.groups] = wanted
        return [[]]

    def get(self, _: Sequence[ChunkId]) -> dict[ChunkId, Any]:
        return {}


def test_a_word_is_looked_up_once_however_often_a_query_repeats_it() -> None:
    """A pasted log of 5,000 words took SQLite eight seconds."""
    view = _Recording()
    _with_all_words("error: retry failed " * 500, Words(), Where(()), cast("View", view))
    assert len(view.groups) == 3
