"""Sessions of browsers: a signed cookie stands for the token that a person has entered once."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time

from starlette.requests import cookie_parser
from starlette.responses import Response

COOKIE = "mdvec_session"
"""Name of the cookie."""

LOGIN_PATH = "/login"
"""Where a browser without a session is sent."""

_LIFETIME_S = 30 * 24 * 60 * 60


def start_session(response: Response, key: bytes) -> None:
    """Set the cookie of a new session: scripts cannot read it, and no other site makes a browser send it.

    Args:
        response: Carries the cookie.
        key: That of the token that was entered (see :class:`mdvec.interfaces.http.rights.Right`).
    """
    body = f"{int(time.time()) + _LIFETIME_S}.{secrets.token_hex(8)}"
    value = f"{body}.{_signature(body, key)}"
    response.set_cookie(COOKIE, value, max_age=_LIFETIME_S, httponly=True, samesite="strict")


def end_session(response: Response) -> None:
    """Delete the cookie."""
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")


def has_session(cookies: str, key: bytes) -> bool:
    """Return True if a Cookie header holds a session with this key that has not expired."""
    body, _, signature = cookie_parser(cookies).get(COOKIE, "").rpartition(".")
    if not body or not hmac.compare_digest(signature.encode(), _signature(body, key).encode()):
        return False
    expires, _, _ = body.partition(".")
    return int(expires) > time.time()


def _signature(body: str, key: bytes) -> str:
    return hmac.new(key, f"session {body}".encode(), hashlib.sha256).hexdigest()
