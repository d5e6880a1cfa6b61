"""What the errors of a service mean: which can be tried again with less, and the next step for the others."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mdvec.embedding.remote.provider import Service
from mdvec.embedding.windows import Window
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


def may_be_too_much(error: ServiceError) -> bool:
    """Return True if fewer texts at once may be accepted."""
    if not isinstance(error, ServiceRefusedError):
        return False
    if error.status == _BAD_REQUEST:
        return bool(_ABOUT_SIZE.search(str(error))) and not _ABOUT_KEYS.search(str(error))
    return error.status in {_TOO_LARGE, _UNPROCESSABLE}


def too_long(error: ServiceError, window: Window) -> EmbeddingError:
    """Return the error for a single text that the service finds too large."""
    msg = f"{error}; the text has {len(window.text):,} characters, about {window.tokens:,} tokens"
    return EmbeddingError(msg, hint="Make chunks smaller: 'mdvec import --chunk-size N'.")


def as_embedding_error(error: ServiceError, service: Service, offered: Sequence[str]) -> EmbeddingError:
    """Return an error of the service in terms of embedding; ``offered`` are the models that it lists."""
    message = str(error)
    if error.retry:
        if error.status is None:
            hint = (
                f"Is it running, and can this machine reach it? [{service.section}] base_url is its address."
            )
            return EmbedderBusyError(message, hint=hint)
        return EmbedderBusyError(message)
    if error.status in {_UNAUTHORISED, _FORBIDDEN} or (
        error.status == _BAD_REQUEST and _ABOUT_KEYS.search(message)
    ):
        return EmbedderUnavailableError(message, hint=service.key.hint)
    if error.status == _NOT_FOUND or (error.status == _BAD_REQUEST and _ABOUT_MODELS.search(message)):
        return EmbedderUnavailableError(message, hint=_model_hint(service, offered))
    hint = f"Check the model {service.model!r} and the settings of [{service.section}]."
    return EmbeddingError(message, hint=hint)


def _model_hint(service: Service, offered: Sequence[str]) -> str:
    if offered:
        return f"It has no model {service.model!r}, but these: {', '.join(offered)}."
    known = f" (known: {', '.join(service.known_models)})" if service.known_models else ""
    return f"Check the model {service.model!r}{known} and the address, [{service.section}] base_url."
