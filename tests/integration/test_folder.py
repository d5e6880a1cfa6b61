"""A real folder, with everything that real folders hold."""

from __future__ import annotations

import os
import socket
import tempfile
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from mdvec.errors import SourceError, SourceMissingError, UnreadableFileError
from mdvec.sources.folder import FolderSource
from mdvec.sources.selection import ScanSettings
from mdvec.text.hashing import content_hash
from mdvec.types.change import Listing

_NOBODY = 65_534


class _Tree:
    """A folder to be filled and listed."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, *paths: str, text: str = "# text\n") -> None:
        """Write files with the folders above them."""
        for path in paths:
            target = self.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")

    def link(self, path: str, target: str) -> None:
        """Make a symbolic link."""
        link = self.root / path
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)

    def source(
        self, *, include: Sequence[str] = (), exclude: Sequence[str] = (), max_file_bytes: int = 1_000
    ) -> FolderSource:
        """A source with small limits."""
        scan = ScanSettings(max_file_bytes=max_file_bytes)
        return FolderSource(location=str(self.root), include=include, exclude=exclude, scan=scan)

    def list(self, *, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> Listing:
        """List it."""
        return self.source(include=include, exclude=exclude).list()


@pytest.fixture
def tree(tmp_path: Path) -> _Tree:
    """An empty folder, with a neighbour that is no part of it."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_text("secret")
    (tmp_path / "root").mkdir()
    return _Tree(tmp_path / "root")


@pytest.fixture
def ordinary_user() -> Iterator[Path]:
    """A folder in which permissions count: root gives up its rights meanwhile."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        root = Path(name)
        root.chmod(0o755)
        is_root = os.geteuid() == 0
        try:
            if is_root:
                os.chown(root, _NOBODY, _NOBODY)
                os.seteuid(_NOBODY)
            yield root
        finally:
            if is_root:
                os.seteuid(0)
            for folder in [root, *root.rglob("*/")]:
                folder.chmod(0o755)


def _paths(listing: Listing) -> list[str]:
    return [entry.path for entry in listing.entries]


def _rules(listing: Listing) -> dict[str, str]:
    return {item.path: item.rule for item in listing.exclusions}


def test_documents_are_found_at_every_depth(tree: _Tree) -> None:
    """The default extensions are listed, in any case and however deep, hidden folders included."""
    deep = "/".join(["d"] * 60) + "/deep.md"
    tree.write("a.md", "b.markdown", "c.MDX", "d.txt", deep, ".github/contributing.md", "..md", "e.png", "f")
    listing = tree.list()
    assert _paths(listing) == sorted(
        ["a.md", "b.markdown", "c.MDX", "d.txt", deep, ".github/contributing.md", "..md"]
    )
    assert _rules(listing) == {"e.png": "extension .png is not indexed", "f": "no extension"}


def test_folders_of_programs_are_one_exclusion(tree: _Tree) -> None:
    """A folder left out by name is listed once, wherever it is, and not read; mdvec's own is not listed."""
    tree.write("node_modules/x/readme.md", "sub/.obsidian/a.md", "sub/a.md", ".mdvec/index.sqlite")
    listing = tree.list()
    assert _paths(listing) == ["sub/a.md"]
    assert _rules(listing) == {
        "node_modules/": "excluded folder name: node_modules",
        "sub/.obsidian/": "excluded folder name: .obsidian",
    }


def test_names_of_every_kind_are_listed_and_read(tree: _Tree) -> None:
    """Spaces, line feeds, tabs, emoji, quotes and 255 bytes in a name are no trouble."""
    names = ["new\nline.md", "tab\tname.md", " space .md", "🗂️ x.md", "-rf.md", "$(x).md", "x" * 252 + ".md"]
    tree.write(*names)
    source = tree.source()
    assert _paths(source.list()) == sorted(names)
    assert all(source.read(entry) == b"# text\n" for entry in source.list().entries)


def test_names_that_are_not_utf8_are_listed_and_read(tree: _Tree) -> None:
    """The path shows the bytes, the locator still opens the file."""
    name = os.fsdecode(b"\xff\xfe.md")
    try:
        (tree.root / name).write_bytes(b"odd")
    except OSError:
        pytest.skip("this file system refuses names that are not UTF-8")
    source = tree.source()
    (entry,) = source.list().entries
    assert (entry.path, entry.locator) == (r"\xff\xfe.md", name)
    assert source.read(entry) == b"odd"


