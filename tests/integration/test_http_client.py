"""The HTTP client and a real server that fails in every way that servers fail."""

from __future__ import annotations

import email.utils
import gzip
import io
import threading
import zlib
from collections.abc import Iterator

import pytest
from tests.fakes.fake_time import START, FakeTime, fake_time
from tests.fakes.http_server import DROPPED, Answer, Asked, EndlessServer, HttpServer

from mdvec.errors import (
    ImportStoppedError,
    ServiceAnswerError,
    ServiceRefusedError,
    ServiceUnavailableError,
)
from mdvec.net.client import HttpClient
from mdvec.net.response import Response, RetryPolicy


@pytest.fixture
def server() -> Iterator[HttpServer]:
    with HttpServer() as running:
        yield running


@pytest.fixture
def time() -> Iterator[FakeTime]:
    with fake_time() as running:
        yield running


@pytest.fixture
def client(server: HttpServer, time: FakeTime) -> Iterator[HttpClient]:
    made = HttpClient(
        f"{server.url}/v1",
        service="Test",
        headers={"Authorization": "Bearer secret-0123"},
        timeout_s=10.0,
        clock=time.clock,
    )
    yield made
    made.close()


def test_a_request_is_sent_as_asked(client: HttpClient, server: HttpServer) -> None:
    """Path, query, headers and body arrive, and who asks is called mdvec."""
    answer = client.request_json("POST", "things", json={"名": ["値"]}, params={"q": "a b"})
    reply = client.get("other", headers={"X-More": "1"})
    posted, got = server.asked
    assert (answer["path"], reply.status, reply.json()["path"]) == ("/v1/things?q=a+b", 200, "/v1/other")
    assert (posted.method, posted.body, got.method) == ("POST", {"名": ["値"]}, "GET")
    ours = {"authorization": "Bearer secret-0123", "user-agent": "mdvec"}.items()
    assert ours <= dict(posted.headers).items()
    assert {*ours, ("x-more", "1")} <= dict(got.headers).items()
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
    assert client.request_json("POST", "x", json={})["path"] == "/v1/x"
    assert len(server.asked) == 2
    assert time.slept == pytest.approx(slept)


@pytest.mark.parametrize("failure", [Answer(DROPPED), Answer(200, {"whole": True}, missing_bytes=3)])
def test_a_response_that_breaks_off_is_not_called_unreachable(
    client: HttpClient, server: HttpServer, failure: Answer
) -> None:
    """The address is right and somebody is there: who looks for the reason looks elsewhere."""
    server.failures.extend([failure] * 2)
    with pytest.raises(ServiceUnavailableError, match=r"Test breaks off its response at 127\.0\.0\.1:\d+: "):
        client.request_json("POST", "x", json={}, retry=RetryPolicy(attempts=2))


def test_truncated_json_is_asked_for_again(client: HttpClient, server: HttpServer) -> None:
    """``request_json`` takes an answer that is no JSON for an accident; when it stays so, that is said."""
    server.failures.append(Answer(200, b'{"data": ['))
    assert client.request_json("GET", "x")["path"] == "/v1/x"
    server.failures.extend([Answer(200, b"{")] * 2)
    with pytest.raises(ServiceAnswerError, match="not JSON"):
        client.request_json("GET", "x", retry=RetryPolicy(attempts=2))


def test_a_slow_answer_is_not_waited_for(server: HttpServer, time: FakeTime) -> None:
    """A server that stays silent beyond the time-out is asked again, then given up with a word on why."""
    client = HttpClient(
        server.url, service="Test", timeout_s=0.1, retry=RetryPolicy(attempts=2), clock=time.clock
    )
    server.failures.append(Answer(200, {}, delay_s=0.4))
    assert client.get("x").status == 200
    client = HttpClient(
        server.url, service="Test", timeout_s=0.1, retry=RetryPolicy(attempts=2), clock=time.clock
    )
    server.failures.extend([Answer(200, {}, delay_s=0.4)] * 2)
    with pytest.raises(ServiceUnavailableError, match="no complete response in time"):
        client.get("x")


def test_attempts_end(client: HttpClient, server: HttpServer, time: FakeTime) -> None:
    """After six attempts, each after twice the wait, the last failure is told with what the service says."""
    server.failures.extend([Answer(503, {"detail": "overloaded"})] * 6)
    with pytest.raises(
        ServiceUnavailableError, match=r"Test cannot answer now \(HTTP 503: overloaded\)"
    ) as caught:
        client.get("x")
    assert (caught.value.status, caught.value.retry, len(server.asked)) == (503, True, 6)
    assert time.slept == pytest.approx(0.5 + 1 + 2 + 4 + 8)


def test_a_long_wait_ends_at_once(client: HttpClient, server: HttpServer, time: FakeTime) -> None:
    """Who is asked to wait 40 minutes is told so now, and not in 40 minutes."""
    server.failures.append(Answer(429, {}, {"Retry-After": "2400"}))
    with pytest.raises(ServiceUnavailableError, match="it asks to wait 40 min") as caught:
        client.get("x")
    assert (caught.value.hint, time.slept, len(server.asked)) == ("Run again in 40 min.", 0.0, 1)


