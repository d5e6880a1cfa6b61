"""Notes and folders of others, of which somebody makes a reading site."""

from __future__ import annotations

import json
import random
import re
import sys
from pathlib import Path

import pytest
from tests.security.conftest import Mdvec
from tests.security.hostile_notes import titled, write_notes

from mdvec import open_workspace
from mdvec.errors import SiteError
from mdvec.interfaces.site.build import build_site
from mdvec.interfaces.site.node import Node
from mdvec.testing.embedder import HashingEmbedder

TITLES = [
    "<!--@include: ../../../../../../../../etc/passwd-->",
    "<img src=x onerror=alert(1)>",
    "</title><script>x</script>",
    "{{ constructor.constructor('alert(1)')() }} {onclick=alert(1)} ::: tip",
    "&#13;&#13;# x\r\0\x0b\x0c\u2028\u2029",
    "_vp-fn_() => alert(1)",
    "__VITE_ASSET__x__ __VP_STATIC_START__ __VP_STATIC_END__', 1); alert(1)",
    '"\n---\n<script setup>process.exit(1)</script>',
    "\ud800",
]
_OWN_PROGRAMS = {"config.mjs", "index.js", "mdvec.css", "pages.js", "search.js"}


def project_of(notes: Path, folder: Path, description: str = "Notes") -> Path:
    """Write the project of a site."""
    with open_workspace(database=folder.parent / "index.sqlite", embedder=HashingEmbedder()) as workspace:
        workspace.add_collection("notes", description, str(notes))
        workspace.import_collection("notes")
        build_site(
            workspace, "notes", folder, base="/", language=None, project_only=True, note=lambda _: None
        )
    return folder


def test_titles_are_data(tmp_path: Path) -> None:
    """No title reaches Markdown, front matter or settings: it is a string in JSON, or escaped HTML."""
    notes = tmp_path / "notes"
    notes.mkdir()
    for number, title in enumerate(TITLES):
        (notes / f"{number}.md").write_text(titled(title, tags=[title]), encoding="utf-8")
    project = project_of(notes, tmp_path / "site", description=TITLES[1])
    stubs = list((project / "pages").rglob("*.md"))
    assert len(stubs) > len(TITLES) + 3
    assert len({each.read_bytes() for each in stubs}) == 1
    for path in (project / ".vitepress").rglob("*"):
        if path.is_file() and path.suffix != ".json":
            assert path.name in _OWN_PROGRAMS
    # The settings that VitePress copies into its programs have no text of notes.
    assert json.loads((project / ".vitepress" / "site.json").read_bytes()).keys() == {
        *("base", "description", "iconAddress", "language", "nav", "sidebarAddress", "title")
    }
    data = project / "pages" / "public"
    (sidebar,) = (data / "mdvec-files").glob("*-sidebar.json")
    shown = [each["text"] for each in json.loads(sidebar.read_bytes())]
    assert "&lt;img src=x onerror=alert(1)&gt;" in shown
    sections = json.loads((project / ".vitepress" / "search.json").read_bytes())
    shown += [title for each in sections for title in (each["title"], *each["titles"])]
    assert not any(re.search("[<>]", each) for each in shown)
    for path in (data / "mdvec-pages").rglob("*.json"):
        assert not re.search("<script|<!--|<img", json.loads(path.read_bytes())["html"])


def test_random_notes_are_data(tmp_path: Path) -> None:
    """Of hostile pieces in any place, no byte is in what VitePress compiles, and paths name no other file."""
    write_notes(tmp_path / "notes", random.Random(1), 150, tmp_path / "outside.txt", tmp_path / "mark")
    project = project_of(tmp_path / "notes", tmp_path / "site")
    stubs = list((project / "pages").rglob("*.md"))
    assert len(stubs) > 150
    assert len({each.read_bytes() for each in stubs}) == 1
    for stub in stubs:
        name = stub.relative_to(project / "pages").with_suffix("").as_posix()
        assert not re.search(r"""[\x00-\x1f\[\]{}<>"`$\\#?%:;\u2028\u2029]|__""", name)
        assert (project / "pages" / "public" / "mdvec-pages" / f"{name}.json").exists()
    assert not any(each.is_symlink() for each in project.rglob("*"))


