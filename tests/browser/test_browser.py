"""What people do with the page: type, move, read, go back, add folders and watch imports."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect
from tests.browser.conftest import Site, Tab, write_notes
from tests.workspaces import workspace_of, written

from mdvec import open_workspace
from mdvec.embedding.interface import Role
from mdvec.testing.embedder import HashingEmbedder

pytestmark = pytest.mark.browser

TOKEN = "token-of-the-browser-0123456789"
HITS = "#results .hit a.title"
PASSAGE = "#note-passage"
_IMAGE = "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='40'></svg>"


# --- typing ---------------------------------------------------------------------------------------


def test_results_follow_typing(tab: Tab) -> None:
    """Nothing is pressed: hits appear with their words marked, and the address has the query."""
    tab.page.goto("/")
    tab.page.keyboard.type("retries")
    expect(tab.page.locator(HITS).first).to_contain_text("Retry policy")
    expect(tab.page.locator("#results mark").first).to_have_text("retries")
    expect(tab.page).to_have_url(re.compile(r"\?q=retries$"))


def test_typing_fast_sends_one_search(tab: Tab) -> None:
    """Characters in quick succession are one query, not eight."""
    tab.page.goto("/")
    tab.page.locator("#q").focus()
    tab.page.evaluate(
        """() => { const field = document.getElementById("q"); for (const each of "tomatoes") {
        field.value += each; field.dispatchEvent(new InputEvent("input", { bubbles: true })); } }"""
    )
    expect(tab.page.locator("#results .summary")).to_be_visible()
    assert len(tab.results()) == 1


def test_nothing_is_sent_during_a_conversion(tab: Tab) -> None:
    """While きょうと is composed nothing is sent and no key moves anything; 京都 is searched at its end."""
    page = tab.page
    page.goto("/")
    page.locator("#q").focus()
    session = page.context.new_cdp_session(page)
    for text in ("k", "き", "きょ", "きょう", "きょうと"):
        session.send(
            "Input.imeSetComposition", {"text": text, "selectionStart": len(text), "selectionEnd": len(text)}
        )
        for key in ("Enter", "ArrowDown", "Escape"):  # what commits, chooses and cancels a conversion
            page.evaluate(
                """(key) => document.getElementById("q").dispatchEvent(
                new KeyboardEvent("keydown", { key, isComposing: true, bubbles: true, cancelable: true }))""",
                key,
            )
    page.wait_for_timeout(400)  # many pauses of typing
    assert tab.results() == []
    assert page.evaluate("document.activeElement.id") == "q"
    session.send("Input.insertText", {"text": "京都"})
    expect(page.locator(HITS).first).to_contain_text("京都の旅")
    assert {parse_qs(urlsplit(url).query)["q"][0] for url in tab.results()} == {"京都"}


def test_japanese_is_marked_in_words(tab: Tab) -> None:
    """A sentence finds its passage; the mark covers the run that matches, not each pair of characters."""
    tab.page.goto(f"/?q={quote('静かな旅館')}")
    expect(tab.page.locator(HITS).first).to_contain_text("京都の旅")
    expect(tab.page.locator("#results mark").first).to_have_text("静かな旅館")


# --- keys and history ------------------------------------------------------------------------------


def test_the_keyboard_is_enough(tab: Tab) -> None:
    """Slash, arrows, Enter, Escape and the help: from the search to a note and back to the same result."""
    page = tab.page
    page.goto("/?q=apple")
    page.locator("body").click(position={"x": 5, "y": 300})
    page.keyboard.press("/")
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.locator(HITS).nth(1)).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.locator(HITS).nth(0)).to_be_focused()
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#help")).to_be_hidden()
    page.locator(HITS).nth(0).focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/doc/**")  # and until its scripts listen to keys
    expect(page.locator("article h1")).to_contain_text("Apple")
    page.keyboard.press("Escape")
    page.wait_for_url(re.compile(r"/\?q=apple$"))
    expect(page.locator(HITS).nth(0)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#q")).to_have_value("")


@pytest.mark.parametrize("scripts", [True, False])
def test_tab_skips_the_filters(chromium: Browser, site: Site, scripts: bool) -> None:
    """From the field a link that is seen once it has the focus leads to the first result."""
    context = chromium.new_context(base_url=site.url, locale="en-US", java_script_enabled=scripts)
    page = context.new_page()
    page.goto("/?q=apple")
    page.locator("#q").focus()
    link = page.get_by_role("link", name="Skip to the results")
    expect(link).not_to_be_in_viewport()
    for _ in range(2):  # past the button
        page.keyboard.press("Tab")
    expect(link).to_be_focused()
    expect(link).to_be_in_viewport()
    page.keyboard.press("Enter")
    if not scripts:
        page.keyboard.press("Tab")
    expect(page.locator(HITS).first).to_be_focused()
    context.close()


def test_a_note_in_a_new_tab_leads_back_to_its_search(tab: Tab) -> None:
    """With its filters, also after a jump inside the note; in its own tab, to the result that was opened."""
    page = tab.page
    page.goto("/?q=retries&n=notes&tag=ops")
    with page.context.expect_page() as opened:
        page.locator(HITS).first.click(modifiers=["Control"])
    opened.value.locator("#back").click()
    expect(opened.value).to_have_url(re.compile(r"/\?q=retries&n=notes&tag=ops$"))
    page.locator(HITS).first.click()
    page.locator(".outline a", has_text="Part 3").click()
    page.locator("#back").click()
    expect(page).to_have_url(re.compile(r"/\?q=retries&n=notes&tag=ops$"))
    expect(page.locator(HITS).first).to_be_focused()


def test_the_start_page_shows_the_keys(tab: Tab) -> None:
    """The field has the focus there, and the line below it says "Press ?"; in a query it is a sign."""
    tab.page.goto("/")
    expect(tab.page.locator("#q")).to_be_focused()
    tab.page.keyboard.press("?")
    expect(tab.page.locator("#help")).to_be_visible()
    tab.page.keyboard.press("Escape")
    tab.page.keyboard.type("why?")
    expect(tab.page.locator("#q")).to_have_value("why?")


def test_enter_goes_to_the_first_result(tab: Tab) -> None:
    """Enter in the field searches at once and moves to the best hit."""
    tab.page.goto("/")
    tab.page.keyboard.type("retries")
    tab.page.keyboard.press("Enter")
    expect(tab.page.locator(HITS).first).to_be_focused()


def test_the_address_restores_query_and_filters(tab: Tab) -> None:
    """A deep link shows the same page; the back button takes back one choice after the other."""
    page = tab.page
    page.goto("/?q=apple")
    page.locator('input[name="tag"][value="旅"]').check()
    expect(page).to_have_url(re.compile(r"q=apple&tag=%E6%97%85"))
    expect(page.locator(HITS).filter(has_text="Apple")).to_have_count(0)  # none with the tag is about them
    address = page.url
    page.go_back()
    expect(page).to_have_url(re.compile(r"q=apple$"))
    expect(page.locator(HITS).first).to_contain_text("Apple")
    expect(page.locator('input[name="tag"][value="旅"]')).not_to_be_checked()
    page.goto(address)
    expect(page.locator('input[name="tag"][value="旅"]')).to_be_checked()
    expect(page.locator("#q")).to_have_value("apple")


def test_back_restores_a_filter_that_the_page_does_not_list(tab: Tab) -> None:
    """Beside all files only the folders at the top are listed, and not the one that was chosen before."""
    page = tab.page
    page.goto("/?q=apple&folder=旅行/冬")
    expect(page.locator(HITS)).to_have_count(0)
    page.locator('input[name="folder"][value=""]').check()
    expect(page).to_have_url(re.compile(r"q=apple$"))
    expect(page.locator(HITS).first).to_contain_text("Apple")
    expect(page.locator('input[name="folder"][value="旅行/冬"]')).to_have_count(0)
    page.go_back()
    expect(page.locator('input[name="folder"]:checked')).to_have_value("旅行/冬")
    expect(page.locator(HITS)).to_have_count(0)
    expect(page).to_have_url(re.compile(r"folder="))


def test_an_unknown_tag_is_removed(tab: Tab) -> None:
    """What an address filters by is seen, and leaves the filters and the address once it is unchecked."""
    page = tab.page
    page.goto("/?q=apple&tag=gone")
    chosen = page.locator('input[name="tag"][value="gone"]')
    expect(chosen).to_be_checked()
    chosen.click()  # it goes with its choice
    expect(page).to_have_url(re.compile(r"\?q=apple$"))
    expect(page.locator(HITS).first).to_contain_text("Apple")
    expect(chosen).to_have_count(0)


def test_folders_with_brackets_and_the_order_by_date(chromium: Browser, tmp_path: Path) -> None:
    """A folder that a pattern would misread is chosen and left; the last updated note can come first."""
    notes = {
        "Plans [2026]/in {x}/what? [1].md": "---\nupdated: 2024-05-01\n---\n# Shed\n\nThe lamp, the lamp.\n",
        "Plans 2/attic.md": "---\nupdated: 2026-05-01\n---\n# Attic\n\nA text on bricks with one lamp.\n",
    }
    folders = {"notes": written(tmp_path / "notes", notes)}
    with workspace_of(tmp_path / "index.sqlite", folders) as workspace:
        site = Site(workspace)
        context = chromium.new_context(base_url=site.url, locale="en-US")
        page = context.new_page()
        page.goto("/?q=lamp")
        expect(page.locator(HITS)).to_have_text(["Shed", "Attic"])
        page.locator('input[name="newest"]').check()
        expect(page.locator(HITS)).to_have_text(["Attic", "Shed"])
        expect(page).to_have_url(re.compile("newest=1"))
        page.locator('input[name="folder"][value="Plans [2026]"]').check()
        expect(page.locator(HITS)).to_have_text(["Shed"])
        page.locator('input[name="folder"][value="Plans [2026]/in {x}"]').check()
        expect(page.locator(HITS)).to_have_text(["Shed"])
        page.locator(HITS).first.click()
        expect(page.locator("article h1")).to_have_text("Shed")
        page.go_back()
        expect(page.locator('input[name="folder"]:checked')).to_have_value("Plans [2026]/in {x}")
        page.locator('input[name="folder"][value=""]').check()
        expect(page.locator(HITS)).to_have_text(["Attic", "Shed"])
        page.locator("#q").fill('path:"Plans [2026]" lamp')
        expect(page.locator(HITS)).to_have_text(["Shed"])
        context.close()
        site.close()


def test_more_results_come_on_scrolling(tab: Tab) -> None:
    """Ten at first; scrolling to the end adds the others, each once."""
    page = tab.page
    page.goto("/?q=apple")
    expect(page.locator(HITS).first).to_be_visible()
    page.mouse.wheel(0, 10_000)
    expect(page.locator(HITS)).to_have_count(20)
    page.mouse.wheel(0, 10_000)
    expect(page.locator(HITS).nth(24)).to_be_attached()
    titles = page.locator(HITS).all_inner_texts()
    assert len(set(titles)) == len(titles)


def test_names_that_mean_something_in_an_address_lead_to_their_notes(
    chromium: Browser, tmp_path: Path
) -> None:
    """From a hit, a link, a backlink, the list of files and the API; images and similar notes come along."""
    names = [
        *("[a] (b).md", "C# & co/#1 note.md", "100%.md", "100%25.md", "a%2Fb.md", "what?q=1&lines=9.md"),
        *("日本 語/「京都」（旅）[1].md", "%2e%2e/up; a+b=c.md", '~ it\'s "<b>".md', "a: b.md"),
    ]
    notes = {
        name: f"# Note {at}\n\nThe lamp{at}.\n\n[next](<{quote('/' + names[(at + 1) % len(names)])}>)\n\n"
        f"![map](<{quote('map #1 (50%).svg')}>)\n"
        for at, name in enumerate(names)
    }
    images = {str(Path(name).parent / "map #1 (50%).svg"): _IMAGE for name in names}
    folders = {"notes": written(tmp_path / "notes", {**notes, **images})}
    with workspace_of(tmp_path / "index.sqlite", folders) as workspace:
        site = Site(workspace)
        context = chromium.new_context(base_url=site.url, locale="en-US")
        page = context.new_page()
        failed: list[str] = []
        page.on("response", lambda answer: failed.append(answer.url) if answer.status >= 400 else None)
        title, path = page.locator("article h1"), page.locator(".place .path")
        for at, name in enumerate(names):
            page.goto(f"/?q=lamp{at}")
            page.locator(HITS).first.click()
            expect(title).to_have_text(f"Note {at}")
            expect(path).to_have_text(name)
            expect(page.locator(PASSAGE)).to_be_attached()
            assert page.locator("article img").evaluate(
                "image => image.decode().then(() => image.naturalWidth)"
            )
            expect(page.locator("#similar a").first).to_contain_text("Note")
            for operation in ("get", "outline", "links", "related"):
                answer = page.request.get(f"/api/{operation}", params={"path": name})
                assert answer.ok
                assert answer.json().get("path", name) == name
            page.get_by_role("link", name="next").click()
            expect(path).to_have_text(names[(at + 1) % len(names)])
            page.locator("aside section a", has_text=Path(name).stem).first.click()
            expect(title).to_have_text(f"Note {at}")
            page.goto("/status/notes")
            page.get_by_role("link", name=name, exact=True).click()
            expect(title).to_have_text(f"Note {at}")
        assert failed == []
        context.close()
        site.close()


def test_more_results_come_in_the_order_by_date(chromium: Browser, tmp_path: Path) -> None:
    """Scrolling adds the next best ten, each note once, the last updated of them first."""
    days = [day * 11 % 25 + 1 for day in range(25)]
    notes = {
        f"{day}.md": f"---\nupdated: 2026-05-{day:02}\n---\n# Day {day}\n\nA lamp{' on a shelf' * at}.\n"
        for at, day in enumerate(days)
    }
    with workspace_of(tmp_path / "index.sqlite", {"notes": written(tmp_path / "notes", notes)}) as workspace:
        site = Site(workspace)
        context = chromium.new_context(base_url=site.url, locale="en-US")
        page = context.new_page()
        hits = page.locator(HITS)
        page.goto("/?q=lamp")
        best = hits.all_inner_texts()
        page.goto("/?q=lamp&newest=1")  # as one who comes back
        expect(page.locator('input[name="newest"]')).to_be_checked()
        shown = hits.all_inner_texts()
        assert shown == sorted(best, key=lambda title: -int(title.split()[1]))
        page.mouse.wheel(0, 10_000)
        expect(hits).to_have_count(20)
        added = hits.all_inner_texts()[10:]
        assert added == sorted(added, key=lambda title: -int(title.split()[1]))
        page.mouse.wheel(0, 10_000)
        expect(hits.nth(24)).to_be_attached()
        assert hits.all_inner_texts()[:20] == shown + added
        assert len({*hits.all_inner_texts()}) == 25
        page.locator('input[name="newest"]').uncheck()
        expect(hits).to_have_text(best)
        context.close()
        site.close()


def test_why_is_answered_on_demand(tab: Tab) -> None:
    """Ranks and similarity are folded until one asks."""
    tab.page.goto("/?q=retries")
    details = tab.page.locator(".hit .why").first
    expect(details.locator("dl")).to_be_hidden()
    details.locator("summary").click()
    expect(details.locator("dl")).to_contain_text("Rank by words")


# --- reading ----------------------------------------------------------------------------------------


def test_a_hit_opens_at_its_passage(tab: Tab) -> None:
    """The passage is in view and marked, below the bar, with what surrounds the note beside it."""
    page = tab.page
    page.goto("/?q=five retries fail")
    page.locator(HITS).first.click()
    expect(page.locator(".passage", has_text="Five retries")).to_be_in_viewport()
    expect(page.locator(".passage mark.word").first).to_be_visible()
    assert page.locator(".outline a").count() == 14
    expect(page.locator("#similar a").first).to_be_visible()
    page.locator(".outline a", has_text="Part 3").click()
    expect(page.locator("#note-part-3")).to_be_in_viewport()
    expect(page.locator(".outline a", has_text="Part 3")).to_have_attribute("aria-current", "true")


def test_links_callouts_and_images_work(tab: Tab) -> None:
    """A folded callout opens, a wikilink leads to its note, an image of the vault is shown."""
    page = tab.page
    page.goto(f"/doc/notes/{quote('旅行/奈良.md')}")
    expect(page.get_by_text("傘")).to_be_hidden()
    page.get_by_text("持ち物").click()
    expect(page.get_by_text("傘")).to_be_visible()
    page.locator(".note a.internal").click()
    expect(page.locator("article h1")).to_have_text("京都の旅")
    image = page.locator(".note img")
    expect(image).to_be_visible()
    assert image.evaluate("async (each) => { await each.decode(); return each.naturalWidth; }") == 40
    expect(page.locator(".about a", has_text="奈良").first).to_be_visible()


def test_nothing_of_a_note_runs(chromium: Browser, site: Site) -> None:
    """No script of a note runs, no other host is asked, and no id of the page is taken."""
    context = chromium.new_context(base_url=site.url)
    tab = Tab(context.new_page())
    tab.page.goto("/doc/notes/evil.md")
    tab.page.wait_for_load_state("networkidle")
    tab.page.get_by_text("click").click()
    assert tab.page.evaluate("window.ran") is None
    assert [url for url in tab.requests if not url.startswith(site.url)] == []
    assert tab.page.evaluate("document.getElementById('help').tagName") == "DIALOG"
    tab.page.goto("/file/notes/images/map.svg")
    assert tab.page.evaluate("window.ran") is None
    context.close()


# --- looks -------------------------------------------------------------------------------------------

PAGES = ["/", "/?q=retries", "/?q=nothing-like-this-at-all", "/doc/notes/retry.md?q=retries&lines=56-58",
         f"/doc/notes/{quote('旅行/奈良.md')}", "/status", "/status/notes", "/login"]  # fmt: skip


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("locale", ["en-US", "ja-JP"])
def test_axe_finds_nothing(chromium: Browser, site: Site, path: str, scheme: Any, locale: str) -> None:
    """No rule of axe-core is violated, contrast among them, light and dark, in both languages."""
    context = chromium.new_context(base_url=site.url, color_scheme=scheme, locale=locale, bypass_csp=True)
    page = context.new_page()
    page.goto(path)
    page.wait_for_load_state("domcontentloaded")
    violations = Axe().run(page).response["violations"]
    found = [(each["id"], [node["html"] for node in each["nodes"]][:3]) for each in violations]
    context.close()
    assert found == []


def test_a_wrong_address_leads_to_the_search(chromium: Browser, site: Site) -> None:
    """A page in the language of the browser, without anything that axe-core finds."""
    context = chromium.new_context(base_url=site.url, locale="ja-JP", bypass_csp=True)
    page = context.new_page()
    page.goto("/nothing")
    expect(page.locator("main")).to_contain_text("このアドレスにはページがありません。")
    assert Axe().run(page).response["violations"] == []
    page.locator("main").get_by_role("link").click()
    expect(page.locator("#q")).to_be_focused()
    context.close()


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.window(viewport={"width": 360, "height": 740}, locale="ja-JP", has_touch=True)
def test_a_phone_is_wide_enough(tab: Tab, path: str) -> None:
    """Nothing makes the page wider than the screen."""
    tab.page.goto(path)
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= 360
    if path.startswith("/doc/notes/%E6"):  # a word of a table stays whole beside a long cell
        lines = "(cell) => { const range = new Range(); range.selectNodeContents(cell); "
        lines += "return range.getClientRects().length; }"
        assert tab.page.locator("td").first.evaluate(lines) == 1


@pytest.mark.window(viewport={"width": 375, "height": 812}, locale="en-US", has_touch=True)
def test_a_phone_shows_the_note_before_its_outline(tab: Tab) -> None:
    """The outline is folded until one opens it, a passage is in view, and so are all words of a query."""
    page = tab.page
    page.goto("/doc/notes/retry.md")
    expect(page.locator("article h1")).to_be_in_viewport()
    page.locator(".outline summary").click()
    expect(page.locator(".outline a", has_text="Part 3")).to_be_visible()
    page.goto("/?q=five retries fail")
    page.locator(HITS).first.click()
    expect(page.locator(".passage", has_text="Five retries")).to_be_in_viewport()
    expect(page.locator(".outline a").first).to_be_hidden()
    assert page.locator(".small-search input").evaluate("(field) => field.scrollWidth <= field.clientWidth")


def test_paper_is_light(tab: Tab) -> None:
    """A page whose dark theme was chosen is printed dark on white."""
    colour = "getComputedStyle(document.documentElement).color"
    tab.page.goto("/doc/notes/retry.md")
    light = tab.page.evaluate(colour)
    tab.page.locator("#theme").click()
    assert tab.page.evaluate(colour) != light
    tab.page.emulate_media(media="print")
    assert tab.page.evaluate(colour) == light


@pytest.mark.window(color_scheme="dark", locale="en-US")
def test_the_theme_follows_the_system_and_the_button(tab: Tab) -> None:
    """Dark when the system is; the button changes it, and the choice holds on the next page."""
    page = tab.page
    background = "getComputedStyle(document.documentElement).backgroundColor"
    page.goto("/")
    dark = page.evaluate(background)
    page.locator("#theme").click()
    light = page.evaluate(background)
    assert light != dark
    page.goto("/status")
    assert page.evaluate(background) == light


@pytest.mark.parametrize("width", [375, 768, 1280])
def test_the_map_of_tags_is_readable(chromium: Browser, site: Site, width: int) -> None:
    """At each width one map is shown, and its labels are as large as small print at least."""
    context = chromium.new_context(base_url=site.url, viewport={"width": width, "height": 800})
    page = context.new_page()
    page.goto("/status")
    shown = page.locator(".map:visible")
    expect(shown).to_have_count(1)
    sizes = shown.locator("text").evaluate_all(
        "each => each.map((text) => parseFloat(text.getAttribute('font-size')) * text.getScreenCTM().a)"
    )
    assert sizes
    assert min(sizes) >= 9
    context.close()


# --- status and changes ---------------------------------------------------------------------------------


class Gated(HashingEmbedder):
    """Embeds passages only once the gate is open."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()

    def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT, titles: Sequence[str] = ()) -> Any:
        if role is Role.DOCUMENT:
            self.gate.wait(60)
        yield from super().embed(texts, role, titles)


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[tuple[Site, Gated]]:
    """A server of an empty workspace, whose embedder waits."""
    embedder = Gated()
    with open_workspace(database=tmp_path / "index.sqlite", embedder=embedder) as workspace:
        site = Site(workspace)
        yield site, embedder
        embedder.gate.set()
        site.close()


