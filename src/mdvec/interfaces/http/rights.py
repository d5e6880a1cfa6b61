"""The tokens of a server and their rights."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import Response

from mdvec.config.schema import AccessToken
from mdvec.errors import UsageError

COOKIE = "mdvec_session"
"""Name of the cookie."""

LOGIN_PATH = "/login"
"""The path to which a browser without a session is sent."""

EndedSessions = dict[str, int]
"""When the sessions expire that were ended before; used by the thread of the server alone."""

_LIFETIME_S = 30 * 24 * 60 * 60


@dataclass(frozen=True, slots=True)
class Right:
    """The rights of one token. The token itself is not here.

    Attributes:
        digest: SHA-256 of the token.
        session_key: Signs the sessions of browsers in which it was entered.
        collections: The collections that it may read; None for everything.
    """

    digest: bytes = field(repr=False)
    session_key: bytes = field(repr=False)
    collections: frozenset[str] | None = None


def rights_of(token: str | None, access: Sequence[AccessToken]) -> tuple[Right, ...]:
    """Return the rights of a server's own token and of the tokens in the configuration.

    ``token`` may do everything; None without one.

    Raises:
        UsageError: If two of them are the same.
    """
    rights = [] if token is None else [Right(digest_of(token), token.encode())]
    # Nobody who can read the hash may be able to sign a session. With a token of its own, sessions hold at
    # every server of that token and after a restart.
    secret = secrets.token_bytes(32) if token is None else token.encode()
    entries = {each.digest: 0 for each in rights}
    for entry, each in enumerate(access, 1):
        digest = bytes.fromhex(each.hash)
        first = entries.setdefault(digest, entry)
        if not first:
            msg = f"entry {entry} of access.tokens is the token of the server"
            raise UsageError(msg, hint="Delete the entry: that token may read everything.")
        if first != entry:
            msg = f"entries {first} and {entry} of access.tokens are the same token"
            raise UsageError(msg, hint="Put its collections into one [[access.tokens]].")
        key = hmac.digest(secret, f"sessions of {each.hash}".encode(), "sha256")
        rights.append(Right(digest, key, frozenset(each.collections)))
    return tuple(rights)


def digest_of(token: str) -> bytes:
    """Return the SHA-256 of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def right_of_token(rights: Sequence[Right], token: str) -> Right | None:
    """Return the right of a token; None for any other text.

    All are compared, each in constant time.
    """
    digest = digest_of(token)
    found = [each for each in rights if hmac.compare_digest(digest, each.digest)]
    return found[0] if found else None


def right_of_request(rights: Sequence[Right], headers: Headers, ended: EndedSessions) -> Right | None:
    """Return the right of a request: by the token it carries, else by the session of its browser."""
    token = bearer_token(headers)
    right = None if token is None else right_of_token(rights, token)
    if right is not None:
        return right
    cookies = headers.get("cookie", "")
    found = next((each for each in rights if _session(cookies, each.session_key) is not None), None)
    return None if _body(cookies)[0] in ended else found


def bearer_token(headers: Headers) -> str | None:
    """Return the token that a request carries (RFC 6750); None without one, and with several."""
    values = headers.getlist("authorization")
    scheme, _, value = values[0].partition(" ") if len(values) == 1 else ("", "", "")
    return value.strip() if scheme.lower() == "bearer" else None


def start_session(response: Response, key: bytes) -> None:
    """Set the cookie of a new session: scripts cannot read it, and no other site makes a browser send it.

    ``key`` belongs to the token that was entered, see :class:`Right`.
    """
    body = f"{int(time.time()) + _LIFETIME_S}.{secrets.token_hex(8)}"
    value = f"{body}.{_signature(body, key)}"
    response.set_cookie(COOKIE, value, max_age=_LIFETIME_S, httponly=True, samesite="strict")


def end_session(response: Response, cookies: str, rights: Sequence[Right], ended: EndedSessions) -> None:
    """End the session in a Cookie header, and delete the cookie; a copy of it opens nothing."""
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    for body in [body for body, expires_s in ended.items() if expires_s <= time.time()]:
        del ended[body]
    for each in rights:
        expires_s = _session(cookies, each.session_key)
        if expires_s is not None:
            ended[_body(cookies)[0]] = expires_s


def _session(cookies: str, key: bytes) -> int | None:
    """Return the end of the session with this key in a Cookie header; None without a valid one."""
    body, signature = _body(cookies)
    if not body or not hmac.compare_digest(signature.encode(), _signature(body, key).encode()):
        return None
    expires_s = int(body.partition(".")[0])
    return expires_s if expires_s > time.time() else None


def _body(cookies: str) -> tuple[str, str]:
    """Return the session in a Cookie header, and its signature."""
    body, _, signature = cookie_parser(cookies).get(COOKIE, "").rpartition(".")
    return body, signature


def _signature(body: str, key: bytes) -> str:
    return hmac.new(key, f"session {body}".encode(), hashlib.sha256).hexdigest()
