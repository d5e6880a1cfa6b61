"""``mdvec tool``, ``get``, ``tags``, ``status``, ``doctor`` and ``config``."""

from __future__ import annotations

import json
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.unit.interfaces.conftest import Mdvec
from tests.unit.interfaces.fake_workspace import COLLECTION, MODEL, FakeWorkspace

from mdvec.errors import CollectionNotFoundError, DocumentNotFoundError
from mdvec.interfaces import present
from mdvec.interfaces.cli.terminal import table_text
from mdvec.types.collection import ChunkingSpec, SearchDefaults
from mdvec.types.document import DocumentState
from mdvec.types.folder_context import FolderContext
from mdvec.types.query import Comparison, Filters, PropertyCondition
from mdvec.types.report import (
    CollectionCounts,
    CollectionStatus,
    DiskCheck,
    FileStatus,
    Finding,
    ListedDocument,
    Severity,
)

COUNTS = CollectionCounts(3, 1, 2, 9, 4)


# --- tool --------------------------------------------------------------------------------------


def test_collection_is_another_word_for_tool(mdvec: Mdvec) -> None:
    """What mdvec calls a collection everywhere else can be called so here too."""
    assert mdvec("collection", "ls").out == mdvec("tool", "ls").out == mdvec("tool", "list").out
    assert mdvec("tool", "rm", "--help").code == mdvec("tool", "remove", "--help").code == 0


# --- get and tags ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "lines", "section"),
    [
        ((), None, None),
        (("--lines", "2:5"), (2, 5), None),
        (("--lines", ":5"), (None, 5), None),
        (("--lines", "2:"), (2, None), None),
        (("--lines", "2"), (2, 2), None),
        (("--section", "宿"), None, "宿"),
    ],
)
def test_get_prints_the_part_asked_for(
    mdvec: Mdvec, workspace: FakeWorkspace, args: tuple[str, ...], lines: object, section: str | None
) -> None:
    """``get`` asks for the lines or the section, and prints the text as it is."""
    outcome = mdvec("get", "a.md", "-n", "notes", *args)
    assert (outcome.code, outcome.out, outcome.err) == (0, "# A\ntext\n", "")
    assert workspace.calls == [
        ("read", {"path": "a.md", "collection": "notes", "lines": lines, "section": section})
    ]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("./a.md", "/a.md"),
        ("../notes/a.md:2-3", "/a.md:2-3"),
        ("./a.md#B//c/", "/a.md#B//c/"),
        ("./" + 300 * "a", None),
        ("./b.md", None),
        ("a.md", None),
    ],
)
def test_a_file_is_named_from_the_working_directory(
    mdvec: Mdvec, workspace: FakeWorkspace, tmp_path: Path, typed: str, meant: str | None
) -> None:
    """With a dot before it, as shells complete it; without, or where no file is, it is as results show it."""
    (tmp_path / "a.md").touch()
    typed = typed.replace("notes", tmp_path.name)
    for command in ("get", "related"):
        mdvec(command, typed)
        assert workspace.calls[-1][1]["path"] == (f"{tmp_path}{meant}" if meant else typed)


@pytest.mark.parametrize(
    "args", [("--lines", "5:2"), ("--lines", "0:2"), ("--lines", ":"), ("--lines", "1:2", "--section", "x")]
)
def test_get_refuses_what_is_no_range(mdvec: Mdvec, args: tuple[str, ...]) -> None:
    """A range that ends before it starts, or a range and a section at once, is a usage error."""
    assert mdvec("get", "a.md", *args).code == 2