def test_the_first_visit_adds_a_folder_and_shows_its_import(
    chromium: Browser, empty: tuple[Site, Gated], tmp_path: Path
) -> None:
    """The form registers a folder; its import is shown while it runs, without a reload, to its end."""
    site, embedder = empty
    context = chromium.new_context(base_url=site.url, locale="en-US")
    tab = Tab(context.new_page())
    page = tab.page
    page.goto("/")
    page.get_by_label("Path of the folder").fill(str(write_notes(tmp_path / "My Notes")))
    page.get_by_role("button", name="Add and index").click()
    expect(page.locator("#live")).to_contain_text("my-notes")
    expect(page.locator("#live progress")).to_be_visible()
    expect(page.locator("#live")).to_contain_text("Embedding passages")
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    embedder.gate.set()
    expect(page.get_by_role("button", name="Bring up to date")).to_be_visible()
    expect(page.locator("#live progress")).to_have_count(0)
    assert site.workspace.status().collections[0].counts.pending_chunks == 0
    context.close()
    assert tab.errors == []


def test_the_watcher_of_the_server_is_no_other_process(
    chromium: Browser, empty: tuple[Site, Gated], tmp_path: Path
) -> None:
    """What this process imports beside the page has no number of a process, and is not begun twice."""
    site, embedder = empty
    site.workspace.add_collection("notes", "Notes", str(write_notes(tmp_path / "notes")))
    watcher = threading.Thread(target=site.workspace.import_collection, args=("notes",))
    watcher.start()
    context = chromium.new_context(base_url=site.url, locale="en-US")
    page = context.new_page()
    page.goto("/status")
    expect(page.locator("#live progress")).to_be_visible()
    expect(page.locator("#live")).not_to_contain_text("by process")
    expect(page.get_by_role("button", name="Bring up to date")).to_have_count(0)
    embedder.gate.set()
    watcher.join()
    expect(page.get_by_role("button", name="Bring up to date")).to_be_visible()
    context.close()


