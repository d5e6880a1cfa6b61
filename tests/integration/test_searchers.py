"""Searches that other processes answer."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest
from msgspec.structs import replace
from tests.waiting import HANG_S, wait_until

from mdvec import processes
from mdvec.config.schema import Config, EmbeddingSettings
from mdvec.documents import conversion
from mdvec.errors import CollectionNotFoundError
from mdvec.processes import SpareProcesses
from mdvec.search.search import Search
from mdvec.types.hit import SearchResult
from mdvec.types.query import SearchMode, SearchQuery
from mdvec.types.report import ImportOptions
from mdvec.workspace import Workspace, open_workspace
from mdvec.workspace.serving import answering_elsewhere, use_processes

HERE = SearchResult("here", SearchMode.LEXICAL, (), 0, 0, None, 0.0)
QUERY = SearchQuery("庭", mode=SearchMode.LEXICAL)


def children() -> list[psutil.Process]:
    """Return the processes that search, of this one."""
    conversion.end()  # of other tests
    found = psutil.Process().children()
    return [each for each in found if "resource_tracker" not in " ".join(each.cmdline())]


@pytest.fixture
def workspace(tmp_path: Path, model_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    """Two collections of a note each, whose searches are handed over as soon as they overlap."""
    monkeypatch.setattr(processes, "_OVERLAPS_PER_START", 1)
    config = Config(embedding=EmbeddingSettings(cache_dir=model_cache))
    with open_workspace(config, database=tmp_path / "index.sqlite") as workspace:
        for name in ("open", "secret"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "note.md").write_text(f"# {name}\n\n京都の庭。\n", encoding="utf-8")
            workspace.add_collection(name, "", str(tmp_path / name))
            workspace.import_collection(name, ImportOptions(embed=False))
        yield workspace


def test_searches_at_the_same_time_are_answered_in_other_processes(workspace: Workspace) -> None:
    """As here, from what is indexed now and may be read; when one is stopped or killed, here."""
    shared = SpareProcesses(1, answering_elsewhere(workspace))
    alone, ended = threading.Event(), threading.Event()

    def wait() -> SearchResult:
        alone.set()
        assert ended.wait(HANG_S)
        return HERE

    search = Search(QUERY, {})
    ask = partial(shared.answer, here=lambda: HERE)
    thread = threading.Thread(target=shared.answer, args=(search, wait))
    thread.start()
    try:
        assert alone.wait(HANG_S)
        wait_until(lambda: ask(search) is not HERE)
        [process] = children()
        assert shape(ask(search)) == shape(workspace.answer(search))
        assert [hit.collection for hit in ask(replace(search, readable=frozenset({"open"}))).hits] == ["open"]
        with pytest.raises(CollectionNotFoundError, match="no collection 'x'") as caught:
            ask(replace(search, query=replace(QUERY, collections=("x",))))
        assert "open, secret" in caught.value.hint
        workspace.delete_collection("secret")
        assert [hit.collection for hit in ask(search).hits] == ["open"]
        process.suspend()
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(processes, "_MAX_ANSWER_S", 0.2)
            assert ask(search) is HERE
        process.resume()
        wait_until(lambda: ask(search) is not HERE)
        process.kill()
        process.wait(HANG_S)
        assert ask(search) is HERE
        wait_until(lambda: ask(search) is not HERE)
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


_PARENT = """
import sys, threading, time
from pathlib import Path
from mdvec import processes
from mdvec.documents import conversion
from mdvec.types.query import SearchMode, SearchQuery
from mdvec.search.search import Search
from mdvec.workspace import open_workspace, serving
processes._OVERLAPS_PER_START = 1
if __name__ == "__main__":
    search = Search(SearchQuery("x", mode=SearchMode.LEXICAL), {})
    with open_workspace(database=Path(sys.argv[1])) as workspace:
        serving.use_processes(workspace, 2)
        ask = workspace.searchers.answer
        threading.Thread(target=ask, args=(search, lambda: time.sleep(1000)), daemon=True).start()
        while ask(search, lambda: None) is None:
            time.sleep(0.01)
        print("ready", flush=True)
        time.sleep(1000)
"""


@pytest.mark.harness
def test_processes_end_with_the_first_one(workspace: Workspace, tmp_path: Path) -> None:
    """Also when that is killed."""
    script = tmp_path / "parent.py"
    script.write_text(_PARENT)
    command = [sys.executable, str(script), str(workspace.database)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as started:
        try:
            assert started.stdout is not None
            assert started.stdout.readline() == b"ready\n"
            below = psutil.Process(started.pid).children()
        finally:
            started.kill()
    assert len(below) > 1  # one is Python's own
    _, alive = psutil.wait_procs(below, timeout=HANG_S)
    assert not alive