def test_a_project_that_came_with_a_folder_is_not_ours(mdvec: Mdvec, folder: Path, home: Path) -> None:
    """Neither the list of files of an older version nor the mark of another folder makes it ours."""
    mdvec("tool", "add", "-n", "notes", "-d", "Notes", "-s", str(folder))
    mdvec("import", "-n", "notes")
    own = home / "own"
    assert mdvec("site", "build", "-n", "notes", "-o", own, "--project-only").code == 0
    foreign = folder / "site"
    (foreign / ".vitepress").mkdir(parents=True)
    (foreign / ".vitepress" / "mdvec-files.json").write_text("[]", encoding="utf-8")
    (foreign / ".vitepress" / "site.local.mjs").write_text("process.exit(1)", encoding="utf-8")
    for mark in ("", (own / ".mdvec-site").read_text(encoding="utf-8"), "../" * 8, "0" * 32):
        (foreign / ".mdvec-site").write_text(mark, encoding="utf-8")
        for only in (["--project-only"], []):
            outcome = mdvec("site", "build", "-n", "notes", "-o", foreign, *only)
            assert outcome.code == 1
            assert "did not write here" in outcome.err
    assert sorted(each.name for each in foreign.rglob("*") if each.is_file()) == [
        *(".mdvec-site", "mdvec-files.json", "site.local.mjs")
    ]


def test_node_runs_in_a_folder_of_ours(home: Path, tmp_path: Path) -> None:
    """Packages and projects are in the user's cache, whose folders above came with no repository."""
    npm = "import pathlib; p = pathlib.Path('node_modules'); p.mkdir(); (p / '.package-lock.json').touch()"
    node = Node(sys.executable, (sys.executable, "-c", npm))
    packages = {"package.json": b"{}", "package-lock.json": b"{}"}
    with node.project(packages) as project, node.project(packages) as another:
        assert project != another
        assert list(project.iterdir()) == []
        assert project.is_relative_to(home / "cache")
        assert (project.parent / "package.json").read_bytes() == b"{}"
        (project / "left.js").touch()
    assert not project.exists()
    failing = Node(sys.executable, (sys.executable, "-c", "import sys; sys.exit('no network')"))
    with pytest.raises(SiteError, match="no network"), failing.project({"package.json": b"[]"}):
        pass


def test_files_that_browsers_run_are_text(tmp_path: Path) -> None:
    """A link to a drawing of others leads to its text, one to a converted file to a page of ours."""
    notes = tmp_path / "notes"
    notes.mkdir()
    names = ("a.html", "b.htm", "c.svg", "d.xml", "e.js", "f.pdf")
    for name in names:
        (notes / name).write_text("<script>alert(1)</script>", encoding="utf-8")
    links = " ".join(f"[{name}]({name})" for name in names)
    (notes / "note.md").write_text(f"# Files\n\n{links} ![[c.svg]]\n", encoding="utf-8")
    project = project_of(notes, tmp_path / "site")
    pages = project / "pages" / "public" / "mdvec-pages"
    page = json.loads((pages / "note.json").read_bytes())["html"]
    assert re.findall(r'(?:href|src)="/mdvec-files/[0-9a-f]{12}-([^"]+)"', page) == [
        *("c.svg.txt", "d.xml.txt", "e.js.txt", "c.svg")
    ]
    page = json.loads((pages / "a.html.json").read_bytes())["html"]
    assert re.findall(r'href="/mdvec-files/[0-9a-f]{12}-([^"]+)"', page) == ["a.html.txt"]
