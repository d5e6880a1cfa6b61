"""Says what a refusal means to somebody who wants vectors, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mdvec.embedding.remote.packing import Window
from mdvec.embedding.remote.provider import Provider
from mdvec.errors import (
    EmbedderBusyError,
    EmbedderUnavailableError,
    EmbeddingError,
    ServiceError,
    ServiceRefusedError,
)

_ABOUT_KEYS = re.compile(r"api.?key|credential|unauthenticated", re.IGNORECASE)
_ABOUT_SIZE = re.compile(r"too (?:long|large|big|many)|at most|maximum|exceed|max allowed", re.IGNORECASE)
_ABOUT_MODELS = re.compile(
    r"\bmodel\b.{0,80}\b(?:not (?:found|supported|exist)|unsupported|unknown|invalid)", re.IGNORECASE
)

_BAD_REQUEST, _UNAUTHORISED, _FORBIDDEN, _NOT_FOUND = 400, 401, 403, 404
_TOO_LARGE, _UNPROCESSABLE = 413, 422


def is_too_much(error: ServiceError) -> bool:
    """Whether fewer texts at once may be accepted where these were not."""
    if not isinstance(error, ServiceRefusedError):
        return False
    if error.status == _BAD_REQUEST:
        return bool(_ABOUT_SIZE.search(str(error))) and not _ABOUT_KEYS.search(str(error))
    return error.status in {_TOO_LARGE, _UNPROCESSABLE}


def too_long(error: ServiceError, window: Window) -> EmbeddingError:
    """Say that a text is refused though it was sent alone."""
    msg = f"{error}; the text has {len(window.text):,} characters, about {window.tokens:,} tokens"
    return EmbeddingError(msg, hint="Make chunks smaller: 'mdvec import --chunk-size N'.")


def translated(error: ServiceError, provider: Provider, *, offered: Sequence[str] = ()) -> EmbeddingError:
    """Say what went wrong in terms of embedding.

    Args:
        error: What the service said.
        provider: Who it is.
        offered: The models that the service lists; empty when it was not asked.
    """
    message = str(error)
    if error.retry:
        if error.status is None:
            hint = (
                f"Is it running, and can this machine reach it? [{provider.section}] base_url is its address."
            )
            return EmbedderBusyError(message, hint=hint)
        return EmbedderBusyError(message)
    if error.status in {_UNAUTHORISED, _FORBIDDEN} or (
        error.status == _BAD_REQUEST and _ABOUT_KEYS.search(message)
    ):
        return EmbedderUnavailableError(message, hint=provider.access.hint)
    if error.status == _NOT_FOUND or (error.status == _BAD_REQUEST and _ABOUT_MODELS.search(message)):
        return EmbedderUnavailableError(message, hint=_model_hint(provider, offered))
    hint = f"Check the model {provider.model!r} and the settings of [{provider.section}]."
    return EmbeddingError(message, hint=hint)


def _model_hint(provider: Provider, offered: Sequence[str]) -> str:
    if offered:
        return f"It has no model {provider.model!r}, but these: {', '.join(offered)}."
    known = ", ".join(provider.known_models)
    return (
        f"Check the model {provider.model!r} (known: {known}) and the address, [{provider.section}] base_url."
    )
