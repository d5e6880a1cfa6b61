"""``/api/NAME`` for each operation, its OpenAPI description at ``/api``, and ``GET /search?q=…``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from http import HTTPStatus

from anyio import CapacityLimiter, to_thread
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from mdvec import __version__
from mdvec.errors import InvalidArgumentsError, UsageError, did_you_mean, sentences
from mdvec.interfaces.answers import JsonObject, to_json
from mdvec.interfaces.errors import hint_for_client, translate_for_client
from mdvec.interfaces.http.guard import JSON, MAX_REQUESTS, WebDoor, is_json, problem, status_of
from mdvec.interfaces.operations import OPERATIONS, Operation
from mdvec.interfaces.parsing import decode_json, parse
from mdvec.interfaces.printing import short_repr
from mdvec.workspace import Workspace

API_PATH = "/api"
"""The path of the description; the paths of the operations are below it."""

PREFIX = f"{API_PATH}/"
"""The prefix of the paths of the operations."""

_OWN_SITES = ("none", "same-origin")  # typed by a person, or sent by a page of this server
_PROBLEM = {
    "description": "A problem, as RFC 9457 has it, with the members code, hint and retry.",
    "content": {"application/problem+json": {"schema": {"type": "object"}}},
}


def api_routes(workspace: Workspace) -> WebDoor:
    """Return the routes of the operations."""
    threads = CapacityLimiter(MAX_REQUESTS)
    say = partial(hint_for_client, prefix=PREFIX)

    def answered(operation: Operation, given: Mapping[str, object] | bytes, path: str) -> Response:
        try:
            request = _parsed(operation, _decoded(given) if isinstance(given, bytes) else given, path)
            with workspace.explaining():
                return JSONResponse(to_json(operation.run(workspace, request, say)))
        except Exception as error:  # noqa: BLE001 - the one place where this door translates
            failure = translate_for_client(error)
            hint = say(failure.hint)
            detail = sentences(failure.message, hint)
            return problem(status_of(error), detail, code=failure.code, hint=hint, retry=failure.retry)

    def route(path: str, operation: Operation, *methods: str) -> Route:
        async def answer(request: Request) -> Response:
            if (refused := _refusal(request)) is not None:
                return refused
            query = request.query_params
            given: Mapping[str, object] | bytes = {name: query.getlist(name) for name in query}
            if request.method == "POST":
                given = await request.body() or b"{}"
            return await to_thread.run_sync(answered, operation, given, path, limiter=threads)

        return Route(path, answer, methods=list(methods))

    async def describe(_: Request) -> Response:
        return JSONResponse(description())

    async def refuse(request: Request) -> Response:
        name, known = request.path_params["name"], [each.name for each in OPERATIONS]
        if name in known:
            raise HTTPException(HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": "POST"})
        near = did_you_mean(name, known) or f"; {API_PATH} lists all."
        return problem(HTTPStatus.NOT_FOUND, f"There is no operation {short_repr(name)}{near}")

    routes = [
        route(f"{API_PATH}/{each.name}", each, *(() if each.changes else ("GET",)), "POST")
        for each in OPERATIONS
    ]
    [search] = [each for each in OPERATIONS if each.name == "search"]
    others = Route(f"{PREFIX}{{name}}", refuse, methods=["GET", "POST"])
    return WebDoor([*routes, route("/search", search, "GET"), Route(API_PATH, describe), others])


def _refusal(request: Request) -> Response | None:
    """Return the answer to a request of a page elsewhere, or of a form that this door does not take."""
    problem_of = partial(problem, code=UsageError.code, hint="", retry=False)
    # An image or a link sends no Origin, and may make the server work.
    if request.headers.get("sec-fetch-site", "none") not in _OWN_SITES:
        return problem_of(HTTPStatus.FORBIDDEN, "A page of another site sent this request.")
    if request.method != "POST":
        return None
    if request.query_params:
        return problem_of(HTTPStatus.BAD_REQUEST, "A POST takes its arguments in the body.")
    if not is_json(request.headers):
        detail = f"Send the arguments with Content-Type: {JSON}."
        return problem_of(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, detail)
    return None


@cache
def description() -> JsonObject:
    """Return the operations as OpenAPI 3.1 has them."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "mdvec", "version": __version__},
        "paths": {f"{API_PATH}/{each.name}": _described(each) for each in OPERATIONS},
    }


def _described(operation: Operation) -> JsonObject:
    schema = operation.request_schema
    answer = {"description": operation.text, "content": {JSON: {"schema": operation.answer_schema}}}
    common = {"summary": operation.text, "responses": {"200": answer, "default": _PROBLEM}}
    body = {"content": {JSON: {"schema": schema}}, "required": bool(schema["required"])}
    post = {**common, "operationId": operation.name, "requestBody": body}
    if operation.changes:
        return {"post": post}
    parameters = [
        {"name": name, "in": "query", "required": name in schema["required"], "schema": each}
        for name, each in schema["properties"].items()
    ]
    get = {**common, "operationId": f"get_{operation.name}", "parameters": parameters}
    return {"get": get, "post": post}


def _decoded(body: bytes) -> Mapping[str, object]:
    """Return the arguments in a body.

    Raises:
        InvalidArgumentsError: If it is not an object of JSON.
    """
    given = decode_json(body)
    if isinstance(given, dict):
        return given
    msg = "the arguments are an object"
    raise InvalidArgumentsError(msg)


def _parsed(operation: Operation, given: Mapping[str, object], path: str) -> object:
    """Return arguments as a request.

    Raises:
        InvalidArgumentsError: If one of them is unknown, cannot be used, or is given twice.
    """
    try:
        return parse(given, operation.request, operation.takes, **operation.fixed)
    except InvalidArgumentsError as error:
        is_search = operation.name == "search"
        hint = f"Give a search as {path}?q=WORDS&limit=5." if is_search else f"{API_PATH} says what it takes."
        raise InvalidArgumentsError(str(error), hint=hint) from error
