"""The tokens of a server, and what each of them may see."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from starlette.datastructures import Headers

from mdvec.errors import UsageError
from mdvec.interfaces.http.cookie import has_session

if TYPE_CHECKING:
    from mdvec.config.schema import AccessToken


@dataclass(frozen=True, slots=True)
class Right:
    """What one token may do. The token itself is not here.

    Attributes:
        digest: SHA-256 of the token.
        session_key: Signs the sessions of browsers in which it was entered.
        collections: The collections that it may read; None for everything.
    """

    digest: bytes = field(repr=False)
    session_key: bytes = field(repr=False)
    collections: frozenset[str] | None = None


def rights_of(token: str | None, access: Sequence[AccessToken]) -> tuple[Right, ...]:
    """Return the rights of a server's own token and of those in the configuration.

    Args:
        token: May do everything; None without one.
        access: The tokens that may read some collections.

    Raises:
        UsageError: If two of them are the same.
    """
    rights = [] if token is None else [Right(digest_of(token), token.encode())]
    # Who can read the hash must not be able to sign a session. With a token of its own, sessions hold at
    # every server of that token and after a restart.
    secret = secrets.token_bytes(32) if token is None else token.encode()
    for each in access:
        key = hmac.digest(secret, f"sessions of {each.hash}".encode(), "sha256")
        rights.append(Right(bytes.fromhex(each.hash), key, frozenset(each.collections)))
    if len({each.digest for each in rights}) < len(rights):
        msg = "the same token is given twice"
        raise UsageError(msg, hint="Put its collections into one [[access.tokens]].")
    return tuple(rights)


def digest_of(token: str) -> bytes:
    """Return the SHA-256 of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def right_of_token(rights: Sequence[Right], token: str) -> Right | None:
    """Return the right of a token; None if it is none of these.

    All are compared, each in constant time.
    """
    digest = digest_of(token)
    found = [each for each in rights if hmac.compare_digest(digest, each.digest)]
    return found[0] if found else None


def right_of_request(rights: Sequence[Right], headers: Headers) -> Right | None:
    """Return the right of a request: by the token it carries, else by the session of its browser."""
    token = bearer_token(headers)
    right = None if token is None else right_of_token(rights, token)
    if right is not None:
        return right
    cookies = headers.get("cookie", "")
    return next((each for each in rights if has_session(cookies, each.session_key)), None)


def bearer_token(headers: Headers) -> str | None:
    """Return the token that a request carries (RFC 6750); None without one, and with several."""
    values = headers.getlist("authorization")
    scheme, _, value = values[0].partition(" ") if len(values) == 1 else ("", "", "")
    return value.strip() if scheme.lower() == "bearer" else None
