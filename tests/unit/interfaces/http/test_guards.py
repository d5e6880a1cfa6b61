"""The guards before every route."""

from __future__ import annotations

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from tests.unit.interfaces.http.asking import ask, echo

from mdvec.interfaces.http.guards import guarded
from mdvec.interfaces.http.options import server_options

TOKEN = "0123456789abcdefghij"
BUGS: list[Exception] = []


def app(inner: ASGIApp = echo, *, token: str | None = None, origins: tuple[str, ...] = ()) -> ASGIApp:
    env = {} if token is None else {"MDVEC_TOKEN": token}
    BUGS.clear()
    options = server_options("127.0.0.1:8765", env=env, allowed_origins=origins)
    return guarded(inner, options, 8765, BUGS.append)


@pytest.mark.parametrize("path", ["/mcp", "/health", "/", "/no/such/path"])
def test_every_route_is_guarded(path: str) -> None:
    """A rebound name and a foreign page are refused wherever they ask; the answer repeats neither."""
    rebound = ask(app(), path, host="evil.example:8765")
    assert rebound.status == 421
    assert "evil" not in rebound.problem()
    foreign = ask(app(), path, headers=[("origin", "http://evil.example")])
    assert foreign.status == 403
    assert "evil" not in foreign.problem()
    assert ask(app(), path).status == 200


@pytest.mark.parametrize("hosts", [[], ["127.0.0.1:8765"] * 2, ["127.0.0.1:8765", "evil.example"]])
def test_there_is_exactly_one_host(hosts: list[str]) -> None:
    """A request with no Host or with several is refused: two readers could take different ones."""
    answer = ask(app(), host=None, headers=[("host", host) for host in hosts])
    assert answer.status == 421


def test_every_origin_counts() -> None:
    """A good origin does not excuse a bad one."""
    headers = [("origin", "http://localhost:8765"), ("origin", "http://evil.example")]
    assert ask(app(), headers=headers).status == 403


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
    answer = ask(app(token=TOKEN), headers=[("authorization", value)])
    assert answer.status == status
    if status == 401:
        challenge = answer.headers["www-authenticate"]
        assert challenge.startswith('Bearer realm="mdvec"')
        assert ('error="invalid_token"' in challenge) is value.lower().startswith("bearer ")
        assert TOKEN not in answer.problem() + challenge


def test_two_tokens_are_no_token() -> None:
    """A request with two Authorization headers is refused, even if one is right."""
    headers = [("authorization", f"Bearer {TOKEN}"), ("authorization", "Bearer other")]
    assert ask(app(token=TOKEN), headers=headers).status == 401


def test_health_alone_needs_no_token() -> None:
    """The health of the server is free; paths that look like it are not."""
    guards = app(token=TOKEN)
    assert ask(guards, "/health", method="GET").status == 200
    assert {ask(guards, path).status for path in ("/health/", "/healthy", "/mcp", "//health")} == {401}


def test_an_allowed_page_may_ask_first() -> None:
    """A browser's question whether a page may use the server is answered for allowed pages alone."""
    guards = app(token=TOKEN, origins=("https://App.example.com:443",))
    asked = [("access-control-request-method", "POST"), ("access-control-request-headers", "authorization")]
    asked.append(("access-control-request-private-network", "true"))
    answer = ask(guards, method="OPTIONS", headers=[("origin", "https://app.example.com"), *asked])
    assert answer.status == 200
    assert answer.headers["access-control-allow-private-network"] == "true"
    assert answer.headers["access-control-allow-origin"] == "https://app.example.com"
    assert ask(guards, method="OPTIONS", headers=[("origin", "https://evil.example"), *asked]).status == 403
    foreign = ask(app(), method="OPTIONS", headers=[("origin", "http://localhost:8765"), *asked])
    assert "access-control-allow-origin" not in foreign.headers


def test_every_answer_forbids_guessing_and_keeping() -> None:
    """Answers and refusals carry the same protective headers; what an application sets stays."""

    async def keeping(scope: Scope, receive: Receive, send: Send) -> None:
        await send(
            {"type": "http.response.start", "status": 200, "headers": [(b"Cache-Control", b"no-cache")]}
        )
        await send({"type": "http.response.body"})

    for answer in (ask(app()), ask(app(), host="evil")):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
    assert "cache-control" not in ask(app(keeping)).headers


def test_a_bug_is_an_answer_and_is_reported() -> None:
    """An exception becomes 500 without a word of it; who runs the server hears of it."""

    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        msg = "secret"
        raise ZeroDivisionError(msg)

    answer = ask(app(broken))
    assert answer.status == 500
    assert "secret" not in answer.problem()
    assert [str(bug) for bug in BUGS] == ["secret"]


def test_what_is_not_http_is_closed() -> None:
    """A web socket is closed before it opens; the application's start and end go through."""
    import anyio

    sent: list[str] = []
    seen: list[str] = []

    async def inner(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope["type"])

    async def use() -> None:
        async def receive() -> Message:
            return {"type": "websocket.connect"}

        async def send(message: Message) -> None:
            sent.append(message["type"])

        await app(inner)({"type": "websocket", "path": "/mcp", "headers": []}, receive, send)
        await app(inner)({"type": "lifespan"}, receive, send)

    anyio.run(use)
    assert sent == ["websocket.close"]
    assert seen == ["lifespan"]
