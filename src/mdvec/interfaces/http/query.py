"""``GET /search?q=…``: an answer as JSON, for scripts, launchers and editors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio import CapacityLimiter, to_thread
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from mdvec.errors import InvalidArgumentsError, sentences
from mdvec.interfaces import operations, wire
from mdvec.interfaces.encoding import to_json
from mdvec.interfaces.errors import OnBug, translate_for_client
from mdvec.interfaces.http.app import WebDoor
from mdvec.interfaces.http.guard import MAX_REQUESTS, problem, status_of
from mdvec.interfaces.http.options import ServerOptions
from mdvec.interfaces.parsing import parse
from mdvec.interfaces.requests import SearchRequest

if TYPE_CHECKING:
    from mdvec.config import Config
    from mdvec.workspace import Workspace

SEARCH_PATH = "/search"
"""The path of a search."""


def query_routes(workspace: Workspace, _: Config, __: ServerOptions, *, on_bug: OnBug) -> WebDoor:
    """Return the route of a search."""
    threads = CapacityLimiter(MAX_REQUESTS)

    def answered(parameters: QueryParams) -> Response:
        try:
            request = _request(parameters)
            with workspace.explaining():
                result = operations.search(workspace, request)
        except Exception as error:  # noqa: BLE001 - the one place where this door translates
            failure = translate_for_client(error, on_bug)
            detail = sentences(failure.message, failure.hint)
            return problem(
                status_of(error), detail, code=failure.code, hint=failure.hint, retry=failure.retry
            )
        return JSONResponse(to_json(wire.search_answer(result)))

    async def answer(request: Request) -> Response:
        return await to_thread.run_sync(answered, request.query_params, limiter=threads)

    return WebDoor([Route(SEARCH_PATH, answer, methods=["GET"])])


def _request(parameters: QueryParams) -> SearchRequest:
    """Return the parameters of an address as a request; ``q`` is the query, and lists are repeated.

    Raises:
        InvalidArgumentsError: If one of them is unknown, cannot be used, or stands twice.
    """
    given = {name: parameters.getlist(name) for name in parameters}
    try:
        return parse(given, SearchRequest)
    except InvalidArgumentsError as error:
        raise InvalidArgumentsError(str(error), hint="Give a search as /search?q=WORDS&limit=5.") from error
