"""The HTTP client and a real server that fails in every way that servers fail."""

from __future__ import annotations

import email.utils
import io
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from tests.fakes.http_server import DROPPED, Answer, Asked, HttpServer

from mdvec.errors import (
    ServiceAnswerError,
    ServiceRefusedError,
    ServiceUnavailableError,
)
from mdvec.net.client import Clock, HttpClient, Patience
from mdvec.net.reply import Reply

START = 1_800_000_000.0


@dataclass
class FakeTime:
    """Time that passes when somebody sleeps.

    Attributes:
        now: Seconds since 1970.
        ticks: What a waiting person was told: the seconds left.
    """

    now: float = START
    ticks: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    @property
    def slept(self) -> float:
        return self.now - START

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.now, self.sleep, lambda: 0.5)


@pytest.fixture
def server() -> Iterator[HttpServer]:
    with HttpServer() as running:
        yield running


@pytest.fixture
def time() -> FakeTime:
    return FakeTime()


@pytest.fixture
def client(server: HttpServer, time: FakeTime) -> Iterator[HttpClient]:
    made = HttpClient(
        f"{server.url}/v1",
        service="Test",
        headers={"Authorization": "Bearer secret-0123"},
        timeout_s=10.0,
        on_wait=time.ticks.append,
        clock=time.clock,
    )
    yield made
    made.close()


def test_a_request_is_sent_as_asked(client: HttpClient, server: HttpServer) -> None:
    """Path, query, headers and body arrive, and who asks is called mdvec."""
    reply = client.request(
        "POST", "things", json={"名": ["値"]}, params={"q": "a b"}, headers={"X-More": "1"}
    )
    asked = server.asked[0]
    assert (reply.status, reply.json()["path"]) == (200, "/v1/things?q=a+b")
    assert (asked.method, asked.body) == ("POST", {"名": ["値"]})
    assert {"authorization": "Bearer secret-0123", "x-more": "1", "user-agent": "mdvec"}.items() <= dict(
        asked.headers
    ).items()
    assert reply.headers["CONTENT-TYPE"] == "application/json"


@pytest.mark.parametrize(
    ("failure", "slept"),
    [
        (Answer(429, {}, {"Retry-After": "7"}), 7.0),
        (Answer(429, {}, {"Retry-After": email.utils.formatdate(START + 40, usegmt=True)}), 40.0),
        (Answer(429, {"error": {"details": [{"retryDelay": "17s"}]}}), 17.0),
        (Answer(429, {}), 0.5),
        (Answer(500, {}), 0.5),
        (Answer(503, {}, {"Retry-After": "2"}), 2.0),
        (Answer(529, {}), 0.5),
        (Answer(DROPPED), 0.5),
        (Answer(200, {"whole": True}, missing_bytes=3), 0.5),
    ],
    ids=["seconds", "date", "google", "429", "500", "503", "529", "dropped", "cut off"],
)
def test_what_passes_is_asked_again(
    client: HttpClient, server: HttpServer, time: FakeTime, failure: Answer, slept: float
) -> None:
    """After each passing failure the client waits as long as it was told, or half a second, and succeeds."""
    server.failures.append(failure)
    assert client.request("POST", "x", json={}).status == 200
    assert len(server.asked) == 2
    assert time.slept == pytest.approx(slept)


def test_truncated_json_is_asked_for_again(client: HttpClient, server: HttpServer) -> None:
    """``ask`` takes an answer that is no JSON for an accident; when it stays so, that is said."""
    server.failures.append(Answer(200, b'{"data": ['))
    assert client.ask("GET", "x")["path"] == "/v1/x"
    server.failures.extend([Answer(200, b"{")] * 2)
    with pytest.raises(ServiceAnswerError, match="not JSON"):
        client.ask("GET", "x", patience=Patience(attempts=2))


