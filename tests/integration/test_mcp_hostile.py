"""What a hostile MCP client may ask of a server in a process of its own: little work, a clear answer."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.integration.mcp_wire import Wire, environment_of, make_home, ready
from tests.waiting import cpu_s

SECRET = "nobody may read this"
# Each takes a server less than a second; what grows with the square of the input takes minutes.
MAX_CPU_S = 20.0


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some notes, and a link among them to a file outside."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "notes").mkdir()
    (folder / "secret.md").write_text(SECRET, encoding="utf-8")
    if sys.platform != "win32":
        (folder / "notes" / "link.md").symlink_to(folder / "secret.md")
    return make_home(folder, 3)


@pytest.fixture(scope="module")
def wire(home: Path) -> Iterator[Wire]:
    """One server that has to stand all of it."""
    with Wire(environment_of(home), log=home / "stdio.log") as wire:
        yield ready(wire)
        assert wire.process.poll() is None
        assert "Traceback" not in wire.errors()


REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "a million hits": ("search", {"query": "x", "limit": 1_000_000}, "`limit` must be from 1 to 100"),
    "fewer than no hits": ("search", {"query": "x", "limit": -1}, "`limit` must be from 1 to 100"),
    "nothing but a NUL": ("search", {"query": "\0"}, "code: invalid_query"),
    "up and out": ("get_doc", {"path": "../secret.md"}, "code: document_not_found"),
    "through a folder": ("get_doc", {"path": "notes/../../secret.md"}, "code: document_not_found"),
    "from the root": ("get_doc", {"path": "/etc/passwd"}, "code: document_not_found"),
    "a link that leads out": ("get_doc", {"path": "link.md"}, "code: document_not_found"),
    "a NUL in a path": ("get_doc", {"path": "0.md\0"}, "code: document_not_found"),
    "a line number of 10,000 digits": ("get_doc", {"path": "0.md", "lines": "9" * 10_000}, "code: usage"),
    "100,000 unknown arguments": (
        "status",
        {f"a{number}": 1 for number in range(100_000)},
        "unknown argument",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_arguments_that_are_refused(wire: Wire, name: str) -> None:
    """They are an answer that says what is wrong, with little work, in few words and without a traceback."""
    tool, arguments, told = REFUSED[name]
    before_s = cpu_s(wire.process.pid)
    result = wire.call(tool, **arguments)
    assert cpu_s(wire.process.pid) - before_s < MAX_CPU_S
    assert result["isError"]
    [block] = result["content"]
    assert told in block["text"]
    assert len(block["text"]) < 2_000
    assert wire.search("number1")["hits"]


ANSWERED: dict[str, dict[str, Any]] = {
    "a megabyte": {"query": "number1 " + "語 " * 330_000},
    "100,000 tags": {"query": "number1", "tags": ["t"] * 100_000},
    "a glob that never ends": {"query": "number1", "path": "*" * 200 + "x"},
    "a list of brackets": {"query": "number1", "path": "[" * 10_000},
    "operators of a database": {"query": "number1\" OR NEAR(* '; DROP TABLE chunks; --"},
}


@pytest.mark.parametrize("name", ANSWERED)
def test_queries_that_are_answered(wire: Wire, name: str) -> None:
    """Large and odd queries are little work, and an answer says so when not all of it was read."""
    before_s = cpu_s(wire.process.pid)
    result = wire.call("search", mode="lexical", **ANSWERED[name])
    assert cpu_s(wire.process.pid) - before_s < MAX_CPU_S
    assert result.get("isError") or result["structuredContent"] is not None
    assert "Traceback" not in json.dumps(result)
    assert wire.search("number1")["hits"]
