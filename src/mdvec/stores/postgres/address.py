"""The address of a server, without what must not be seen of it."""

from __future__ import annotations

import re
from urllib.parse import unquote

from mdvec.text.addresses import without_password

_CREDENTIALS = re.compile(r"(?<=://)(\S*)@")
_SECRET_PARAMETERS = re.compile(r"[?&][^=&\s]*(?:pass|key|token|secret)[^=&\s]*=([^&\s]+)", re.IGNORECASE)
_SEPARATORS = re.compile(r"[:/@?#\[\]]")


def without_secrets(message: str, address: str) -> str:
    """Take everything out of a message that is secret in an address, also in parts.

    libpq reads an address with an unescaped sign in its password in another way than its author, and repeats
    a piece of the password as a port or a host that cannot be used.
    """
    found = _CREDENTIALS.search(address)
    credentials = found[1] if found else ""
    secrets = {credentials.partition(":")[2], *_SECRET_PARAMETERS.findall(address)}
    if _SEPARATORS.search(credentials.partition(":")[2]):
        secrets.add(credentials)
    pieces = {part for secret in secrets for part in (secret, *_SEPARATORS.split(secret))}
    for piece in sorted({*pieces, *map(unquote, pieces)} - {""}, key=len, reverse=True):
        message = message.replace(piece, "***")
    return without_password(message)