def test_decomposed_names_have_composed_paths(tree: _Tree) -> None:
    """A folder and a file named as macOS does have NFC paths, and can be read."""
    decomposed = unicodedata.normalize("NFD", "ガイド/ガ.md")
    tree.write(decomposed)
    source = tree.source()
    (entry,) = source.list().entries
    assert entry.path == "ガイド/ガ.md"
    assert source.read(entry) == b"# text\n"


def test_large_files_are_left_out_and_reported(tree: _Tree) -> None:
    """The limit itself is allowed; one byte more is not."""
    tree.write("fits.md", text="x" * 1_000)
    tree.write("large.md", text="x" * 1_001)
    listing = tree.list()
    assert _paths(listing) == ["fits.md"]
    assert _rules(listing) == {"large.md": "larger than 1 kB (1 kB)"}


def test_include_and_exclude_choose_files(tree: _Tree) -> None:
    """Only what is included and not excluded is listed, and each rule is named."""
    tree.write("docs/a.md", "docs/drafts/b.md", "docs/c.txt", "src/d.md", "e.md")
    listing = tree.list(include=["docs/**"], exclude=["docs/drafts/**", "*.txt"])
    assert _paths(listing) == ["docs/a.md"]
    assert _rules(listing) == {
        "docs/c.txt": "--exclude: *.txt",
        "docs/drafts/": "--exclude: docs/drafts/**",
        "e.md": "not matched by --include",
        "src/": "not matched by --include",
    }


def test_ignore_rules_hold_at_every_level(tree: _Tree) -> None:
    """The deeper file has the say, and the exclusion names file and line."""
    tree.write("x.tmp.md", "a.md", "sub/x.tmp.md", "sub/b.md", "sub/out/c.md", "sub/keep.tmp.md")
    tree.write(".gitignore", text="*.tmp.md\n")
    tree.write("sub/.gitignore", text="out/\n!keep.tmp.md\n")
    listing = tree.list()
    assert _paths(listing) == ["a.md", "sub/b.md", "sub/keep.tmp.md"]
    assert _rules(listing) == {
        ".gitignore": "no extension",
        "sub/.gitignore": "no extension",
        "sub/out/": "sub/.gitignore: out/",
        "sub/x.tmp.md": ".gitignore: *.tmp.md",
        "x.tmp.md": ".gitignore: *.tmp.md",
    }


def test_our_ignore_file_has_the_last_word(tree: _Tree) -> None:
    """``.mdvecignore`` leaves out more, and brings back what git ignores, also from above."""
    tree.write("private.md", "notes.md", "sub/notes.md", "sub/other.md")
    tree.write(".gitignore", text="notes.md\n")
    tree.write("sub/.gitignore", text="notes.md\nother.md\n")
    tree.write(".mdvecignore", text="!notes.md\nprivate.md\n")
    listing = tree.list()
    assert _paths(listing) == ["notes.md", "sub/notes.md"]
    assert _rules(listing)["private.md"] == ".mdvecignore: private.md"
    assert _rules(listing)["sub/other.md"] == "sub/.gitignore: other.md"


def test_ignore_rules_know_both_spellings(tree: _Tree) -> None:
    """A rule typed in NFC holds for a name in NFD; a byte order mark and CRLF do no harm."""
    tree.write(unicodedata.normalize("NFD", "ガイド.md"))
    tree.write(".gitignore", text="\ufeffガイド.md\r\n")
    assert _paths(tree.list()) == []


def test_an_ignore_file_that_is_a_link_is_not_read(tree: _Tree) -> None:
    """As in git, and nothing outside the folder is opened for it."""
    tree.write("a.md")
    (tree.root.parent / "outside" / "rules").write_text("*.md")
    tree.link(".gitignore", "../outside/rules")
    assert _paths(tree.list()) == ["a.md"]


def test_links_out_of_the_folder_are_refused(tree: _Tree) -> None:
    """Neither a file nor a folder outside is listed, not even through a second link."""
    tree.write("a.md")
    tree.link("file.md", "../outside/secret.md")
    tree.link("folder", "../outside")
    tree.link("twice.md", "folder/secret.md")
    tree.link("system", "/etc")
    listing = tree.list()
    assert _paths(listing) == ["a.md"]
    assert _rules(listing) == dict.fromkeys(
        ["file.md", "folder", "twice.md", "system"], "link that leaves the folder"
    )


