"""The project of a reading site: what is written for a collection."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.workspaces import written

from mdvec import Workspace, open_workspace
from mdvec.errors import CollectionNotFoundError, SiteError, UsageError
from mdvec.interfaces.site.addresses import TAGS, file_name, page_names, safe_name, script_name
from mdvec.interfaces.site.build import build_site, preview_site, static_app
from mdvec.interfaces.site.output import Output
from mdvec.interfaces.site.projects import SiteReport
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.collection import ChunkingSpec

NOTES = {
    "plan.md": (
        "---\ntitle: The <b>plan\ncreated: 2026-01-02\ntags: [Work]\n---\n"
        "First [[notes/other|the other]], [[gone]], [[draft]] and [[notes/other#Nowhere|there]].\n\n"
        "![[map.png]] ![](missing.png) [paper](files/paper.pdf)\n\n"
        "> [!warning] Mind\n> the gap\n\n"
        "```html\n<!-- @include: /etc/passwd -->\n\n<script>\n```\n\n"
        "`first`\n`second` and [one](notes/other.md)\n[two](notes/other.txt)\n\n"
        "<script>process.exit(1)</script> {{ constructor }} Vec<String>\n\n<img src='map.png'>\n"
    ),
    "notes/other.md": "# Other\n\nBack to [[plan]] and [[other#Part]]. #work\n\n## Part\n\ntext\n",
    "notes/other.txt": "Plain text.",
    "twice.md": "# Twice\n\n## Part\n\n<h2 id=part>Part again</h2>\n",
    "draft.md": "---\ndraft: true\n---\n# Draft\n",
    "hidden.md": "---\npublish: false\n---\n# Hidden\n",
    "old.md": "# Old\n",
    "new.md": "---\nprevious: old\n---\n# New\n",
    "a [b] #1.md": "# Odd name\n",
    "public/x.md": "# In public\n",
}


@dataclass
class Vault:
    """A collection, and the folder its site goes to."""

    folder: Path
    output: Path
    workspace: Workspace
    custom: Path | None = None

    def build(self, base: str = "/", language: str | None = None) -> SiteReport:
        """Write the project again."""
        self.workspace.import_collection("vault")
        return build_site(
            self.workspace,
            "vault",
            self.output,
            base=base,
            language=language,
            custom=self.custom,
            project_only=True,
            note=print,
        )

    def page(self, name: str) -> dict[str, str]:
        """What a page shows."""
        place = self.output / "pages" / "public" / "mdvec-pages" / f"{name}.json"
        found: dict[str, str] = json.loads(place.read_bytes())
        return found

    def body(self, name: str) -> str:
        """The HTML of a page."""
        return self.page(name)["html"]

    @property
    def pages(self) -> set[str]:
        """The names of all pages."""
        root = self.output / "pages"
        return {str(path.relative_to(root).with_suffix("")) for path in root.rglob("*.md")}


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    """A vault with links, files, drafts, versions and names that are hard for a site."""
    folder = tmp_path / "vault"
    written(folder, NOTES)
    (folder / "map.png").write_bytes(b"\x89PNG map")
    (folder / "files").mkdir()
    (folder / "files" / "paper.pdf").write_bytes(b"%PDF")
    with open_workspace(database=tmp_path / "index.sqlite", embedder=HashingEmbedder()) as workspace:
        workspace.add_collection("vault", "Notes of a test", str(folder), chunking=ChunkingSpec("vault"))
        yield Vault(folder, tmp_path / "site", workspace)


def test_pages(vault: Vault) -> None:
    """Every document but drafts and older versions is a page, with those of tags and a first one."""
    report = vault.build()
    names = {
        "plan",
        "twice",
        "notes/other",
        "notes/other-2",
        "new",
        "a -b- -1",
        "public-/x",
        "files/paper.pdf",
    }
    assert vault.pages == names | {"index", "mdvec-notes", "mdvec-tags/index", "mdvec-tags/work"}
    assert (report.pages, report.tags, report.files, report.left_out) == (8, 1, 2, 3)


def test_a_page(vault: Vault) -> None:
    """A page has its title, dates, tags, resolved links and files, callouts and backlinks."""
    vault.build(base="/x/")
    assert vault.page("plan")["title"] == "The <b>plan"
    page = vault.body("plan")
    assert page.startswith('<h1 id="title" tabindex="-1">The &lt;b&gt;plan <a')
    assert "Created 2026-01-02" in page
    assert 'href="/x/mdvec-tags/work.html">#Work</a>' in page
    assert '<a class="internal" href="/x/notes/other.html"' in page
    assert re.search(r'src="/x/mdvec-files/[0-9a-f]{12}-map\.png"', page)
    assert 'href="/x/files/paper.pdf.html"' in page
    assert 'class="callout callout-warning"' in page
    assert 'id="backlinks"' in page
    assert 'href="/x/notes/other.html">Other</a>' in page


def test_a_page_of_another_file_leads_to_it(vault: Vault) -> None:
    """The page has the text of a PDF, and a link to the PDF itself; a note needs none."""
    vault.build(base="/x/", language="en")
    to_file = r'href="/x/mdvec-files/[0-9a-f]{12}-paper\.pdf">Open the file<'
    assert re.search(to_file, vault.body("files/paper.pdf"))
    assert "Open the file" not in vault.body("plan")


def test_notes_are_data(vault: Vault) -> None:
    """What VitePress compiles is the same for every page; texts are in JSON, without scripts and includes."""
    vault.build()
    stubs = {path.read_bytes() for path in (vault.output / "pages").rglob("*.md")}
    assert len(stubs) == 1
    for name in vault.pages:
        assert vault.page(name).keys() == {"title", "html"}
        assert "<script" not in vault.body(name)
        assert "<!--" not in vault.body(name)
    # The code of a note is still there to read, with its blank line.
    code = re.sub(r"<[^>]+>", "", vault.body("plan"))
    assert "&lt;!-- @include: /etc/passwd --&gt;\n\n&lt;script&gt;" in code


def test_sections_are_found(vault: Vault) -> None:
    """Search gets each section once, with its text and the titles above it, as HTML where they are shown."""
    vault.build(base="/x/")
    sections = json.loads((vault.output / ".vitepress" / "search.json").read_bytes())
    by_id = {each["id"]: each for each in sections}
    assert len(by_id) == len(sections)
    part = by_id["/x/notes/other.html#note-part"]
    assert part == {"id": part["id"], "title": "Part", "titles": ["Other"], "text": "text"}
    plan = by_id["/x/plan.html#title"]
    assert (plan["title"], plan["titles"]) == ("The &lt;b&gt;plan", [])
    assert "{{ constructor }} Vec" in plan["text"]
    assert not any("mdvec-notes" in each for each in by_id)
    twice = [each["text"] for each in sections if each["id"].startswith("/x/twice.html#note-part")]
    assert twice == ["Part again"]


def test_each_page_begins_with_its_title(vault: Vault) -> None:
    """A first heading that is another one takes no title away; one that is the title is not repeated."""
    (vault.folder / "named.md").write_text("---\ntitle: Named\n---\n# TL;DR\n\nShort.\n", encoding="utf-8")
    vault.build()
    assert re.findall(r"<h1[^>]*>([^<]+?) ?<", vault.body("named")) == ["Named", "TL;DR"]
    assert re.findall(r"<h1[^>]*>([^<]+?) ?<", vault.body("twice")) == ["Twice"]


def test_a_place_is_there_once(vault: Vault) -> None:
    """Of two headings with one id only the first is a section: VitePress's search refuses the second."""
    vault.build()
    page = vault.body("twice")
    assert page.count("<h2") == 2
    assert page.count('id="note-part"') == 1


