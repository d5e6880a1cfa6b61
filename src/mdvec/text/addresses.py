"""Addresses such as ``scheme://host/path``: their schemes, and their secrets hidden. Pure functions."""

from __future__ import annotations

import re

# Two characters at least: one letter is a drive of Windows.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
# Up to the last "@", since a password may contain one, and slashes, though it should not.
_CREDENTIALS = re.compile(r"(?<=://)\S*@")
_SECRETS = re.compile(r"(?<=[?&])([^=&\s]*(?:pass|key|token|secret)[^=&\s]*)=[^&\s\"']+", re.IGNORECASE)

HIDDEN = "***"
"""What stands for a user name or a secret."""


def scheme_of(location: str) -> str:
    """Return the scheme of an address such as ``postgresql://…``, in lower case; empty for a path."""
    found = _SCHEME.match(location)
    return found[1].lower() if found else ""


def without_password(text: str) -> str:
    """Hide user names and passwords in the addresses of a text."""
    return _SECRETS.sub(rf"\1={HIDDEN}", _CREDENTIALS.sub(f"{HIDDEN}@", text))