def test_an_import_is_cancelled(chromium: Browser, empty: tuple[Site, Gated], tmp_path: Path) -> None:
    """The button stops it; what was read is found by words."""
    site, embedder = empty
    site.workspace.add_collection("notes", "Notes", str(write_notes(tmp_path / "notes")))
    context = chromium.new_context(base_url=site.url, locale="en-US")
    page = context.new_page()
    page.goto("/status")
    page.get_by_role("button", name="Bring up to date").click()
    expect(page.locator("#live")).to_contain_text("Embedding passages")
    page.get_by_role("button", name="Cancel").click()
    embedder.gate.set()
    expect(page.locator("#live")).to_contain_text("Stopped")
    page.goto("/?q=retries")
    expect(page.locator(HITS).first).to_contain_text("Retry policy")
    context.close()


def test_the_token_is_entered_once(chromium: Browser, site: Site) -> None:
    """The browser is asked for the token and led to where it wanted to go; no script can read the session."""
    locked = Site(site.workspace, TOKEN)
    context = chromium.new_context(base_url=locked.url, locale="en-US")
    page = context.new_page()
    page.goto("/?q=apple")
    page.get_by_label("Token").fill(TOKEN)
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{locked.url}/?q=apple")
    expect(page.locator(HITS).first).to_contain_text("Apple")
    assert page.evaluate("document.cookie") == ""
    context.clear_cookies()  # as when the session ends: letters lead to the login, and back to the query
    page.locator("#q").fill("retries")
    page.get_by_label("Token").fill(TOKEN)
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{locked.url}/?q=retries")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Token")).to_be_visible()
    context.close()
    locked.close()


