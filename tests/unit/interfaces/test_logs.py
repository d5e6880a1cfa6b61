"""The log: what a line holds, where it goes, and what it never holds."""

from __future__ import annotations

import json
import logging
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from mdvec import SearchQuery, open_workspace, run
from mdvec.config.schema import Config, LogSettings
from mdvec.errors import (
    CollectionNotFoundError,
    EmbeddingError,
    NotFoundError,
    StoreUnavailableError,
    WriterBusyError,
)
from mdvec.indexing.imports import recorded_import
from mdvec.interfaces import logs
from mdvec.interfaces.errors import translate_for_client, translate_logged
from mdvec.run import LogLevel
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.report import ImportOptions

SECRET = "sk-live-4711"
TEXT = "the quagga eats at noon"
QUERY = "what does the quagga eat"


@pytest.fixture(autouse=True)
def _no_log_afterwards() -> Iterator[None]:
    """Other tests write none."""
    yield
    logs.reset()


def written(path: Path) -> list[dict[str, object]]:
    """Return the lines of a log in JSON."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def use(tmp_path: Path, settings: LogSettings, *, name: str = "index.sqlite") -> None:
    """Import and search a folder with a note and a failing search, with a log as configured."""
    docs = tmp_path / "docs"
    docs.mkdir(exist_ok=True)
    (docs / "a.md").write_text(f"# Animals\n\n{TEXT}. My key is {SECRET}.\n")
    logs.configure(settings, serves=True)
    config = Config(log=settings)
    with (
        run.bound(run.Run(on_step=logs.log_step if logs.wants_steps() else None)),
        open_workspace(config, database=tmp_path / name, embedder=HashingEmbedder()) as workspace,
    ):
        workspace.add_collection("notes", "", str(docs))
        workspace.import_collection("notes")
        workspace.search(SearchQuery(QUERY))
        with pytest.raises(CollectionNotFoundError):
            workspace.search(SearchQuery(QUERY, collections=("elsewhere",)))


def test_searches_updates_and_errors_are_lines(tmp_path: Path) -> None:
    """With their times; a query is its length and a hash."""
    path = tmp_path / "logs" / "mdvec.log"
    use(tmp_path, LogSettings(file=path, format="json"))
    imported, searched, failed = written(path)
    assert (imported["event"], imported["level"], imported["added"]) == ("reindex", "info", 1)
    assert (searched["event"], searched["chars"], searched["hits"]) == ("search", len(QUERY), 1)
    assert (failed["event"], failed["level"]) == ("search", "warning")
    assert failed["error"] == "collection_not_found"
    assert searched["query_hash"] == failed["query_hash"]
    for line in (imported, searched, failed):
        assert isinstance(line["ms"], float)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", str(line["time"]))


def test_each_failed_request_is_one_line(tmp_path: Path) -> None:
    """Whatever it was for; one that a search or an import has logged gets no second one."""
    path = tmp_path / "mdvec.log"
    logs.configure(LogSettings(file=path, format="json"), serves=True)
    with open_workspace(database=tmp_path / "index.sqlite", embedder=HashingEmbedder()) as workspace:
        for call in (
            lambda: workspace.search(SearchQuery(QUERY, collections=("elsewhere",))),
            lambda: workspace.read(QUERY),
        ):
            with pytest.raises(NotFoundError) as caught:
                call()
            translate_logged(caught.value)
            translate_logged(caught.value)
    translate_logged(StoreUnavailableError("the server is gone"))
    translate_logged(ValueError("a bug, which has a line of its own"))
    searched, read, gone = written(path)
    assert (searched["event"], searched["error"]) == ("search", "collection_not_found")
    assert (read["event"], read["error"], read["level"]) == ("failed", "document_not_found", "warning")
    assert "reason" not in read
    assert (gone["event"], gone["reason"]) == ("failed", "the server is gone")


@pytest.mark.parametrize("level", get_args(LogLevel))
def test_no_line_holds_a_text_a_key_or_a_query(tmp_path: Path, level: LogLevel) -> None:
    """At no level, unless queries are allowed."""
    path = tmp_path / "mdvec.log"
    use(tmp_path, LogSettings(level=level, file=path))
    log = path.read_text(encoding="utf-8")
    for private in (SECRET, "quagga", "noon", QUERY):
        assert private not in log
    use(tmp_path, LogSettings(level=level, file=path, queries=True), name="second.sqlite")
    is_written = level != "error"
    assert (f'query="{QUERY}"' in path.read_text(encoding="utf-8")) is is_written


def test_debug_adds_every_step(tmp_path: Path) -> None:
    """And the sums of a search and of an update, with what was found."""
    path = tmp_path / "mdvec.log"
    use(tmp_path, LogSettings(level="debug", file=path, format="json"))
    lines = {str(line["event"]): line for line in reversed(written(path))}
    assert {"scan", "compare", "prepare", "write", "embed", "reindex_total"} <= lines.keys()
    assert {"lexical", "dense", "fuse", "search_total"} <= lines.keys()
    assert lines["compare"]["new"] == 1
    assert lines["prepare"]["chars"] == [len(f"# Animals\n\n{TEXT}. My key is {SECRET}.")]


def test_only_servers_write_a_log_unasked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On standard error; a level asks for one everywhere."""
    for settings, serves, expected in (
        (LogSettings(), True, "INFO started a=1"),
        (LogSettings(), False, ""),
        (LogSettings(level="info"), False, "INFO started a=1"),
        (LogSettings(level="warning"), True, ""),
    ):
        logs.configure(settings, serves=serves)
        run.log("started", a=1)
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.rstrip("\n").endswith(expected)
        assert bool(captured.err) is bool(expected)


