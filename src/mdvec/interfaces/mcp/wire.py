"""Messages over the standard streams: one JSON object a line, and nothing else on the wire."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager, contextmanager, suppress

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from anyio.from_thread import BlockingPortal
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, jsonrpc_message_adapter
from mcp_types.jsonrpc import (
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)
from pydantic import ValidationError

Incoming = ObjectReceiveStream[SessionMessage | Exception]
"""What the client says."""
Outgoing = ObjectSendStream[SessionMessage]
"""What the client is told."""

_READ_BYTES = 65_536
# Whole answers fit well below this; a line that is longer is not one of a well-meaning client.
_MAX_LINE_BYTES = 16 * 1024 * 1024
# Stands for what was read of it, so that what is left can be no message.
_TOO_LONG = b"too long: "
# A client that closes its end after its last question still gets the answers that come soon.
_LAST_ANSWERS_S = 1.0
# Answered when the client ends it, so nobody waits for that.
_ENDLESS = "subscriptions/listen"


@contextmanager
def private_streams() -> Iterator[tuple[int, int]]:
    """Take standard input and output away from everything else in this process.

    What is printed meanwhile, by Python or by a library in C, goes to standard error; whoever reads
    standard input finds its end.

    Yields:
        File descriptors to read the client from and to write to it.
    """
    wire_in, wire_out = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    printed, sys.stdout = sys.stdout, sys.stderr
    try:
        yield wire_in, wire_out
    finally:
        # The descriptors stay as they are: what a library still has in a buffer of its own is
        # flushed when the process ends, and must not reach the client even then.
        sys.stdout = printed


@asynccontextmanager
async def messages(
    wire_in: int, wire_out: int, *, on_end: Callable[[], None]
) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Turn two file descriptors into streams of messages.

    A line that is no message is answered with an error, and the next one is read. The incoming
    stream ends with the wire, but not before the questions asked by then are answered, or a second
    has passed.

    Args:
        wire_in: Read by a thread that cannot be interrupted, and dies with the process.
        wire_out: Written to, message by message.
        on_end: Called when the wire ends.

    Yields:
        Both streams.
    """
    heard_send, heard = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    said, to_write = anyio.create_memory_object_stream[SessionMessage](0)
    refused = said.clone()
    questions = _OpenQuestions()

    async def hear(line: bytes) -> None:
        message = _parsed(line)
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # nobody listens any more
            if isinstance(message, ErrorData):
                answer = JSONRPCError(jsonrpc="2.0", id=None, error=message)
                await refused.send(SessionMessage(answer))
            else:
                questions.hear(message)
                await heard_send.send(SessionMessage(message))

    async def end() -> None:
        on_end()
        await questions.wait(_LAST_ANSWERS_S)
        refused.close()
        heard_send.close()

    def read() -> None:
        with suppress(RuntimeError, CancelledError):  # the server has ended before the wire
            for line in _lines(wire_in):
                portal.call(hear, line)
            portal.call(end)

    async def write() -> None:
        async with to_write:
            async for item in to_write:
                line = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
                try:
                    await anyio.to_thread.run_sync(_write_all, wire_out, line, abandon_on_cancel=True)
                except OSError:  # the client has gone
                    on_end()
                    heard_send.close()
                    return
                questions.answer(item.message)

    async with BlockingPortal() as portal, anyio.create_task_group() as group:
        group.start_soon(write)
        threading.Thread(target=read, name="mdvec-wire", daemon=True).start()
        try:
            yield heard, said
        finally:
            for stream in (heard_send, refused, said):
                stream.close()
            await portal.stop(cancel_remaining=True)


class _OpenQuestions:
    """Which requests have no answer yet."""

    def __init__(self) -> None:
        self._ids: set[object] = set()
        self._changed = anyio.Event()

    def hear(self, message: object) -> None:
        match message:
            case JSONRPCRequest(method=method, id=asked) if method != _ENDLESS:
                self._ids.add(asked)
            case JSONRPCNotification(method="notifications/cancelled", params=dict(params)):
                self._close(params.get("requestId"))

    def answer(self, message: object) -> None:
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            self._close(message.id)

    async def wait(self, most_s: float) -> None:
        with anyio.move_on_after(most_s):
            while self._ids:
                await self._changed.wait()

    def _close(self, asked: object) -> None:
        self._ids.discard(asked)
        self._changed.set()
        self._changed = anyio.Event()


def _lines(source: int) -> Iterator[bytes]:
    """Yield the lines of a file descriptor that are not blank, the last one with or without its end."""
    rest = bytearray()
    while True:
        try:
            block = os.read(source, _READ_BYTES)
        except OSError:
            block = b""
        if not block:
            break
        seen = len(rest)
        rest += block
        while (end := rest.find(b"\n", seen)) >= 0:
            line, seen = bytes(rest[:end]), 0
            del rest[: end + 1]
            if line.strip():
                yield line
        if len(rest) > _MAX_LINE_BYTES:
            rest[:] = _TOO_LONG
    if rest.strip():
        yield bytes(rest)


def _parsed(line: bytes) -> JSONRPCMessage | ErrorData:
    """Return the message of a line, or what is wrong with it."""
    if line.startswith(_TOO_LONG):
        problem = f"the line is longer than {_MAX_LINE_BYTES // 1024**2} MiB"
        return ErrorData(code=PARSE_ERROR, message=problem)
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
    if first["type"] == "json_invalid":
        mended = _mended(line)
        if mended is not None:
            return _parsed(mended)
        problem = f"not JSON: {first['msg'].removeprefix('Invalid JSON: ')}"
        return ErrorData(code=PARSE_ERROR, message=problem)
    problem = "not a JSON-RPC 2.0 request, notification or response"
    return ErrorData(code=INVALID_REQUEST, message=problem)


def _mended(line: bytes) -> bytes | None:
    r"""Replace halves of characters, such as ``\ud83d``; None when they are not what is wrong.

    Clients in JavaScript send them when they cut a text inside an emoji. An error could not name the
    request, which would wait for its answer for ever.
    """
    try:
        text = json.dumps(json.loads(line), ensure_ascii=False)
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace")
    except (ValueError, RecursionError):
        pass
    return None


def _write_all(target: int, line: bytes) -> None:
    rest = memoryview(line)
    while rest:
        rest = rest[os.write(target, rest) :]
