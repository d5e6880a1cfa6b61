"""Where a server listens, and the names under which requests reach it."""

from __future__ import annotations

import errno
import ipaddress
import os
import re
import socket
from dataclasses import dataclass

from mdvec.errors import ListenError, UsageError

_AUTHORITY = re.compile(r"(?P<host>\[[0-9a-f:.]+\]|[\w.-]+)(?::(?P<port>\d{1,5}))?", re.IGNORECASE)
_LAST_PORT = 65535

DEFAULT_PORTS = {"http": 80, "https": 443}
"""The port that is meant where none is written, by scheme."""

_LOCALHOST = "localhost"
# Connections that wait to be accepted.
_BACKLOG = 128


@dataclass(frozen=True, slots=True)
class Authority:
    """A host with or without a port, as URLs and the headers Host and Origin have it.

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
    def is_address(self) -> bool:
        """Whether the host is an IP address and no name."""
        return _ip(self.host) is not None

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it. Of all names, ``localhost`` alone is known to be so."""
        address = _ip(self.host)
        if isinstance(address, ipaddress.IPv6Address):
            address = address.ipv4_mapped or address
        return self.host == _LOCALHOST if address is None else address.is_loopback

    @property
    def is_wildcard(self) -> bool:
        """Whether it stands for every address of the machine."""
        address = _ip(self.host)
        return address is not None and address.is_unspecified


def parse_authority(text: str) -> Authority | None:
    """Read ``HOST``, ``HOST:PORT`` or ``[IPV6]:PORT``; None when it is neither."""
    found = _AUTHORITY.fullmatch(text)
    if found is None:
        return None
    host = found["host"].lower()
    if host.startswith("["):
        host = host[1:-1]
        if _ip(host) is None:
            return None
    port = int(found["port"]) if found["port"] else None
    return None if port is not None and port > _LAST_PORT else Authority(host, port)


def parse_origin(text: str) -> tuple[str, Authority] | None:
    """Read ``SCHEME://HOST[:PORT]``; the scheme in lower case, None when it is no origin."""
    scheme, separator, rest = text.lower().partition("://")
    authority = parse_authority(rest) if separator else None
    return None if authority is None else (scheme, authority)


def canonical_origin(text: str) -> str | None:
    """Return ``SCHEME://HOST[:PORT]`` as browsers write it: in lower case, without the port of the scheme.

    Returns:
        The one spelling of an origin (RFC 6454, section 6.2); None when it is none.
    """
    origin = parse_origin(text)
    if origin is None:
        return None
    scheme, authority = origin
    port = None if authority.port == DEFAULT_PORTS.get(scheme) else authority.port
    return f"{scheme}://{Authority(authority.host, port)}"


def parse_address(text: str) -> Authority:
    """Read where to listen: ``HOST:PORT``, ``[IPV6]:PORT`` or a port of this machine alone.

    Returns:
        Host and port; port 0 stands for any free one.

    Raises:
        UsageError: If it is none of them.
    """
    authority = parse_authority(f"127.0.0.1:{text}" if text.isdecimal() else text)
    if authority is None or authority.port is None:
        msg = f"not an address to listen at: {text!r}"
        raise UsageError(msg, hint="Write 127.0.0.1:8765, [::1]:8765, or 127.0.0.1:0 for any free port.")
    return authority


def bind(authority: Authority) -> socket.socket:
    """Start to listen.

    Args:
        authority: Where, with a port; port 0 takes a free one.

    Returns:
        The listening socket; its name has the real port.

    Raises:
        ListenError: If the address is taken, or not one of this machine.
    """
    # A name is resolved here once, so that what is listened at and what is guarded are the same.
    host = "127.0.0.1" if authority.host == _LOCALHOST else authority.host
    try:
        [(family, _, _, _, place), *_] = socket.getaddrinfo(
            host, authority.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        listener = socket.create_server(
            place[:2] if family == socket.AF_INET else place,
            family=family,
            backlog=_BACKLOG,
            # Only :: itself is meant to take IPv4, too.
            dualstack_ipv6=family == socket.AF_INET6
            and authority.is_wildcard
            and socket.has_dualstack_ipv6(),
        )
    except OSError as error:
        raise _listen_error(authority, error) from error
    listener.settimeout(0)
    return listener


def _listen_error(authority: Authority, error: OSError) -> ListenError:
    if isinstance(error, socket.gaierror):
        return ListenError(f"there is no host {authority.host!r}", hint="Check the name given with --http.")
    match error.errno:
        case errno.EADDRINUSE:
            msg = f"port {authority.port} of {authority.host} is in use"
            free = Authority(authority.host, 0)
            hint = f"Stop what listens there, or take another port: --http {free} finds a free one."
        case errno.EADDRNOTAVAIL:
            msg = f"{authority.host} is not an address of this machine"
            hint = "Listen at 127.0.0.1, or at an address this machine has."
        case errno.EACCES:
            msg = f"port {authority.port} may not be used by this user"
            hint = "Take a port above 1023."
        case _:
            msg = f"cannot listen at {authority}: {os.strerror(error.errno) if error.errno else error}"
            hint = "Listen at 127.0.0.1, or choose another port."
    return ListenError(msg, hint=hint)


def _ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
