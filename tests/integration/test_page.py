"""The page, as a browser without scripts sees it: search, reading, status, and who may do what."""

from __future__ import annotations

import html
import json
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import platformdirs
import pytest
from starlette.testclient import TestClient
from tests.events import heard
from tests.waiting import HANG_S, wait_until
from tests.workspaces import workspace_of, written

from mdvec import Workspace, open_workspace
from mdvec.config import Config
from mdvec.config.schema import DocumentSettings, SearchSettings
from mdvec.interfaces.app import build_app
from mdvec.interfaces.http.options import server_options
from mdvec.interfaces.http.rights import COOKIE
from mdvec.interfaces.present import moment
from mdvec.interfaces.web.frame import static_file
from mdvec.stores.sqlite.store import SqliteStore
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.report import ImportOptions
from mdvec.workspace.pages import Pages

# A search of a folder that nobody watches looks whether it has changed; here that would hide what is stale.
CONFIG = Config(search=SearchSettings(sync_budget_ms=0), documents=DocumentSettings(versions=True))
PORT = 8765
TOKEN = "token-of-the-page-0123456789"
MAX_FIRST_LOAD_BYTES = 150_000
PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)

NOTES = {
    "retry.md": "---\ntags: [ops]\nowner: Mori\n---\n# Retry policy\n\n## Limits\n\nFive retries at most.\n",
    "旅行/京都.md": "# 京都の旅\n\n## 宿\n\n四条の宿に泊まった。[[retry]] ![[map.png]]\n",
    "旅行/奈良.md": "---\ntags: [旅, ops]\n---\n# 奈良\n\n鹿を見た。[[京都]] ![鹿](../images/map.png)\n",
    "old.md": "# Old plan\n\nThree retries.\n",
    "new.md": "---\nprevious: old.md\n---\n# New plan\n\nFour retries.\n",
    "<b>.md": "# <img src=x onerror=alert(1)>\n\nretries & <script>alert(1)</script>\n",
}


def make_notes(folder: Path) -> Path:
    """Write notes and images below a folder."""
    folder = folder / "notes"
    written(folder, NOTES)
    (folder / "images").mkdir()
    (folder / "images" / "map.png").write_bytes(PNG)
    (folder / "drawing.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>")
    (folder.parent / "secret.png").write_bytes(b"secret")
    (folder / "linked.png").symlink_to(folder.parent / "secret.png")
    return folder


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A folder of notes and images, to be changed."""
    return make_notes(tmp_path)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """An empty workspace."""
    with open_workspace(CONFIG, database=tmp_path / "index.sqlite", embedder=HashingEmbedder()) as made:
        yield made


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A workspace with the notes, that no test changes."""
    folder = tmp_path_factory.mktemp("page")
    with workspace_of(
        folder / "index.sqlite", {"notes": make_notes(folder)}, CONFIG, description="Notes"
    ) as made:
        yield made


def client_of(workspace: Workspace, address: str = f"127.0.0.1:{PORT}", **env: str) -> TestClient:
    options = server_options(address, env=env)
    app = build_app(workspace, CONFIG, options, PORT)
    return TestClient(app, base_url=f"http://127.0.0.1:{PORT}", follow_redirects=False)


@pytest.fixture(scope="module")
def page(filled: Workspace) -> Iterator[TestClient]:
    """A browser at the page of the notes."""
    with client_of(filled) as client:
        yield client


def text_of(response: Any) -> str:
    return html.unescape(re.sub(r"<[^>]+>", " ", response.text))


def csrf_of(response: Any) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', response.text)
    assert found
    return found[1]


# --- search -----------------------------------------------------------------------------------


def test_a_plain_form_searches(page: TestClient) -> None:
    """Without any script: the query stands in the field, hits have marks, a place and an address."""
    answer = page.get("/", params={"q": "retries limits"})
    assert answer.status_code == 200
    assert 'value="retries limits"' in answer.text
    first = answer.text.partition('<li class="hit">')[2].partition("</li>")[0]
    assert 'href="/doc/notes/retry.md?q=retries+limits&amp;lines=' in first
    assert "<mark>retries</mark>" in first
    assert re.search(r"retry\.md:\d+", first)


def test_the_parts_that_scripts_fetch_are_those_of_the_page(page: TestClient) -> None:
    """Results and filters alone are the same HTML as inside the page."""
    whole = page.get("/", params={"q": "宿"}).text
    for path in ("/results", "/filters"):
        part = page.get(path, params={"q": "宿"}, headers={"X-Requested-With": "fetch"}).text
        assert "<html" not in part
        assert part.strip() in whole