def test_a_slow_answer_is_not_waited_for(server: HttpServer, time: FakeTime) -> None:
    """A server that stays silent beyond the time-out is asked again, then given up with a word on why."""
    client = HttpClient(server.url, service="Test", timeout_s=0.1, attempts=100, clock=time.clock)
    server.failures.append(Answer(200, {}, delay_s=0.4))
    assert client.request("GET", "x").status == 200
    client = HttpClient(server.url, service="Test", timeout_s=0.1, attempts=2, clock=time.clock)
    server.failures.extend([Answer(200, {}, delay_s=0.4)] * 2)
    with pytest.raises(ServiceUnavailableError, match="no answer in time"):
        client.request("GET", "x")


def test_patience_ends(client: HttpClient, server: HttpServer, time: FakeTime) -> None:
    """After six attempts, each after twice the wait, the last failure is told with what the service says."""
    server.failures.extend([Answer(503, {"detail": "overloaded"})] * 6)
    with pytest.raises(
        ServiceUnavailableError, match=r"Test cannot answer now \(HTTP 503: overloaded\)"
    ) as caught:
        client.request("GET", "x")
    assert (caught.value.status, caught.value.retry, len(server.asked)) == (503, True, 6)
    assert time.slept == pytest.approx(0.5 + 1 + 2 + 4 + 8)


def test_a_long_wait_ends_at_once(client: HttpClient, server: HttpServer, time: FakeTime) -> None:
    """Who is asked to wait 40 minutes is told so now, and not in 40 minutes."""
    server.failures.append(Answer(429, {}, {"Retry-After": "2400"}))
    with pytest.raises(ServiceUnavailableError, match="it asks to wait 40 min") as caught:
        client.request("GET", "x")
    assert (caught.value.hint, time.slept, len(server.asked)) == ("Run again in 40 min.", 0.0, 1)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_a_refusal_is_final(client: HttpClient, server: HttpServer, status: int) -> None:
    """What waiting cannot mend is asked once; the error has the status and the service's own words."""
    server.failures.append(Answer(status, {"error": {"message": "no such thing"}}))
    with pytest.raises(
        ServiceRefusedError, match=rf"Test refuses \(HTTP {status}: no such thing\)"
    ) as caught:
        client.request("GET", "x")
    assert (caught.value.status, caught.value.retry, len(server.asked)) == (status, False, 1)


def test_expected_statuses_are_answers(client: HttpClient, server: HttpServer) -> None:
    """A status that the caller expects is returned, even one that is an error elsewhere."""
    server.failures.append(Answer(304, b""))
    assert client.request("GET", "x", expected=(200, 304)).status == 304


def test_who_waits_is_told(client: HttpClient, server: HttpServer, time: FakeTime) -> None:
    """While waiting, the seconds left are told once a second."""
    server.failures.append(Answer(429, {}, {"Retry-After": "3.5"}))
    client.request("GET", "x")
    assert time.ticks == [3.5, 2.5, 1.5, 0.5]


def test_who_waits_can_give_up(server: HttpServer, time: FakeTime) -> None:
    """What the listener raises ends the wait and the call."""

    def give_up(_left: float) -> None:
        raise InterruptedError

    client = HttpClient(server.url, service="Test", on_wait=give_up, clock=time.clock)
    server.failures.append(Answer(429, {}, {"Retry-After": "100"}))
    with pytest.raises(InterruptedError):
        client.request("GET", "x")
    assert len(server.asked) == 1


def test_a_wait_is_shared(server: HttpServer, time: FakeTime) -> None:
    """What one call is told to wait, the next one waits too, before it asks at all."""

    def give_up(_left: float) -> None:
        raise InterruptedError

    client = HttpClient(server.url, service="Test", on_wait=give_up, clock=time.clock)
    server.failures.append(Answer(429, {}, {"Retry-After": "30"}))
    for _ in range(2):
        with pytest.raises(InterruptedError):
            client.request("GET", "x")
    assert len(server.asked) == 1
    with pytest.raises(ServiceUnavailableError, match="it asks to wait 30 s"):
        client.request("GET", "x", patience=Patience(most_wait_s=5))
    time.sleep(30)
    assert client.request("GET", "x").status == 200


