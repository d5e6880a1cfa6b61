"""What a hostile or broken MCP client may send: each a clear error, and the server goes on."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.conformance.servers import MDVEC, serving
from tests.integration.mcp_wire import PROTOCOL, Wire, environment_of, make_home, ready
from tests.waiting import HANG_S, cpu_s

SECRET = "nobody may read this"
PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS, METHOD_NOT_FOUND = -32700, -32600, -32602, -32601
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


@pytest.fixture(scope="module")
def url(home: Path) -> Iterator[str]:
    """One server over HTTP that has to stand all of it."""
    command = (*MDVEC, "serve", "--http", "127.0.0.1:0")
    with serving(command, environment_of(home), home / "http.log") as url:
        yield url
    assert "Traceback" not in (home / "http.log").read_text(encoding="utf-8")


def request(arguments: bytes, tool: bytes = b"search") -> bytes:
    """Write a call of a tool by hand."""
    start = b'{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{"name":"' + tool
    return start + b'","arguments":' + arguments + b"}}"


def nested(depth: int) -> bytes:
    return b'{"query":' + b"[" * depth + b"]" * depth + b"}"


LINES = {
    "100,000 deep": (request(nested(100_000)), PARSE_ERROR),
    "invalid UTF-8": (b'{"jsonrpc":"2.0","id":8,"method":"ping\xff\xfe"}', PARSE_ERROR),
    "a batch": (b"[]", INVALID_REQUEST),
    "no such method": (b'{"jsonrpc":"2.0","id":10,"method":"nope/nope"}', METHOD_NOT_FOUND),
    "a tool's name that is none": (
        b'{"jsonrpc":"2.0","id":11,"method":"tools/call","params":{"name":5}}',
        INVALID_PARAMS,
    ),
}


@pytest.mark.parametrize("name", LINES)
def test_a_line_that_is_no_request(wire: Wire, name: str) -> None:
    """It is answered with an error of the protocol, and the next line is served."""
    line, code = LINES[name]
    wire.send_bytes(line)
    assert wire.next_answer()["error"]["code"] == code
    assert wire.search("number1")["hits"]


@pytest.mark.parametrize("number", [b"Infinity", b"NaN", b"1e999", b"-0.5", b"99999999999999999999999"])
def test_a_number_that_is_none(wire: Wire, number: bytes) -> None:
    """What some parsers take for a number is no number of hits."""
    wire.send_bytes(request(b'{"query":"number1","limit":' + number + b"}"))
    answer = wire.next_answer()
    assert "error" in answer or answer["result"]["isError"]
    assert wire.search("number1")["hits"]


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


@pytest.mark.parametrize(
    "body",
    [request(nested(100_000)), b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', b"{", b"", b"[]", b"\0" * 1000],
)
def test_a_body_that_is_no_request(url: str, body: bytes) -> None:
    """Over HTTP it is a client's error, and the next request is served."""
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": PROTOCOL,
    }
    with httpx2.Client(timeout=HANG_S) as client:
        answer = client.post(url, content=body, headers=headers)
        assert 400 <= answer.status_code < 500
        assert "Traceback" not in answer.text
        assert client.get(url.replace("/mcp", "/health")).json()["status"] == "ok"


@pytest.mark.parametrize(
    "path", ["/../secret.md", "/mcp/../../secret.md", "/%2e%2e/secret.md", "/notes/link.md", "/\0"]
)
def test_files_are_not_served(url: str, path: str) -> None:
    """No address over HTTP leads to a file."""
    with httpx2.Client(timeout=HANG_S) as client:
        answer = client.get(url.removesuffix("/mcp") + path.replace("\0", "%00"))
    assert answer.status_code == 404
    assert SECRET not in answer.text