def test_get_says_when_the_text_is_old(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """A stale document is printed with a warning on stderr; a missing last line end is added."""
    workspace.passage = replace(workspace.passage, stale=True, text="text", warnings=("a page is no text",))
    outcome = mdvec("get", "a.md")
    assert outcome.out == "text\n"
    assert outcome.err.startswith("warning: a.md was changed or deleted")
    assert outcome.err.endswith("warning: a.md: a page is no text\n")


def test_get_of_an_unknown_document_exits_with_1(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """An unknown path is told on stderr."""
    workspace.error = DocumentNotFoundError("no document 'a.md'", hint="Did you mean b.md?")
    outcome = mdvec("get", "a.md")
    assert (outcome.code, outcome.err) == (1, "error: no document 'a.md'\nhint: Did you mean b.md?\n")


def test_commands_in_a_hint_work_on_the_same_index(
    mdvec: Mdvec, workspace: FakeWorkspace, tmp_path: Path
) -> None:
    """They get the options that name it, once, and a folder's index has one collection."""
    (tmp_path / "a b").mkdir()
    hint = "Run 'mdvec ls' or 'mdvec status -n NAME', not 'mdvec tool add' or 'mdvec ls --docs-dir x'."
    workspace.error = DocumentNotFoundError("none", hint=hint)
    place = f"--docs-dir '{tmp_path / 'a b'}'"
    assert mdvec("get", "a.md", "--docs-dir", str(tmp_path / "a b")).err.splitlines()[-1] == (
        f"hint: Run 'mdvec ls {place}' or 'mdvec status -n docs {place}', "
        "not 'mdvec tool add' or 'mdvec ls --docs-dir x'."
    )
    assert mdvec("get", "a.md").err.endswith(f"hint: {hint}\n")


def test_tags(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """Tags are listed in the order given, as columns of equal width or as JSON; changed files come first."""
    workspace.left = ("notes may have changed",)
    outcome = mdvec("tags", "-n", "notes")
    assert outcome.out == "TAG   DOCUMENTS\n旅行  1,200\nx     3\n"
    assert outcome.err == "warning: notes may have changed\n"
    assert workspace.calls == [("bring_up", {"names": ("notes",)}), ("tags", {"collections": ("notes",)})]
    assert json.loads(mdvec("tags", "--format", "json").out) == [
        {"tag": "旅行", "documents": 1200},
        {"tag": "x", "documents": 3},
    ]


# --- status and doctor -------------------------------------------------------------------------


@pytest.fixture
def tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Local time is nine hours ahead of UTC."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "JST-9")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("tokyo")
def test_status_of_everything(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """``status`` shows database, model and a line for each collection, its last import in local time."""
    outcome = mdvec("status")
    assert workspace.calls == [("status", {"name": None, "files": False, "check": False})]
    lines = outcome.out.splitlines()
    assert lines[:2] == ["database: /nowhere/index.sqlite (1.2 MB)", "model: builtin:e5@1:384:t1"]
    assert lines[-1].split() == ["notes", "yes", "3", "9", "4", "1", "2", "2026-05-01", "18:30"]
    workspace.size_bytes = 0
    assert mdvec("status").out.startswith("database: /nowhere/index.sqlite (not made yet)\n")


def test_a_table_keeps_all_of_a_long_cell() -> None:
    """On a narrow terminal a path continues in the next line; nothing is cut off."""
    path = "a/long/path/" + "x" * 40 + ".md"
    first, *lines = table_text(("state", "path"), [("ready", path)], 30).splitlines()
    assert first == "ready"
    assert "".join(line.strip() for line in lines) == f"path:{path}"
    assert max(map(len, lines)) <= 30


@pytest.mark.parametrize("width", [60, 80])
def test_tables_fit_a_terminal(width: int) -> None:
    """No word is broken: the widest column is wrapped, or each row becomes a paragraph."""
    cells = present.model_cells(replace(MODEL, spec="sentence-transformers:cl-nagoya/ruri-v3-30m"))
    many = table_text([*cells], [[*cells.values()]] * 2, width)
    described = table_text(("name", "description"), [("notes", "words " * 30)], width)
    for text in (many, described):
        assert max(map(len, text.splitlines())) <= width
    assert "sentence-transformers:cl-nagoya/ruri-v3-30m" in many
    assert described.split() == ["NAME", "DESCRIPTION", "notes", *["words"] * 30]


def test_status_of_one_collection_lists_its_files(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """With ``-n`` every file is listed with its one state and the reason for it."""
    files = (
        FileStatus("a.md", DocumentState.READY, chunks=2),
        FileStatus("b.md", DocumentState.FAILED, "Permission denied"),
        FileStatus("node_modules/", DocumentState.EXCLUDED, "excluded folder name: node_modules"),
    )
    workspace.statuses = (CollectionStatus(COLLECTION, COUNTS, files),)
    out = mdvec("status", "-n", "notes").out
    assert workspace.calls == [("status", {"name": "notes", "files": True, "check": False})]
    assert [" ".join(line.split()) for line in out.splitlines()[-3:]] == [
        "ready a.md 2 0",
        "failed b.md 0 0 Permission denied",
        "excluded node_modules/ 0 0 excluded folder name: node_modules",
    ]


def test_status_of_one_collection_says_how_it_is_registered(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """With ``-n`` a line each for description, source, chunker, model and times, if there is one."""
    created = replace(
        COLLECTION,
        chunking=ChunkingSpec(max_tokens=250, levels=(1, 2)),
        search=SearchDefaults(limit=7, threshold=0.8),
        created_ms=1_777_627_800_123,
    )
    workspace.statuses = (CollectionStatus(created, COUNTS, model="builtin:e5@1:384:t1"),)
    lines = mdvec("status", "-n", "notes").out.splitlines()
    told = lines[lines.index("description: My notes") :]
    assert told[:5] == [
        "description: My notes",
        "source: /home/me/notes",
        "include: *.md",
        "chunker: sections (max_tokens 250, levels 1 2)",
        "model: builtin:e5@1:384:t1",
    ]
    assert told[5] == "search: limit 7, threshold 0.8"
    assert [line.split()[0] for line in told[6:]] == ["created:"]
    assert "description: My notes" not in mdvec("status").out


def test_status_names_files_that_failed_or_were_odd(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """Without a name, too, where not every file is listed."""
    remarks = (
        "a.md: not downloaded",
        "b.md: frontmatter is repaired",
        "and 2 more files: mdvec status -n notes",
    )
    workspace.statuses = (CollectionStatus(COLLECTION, COUNTS, remarks=remarks),)
    shown = mdvec("status").out.splitlines()
    assert shown[-4:] == ["notes: files with problems or warnings", *(f"  {each}" for each in remarks)]


def test_status_names_what_folders_hold(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """Of every collection, without a name, too."""
    contexts = (FolderContext("", "All notes"), FolderContext("trips", "Journeys", from_file=True))
    workspace.statuses = (CollectionStatus(replace(COLLECTION, folder_contexts=contexts), COUNTS),)
    for arguments in ([], ["-n", "notes"]):
        lines = mdvec("status", *arguments).out.splitlines()
        told = lines[lines.index("notes: contexts of folders") :]
        assert told[1:3] == ["  .: All notes", "  trips: Journeys"]


def test_status_as_json(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """JSON has everything the table has, with the documented keys."""
    check = DiskCheck(new=("n.md",), moved=(("a.md", "b.md"),))
    files = (FileStatus("a.md", DocumentState.READY, chunks=2),)
    workspace.statuses = (CollectionStatus(COLLECTION, COUNTS, files, check),)
    status = json.loads(mdvec("status", "-n", "notes", "--check", "--format", "json").out)
    assert list(status) == [
        "database",
        "size_bytes",
        "model",
        "published",
        "watcher",
        "warnings",
        "collections",
    ]
    [collection] = status["collections"]
    assert list(collection) == [
        "name", "description", "source", "include", "exclude", "enabled", "created", "updated",
        "app_version", "last_indexed", "revision", "preset", "chunker",
        "documents", "failed", "excluded", "chunks",
        "pending_chunks", "dirty", "superseded",
        "check", "check_error", "files", "model", "change", "activity", "warnings", "folder_contexts",
    ]  # fmt: skip
    assert collection["check"] == {
        "in_sync": False,
        "new": ["n.md"],
        "changed": [],
        "moved": [{"from": "a.md", "to": "b.md"}],
        "deleted": [],
    }
    [file] = collection["files"]
    assert file == {"path": "a.md", "state": "ready", "reason": "", "indexed": None} | {
        "chunks": 2, "pending_chunks": 0
    }  # fmt: skip


def test_check_shows_the_differences(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """``status --check`` lists what is new, changed, moved and deleted on disk."""
    check = DiskCheck(new=("n.md",), changed=("c.md",), moved=(("a.md", "b.md"),), deleted=("d.md",))
    workspace.statuses = (CollectionStatus(COLLECTION, COUNTS, check=check),)
    outcome = mdvec("status", "--check")
    assert outcome.out.endswith(
        "\nnotes:\n  new      n.md\n  changed  c.md\n  moved    a.md -> b.md\n  deleted  d.md\n"
    )
    assert outcome.code == 0


@pytest.mark.parametrize(
    ("check", "args", "code"),
    [
        (DiskCheck(new=("n.md",)), (), 0),
        (DiskCheck(new=("n.md",)), ("--exit-code",), 1),
        (DiskCheck(), ("--exit-code",), 0),
    ],
)
def test_exit_code_tells_scripts_of_differences(
    mdvec: Mdvec, workspace: FakeWorkspace, check: DiskCheck, args: tuple[str, ...], code: int
) -> None:
    """A difference is a result, not a failure, unless ``--exit-code`` makes it one."""
    workspace.statuses = (CollectionStatus(COLLECTION, COUNTS, check=check),)
    assert mdvec("status", "--check", *args).code == code


def test_exit_code_needs_check(mdvec: Mdvec) -> None:
    """``--exit-code`` alone compares nothing: a usage error."""
    assert mdvec("status", "--exit-code").code == 2


def test_a_folder_that_cannot_be_checked_fails(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """When the disk could not be compared, the rest is shown and the exit code is 1."""
    workspace.statuses = (CollectionStatus(COLLECTION, COUNTS, check_error="the disk is not there"),)
    outcome = mdvec("status", "--check")
    assert outcome.code == 1
    assert "notes: cannot be compared with its source: the disk is not there" in outcome.out


def test_status_of_an_unknown_collection_exits_with_1(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """An unknown name is told on stderr."""
    workspace.error = CollectionNotFoundError()
    assert mdvec("status", "-n", "nope").code == 1


@pytest.mark.parametrize(("severity", "code"), [("ok", 0), ("note", 0), ("problem", 1)])
def test_doctor_fails_on_a_problem_alone(
    mdvec: Mdvec, workspace: FakeWorkspace, severity: str, code: int
) -> None:
    """``doctor`` prints each finding with its hint; only a problem makes the exit code 1."""
    workspace.findings = [Finding(Severity(severity), "model", "not installed", "pip install mdvec-e5")]
    outcome = mdvec("doctor")
    assert outcome.code == code
    assert outcome.out == f"{severity:<8} model: not installed\n         hint: pip install mdvec-e5\n"
    assert json.loads(mdvec("doctor", "--format", "json").out) == [
        {
            "severity": severity,
            "subject": "model",
            "message": "not installed",
            "hint": "pip install mdvec-e5",
        }
    ]


# --- config ------------------------------------------------------------------------------------


def test_config_show_tells_values_and_origins(mdvec: Mdvec, workspace: FakeWorkspace, tmp_path: Path) -> None:
    """Every setting is shown with its value and where it is from; the workspace is not opened."""
    (tmp_path / "mdvec.toml").write_text("[search]\nk = 7\n")
    outcome = mdvec("config", "show", "--database", "mine.sqlite", MDVEC_SEARCH_MODE="dense")
    lines = {tuple(line.split()) for line in outcome.out.splitlines()}
    assert ("k", "=", "7", "#", f"{tmp_path / 'mdvec.toml'}:2") in lines
    assert ("mode", "=", '"dense"', "#", "MDVEC_SEARCH_MODE") in lines
    assert ("expand_tokens", "=", "10000", "#", "default") in lines
    assert ("location", "=", f'"{tmp_path / "mine.sqlite"}"', "#", "--database") in lines
    assert workspace.opened == {}


def test_config_show_prints_toml_that_means_the_same(mdvec: Mdvec, tmp_path: Path) -> None:
    """What ``config show`` prints can be saved as the configuration file."""
    shown = mdvec("config", "show", MDVEC_SEARCH_K="9", MDVEC_SCANNER_EXTENSIONS=".md,.日本").out
    assert tomllib.loads(shown)["scanner"]["extensions"] == [".md", ".日本"]
    (tmp_path / "mdvec.toml").write_text(shown, encoding="utf-8")
    again = json.loads(mdvec("config", "show", "--format", "json").out)
    assert again["settings"]["search.k"]["value"] == 9
    assert again["path"] == str(tmp_path / "mdvec.toml")


def test_config_path_prints_the_file(mdvec: Mdvec, tmp_path: Path) -> None:
    """``config path`` prints the file that is read, or where one's own would be."""
    outcome = mdvec("config", "path")
    assert outcome.out == f"{tmp_path / 'user' / 'mdvec.toml'}\n"
    assert "no configuration file was found" in outcome.err
    (tmp_path / "mdvec.toml").write_text("")
    outcome = mdvec("config", "path")
    assert (outcome.out, outcome.err) == (f"{tmp_path / 'mdvec.toml'}\n", "")


OTHERS = {
    "config.yaml": (
        "embedding: {model: m, output_dimensionality: 768, batch_size: 9}\n"
        "retry: {max_retries: 3}\nchunker: {min_chunk_chars: 40}\nextra: 1\n"
    ),
    ".search-docs.json": json.dumps({"version": "1", "extra": 1, "files": {"include": ["a.md"]}}),
    "config.toml": "extra = 1\n[database]\npath = 'x.sqlite'\n[chunking]\nsize = 512\n",
}


@pytest.mark.parametrize("name", OTHERS)
def test_config_import_prints_toml_that_means_the_same(mdvec: Mdvec, tmp_path: Path, name: str) -> None:
    """Saved as mdvec.toml it sets what the file sets; what it cannot say is on standard error."""
    (tmp_path / name).write_text(OTHERS[name])
    outcome = mdvec("config", "import", str(tmp_path / name))
    (tmp_path / "saved.toml").write_text(outcome.out)
    before, after = (
        json.loads(mdvec("config", "show", "--config", str(tmp_path / each), "--format", "json").out)
        for each in (name, "saved.toml")
    )
    assert [each["value"] for each in before["settings"].values()] == [
        each["value"] for each in after["settings"].values()
    ]
    assert "unknown setting extra\n" in outcome.err
    as_json = json.loads(mdvec("config", "import", str(tmp_path / name), "--format", "json").out)
    assert as_json["unknown"] == ["extra"]
    assert all(f"{key} is left out: {reason}\n" in outcome.err for key, reason in as_json["left_out"].items())
    assert as_json["settings"]


def test_config_import_takes_no_other_file(mdvec: Mdvec, tmp_path: Path) -> None:
    """A file of mdvec has nothing to translate."""
    (tmp_path / "mdvec.toml").write_text("")
    outcome = mdvec("config", "import", str(tmp_path / "mdvec.toml"))
    assert outcome.code == 2
    assert "It takes .search-docs.json" in outcome.err


def test_store_ls_names_what_can_be_chosen(mdvec: Mdvec) -> None:
    """``store ls`` lists stores and vector indexes, those in use marked."""
    rows = json.loads(mdvec("store", "ls", "--format", "json").out)
    assert {(row["kind"], row["name"]) for row in rows} >= {
        ("store", "sqlite"),
        ("store", "postgres"),
        ("vector index", "lancedb"),
        ("vector index", "chroma"),
        ("vector index", "sqlite-vec"),
    }
    assert [row["name"] for row in rows if row["in_use"]] == ["sqlite"]
    assert "sqlite-vec" in mdvec("store", "ls").out


def test_documents_are_listed_for_people_and_programs(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """A table by time, one object, lines, or what ``get`` takes; options are those of a search."""
    document = ListedDocument("notes", "a.md", "京都", 9, 1_777_627_800 * 10**9, file="/notes/a.md")
    workspace.listed = [document]
    table = mdvec("ls", "--tag", "x", "--where", "a=b", "--path", "2026/", "-k", "3").out.splitlines()
    assert table[0].split() == ["UPDATED", "PATH", "TITLE"]
    assert table[1].split()[2:] == ["a.md", "京都"]
    [(_, details)] = [each for each in workspace.calls if each[0] == "newest"]
    filters = Filters(tags=("x",), path="2026/", properties=(PropertyCondition("a", Comparison.EQUAL, "b"),))
    assert details == {"filters": filters, "collections": (), "limit": 4}
    listed = {
        "collection": "notes", "path": "a.md", "title": "京都", "updated": "2026-05-01T09:30:00Z", "size": 9,
        "file": "/notes/a.md",
    }  # fmt: skip
    assert json.loads(mdvec("ls", "--format", "json").out) == {"documents": [listed], "more": False}
    assert json.loads(mdvec("ls", "--format", "jsonl").out) == listed
    assert mdvec("ls", "--format", "paths").out == "/notes/a.md\n"
    workspace.listed = [replace(document, modified_ns=0, file=None)]  # of a repository
    assert mdvec("ls", "--format", "paths").out == "notes/a.md\n"
    assert mdvec("ls").out.splitlines()[1].split() == ["a.md", "京都"]
    assert json.loads(mdvec("ls", "--format", "json").out)["documents"] == [
        {**listed, "updated": "", "file": None}
    ]
    workspace.listed = []
    assert (mdvec("ls").out, mdvec("ls").err) == ("", "no documents\n")
    assert mdvec("ls", "--tag", "x").err == "no documents\nhint: No document has the tag 'x'.\n"


def test_an_outline_is_a_table(mdvec: Mdvec) -> None:
    """Headings are indented by depth; JSON has all there is."""
    assert mdvec("get", "a.md", "--outline").out.splitlines()[1].split() == ["宿", "3-9", "40"]
    sections = json.loads(mdvec("get", "a.md", "--outline", "--format", "json").out)["sections"]
    assert list(sections[0]) == ["order", "parent", "depth", "heading", "start_line", "end_line", "tokens"]
    assert mdvec("get", "a.md", "--outline", "--links").code == 2
    assert mdvec("get", "a.md", "--outline", "--lines", "3").code == 2


def test_related_documents_are_hits(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """Printed as a search prints them."""
    assert "京都の旅 › 宿" in mdvec("related", "a.md", "-k", "2").out
    assert ("related", {"path": "a.md", "collection": None, "limit": 2}) in workspace.calls
    assert json.loads(mdvec("related", "a.md", "--format", "json").out)["hits"][0]["rank"] == 1
    assert mdvec("related", "a.md", "--format", "paths").out == "notes/旅行/京都.md\n"
