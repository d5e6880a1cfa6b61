"""Hosts and ports, as addresses to listen at and as the headers Host and Origin have them."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from mdvec.errors import UsageError

DEFAULT_PORTS = {"http": 80, "https": 443}
"""The port of a scheme where none is written."""

_AUTHORITY = re.compile(r"(?P<host>\[[0-9a-f:.]+\]|[\w.-]+)(?::(?P<port>\d{1,5}))?", re.IGNORECASE)
_LAST_PORT = 65535


@dataclass(frozen=True, slots=True)
class Authority:
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
        """True if it stands for every address of the machine."""
        return self.ip is not None and self.ip.is_unspecified


def parse_authority(text: str) -> Authority | None:
    """Return ``HOST``, ``HOST:PORT`` or ``[IPV6]:PORT`` in its parts; None if it is none of them."""
    match = _AUTHORITY.fullmatch(text)
    if match is None:
        return None
    host = match["host"].lower()
    authority = Authority(host.strip("[]"), int(match["port"]) if match["port"] else None)
    if (host.startswith("[") and authority.ip is None) or (authority.port or 0) > _LAST_PORT:
        return None
    return authority


def parse_address(text: str) -> Authority:
    """Return the address to listen at that ``HOST:PORT``, ``[IPV6]:PORT`` or a port of this machine means.

    Returns:
        Host and port; port 0 stands for any free one.

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