def test_japanese_matches_are_one_mark(page: TestClient) -> None:
    """Bigrams that touch are marked as the words they are."""
    assert "<mark>四条</mark>の<mark>宿</mark>" in page.get("/results", params={"q": "四条 宿"}).text


def test_filters_narrow_and_stay_in_the_address(page: TestClient) -> None:
    """Each filter holds, several tags together; the choices are still chosen on the page."""

    def paths(**query: Any) -> list[str]:
        found = re.findall(
            r'class="path">([^<]+):\d+<',
            page.get("/results", params={"q": "旅 retries", "weak": "1", **query}).text,
        )
        return sorted(map(html.unescape, found))

    assert paths(tag="ops") == ["retry.md", "旅行/奈良.md"]
    assert paths(tag=["ops", "旅"]) == ["旅行/奈良.md"]
    assert paths(folder="旅行") == ["旅行/京都.md", "旅行/奈良.md"]
    assert "old.md" not in paths()
    assert "old.md" in paths(old="1")
    chosen = page.get("/", params={"q": "x", "tag": "ops", "since": "7d", "old": "1", "one": "1"}).text
    for name, value in (("tag", "ops"), ("since", "7d"), ("old", "1"), ("one", "1")):
        assert re.search(rf'name="{name}" value="{value}" checked', chosen)


def test_a_filter_that_nothing_has_can_be_removed(page: TestClient) -> None:
    """A tag or a collection that only the address names stands among the filters, chosen."""
    for address in ("/", "/filters"):
        text = page.get(address, params={"q": "x", "tag": "gone", "n": "nowhere"}).text
        for name, value in (("tag", "gone"), ("n", "nowhere")):
            assert re.search(rf'name="{name}" value="{value}" checked', text)
    assert page.get("/", params={"q": "x", "tag": "ops"}).text.count('value="ops"') == 1


@pytest.mark.parametrize(
    "query", [{"q": "retry", "tag": "nope"}, {"q": "retry", "tag": "旅行"}, {"q": "宿", "folder": "nope"}]
)
def test_the_page_says_in_its_language_why_nothing_was_found(page: TestClient, query: dict[str, str]) -> None:
    """The hint of the search on tags and folders has Japanese words; it names what nothing has."""
    english = page.get("/", params=query, headers={"accept-language": "en"}).text
    japanese = page.get("/", params=query, headers={"accept-language": "ja"}).text
    assert "No document" in english
    assert "No document" not in japanese
    assert (
        query.get("tag", "nope/") in re.findall(r'<p class="quiet">(.*文書はありません。.*)</p>', japanese)[0]
    )


def test_a_list_of_documents_has_no_scores(page: TestClient) -> None:
    """Operators alone choose documents, and rank none."""
    listed, ranked = page.get("/?q=tag:ops").text, page.get("/?q=retry+tag:ops").text
    for shown in ('<span class="confidence', "<dt>Score</dt>"):
        assert (shown in listed, shown in ranked) == (False, True)
    assert 'class="hit"' in listed


def counts(page: TestClient, name: str, **query: Any) -> dict[str, int]:
    """Return the counts beside one kind of filter."""
    text = page.get("/filters", params=query).text
    found = re.findall(
        rf'name="{name}" value="([^"]+)"[^>]*><span class="label">[^<]*</span>(?:<span[^>]*>([\d,]+))?', text
    )
    return {value: int(count or -1) for value, count in found}


def test_filters_have_counts_of_documents(page: TestClient) -> None:
    """Each kind is counted as the others leave it; a folder that is chosen leads to those inside."""
    assert counts(page, "tag") == {"ops": 2, "旅": 1}
    assert counts(page, "tag", folder="旅行") == {"ops": 1, "旅": 1}
    assert counts(page, "folder") == {"旅行": 2}
    assert counts(page, "folder", tag="ops") == {"旅行": 1}
    assert counts(page, "folder", folder="旅行") == {"旅行": -1}
    assert counts(page, "since") == {"1d": 5, "7d": 5, "30d": 5, "365d": 5}
    assert counts(page, "since", tag="旅") == {"1d": 1, "7d": 1, "30d": 1, "365d": 1}
    assert counts(page, "since", old="1")["1d"] == 6


def test_the_first_look_shows_what_changed_last(page: TestClient) -> None:
    """Without a query the newest documents are listed, inside the filters."""
    assert page.get("/").text.count('<li class="hit">') == 5
    assert re.findall(r'class="path">([^<]+)<', page.get("/", params={"tag": "旅"}).text) == ["旅行/奈良.md"]


