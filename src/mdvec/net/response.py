"""The response of a service: its JSON, its error message, and the waits before the next request."""

from __future__ import annotations

import email.utils
import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from mdvec.errors import ServiceAnswerError

_MAX_MESSAGE_CHARS = 300

_DURATION = re.compile(r"(\d+(?:\.\d+)?)s")
_CREDENTIALS = re.compile(r"(?<=//)[^/@\s]+@")
_SECRET_PARAMETERS = re.compile(r"(?<=[?&])(key|api_key|token|access_token)=[^&\s\"']+", re.IGNORECASE)
_SHORTEST_SECRET_CHARS = 4
_PART_CHARS = 8  # so much of a secret is hidden where a service repeats a part of it
_HIDDEN = "***"


class RetryPolicy(Struct, frozen=True):
    """The limits of repeating a request: how often it is sent, and how long it waits.

    Attributes:
        attempts: Most times it is sent.
        max_wait_s: A service that wants to be left alone for longer, or that has taken longer to fail, is
            given up at once.
    """

    attempts: int = 6
    max_wait_s: float = 900.0


class Response(Struct, frozen=True):
    """A response, read to its end.

    Attributes:
        service: Name of the service, for people.
        status: HTTP status.
        headers: Looked up by lower-case names.
        content: The body; empty when it was written to a file.
    """

    service: str
    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def text(self) -> str:
        """The body as UTF-8; other bytes are replaced."""
        return self.content.decode("utf-8", "replace")

    def json(self) -> Any:
        """Return the body, parsed.

        ``NaN`` and ``Infinity``, which are not JSON but are sent, become floats.

        Raises:
            ServiceAnswerError: If it is not JSON, only the beginning of it, or nested too deep.
        """
        try:
            return json.loads(self.content)
        except (ValueError, RecursionError) as error:
            msg = f"{self.service} answers with {len(self.content):,} bytes that are not JSON: {error}"
            raise ServiceAnswerError(msg, status=self.status) from error

    def error_message(self) -> str:
        """Return the service's own words about an error: one line, for people; empty without any."""
        try:
            found = _message(json.loads(self.content))
        except RecursionError:
            found = ""
        except ValueError:
            is_page = "html" in self.headers.get("content-type", "")
            found = "" if is_page else self.text
        line = " ".join(found.split())
        return line if len(line) <= _MAX_MESSAGE_CHARS else f"{line[: _MAX_MESSAGE_CHARS - 1]}…"

    def error_details(self) -> list[dict[str, Any]]:
        """Return the details of an error in Google's format; an empty list for any other format."""
        try:
            body = json.loads(self.content)
        except (ValueError, RecursionError):
            return []
        if isinstance(body, list) and body:  # Google's streams and its OpenAI endpoint wrap errors so
            body = body[0]
        error = body.get("error") if isinstance(body, dict) else None
        details = error.get("details") if isinstance(error, dict) else None
        return [each for each in details if isinstance(each, dict)] if isinstance(details, list) else []

    def retry_after(self, now: float) -> float | None:
        """Return how long the service wants to be left alone.

        Understood are ``Retry-After`` in seconds or as a date (RFC 9110), ``retry-after-ms`` (OpenAI and
        Azure) and ``retryDelay`` in the body (google.rpc.RetryInfo).

        Args:
            now: In seconds since 1970.

        Returns:
            Seconds, at least 0; None when it does not say.
        """
        if (milliseconds := _number(self.headers.get("retry-after-ms", ""))) is not None:
            return milliseconds / 1000
        if header := self.headers.get("retry-after", ""):
            seconds = _number(header)
            return _until(header, now) if seconds is None else seconds
        for detail in self.error_details():
            if match := _DURATION.fullmatch(str(detail.get("retryDelay", ""))):
                return float(match[1])
        return None


def redacted(text: str, secrets: Iterable[str]) -> str:
    """Return a text without secrets and without credentials in addresses.

    Args:
        text: Such as a service's message about a wrong key.
        secrets: Sent to it; those of less than four characters are too common to be found. Of longer ones,
            parts of eight characters are hidden, too, and how they are written in addresses.
    """
    secrets = [*secrets]
    for spelled in (*secrets, *(quote(each, safe="") for each in secrets)):
        if len(spelled) >= _SHORTEST_SECRET_CHARS:
            text = text.replace(spelled, _HIDDEN)
    for secret in secrets:
        text = _without_parts(text, secret)
    return _SECRET_PARAMETERS.sub(rf"\1={_HIDDEN}", _CREDENTIALS.sub(f"{_HIDDEN}@", text))


def _without_parts(text: str, secret: str) -> str:
    """Hide eight and more characters in a row that are part of a secret."""
    windows = range(len(secret) - _PART_CHARS + 1)
    parts = {secret[at : at + _PART_CHARS] for at in windows if " " not in secret[at : at + _PART_CHARS]}
    kept: list[str] = []
    hidden_to = 0
    for at, character in enumerate(text):
        if text[at : at + _PART_CHARS] in parts:
            if at >= hidden_to:
                kept.append(_HIDDEN)
            hidden_to = at + _PART_CHARS
        if at >= hidden_to:
            kept.append(character)
    return "".join(kept)


def _message(body: object) -> str:
    """Return the message in an error of Google, OpenAI, GitHub, Voyage, FastAPI, Ollama and their like."""
    match body:
        case str():
            return body
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


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return max(0.0, number) if number < float("inf") else None  # nor "nan"


def _until(date: str, now: float) -> float | None:
    try:
        moment = email.utils.parsedate_to_datetime(date)
    except (TypeError, ValueError):
        return None
    if moment.tzinfo is None:  # "-0000" is Greenwich too
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, moment.timestamp() - now)
