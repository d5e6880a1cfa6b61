"""Asks an ASGI application directly, without a socket."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back.

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
        assert self.headers["content-type"] == "application/problem+json"
        value: dict[str, Any] = json.loads(self.body)
        assert value["status"] == self.status
        assert set(value) == {"type", "title", "status", "detail"}
        detail: str = value["detail"]
        return detail


async def ask_async(
    app: ASGIApp,
    path: str = "/mcp",
    *,
    method: str = "POST",
    host: str | None = "127.0.0.1:8765",
    headers: Sequence[tuple[str, str]] = (),
    pieces: Sequence[bytes] = (b"{}",),
) -> Answer:
    """Send one request, its body in pieces."""
    given = [*((("host", host),) if host is not None else ()), *headers]
    scope: Scope = {
        "type": "http",
        "method": method,
        "path": path,
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in given],
    }
    waiting = list(pieces)
    sent: list[Message] = []

    async def receive() -> Message:
        if not waiting:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": waiting.pop(0), "more_body": bool(waiting)}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return Answer(
        sent[0]["status"],
        {name.decode(): value.decode() for name, value in sent[0]["headers"]},
        b"".join(message.get("body", b"") for message in sent[1:]),
    )


def ask(app: ASGIApp, path: str = "/mcp", **settings: Any) -> Answer:
    """Send one request from a test that is no coroutine."""

    async def asked() -> Answer:
        return await ask_async(app, path, **settings)

    return anyio.run(asked)


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the body that came, an application behind the guards."""
    body = b""
    while (message := await receive())["type"] == "http.request":
        body += message["body"]
        if not message["more_body"]:
            break
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"x-path", scope["path"].encode())]}
    )
    await send({"type": "http.response.body", "body": body})
