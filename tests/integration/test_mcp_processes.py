"""MCP servers as processes: many on one database, how they end, and what cannot harm them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.integration.mcp_wire import (
    Wire,
    WireError,
    environment_of,
    make_home,
    ready,
    run_mdvec,
    write_notes,
)
from tests.waiting import HANG_S, wait_until

from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.report import ImportOptions, Severity
from mdvec.workspace import open_workspace

SERVERS = 3
DOCUMENTS = 30
ANSWERS = 6  # of each server, at least
MB = 1_000_000

needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither of these signals")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a collection of notes that no model is needed for."""
    return make_home(tmp_path, DOCUMENTS)


@pytest.fixture
def serve(home: Path) -> Iterator[Callable[..., Wire]]:
    """Start servers that are ended with the test."""
    wires: list[Wire] = []

    def start(*arguments: str, embedder: str = "hashing", **settings: str) -> Wire:
        environment = {**environment_of(home, embedder), **settings}
        wire = Wire(environment, *arguments, log=home / f"server{len(wires)}.log")
        wires.append(wire)
        return wire.__enter__()

    yield start
    for wire in wires:
        wire.__exit__(None, None, None)


def wait_for_exit(wire: Wire) -> None:
    wire.process.wait(timeout=HANG_S)


def assert_free(home: Path) -> None:
    """No collection is claimed, and the database is sound."""
    with open_workspace(database=home / "index.sqlite", embedder=HashingEmbedder()) as workspace:
        workspace.import_collection("notes", ImportOptions(embed=False, wait_s=0))
        assert not [each for each in workspace.doctor() if each.severity is Severity.PROBLEM]


# --- many at once ----------------------------------------------------------------------------------


def test_many_servers_on_one_database(home: Path, serve: Callable[..., Wire]) -> None:
    """Three servers answer all the while another process imports and registers: no error, nothing twice."""
    wires = [ready(serve()) for _ in range(SERVERS)]
    write_notes(home / "more", DOCUMENTS)
    environment = environment_of(home, "slow")
    (home / "notes" / "0.md").write_text("# Note 0\n\nThe common word, changed.\n", encoding="utf-8")
    importer = threading.Thread(
        target=lambda: [
            run_mdvec(environment, "import", "-n", "notes", "-m", "replace"),
            run_mdvec(environment, "tool", "add", "-n", "more", "-d", "More", "-s", str(home / "more")),
            run_mdvec(environment, "import", "-n", "more"),
        ]
    )
    answers: list[list[dict[str, Any]]] = [[] for _ in wires]
    problems: list[BaseException] = []
    ended = threading.Event()

    def search(wire: Wire, found: list[dict[str, Any]]) -> None:
        try:
            while importer.is_alive() or len(found) < ANSWERS:
                found.append(wire.search("common 共通", limit=100, min_score=0))
                ended.wait(0.2)  # leaves the importer a processor
        except BaseException as error:
            problems.append(error)
            raise

    importer.start()
    clients = [
        threading.Thread(target=search, args=(wire, found))
        for wire, found in zip(wires, answers, strict=True)
    ]
    for thread in (*clients, importer):
        if thread is not importer:
            thread.start()
    for thread in (*clients, importer):
        thread.join()

    assert problems == []
    for found in answers:
        assert len(found) >= ANSWERS
        for answer in found:
            places = [(hit["collection"], hit["path"], hit["start_line"]) for hit in answer["hits"]]
            assert len(set(places)) == len(places)
    for wire in wires:
        last = wire.search("common 共通", limit=100, min_score=0)
        assert len(last["hits"]) == 2 * DOCUMENTS
        assert last["total_chunks"] == 2 * DOCUMENTS
        assert last["pending_chunks"] == 0
        tools = wire.ask("tools/list")["result"]["tools"]
        assert [tool["name"] for tool in tools][-2:] == ["more", "notes"]
        assert "Traceback" not in wire.errors()


def test_a_search_does_not_wait_for_a_reindex(home: Path, serve: Callable[..., Wire]) -> None:
    """One server answers searches while it reindexes."""
    wire = ready(serve(embedder="gated"))
    write_notes(home / "notes", 2 * DOCUMENTS)
    reindex = wire.start_asking("tools/call", {"name": "reindex", "arguments": {}})
    for _ in range(5):
        assert wire.search("common", limit=3)["hits"]
    assert all(each.get("id") != reindex for each in wire.notices())  # it is still at it
    (home / "gate").touch()
    assert not wire.answer_to(reindex)["result"]["isError"]
    # The watcher may have read the new notes before it.
    assert wire.search("common", limit=100)["total_chunks"] == 2 * DOCUMENTS


# --- ends ------------------------------------------------------------------------------------------


def idle(home: Path, serve: Callable[..., Wire]) -> Wire:
    return ready(serve())


def reindexing(home: Path, serve: Callable[..., Wire]) -> Wire:
    """A server in the middle of a reindex that would never end."""
    wire = ready(serve(embedder="gated"))
    write_notes(home / "notes", 2 * DOCUMENTS)
    wire.start_asking("tools/call", {"name": "reindex", "arguments": {}})
    wait_until(lambda: status(wire)["pending_chunks"] > 0)
    return wire