def test_a_filter_that_makes_no_sense_is_explained(page: TestClient) -> None:
    """An unknown collection is a message in the place of results, not an error page."""
    answer = page.get("/", params={"q": "x", "n": "nowhere"})
    assert answer.status_code == 200
    assert 'id="search"' in answer.text
    assert "there is no collection &#39;nowhere&#39;" in answer.text
    answer = page.get("/", params={"q": "x", "shown": "9" * 5000, "since": "ever"})
    assert answer.status_code == 200
    assert "not a date, a time or an age: &#39;ever&#39;" in answer.text
    assert "No document has the tag &#39;none&#39;" in page.get("/", params={"q": "x", "tag": "none"}).text


def test_badges_say_what_to_mind(workspace: Workspace, notes: Path) -> None:
    """A changed file, an older version, and a passage without a vector carry a badge."""
    workspace.add_collection("notes", "Notes", str(notes))
    workspace.import_collection("notes")
    (notes / "retry.md").write_text("# Retry policy\n\nSix retries.\n", encoding="utf-8")
    (notes / "fresh.md").write_text("# Fresh\n\nSeven retries.\n", encoding="utf-8")
    with client_of(workspace) as client:
        shown = client.get("/results", params={"q": "retries", "old": "1"}).text
        assert shown.count('class="badge stale"') == 1
        assert shown.count('class="badge superseded"') == 1
        assert 'class="badge pending"' not in shown
        workspace.import_collection("notes", ImportOptions(embed=False))
        shown = client.get("/results", params={"q": "retries"}).text
        assert "found by words only so far" in shown
        assert shown.count('class="badge pending">by words') >= 1


def test_more_results_follow(workspace: Workspace, tmp_path: Path) -> None:
    """The link to more shows ten further ones; the part from an offset on has those alone."""
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(25):
        (folder / f"{number}.md").write_text(f"# Apple {number}\n\nAn apple a day.\n", encoding="utf-8")
    workspace.add_collection("many", "Many", str(folder))
    workspace.import_collection("many")
    with client_of(workspace) as client:
        assert client.get("/", params={"q": "apple"}).text.count('<li class="hit">') == 10
        assert client.get("/", params={"q": "apple", "shown": "20"}).text.count('<li class="hit">') == 20
        rest = client.get("/results", params={"q": "apple", "shown": "30", "offset": "20"}).text
        assert rest.count('<li class="hit">') == 5
        assert 'id="more"' not in rest


def test_names_and_texts_of_notes_are_only_text(page: TestClient) -> None:
    """Nothing of a path, a title, a passage or a query becomes markup."""
    answer = page.get("/", params={"q": "<script>alert(2)</script> retries"})
    assert "<script>alert" not in answer.text
    assert "<img src=x" not in answer.text
    assert "/doc/notes/%3Cb%3E.md" in answer.text
    assert "<script>alert" not in page.get("/doc/notes/%3Cb%3E.md?q=<script>alert(3)</script>").text


# --- the same query at every door -----------------------------------------------------------------

OPERATORS = {
    '"five retries"': {"retry.md"},
    "retries -five": {"new.md", "<b>.md", "旅行/京都.md", "旅行/奈良.md"},
    'retries -"four retries"': {"retry.md", "<b>.md", "旅行/京都.md", "旅行/奈良.md"},
    "retr*": {"retry.md", "new.md", "<b>.md", "旅行/京都.md"},
    "path:旅行/": {"旅行/京都.md", "旅行/奈良.md"},
    "tag:ops": {"retry.md", "旅行/奈良.md"},
    "title:plan": {"new.md"},
}
"""Queries with the documents that meet their operators."""


