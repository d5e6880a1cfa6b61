"""The variables of a client's entry: those written into it, and the one that holds a server's token."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from mdvec.errors import UsageError

_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def variables_written(given: Sequence[str], env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables to write into an entry, with their values.

    Args:
        given: ``NAME=VALUE``, or ``NAME`` for the value it has now.
        env: Environment variables.

    Raises:
        UsageError: If one is no name of a variable, or is not set.
    """
    written: dict[str, str] = {}
    for variable in given:
        name, equals, value = variable.partition("=")
        check_variable(name, "Write --env NAME, or --env NAME=VALUE.")
        if not equals and name not in env:
            msg = f"the variable {name} is not set here"
            raise UsageError(msg, hint=f"Set it first, or write --env {name}=VALUE.")
        written[name] = value if equals else env[name]
    return written


def check_variable(name: str, hint: str) -> None:
    """Refuse a text that is not the name of a variable.

    Raises:
        UsageError: If it is not.
    """
    if not _VARIABLE_NAME.fullmatch(name):
        msg = f"not the name of a variable: {name!r}"
        raise UsageError(msg, hint=hint)


def token_variable(url: str | None, name: str | None, env: Mapping[str, str]) -> str:
    """Return the variable the client takes a server's token from; empty for none.

    Args:
        url: Where the server is; None if the client starts it.
        name: The name that was given; None to choose one.
        env: Environment variables.

    Raises:
        UsageError: If the URL or the name cannot be used.
    """
    from mdvec.interfaces.http.options import TOKEN_VARIABLE, Authority

    if url is None:
        if name is not None:
            msg = "--token-env is for a server that is running"
            raise UsageError(msg, hint="Give --http URL too.")
        return ""
    host = _checked_host(url)
    if name is None:
        # On loopback a server needs no token, and some clients refuse to start with a variable not set.
        return TOKEN_VARIABLE if TOKEN_VARIABLE in env or not Authority(host).is_loopback else ""
    if name:
        check_variable(name, "Give a name such as MDVEC_TOKEN; mdvec never writes the token itself.")
    return name


def endpoint(url: str) -> str:
    """Return the URL at which a server speaks MCP; an address without a path is that of the whole server."""
    base = url.rstrip("/")
    return base if urlsplit(base).path else f"{base}/mcp"


def _checked_host(url: str) -> str:
    try:
        parts = urlsplit(url)
        host = parts.hostname
        usable = parts.scheme in ("http", "https") and bool(host) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or host is None:
        msg = f"not the URL of a server: {url!r}"
        raise UsageError(msg, hint="Write it as 'mdvec serve --http' prints it: http://127.0.0.1:8765/mcp.")
    if parts.username is not None or parts.password is not None:
        msg = "a URL with a password would be written into the client's file"
        raise UsageError(msg, hint="Use --token-env.")
    return host
