"""The reading site of 200 hostile notes in a hostile folder, built once and looked at in a browser."""

from __future__ import annotations

import hashlib
import json
import random
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, expect
from tests.security.hostile_notes import TEXT, titled, write_notes
from tests.workspaces import written

from mdvec import open_workspace
from mdvec.interfaces.site.build import build_site
from mdvec.testing.embedder import HashingEmbedder

pytestmark = pytest.mark.browser

_NOTES = 200
_VISITED = 15
_SECRET = "the text of a file outside"
_PLANTED = "PLANTED"
_INLINE = ("/etc/passwd", "@/public/{}", "../public/{}", "./public/{}")

# Reads every page as the browser reads it, without running it, and tells what is more than text.
_INSPECT = """
async ({ base, names }) => {
  const found = []
  const active =
    /^(script|style|iframe|object|embed|form|input|meta|base|link|svg|math|template|textarea|video|audio)$/i
  const parsed = (text) => new DOMParser().parseFromString(text, 'text/html')
  const asked = async (name) => (await fetch(base + name.split('/').map(encodeURIComponent).join('/'))).text()
  const own = new Set([...parsed(await asked('404.html')).scripts].map((each) => each.src || each.text))
  const inspect = (where, root) => {
    for (const each of root.querySelectorAll('*')) {
      if (active.test(each.localName)) found.push([where, each.outerHTML.slice(0, 200)])
      for (const { name, value } of each.attributes) {
        if (/^(on|style$|srcset$|v-|:|@)/i.test(name)) found.push([where, name, value])
        if (name !== 'href' && name !== 'src') continue
        const address = URL.canParse(value, location.href) ? new URL(value, location.href) : null
        if (name === 'src' && address?.origin !== location.origin) found.push([where, name, value])
        if (address && !/^(https?|mailto):$/.test(address.protocol)) found.push([where, name, value])
      }
    }
  }
  for (const name of names) {
    const page = parsed(await asked(name))
    for (const each of page.scripts) if (!own.has(each.src || each.text)) found.push([name, each.outerHTML])
    for (const each of page.querySelectorAll('*')) for (const { name: attribute } of each.attributes)
      if (/^on/i.test(attribute)) found.push([name, attribute])
    if (name === '404.html') continue
    const notes = page.querySelectorAll('.note[data-page]')
    if (notes.length !== 1) { found.push([name, notes.length]); continue }
    inspect(name, notes[0])
    const data = JSON.parse(await asked(`mdvec-pages/${notes[0].dataset.page}.json`))
    const shown = parsed('').createElement('div')
    shown.innerHTML = data.html
    inspect(`${name} as data`, shown)
    if (shown.innerHTML !== notes[0].innerHTML) found.push([name, 'differs from its data'])
  }
  return found
}
"""
# Titles in the sidebar and the search box are HTML: it may hold text alone.
_INSPECT_TITLES = """
(titles) => titles.filter(
  (title) => new DOMParser().parseFromString(title, 'text/html').body.childElementCount)
"""


class Hostile:
    """The folder of somebody else, and the site that was made in it.

    Attributes:
        folder: Holds the notes, and settings of build tools.
        mark: A file that anything writes that runs during the build.
        dist: The built site.
        url: Where it is served.
    """

    def __init__(self, root: Path) -> None:
        self.folder = root / "repository"
        self.mark = root / "mark"
        self.dist = self.folder / "site" / "dist"
        self.url = ""

    @property
    def pages(self) -> list[str]:
        """The names of all pages."""
        return sorted(each.relative_to(self.dist).as_posix() for each in self.dist.rglob("*.html"))


def write_settings(hostile: Hostile) -> None:
    """Write what tools of the build would run if they read it."""
    program = f"require('node:fs').writeFileSync({json.dumps(str(hostile.mark))}, 'ran')"
    module = f"import fs from 'node:fs'; fs.writeFileSync({json.dumps(str(hostile.mark))}, 'ran')"
    files = {
        "postcss.config.cjs": f"{program}; module.exports = {{ plugins: [] }}",
        ".postcssrc.cjs": f"{program}; module.exports = {{ plugins: [] }}",
        "vite.config.mjs": f"{module}; export default {{}}",
        ".vitepress/config.mjs": f"{module}; export default {{}}",
        ".vitepress/theme/index.js": f"{module}; export default {{}}",
        "package.json": json.dumps({"postcss": {"plugins": {"./plugin.cjs": {}}}, "type": "commonjs"}),
        "plugin.cjs": f"{program}; module.exports = () => ({{ postcssPlugin: 'x' }})",
        ".env": "VITE_LEAK=leaked\nNODE_OPTIONS=--require=./plugin.cjs",
        "node_modules/vue/index.js": program,
    }
    written(hostile.folder, files)


def write_includes(notes: Path, outside: Path, mark: Path) -> None:
    """Write titles that include files: of the machine, and one that is beside the notes and on the site."""
    content = (
        f'"\n---\n\n<script setup>\nimport fs from "node:fs"\nfs.writeFileSync({json.dumps(str(mark))}, "")\n'
        f"</script>\n{_PLANTED}\n"
    )
    (notes / "plan.pdf").write_text(content, encoding="utf-8", newline="")
    planted = f"mdvec-files/{hashlib.sha256(content.encode()).hexdigest()[:12]}-plan.pdf"
    for number, form in enumerate((*_INLINE, str(outside), "../" * 12 + str(outside)[1:])):
        include = f"<!--@include: {form.format(planted)}-->"
        text = titled(include, tags=[include], more=f"{include}\n\n[plan](plan.pdf)\n\n```\n{include}\n```")
        (notes / f"include {number}.md").write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def hostile(site_packages: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hostile]:
    """The site, served."""
    root = tmp_path_factory.mktemp("hostile")
    made = Hostile(root)
    outside = root / "outside.txt"
    outside.write_text(_SECRET, encoding="utf-8")
    notes = made.folder / "notes"
    write_notes(notes, random.Random(20), _NOTES, outside, made.mark)
    write_settings(made)
    write_includes(notes, outside, made.mark)
    with open_workspace(database=root / "index.sqlite", embedder=HashingEmbedder()) as workspace:
        workspace.add_collection("notes", "\"'><script>globalThis.ran=1</script>", str(notes))
        workspace.import_collection("notes")
        build_site(
            workspace,
            "notes",
            made.folder / "site",
            base="/",
            language="en",
            project_only=False,
            note=lambda _: None,
        )

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Be quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(made.dist))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        made.url = f"http://127.0.0.1:{server.server_port}/"
        yield made
        server.shutdown()
        thread.join()


