"""``mdvec serve`` on standard input and output: one JSON-RPC message a line, and nothing else.

The SDK has such a transport, too (docs/decisions/mcp.md has the differences).
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager, suppress

import anyio
import anyio.from_thread
import anyio.lowlevel
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, jsonrpc, jsonrpc_message_adapter
from pydantic import ValidationError
from pydantic_core import from_json

from mdvec.config import Config
from mdvec.errors import InvalidArgumentsError
from mdvec.interfaces import streams
from mdvec.interfaces.mcp.application import build_server
from mdvec.interfaces.parsing import decode_json
from mdvec.interfaces.streams import EXIT_CODES, exit_soon, private_streams, read_lines, write_all
from mdvec.workspace import Workspace

Incoming = ObjectReceiveStream[SessionMessage | Exception]
Outgoing = ObjectSendStream[SessionMessage]

# A client that closes its end after its last request still gets the responses that come soon.
_LAST_RESPONSES_S = 1.0
_LOOK_EVERY_S = 0.02
# Its response comes when the client ends it, so the end does not wait for it.
_ENDLESS_METHOD = "subscriptions/listen"
_ENDED = (anyio.BrokenResourceError, anyio.ClosedResourceError)
_CHECK_PARENT_EVERY_S = 0.5


def serve_stdio(workspace: Workspace, config: Config) -> int:
    """Serve one client on the standard streams.

    It ends when the client closes its end, when the parent process dies, at SIGTERM or at Ctrl-C. From then
    on the process ends at once, even if threads are running: use it only in a process that does nothing else.

    Returns:
        The exit code: 0, or 130 after Ctrl-C.
    """
    return anyio.run(_serve, workspace, config)


async def _serve(workspace: Workspace, config: Config) -> int:
    server = build_server(workspace, config)
    codes: list[int] = []  # the first one counts

    def end(code: int = 0) -> None:
        codes.append(code)
        exit_soon(codes[0])

    async def end_at_signal() -> None:
        with anyio.open_signal_receiver(*EXIT_CODES) as signals:
            async for number in signals:
                end(EXIT_CODES[number])
                group.cancel_scope.cancel()

    async def end_with_parent() -> None:
        # Standard input may stay open: another child of the parent can have inherited it.
        parent = os.getppid()
        while os.getppid() == parent:
            await anyio.sleep(_CHECK_PARENT_EVERY_S)
        end()
        group.cancel_scope.cancel()

    with private_streams() as (wire_in, wire_out):
        async with anyio.create_task_group() as group:
            if sys.platform != "win32":  # there a process ends at once
                group.start_soon(end_at_signal)
                group.start_soon(end_with_parent)
            async with messages(wire_in, wire_out, on_end=end) as (incoming, outgoing):
                await server.run(incoming, outgoing, server.create_initialization_options())
            group.cancel_scope.cancel()
    return codes[0] if codes else 0


@asynccontextmanager
async def messages(
    wire_in: int, wire_out: int, *, on_end: Callable[[], None]
) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Turn two file descriptors into streams of messages.

    A line that is not a message is answered with an error. The incoming stream ends with the wire, but not
    before the requests that came by then are answered, or a second has passed.

    Args:
        wire_in: Read by a thread that cannot be interrupted, and dies with the process.
        wire_out: Written to, message by message.
        on_end: Called when the wire ends.

    Yields:
        Both streams.
    """
    to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_write = anyio.create_memory_object_stream[SessionMessage](0)
    unanswered: set[jsonrpc.RequestId | None] = set()
    loop = anyio.lowlevel.current_token()

    def read() -> None:
        with suppress(RuntimeError, CancelledError, *_ENDED):
            for line in read_lines(wire_in):
                anyio.from_thread.run(receive, line, token=loop)
            anyio.from_thread.run(finish, token=loop)

    async def receive(line: bytes) -> None:
        message = parse(line)
        if isinstance(message, ErrorData):
            await outgoing.send(SessionMessage(jsonrpc.JSONRPCError(jsonrpc="2.0", id=None, error=message)))
        else:
            _track(message, unanswered)
            await to_server.send(SessionMessage(message))

    async def finish() -> None:
        on_end()
        await _wait_for_responses(unanswered)
        to_server.close()

    async def write() -> None:
        async with to_write:
            async for item in to_write:
                line = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
                try:
                    await anyio.to_thread.run_sync(write_all, wire_out, line, abandon_on_cancel=True)
                except OSError:  # the client has gone
                    on_end()
                    to_server.close()
                    return
                _track(item.message, unanswered)

    async with anyio.create_task_group() as group:
        group.start_soon(write)
        threading.Thread(target=read, name="mdvec-stdin", daemon=True).start()
        with to_server, incoming, outgoing:
            yield incoming, outgoing


def _track(message: jsonrpc.JSONRPCMessage, unanswered: set[jsonrpc.RequestId | None]) -> None:
    """Keep the ids of the requests without a response. This server sends no requests of its own."""
    match message:
        case jsonrpc.JSONRPCRequest(method=method) if method != _ENDLESS_METHOD:
            unanswered.add(message.id)
        case jsonrpc.JSONRPCNotification(method="notifications/cancelled"):
            unanswered.discard(cancelled_request_id_from_params(message.params))
        case jsonrpc.JSONRPCResponse() | jsonrpc.JSONRPCError():
            unanswered.discard(message.id)
        case _:
            pass


async def _wait_for_responses(unanswered: set[jsonrpc.RequestId | None]) -> None:
    with anyio.move_on_after(_LAST_RESPONSES_S):
        while unanswered:
            await anyio.sleep(_LOOK_EVERY_S)


def parse(line: bytes) -> jsonrpc.JSONRPCMessage | ErrorData:
    """Return the message of a line, or the error in the line.

    A request whose id is neither a string nor an integer is an invalid request, not a notification. A batch
    of one message is that message.
    """
    if len(line) > streams.MAX_LINE_BYTES:
        return ErrorData(
            code=PARSE_ERROR, message=f"the line is longer than {streams.MAX_LINE_BYTES // 1024**2} MiB"
        )
    try:
        value = decode_json(line, from_json)  # refuses deep nesting
    except InvalidArgumentsError as error:
        return ErrorData(code=PARSE_ERROR, message=str(error))
    if isinstance(value, list) and len(value) == 1:
        [value] = value
    try:
        message = jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError:
        problem = "not a JSON-RPC 2.0 request, notification or response"
        return ErrorData(code=INVALID_REQUEST, message=problem)
    if isinstance(message, jsonrpc.JSONRPCNotification) and "id" in value:
        return ErrorData(code=INVALID_REQUEST, message="the id of a request is a string or an integer")
    return message
