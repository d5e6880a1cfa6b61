"""Which files a user wants."""

from __future__ import annotations

import pytest

from mdvec.files import too_large
from mdvec.sources.selection import DEFAULT_EXCLUDED_DIRECTORIES, ScanSettings, Selection


def _selection(
    *,
    extensions: tuple[str, ...] = (".md",),
    exclude_dirs: tuple[str, ...] = (),
    include: tuple[str, ...] = (),
    exclude: tuple[str, ...] = (),
) -> Selection:
    return Selection.parse(
        ScanSettings(extensions, exclude_dirs, max_file_bytes=10), include=include, exclude=exclude
    )


@pytest.mark.parametrize("extension", [".md", "md", "MD", ".Md"])
def test_extensions_may_be_written_in_any_way(extension: str) -> None:
    """Neither the dot nor capitals matter, in the setting or in the name."""
    selection = _selection(extensions=(extension,))
    for name in ("a.md", "A.MD", "..md", "a.b.md"):
        assert selection.extension_rule(name) is None


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("a.png", "extension .png is not indexed"),
        ("a.md.bak", "extension .bak is not indexed"),
        ("LICENSE", "no extension"),
        (".gitignore", "no extension"),
        ("cmd", "no extension"),
        (".#a.md", "lock file of a program"),
        ("~$a.md", "lock file of a program"),
    ],
)
def test_other_extensions_are_named(name: str, rule: str) -> None:
    """The rule says which extension it was."""
    assert _selection().extension_rule(name) == rule


@pytest.mark.parametrize(
    "name",
    [
        *(".git", "node_modules", "__pycache__", ".venv", ".mdvec", ".obsidian", ".trash", ".vscode"),
        *(".Trash-1000", ".dropbox.cache", "#recycle", "@eaDir", ".tmp.driveupload"),
    ],
)
def test_folders_of_programs_are_not_entered(name: str) -> None:
    """What tools keep for themselves is left out by name."""
    rule = _selection(exclude_dirs=DEFAULT_EXCLUDED_DIRECTORIES).name_rule(name)
    assert rule == f"excluded folder name: {name}"


@pytest.mark.parametrize("name", [".github", ".claude", "build", "data", "dist", "env", "docs"])
def test_folders_that_may_hold_documents_are_entered(name: str) -> None:
    """Hidden folders as such, and ordinary words, are no reason to leave something out."""
    assert _selection(exclude_dirs=DEFAULT_EXCLUDED_DIRECTORIES).name_rule(name) is None


def test_exclude_names_its_glob() -> None:
    """A file is left out by the first glob that matches it."""
    selection = _selection(exclude=("drafts/**", "*.tmp.md"))
    assert selection.exclude_rule("a.md") is None
    assert selection.exclude_rule("drafts/a.md") == "--exclude: drafts/**"
    assert selection.exclude_rule("x/a.tmp.md") == "--exclude: *.tmp.md"


@pytest.mark.parametrize("pattern", ["drafts/**", "drafts/", "drafts", "dra*", "**/drafts/**", "**/drafts/"])
def test_exclude_leaves_out_whole_folders(pattern: str) -> None:
    """A glob that takes all below a folder, or a bare name of it, spares us from entering it."""
    assert _selection(exclude=(pattern,)).exclude_rule("drafts/") == f"--exclude: {pattern}"


@pytest.mark.parametrize("pattern", ["drafts/*", "drafts/*.md", "*.md"])
def test_exclude_of_files_does_not_leave_out_the_folder(pattern: str) -> None:
    """What takes only some files of a folder does not take the folder."""
    assert _selection(exclude=(pattern,)).exclude_rule("drafts/") is None


def test_include_keeps_what_matches() -> None:
    """With includes, one of them has to match; folders in which nothing can match are not entered."""
    selection = _selection(include=("docs/api/**", "notes/*.md"))
    for path in ("docs/", "docs/api/", "docs/api/v1/", "notes/", "docs/api/x.md", "notes/a.md"):
        assert selection.include_rule(path) is None, path
    for path in ("src/", "docs/guide/", "README.md", "notes/deep/a.md"):
        assert selection.include_rule(path) == "not matched by --include", path
    assert _selection(include=("*.md",)).include_rule("any/") is None


@pytest.mark.parametrize(
    ("size", "limit", "text"),
    [
        (12_345_678, 10_000_000, "larger than 10 MB (12.3 MB)"),
        (2_000, 1_500, "larger than 1.5 kB (2 kB)"),
        (12, 10, "larger than 10 bytes (12 bytes)"),
    ],
)
def test_sizes_are_for_people(size: int, limit: int, text: str) -> None:
    """A size is given in the unit that suits it."""
    assert too_large(size, limit) == text


@pytest.mark.parametrize(("path", "times"), [("a.md", 1), ("a.PDF", 20), ("a.csv", 0.1), ("a.tsv", 0.1)])
def test_the_largest_file_depends_on_its_kind(path: str, times: float) -> None:
    """A file with pictures may be larger than a text, and a table smaller."""
    selection = _selection()
    assert selection.max_bytes(path) == selection.scan.max_file_bytes * times


def test_the_own_files_of_logseq_are_left_out_of_its_graph() -> None:
    """They include a backup of each page; elsewhere such a folder has documents."""
    graph = _selection().for_root({"journals", "logseq", "pages"})
    assert graph.exclude_rule("logseq/") == "--exclude: logseq/"
    assert graph.exclude_rule("pages/logseq/") is None
    assert _selection().for_root({"docs", "logseq"}).exclude_rule("logseq/") is None
