"""How long to wait before a service is asked again. Pure functions."""

from __future__ import annotations

import email.utils
import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC
from typing import Any

# Of the waits that nobody asked for: half a second, doubled each time.
_FIRST_BACKOFF_S = 0.5
_LONGEST_BACKOFF_S = 30.0

_DURATION = re.compile(r"(\d+(?:\.\d+)?)s")


def retry_after(headers: Mapping[str, str], body: bytes, now: float) -> float | None:
    """Read from a refusal how long the service wants to be left alone.

    Understood are ``Retry-After`` in seconds or as a date (RFC 9110), ``retry-after-ms`` (OpenAI and Azure)
    and ``retryDelay`` in the body (google.rpc.RetryInfo).

    Args:
        headers: Of the answer; looked up by lower-case names.
        body: Of the answer.
        now: In seconds since 1970.

    Returns:
        Seconds, at least 0; None when it does not say.
    """
    if (milliseconds := _number(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    if header := headers.get("retry-after", ""):
        seconds = _number(header)
        return _until(header, now) if seconds is None else seconds
    for detail in error_details(body):
        if match := _DURATION.fullmatch(str(detail.get("retryDelay", ""))):
            return float(match[1])
    return None


def backoff(attempt: int, chance: Callable[[], float]) -> float:
    """Return how long to wait when the service does not say, in seconds.

    Doubles from half a second to half a minute, give or take a quarter, so that clients which failed together
    do not come back together.

    Args:
        attempt: How many attempts failed before this one, from 0.
        chance: Returns a number from 0 to 1.
    """
    # The exponent is bounded because 2.0**1024 is an error.
    return float(min(_LONGEST_BACKOFF_S, _FIRST_BACKOFF_S * 2.0 ** min(attempt, 16)) * (0.75 + chance() / 2))


def error_details(body: bytes) -> Iterator[dict[str, Any]]:
    """Yield the details of an error as Google writes it; nothing when it is written in another way."""
    try:
        answer = json.loads(body)
    except ValueError:
        return
    if isinstance(answer, list) and answer:  # Google's streams and its OpenAI endpoint wrap errors so
        answer = answer[0]
    error = answer.get("error") if isinstance(answer, dict) else None
    details = error.get("details") if isinstance(error, dict) else None
    if isinstance(details, list):
        yield from (detail for detail in details if isinstance(detail, dict))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return max(0.0, number) if number < float("inf") else None  # nor "nan"


def _until(date: str, now: float) -> float | None:
    try:
        moment = email.utils.parsedate_to_datetime(date)
    except (TypeError, ValueError):
        return None
    if moment.tzinfo is None:  # "-0000" is Greenwich too
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, moment.timestamp() - now)