def doors(page: TestClient, query: str) -> dict[str, Any]:
    """Ask the page, ``GET /search`` and JSON-RPC for all; return the page's text and the others' answers."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "mdvec.search", "params": {"query": query, "min_score": 0}}
    return {
        "page": page.get("/results", params={"q": query, "weak": "1"}),
        "search": page.get("/search", params={"q": query, "min_score": "0"}).json(),
        "rpc": page.post("/rpc", json=call).json()["result"],
    }


@pytest.mark.parametrize(("query", "expected"), OPERATORS.items())
def test_operators_mean_the_same_at_every_door(page: TestClient, query: str, expected: set[str]) -> None:
    """What does not meet an operator is not found, however near it is; all that does is found."""
    answers = doors(page, query)
    shown = re.findall(r'class="path">([^<]+?)(?::\d+)?<', answers["page"].text)
    assert set(map(html.unescape, shown)) == expected
    for door in ("search", "rpc"):
        assert {hit["path"] for hit in answers[door]["hits"]} == expected


def test_a_mistyped_word_is_mended_at_every_door(page: TestClient) -> None:
    """The answer says so; in quotation marks the word stays, and no document holds it."""
    answers = doors(page, "retrise")
    assert "Searched for “retries” instead of “retrise”" in text_of(answers["page"])
    for door in ("search", "rpc"):
        assert answers[door]["corrections"] == [{"typed": "retrise", "searched": "retries"}]
        assert "retry.md" in {hit["path"] for hit in answers[door]["hits"]}
    quoted = doors(page, '"retrise"')
    assert "Nothing matches" in text_of(quoted["page"])
    assert "Search without the quotation marks" in text_of(quoted["page"])
    assert [quoted[door]["hits"] for door in ("search", "rpc")] == [[], []]


# --- reading ----------------------------------------------------------------------------------


def test_a_document_is_read_with_what_surrounds_it(page: TestClient) -> None:
    """Outline, tags, properties, backlinks and the ways to open the file; the passage is marked."""
    answer = page.get("/doc/notes/retry.md?q=retries&lines=9-9")
    assert '<a href="#note-limits">Limits</a>' in answer.text
    assert 'href="/?n=notes&amp;tag=ops"' in answer.text
    assert "owner Mori" in " ".join(text_of(answer).split())
    linked = '<a href="/doc/notes/%E6%97%85%E8%A1%8C/%E4%BA%AC%E9%83%BD.md[^>]* title="旅行/京都.md">京都</a>'
    assert re.search(linked, answer.text)
    assert "obsidian://open?path=" in answer.text
    assert re.search(r'href="vscode://file/.*/retry\.md:9"', answer.text)
    assert re.search(r'class="passage"[^>]*>Five <mark class="word">retries</mark>', answer.text)


def test_rendering_leaves_the_other_threads_alone(filled: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many documents are being rendered, the status and a search are shown meanwhile."""
    rendering, go = [], threading.Event()
    read = Pages.read

    def slow(*arguments: Any) -> Any:
        rendering.append(1)
        assert go.wait(HANG_S)
        return read(*arguments)

    monkeypatch.setattr(Pages, "read", slow)
    with client_of(filled) as browser, ThreadPoolExecutor(24) as people:
        views = [people.submit(browser.get, "/doc/notes/retry.md") for _ in range(20)]
        wait_until(lambda: rendering)
        others = [people.submit(browser.get, path) for path in ("/status", "/?q=retries")]
        try:
            assert [each.result(HANG_S / 4).status_code for each in others] == [200, 200]
            assert len(rendering) <= 2
        finally:
            go.set()
        assert {each.result(HANG_S).status_code for each in views} == {200}


def test_properties_lead_to_notes_and_addresses(workspace: Workspace, tmp_path: Path) -> None:
    """The date of the note itself is shown, as filters and lists understand it."""
    front = "updated: 2026-05-01T12:00\nby: ['[[b#x|Bo]]', '[[nobody]]', 'https://x.example/a?b=c']\n"
    (tmp_path / "a.md").write_text(f"---\n{front}---\ntext\n", encoding="utf-8")
    (tmp_path / "b.md").write_text("# B\n", encoding="utf-8")
    workspace.add_collection("notes", "", str(tmp_path), include=("*.md",))
    workspace.import_collection("notes")
    with client_of(workspace) as browser:
        shown = browser.get("/doc/notes/a.md").text
    assert '<a href="/doc/notes/b.md">Bo</a>, nobody, <a href="https://x.example/a?b=c"' in shown
    assert f"<dd>{moment(1_777_636_800_000)}</dd>" in shown


def test_a_link_is_read_as_its_program_means_it(workspace: Workspace, tmp_path: Path) -> None:
    """Dendron writes the text of a link first: the page leads where the index does, and shows that text."""
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "a.md").write_text("---\nid: x\ndesc: ''\n---\n[[The plan|proj.plan]] #a/\n", "utf-8")
    (folder / "proj.plan.md").write_text("---\nid: y\ndesc: ''\n---\nThe plan is this.\n", "utf-8")
    workspace.add_collection("vault", "A vault", folder)
    workspace.import_collection("vault")
    with client_of(workspace) as browser:
        shown = browser.get("/doc/vault/a.md").text
    links = dict(re.findall(r'<a class="(?:internal|tag)" href="([^"]*)"[^>]*>([^<]*)</a>', shown))
    assert links == {"/doc/vault/proj.plan.md": "The plan", "/?n=vault&amp;tag=a": "#a/"}


