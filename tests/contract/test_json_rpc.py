"""The examples of the JSON-RPC 2.0 specification (section 7), and what it leaves open."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from tests.bugs import reported_bugs
from tests.waiting import HANG_S, wait_until

from mdvec import run
from mdvec.errors import DocumentNotFoundError, EmbedderBusyError, WriterBusyError
from mdvec.interfaces.operations import Operation
from mdvec.interfaces.rpc.dispatcher import MAX_BATCH_ANSWER_BYTES, MAX_IN_FLIGHT, RpcClient
from mdvec.run import Stage


class Subtract(msgspec.Struct):
    minuend: int
    subtrahend: int


class Anything(msgspec.Struct):
    a: Any = None
    b: Any = None
    c: Any = None
    d: Any = None
    e: Any = None


WORKSPACE: Any = SimpleNamespace(explaining=nullcontext)


def method(
    request: type[msgspec.Struct], run: Callable[[Any], object], *, changes: bool = False
) -> Operation:
    """Return a method that needs no workspace."""
    return Operation("", request, lambda _, given, __: run(given), changes=changes)


METHODS = {
    "subtract": method(Subtract, lambda given: given.minuend - given.subtrahend),
    "sum": method(Anything, lambda given: given.a + given.b + given.c),
    "get_data": method(Anything, lambda _: ["hello", 5]),
    **{name: method(Anything, lambda _: None) for name in ("update", "notify_hello", "notify_sum")},
}


class Talk:
    """A client of some methods, and what it was sent."""

    def __init__(self, methods: Mapping[str, Operation] = METHODS) -> None:
        self.sent: list[Any] = []
        self.client = RpcClient(WORKSPACE, methods, lambda each: self.sent.append(json.loads(each)))

    def __call__(self, *messages: str | bytes | object) -> list[Any]:
        for each in messages:
            text = each if isinstance(each, str | bytes) else json.dumps(each)
            self.client.receive(text.encode() if isinstance(text, str) else text)
        assert self.client.wait(HANG_S)
        return self.sent


def request(method: str, number: Any = 1, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params, "id": number}


def error(code: int, number: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "error": code, "id": number}


def plain(message: Any) -> Any:
    """Leave out the words of errors, and sort the responses of a batch."""
    if isinstance(message, list):
        return sorted((plain(each) for each in message), key=lambda each: (str(each["id"]), str(each)))
    return {**message, "error": message["error"]["code"]} if "error" in message else message


RESULT = {"jsonrpc": "2.0", "result": 19}
BATCH = """[
  {"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},
  {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]},
  {"jsonrpc": "2.0", "method": "subtract", "params": [42,23], "id": "2"},
  {"foo": "boo"},
  {"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"},
  {"jsonrpc": "2.0", "method": "get_data", "id": "9"}
]"""
EXAMPLES: dict[str, tuple[str, list[Any]]] = {
    "positional": (
        '{"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1}',
        [{**RESULT, "id": 1}],
    ),
    "positional, the other way": (
        '{"jsonrpc": "2.0", "method": "subtract", "params": [23, 42], "id": 2}',
        [{"jsonrpc": "2.0", "result": -19, "id": 2}],
    ),
    "named": (
        '{"jsonrpc": "2.0", "method": "subtract", "params": {"subtrahend": 23, "minuend": 42}, "id": 3}',
        [{**RESULT, "id": 3}],
    ),
    "notification": ('{"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]}', []),
    "notification of no method": ('{"jsonrpc": "2.0", "method": "foobar"}', []),
    "no method": ('{"jsonrpc": "2.0", "method": "foobar", "id": "1"}', [error(-32601, "1")]),
    "no JSON": ('{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]', [error(-32700)]),
    "no request": ('{"jsonrpc": "2.0", "method": 1, "params": "bar"}', [error(-32600)]),
    "batch, no JSON": (
        '[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"}, {"jsonrpc": "2.0", "method"]',
        [error(-32700)],
    ),
    "empty batch": ("[]", [error(-32600)]),
    "batch of one thing": ("[1]", [[error(-32600)]]),
    "batch of things": ("[1,2,3]", [[error(-32600)] * 3]),
    "batch": (
        BATCH,
        [
            [
                {"jsonrpc": "2.0", "result": 7, "id": "1"},
                {**RESULT, "id": "2"},
                error(-32601, "5"),
                {"jsonrpc": "2.0", "result": ["hello", 5], "id": "9"},
                error(-32600),
            ]
        ],
    ),
    "batch of notifications": (
        """[{"jsonrpc": "2.0", "method": "notify_sum", "params": [1,2,4]},
            {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}]""",
        [],
    ),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_specification_holds(name: str) -> None:
    """Each example of the specification gets the answer that it shows."""
    message, expected = EXAMPLES[name]
    assert [plain(each) for each in Talk()(message)] == [plain_expected(each) for each in expected]


def plain_expected(message: Any) -> Any:
    if isinstance(message, list):
        return sorted(message, key=lambda each: (str(each["id"]), str(each)))
    return message


@pytest.mark.parametrize("number", ["x", 0, -7, 2**53, 1.5, "日本", None])
def test_an_id_comes_back_as_it_was(number: Any) -> None:
    """Strings, numbers and null are ids."""
    assert [each["id"] for each in Talk()(request("get_data", number))] == [number]


@pytest.mark.parametrize("number", [True, [], {}])
def test_other_ids_are_refused(number: Any) -> None:
    """The answer to a request whose id is none has the id null."""
    assert [plain(each) for each in Talk()(request("get_data", number))] == [error(-32600)]


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"minuend": 1}, "`subtrahend` is missing"),
        ({"minuend": 1, "subtrahend": "x"}, "`subtrahend` must be a whole number, not 'x'"),
        ({"minuend": 1, "subtrahent": 2}, "did you mean `subtrahend`?"),
        ([1, 2, 3], "there are 3 parameters, and the method takes 2"),
    ],
)
def test_wrong_parameters_are_named(params: Any, words: str) -> None:
    """An error says which parameter is wrong, and which there are."""
    [answer] = Talk()({"jsonrpc": "2.0", "method": "subtract", "params": params, "id": 1})
    assert answer["error"]["code"] == -32602
    assert words in answer["error"]["message"]
    assert answer["error"]["data"] == {
        "code": "invalid_arguments",
        "hint": "It takes minuend, subtrahend.",
        "retry": False,
    }


def failing(failure: Exception) -> Callable[[Any], object]:
    def call(_: Any) -> object:
        raise failure

    return call


def test_our_errors_carry_code_hint_and_retry() -> None:
    """A program sees what went wrong, the next step, and whether trying again may help."""
    busy = WriterBusyError("notes is being imported", hint="Wait.")
    [answer] = Talk({"import": method(Anything, failing(busy))})(request("import"))
    assert answer["error"] == {
        "code": -32000,
        "message": "notes is being imported",
        "data": {"code": busy.code, "hint": "Wait.", "retry": True},
    }


def test_hints_name_methods_instead_of_commands() -> None:
    """A program cannot run a shell command, but call a method."""
    missing, later = DocumentNotFoundError(), EmbedderBusyError()
    talk = Talk(
        {"missing": method(Anything, failing(missing)), "later": method(Anything, failing(later))},
    )
    sent = talk(request("missing", 1), request("later", 2))
    assert {each["id"]: each["error"]["data"]["hint"] for each in sent} == {
        1: "Find its path with `mdvec.search`.",
        2: "Everything embedded so far is kept. Run `mdvec.reindex` again later to go on.",
    }


def test_a_bug_tells_no_more_than_its_name() -> None:
    """Its message may hold what a client is not to see; the log receives it."""
    talk = Talk({"break": method(Anything, failing(KeyError("secret")))})
    with reported_bugs() as bugs:
        [answer] = talk(request("break"))
    assert answer["error"]["code"] == -32603
    assert "secret" not in json.dumps(answer)
    assert [type(each) for each in bugs] == [KeyError]


def test_a_hundred_requests_are_in_flight_and_answered_out_of_order() -> None:
    """The first request is answered last, when all the others have been."""
    others = threading.Event()
    methods = {
        "first": method(Anything, lambda _: others.wait(HANG_S)),
        "other": method(Anything, lambda given: given.a),
    }
    talk = Talk(methods)
    talk.client.receive(json.dumps(request("first", "first")).encode())
    for number in range(100):
        talk.client.receive(json.dumps(request("other", number, a=number)).encode())
    wait_until(lambda: len(talk.sent) == 100)
    others.set()
    assert talk()[-1] == {"jsonrpc": "2.0", "id": "first", "result": True}
    assert {each["id"]: each["result"] for each in talk.sent[:100]} == {n: n for n in range(100)}


def test_a_request_too_many_is_told_to_come_back() -> None:
    """Beyond a limit requests are refused with retry, and nothing else suffers."""
    go = threading.Event()
    talk = Talk({"wait": method(Anything, lambda _: go.wait(HANG_S))})
    for number in range(MAX_IN_FLIGHT + 1):
        talk.client.receive(json.dumps(request("wait", number)).encode())
    [refused] = talk.sent
    assert (refused["id"], refused["error"]["data"]["retry"]) == (MAX_IN_FLIGHT, True)
    go.set()
    assert len(talk()) == MAX_IN_FLIGHT + 1


def test_a_batch_of_too_many_items_gets_one_short_error() -> None:
    """Two bytes of a client are worth a response of 160: without a limit a message of 15 MB takes 5 GB."""
    talk = Talk()
    [answer] = talk("[" + "0," * 1_000_000 + "0]")
    assert plain(answer) == error(-32600)
    assert "at most 1,000 requests, not 1,000,001" in answer["error"]["message"]
    [*_, largest] = talk([request("get_data", number) for number in range(MAX_IN_FLIGHT)])
    assert len(largest) == MAX_IN_FLIGHT


def test_the_answer_to_a_batch_is_bounded() -> None:
    """What no longer fits is an error with the id of its request; the others are answered."""
    text, count = "x" * (MAX_BATCH_ANSWER_BYTES // 8), 20
    talk = Talk({"text": method(Anything, lambda _: text), "get_data": METHODS["get_data"]})
    batch = [request("text", number) for number in range(count)]
    [answers] = talk([*batch, request("get_data", count)])
    assert len(json.dumps(answers)) < MAX_BATCH_ANSWER_BYTES + count * 1_000
    assert sum("result" in each for each in answers if each["id"] != count) == 7
    refused = [each for each in answers if "error" in each]
    assert {each["error"]["data"]["code"] for each in refused} == {"too_large"}
    assert sorted(each["id"] for each in answers) == [*range(count + 1)]


def test_ten_megabytes_pass_both_ways() -> None:
    """There is no buffer that a long text does not fit into."""
    text = "再試行" * 1_200_000
    [answer] = Talk({"echo": method(Anything, lambda given: given.a)})(request("echo", a=text))
    assert len(text.encode()) > 10_000_000
    assert answer["result"] == text


def test_half_an_emoji_is_no_error() -> None:
    """A client in JavaScript that cuts a text gets an answer to its request."""
    message = rb'{"jsonrpc":"2.0","method":"get_data","params":["\ud83d"],"id":1}'
    assert Talk()(message) == [{"jsonrpc": "2.0", "id": 1, "result": ["hello", 5]}]


def test_a_request_is_cancelled_by_its_id() -> None:
    """A running request ends with the code of a cancelled one; others go on."""
    started = threading.Event()

    def work(_: Any) -> object:
        started.set()
        run.current().sleep(HANG_S)
        return "never"

    talk = Talk({"work": method(Anything, work, changes=True), "get_data": METHODS["get_data"]})
    talk.client.receive(json.dumps(request("work", "long")).encode())
    assert started.wait(HANG_S)
    talk(request("$/cancelRequest", 2, id="nobody"), request("$/cancelRequest", 3, id="long"))
    answers = {each["id"]: each.get("result", each.get("error")) for each in talk.sent}
    assert answers[2] == {"cancelled": False}
    assert answers[3] == {"cancelled": True}
    assert answers["long"]["code"] == -32800


def test_a_notification_cancels_without_an_answer() -> None:
    """As language servers have it."""
    talk = Talk({"work": method(Anything, lambda _: run.current().sleep(HANG_S))})
    talk.client.receive(json.dumps(request("work", 7)).encode())
    cancel = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 7}}
    assert [each["id"] for each in talk(cancel)] == [7]


def test_a_long_request_reports_its_progress() -> None:
    """Progress is a notification with the id of the request; a notification gets none."""

    def work(_: Any) -> object:
        run.current().report(Stage.EMBED, 3, 10)
        return None

    methods = {"work": method(Anything, work, changes=True)}
    assert Talk(methods)({"jsonrpc": "2.0", "method": "work"}) == []
    progress, answer = Talk(methods)(request("work", 5))
    assert progress == {
        "jsonrpc": "2.0",
        "method": "$/progress",
        "params": {"id": 5, "stage": "embed", "done": 3, "total": 10, "detail": ""},
    }
    assert answer["id"] == 5