def test_links_that_lead_nowhere_are_reported(vault: Vault) -> None:
    """Missing notes, headings and files, and documents that are left out, are named with their place."""
    (vault.folder / "same.md").write_text("# Same\n\n![](missing.png)\n", encoding="utf-8")
    (vault.folder / "far.md").write_text(f"# Far\n\n[[eight]]{chr(10) * 9}[[twelve]]\n", encoding="utf-8")
    report = vault.build()
    assert report.dead_links == [
        ("far.md:3", "eight"),
        ("far.md:12", "twelve"),
        ("plan.md:6", "#nowhere"),
        ("plan.md:6", "draft"),
        ("plan.md:6", "gone"),
        ("plan.md:8", "missing.png"),
        ("same.md:3", "missing.png"),
    ]
    listed = (vault.output / "dead-links.txt").read_text(encoding="utf-8")
    assert listed.splitlines()[-1] == "same.md:3\tmissing.png"


def test_an_unchanged_note_is_not_written_again(vault: Vault) -> None:
    """A second build writes what has changed, and removes what is gone, but for files of the user's."""
    vault.build()
    own = vault.output / "pages" / "about.md"
    own.write_text("# Mine\n", encoding="utf-8")
    before = {path: path.stat().st_mtime_ns for path in vault.output.rglob("*") if path.is_file()}
    report = vault.build()
    assert (report.written, report.removed) == (0, 0)
    (vault.folder / "notes" / "other.md").write_text("# Other\n\nChanged.\n", encoding="utf-8")
    (vault.folder / "public" / "x.md").unlink()
    report = vault.build()
    after = {path: path.stat().st_mtime_ns for path in vault.output.rglob("*") if path.is_file()}
    changed = {str(path.relative_to(vault.output)) for path in after if after[path] != before.get(path)}
    data = "pages/public/mdvec-pages"
    assert {f"{data}/notes/other.json", f"{data}/plan.json"} < changed
    assert f"{data}/new.json" not in changed
    assert not (vault.output / "pages" / "public-").exists()
    assert own.exists()
    assert report.removed >= 1


