"""Lines on pipes."""

from __future__ import annotations

import json
import os
import threading
from typing import Any

import anyio
import pytest
from tests.unit.interfaces.fake_workspace import FakeWorkspace
from tests.unit.interfaces.mcp.agent import asked
from tests.waiting import HANG_S

from mdvec.config import Config
from mdvec.interfaces.mcp import wire
from mdvec.interfaces.mcp.application import build_server
from mdvec.interfaces.mcp.wire import messages
from mdvec.types.query import SearchQuery
from mdvec.types.report import TagCount

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


def answers(
    workspace: FakeWorkspace, *lines: bytes, end: bytes = b"\n", ended: list[None] | None = None
) -> list[dict[str, Any]]:
    """Send lines, close the pipe at once, and return what comes back."""
    their_end, wire_out = os.pipe()
    wire_in, our_end = os.pipe()

    def send() -> None:
        with os.fdopen(our_end, "wb") as pipe:
            pipe.write(b"\n".join(lines) + end)

    async def serve() -> None:
        server = build_server(workspace, Config(), on_bug=lambda _: None)
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
    """Return answers by the question they answer."""
    assert len({str(each["id"]) for each in found}) == len(found)
    return {each["id"]: each for each in found}


def test_questions_asked_before_the_end_are_answered(workspace: FakeWorkspace) -> None:
    """A client may write all it has to say and close its end: every answer comes, then the server ends."""
    ended: list[None] = []
    calls = [call(number, "search", query="宿") for number in range(1, 9)]
    found = by_id(answers(workspace, HELLO, *calls, ended=ended))
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
    """With JSON-RPC's own code, and the next question is answered as if nothing had been."""
    found = by_id(answers(workspace, HELLO, line, PING))
    assert found[None]["error"]["code"] == code
    assert found[9]["result"] == {}


def test_blank_lines_and_a_missing_end_of_the_last_one_do_not_matter(workspace: FakeWorkspace) -> None:
    """Nor do the line ends of Windows."""
    found = by_id(answers(workspace, b"", HELLO + b"\r", b"  ", PING, end=b""))
    assert set(found) == {0, 9}


def test_a_line_without_end_takes_no_memory(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is cut and refused, and the next line is read."""
    monkeypatch.setattr(wire, "_MAX_LINE_BYTES", 1024**2)
    found = by_id(answers(workspace, HELLO, b'{"id":"' + b"x" * 3_000_000 + b'"}', PING))
    assert found[None]["error"] == {"code": -32700, "message": "the line is longer than 1 MiB"}
    assert found[9]["result"] == {}


def test_half_a_character_does_not_lose_a_question(workspace: FakeWorkspace) -> None:
    """Clients cut texts inside an emoji; the rest is searched, and a whole emoji stays as it is."""
    line = call(1, "search", query="宿\ud83d 🗻")
    assert b"\\ud83d " in line
    assert "result" in by_id(answers(workspace, HELLO, line))[1]
    [query] = [details["query"] for details in asked(workspace, "search")]
    assert isinstance(query, SearchQuery)
    assert query.text == "宿? 🗻"


def test_a_large_answer_arrives_whole(workspace: FakeWorkspace) -> None:
    """Pipes take a part at a time."""
    workspace.found_tags = [TagCount(f"札{number}", 1) for number in range(50_000)]
    found = by_id(answers(workspace, HELLO, call(1, "list_tags")))
    assert len(found[1]["result"]["structuredContent"]["tags"]) == 50_000


def test_a_cancelled_question_is_not_waited_for(workspace: FakeWorkspace) -> None:
    """It has no answer."""
    questions = wire._OpenQuestions()
    for line in (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"reindex"}}',
        b'{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{}}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
    ):
        questions.hear(wire._parsed(line))

    async def wait() -> bool:
        with anyio.move_on_after(HANG_S) as scope:
            await questions.wait(10 * HANG_S)
        return scope.cancelled_caught

    assert not anyio.run(wait)


def test_a_client_that_went_away_ends_the_server(workspace: FakeWorkspace) -> None:
    """Even if its other end of the wire stays open: nobody reads the answers."""
    their_end, wire_out = os.pipe()
    wire_in, our_end = os.pipe()
    ended: list[None] = []

    async def serve() -> None:
        server = build_server(workspace, Config(), on_bug=lambda _: None)
        async with messages(wire_in, wire_out, on_end=lambda: ended.append(None)) as (heard, said):
            await server.run(heard, said, server.create_initialization_options())

    os.close(their_end)
    os.write(our_end, HELLO + b"\n")
    with anyio.from_thread.start_blocking_portal() as portal:
        portal.start_task_soon(serve).result(timeout=HANG_S)
    assert ended == [None]
    for descriptor in (our_end, wire_in, wire_out):
        os.close(descriptor)
