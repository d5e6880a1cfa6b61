"""Requests to an ASGI application, without a socket."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send


@dataclass(frozen=True, slots=True)
class Reply:
    """A response.

    Attributes:
        status: HTTP status.
        headers: By name in lower case.
        body: As sent.
    """

    status: int
    headers: dict[str, str]
    body: bytes

    def problem(self) -> str:
        """Return the detail of a problem, after checking that it is one."""
        assert self.headers["content-type"] in ("application/problem+json", "application/json")
        value: dict[str, Any] = json.loads(self.body)
        assert value["status"] == self.status
        assert set(value) - {"jsonrpc", "id", "error"} == {"type", "title", "status", "detail"}
        detail: str = value["detail"]
        return detail


async def request_async(
    app: ASGIApp,
    path: str = "/mcp",
    *,
    method: str = "POST",
    host: str | None = "127.0.0.1:8765",
    headers: Sequence[tuple[str, str]] = (),
    pieces: Sequence[bytes] | None = (b"{}",),
    sent: list[Message] | None = None,
) -> Reply:
    """Send one request, its body in pieces.

    Args:
        app: The application.
        path: The path.
        method: The HTTP method.
        host: The Host header; None for none.
        headers: Further headers.
        pieces: The body; None for one that never comes.
        sent: Receives what the application sends, also when it fails then.
    """
    sent_headers = [*((("host", host),) if host is not None else ()), *headers]
    scope: Scope = {
        "type": "http",
        "method": method,
        "path": path,
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in sent_headers],
    }
    waiting = list(pieces or ())
    sent = [] if sent is None else sent

    async def receive() -> Message:
        if pieces is None:
            await anyio.sleep_forever()
        if not waiting:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": waiting.pop(0), "more_body": bool(waiting)}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return Reply(
        sent[0]["status"],
        {name.decode(): value.decode() for name, value in sent[0]["headers"]},
        b"".join(message.get("body", b"") for message in sent[1:]),
    )


def request(app: ASGIApp, path: str = "/mcp", **settings: Any) -> Reply:
    """Send one request from a test that is not a coroutine."""

    async def send() -> Reply:
        return await request_async(app, path, **settings)

    return anyio.run(send)


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Respond with the body that came: an application behind the guard."""
    body = b""
    while (message := await receive())["type"] == "http.request":
        body += message["body"]
        if not message["more_body"]:
            break
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"x-path", scope["path"].encode())]}
    )
    await send({"type": "http.response.body", "body": body})