def test_a_folder_of_others_is_left_alone(vault: Vault) -> None:
    """A folder that holds something else is no place for a site."""
    vault.output.mkdir()
    (vault.output / "thesis.docx").write_text("years of work", encoding="utf-8")
    with pytest.raises(SiteError, match="'mdvec site build' did not write"):
        vault.build()
    assert [path.name for path in vault.output.iterdir()] == ["thesis.docx"]


def test_what_lies_in_a_folder_leads_nowhere_else(vault: Vault) -> None:
    """No link in the folder of a project reaches a file outside."""
    vault.build()
    elsewhere = vault.output.parent / "elsewhere"
    (vault.output / "pages").rename(elsewhere)
    (vault.output / "pages").symlink_to(elsewhere)
    before = {each: each.read_bytes() for each in elsewhere.rglob("*.md")}
    with pytest.raises(SiteError, match="is outside"):
        vault.build()
    assert {each: each.read_bytes() for each in elsewhere.rglob("*.md")} == before


def test_a_build_that_was_killed_is_done_again(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folder is ours from the beginning, so that the next build may write there."""
    with monkeypatch.context() as patch:
        patch.setattr(Output, "__exit__", lambda *_: None)
        vault.build()
    assert vault.build().pages == 8


def test_a_folder_that_cannot_be_remembered(vault: Vault, tmp_path: Path) -> None:
    """A data directory that is no folder is an error that names it."""
    (tmp_path / "data").write_text("", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
        with pytest.raises(SiteError, match="cannot be remembered"):
            vault.build()
    assert not vault.output.exists()


def test_a_folder_may_be_cleared_by_hand(vault: Vault) -> None:
    """What a build wrote and somebody removed is written again, or stays gone."""
    vault.build()
    shutil.rmtree(vault.output / "pages")
    (vault.folder / "public" / "x.md").unlink()
    assert vault.build().removed > 0
    assert "plan" in vault.pages
    assert not (vault.output / "pages" / "public-").exists()


def test_files_of_the_user_are_added(vault: Vault, tmp_path: Path) -> None:
    """Settings and pages of a folder that is named are added to the project, and replace nothing in it."""
    own = tmp_path / "own"
    for place in (".vitepress/site.local.mjs", "pages/about.md", "node_modules/x/index.js"):
        (own / place).parent.mkdir(parents=True, exist_ok=True)
        (own / place).write_text("export default {}\n", encoding="utf-8")
    vault.custom = own
    vault.build()
    assert (vault.output / ".vitepress" / "site.local.mjs").exists()
    assert "about" in vault.pages
    assert not (vault.output / "node_modules").exists()
    (own / "pages" / "Plan.md").write_text("# Mine\n", encoding="utf-8")
    with pytest.raises(SiteError, match=r"Plan\.md would replace a file of mdvec's"):
        vault.build()


@pytest.mark.parametrize("base", ["/a b/", "https://host.example/", "/../", "/x?/"])
def test_a_base_is_a_path(vault: Vault, base: str) -> None:
    """What is no path of a site is refused before anything is written."""
    with pytest.raises(UsageError, match="not the path of a site"):
        vault.build(base=base)
    assert not vault.output.exists()


def test_what_cannot_be_built(vault: Vault, tmp_path: Path) -> None:
    """An unknown collection, an empty one, an unknown language and a preview of nothing are errors."""
    with pytest.raises(UsageError, match="no words for the language 'fr'"):
        vault.build(language="fr")
    empty = tmp_path / "empty"
    empty.mkdir()
    vault.workspace.add_collection("empty", "", str(empty))
    for name, error in (("empty", UsageError), ("nobody", CollectionNotFoundError)):
        with pytest.raises(error):
            build_site(
                vault.workspace, name, vault.output, base="/", language=None, project_only=True, note=print
            )
    with pytest.raises(SiteError, match="no built site"):
        preview_site(vault.output, 4173, note=print)


def test_project(vault: Vault) -> None:
    """The versions of all packages are pinned, and the sidebar names folders and pages by their titles."""
    vault.build(language="ja")
    package = json.loads((vault.output / "package.json").read_text(encoding="utf-8"))
    lock = json.loads((vault.output / "package-lock.json").read_text(encoding="utf-8"))
    wanted = package["devDependencies"]["vitepress"]
    assert lock["packages"]["node_modules/vitepress"]["version"] == wanted
    assert all(each.get("integrity") for name, each in lock["packages"].items() if name)
    site = json.loads((vault.output / ".vitepress" / "site.json").read_text(encoding="utf-8"))
    assert (site["language"], site["title"]) == ("ja", "vault")
    sidebar = json.loads((vault.output / "pages" / "public" / site["sidebarAddress"][1:]).read_bytes())
    icon = vault.output / "pages" / "public" / site["iconAddress"][1:]
    assert icon.read_bytes().startswith(b"<svg")
    assert [each["text"] for each in sidebar] == [
        "files",
        "notes",
        "public-",
        "New",
        "Odd name",
        "The &lt;b&gt;plan",
        "Twice",
    ]
    assert sidebar[1]["items"][0] == {"text": "Other", "link": "/notes/other.html"}


def test_a_page_is_an_index_only_by_its_whole_name(vault: Vault) -> None:
    """The sidebar leads to a page whose name ends in 'index', and to that of a folder."""
    for path in ("reindex.md", "folder/index.md"):
        (vault.folder / path).parent.mkdir(exist_ok=True)
        (vault.folder / path).write_text(f"# {path}\n", encoding="utf-8")
    vault.build()
    (place,) = (vault.output / "pages" / "public" / "mdvec-files").glob("*-sidebar.json")
    links = re.findall(r'"link":"([^"]+)"', place.read_text(encoding="utf-8"))
    assert {"/reindex.html", "/folder/"} < set(links)


def test_names() -> None:
    """Names are valid everywhere, differ for VitePress, and the index or README comes first."""
    names = page_names(["README.md", "a/b.md", "a_b.md", "_a/B.txt", "con:1?.md", ".md", "index.txt"])
    assert names == {
        "README.md": "README",
        "a/b.md": "a/b-2",
        "a_b.md": "a_b-3",
        "_a/B.txt": "_a/B",
        "con:1?.md": "con-1-",
        ".md": "md",
        "index.txt": "index",
    }


def test_names_that_mean_something_to_vitepress() -> None:
    """No path is a mark of Vite, a folder that VitePress skips, a page of its own, or a script of another."""
    names = page_names(
        [
            *("__VITE_ASSET__x__.md", "{{ x }}.md", "a/dist/b.md", "404.md", "a&b.md", "a+b.md"),
            *("x\u2028\u202ey\x85.md", "node_modules/a.md", "\udc80.md", "mdvec-pages/a.md"),
        ]
    )
    assert sorted(names.values()) == [
        *("-", "-- x --", "404-", "_VITE_ASSET_x_", "a&b", "a+b-2", "a/dist-/b", "mdvec-pages-/a"),
        *("node_modules-/a", "x--y-"),
    ]


def test_long_names() -> None:
    """VitePress can write a file named by the whole path of any page: the end of a long path is cut."""
    title, folder = "とても長い題名のノート" * 7, "とても長い名前のフォルダー" * 4
    names = page_names(
        [f"{folder}/{title}.md", f"{folder}/{title}、その二.md", f"{folder}/{folder}/{title}.md", "a/b.md"]
    )
    assert len(set(names.values())) == 4
    assert all(len(f"{script_name(name)}.md.QK87YyGH.lean.js".encode()) <= 255 for name in names.values())
    assert [name.rpartition("/")[0] for name in list(names.values())[-2:]] == [folder, folder]
    assert names["a/b.md"] == "a/b"
    assert len(f"{TAGS}_{safe_name('x/' + title)[2:]}.md.QK87YyGH.lean.js".encode()) <= 255
    assert file_name("図" * 84 + ".png") == "図" * 72 + ".png"
    assert file_name("図?.txt") == "図-.txt"


def test_a_built_site_is_served_as_a_host_would(tmp_path: Path) -> None:
    """At its base, with names of any characters, to this machine alone, also while it is built again."""
    built = tmp_path / "dist"
    (built / "tags").mkdir(parents=True)
    for name in ("index.html", "C++.html", "Q&A.html", "100%.html", "tags/index.html", "404.html"):
        (built / name).write_text(name, encoding="utf-8")
    client = TestClient(static_app(built, "/notes/"), base_url="http://127.0.0.1:4173")
    for path, found in (
        ("/", "index.html"),
        ("/notes/", "index.html"),
        ("/notes/C%2B%2B.html", "C++.html"),
        ("/notes/C++.html", "C++.html"),
        ("/notes/Q%26A.html", "Q&A.html"),
        ("/notes/100%25.html", "100%.html"),
        ("/notes/tags/", "tags/index.html"),
    ):
        answer = client.get(path)
        assert (answer.status_code, answer.text) == (200, found)
    missing = client.get("/notes/none.html")
    assert (missing.status_code, missing.text) == (404, "404.html")
    (built / "C++.html").unlink()
    assert client.get("/notes/C%2B%2B.html").status_code == 404
    assert client.get("/notes/../../secret").status_code == 404
    assert client.get("/notes/", headers={"host": "evil.example"}).status_code == 400


def test_a_project_inside_its_folder_is_no_note_of_it(vault: Vault) -> None:
    """Else the next import would index the site, and the next build contain it."""
    vault.output = vault.folder / "site"
    vault.build()
    pages = vault.pages
    report = vault.workspace.import_collection("vault")
    assert (report.added, report.updated) == (0, 0)
    vault.build()
    assert vault.pages == pages
