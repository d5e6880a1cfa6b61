"""The results of a search as the page shows them."""

from __future__ import annotations

import html
import re

import pytest
from msgspec.structs import replace
from starlette.datastructures import QueryParams
from starlette.testclient import TestClient
from tests.bugs import reported_bugs
from tests.unit.interfaces.fake_workspace import HIT, RESULT, FakeWorkspace

from mdvec.config import Config
from mdvec.interfaces.app import build_app
from mdvec.interfaces.http.options import server_options
from mdvec.interfaces.web.search_page import Form
from mdvec.types.query import MIN_SCORE, SearchQuery

PORT = 8765


def results(workspace: FakeWorkspace, language: str = "en", **query: str) -> str:
    """Return what the page shows of an answer."""
    options = server_options(f"127.0.0.1:{PORT}", env={})
    app = build_app(workspace, Config(), options, PORT)
    with reported_bugs() as bugs, TestClient(app, base_url=f"http://127.0.0.1:{PORT}") as client:
        shown = client.get("/results", params=query, headers={"accept-language": language})
    assert (shown.status_code, bugs) == (200, [])
    return html.unescape(shown.text)


def text_of(shown: str) -> str:
    """Return the words between the tags."""
    return " ".join(re.sub(r"<[^>]+>", " ", shown).split())


def test_hits_have_their_day_and_their_tags() -> None:
    """They are behind the place."""
    workspace = FakeWorkspace()
    workspace.result = replace(RESULT, hits=(replace(HIT, updated_ms=1_777_627_800_123, tags=("宿",)),))
    assert "notes 2026-05-01 · #宿" in text_of(results(workspace, "en", q="宿"))


@pytest.mark.parametrize(
    ("query", "order"), [({}, "cadb"), ({"newest": "1"}, "dcba"), ({"newest": "1", "offset": "2"}, "db")]
)
def test_the_newest_come_first_if_the_form_says_so(query: dict[str, str], order: str) -> None:
    """What follows the hits that a page shows already has an order of its own, so that none is lost."""
    workspace = FakeWorkspace()
    hits = [replace(HIT, title=f"Day {day}", updated_ms=ord(day)) for day in "cadb"]
    workspace.result = replace(RESULT, hits=tuple(hits))
    assert "".join(re.findall(r"Day (\w)", results(workspace, "en", q="宿", **query))) == order


@pytest.mark.parametrize(
    ("language", "many", "one", "weaker", "single"),
    [
        (
            "en",
            "and 1,059 like it",
            "and 1 like it",
            "4 weaker passages left out Show all",
            "1 weaker passage left out Show all",
        ),
        (
            "ja",
            "ほか1,059件はほぼ同じ内容",
            "ほか1件はほぼ同じ内容",
            "関連の弱い4件を省略 すべて表示",
            "関連の弱い1件を省略 すべて表示",
        ),
    ],
)
def test_what_an_answer_leaves_out_is_counted(
    language: str, many: str, one: str, weaker: str, single: str
) -> None:
    """Like texts behind their hit, weaker passages behind all hits."""
    workspace = FakeWorkspace()
    hits = (replace(HIT, similar=1_059), replace(HIT, similar=1))
    workspace.result = replace(RESULT, hits=hits, weaker=4)
    text = text_of(results(workspace, language, q="宿"))
    assert text.index(many) < text.index(one) < text.index(weaker)
    assert text.endswith(weaker)
    workspace.result = replace(RESULT, weaker=1)
    text = text_of(results(workspace, language, q="宿"))
    assert text.endswith(single)
    assert not any(words in text for words in (many, one, weaker))


def test_a_link_shows_weaker_passages() -> None:
    """It repeats the search without a smallest score; also where nothing else is shown."""
    workspace = FakeWorkspace()
    workspace.result = replace(RESULT, hits=(), weaker=4)
    shown = results(workspace, q="宿", tag="旅行")
    found = re.search(r'left out <a href="/\?([^"]+)"', shown)
    assert found
    results(workspace, **QueryParams(found[1]))
    first, again = (details["query"] for name, details in workspace.calls if name == "search")
    assert isinstance(first, SearchQuery)
    assert (first.min_score, first.filters.tags) == (MIN_SCORE, ("旅行",))
    assert again == replace(first, min_score=0)


def test_weaker_passages_are_a_filter_of_the_form() -> None:
    """It stays in the addresses of the page until it is taken away."""
    form = Form.of(QueryParams("q=x&weak=1"))
    assert (form.weak, form.filtered) == (True, True)
    assert form.parameters() == {"q": "x", "weak": "1"}
    assert not Form.of(QueryParams("q=x")).filtered
