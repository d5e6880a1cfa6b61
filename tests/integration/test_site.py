"""The project of a reading site: what is written for a collection."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from mdvec import Workspace, open_workspace
from mdvec.errors import CollectionNotFoundError, SiteError, UsageError
from mdvec.interfaces.site.build import SiteReport, build_site
from mdvec.interfaces.site.names import TAGS, file_name, flat, page_names, safe_name
from mdvec.interfaces.site.preview import preview_site, static_app
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

    def build(self, base: str = "/", language: str | None = None) -> SiteReport:
        """Write the project again."""
        self.workspace.import_collection("vault")
        return build_site(
            self.workspace, "vault", self.output, base=base, language=language, project_only=True, note=print
        )

    def page(self, name: str) -> str:
        """The text of a page."""
        return (self.output / "pages" / f"{name}.md").read_text(encoding="utf-8")

    @property
    def pages(self) -> set[str]:
        """The names of all pages."""
        root = self.output / "pages"
        return {str(path.relative_to(root).with_suffix("")) for path in root.rglob("*.md")}


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    """A vault with links, files, drafts, versions and names that are hard for a site."""
    folder = tmp_path / "vault"
    for path, text in NOTES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    (folder / "map.png").write_bytes(b"\x89PNG map")
    (folder / "files").mkdir()
    (folder / "files" / "paper.pdf").write_bytes(b"%PDF")
    with open_workspace(database=tmp_path / "index.sqlite", embedder=HashingEmbedder()) as workspace:
        workspace.add_collection("vault", "Notes of a test", str(folder), chunking=ChunkingSpec("vault"))
        yield Vault(folder, tmp_path / "site", workspace)


def test_pages(vault: Vault) -> None:
    """Every document but drafts and older versions is a page, with those of tags and a first one."""
    report = vault.build()
    names = {"plan", "twice", "notes/other", "notes/other-2", "new", "a -b- -1", "public-/x"}
    assert vault.pages == names | {"index", "mdvec-notes", "mdvec-tags/index", "mdvec-tags/work"}
    assert (report.pages, report.tags, report.files, report.left_out) == (7, 1, 2, 3)


def test_a_page(vault: Vault) -> None:
    """A page has its title, dates, tags, resolved links and files, callouts and backlinks."""
    vault.build(base="/x/")
    page = vault.page("plan")
    assert page.startswith('---\ntitle: "The <b>plan"\n---\n\n<div v-pre class="note"><h1 id="title"')
    assert "Created 2026-01-02" in page
    assert 'href="/x/mdvec-tags/work.html">#Work</a>' in page
    assert '<a class="internal" href="/x/notes/other.html"' in page
    assert re.search(r'src="/x/mdvec-files/[0-9a-f]{12}-map\.png"', page)
    assert re.search(r'href="/x/mdvec-files/[0-9a-f]{12}-paper\.pdf"', page)
    assert 'class="callout callout-warning"' in page
    assert 'id="backlinks"' in page
    assert 'href="/x/notes/other.html">Other</a>' in page


def test_a_page_is_one_block_that_runs_nothing(vault: Vault) -> None:
    """No line of a body is blank, so that Markdown ends nowhere in it, and no script or include is left."""
    vault.build()
    for name in vault.pages:
        _, _, body = vault.page(name).partition("\n---\n\n")
        assert "" not in [line.strip() for line in body.rstrip("\n").split("\n")], name
        assert "<script" not in body
        assert "<!--" not in body
        assert body.startswith("<div v-pre")
        assert body.endswith("</div>\n")
    # What the blank line in the code was is still one for the reader.
    assert "&lt;!-- @include: /etc/passwd --&gt;" in re.sub(r"<[^>]+>", "", vault.page("plan"))
    assert "&#10;" in vault.page("plan")


def test_words_on_two_lines_stay_apart(vault: Vault) -> None:
    """Vue drops a newline between two tags, so there is a space instead; code keeps its lines."""
    vault.build()
    page = vault.page("plan")
    assert "<code>first</code><br> <code>second</code>" in page
    assert re.search(r">one</a><br> <a [^>]+>two</a>", page)
    without_code = re.sub(r"<pre.*?</pre>", "", page, flags=re.DOTALL)
    assert not re.search(r">\s*\n\s*<(?!div v-pre)", without_code)
    assert without_code != page


def test_each_page_begins_with_its_title(vault: Vault) -> None:
    """A first heading that is another one takes no title away; one that is the title is not repeated."""
    (vault.folder / "named.md").write_text("---\ntitle: Named\n---\n# TL;DR\n\nShort.\n", encoding="utf-8")
    vault.build()
    assert re.findall(r"<h1[^>]*>([^<]+?) ?<", vault.page("named")) == ["Named", "TL;DR"]
    assert re.findall(r"<h1[^>]*>([^<]+?) ?<", vault.page("twice")) == ["Twice"]


def test_a_place_is_there_once(vault: Vault) -> None:
    """Of two headings with one id only the first is a section: VitePress's search refuses the second."""
    vault.build()
    page = vault.page("twice")
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
    assert {"pages/notes/other.md", "pages/plan.md"} < changed
    assert "pages/new.md" not in changed
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


def test_what_another_made_of_a_project_leads_nowhere_else(vault: Vault) -> None:
    """Neither its list of files nor a link in it reaches a file outside."""
    vault.build()
    kept = vault.output.parent / "kept.md"
    kept.write_text("years of work", encoding="utf-8")
    manifest = vault.output / ".vitepress" / "mdvec-files.json"
    written = manifest.read_text(encoding="utf-8")
    for place in ("../kept.md", str(kept)):
        manifest.write_text(json.dumps([place, *json.loads(written)]), encoding="utf-8")
        with pytest.raises(SiteError, match="is outside"):
            vault.build()
        assert kept.exists()
    manifest.write_text(written, encoding="utf-8")
    elsewhere = vault.output.parent / "elsewhere"
    (vault.output / "pages").rename(elsewhere)
    (vault.output / "pages").symlink_to(elsewhere)
    before = {each: each.read_bytes() for each in elsewhere.rglob("*.md")}
    with pytest.raises(SiteError, match="is outside"):
        vault.build()
    assert {each: each.read_bytes() for each in elsewhere.rglob("*.md")} == before


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
        "notes",
        "public-",
        "New",
        "Odd name",
        "The <b>plan",
        "Twice",
    ]
    assert sidebar[0]["items"][0] == {"text": "Other", "link": "/notes/other.html"}


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


def test_long_names() -> None:
    """VitePress can write a file named by the whole path of any page: the end of a long path is cut."""
    title, folder = "とても長い題名のノート" * 7, "とても長い名前のフォルダー" * 4
    names = page_names(
        [f"{folder}/{title}.md", f"{folder}/{title}、その二.md", f"{folder}/{folder}/{title}.md", "a/b.md"]
    )
    assert len(set(names.values())) == 4
    assert all(len(f"{flat(name)}.md.QK87YyGH.lean.js".encode()) <= 255 for name in names.values())
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
