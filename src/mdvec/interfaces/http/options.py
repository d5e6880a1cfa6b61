"""The options of an HTTP server: where it listens, which names and pages it accepts, and its token."""

from __future__ import annotations

import ipaddress
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import Struct

from mdvec.config.schema import AccessToken
from mdvec.errors import UsageError
from mdvec.interfaces.http.rights import EndedSessions, Right, rights_of

DEFAULT_PORTS = {"http": 80, "https": 443}
"""The port of a scheme where none is written."""

_AUTHORITY = re.compile(r"(?P<host>\[[0-9a-f:.]+\]|[\w.-]+)(?::(?P<port>\d{1,5}))?", re.IGNORECASE)
_LAST_PORT = 65535


class Authority(Struct, frozen=True):
    """A host with or without a port.

    Attributes:
        host: Name or address in lower case; IPv6 without brackets.
        port: Its port; None when none is written.
    """

    host: str
    port: int | None = None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port is None else f"{host}:{self.port}"

    @property
    def ip(self) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
        """The IP address; None for a name."""
        try:
            address = ipaddress.ip_address(self.host)
        except ValueError:
            return None
        return getattr(address, "ipv4_mapped", None) or address

    @property
    def is_loopback(self) -> bool:
        """True if only this machine can reach it. ``localhost`` is the only name known to be so."""
        return self.host == "localhost" if self.ip is None else self.ip.is_loopback

    @property
    def is_wildcard(self) -> bool:
        """True if it is for every address of the machine."""
        return self.ip is not None and self.ip.is_unspecified


def parse_authority(text: str) -> Authority | None:
    """Parse ``HOST``, ``HOST:PORT`` or ``[IPV6]:PORT``; return None for any other text."""
    match = _AUTHORITY.fullmatch(text)
    if match is None:
        return None
    host = match["host"].lower()
    authority = Authority(host.strip("[]"), int(match["port"]) if match["port"] else None)
    if (host.startswith("[") and authority.ip is None) or (authority.port or 0) > _LAST_PORT:
        return None
    return authority


def parse_address(text: str) -> Authority:
    """Parse the address to listen at: ``HOST:PORT``, ``[IPV6]:PORT``, or a port of this machine.

    Returns:
        Host and port; port 0 means any free one.

    Raises:
        UsageError: If it is none of them.
    """
    authority = parse_authority(f"127.0.0.1:{text}" if text.isdecimal() else text)
    if authority is None or authority.port is None:
        msg = f"not an address to listen on: {text!r}"
        raise UsageError(msg, hint="Write 127.0.0.1:8765, [::1]:8765, or 127.0.0.1:0 for any free port.")
    return authority


def canonical_origin(text: str) -> str | None:
    """Return ``SCHEME://HOST[:PORT]`` as browsers write it: in lower case, without the port of the scheme.

    Returns:
        The one spelling of an origin (RFC 6454, section 6.2); None if it is not an origin.
    """
    scheme, separator, rest = text.lower().partition("://")
    authority = parse_authority(rest) if separator and scheme else None
    if authority is None:
        return None
    port = None if authority.port == DEFAULT_PORTS.get(scheme) else authority.port
    return f"{scheme}://{Authority(authority.host, port)}"


TOKEN_VARIABLE = "MDVEC_TOKEN"  # noqa: S105 - the name of a variable
"""Environment variable with the token."""

MIN_TOKEN_CHARS = 16
"""A shorter token can be guessed."""