def test_nothing_ran_during_the_build(hostile: Hostile) -> None:
    """No script of a note, and no program or setting of the folder that the site is made in."""
    assert len(hostile.pages) > _NOTES
    assert not hostile.mark.exists()
    assert "leaked" not in (hostile.dist / "index.html").read_text(encoding="utf-8")


def test_no_other_file_is_on_the_site(hostile: Hostile) -> None:
    """No include and no path shows a file: neither of the machine nor of the site."""
    with_planted = []
    for path in hostile.dist.rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        assert _SECRET.encode() not in content, path
        assert b"root:x:0:0" not in content, path
        if _PLANTED.encode() in content:
            with_planted.append(path.name)
    (name,) = with_planted
    assert name.endswith("-plan.pdf")


def test_a_program_of_the_site_holds_no_text_of_notes(hostile: Hostile) -> None:
    """Tools that replace words in programs find none of a note's."""
    programs = list((hostile.dist / "assets").rglob("*.js"))
    assert len(programs) > 2 * _NOTES
    for path in programs:
        text = path.read_text(encoding="utf-8")
        assert TEXT not in text, path
        assert "node:fs" not in text, path
    assert TEXT in (hostile.dist / "mdvec-search.json").read_text(encoding="utf-8")


def test_notes_are_text(chromium: Browser, hostile: Hostile) -> None:
    """As the browser reads them, pages and data hold no script, handler, style or image of another host."""
    page = chromium.new_page()
    page.goto(f"{hostile.url}404.html")
    assert page.evaluate(_INSPECT, {"base": "/", "names": hostile.pages}) == []
    (sidebar,) = (hostile.dist / "mdvec-files").glob("*-sidebar.json")
    index = json.loads((hostile.dist / "mdvec-search.json").read_bytes())
    titles = texts_of(json.loads(sidebar.read_bytes()))
    assert len(titles) >= _NOTES
    for fields in index["storedFields"].values():
        titles += [fields["title"], *fields["titles"]]
    assert page.evaluate(_INSPECT_TITLES, titles) == []
    page.close()


def texts_of(items: list[dict[str, Any]]) -> list[str]:
    """Return the texts of a sidebar."""
    return [text for each in items for text in (each["text"], *texts_of(each.get("items", [])))]


def test_nothing_of_a_note_runs(chromium: Browser, hostile: Hostile) -> None:
    """Pages, the sidebar, links and the search box run nothing, and ask no other host; nor do they try."""
    page = chromium.new_page(viewport={"width": 1280, "height": 800})
    asked: list[str] = []
    refused: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda each: refused.append(each.text) if "Security Policy" in each.text else None)
    page.on("dialog", lambda dialog: refused.append(dialog.message))
    notes = [name for name in hostile.pages if name not in {"404.html", "mdvec-notes.html"}]
    for name in random.Random(3).sample(notes, _VISITED):
        page.goto(hostile.url + quote(name))
        expect(page.locator(".note[data-page]")).to_have_count(1)
        assert page.evaluate("globalThis.ran") is None, name
    page.locator(".VPSidebar a").filter(visible=True).first.click()
    page.keyboard.press("Control+k")
    page.locator("#localsearch-input").fill("word")
    page.locator("#localsearch-list .selected").wait_for()
    page.locator("[title='Display detailed list']").click()
    expect(page.locator("#localsearch-list .excerpt").first).to_be_attached()
    for query in ("constructor", "onerror", "word", "日本"):
        page.locator("#localsearch-input").fill(query)
        expect(page.locator("#localsearch-list .result").first).to_be_attached()
        assert page.evaluate("globalThis.ran") is None, query
    assert [each for each in asked if not each.startswith(hostile.url)] == []
    assert refused == []
    page.close()


def test_the_policy_is_a_second_wall(chromium: Browser, hostile: Hostile) -> None:
    """If a script, a handler or an image of another host came through, the browser would refuse it."""
    page = chromium.new_page()
    page.goto(hostile.url)
    refused = page.evaluate(
        """async () => {
          const refused = []
          const note = ({ effectiveDirective }) => refused.push(effectiveDirective)
          document.addEventListener('securitypolicyviolation', note)
          const script = Object.assign(document.createElement('script'), { text: 'globalThis.ran = 1' })
          const image = Object.assign(new Image(), { src: 'http://localhost:1/x.png' })
          document.body.append(script, image)
          const html = '<base href="/x/"><b onclick="globalThis.ran = 2">x</b>'
          document.body.insertAdjacentHTML('beforeend', html)
          document.body.lastChild.click()
          const end = Date.now() + 30_000
          while (refused.length < 4 && Date.now() < end) await new Promise((done) => setTimeout(done))
          return [globalThis.ran ?? null, refused.sort()]
        }"""
    )
    assert refused == [None, ["base-uri", "img-src", "script-src-attr", "script-src-elem"]]
    page.close()
