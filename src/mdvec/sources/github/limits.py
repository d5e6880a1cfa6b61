"""The rate limits of GitHub, as its responses state them."""

from __future__ import annotations

import time
from collections.abc import Callable

from mdvec.net.response import Response

# The wait that GitHub requires if it names none; doubled if that was not enough.
_MIN_WAIT_S = 60.0
_MAX_DOUBLINGS = 6


class RateLimits:
    """Finds the wait in a refusal; the ``retry_after`` of an :class:`mdvec.net.client.HttpClient`.

    References:
        https://docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api
    """

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        """Start without a refusal."""
        self._now = now
        self._refusals = 0

    def __call__(self, reply: Response) -> float | None:
        """Return the seconds to wait; None if the rate limits are not the reason for a response."""
        if reply.status not in {403, 429}:
            self._refusals = 0
            return None
        said_s = reply.retry_after(self._now())
        if said_s is not None:
            return said_s
        reset = reply.headers.get("x-ratelimit-reset", "")
        if reply.headers.get("x-ratelimit-remaining") == "0" and reset.isdigit():
            return max(1.0, float(reset) - self._now())
        if reply.status == 403 and "rate limit" not in reply.text.lower():
            return None  # it is not ours to read
        self._refusals += 1
        return _MIN_WAIT_S * 2.0 ** min(self._refusals - 1, _MAX_DOUBLINGS)