def embedding_in_background(home: Path, serve: Callable[..., Wire]) -> Wire:
    """A server of a new folder: words can be searched, vectors are being made and would never be ready."""
    write_notes(home / "folder", 10 * DOCUMENTS)
    wire = ready(serve("--docs-dir", str(home / "folder"), embedder="gated"))
    wait_until(lambda: wire.search("common")["pending_chunks"] > 0)
    return wire


def status(wire: Wire) -> dict[str, Any]:
    [collection] = wire.call("status")["structuredContent"]["collections"]
    return dict(collection)


@pytest.mark.parametrize("state", [idle, reindexing, embedding_in_background])
def test_it_leaves_with_its_client(
    home: Path, serve: Callable[..., Wire], state: Callable[[Path, Callable[..., Wire]], Wire]
) -> None:
    """When the client closes stdin the server ends, whatever it is doing."""
    wire = state(home, serve)
    wire.close_stdin()
    wait_for_exit(wire)
    assert wire.process.returncode == 0
    assert "Traceback" not in wire.errors()
    assert_free(home)


@needs_signals
@pytest.mark.parametrize("state", [reindexing, embedding_in_background])
def test_sigterm_is_clean(
    home: Path, serve: Callable[..., Wire], state: Callable[[Path, Callable[..., Wire]], Wire]
) -> None:
    """SIGTERM ends it, whatever it is doing, without a traceback; nothing needs a repair."""
    wire = state(home, serve)
    wire.process.send_signal(signal.SIGTERM)
    wait_for_exit(wire)
    assert wire.process.returncode in {0, 128 + signal.SIGTERM, -signal.SIGTERM}
    assert "Traceback" not in wire.errors()
    assert_free(home)


# Starts a server on the stdin it was given itself, says its number, and waits to be killed.
PARENT = """
import subprocess, sys, time
server = subprocess.Popen([sys.executable, "-m", "mdvec", "serve"], stdin=0, stdout=2)
print(server.pid, flush=True)
time.sleep(60)
"""


@needs_signals
def test_it_does_not_outlive_its_parent(home: Path) -> None:
    """When its parent is killed the server ends, though another process keeps its stdin open."""
    reader, writer = os.pipe()
    try:
        with subprocess.Popen(
            [sys.executable, "-c", PARENT],
            env=environment_of(home),
            stdin=reader,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as parent:
            assert parent.stdout is not None
            assert parent.stderr is not None
            server = psutil.Process(int(parent.stdout.readline()))
            request = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {}}
            os.write(writer, json.dumps(request).encode() + b"\n")
            answer = next(line for line in parent.stderr if b" INFO " not in line)
            assert b'"id":1' in answer.replace(b" ", b"")
            parent.kill()
            parent.wait()
            wait_until(lambda: has_ended(server))
    finally:
        os.close(reader)
        os.close(writer)


def has_ended(process: psutil.Process) -> bool:
    """Whether it is gone, or only waits for somebody to take note of that."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


# --- costs -----------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not list what is mapped")
def test_it_starts_without_a_model(home: Path, serve: Callable[..., Wire]) -> None:
    """From start to the tools' list it loads neither the model nor numpy, unless it watches."""
    wire = ready(serve(MDVEC_WATCH_ENABLED="false"))
    mapped = " ".join(each.path for each in psutil.Process(wire.process.pid).memory_maps())
    assert "onnxruntime" not in mapped
    assert "numpy" not in mapped


@pytest.mark.harness
def test_memory_stays_flat(home: Path, serve: Callable[..., Wire]) -> None:
    """A thousand calls, good and bad ones, take no memory that is not given back."""
    wire = ready(serve())
    process = psutil.Process(wire.process.pid)

    def calls(count: int) -> None:
        for number in range(count // 4):
            wire.search(f"number{number % DOCUMENTS}")
            wire.call("get_doc", path=f"{number % DOCUMENTS}.md")
            wire.call("search", query="x", limt=3)
            wire.ask("tools/list")

    calls(200)
    before = process.memory_info().rss
    calls(1000)
    assert process.memory_info().rss - before < 3 * MB


# --- what cannot harm it ---------------------------------------------------------------------------


def test_stray_prints_stay_off_the_wire(home: Path, serve: Callable[..., Wire]) -> None:
    """Whatever code inside prints, by Python, by the file descriptor or by a child, clients do not see."""
    wire = ready(serve(embedder="printing"))
    for number in range(3):
        assert wire.search(f"number{number}")["hits"]
    wire.close_stdin()
    wait_for_exit(wire)
    with pytest.raises(WireError, match="no message"):
        wire.receive(timeout_s=0.5)  # nothing is flushed at the very end either
    for words in (
        "a print\n",
        "a print without end",
        "bytes from a library in C",
        "echo a child process"[5:],
    ):
        assert words in wire.errors()
