"""How long a service says to wait, and how long we wait when it does not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdvec.net.client import backoff
from mdvec.net.response import Response


def wait(headers: dict[str, str], body: bytes) -> float | None:
    return Response("Test", 429, headers, body).retry_after(MOMENT)


# Sunday, 6 November 1994, 08:49:37 in Greenwich: the date of RFC 9110's examples.
MOMENT = 784111777.0


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        ("0", 0.0),
        ("1.5", 1.5),
        ("-3", 0.0),
        ("Sun, 06 Nov 1994 08:50:00 GMT", 23.0),
        ("Sun, 06 Nov 1994 08:50:00 -0000", 23.0),
        ("Sun, 06 Nov 1994 17:50:00 +0900", 23.0),
        ("Sun, 06 Nov 1994 08:00:00 GMT", 0.0),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("", None),
    ],
)
def test_retry_after(header: str, seconds: float | None) -> None:
    """Seconds and dates are understood, a past date means now, and nonsense says nothing."""
    assert wait({"retry-after": header}, b"") == seconds


def test_milliseconds_are_more_exact() -> None:
    """``retry-after-ms`` beats ``Retry-After``, which is rounded."""
    assert wait({"retry-after-ms": "250", "retry-after": "1"}, b"") == 0.25


@pytest.mark.parametrize("in_a_list", [False, True])
@pytest.mark.parametrize(("delay", "seconds"), [("17s", 17.0), ("0.847655010s", 0.84765501), ("17", None)])
def test_googles_retry_delay(in_a_list: bool, delay: str, seconds: float | None) -> None:
    """The delay in the details of Google's error counts, alone or in a list."""
    details = [{"@type": "google.rpc.Help"}, {"@type": "google.rpc.RetryInfo", "retryDelay": delay}]
    error = {"error": {"code": 429, "details": details}}
    body = [error] if in_a_list else error
    assert wait({}, json.dumps(body).encode()) == seconds


def test_a_header_beats_the_body() -> None:
    """Where both are there, the header counts: it is the newer one, set by what is nearest to us."""
    body = json.dumps({"error": {"details": [{"retryDelay": "17s"}]}}).encode()
    assert wait({"retry-after": "2"}, body) == 2.0


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner) | st.dictionaries(st.sampled_from(["error", "details", "retryDelay", "x"]), inner)
        ),
    )
)
def test_any_json_is_survived(value: object) -> None:
    """Whatever the body is, looking for a delay in it finds a number, or nothing; it never fails."""
    body = json.dumps(value).encode()
    assert all(isinstance(detail, dict) for detail in Response("Test", 429, {}, body).error_details())
    seconds = wait({}, body)
    assert seconds is None or seconds >= 0


@given(st.integers(min_value=0, max_value=10**6), st.floats(0, 1))
def test_backoff_is_bounded(attempt: int, chance: float) -> None:
    """Every wait of our own is between three eighths of a second and 37.5 seconds."""
    assert 0.375 <= backoff(attempt, lambda: chance) <= 37.5


def test_backoff_doubles_and_spreads() -> None:
    """Each wait is twice the one before; chance moves it by a quarter either way."""
    assert [backoff(attempt, lambda: 0.5) for attempt in range(4)] == [0.5, 1.0, 2.0, 4.0]
    assert (backoff(0, lambda: 0.0), backoff(0, lambda: 1.0)) == (0.375, 0.625)