@pytest.mark.parametrize(
    ("fragment", "shown"),
    [
        ("Log#Steps", "second marked"),
        ("Plan", "plan first"),
        ("^id", "marked"),
        ("Notes › Log", "log second marked"),
        ("Last part", "third fourth"),
        ("^item", "fourth"),
        ("Nothing", ""),
    ],
)
def test_an_embed_shows_the_part_that_its_link_names(
    workspace: Workspace, tmp_path: Path, fragment: str, shown: str
) -> None:
    """The same part that is read by this name: a heading below another one, an underlined one, or a block."""
    body = (
        "# Notes\n\nPlan\n----\nplan\n\n### Steps\nfirst\n\n## Log\nlog\n\n### Steps\nsecond\n\n"
        "marked ^id\n\n## Last *part*\n\n- third\n- fourth ^item\n"
    )
    written(tmp_path / "notes", {"a.md": body, "b.md": f"![[a#{fragment}]]\n"})
    workspace.add_collection("notes", "Notes", tmp_path / "notes")
    workspace.import_collection("notes")
    with client_of(workspace) as client:
        embed = client.get("/doc/notes/b.md").text.partition('class="embed-title"')[2].partition("<aside")[0]
    assert re.findall(r"plan|log|first|second|marked|third|fourth", embed) == shown.split()


def test_images_are_shown_by_a_path_that_leads_upwards(page: TestClient) -> None:
    """A browser takes ``..`` out of an address, so the page resolves it."""
    note = "/doc/notes/旅行/奈良.md"
    address = re.findall(r'<img src="(/file[^"]*)"', page.get(note).text)[0]
    assert page.get(urljoin(note, html.unescape(address))).content == PNG


def test_versions_lead_to_each_other(page: TestClient) -> None:
    """An older version names the newer one, and the other way round."""
    assert 'href="/doc/notes/new.md"' in page.get("/doc/notes/old.md").text
    assert 'href="/doc/notes/old.md"' in page.get("/doc/notes/new.md").text


def test_similar_notes_leave_out_the_note_itself(page: TestClient) -> None:
    """The part that a script fetches has links to others."""
    found = re.findall(r'href="/doc/notes/([^"]+)"', page.get("/similar/notes/retry.md").text)
    assert found
    assert "retry.md" not in found


def test_a_document_that_is_not_there_is_explained(page: TestClient) -> None:
    """404 with the nearest path."""
    answer = page.get("/doc/notes/retri.md")
    assert answer.status_code == 404
    assert "Did you mean retry.md?" in text_of(answer)


@pytest.mark.parametrize("lines", ["abc", "0", "9-3", "900-901"])
def test_lines_that_are_not_there_are_a_notice(page: TestClient, lines: str) -> None:
    """The note is shown all the same, without a link to the passage."""
    answer = page.get(f"/doc/notes/retry.md?lines={lines}")
    assert answer.status_code == 200
    assert "Five retries" in answer.text
    assert "not among those shown here" in answer.text
    assert "To the passage found" not in answer.text
    assert "not among" not in page.get("/doc/notes/retry.md?lines=9").text


@pytest.mark.parametrize(
    ("address", "english", "japanese"),
    [
        ("/doc/notes/retri.md", "Did you mean retry.md? Search for it.", "題名や内容の言葉で検索して"),
        ("/?q=x&n=nowhere", "Remove this filter, or", "絞り込みを解除するか、"),
        ("/nothing", "Search instead.", "検索から探してください。"),
    ],
)  # fmt: skip
def test_an_error_has_the_language_of_the_page(
    page: TestClient, address: str, english: str, japanese: str
) -> None:
    """With a step to take there; in Japanese, what an error of the engine itself says stands below."""
    browser = {"Accept": "text/html", "Accept-Language": "en"}
    assert english in text_of(page.get(address, headers=browser))
    answer = page.get(address, headers={**browser, "Accept-Language": "ja"})
    assert japanese in text_of(answer)
    assert ('<small lang="en">' in answer.text) is (address != "/nothing")