def test_a_slow_failure_is_not_repeated(time: FakeTime) -> None:
    """A service that took longer to fail than a caller wants to wait is given up."""

    class SlowServer(HttpServer):
        def answer(self, asked: Asked) -> Answer:
            time.now += 7
            return Answer(503)

    with SlowServer() as server:
        client = HttpClient(server.url, service="Test", clock=time.clock)
        for wait_s, requests in ((5.0, 1), (10.0, 1 + 3)):
            with pytest.raises(ServiceUnavailableError, match="HTTP 503"):
                client.request_json("GET", "x", retry=RetryPolicy(3, wait_s))
            assert len(server.asked) == requests


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_a_refusal_is_final(client: HttpClient, server: HttpServer, status: int) -> None:
    """What waiting cannot mend is asked once; the error has the status and the service's own words."""
    server.failures.append(Answer(status, {"error": {"message": "no such thing"}}))
    with pytest.raises(
        ServiceRefusedError, match=rf"Test refuses \(HTTP {status}: no such thing\)"
    ) as caught:
        client.get("x")
    assert (caught.value.status, caught.value.retry, len(server.asked)) == (status, False, 1)


def test_expected_statuses_are_answers(client: HttpClient, server: HttpServer) -> None:
    """A status that the caller expects is returned, even one that is an error elsewhere."""
    server.failures.append(Answer(304, b""))
    assert client.get("x", expected=(200, 304)).status == 304


def test_a_wait_is_reported(client: HttpClient, server: HttpServer, time: FakeTime) -> None:
    """While waiting, the seconds left are reported once a second."""
    server.failures.append(Answer(429, {}, {"Retry-After": "3.5"}))
    client.get("x")
    assert time.waits == [4, 3, 2, 1]


def test_a_wait_can_be_cancelled(client: HttpClient, server: HttpServer, time: FakeTime) -> None:
    """Cancelling the run ends the wait and the call."""
    time.cancels = True
    server.failures.append(Answer(429, {}, {"Retry-After": "100"}))
    with pytest.raises(ImportStoppedError):
        client.get("x")
    assert time.waits == [100]
    assert len(server.asked) == 1


def test_a_wait_is_shared(server: HttpServer, time: FakeTime) -> None:
    """A wait that one call receives holds for the next one too, before it sends anything."""
    client = HttpClient(server.url, service="Test", clock=time.clock)
    server.failures.append(Answer(429, {}, {"Retry-After": "30"}))
    time.cancels = True
    with pytest.raises(ImportStoppedError):
        client.get("x")
    with fake_time():
        with pytest.raises(ServiceUnavailableError, match="it asks to wait 30 s"):
            client.request_json("GET", "x", retry=RetryPolicy(max_wait_s=5))
        assert len(server.asked) == 1
        time.now += 30
        assert client.get("x").status == 200


def test_a_service_may_say_wait_in_its_own_way(server: HttpServer, time: FakeTime) -> None:
    """``retry_after`` turns any response into a wait; infinity gives up at once."""

    def retry_after(response: Response) -> float | None:
        return float(response.headers["x-wait"]) if "x-wait" in response.headers else None

    client = HttpClient(server.url, service="Test", retry_after=retry_after, clock=time.clock)
    server.failures.append(Answer(403, {"message": "rate limit"}, {"X-Wait": "12"}))
    assert client.get("x").status == 200
    assert time.slept == pytest.approx(12)
    server.failures.append(Answer(429, {"message": "no credit left"}, {"X-Wait": "inf"}))
    with pytest.raises(ServiceUnavailableError, match=r"\(HTTP 429: no credit left\)$"):
        client.get("x")
    assert len(server.asked) == 3


def test_nobody_is_there(time: FakeTime) -> None:
    """A refused connection names service and place, and is worth another try later."""
    with HttpServer() as gone:
        url = gone.url
    client = HttpClient(url, service="Test", retry=RetryPolicy(attempts=2), clock=time.clock)
    with pytest.raises(
        ServiceUnavailableError, match=r"Test cannot be reached at 127\.0\.0\.1:\d+: "
    ) as caught:
        client.get("x")
    assert caught.value.status is None


def test_an_address_that_is_none_is_told(time: FakeTime) -> None:
    """What is no HTTP address is not tried again."""
    client = HttpClient("ftp://example.com", service="Test", clock=time.clock)
    with pytest.raises(ServiceRefusedError, match="no usable address"):
        client.get("x")


def test_keys_do_not_show(client: HttpClient, server: HttpServer) -> None:
    """A service that repeats the key it was sent does not bring it into the message."""
    server.failures.append(Answer(401, {"detail": "Incorrect key: secret-0123 (Bearer secret-0123)"}))
    with pytest.raises(ServiceRefusedError) as caught:
        client.get("x")
    assert "secret" not in str(caught.value)
    assert "Incorrect key: ***" in str(caught.value)


