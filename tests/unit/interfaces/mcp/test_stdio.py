"""Lines on pipes."""

from __future__ import annotations

import json
import os
import threading
from codecs import BOM_UTF8
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_types import ErrorData
from msgspec.structs import replace
from tests.unit.interfaces.fake_workspace import FakeWorkspace
from tests.unit.interfaces.mcp.agent import asked

from mdvec.config import Config
from mdvec.interfaces import streams
from mdvec.interfaces.mcp import stdio
from mdvec.interfaces.mcp.application import build_server
from mdvec.interfaces.mcp.stdio import messages, parse
from mdvec.types.query import SearchQuery

HELLO = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "pipe", "version": "1"},
        },
    }
).encode()
PING = b'{"jsonrpc":"2.0","id":9,"method":"ping"}'


def call(number: int, tool: str, **arguments: object) -> bytes:
    """Return a line that calls a tool."""
    params = {"name": tool, "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}).encode()


def responses(
    workspace: FakeWorkspace, *lines: bytes, end: bytes = b"\n", ended: list[None] | None = None
) -> list[dict[str, Any]]:
    """Send lines, close the pipe at once, and return what comes back."""
    their_end, wire_out = os.pipe()
    wire_in, our_end = os.pipe()

    def send() -> None:
        with os.fdopen(our_end, "wb") as pipe:
            pipe.write(b"\n".join(lines) + end)

    async def serve() -> None:
        server = build_server(workspace, Config())
        on_end = ([] if ended is None else ended).append
        async with messages(wire_in, wire_out, on_end=lambda: on_end(None)) as (heard, said):
            await server.run(heard, said, server.create_initialization_options())

    received: list[bytes] = []

    def receive() -> None:
        with os.fdopen(their_end, "rb") as pipe:
            received.extend(pipe)

    threads = [threading.Thread(target=send), threading.Thread(target=receive)]
    for thread in threads:
        thread.start()
    try:
        anyio.run(serve)
    finally:
        os.close(wire_out)
        for thread in threads:
            thread.join()
        os.close(wire_in)
    return [json.loads(line) for line in received]


def by_id(found: list[dict[str, Any]]) -> dict[object, dict[str, Any]]:
    """Return responses by the request they belong to."""
    assert len({str(each["id"]) for each in found}) == len(found)
    return {each["id"]: each for each in found}


def test_requests_before_the_end_are_answered(workspace: FakeWorkspace) -> None:
    """A client may write all it has to say and close its end: every response comes, then the server ends."""
    ended: list[None] = []
    calls = [call(number, "search", query="宿") for number in range(1, 9)]
    found = by_id(responses(workspace, HELLO, *calls, ended=ended))
    assert set(found) == set(range(9))
    assert all("result" in each for each in found.values())
    assert ended == [None]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"hello", -32700),
        (b'{"jsonrpc":"2.0","id":1,', -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}', -32700),
        (
            b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
            -32700,
        ),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b'{"a":' * 300 + b"1" + b"}" * 301, -32700),
        (b"[]", -32600),
        (b"{}", -32600),
        (b'{"id":1,"method":"ping"}', -32600),
        (b"null", -32600),
    ],
)
def test_a_line_that_is_no_message_is_refused(workspace: FakeWorkspace, line: bytes, code: int) -> None:
    """With JSON-RPC's own code, and the next request is answered as usual."""
    found = by_id(responses(workspace, HELLO, line, PING))
    assert found[None]["error"]["code"] == code
    assert found[9]["result"] == {}


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [("nope/nope", {}, -32601), ("tools/call", {"name": 5}, -32602)],
)
def test_a_request_that_cannot_be_meant_is_refused(
    workspace: FakeWorkspace, method: str, params: dict[str, object], code: int
) -> None:
    """With its id, and the next request is answered as usual."""
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    found = by_id(responses(workspace, HELLO, line, PING))
    assert found[1]["error"]["code"] == code
    assert found[9]["result"] == {}


@pytest.mark.parametrize("number", [b"Infinity", b"NaN", b"1e999", b"-0.5", b"99999999999999999999999"])
def test_a_number_that_is_none(workspace: FakeWorkspace, number: bytes) -> None:
    """What some parsers take for a number is no number of hits."""
    line = call(1, "search", query="x", limit=0).replace(b'"limit": 0', b'"limit": ' + number)
    assert number in line
    answers = responses(workspace, HELLO, line, PING)
    [refused] = [each for each in answers if each["id"] in (1, None)]
    assert "error" in refused or refused["result"]["isError"]
    assert by_id(answers)[9]["result"] == {}


def test_blank_lines_and_a_missing_end_of_the_last_one_do_not_matter(workspace: FakeWorkspace) -> None:
    """Nor do the line ends of Windows."""
    found = by_id(responses(workspace, b"", HELLO + b"\r", b"  ", PING, end=b""))
    assert set(found) == {0, 9}


def test_a_byte_order_mark_and_a_batch_of_one_are_taken(workspace: FakeWorkspace) -> None:
    """Clients on Windows send the one, and those of an older protocol the other."""
    found = by_id(responses(workspace, BOM_UTF8 + HELLO, b"[" + PING + b"]"))
    assert found[9]["result"] == {}
    assert set(found) == {0, 9}


