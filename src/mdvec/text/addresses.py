"""Addresses such as ``scheme://host/path``: their schemes, and their secrets hidden. Pure functions."""

from __future__ import annotations

import re

# Two characters at least: one letter is a drive of Windows.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
# Up to the last "@", since a password may contain one, and slashes, though it should not.
_CREDENTIALS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(\S*)@")
# An address by itself may contain anything.
_WHOLE_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(.*)@", re.DOTALL)
# The user of a database is not a secret, and a suggested command needs it. Elsewhere it may be a token.
_USER = re.compile(r"[\w.%-]+")
_SECRETS = re.compile(r"(?<=[?&])([^=&\s]*(?:pass|key|token|secret)[^=&\s]*)=[^&\s\"']+", re.IGNORECASE)

HIDDEN = "***"
"""What stands for a user name or a secret."""


def scheme_of(location: str) -> str:
    """Return the scheme of an address such as ``postgresql://…``, in lower case; empty for a path."""
    found = _SCHEME.match(location)
    return found[1].lower() if found else ""


def without_password(text: str) -> str:
    """Hide passwords in the addresses of a text, and user names but those of databases.

    Args:
        text: An address, or text that contains addresses.
    """
    pattern = _WHOLE_ADDRESS if scheme_of(text) else _CREDENTIALS
    return _SECRETS.sub(rf"\1={HIDDEN}", pattern.sub(_without_secret, text))


def _without_secret(address: re.Match[str]) -> str:
    scheme, credentials = address.groups()
    user, colon, _ = credentials.partition(":")
    if scheme.lower() not in ("postgres", "postgresql") or not _USER.fullmatch(user):
        return f"{scheme}://{HIDDEN}@"
    return f"{scheme}://{user}{colon}{HIDDEN if colon else ''}@"
