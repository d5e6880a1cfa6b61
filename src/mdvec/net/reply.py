"""What a service answered, and what it says went wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mdvec.errors import ServiceAnswerError

_MOST_SAID_CHARS = 300

_CREDENTIALS = re.compile(r"(?<=//)[^/@\s]+@")
_SECRET_PARAMETERS = re.compile(r"(?<=[?&])(key|api_key|token|access_token)=[^&\s\"']+", re.IGNORECASE)
_SHORTEST_SECRET_CHARS = 4
_HIDDEN = "***"


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, read to its end.

    Attributes:
        service: Who answered, for people.
        status: HTTP status.
        headers: Looked up without regard to case.
        content: The body; empty when it was written to a file.
    """

    service: str
    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def text(self) -> str:
        """The body as UTF-8; what is none is replaced."""
        return self.content.decode("utf-8", "replace")

    def json(self) -> Any:
        """Return the body, parsed.

        ``NaN`` and ``Infinity``, which are no JSON but are sent, become floats.

        Raises:
            ServiceAnswerError: If it is not JSON, or only the beginning of it.
        """
        try:
            return json.loads(self.content)
        except ValueError as error:
            msg = f"{self.service} answers with {len(self.content):,} bytes that are not JSON: {error}"
            raise ServiceAnswerError(msg, status=self.status) from error

    def said(self) -> str:
        """Return what the service says about an error: one line, for people; empty when it says nothing."""
        try:
            found = _message(json.loads(self.content))
        except ValueError:
            is_page = "html" in self.headers.get("content-type", "")
            found = "" if is_page else self.text
        line = " ".join(found.split())
        return line if len(line) <= _MOST_SAID_CHARS else f"{line[: _MOST_SAID_CHARS - 1]}…"


def redacted(text: str, secrets: Iterable[str]) -> str:
    """Hide what must not be read: secrets, and credentials in addresses.

    Args:
        text: Such as what a service says about a wrong key.
        secrets: What was sent to it; those of less than four characters are too common to be found.
    """
    for secret in secrets:
        if len(secret) >= _SHORTEST_SECRET_CHARS:
            text = text.replace(secret, _HIDDEN)
    text = _CREDENTIALS.sub(f"{_HIDDEN}@", text)
    return _SECRET_PARAMETERS.sub(rf"\1={_HIDDEN}", text)


def _message(answer: object) -> str:
    """Find the message in an error of Google, OpenAI, GitHub, Voyage, FastAPI, Ollama and their like."""
    match answer:
        case str():
            return answer
        case [first, *_]:
            return _message(first)
        case {"error": dict() as error, **others}:
            return _message(error) or _message(others)
        case {"error": str(text)} | {"message": str(text)} | {"detail": str(text)} | {"msg": str(text)}:
            return text
        case {"detail": nested} | {"message": nested}:
            return _message(nested)
        case _:
            return ""