def test_a_line_without_end_takes_no_memory(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is cut and refused, and the next line is read."""
    monkeypatch.setattr(streams, "MAX_LINE_BYTES", 1024**2)
    found = by_id(responses(workspace, HELLO, b'{"id":"' + b"x" * 3_000_000 + b'"}', PING))
    assert found[None]["error"] == {"code": -32700, "message": "the line is longer than 1 MiB"}
    assert found[9]["result"] == {}


def test_half_a_character_does_not_lose_a_request(workspace: FakeWorkspace) -> None:
    """Clients cut texts inside an emoji; the rest is searched, and a whole emoji stays as it is."""
    line = call(1, "search", query="宿\ud83d 🗻")
    assert b"\\ud83d " in line
    assert "result" in by_id(responses(workspace, HELLO, line))[1]
    [query] = [details["query"] for details in asked(workspace, "search")]
    assert isinstance(query, SearchQuery)
    assert query.text == "宿? 🗻"


def test_a_large_response_arrives_whole(workspace: FakeWorkspace) -> None:
    """Pipes take a part at a time."""
    text = "harbour boats\n" * 3_000
    workspace.passage = replace(workspace.passage, text=text, end_line=3_000)
    found = by_id(responses(workspace, HELLO, call(1, "get_doc", path="a.md")))
    [document] = found[1]["result"]["structuredContent"]["documents"]
    assert document["text"] == text


def test_only_requests_without_a_response_are_waited_for() -> None:
    """A cancelled request has no response, and a subscription has one when the client ends it."""
    unanswered: set[int | str | None] = set()
    for line, expected in (
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"reindex"}}', {1}),
        (b'{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{}}', {1}),
        (b'{"jsonrpc":"2.0","id":"3","method":"ping"}', {1, "3"}),
        (b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{"a":1}}}', {1, "3"}),
        (b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}', {"3"}),
        (b'{"jsonrpc":"2.0","id":"3","result":{}}', set()),
    ):
        message = parse(line)
        assert not isinstance(message, ErrorData)
        stdio._track(message, unanswered)
        assert unanswered == expected


@pytest.mark.parametrize(
    "params",
    [
        b'{"requestId":{"a":1}}',
        b'{"requestId":[1]}',
        b'{"requestId":null}',
        b'{"requestId":1.5}',
        b'{"requestId":404}',
        b"{}",
    ],
)
def test_a_malformed_cancellation_is_ignored(workspace: FakeWorkspace, params: bytes) -> None:
    """The protocol says so; the next request is answered."""
    line = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":' + params + b"}"
    assert set(by_id(responses(workspace, HELLO, line, PING))) == {0, 9}


@pytest.mark.parametrize("number", [b"1.5", b"null", b"true", b"[]", b'{"a":1}'])
def test_a_request_with_a_wrong_id_is_refused(workspace: FakeWorkspace, number: bytes) -> None:
    """It is not taken for a notification: its client would wait for ever."""
    line = b'{"jsonrpc":"2.0","id":' + number + b',"method":"ping"}'
    found = by_id(responses(workspace, HELLO, line, PING))
    assert found[None]["error"] == {
        "code": -32600,
        "message": "the id of a request is a string or an integer",
    }
    assert found[9]["result"] == {}


VALUES: list[object] = [None, True, 0, -1, 1.5, 2**70, float("nan"), "", "9", "\ud83d", [], [1], {}, {"a": 1}]
JSON = st.sampled_from(VALUES)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | JSON,
        "id": JSON,
        "method": st.sampled_from(["ping", "notifications/cancelled", "notifications/progress"]) | JSON,
        "params": st.fixed_dictionaries({}, optional={"requestId": JSON, "progressToken": JSON}) | JSON,
        "result": JSON,
        "error": JSON,
    },
)


@given(MESSAGES.map(lambda value: json.dumps(value).encode()) | st.binary())
def test_no_line_ends_the_reader(line: bytes) -> None:
    """Whatever a line holds, it is a message or an error, and is counted without an exception."""
    message = parse(line)
    if not isinstance(message, ErrorData):
        stdio._track(message, set())


@settings(max_examples=5, deadline=None)
@given(st.lists(MESSAGES, min_size=40, max_size=40))
def test_the_server_survives_all_messages(found: list[dict[str, Any]]) -> None:
    """After any messages it still responds."""
    lines = [json.dumps(value | {"id": "x"} if "id" in value else value).encode() for value in found]
    received = responses(FakeWorkspace(), HELLO, *lines, PING)
    assert [each["result"] for each in received if each["id"] == 9] == [{}]


def test_the_errors_of_a_client_are_not_sent_back(workspace: FakeWorkspace) -> None:
    """An error without an id is a message like any other; replies to it could go on for ever."""
    line = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}'
    assert set(by_id(responses(workspace, HELLO, line, PING))) == {0, 9}


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("x" * 100_000, {}),
        ("resources/read", {"uri": "x" * 100_000}),
        ("prompts/get", {"name": "x" * 100_000}),
        ("tools/call", {"name": "x" * 100_000}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": "x" * 100_000}, "argument": {}}),
    ],
)
def test_an_error_does_not_repeat_long_texts(
    workspace: FakeWorkspace, method: str, params: dict[str, Any]
) -> None:
    """Whatever a client sent, the error that names it is short."""
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    error = by_id(responses(workspace, HELLO, line))[1]["error"]
    assert len(json.dumps(error)) < 2000


def test_a_client_that_went_away_ends_the_server(workspace: FakeWorkspace) -> None:
    """Even if its other end of the wire stays open: nothing reads the responses."""
    their_end, wire_out = os.pipe()
    wire_in, our_end = os.pipe()
    ended: list[None] = []

    async def serve() -> None:
        server = build_server(workspace, Config())
        async with messages(wire_in, wire_out, on_end=lambda: ended.append(None)) as (heard, said):
            await server.run(heard, said, server.create_initialization_options())

    os.close(their_end)
    os.write(our_end, HELLO + b"\n")
    with anyio.from_thread.start_blocking_portal() as portal:
        portal.start_task_soon(serve).result(timeout=10)
    assert ended == [None]
    for descriptor in (our_end, wire_in, wire_out):
        os.close(descriptor)
