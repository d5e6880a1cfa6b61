"""Searches that other processes answer."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import httpx2
import psutil
import pytest
from msgspec.structs import replace
from tests.conformance.servers import MDVEC, serving
from tests.waiting import HANG_S, wait_until

from mdvec.config.schema import Config, EmbeddingSettings
from mdvec.errors import CollectionNotFoundError
from mdvec.types.hit import Confidence, SearchResult
from mdvec.types.query import SearchMode, SearchQuery
from mdvec.types.report import ImportOptions
from mdvec.workspace import Workspace, open_workspace, searchers
from mdvec.workspace.search import Asked
from mdvec.workspace.searchers import Searchers, use_processes

HERE = SearchResult("here", SearchMode.LEXICAL, (), Confidence.NONE, 0, 0, None, 0.0)
QUERY = SearchQuery("庭", mode=SearchMode.LEXICAL)


def children() -> list[psutil.Process]:
    """Return the processes that search, of this one."""
    found = psutil.Process().children()
    return [each for each in found if "resource_tracker" not in " ".join(each.cmdline())]


@pytest.fixture
def workspace(tmp_path: Path, model_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    """Two collections of a note each, whose searches are handed over as soon as they overlap."""
    monkeypatch.setattr(searchers, "_OVERLAPS_PER_START", 1)
    config = Config(embedding=EmbeddingSettings(cache_dir=model_cache))
    with open_workspace(config, database=tmp_path / "index.sqlite") as workspace:
        for name in ("open", "secret"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "note.md").write_text(f"# {name}\n\n京都の庭。\n", encoding="utf-8")
            workspace.add_collection(name, "", str(tmp_path / name))
            workspace.import_collection(name, ImportOptions(embed=False))
        yield workspace


def test_searches_at_the_same_time_are_answered_in_other_processes(workspace: Workspace) -> None:
    """As here, from what is indexed now and may be read; when one is killed, here."""
    shared = Searchers(1, workspace.made_again)
    alone, ended = threading.Event(), threading.Event()

    def wait() -> SearchResult:
        alone.set()
        assert ended.wait(HANG_S)
        return HERE

    asked = Asked(QUERY, {})
    ask = partial(shared.answer, here=lambda: HERE)
    thread = threading.Thread(target=shared.answer, args=(asked, wait))
    thread.start()
    try:
        assert alone.wait(HANG_S)
        wait_until(lambda: ask(asked) is not HERE)
        [process] = children()
        assert shape(ask(asked)) == shape(workspace.answer(asked))
        assert [hit.collection for hit in ask(replace(asked, readable=frozenset({"open"}))).hits] == ["open"]
        with pytest.raises(CollectionNotFoundError, match="no collection 'x'") as caught:
            ask(replace(asked, query=replace(QUERY, collections=("x",))))
        assert "open, secret" in caught.value.hint
        workspace.delete_collection("secret")
        assert [hit.collection for hit in ask(asked).hits] == ["open"]
        process.kill()
        process.wait(HANG_S)
        assert ask(asked) is HERE
        wait_until(lambda: ask(asked) is not HERE)
        assert not shared.end_idle(HANG_S)
        assert shared.end_idle(0)
        assert not children()
    finally:
        ended.set()
        thread.join(HANG_S)
        shared.close()


def shape(result: SearchResult) -> SearchResult:
    """Return a result without its time."""
    return replace(result, elapsed_ms=0.0)


def test_a_search_alone_starts_nothing(workspace: Workspace) -> None:
    """One client has what it had."""
    use_processes(workspace, 2)
    assert [len(workspace.search(QUERY).hits) for _ in range(3)] == [2, 2, 2]
    assert not children()


@pytest.mark.harness
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_processes_end_with_their_server(workspace: Workspace, tmp_path: Path, how: signal.Signals) -> None:
    """However it ends, and while they search."""
    command = [
        *MDVEC,
        "--database",
        str(workspace.database),
        "serve",
        "--http",
        "127.0.0.1:0",
        "--processes",
        "2",
    ]
    stopped = threading.Event()
    with serving(command, {**os.environ}, tmp_path / "log") as url:
        address = url.removesuffix("/mcp") + "/search?mode=lexical&q=note"

        def search() -> None:
            with suppress(httpx2.TransportError):
                while not stopped.is_set():
                    httpx2.get(address, timeout=HANG_S).raise_for_status()

        threads = [threading.Thread(target=search) for _ in range(4)]
        for thread in threads:
            thread.start()
        try:
            [server] = [each for each in psutil.Process().children() if "serve" in each.cmdline()]
            wait_until(lambda: len(server.children()) > 1)  # one is Python's own
            below = server.children()
            server.send_signal(how)
            _, alive = psutil.wait_procs([server, *below], timeout=HANG_S)
            assert not alive
        finally:
            stopped.set()
            for thread in threads:
                thread.join(HANG_S)
    assert "Traceback" not in (tmp_path / "log").read_text()