def test_links_that_the_user_chose_lead_out_of_the_folder(tree: _Tree) -> None:
    """Those, and no link behind them; what they lead to is read, and nothing else there."""
    outside = _Tree(tree.root.parent / "outside")
    outside.write("deep/b.md", "deep/no.png", "more.md")
    outside.link("deep/again", "../../other")
    _Tree(tree.root.parent / "other").write("c.md")
    tree.write("a.md")
    tree.link("shared", "../outside/deep")
    tree.link("in/one.md", "../../outside/secret.md")
    tree.link("other", "../other")
    tree.link("up", "..")
    scan = ScanSettings(follow=("shared/", "in/one.md", "up"))
    source = FolderSource(location=str(tree.root), scan=scan)
    listing = source.list()
    assert _paths(listing) == ["a.md", "in/one.md", "shared/b.md"]
    assert [source.read(entry) for entry in listing.entries[1:]] == [b"secret", b"# text\n"]
    assert _rules(listing) == {
        "other": "link that leaves the folder",
        "shared/again": "link that leaves the folder",
        "shared/no.png": "extension .png is not indexed",
        "up": "link back to a folder above it",
    }
    for locator in ("shared/../secret.md", "other/c.md", "shared/again/c.md"):
        with pytest.raises(UnreadableFileError, match="outside the folder"):
            source.read(replace(listing.entries[0], locator=locator))
    assert all(Path(folder).is_relative_to(tree.root) for folder in source.folders())


