"""``mdvec import``: modes, output and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from msgspec.structs import replace
from tests.unit.interfaces.conftest import Mdvec
from tests.unit.interfaces.fake_workspace import COLLECTION, FakeWorkspace

from mdvec.errors import (
    CollectionNotEmptyError,
    EmbedderBusyError,
    EmbedderUnavailableError,
    WriterBusyError,
)
from mdvec.interfaces.cli.progress import LineProgress, reporting_interruption
from mdvec.run import Stage
from mdvec.types.report import ImportMode, ImportOptions

IMPORT_KEYS = [
    "collection", "added", "updated", "moved", "deleted", "unchanged", "failed", "excluded",
    "total_documents", "total_chunks", "embedded_chunks", "cached_chunks", "pending_chunks", "superseded",
    "new_model",
    "warnings", "elapsed_ms", "embedded_names", "error",
]  # fmt: skip


def test_defaults(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """An import is an ``update``, embeds, refuses an empty folder, and waits a minute for another writer."""
    assert mdvec("import", "-n", "notes").code == 0
    assert workspace.calls == [
        (
            "import_collection",
            {
                "name": "notes",
                "options": ImportOptions(accept_pending=True, processes=None),
            },
        )
    ]


def test_every_option_reaches_the_workspace(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """Each option of the command sets what it is named after."""
    mdvec(
        *("import", "-n", "notes", "-m", "replace", "--chunk-size", "256", "--chunk-overlap", "0"),
        *("--no-embed", "--allow-empty", "--wait", "1.5", "--database", "x.sqlite"),
    )
    [(_, details)] = workspace.calls
    assert details == {
        "name": "notes",
        "options": ImportOptions(
            mode=ImportMode.REPLACE,
            embed=False,
            allow_empty=True,
            max_tokens=256,
            overlap_tokens=0,
            accept_pending=True,
            wait_s=1.5,
            processes=None,
        ),
    }
    assert str(workspace.opened["database"]).endswith("/x.sqlite")


def test_json_has_exactly_the_documented_keys(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """One object on stdout, keys in the documented order."""
    workspace.report = replace(workspace.report, warnings=("日本.md: broken frontmatter",), elapsed_ms=1.26)
    outcome = mdvec("import", "-n", "notes", "--format", "json")
    assert outcome.out.count("\n") == 1
    report = json.loads(outcome.out)
    assert list(report) == IMPORT_KEYS
    assert (report["collection"], report["added"], report["elapsed_ms"]) == ("notes", 3, 1.3)
    assert report["warnings"] == ["日本.md: broken frontmatter"]


def test_many_warnings_do_not_hide_the_outcome(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """The first are printed, and which command has the others."""
    warnings = tuple(f"{number}.md: odd" for number in range(200))
    workspace.report = replace(workspace.report, warnings=warnings)
    lines = mdvec("import", "-n", "notes").err.splitlines()
    assert len([line for line in lines if line.startswith("warning: ")]) == 5
    assert "and 195 more warnings; 'mdvec status -n notes' has all of them" in lines


def test_text_is_a_short_summary(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """People get two lines with what changed and what is there now; warnings go to stderr."""
    workspace.report = replace(
        workspace.report, deleted=2, warnings=("a.md: odd",), cached_chunks=1, elapsed_ms=1234.5
    )
    outcome = mdvec("import", "-n", "notes")
    assert outcome.out == (
        "notes: 3 added, 2 deleted\n3 documents, 9 chunks: 9 embedded, 1 from cache, 0 pending, in 1.2 s\n"
    )
    assert outcome.err == "warning: a.md: odd\n"


def test_a_change_of_the_model_is_news(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """An import that completed one says so below its summary, not as a warning."""
    workspace.report = replace(workspace.report, new_model="voyage:voyage-4-lite@1024")
    outcome = mdvec("import", "-n", "notes")
    assert outcome.out.splitlines()[2] == "notes uses voyage:voyage-4-lite@1024 from now on"
    assert outcome.err == ""


def test_an_unchanged_collection_says_so(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """An import of nothing is told in words."""
    workspace.report = replace(workspace.report, added=0)
    assert mdvec("import", "-n", "notes").out.startswith("notes: nothing to do\n")


def test_a_failed_document_makes_the_exit_code_1(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """A run in which a document could not be read ends with 1, its report printed all the same."""
    workspace.report = replace(workspace.report, failed=1)
    outcome = mdvec("import", "-n", "notes", "--format", "json")
    assert outcome.code == 1
    assert json.loads(outcome.out)["failed"] == 1


def test_missing_vectors_end_with_what_is_there(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """What is embedded and what goes on with the rest is said, for each collection."""
    failure = EmbedderBusyError("the quota is used up")
    workspace.report = replace(
        workspace.report, total_chunks=40, embedded_chunks=12, pending_chunks=28, failure=failure
    )
    outcome = mdvec("import", "-n", "a", "-n", "b", "-m", "update")
    assert outcome.code == 1
    assert [line for line in outcome.out.splitlines() if "28 pending" in line] == [
        "3 documents, 40 chunks: 12 embedded, 0 from cache, 28 pending, in 0.0 s"
    ] * 2
    assert outcome.err == "".join(
        "error: the quota is used up\n"
        f"hint: 12 of 40 chunks are embedded. Run 'mdvec import -n {name} -m update' to resume.\n"
        for name in ("a", "b")
    )
    reported = mdvec("import", "-n", "a", "--format", "json")
    assert reported.code == 1
    report = json.loads(reported.out)
    assert list(report) == IMPORT_KEYS
    assert (report["pending_chunks"], report["warnings"]) == (28, ["the quota is used up"])


def test_what_the_service_needs_is_said_too(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """A hint of the error itself, such as where a key goes, comes first."""
    failure = EmbedderUnavailableError("no key", hint="Set VOYAGE_API_KEY.")
    workspace.report = replace(workspace.report, total_chunks=9, pending_chunks=9, failure=failure)
    assert mdvec("import", "--docs-dir", ".").err == (
        "error: no key\n"
        "hint: Set VOYAGE_API_KEY. 0 of 9 chunks are embedded. "
        "Run the same command again to resume.\n"
    )


def test_several_collections_give_several_reports(mdvec: Mdvec) -> None:
    """``-n`` may be repeated; the JSON is one list, in the order given."""
    out = mdvec("import", "-n", "b", "-n", "a", "-m", "update", "--format", "json").out
    assert [each["collection"] for each in json.loads(out)] == ["b", "a"]


def test_a_folder_needs_no_name(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """With ``--docs-dir`` its one collection is brought up to date."""
    assert mdvec("import", "--docs-dir", ".").code == 0
    [listing, (name, details)] = workspace.calls
    assert (listing[0], name) == ("collections", "import_collection")
    assert details["options"] == ImportOptions(accept_pending=True, processes=None)


def test_without_a_name_all_are_imported(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """Without any, what to do first is said."""
    workspace.known = [COLLECTION, replace(COLLECTION, name="work")]
    assert mdvec("import").code == 0
    imported = [details["name"] for name, details in workspace.calls if name == "import_collection"]
    assert imported == ["notes", "work"]
    workspace.known = []
    outcome = mdvec("import")
    assert (outcome.code, outcome.out) == (0, "")
    assert "mdvec tool add" in outcome.err


def test_one_that_fails_does_not_stop_the_others(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """Each failure names its collection, and the exit code says that there were some."""
    workspace.error = WriterBusyError("pid 7 imports notes")
    outcome = mdvec("import", "-n", "a", "-n", "b")
    assert outcome.code == 1
    failed = [line for line in outcome.err.splitlines() if line.startswith("error: ")]
    assert failed == ["error: a: pid 7 imports notes", "error: b: pid 7 imports notes"]


@pytest.mark.parametrize("error", [CollectionNotEmptyError(), WriterBusyError("pid 7 imports notes")])
def test_a_refused_import_exits_with_1(mdvec: Mdvec, workspace: FakeWorkspace, error: Exception) -> None:
    """What cannot be done is told with the next step on stderr; stdout stays empty."""
    workspace.error = error
    outcome = mdvec("import", "-n", "notes")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith(f"error: {error}\nhint: ")


def test_ctrl_c_says_what_is_pending(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """After Ctrl-C the exit code is 130 and stderr says how far the index is and how to go on."""
    workspace.interrupted = True
    outcome = mdvec("import", "-n", "notes")
    assert (outcome.code, outcome.out) == (130, "")
    assert "interrupted: everything written so far stays" in outcome.err
    assert "notes: 3 documents searchable, 4 of 9 chunks pending" in outcome.err
    assert "mdvec import -n notes -m update" in outcome.err
    assert workspace.closed


def test_ctrl_c_in_a_first_search_says_what_is_pending(
    mdvec: Mdvec, workspace: FakeWorkspace, tmp_path: Path
) -> None:
    """The import that the first search of a folder makes is interrupted in the same way."""
    workspace.interrupted = True
    outcome = mdvec("search", "--docs-dir", ".", "x")
    assert outcome.code == 130
    assert "4 of 9 chunks pending" in outcome.err
    assert "hint: Run the same command again to resume." in outcome.err


def test_progress_without_a_terminal_is_a_line_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    """In a log, an import says every ten seconds how far it is, and a short one says nothing."""
    moments = iter([0.0, 9.9, 10.0, 11.0, 20.1])
    progress = LineProgress(lambda: next(moments))
    progress(Stage.TEXT, 10, 2000)
    progress(Stage.TEXT, 1500, 2000)
    progress(Stage.EMBED, 1, 0)
    progress(Stage.EMBED, 2, 0)
    captured = capsys.readouterr()
    assert captured.err == "reading documents: 1,500 of 2,000\nembedding texts: 2\n"
    assert captured.out == ""


def test_ctrl_c_in_the_middle_of_a_clean_up_is_still_ctrl_c(workspace: FakeWorkspace) -> None:
    """What fails because of an interruption is not reported as an error of its own."""

    def fail(*, interrupted: bool) -> None:
        try:
            if interrupted:
                raise KeyboardInterrupt
        finally:
            msg = "half done"
            raise RuntimeError(msg)

    with pytest.raises(click.exceptions.Exit) as caught, reporting_interruption(workspace, []):
        fail(interrupted=True)
    assert caught.value.exit_code == 130
    with pytest.raises(RuntimeError, match="half done"), reporting_interruption(workspace, []):
        fail(interrupted=False)