# A token as a header can hold it behind "Bearer ": RFC 6750, section 2.1.
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
_MAKE_ONE = 'Make one with: python3 -c "import secrets; print(secrets.token_urlsafe(32))"'
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The address at which a server listens, and the requests that it accepts.

    Attributes:
        address: Where it listens; port 0 for any free one.
        rights: Of the tokens, one of which a request must carry; empty when none is needed.
        allowed_hosts: Further names of the server.
        allowed_origins: Web pages of other hosts that may use it, as browsers write them (see
            :func:`canonical_origin`).
        warnings: For its owner.
        any_port: Whether a free port takes the place of one in use.
        ended: The sessions of browsers in which somebody has signed out.
    """

    address: Authority
    rights: tuple[Right, ...] = ()
    allowed_hosts: tuple[Authority, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    any_port: bool = False
    ended: EndedSessions = field(default_factory=dict, compare=False)

    def accepts_host(self, value: str, port: int, default_port: int = DEFAULT_PORTS["http"]) -> bool:
        """Return True if a Host header names this server.

        ``default_port`` is meant where the header has none.
        """
        authority = parse_authority(value)
        if authority is None:
            return False
        host, requested = authority.host, default_port if authority.port is None else authority.port
        if any(each.host == host and each.port in (None, requested) for each in self.allowed_hosts):
            return True
        if requested != port or authority.is_wildcard:
            return False
        if host in _LOOPBACK_NAMES and (self.address.is_loopback or self.address.is_wildcard):
            return True
        # A server at every address has many. DNS rebinding needs a name, so addresses are safe.
        return host == self.address.host or (self.address.is_wildcard and authority.ip is not None)

    def accepts_origin(self, value: str, port: int) -> bool:
        """Return True if an Origin header names this server, or a place whose pages may use it."""
        origin = canonical_origin(value)
        if origin is None or origin in self.allowed_origins:
            return origin is not None
        scheme, _, host = origin.partition("://")
        return scheme in DEFAULT_PORTS and self.accepts_host(host, port, DEFAULT_PORTS[scheme])


def server_options(
    address: str,
    *,
    env: Mapping[str, str],
    token_file: Path | None = None,
    access: Sequence[AccessToken] = (),
    insecure: bool = False,
    allowed_hosts: Sequence[str] = (),
    allowed_origins: Sequence[str] = (),
    any_port: bool = False,
) -> ServerOptions:
    """Return the options, checked.

    A token in a file wins over one in the environment.

    Raises:
        UsageError: If the options contradict each other, or would let everybody in.
        OSError: If the token cannot be read.
    """
    place = parse_address(address)
    warnings = []
    token = None
    if token_file is not None:
        token = _checked_token(token_file.read_text(encoding="utf-8", errors="replace"), str(token_file))
        # Windows has no such mode.
        if sys.platform != "win32" and token_file.stat().st_mode & 0o077:
            command = shlex.join(("chmod", "600", str(token_file)))
            warnings.append(f"{token_file} can be read by other users; run '{command}'")
    elif TOKEN_VARIABLE in env:
        token = _checked_token(env[TOKEN_VARIABLE], TOKEN_VARIABLE)
    rights = rights_of(token, access)
    if not place.is_loopback and rights:
        warnings.append("HTTP is not encrypted: outside a network you trust, put TLS in front of it")
    elif not place.is_loopback and insecure:
        warnings.append(f"everybody who can reach {place.host} can read what is indexed (--insecure)")
    elif not place.is_loopback:
        msg = f"{place.host} can be reached from other machines, but no token is set"
        raise UsageError(
            msg,
            hint=f"Give --token-file FILE or set {TOKEN_VARIABLE}, or listen at 127.0.0.1. "
            "To let everybody in, run 'mdvec serve' with --insecure.",
        )
    return ServerOptions(
        place,
        rights,
        tuple(map(_checked_host, allowed_hosts)),
        tuple(map(_checked_origin, allowed_origins)),
        tuple(warnings),
        any_port,
    )


def _checked_token(text: str, place: str) -> str:
    token = text.strip()
    if not token:
        msg = f"{place}: contains no token"
    elif not _TOKEN.fullmatch(token):
        msg = f"{place}: a token is one word of letters, digits and - . _ ~ + / ="
    elif len(token) < MIN_TOKEN_CHARS:
        msg = f"{place}: a token has at least {MIN_TOKEN_CHARS} characters"
    else:
        return token
    raise UsageError(msg, hint=_MAKE_ONE)


def _checked_host(text: str) -> Authority:
    authority = parse_authority(text)
    if authority is None:
        msg = f"not a host: {text!r}"
        raise UsageError(msg, hint="Write --allowed-host notes.example.com, or with its port.")
    return authority


def _checked_origin(text: str) -> str:
    origin = canonical_origin(text.removesuffix("/"))
    if origin is None:
        msg = f"not an origin: {text!r}"
        raise UsageError(msg, hint="Write --allowed-origin https://notes.example.com, without a path.")
    return origin
