"""How much a request may bring, and how many are answered at once."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message, Receive, Scope, Send
from tests.unit.interfaces.http.asking import Answer, ask, ask_async, echo

from mdvec.interfaces.http import limits
from mdvec.interfaces.http.limits import (
    MAX_BODY_BYTES,
    MAX_JSON_DEPTH,
    MAX_REQUESTS,
    MAX_STREAMS,
    limited_bodies,
    limited_concurrency,
    nests_too_deeply,
)

BODIES = limited_bodies(echo)


def test_a_body_of_the_largest_size_goes_through_whole() -> None:
    """Up to the limit not a byte is lost, in one piece or in many."""
    body = bytes(range(256)) * (MAX_BODY_BYTES // 256)
    assert ask(BODIES, pieces=[body]).body == body
    assert ask(BODIES, pieces=[body[:1000], b"", body[1000:]]).body == body


@pytest.mark.parametrize("declared", [True, False])
def test_a_larger_body_is_refused(declared: bool) -> None:
    """One byte more is too large, whether its length is declared or not."""
    pieces = [b"x" * (MAX_BODY_BYTES // 2)] * 2 + [b"x"]
    headers = [("content-length", str(MAX_BODY_BYTES + 1))] if declared else []
    answer = ask(BODIES, headers=headers, pieces=pieces)
    assert answer.status == 413
    assert answer.problem() == "The body is larger than 4 MiB."


def test_a_declared_length_is_believed_before_anything_is_read() -> None:
    """A body that says it is too large is refused without waiting for it."""
    reads = []

    async def receive() -> Message:
        reads.append(1)
        return {"type": "http.request", "body": b"", "more_body": True}

    async def send(message: Message) -> None:
        pass

    scope = {"type": "http", "method": "POST", "path": "/", "headers": [(b"content-length", b"99999999")]}
    anyio.run(BODIES, scope, receive, send)
    assert reads == []


def test_a_body_that_does_not_come_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that sends half a body and then nothing does not hold its place for ever."""
    monkeypatch.setattr(limits, "_BODY_TIMEOUT_S", 0.05)
    sent: list[Message] = []

    async def receive() -> Message:
        await anyio.sleep_forever()
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)

    anyio.run(BODIES, {"type": "http", "method": "POST", "path": "/", "headers": []}, receive, send)
    assert sent[0]["status"] == 408


def nested(depth: int, kinds: list[bool], leaf: Any) -> Any:
    value = leaf
    for level in range(depth):
        value = [value] if kinds[level % len(kinds)] else {'key"[\\': value, "next": [1, {}]}
    return value


@given(
    st.integers(0, 3 * MAX_JSON_DEPTH),
    st.lists(st.booleans(), min_size=1, max_size=5),
    st.text(alphabet='[]{}"\\ a', max_size=400),
)
def test_depth_is_judged_by_brackets_outside_strings(depth: int, kinds: list[bool], leaf: str) -> None:
    """What is certainly read goes through, what is certainly refused does not; strings count for nothing."""
    body = json.dumps(nested(depth, kinds, leaf)).encode()
    if depth < MAX_JSON_DEPTH:
        assert not nests_too_deeply(body)
    elif depth > 2 * MAX_JSON_DEPTH:
        assert nests_too_deeply(body)


@pytest.mark.parametrize(
    ("body", "refused"),
    [
        (b"[" * MAX_BODY_BYTES, True),
        (b'{"a":' * (MAX_BODY_BYTES // 5), True),
        (b"[" * 2000 + b"]" * 2000, True),
        (b"[" + b"[]," * 10**6 + b"[]]", False),
        (b'"' + b'\\"' * (MAX_BODY_BYTES // 2 - 1), False),
        (b'"' * MAX_BODY_BYTES, False),
        (b"", False),
        (b"\x00\xff", False),
    ],
    ids=["open lists", "open objects", "deep", "wide", "escaped quotes", "quotes", "empty", "no JSON"],
)
def test_hostile_bodies_are_judged_at_once(body: bytes, refused: bool) -> None:
    """Bodies of the largest size that are made to be slow take no time that grows with their square."""
    assert nests_too_deeply(body) is refused


def test_deep_json_is_a_bad_request() -> None:
    """It is answered, not passed on."""
    assert ask(BODIES, pieces=[b"[" * 5000 + b"]" * 5000]).status == 400


class Crowd:
    """An application whose requests all wait until they are let go."""

    def __init__(self) -> None:
        self.inside = 0
        self.open = anyio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.inside += 1
        await self.open.wait()
        await echo(scope, receive, send)


def test_requests_and_streams_are_counted_apart() -> None:
    """Streams take no place from requests; what is too much is told when to come back, and health is free."""

    async def use() -> None:
        crowd = Crowd()
        app = limited_concurrency(crowd, exempt="/health")
        answers: list[Answer] = []

        async def one(**settings: Any) -> None:
            answers.append(await ask_async(app, **settings))

        async with anyio.create_task_group() as group:
            for _ in range(MAX_STREAMS // 2):
                group.start_soon(partial(one, method="GET"))
                group.start_soon(partial(one, headers=[("mcp-method", "subscriptions/listen")]))
            await anyio.wait_all_tasks_blocked()
            assert crowd.inside == MAX_STREAMS
            refused = await ask_async(app, method="GET")
            assert (refused.status, refused.headers["retry-after"]) == (503, "1")
            assert "streams" in refused.problem()
            for _ in range(MAX_REQUESTS):
                group.start_soon(one)
            await anyio.wait_all_tasks_blocked()
            assert crowd.inside == MAX_STREAMS + MAX_REQUESTS
            refused = await ask_async(app)
            assert (refused.status, refused.headers["retry-after"]) == (503, "1")
            assert "requests" in refused.problem()
            group.start_soon(partial(one, path="/health"))
            await anyio.wait_all_tasks_blocked()
            assert crowd.inside == MAX_STREAMS + MAX_REQUESTS + 1
            crowd.open.set()
        assert {answer.status for answer in answers} == {200}
        assert (await ask_async(app)).status == 200

    anyio.run(use)


def test_a_place_is_given_back_after_a_failure() -> None:
    """Requests that break do not use up the places of others."""

    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        raise ZeroDivisionError

    app = limited_concurrency(broken, exempt="/health")
    for _ in range(MAX_REQUESTS + 1):
        with pytest.raises(ZeroDivisionError):
            ask(app)
