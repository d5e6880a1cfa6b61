"""The reading site, built by VitePress and looked at in a browser."""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from benchmarks.reading_site import dead_links
from playwright.sync_api import Browser, expect
from tests.browser.conftest import NOTES
from tests.workspaces import workspace_of, written

from mdvec import Workspace
from mdvec.interfaces.site.build import build_site
from mdvec.interfaces.site.projects import SiteReport

pytestmark = pytest.mark.browser

BASE = "/notes/"
_DOCS = Path(__file__).parents[2] / "docs"
_MORE = {
    "設定.md": (
        "# 設定ファイル\n\n冒頭の文章は有効期限について書く。\n\n## リトライ方針\n\n三回まで再試行する。\n\n"
        "## コード\n\n```python\nprint('retry')\n\nlimit = 3\n```\n\n---\n\n| a | b |\n| - | - |\n| 1 | 2 |\n"
    ),
    "vue.md": (
        "# Vue\n\n{{ constructor.constructor('window.ran = 8')() }} Vec<String> <div>\n\n"
        "<script setup>x</script>\n"
    ),
    "care.md": "# 猫の世話\n\n朝に与えるのは乾いた餌。\n\n## A cat\n\nA cat must be fed in the morning.\n",
    "same/one.md": "# One\n\n[[same_one]] [[設定#リトライ方針]]\n",
    "same_one.md": "# Two\n\n[[same/one]]\n",
}


_OWN = {
    ".vitepress/site.local.mjs": "export default { titleTemplate: ':title · Handbook' }\n",
    "pages/about.md": "# About\n\nIt is {{ 6 * 7 }}.\n",
}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """Hostile and ordinary notes, and mdvec's own documentation."""
    root = tmp_path_factory.mktemp("site")
    written(root / "vault", {**NOTES, **_MORE})
    shutil.copytree(_DOCS, root / "vault" / "docs")
    (root / "vault" / "map.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>", encoding="utf-8")
    with workspace_of(root / "index.sqlite", {"vault": root / "vault"}, description="Notes") as workspace:
        yield workspace


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the site goes."""
    return tmp_path_factory.mktemp("out") / "site"


def build(workspace: Workspace, folder: Path) -> SiteReport:
    """Build the site."""
    return build_site(
        workspace,
        "vault",
        folder,
        base=BASE,
        language="ja",
        project_only=False,
        note=lambda _: None,
        custom=folder.parent / "own",
    )


@pytest.fixture(scope="module")
def dist(site_packages: None, workspace: Workspace, folder: Path) -> Path:
    """The built site."""
    for place, text in _OWN.items():
        (folder.parent / "own" / place).parent.mkdir(parents=True)
        (folder.parent / "own" / place).write_text(text, encoding="utf-8")
    report = build(workspace, folder)
    assert report.built is not None
    return report.built


@pytest.fixture(scope="module")
def url(dist: Path) -> Iterator[str]:
    """Where the site is served."""

    class Handler(SimpleHTTPRequestHandler):
        def translate_path(self, path: str) -> str:
            return super().translate_path("/" + path.removeprefix(BASE))

        def log_message(self, *_: object) -> None:
            """Be quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(dist))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}{BASE}"
        server.shutdown()
        thread.join()


def test_every_link_leads_somewhere(dist: Path) -> None:
    """Each address in each page is a file of the site, and each fragment a place in it."""
    assert len(list(dist.rglob("*.html"))) > 30
    assert dead_links(dist, BASE) == []


def test_no_page_holds_a_list_of_all_others(dist: Path) -> None:
    """A page is as large as its note: with a thousand notes such a list was half of the site."""
    names = [each.name for each in (dist / "assets").glob("docs_*.lean.js")]
    assert len(names) > 20
    for page in dist.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert sum(name.split(".")[-3] in text for name in names) <= 1, page


def test_the_same_notes_give_the_same_files(dist: Path, workspace: Workspace, folder: Path) -> None:
    """A second build writes the same files, so that only what changed has to be uploaded."""
    files = {path: path.read_bytes() for path in dist.rglob("*") if path.is_file()}
    report = build(workspace, folder)
    assert (report.written, report.removed) == (0, 0)
    assert {path: path.read_bytes() for path in dist.rglob("*") if path.is_file()} == files