def test_an_address_without_a_page_is_one_for_browsers(page: TestClient) -> None:
    """A browser receives a page that leads to the search; others receive problem details."""
    shown = page.get("/nothing", headers={"Accept": "text/html"})
    assert (shown.status_code, shown.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert '<p><a href="/">← Search</a></p>' in shown.text
    assert page.get("/nothing").headers["content-type"] == "application/problem+json"
    assert page.get("/collections", headers={"Accept": "text/html"}).status_code == 405


def test_long_lists_of_files_have_pages(page: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each leads to the next and the previous one, within a state too."""
    everything = re.findall(r'href="/doc/notes/([^"]*)"', page.get("/status/notes?state=ready").text)
    monkeypatch.setattr("mdvec.interfaces.web.status_page._MAX_FILES", 2)
    seen, address = list[str](), "?state=ready"
    while address:
        shown = page.get(f"/status/notes{address}").text
        seen += re.findall(r'href="/doc/notes/([^"]*)"', shown)
        later = re.findall(r'href="([^"]*)">[^<]* →', shown)
        address = html.unescape(later[0]) if later else ""
    assert seen == everything
    assert len(seen) > 4
    assert "state=ready&amp;from=0" in page.get("/status/notes?state=ready&from=2").text


@pytest.mark.parametrize("path", ["images/map.png?from=", "map.png?from=旅行/京都.md", "map.png"])
def test_images_are_found_as_obsidian_finds_them(page: TestClient, path: str) -> None:
    """By their path from the root, or by their name alone."""
    answer = page.get(f"/file/notes/{path}")
    assert answer.content == PNG
    assert answer.headers["content-type"] == "image/png"


def test_an_image_opened_by_itself_runs_nothing(page: TestClient) -> None:
    """An SVG file is sandboxed: its scripts have no origin and do not run."""
    answer = page.get("/file/notes/drawing.svg")
    assert answer.headers["content-type"].startswith("image/svg+xml")
    assert "sandbox" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "path",
    [
        "linked.png", "../secret.png", "..%2Fsecret.png", "images/../../secret.png", "%2e%2e/secret.png",
        "/etc/passwd", "%2Fetc%2Fpasswd", "retry.md", "..%5Csecret.png", "images", "",
    ],
)  # fmt: skip
@pytest.mark.parametrize("from_path", ["", "旅行/京都.md", "../x.md"])
def test_only_images_of_the_folder_are_served(page: TestClient, path: str, from_path: str) -> None:
    """No way up, no link out of the folder, nothing but images."""
    answer = page.get(f"/file/notes/{path}", params={"from": from_path})
    assert answer.status_code in {404, 307}
    assert b"secret" not in answer.content.replace(b"secret.png", b"")
    assert b"Five" not in answer.content


# --- status and changes -------------------------------------------------------------------------


def test_an_empty_workspace_explains_itself(workspace: Workspace) -> None:
    """The first visit has a form for a folder."""
    with client_of(workspace) as client:
        answer = client.get("/")
        assert 'name="folder"' in answer.text
        assert "Search what you have written" in answer.text


@pytest.mark.parametrize("text", [None, "{", "[]", '{"vaults": 1}', '{"vaults": {"a": {}}}'])
def test_vaults_of_obsidian_are_offered(
    text: str | None, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that Obsidian knows on this machine and that can be looked at; a list of another form is none."""
    for variable in ("HOME", "XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.setenv(variable, str(tmp_path / "home"))
    place = platformdirs.user_config_path("obsidian", appauthor=False, roaming=True)
    place.mkdir(parents=True)
    (tmp_path / "家 & work").mkdir()
    paths = (tmp_path / "家 & work", tmp_path / "gone", tmp_path / ("long" * 100))
    vaults = {"odd": 1, **{str(at): {"path": str(path), "ts": 1} for at, path in enumerate(paths)}}
    (place / "obsidian.json").write_text(text or json.dumps({"vaults": vaults}), encoding="utf-8")
    with client_of(workspace) as client:
        offered = re.findall(r'<option value="(/[^"]*)">', client.get("/").text)
    assert offered == ([] if text else [str(tmp_path / "家 &amp; work")])


def test_links_from_notes_of_one_name_are_told_apart(workspace: Workspace, tmp_path: Path) -> None:
    """They have their paths where another has the same file name; one alone has its name."""
    files = {"a/log.md": "[[plan]]", "b/log.md": "[[plan]]", "c/idea.md": "[[plan]]", "plan.md": "Plan"}
    workspace.add_collection("links", "Links", str(written(tmp_path / "links", files)))
    workspace.import_collection("links")
    with client_of(workspace) as client:
        shown = re.findall(r'title="[^"]*">([^<]*)</a></li>', client.get("/doc/links/plan.md").text)
    assert shown == ["a/log.md", "b/log.md", "idea"]


def test_a_folder_is_added_and_indexed(workspace: Workspace, notes: Path) -> None:
    """The form registers it under a name made of the path, and the import begins by itself."""
    with client_of(workspace) as client:
        csrf = csrf_of(client.get("/"))
        added = client.post("/collections", data={"csrf": csrf, "folder": str(notes)})
        assert (added.status_code, added.headers["location"]) == (303, "/status")
        wait_until(lambda: workspace.collection("notes").last_indexed_ms is not None)
        assert "retry.md" in client.get("/", params={"q": "retries"}).text


def test_folders_get_names_that_are_free(workspace: Workspace, tmp_path: Path) -> None:
    """Without a name each gets one from its path, or a number."""
    with client_of(workspace) as browser:
        for folder in ("日記", "メモ", "Work notes", "2024 web3"):
            (tmp_path / folder).mkdir()
            token = csrf_of(browser.get("/" if not workspace.collections() else "/status"))
            sent = {"folder": str(tmp_path / folder), "csrf": token}
            assert browser.post("/collections", data=sent).status_code == 303
        wait_until(lambda: all(each.last_indexed_ms is not None for each in workspace.collections()))
    assert [each.name for each in workspace.collections()] == ["notes", "notes-2", "web3", "work-notes"]


def test_a_wrong_folder_is_explained_in_the_form(workspace: Workspace) -> None:
    """What was entered stands there still, with the reason."""
    with client_of(workspace) as client:
        csrf = csrf_of(client.get("/"))
        answer = client.post("/collections", data={"csrf": csrf, "folder": "/no/such", "name": "mine"})
        assert answer.status_code == 400
        assert "/no/such is not a folder" in answer.text
        assert 'value="mine"' in answer.text


def test_status_names_collections_files_and_reasons(page: TestClient) -> None:
    """Counts, the model, the map of tags; files by state, each that is left out with its rule."""
    shown = page.get("/status")
    for part in ("notes", "hashing", "Map of tags", "ops"):
        assert part in shown.text
    files = page.get("/status/notes?state=excluded")
    assert "images/map.png" in files.text
    assert "retry.md" not in files.text
    assert page.get("/status/nowhere").status_code == 404


def test_work_that_ends_without_a_change_is_seen_to_end(workspace: Workspace, notes: Path) -> None:
    """The stream shows the work of another process, and its end, though nothing was written since."""
    workspace.add_collection("notes", "Notes", str(notes))
    elsewhere = SqliteStore(Path(workspace.status().database))
    work = ExitStack()

    def enough(text: str) -> bool:
        if "<progress" in text:
            work.close()
        return "Bring up to date" in text

    with closing(elsewhere), client_of(workspace) as browser:
        (collection,) = workspace.collections()
        work.enter_context(elsewhere.claim(collection, "importing notes", wait_s=0))
        events = heard(browser, enough=enough)
    assert events.index("<progress") < events.index("Bring up to date")


@pytest.mark.parametrize("sent", [None, "", "wrong", "x" * 100, "日本"])
@pytest.mark.parametrize(
    "path", ["/collections", "/collections/notes/import", "/collections/notes/cancel", "/reveal", "/logout"]
)
def test_nothing_changes_without_the_token_of_the_page(
    page: TestClient, filled: Workspace, path: str, sent: str | None
) -> None:
    """A form that a page of this process did not send is refused."""
    before = filled.generation()
    answer = page.post(path, data={"folder": "/tmp", "name": "x"} | ({} if sent is None else {"csrf": sent}))
    assert answer.status_code == 403
    assert filled.generation() == before


def test_changes_are_no_links(page: TestClient) -> None:
    """GET changes nothing."""
    for path in ("/collections", "/collections/notes/import", "/reveal", "/logout"):
        assert page.get(path).status_code == 405


def test_foreign_pages_and_names_are_refused(page: TestClient) -> None:
    """The guard of MCP holds for the page."""
    assert page.get("/", headers={"Host": "evil.example"}).status_code == 421
    assert page.post("/collections", headers={"Origin": "https://evil.example"}).status_code == 403


# --- the token -----------------------------------------------------------------------------------


def test_a_browser_enters_the_token_once(filled: Workspace) -> None:
    """It is sent to the form; a wrong token is refused, the right one starts a session that can be ended."""
    with client_of(filled, MDVEC_TOKEN=TOKEN) as client:
        browser = {"Accept": "text/html"}
        sent = client.get("/?q=宿", headers=browser)
        assert (sent.status_code, sent.headers["location"]) == (303, "/login?next=%2F%3Fq%3D%25E5%25AE%25BF")
        assert client.get("/login").status_code == 200
        assert client.get("/static/page.css").status_code == 200
        refused = client.post("/login", data={"token": TOKEN[:-1], "next": "/"})
        assert refused.status_code == 403
        assert COOKIE not in client.cookies
        entered = client.post("/login", data={"token": TOKEN, "next": "/?q=%E5%AE%BF"})
        assert (entered.status_code, entered.headers["location"]) == (303, "/?q=%E5%AE%BF")
        cookie = entered.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert TOKEN not in cookie
        shown = client.get("/?q=宿", headers=browser)
        assert shown.status_code == 200
        left = client.post("/logout", data={"csrf": csrf_of(shown)})
        assert left.headers["location"] == "/login"
        assert client.get("/", headers=browser).status_code == 303


@pytest.mark.parametrize("value", ["", "x", "9999999999.a.b", "9999999999.a.", "..", "é"])
def test_a_session_cannot_be_made_up(filled: Workspace, value: str) -> None:
    """A cookie without the server's signature is none."""
    with client_of(filled, MDVEC_TOKEN=TOKEN) as client:
        assert (
            client.get("/results?q=x", headers={b"Cookie": f"{COOKIE}={value}".encode()}).status_code == 401
        )


@pytest.mark.parametrize(
    "wanted", ["//evil.example/", "https://evil.example/", "/\\evil.example", "javascript:1", ""]
)
def test_entering_leads_to_this_server_alone(filled: Workspace, wanted: str) -> None:
    """No address of another site is followed."""
    with client_of(filled, MDVEC_TOKEN=TOKEN) as client:
        assert client.post("/login", data={"token": TOKEN, "next": wanted}).headers["location"] == "/"


def test_files_of_the_machine_are_named_to_its_own_browsers_alone(filled: Workspace) -> None:
    """Bound to other addresses the page neither names paths nor opens a file manager."""
    with client_of(filled, address=f"0.0.0.0:{PORT}", MDVEC_TOKEN=TOKEN) as client:
        client.post("/login", data={"token": TOKEN})
        shown = client.get("/doc/notes/retry.md")
        assert "obsidian://" not in shown.text
        answer = client.post(
            "/reveal", data={"csrf": csrf_of(shown), "collection": "notes", "path": "retry.md"}
        )
        assert answer.status_code == 400


# --- around it -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/", "/?q=retries", "/doc/notes/retry.md", "/status", "/status/notes", "/login"]
)
def test_every_page_forbids_scripts_and_styles_in_itself(page: TestClient, path: str) -> None:
    """The policy allows files of this server alone, and no page holds a script, a style or a handler."""
    answer = page.get(path)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"<script(?![^>]* src=)|<style|\sstyle=|\son\w+=", answer.text)


@pytest.mark.parametrize(
    ("accepted", "language", "word"),
    [
        ("ja,en;q=0.8", "ja", "絞り込み"), ("en-US,ja;q=0.5", "en", "Filters"), ("fr", "en", "Filters"),
        ("", "en", "Filters"), ("de;q=1, ja;q=0.4, en;q=0.3", "ja", "絞り込み"), ("ja;q=x", "en", "Filters"),
    ],
)  # fmt: skip
def test_the_browser_chooses_the_language(page: TestClient, accepted: str, language: str, word: str) -> None:
    """Japanese or English, whichever the browser wants more; English for all others."""
    answer = page.get("/", headers={"Accept-Language": accepted})
    assert f'<html lang="{language}">' in answer.text
    assert word in answer.text


def test_the_first_load_is_light(page: TestClient) -> None:
    """The page with all its files takes at most 150 kB."""
    answer = page.get("/", params={"q": "retries"})
    files = set(re.findall(r'(?:src|href)="/static/([\w.]+)', answer.text))
    assert {"page.css", "page.js", "search.js", "icon.svg"} <= files
    total = len(answer.content) + sum(len(page.get(f"/static/{name}").content) for name in files)
    assert total <= MAX_FIRST_LOAD_BYTES


@pytest.mark.parametrize("name", ["../site.py", "%2e%2e%2fsite.py", "nothing.js", "page.py"])
def test_only_files_of_the_page_are_served(page: TestClient, name: str) -> None:
    """What does not lie among them is not there."""
    assert page.get(f"/static/{name}").status_code == 404
    assert static_file("../site.py") is None


def test_a_file_is_shown_in_the_file_manager(
    page: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program of the system is started with the folder of the note, and with nothing that was sent."""
    program = tmp_path / "xdg-open"
    part = tmp_path / "opened.part"
    program.write_text(f'#!/bin/sh\nprintf "%s" "$*" > {part} && mv {part} {tmp_path}/opened\n')
    program.chmod(0o755)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    csrf = csrf_of(page.get("/doc/notes/retry.md"))
    for path, code in (("../../etc/passwd", 404), ("旅行/京都.md", 204)):
        answer = page.post("/reveal", data={"csrf": csrf, "collection": "notes", "path": path})
        assert answer.status_code == code
    wait_until((tmp_path / "opened").exists)
    assert (tmp_path / "opened").read_text(encoding="utf-8").endswith("/notes/旅行")
