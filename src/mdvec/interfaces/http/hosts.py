"""Decides which names a server is known under, and which web pages may use it."""

from __future__ import annotations

from mdvec.interfaces.http.address import (
    DEFAULT_PORTS,
    Authority,
    canonical_origin,
    parse_authority,
    parse_origin,
)
from mdvec.interfaces.http.options import ServerOptions

_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


def is_known_host(value: str, options: ServerOptions, port: int) -> bool:
    """Whether a Host header names this server.

    Args:
        value: The header.
        options: Where the server listens, and its further names.
        port: The port that is really listened at.
    """
    authority = parse_authority(value)
    return authority is not None and _is_known(authority, DEFAULT_PORTS["http"], options, port)


def is_known_origin(value: str, options: ServerOptions, port: int) -> bool:
    """Whether an Origin header names this server, or a place whose pages may use it.

    Args:
        value: The header.
        options: Where the server listens, and whom it lets in.
        port: The port that is really listened at.
    """
    if canonical_origin(value) in options.allowed_origins:
        return True
    origin = parse_origin(value)
    if origin is None:
        return False
    scheme, authority = origin
    return scheme in DEFAULT_PORTS and _is_known(authority, DEFAULT_PORTS[scheme], options, port)


def _is_known(authority: Authority, default_port: int, options: ServerOptions, port: int) -> bool:
    asked = Authority(authority.host, default_port if authority.port is None else authority.port)
    if any(each.host == asked.host and each.port in (None, asked.port) for each in options.allowed_hosts):
        return True
    bound = options.address
    if asked.port != port or asked.is_wildcard:
        return False
    if asked.host in _LOOPBACK_NAMES and (bound.is_loopback or bound.is_wildcard):
        return True
    # Who listens at every address goes by many; what was rebound is a name, never an address.
    return asked.host == bound.host or (bound.is_wildcard and asked.is_address)
