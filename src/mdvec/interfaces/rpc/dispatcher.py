"""JSON-RPC 2.0 (https://www.jsonrpc.org/specification): messages in, messages out, for any transport.

A request runs in a thread of its client's own, so that answers come as they are ready. ``$/cancelRequest``
with the ``id`` of a request cancels it; ``$/progress`` reports the progress of a long one.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

from mdvec.errors import ImportStoppedError, InvalidArgumentsError, UsageError, did_you_mean
from mdvec.interfaces.answers import schema_of, to_json
from mdvec.interfaces.errors import hint_for_client, translate_for_client
from mdvec.interfaces.operations import Operation
from mdvec.interfaces.parsing import decode_json, parse, problem_of
from mdvec.run import ProgressListener, Run, Stage, bound
from mdvec.workspace import Workspace

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
FAILED = -32000
"""mdvec could not do it; ``data`` says why."""
BUSY = -32001
"""Too many requests of one client are in work."""
CANCELLED = -32800
"""The client cancelled the request."""

PREFIX = "mdvec."
"""The beginning of the names of mdvec's own methods."""

_say = partial(hint_for_client, prefix=PREFIX)

CANCEL = "$/cancelRequest"
PROGRESS = "$/progress"

# The codes of mdvec for errors of the protocol.
_NAMES = {
    PARSE_ERROR: "parse",
    INVALID_REQUEST: "invalid_request",
    METHOD_NOT_FOUND: "method_not_found",
    INTERNAL_ERROR: "internal",
    BUSY: "busy",
}

MAX_IN_FLIGHT = 1_000
"""Most requests of one client that wait or are worked on, and most items of a batch."""

MAX_BATCH_ANSWER_BYTES = 64 * 1024 * 1024
"""Most bytes of the responses to a batch; the requests beyond them get an error, which is short."""

_MAX_CALLS = 16
# Imports wait for each other anyway, and must leave the other calls their threads.
_MAX_LONG_CALLS = 2
_REPORT_EVERY_S = 0.25
_MAX_MESSAGE_CHARS = 10_000

Id = int | float | str | None
Send = Callable[[bytes], None]
_Params = TypeVar("_Params", bound=Struct)
_HUMP = re.compile(r"(?<=[a-z0-9])([A-Z])")


class _Request(Struct, frozen=True):
    jsonrpc: Literal["2.0"]
    method: str
    params: dict[str, Any] | list[Any] = {}
    id: Id | UnsetType = UNSET


class _CancelParams(Struct, frozen=True):
    id: Id


