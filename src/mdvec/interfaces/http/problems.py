"""Errors as problem details (RFC 9457)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus

from starlette.responses import Response


def problem(status: HTTPStatus, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return an answer that says what is wrong, to people and programs.

    Args:
        status: The HTTP status.
        detail: One sentence; it repeats nothing of the request.
        headers: Further headers.
    """
    body = {"type": "about:blank", "title": status.phrase, "status": status.value, "detail": detail}
    return Response(json.dumps(body), status.value, headers, media_type="application/problem+json")