def test_a_moved_service_is_told(client: HttpClient, server: HttpServer) -> None:
    """A redirected POST is not followed, since it could take the key elsewhere; the new place is named."""
    server.failures.append(Answer(301, b"", {"Location": "https://example.com/v2"}))
    with pytest.raises(ServiceRefusedError, match=r"it has moved to https://example\.com/v2"):
        client.request_json("POST", "x", json={})


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
        reply = client.download("tarball", target, max_bytes=1 << 20, timeout_s=10)
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
        client.download("tarball", target, max_bytes=1 << 20, timeout_s=10)
    assert target.getvalue() == b""


# --- limits ------------------------------------------------------------------------------------

LIMIT_BYTES = 100_000


def test_a_body_that_never_ends_is_given_up() -> None:
    """An endless chunked body is refused at the limit, once; little more than the limit was taken."""
    with EndlessServer(b"x" * 1000) as server:
        client = HttpClient(server.url, service="Test", max_bytes=LIMIT_BYTES)
        with pytest.raises(ServiceRefusedError, match="Test sends more than 100,000 bytes"):
            client.get("x")
        target = io.BytesIO()
        with pytest.raises(ServiceRefusedError, match="Test sends more than 50,000 bytes"):
            client.download("x", target, max_bytes=50_000, timeout_s=60)
        client.close()
    assert server.requests == 2
    assert len(target.getvalue()) <= 50_000


@pytest.mark.parametrize("level", [9, 0], ids=["bomb", "stored"])
def test_a_compressed_bomb_is_given_up(server: HttpServer, level: int) -> None:
    """The limit holds for what is sent as for what it becomes, which is never unpacked at once."""
    packed = gzip.compress(bytes(200 * LIMIT_BYTES), level)
    server.failures.append(Answer(200, packed, {"Content-Encoding": "gzip"}))
    client = HttpClient(server.url, service="Test", max_bytes=LIMIT_BYTES)
    with pytest.raises(ServiceRefusedError, match="more than 100,000 bytes"):
        client.get("x")
    assert len(server.asked) == 1


def test_a_slow_drip_is_given_up() -> None:
    """A byte now and then is no answer: the time counts for the whole response, head and body."""
    for head in (b"", b"HTTP/1.1 200 OK\r\nX-Slow: "):
        with EndlessServer(b"x", head=head, pause_s=0.02) as server:
            client = HttpClient(server.url, service="Test", timeout_s=0.3, retry=RetryPolicy(attempts=1))
            with pytest.raises(ServiceUnavailableError, match="no complete response in time"):
                client.get("x")
            client.close()


def test_a_cancelled_run_waits_for_no_response() -> None:
    """Cancelling ends a call whose service says nothing for a long time."""
    with EndlessServer(b"", pause_s=0.02) as server, fake_time() as running:
        client = HttpClient(server.url, service="Test", timeout_s=600)

        def cancel() -> None:
            server.asked.wait(10)
            running.cancel()

        threading.Thread(target=cancel).start()
        with pytest.raises(ImportStoppedError):
            client.get("x")
        client.close()


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_compressed_responses_are_read(client: HttpClient, server: HttpServer, encoding: str) -> None:
    """What was requested to be compressed is unpacked, block by block."""
    raw = bytes(range(256)) * 1000
    packed = gzip.compress(raw) if encoding == "gzip" else zlib.compress(raw)
    server.failures.append(Answer(200, packed, {"Content-Encoding": encoding}))
    assert client.get("x").content == raw
    server.failures.append(Answer(304, b"", {"Content-Encoding": encoding}))
    assert client.get("x", expected=(304,)).content == b""


@pytest.mark.parametrize("packed", [b"no gzip", gzip.compress(b"x" * 1000)[:-9]], ids=["other", "cut off"])
def test_broken_compression_is_requested_again(client: HttpClient, server: HttpServer, packed: bytes) -> None:
    """It is an accident, as other broken responses are; when it stays so, the error names it."""
    server.failures.extend([Answer(200, packed, {"Content-Encoding": "gzip"})] * 3)
    with pytest.raises(ServiceAnswerError, match="broken compression"):
        client.request_json("GET", "x", retry=RetryPolicy(attempts=2))
    assert client.get("x").status == 200


def test_an_encoding_that_was_not_requested_is_refused(client: HttpClient, server: HttpServer) -> None:
    """Nothing is unpacked without a limit."""
    server.failures.append(Answer(200, b"", {"Content-Encoding": "zstd"}))
    with pytest.raises(ServiceRefusedError, match="compressed its response as 'zstd'"):
        client.get("x")


def test_redirects_end(client: HttpClient, server: HttpServer) -> None:
    """A service that redirects in a circle is refused."""
    server.failures.extend([Answer(302, b"", {"Location": "/v1/x"})] * 30)
    with pytest.raises(ServiceRefusedError, match="redirects more than 20 times"):
        client.get("x")