def test_a_busy_server_says_so(tab: Tab) -> None:
    """What it answers in JSON is shown as a sentence."""
    body = '{"status": 503, "detail": "The server is busy."}'  # sent as 200: no error is left on the console
    tab.page.goto("/?q=apple")
    tab.page.route(
        "**/results*", lambda route: route.fulfill(content_type="application/problem+json", body=body)
    )
    tab.page.locator("#q").fill("retries")
    expect(tab.page.locator("#results .problem")).to_have_text("The server is busy.")


def test_another_site_changes_nothing(chromium: Browser, site: Site) -> None:
    """A form of another origin is refused by the guard; one of the page without its token by the page."""
    context = chromium.new_context(locale="en-US")
    page = context.new_page()
    page.goto(site.url.replace("127.0.0.1", "localhost"))  # another origin, allowed as a name of the server
    generation = site.workspace.generation()
    status = page.evaluate(
        """async (url) => {
        const form = { method: "POST", body: new URLSearchParams({ folder: "/tmp" }) };
        await fetch(`${url}/collections`, { ...form, mode: "no-cors" }).catch(() => null);
        return (await fetch("/collections", form)).status; }""",
        site.url,
    )
    assert status == 403
    assert site.workspace.generation() == generation
    context.close()


@pytest.mark.window(java_script_enabled=False, locale="en-US")
def test_the_page_works_without_scripts(tab: Tab) -> None:
    """A plain form searches and filters, and a hit opens at its passage."""
    page = tab.page
    page.goto("/")
    page.locator("#q").fill("retries")
    page.locator("#q").press("Enter")
    expect(page.locator(HITS).first).to_contain_text("Retry policy")
    page.locator('input[name="tag"][value="ops"]').check()
    page.get_by_role("button", name="Apply").click()
    expect(page).to_have_url(re.compile("tag=ops"))
    page.locator(HITS).first.click()
    expect(page.locator(".passage", has_text="Five retries")).to_be_in_viewport()
    page.locator("#back").click()
    expect(page).to_have_url(re.compile(r"q=retries&tag=ops$"))


@pytest.mark.parametrize("path", ["/?q=retries", "/?q=retries&n=nowhere"])
@pytest.mark.window(viewport={"width": 375, "height": 812}, java_script_enabled=False, locale="en-US")
def test_a_phone_without_scripts_shows_results_first(tab: Tab, path: str) -> None:
    """The filters, which only a script folds, stand below the results or what went wrong."""
    tab.page.goto(path)
    tops = [
        box["y"]
        for each in (f"{HITS}, #results .problem", "#filters")
        if (box := tab.page.locator(each).first.bounding_box())
    ]
    assert tops == sorted(tops)
    expect(tab.page.locator(".apply")).to_be_visible()