def test_a_service_may_say_wait_in_its_own_way(server: HttpServer, time: FakeTime) -> None:
    """``wait_of`` turns any reply into a wait; infinity gives up at once."""

    def wait_of(reply: Reply) -> float | None:
        return float(reply.headers["x-wait"]) if "x-wait" in reply.headers else None

    client = HttpClient(server.url, service="Test", wait_of=wait_of, clock=time.clock)
    server.failures.append(Answer(403, {"message": "rate limit"}, {"X-Wait": "12"}))
    assert client.request("GET", "x").status == 200
    assert time.slept == pytest.approx(12)
    server.failures.append(Answer(429, {"message": "no credit left"}, {"X-Wait": "inf"}))
    with pytest.raises(ServiceUnavailableError, match=r"\(HTTP 429: no credit left\)$"):
        client.request("GET", "x")
    assert len(server.asked) == 3


def test_nobody_is_there(time: FakeTime) -> None:
    """A refused connection names service and place, and is worth another try later."""
    with HttpServer() as gone:
        url = gone.url
    client = HttpClient(url, service="Test", attempts=2, clock=time.clock)
    with pytest.raises(
        ServiceUnavailableError, match=r"Test cannot be reached at 127\.0\.0\.1:\d+: "
    ) as caught:
        client.request("GET", "x")
    assert caught.value.status is None


def test_an_address_that_is_none_is_told(time: FakeTime) -> None:
    """What is no HTTP address is not tried again."""
    client = HttpClient("ftp://example.com", service="Test", clock=time.clock)
    with pytest.raises(ServiceRefusedError, match="no usable address"):
        client.request("GET", "x")


def test_keys_do_not_show(client: HttpClient, server: HttpServer) -> None:
    """A service that repeats the key it was sent does not bring it into the message."""
    server.failures.append(Answer(401, {"detail": "Incorrect key: secret-0123 (Bearer secret-0123)"}))
    with pytest.raises(ServiceRefusedError) as caught:
        client.request("GET", "x")
    assert "secret" not in str(caught.value)
    assert "Incorrect key: ***" in str(caught.value)


def test_a_moved_service_is_told(client: HttpClient, server: HttpServer) -> None:
    """A redirected POST is not followed, since it could take the key elsewhere; the new place is named."""
    server.failures.append(Answer(301, b"", {"Location": "https://example.com/v2"}))
    with pytest.raises(ServiceRefusedError, match=r"it has moved to https://example\.com/v2"):
        client.request("POST", "x", json={})


def test_a_download_is_streamed_and_leaves_the_key_behind(client: HttpClient, server: HttpServer) -> None:
    """A file is written whole after an interruption, from another host, which never sees the key."""

    class FileServer(HttpServer):
        def answer(self, asked: Asked) -> Answer:
            return Answer(200, b"x" * 200_000)

    with FileServer() as files:
        files.failures.append(Answer(200, b"y" * 200_000, missing_bytes=1000))
        elsewhere = Answer(302, b"", {"Location": f"http://localhost:{files.port}/file"})
        server.failures.extend([elsewhere, elsewhere])
        target = io.BytesIO(b"kept")
        target.seek(4)
        reply = client.download("tarball", target)
    assert (reply.status, reply.content) == (200, b"")
    assert target.getvalue() == b"kept" + b"x" * 200_000
    assert len(files.asked) == 2
    assert all("authorization" not in asked.headers for asked in files.asked)
    assert server.asked[0].headers["authorization"] == "Bearer secret-0123"


def test_a_download_that_is_refused_writes_nothing(client: HttpClient, server: HttpServer) -> None:
    """The body of an error is not the file."""
    server.failures.append(Answer(404, {"message": "Not Found"}))
    target = io.BytesIO()
    with pytest.raises(ServiceRefusedError, match="Not Found"):
        client.download("tarball", target)
    assert target.getvalue() == b""
