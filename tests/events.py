"""A browser that listens to the events of the page."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any

import anyio
from starlette.testclient import TestClient
from tests.waiting import HANG_S


def heard(http: TestClient, token: str = "", enough: Callable[[str], bool] = bool) -> str:
    """Return the status and the text of the stream of events, up to where it is enough."""
    host = http.base_url.netloc
    headers = [(b"host", host)] + ([(b"authorization", f"Bearer {token}".encode())] if token else [])
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": "/events",
        "raw_path": b"/events",
        "query_string": b"",
        "root_path": "",
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", http.base_url.port),
        "headers": headers,
    }
    request: list[dict[str, Any]] = [{"type": "http.request", "body": b"", "more_body": False}]
    sent: list[dict[str, Any]] = []

    def text() -> str:
        return b"".join(each.get("body", b"") for each in sent).decode()

    async def listen() -> None:
        done = anyio.Event()

        async def receive() -> dict[str, Any]:
            if request:
                return request.pop()
            await done.wait()
            return {"type": "http.disconnect"}

        async def send(message: MutableMapping[str, Any]) -> None:
            sent.append(dict(message))
            if enough(text()):
                done.set()

        with anyio.fail_after(HANG_S):
            await http.app(scope, receive, send)

    assert http.portal is not None
    http.portal.call(listen)
    return f"{sent[0]['status']} {text()}"