def test_files_in_the_cloud_are_not_downloaded(tree: _Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are unreadable, so that what is indexed of them stays; their own kinds of files are left out."""
    tree.write(
        "a.md", ".b.md.icloud", ".c.png.icloud", "d.md", unicodedata.normalize("NFD", "x/.が.md.icloud")
    )
    monkeypatch.setattr("mdvec.sources.scan.is_dataless", lambda status: status.st_size == 3)
    tree.write("d.md", text="abc")
    listing = tree.list()
    assert _paths(listing) == ["a.md"]
    why = "not downloaded: its program has it in the cloud only"
    assert [(each.path, each.reason) for each in listing.unreadable] == [
        (path, why) for path in ("b.md", "d.md", "x/が.md")
    ]
    assert _rules(listing) == {".c.png.icloud": "extension .icloud is not indexed"}


def test_loops_end(tree: _Tree) -> None:
    """Links to folders above, to each other and to nothing are each said to be so."""
    tree.write("loop/a.md")
    for path, target in (
        ("self", "."),
        ("up", ".."),
        ("one", "two"),
        ("two", "one"),
        ("gone.md", "nowhere.md"),
    ):
        tree.link(f"loop/{path}", target)
    tree.link("loop/under.md", "a.md/x.md")
    listing = tree.list()
    assert _paths(listing) == ["loop/a.md"]
    assert _rules(listing) == {
        "loop/gone.md": "dangling link",
        "loop/one": "link that leads to itself",
        "loop/self": "link back to a folder above it",
        "loop/two": "link that leads to itself",
        "loop/under.md": "dangling link",
        "loop/up": "link back to a folder above it",
    }


def test_each_file_is_listed_once_under_its_own_name(tree: _Tree) -> None:
    """A link to what is listed is left out, though its path comes first."""
    tree.write("z/real.md")
    tree.link("a.md", "z/real.md")
    tree.link("b", "z")
    listing = tree.list()
    assert _paths(listing) == ["z/real.md"]
    assert _rules(listing) == {"a.md": "same file as z/real.md", "b": "same folder as z/"}


def test_a_link_to_a_file_without_our_extension_is_followed_once(tree: _Tree) -> None:
    """What is not listed otherwise is listed through the first link by path, and can be read."""
    tree.write("data/raw.dat")
    tree.link("b.md", "data/raw.dat")
    tree.link("a.md", "b.md")
    source = tree.source()
    listing = source.list()
    (entry,) = listing.entries
    assert (entry.path, entry.locator) == ("a.md", "a.md")
    assert source.read(entry) == b"# text\n"
    assert _rules(listing)["b.md"] == "same file as a.md"


def test_a_link_into_a_folder_that_is_not_included_is_followed(tree: _Tree) -> None:
    """Includes are about where a file is seen, so a link can bring in a whole folder, once."""
    tree.write("vault/a.md", "vault/deep/b.md", "vault/skip.md", "pub/c.md")
    tree.write("vault/.gitignore", text="skip.md\n")
    tree.link("pub/notes", "../vault")
    tree.link("pub/old/again", "../../vault/deep")
    tree.link("vault/up", "..")
    listing = tree.list(include=["pub/**"])
    assert _paths(listing) == ["pub/c.md", "pub/notes/a.md", "pub/notes/deep/b.md"]
    rules = _rules(listing)
    assert rules["pub/notes/skip.md"] == "pub/notes/.gitignore: skip.md"
    assert rules["pub/notes/up"] == "link back to a folder above it"
    assert rules["pub/old/again"] == "same folder as pub/notes/deep/"


def test_a_file_linked_first_is_not_listed_again_with_its_folder(tree: _Tree) -> None:
    """Of two ways into a folder that is not included, each file takes the first."""
    tree.write("vault/a.md", "vault/b.md", "vault/deep/c.md")
    tree.link("pub/0.md", "../vault/a.md")
    tree.link("pub/1", "../vault/deep")
    tree.link("pub/2", "../vault")
    listing = tree.list(include=["pub/**"])
    assert _paths(listing) == ["pub/0.md", "pub/1/c.md", "pub/2/b.md"]
    assert _rules(listing)["pub/2/a.md"] == "same file as pub/0.md"
    assert _rules(listing)["pub/2/deep/"] == "same folder as pub/1/"


@pytest.mark.parametrize("target", ["drafts/a.md", "drafts", "drafts/deep", "node_modules/x", "left/a.md"])
def test_a_link_to_what_is_left_out_is_left_out(tree: _Tree, target: str) -> None:
    """Neither ignore rules, nor folder names, nor ``--exclude`` can be got round by a link."""
    tree.write("drafts/a.md", "drafts/deep/b.md", "node_modules/x/c.md", "left/a.md", "ok.md")
    tree.write(".gitignore", text="drafts/\n")
    tree.link("link.md", target)
    listing = tree.list(exclude=["left/**"])
    assert _paths(listing) == ["ok.md"]
    assert _rules(listing)["link.md"].startswith(f"link to {target}")


def test_rules_hold_for_the_link_itself(tree: _Tree) -> None:
    """A link's own name is subject to every rule that a file's or folder's is."""
    tree.write("vault/x.md", ".gitignore", text="*.tmp.md\nin/ignored/\n")
    for name in ("x.tmp.md", "x.bin", "x.skip.md", "ok.md"):
        tree.write(f"data/{name}.dat")
        tree.link(f"in/{name}", f"../data/{name}.dat")
    tree.link("in/node_modules", "../vault")
    tree.link("in/ignored", "../vault")
    listing = tree.list(include=["in/**"], exclude=["*.skip.md"])
    assert _paths(listing) == ["in/ok.md"]
    assert {path: rule for path, rule in _rules(listing).items() if path.startswith("in/")} == {
        "in/ignored": ".gitignore: in/ignored/",
        "in/node_modules": "excluded folder name: node_modules",
        "in/x.bin": "extension .bin is not indexed",
        "in/x.skip.md": "--exclude: *.skip.md",
        "in/x.tmp.md": ".gitignore: *.tmp.md",
    }


def test_pipes_sockets_and_devices_are_not_opened(tree: _Tree) -> None:
    """Opening a pipe would wait for ever; what it is, is said instead."""
    os.mkfifo(tree.root / "pipe.md")
    tree.link("link.md", "pipe.md")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(tree.root / "socket.md"))
        listing = tree.list()
    assert _paths(listing) == []
    assert _rules(listing) == {
        "link.md": "not a regular file (FIFO)",
        "pipe.md": "not a regular file (FIFO)",
        "socket.md": "not a regular file (socket)",
    }


def test_a_file_that_became_something_else_is_not_read(tree: _Tree) -> None:
    """What was a file when it was listed may be a pipe, a link out, a folder or larger by now."""
    tree.write("pipe.md", "out.md", "folder.md", "large.md", "gone.md")
    source = tree.source()
    entries = {entry.path: entry for entry in source.list().entries}
    for path in ("pipe.md", "out.md", "folder.md", "gone.md"):
        (tree.root / path).unlink()
    os.mkfifo(tree.root / "pipe.md")
    tree.link("out.md", "../outside/secret.md")
    (tree.root / "folder.md").mkdir()
    tree.write("large.md", text="x" * 1_001)
    reasons = {}
    for path, entry in entries.items():
        with pytest.raises(UnreadableFileError) as error:
            source.read(entry)
        reasons[path] = str(error.value)
    assert reasons == {
        "folder.md": "not a regular file (folder)",
        "gone.md": "No such file or directory",
        "large.md": "larger than 1 kB (1 kB)",
        "out.md": "it is outside the folder now",
        "pipe.md": "not a regular file (FIFO)",
    }
    assert all(source.differs(entry) for entry in entries.values())


