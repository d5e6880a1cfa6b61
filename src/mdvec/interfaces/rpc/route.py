"""JSON-RPC as ``POST /rpc``: one message a request, one answer a response, and no notifications."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mdvec.interfaces.errors import OnBug
from mdvec.interfaces.http.guard import MAX_REQUESTS, RPC_PATH, WebDoor, problem
from mdvec.interfaces.http.options import ServerOptions
from mdvec.interfaces.rpc.dispatcher import RpcClient
from mdvec.interfaces.rpc.methods import all_methods
from mdvec.interfaces.streams import MAX_LINE_BYTES

if TYPE_CHECKING:
    from mdvec.config import Config
    from mdvec.workspace import Workspace

_JSON = "application/json"


def rpc_routes(workspace: Workspace, _: Config, __: ServerOptions, *, on_bug: OnBug) -> WebDoor:
    """Return the route of JSON-RPC."""
    methods = all_methods(workspace)
    threads = CapacityLimiter(MAX_REQUESTS)

    def answered(message: bytes) -> bytes | None:
        sent: list[bytes] = []
        client = RpcClient(methods, sent.append, on_bug, notifies=False, around=workspace.explaining)
        client.receive(message)
        client.wait()
        client.close()
        return sent[0] if sent else None

    async def answer(request: Request) -> Response:
        # A browser asks the server for leave first when a page elsewhere sends this type.
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _JSON:
            return problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"A message has the type {_JSON}.")
        response = await to_thread.run_sync(answered, await request.body(), limiter=threads)
        if response is None:
            return Response(status_code=HTTPStatus.NO_CONTENT)
        return Response(response, media_type=_JSON)

    return WebDoor([Route(RPC_PATH, answer, methods=["POST"])], body_limits={RPC_PATH: MAX_LINE_BYTES})