class RpcClient:
    """One client of any transport, with its requests that are in work.

    Args:
        workspace: Answers its requests.
        methods: The methods that it can call, by name. Those that import documents report their progress, and
            leave the others their threads.
        send: Sends it a message; called from any thread, one call at a time.
        notifies: Whether the transport can carry notifications, which report progress.
    """

    def __init__(
        self, workspace: Workspace, methods: Mapping[str, Operation], send: Send, *, notifies: bool = True
    ) -> None:
        self._workspace = workspace
        self._methods = methods
        self._notifies = notifies
        self._send_now = send
        self._sending = threading.Lock()
        self._changed = threading.Condition()
        self._in_work = 0
        self._runs: dict[Id, Run] = {}
        self._calls = ThreadPoolExecutor(_MAX_CALLS, "mdvec-rpc")
        self._long_calls = ThreadPoolExecutor(_MAX_LONG_CALLS, "mdvec-rpc-long")

    def receive(self, message: bytes) -> None:
        """Begin the requests of a message; each answer is sent when it is ready."""
        try:
            decoded = decode_json(message)
        except InvalidArgumentsError as error:
            self._send(_failed(None, PARSE_ERROR, str(error)))
            return
        if not isinstance(decoded, list):
            self._begin(decoded, self._send_some)
        elif not decoded:
            self._send(_failed(None, INVALID_REQUEST, "a batch holds at least one request"))
        elif len(decoded) > MAX_IN_FLIGHT:
            problem = f"a batch holds at most {MAX_IN_FLIGHT:,} requests, not {len(decoded):,}"
            self._send(_failed(None, INVALID_REQUEST, problem, hint="Send several batches."))
        else:
            answer = _batch(len(decoded), self._send)
            for each in decoded:
                self._begin(each, answer)

    def wait(self, most_s: float | None = None) -> bool:
        """Wait until everything is answered, for at most that many seconds; return whether it is."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._in_work, most_s)

    def close(self) -> None:
        """Cancel all requests in progress, without waiting for them."""
        for run in [*self._runs.values()]:
            run.cancel()
        for pool in (self._calls, self._long_calls):
            pool.shutdown(wait=False, cancel_futures=True)

    def _begin(self, item: object, answer: Callable[[Id, bytes | None], None]) -> None:
        """Begin one request; ``answer`` receives its id and the response, or None when it gets none."""
        try:
            request = msgspec.convert(item, _Request)
        except msgspec.ValidationError as error:
            number = _id_of(item)
            problem = problem_of(error, item, schema_of(_Request, "programs"))
            answer(number, _failed(number, INVALID_REQUEST, f"not a request: {problem}"))
            return
        number = None if request.id is UNSET else request.id

        def respond(response: bytes) -> None:
            answer(number, None if request.id is UNSET else response)

        if request.method == CANCEL:
            respond(self._cancel(number, request.params))
            return
        method = self._methods.get(request.method)
        if method is None:
            near = did_you_mean(request.method, self._methods)
            message = f"there is no method {request.method[:100]!r}{near}"
            hint = f"There are: {', '.join(self._methods)}."
            respond(_failed(number, METHOD_NOT_FOUND, message, hint=hint))
        elif self._in_work >= MAX_IN_FLIGHT:  # only this thread adds to it
            message = f"{MAX_IN_FLIGHT:,} requests are in progress"
            respond(_failed(number, BUSY, message, hint="Wait for some responses first.", retry=True))
        else:
            self._start(method, request, number, respond)

    def _start(self, method: Operation, request: _Request, number: Id, respond: Send) -> None:
        """Call a method in another thread; its run can be cancelled if the request has an id."""
        reports = self._notifies and method.changes and request.id is not UNSET
        run = Run(self._progress_of(number) if reports else None)
        with self._changed:
            self._in_work += 1
            if request.id is not UNSET:
                self._runs[number] = run

        def work() -> None:
            try:
                respond(self._answer(method, request.params, number, run))
            finally:
                with self._changed:
                    self._in_work -= 1
                    if self._runs.get(number) is run:
                        del self._runs[number]
                    self._changed.notify_all()

        (self._long_calls if method.changes else self._calls).submit(work)

    def _answer(self, method: Operation, params: dict[str, Any] | list[Any], number: Id, run: Run) -> bytes:
        """Call a method and return its response or error."""
        try:
            run.check()
            arguments = read_params(params, method.request, method.takes, **method.fixed)
            with bound(run), self._workspace.explaining():
                result = to_json(method.run(self._workspace, arguments, _say))
            return msgspec.json.encode({"jsonrpc": "2.0", "id": number, "result": result})
        except Exception as error:  # noqa: BLE001 - the one place where this door translates
            failure = translate_for_client(error)
            match error:
                case ImportStoppedError():
                    kind = CANCELLED
                case UsageError():
                    kind = INVALID_PARAMS
                case _:
                    kind = INTERNAL_ERROR if failure.code == "internal" else FAILED
            hint = _say(failure.hint)
            return _failed(number, kind, failure.message, name=failure.code, hint=hint, retry=failure.retry)

    def _cancel(self, number: Id, params: dict[str, Any] | list[Any]) -> bytes:
        try:
            wanted = read_params(params, _CancelParams)
        except InvalidArgumentsError as error:
            return _failed(number, INVALID_PARAMS, str(error), name=error.code, hint=error.hint)
        run = self._runs.get(wanted.id)
        if run is not None:
            run.cancel()
        return msgspec.json.encode({"jsonrpc": "2.0", "id": number, "result": {"cancelled": run is not None}})

    def _progress_of(self, number: Id) -> ProgressListener:
        last_s = -_REPORT_EVERY_S

        def report(stage: Stage, done: int, total: int, detail: str = "", /) -> None:
            nonlocal last_s
            now_s = time.monotonic()
            if now_s - last_s >= _REPORT_EVERY_S:
                last_s = now_s
                params = {"id": number, "stage": stage.value, "done": done, "total": total, "detail": detail}
                self._send(msgspec.json.encode({"jsonrpc": "2.0", "method": PROGRESS, "params": params}))

        return report

    def _send_some(self, _: Id, message: bytes | None) -> None:
        if message is not None:
            self._send(message)

    def _send(self, message: bytes) -> None:
        with self._sending:
            self._send_now(message)


def _batch(count: int, send: Send) -> Callable[[Id, bytes | None], None]:
    """Return a receiver of the responses to a batch that sends them as one message when they are complete."""
    left, free_bytes = count, MAX_BATCH_ANSWER_BYTES
    guard = threading.Lock()
    responses: list[bytes] = []

    def add(number: Id, response: bytes | None) -> None:
        nonlocal left, free_bytes
        with guard:
            left -= 1
            if response is not None:
                if len(response) > free_bytes:
                    message = "the responses to this batch are too large together"
                    response = _failed(number, FAILED, message, name="too_large", hint="Send it by itself.")
                free_bytes -= len(response)
                responses.append(response)
            if left or not responses:
                return
        send(b"[" + b",".join(responses) + b"]")

    return add


def _failed(
    number: Id, code: int, message: str, *, name: str = "", hint: str = "", retry: bool = False
) -> bytes:
    data = {"code": name or _NAMES[code], "hint": hint, "retry": retry}
    error = {"code": code, "message": message[:_MAX_MESSAGE_CHARS], "data": data}
    return msgspec.json.encode({"jsonrpc": "2.0", "id": number, "error": error})


def _id_of(item: object) -> Id:
    """Return the id of an invalid request; None without one."""
    found = item.get("id") if isinstance(item, dict) else None
    return found if isinstance(found, int | float | str) and not isinstance(found, bool) else None


def read_params(
    params: dict[str, Any] | list[Any], kind: type[_Params], takes: Sequence[str] = (), **fixed: object
) -> _Params:
    """Return parameters, checked.

    Args:
        params: By name, or by position in the order of the fields.
        kind: All parameters. Names are accepted in camelCase, too, at the top and in ``sections``.
        takes: The parameters that the method takes; all when empty.
        fixed: The parameters that it decides itself.

    Raises:
        InvalidArgumentsError: If one is missing, unknown or of another type.
    """
    names = tuple(takes) or kind.__struct_encode_fields__
    if isinstance(params, list):
        if len(params) > len(names):
            msg = f"there are {len(params)} parameters, and the method takes {len(names)}"
            raise InvalidArgumentsError(msg, hint=_known(names))
        params = dict(zip(names, params, strict=False))
    try:
        return parse(with_snake_case(params), kind, names, **fixed)
    except InvalidArgumentsError as error:
        raise InvalidArgumentsError(str(error), hint=_known(names)) from error


def with_snake_case(value: Any) -> Any:
    """Return JSON with the keys of its objects in snake_case."""
    match value:
        case dict():
            return {_HUMP.sub(r"_\1", key).lower(): with_snake_case(each) for key, each in value.items()}
        case list():
            return [with_snake_case(each) for each in value]
        case _:
            return value


def _known(names: tuple[str, ...]) -> str:
    return f"It takes {', '.join(names)}." if names else "It takes none."