def test_a_file_differs_when_its_content_does(tree: _Tree) -> None:
    """A file that was only touched is the same; one that changed, or is gone, is not."""
    tree.write("a.md", "b.md", "c.md", text="text")
    source = tree.source()
    known = [replace(entry, content_hash=content_hash(b"text")) for entry in source.list().entries]
    os.utime(tree.root / "a.md", ns=(1, 1))
    tree.write("b.md", text="tent")
    (tree.root / "c.md").unlink()
    assert [source.differs(entry) for entry in known] == [False, True, True]


def test_a_locator_cannot_climb_out(tree: _Tree) -> None:
    """A made-up entry does not read what lies beside the folder."""
    tree.write("a.md")
    (entry,) = tree.list().entries
    for locator in ("../outside/secret.md", str(tree.root.parent / "outside" / "secret.md")):
        with pytest.raises(UnreadableFileError):
            tree.source().read(type(entry)("x.md", locator, 0, 0))


def test_a_folder_without_permission_is_unreadable_and_the_rest_is_listed(ordinary_user: Path) -> None:
    """One closed folder is reported with its reason and stops nothing."""
    tree = _Tree(ordinary_user)
    tree.write("a.md", "locked/b.md", "closed.md", "rules/c.md", "rules/.gitignore")
    (tree.root / "locked").chmod(0)
    (tree.root / "closed.md").chmod(0)
    (tree.root / "rules" / ".gitignore").chmod(0)
    source = tree.source()
    listing = source.list()
    assert [(item.path, item.reason) for item in listing.unreadable] == [
        ("locked/", "Permission denied"),
        ("rules/", "its .gitignore cannot be used: Permission denied"),
    ]
    assert _paths(listing) == ["a.md", "closed.md"]
    with pytest.raises(UnreadableFileError, match=r"^Permission denied$"):
        source.read(listing.entries[1])


def test_files_that_cannot_be_looked_at_are_unreadable(ordinary_user: Path) -> None:
    """A folder that may be listed but not searched gives the names alone."""
    tree = _Tree(ordinary_user)
    tree.write("dim/a.md")
    tree.link("link.md", "dim/a.md")
    (tree.root / "dim").chmod(0o444)
    listing = tree.list()
    assert [item.path for item in listing.unreadable] == ["dim/a.md", "link.md"]


def test_a_root_without_permission_is_an_error(ordinary_user: Path) -> None:
    """Nothing is known of it then: --allow-empty believes a missing folder, but not this one."""
    ordinary_user.chmod(0)
    with pytest.raises(SourceError, match="Permission denied") as caught:
        _Tree(ordinary_user).list()
    assert not isinstance(caught.value, SourceMissingError)


def test_a_root_that_is_a_file_is_an_error(tree: _Tree) -> None:
    """The message says that it is no folder."""
    tree.write("a.md")
    with pytest.raises(SourceMissingError, match="is not a folder"):
        FolderSource(location=str(tree.root / "a.md")).list()


def test_the_root_itself_may_be_a_link_and_have_any_name(tree: _Tree) -> None:
    """What a user names is followed, and folder names that are left out are meant below it."""
    tree.write("node_modules/a.md")
    (tree.root.parent / "linked").symlink_to(tree.root / "node_modules")
    source = FolderSource(location=str(tree.root.parent / "linked"))
    (entry,) = source.list().entries
    assert entry.path == "a.md"
    assert source.read(entry) == b"# text\n"


def test_the_order_of_making_does_not_matter(tmp_path: Path) -> None:
    """Two folders with the same names give the same paths and rules."""
    names = ["b.md", "a.md", os.fsdecode("ガ.md".encode()), unicodedata.normalize("NFD", "ガ.md"), "c/d.md"]
    listings = []
    for number, order in enumerate((names, names[::-1])):
        tree = _Tree(tmp_path / str(number))
        tree.write(*order)
        tree.link("x.md", "a.md")
        listings.append(tree.list())
    assert _paths(listings[0]) == _paths(listings[1])
    assert listings[0].exclusions == listings[1].exclusions


def test_gitignore_can_be_left_unread(tree: _Tree) -> None:
    """What git ignores is listed then; ``.mdvecignore`` still counts."""
    tree.write("a.md", "b.md", "c.md")
    (tree.root / ".gitignore").write_text("a.md\n")
    (tree.root / ".mdvecignore").write_text("b.md\n")
    source = FolderSource(location=str(tree.root), scan=ScanSettings(gitignore=False))
    assert [entry.path for entry in source.list().entries] == ["a.md", "c.md"]
