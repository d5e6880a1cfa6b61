"""A server whose clients use up its files says that it is busy, and goes on."""

from __future__ import annotations

import errno
import itertools
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from starlette.testclient import TestClient
from tests.bugs import reported_bugs
from tests.conformance.servers import make_notes, serving
from tests.waiting import HANG_S, wait_until

from mdvec.config import Config
from mdvec.errors import StoreError
from mdvec.interfaces.app import build_app
from mdvec.interfaces.http.options import server_options
from mdvec.testing.embedder import HashingEmbedder
from mdvec.workspace import Workspace, open_workspace

_LIMITED = """
import resource, runpy, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
runpy.run_module("mdvec", run_name="__main__", alter_sys=True)
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """An empty workspace."""
    with open_workspace(Config(), database=tmp_path / "index.sqlite", embedder=HashingEmbedder()) as opened:
        yield opened


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("system", "/static/page.css"),  # by no door, so that the server itself explains it
        *itertools.product(["system", "store"], ["/search?q=tea", "/doc/notes/tea.md", "/status"]),
    ],
)
def test_no_file_can_be_opened(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, kind: str, path: str
) -> None:
    """The response is 503 with Retry-After, whether the system or SQLite says so, and no bug is reported."""

    def fail(*_: object, **__: object) -> object:
        if kind == "system":
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        msg = "index.sqlite cannot be opened: unable to open database file"
        raise StoreError(msg)

    app = build_app(workspace, Config(), server_options("127.0.0.1:8765", env={}), 8765)
    monkeypatch.setattr("mdvec.workspace.status.can_open_files", lambda: False)
    monkeypatch.setattr("mdvec.stores.sqlite.store.SqliteStore.read", fail)
    monkeypatch.setattr("mdvec.interfaces.web.routes.static_file", fail)
    client = TestClient(app, base_url="http://127.0.0.1:8765", raise_server_exceptions=False)
    with reported_bugs() as bugs, client:
        answer = client.get(path)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert "cannot open another file" in answer.text
    assert not bugs


def test_more_connections_than_files(tmp_path: Path) -> None:
    """Below 100 connections every answer is right or 503, nothing is a traceback, and later all is well."""
    environment = make_notes(tmp_path)
    log = tmp_path / "log"
    command = [sys.executable, "-c", _LIMITED, "serve", "--http", "127.0.0.1:0", "--no-watch"]
    with serving(command, environment, log) as url, ExitStack() as stack:
        place = urlsplit(url)
        search = f"http://{place.netloc}/search?q=password"

        def answer() -> httpx2.Response:
            return httpx2.get(search, timeout=HANG_S)

        assert answer().status_code == 200
        connections = [HTTPConnection(place.netloc, timeout=HANG_S) for _ in range(100)]
        for each in connections:
            stack.callback(each.close)
            each.connect()
        for each in connections[:40]:
            each.request("GET", "/search?q=password")
        statuses = []
        for each in connections[:40]:
            response = each.getresponse()
            response.read()
            statuses.append(response.status)
            assert (response.status == 503) == (response.getheader("retry-after") is not None)
        assert {200, 503}.issuperset(statuses)
        stack.close()
        wait_until(lambda: answer().status_code == 200)
    assert "Traceback" not in log.read_text(encoding="utf-8")
