"""The guard before every route: who may connect, and how much a request may bring."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import pytest
from starlette.routing import Mount
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from tests.bugs import reported_bugs
from tests.unit.interfaces.http.requests import Reply, echo, request, request_async

from mdvec import __version__
from mdvec.interfaces.http import guard
from mdvec.interfaces.http.guard import MAX_BODY_BYTES, MAX_REQUESTS, MAX_STREAMS, WebDoor, guarded
from mdvec.interfaces.http.options import server_options

TOKEN = "0123456789abcdefghij"


def app(inner: ASGIApp = echo, *, token: str | None = None, origins: tuple[str, ...] = ()) -> ASGIApp:
    env = {} if token is None else {"MDVEC_TOKEN": token}
    options = server_options("127.0.0.1:8765", env=env, allowed_origins=origins)
    return guarded([WebDoor([Mount("/", app=inner)])], options, 8765)


@pytest.mark.parametrize("path", ["/mcp", "/health", "/", "/no/such/path"])
def test_every_route_is_guarded(path: str) -> None:
    """A rebound name and a other page are refused whatever the path; the reply repeats neither."""
    rebound = request(app(), path, host="evil.example:8765")
    assert rebound.status == 421
    assert "evil" not in rebound.problem()
    other = request(app(), path, headers=[("origin", "http://evil.example")])
    assert other.status == 403
    assert "evil" not in other.problem()
    assert request(app(), path).status == 200


@pytest.mark.parametrize("hosts", [[], ["127.0.0.1:8765"] * 2, ["127.0.0.1:8765", "evil.example"]])
def test_there_is_exactly_one_host(hosts: list[str]) -> None:
    """A request with no Host or with several is refused: two readers could take different ones."""
    reply = request(app(), host=None, headers=[("host", host) for host in hosts])
    assert reply.status == 421


def test_every_origin_counts() -> None:
    """A good origin does not excuse a bad one."""
    headers = [("origin", "http://localhost:8765"), ("origin", "http://evil.example")]
    assert request(app(), headers=headers).status == 403


@pytest.mark.parametrize(
    ("value", "status"),
    [
        (f"Bearer {TOKEN}", 200),
        (f"bearer {TOKEN}", 200),
        (f"Bearer   {TOKEN} ", 200),
        (f"Bearer {TOKEN}x", 401),
        (f"Bearer {TOKEN[:-1]}", 401),
        ("Bearer ", 401),
        ("Bearer é", 401),
        (f"Basic {TOKEN}", 401),
        (TOKEN, 401),
        ("", 401),
    ],
)
def test_only_the_token_opens(value: str, status: int) -> None:
    """The very token lets in, and nothing like it; a refusal says how, and repeats nothing."""
    reply = request(app(token=TOKEN), headers=[("authorization", value)])
    assert reply.status == status
    if status == 401:
        challenge = reply.headers["www-authenticate"]
        assert challenge.startswith('Bearer realm="mdvec"')
        assert ('error="invalid_token"' in challenge) is value.lower().startswith("bearer ")
        assert TOKEN not in reply.problem() + challenge


def test_two_tokens_are_no_token() -> None:
    """A request with two Authorization headers is refused, even if one is right."""
    headers = [("authorization", f"Bearer {TOKEN}"), ("authorization", "Bearer other")]
    assert request(app(token=TOKEN), headers=headers).status == 401


def test_health_alone_needs_no_token() -> None:
    """Status and version, and nothing else, are for everyone; paths that look like it are not."""
    guards = app(token=TOKEN)
    assert json.loads(request(guards, "/health", method="GET").body) == {
        "status": "ok",
        "version": __version__,
    }
    assert request(guards, "/health").status == 401
    assert {request(guards, path).status for path in ("/health/", "/healthy", "/mcp", "//health")} == {401}


def test_an_allowed_page_may_send_a_preflight_request() -> None:
    """A preflight request of a browser succeeds for allowed pages only."""
    guards = app(token=TOKEN, origins=("https://App.example.com:443",))
    preflight = [
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", "authorization"),
    ]
    preflight.append(("access-control-request-private-network", "true"))
    reply = request(guards, method="OPTIONS", headers=[("origin", "https://app.example.com"), *preflight])
    assert reply.status == 200
    assert reply.headers["access-control-allow-private-network"] == "true"
    assert reply.headers["access-control-allow-origin"] == "https://app.example.com"
    assert (
        request(guards, method="OPTIONS", headers=[("origin", "https://evil.example"), *preflight]).status
        == 403
    )
    other = request(app(), method="OPTIONS", headers=[("origin", "http://localhost:8765"), *preflight])
    assert "access-control-allow-origin" not in other.headers


def test_every_reply_forbids_guessing_and_keeping() -> None:
    """Responses and refusals carry the same protective headers; what an application sets stays."""

    async def keeping(scope: Scope, receive: Receive, send: Send) -> None:
        await send(
            {"type": "http.response.start", "status": 200, "headers": [(b"cache-control", b"no-cache")]}
        )
        await send({"type": "http.response.body"})

    for reply in (request(app()), request(app(), host="evil")):
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["cache-control"] == "no-store"
    assert request(app(keeping)).headers["cache-control"] == "no-cache"


def test_a_bug_is_a_reply_and_is_reported() -> None:
    """An exception becomes 500 without a word of it; the owner of the server gets the exception."""

    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        msg = "secret"
        raise ZeroDivisionError(msg)

    sent: list[Message] = []
    with reported_bugs() as bugs, pytest.raises(ZeroDivisionError):  # uvicorn closes the connection then
        request(app(broken), sent=sent)
    assert sent[0]["status"] == 500
    assert b"secret" not in sent[1]["body"]
    assert [str(bug) for bug in bugs] == ["secret"]


def test_there_is_nothing_at_other_paths() -> None:
    """The refusal names no path: not those there are, nor the one that was requested."""
    nothing = guarded([], server_options("127.0.0.1:8765", env={}), 8765)
    reply = request(nothing, "/x")
    assert reply.status == 404
    assert reply.problem() == "There is nothing here."


def test_what_is_not_http_is_closed() -> None:
    """A web socket is closed before it opens; the application's lifespan is entered and left."""
    sent: list[str] = []
    seen: list[str] = []

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        seen.append("entered")
        yield
        seen.append("left")

    options = server_options("127.0.0.1:8765", env={})
    guards = guarded([WebDoor([], lifespan)], options, 8765)

    async def use() -> None:
        kinds = iter(("lifespan.startup", "lifespan.shutdown"))

        async def receive() -> Message:
            return {"type": next(kinds)}

        async def send(message: Message) -> None:
            sent.append(message["type"])

        await guards({"type": "websocket", "path": "/mcp", "headers": []}, receive, send)
        await guards({"type": "lifespan", "state": {}}, receive, send)

    anyio.run(use)
    assert sent == ["websocket.close", "lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert seen == ["entered", "left"]


def test_a_body_of_the_largest_size_goes_through_whole() -> None:
    """Up to the limit not a byte is lost, in one piece or in many."""
    body = bytes(range(256)) * (MAX_BODY_BYTES // 256)
    assert request(app(), pieces=[body]).body == body
    assert request(app(), pieces=[body[:1000], b"", body[1000:]]).body == body


@pytest.mark.parametrize("declared", [True, False])
def test_a_larger_body_is_refused(declared: bool) -> None:
    """One byte more is too large, whether its length is declared or not."""
    pieces = [b"x" * (MAX_BODY_BYTES // 2)] * 2 + [b"x"]
    headers = [("content-length", str(MAX_BODY_BYTES + 1))] if declared else []
    reply = request(app(), headers=headers, pieces=pieces)
    assert reply.status == 413
    assert reply.problem() == "The body is larger than 4 MiB."


def test_a_declared_length_is_believed_before_anything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A body that declares to be too large is refused without waiting for it."""
    monkeypatch.setattr(guard, "_DISCARD_S", 0.05)
    reply = request(app(), headers=[("content-length", "99999999")], pieces=None)
    assert reply.status == 413


def test_a_body_that_does_not_come_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that sends half a body and then nothing does not hold its place for ever."""
    monkeypatch.setattr(guard, "_BODY_TIMEOUT_S", 0.05)
    assert request(app(), pieces=None).status == 408


class Crowd:
    """An application whose requests all wait until it opens."""

    def __init__(self) -> None:
        self.inside = 0
        self.open = anyio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.inside += 1
        await self.open.wait()
        await echo(scope, receive, send)


def test_requests_and_streams_are_counted_apart() -> None:
    """Streams take no place from requests, an excess is refused at once, and health is served meanwhile."""
    events = ("accept", "application/json, text/event-stream")

    async def use() -> None:
        crowd = Crowd()
        guards = app(crowd)
        replies: list[Reply] = []

        async def one(**settings: Any) -> None:
            replies.append(await request_async(guards, **settings))

        async with anyio.create_task_group() as group:
            for _ in range(MAX_STREAMS // 2):
                group.start_soon(partial(one, method="GET", headers=[events]))
                group.start_soon(partial(one, headers=[("mcp-method", "subscriptions/listen")]))
            await anyio.wait_all_tasks_blocked()
            assert crowd.inside == MAX_STREAMS
            refused = await request_async(guards, method="GET", headers=[events])
            assert (refused.status, refused.headers["retry-after"]) == (503, "1")
            assert "streams" in refused.problem()
            for number in range(MAX_REQUESTS):
                group.start_soon(partial(one, method="POST" if number % 2 else "GET"))
            await anyio.wait_all_tasks_blocked()
            assert crowd.inside == MAX_STREAMS + MAX_REQUESTS
            refused = await request_async(guards)
            assert (refused.status, refused.headers["retry-after"]) == (503, "1")
            assert "requests" in refused.problem()
            assert (await request_async(guards, "/health", method="GET")).status == 200
            crowd.open.set()
        assert {reply.status for reply in replies} == {200}
        assert (await request_async(guards)).status == 200

    anyio.run(use)


def test_a_place_is_free_again_after_a_failure() -> None:
    """Requests that break do not use up the places of others."""

    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        raise ZeroDivisionError

    guards = app(broken)
    for _ in range(MAX_REQUESTS + 1):
        with pytest.raises(ZeroDivisionError):
            request(guards)


def test_refusals_take_no_place() -> None:
    """A client without the token cannot keep others out, however slow the body."""
    guards = app(token=TOKEN)
    for _ in range(MAX_REQUESTS + 1):
        assert request(guards, pieces=None).status == 401
    assert request(guards, headers=[("authorization", f"Bearer {TOKEN}")]).status == 200