def test_japanese_is_found(chromium: Browser, url: str) -> None:
    """Words inside Japanese sentences are found, by words and by questions, and lead to their section."""
    page = chromium.new_page()
    page.goto(url + "docs/glossary.html", wait_until="networkidle")
    for query, found in (
        ("有効期限", "設定ファイル"),
        ("リトライ方針", "リトライ方針"),
        ("旅館", "宿"),
        ("旅館とは何ですか", "宿"),
        ("猫の餌はいつ？", "猫の世話"),
        ("猫とは何か", "猫の世話"),
        ("how is the cat to be fed", "A cat"),
    ):
        page.keyboard.press("Control+k")
        page.locator("#localsearch-input").fill(query)
        # The box opens with the hits of the query before; the first hit is awaited, not read.
        hit = page.locator("#localsearch-list .result").first
        expect(hit).to_contain_text(found)
        page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.locator("#localsearch-input").fill("再試行")
    hit = page.locator("#localsearch-list .result").first
    expect(hit).to_contain_text("リトライ方針")
    hit.click()
    page.wait_for_url(re.compile(r"#note-"))
    page.close()


def test_the_search_box_shows_texts(chromium: Browser, url: str) -> None:
    """With details a hit shows the text of its section, from the data of its page."""
    page = chromium.new_page()
    page.goto(url, wait_until="networkidle")
    page.keyboard.press("Control+k")
    page.locator("#localsearch-input").fill("再試行")
    page.locator("#localsearch-list .selected").wait_for()
    page.locator("[title='詳細を表示']").click()
    expect(page.locator("#localsearch-list .excerpt").first).to_contain_text("三回まで再試行する。")
    page.close()


def test_settings_and_pages_of_the_user_are_used(dist: Path) -> None:
    """Settings override mdvec's, and an own page is Markdown as VitePress knows it."""
    text = (dist / "about.html").read_text(encoding="utf-8")
    assert "<title>About · Handbook</title>" in text
    assert "It is 42." in text
    assert "<title>設定ファイル · Handbook</title>" in (dist / "設定.html").read_text(encoding="utf-8")


def test_nothing_of_a_note_runs(chromium: Browser, url: str) -> None:
    """Scripts, handlers and templates of notes do nothing, and no other host is asked for anything."""
    page = chromium.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for name in ("evil.html", "vue.html"):
        page.goto(url + name, wait_until="networkidle")
        assert page.evaluate("window.ran") is None
    assert "{{ constructor" in page.locator(".note").inner_text()
    assert [each for each in asked if not each.startswith(url)] == []
    page.close()


def test_the_sidebar_is_loaded_once(chromium: Browser, url: str) -> None:
    """The sidebar names the notes by their titles, and leads to them."""
    page = chromium.new_page(viewport={"width": 1280, "height": 800})
    page.goto(url, wait_until="networkidle")
    page.locator(".VPSidebar").get_by_text("設定ファイル").click()
    page.locator("h1", has_text="設定ファイル").wait_for()
    assert page.url.endswith(".html")
    page.close()


def test_paper_has_the_note_alone(chromium: Browser, url: str) -> None:
    """Printed from a wide window, neither sidebar nor bar stands beside the note, nor the room for them."""
    page = chromium.new_page(viewport={"width": 1280, "height": 800})
    page.goto(url + "docs/glossary.html", wait_until="networkidle")
    page.locator(".VPSidebar").wait_for()
    page.emulate_media(media="print")
    assert not page.locator(".VPSidebar, .VPNav, .aside").filter(visible=True).count()
    box = page.locator(".note").bounding_box()
    assert box is not None
    assert box["x"] < 1280 / 4
    page.close()


def test_a_wrong_address_is_explained_in_the_language_of_the_site(chromium: Browser, url: str) -> None:
    """The page for it speaks Japanese, and leads home."""
    page = chromium.new_page()
    page.goto(url + "404.html", wait_until="networkidle")
    assert "ページが見つかりません" in page.locator(".NotFound").inner_text()
    page.locator(".NotFound a").click()
    page.wait_for_url(url)
    page.close()


def test_every_note_is_reached_without_scripts(chromium: Browser, url: str, dist: Path) -> None:
    """A page that the bar leads to names all of them, and no search finds it."""
    context = chromium.new_context(java_script_enabled=False, viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.goto(url)
    page.get_by_role("link", name="すべてのノート").first.click()
    page.get_by_role("link", name="設定ファイル").first.click()
    assert "設定ファイル" in page.locator("h1").first.inner_text()
    context.close()
    index = (dist / "mdvec-search.json").read_text(encoding="utf-8")
    assert "/notes/vue.html" in index
    assert "mdvec-notes.html" not in index