def test_a_log_is_the_users_alone_and_is_rotated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its file, and those before it; a line cannot steer a terminal, nor become two."""
    monkeypatch.setattr(logs, "_MAX_BYTES", 500)
    path = tmp_path / "mdvec.log"
    logs.configure(LogSettings(file=path), serves=True)
    for number in range(50):
        run.log("event", number=number, evil="a\x1b[2Jb\nc")
    logs.reset()
    files = sorted(tmp_path.glob("mdvec.log*"))
    assert [each.name for each in files] == ["mdvec.log", "mdvec.log.1", "mdvec.log.2", "mdvec.log.3"]
    assert all(stat.S_IMODE(each.stat().st_mode) == 0o600 for each in files)
    assert "\x1b" not in files[0].read_text()
    assert all("INFO event number=" in line for line in files[0].read_text().splitlines())


def test_an_error_that_is_not_about_a_request_says_why(tmp_path: Path) -> None:
    """A bug is named by its kind alone: its message may hold anything."""
    path = tmp_path / "mdvec.log"
    logs.configure(LogSettings(file=path, format="json"), serves=True)
    reason = "the service is away"
    with pytest.raises(EmbeddingError), run.logged("reindex"):
        raise EmbeddingError(reason)
    with pytest.raises(ValueError, match=TEXT), run.logged("search"):
        raise ValueError(TEXT)
    # Another process imports already. A server tries again every few seconds: that is no line each time.
    for wait_s in (0, 1):
        options = ImportOptions(wait_s=wait_s)
        with pytest.raises(WriterBusyError), recorded_import("notes", options):
            raise WriterBusyError(reason)
    service, bug, busy = written(path)
    assert (busy["level"], busy["error"]) == ("warning", "writer_busy")
    assert (service["level"], service["reason"]) == ("warning", reason)
    assert (bug["level"], bug["error"]) == ("error", "ValueError")
    assert "reason" not in bug


def test_without_a_log_nothing_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    """Not even by Python's own last resort."""
    logging.getLogger("mdvec").propagate = False
    run.log("nothing", level="error")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("verbose", [False, True])
def test_a_traceback_is_shown_where_it_is_wanted(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], verbose: bool
) -> None:
    """The log has the kind of a bug alone: its message may hold secrets. ``--verbose`` prints all."""
    log = tmp_path / "log"
    logs.configure(LogSettings(file=log, format="json"), serves=True, verbose=verbose)
    failure = translate_for_client(ZeroDivisionError(SECRET))
    assert failure.message == "internal error (ZeroDivisionError)"
    [line] = written(log)
    assert (line["event"], line["error"], SECRET in str(line)) == ("bug", "ZeroDivisionError", False)
    assert (f"ZeroDivisionError: {SECRET}" in capfd.readouterr().err) is verbose
