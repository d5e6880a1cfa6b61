"""MCP, JSON-RPC and ``GET /search``: the same calls, the same words about wrong ones, the same answers."""

from __future__ import annotations

from typing import Any

import httpx2
import msgspec
import pytest
from msgspec.structs import replace
from starlette.testclient import TestClient
from tests.unit.interfaces.fake_workspace import HIT, RESULT, FakeWorkspace
from tests.unit.interfaces.mcp.agent import call, text_of

from mdvec.config import Config
from mdvec.interfaces.http.app import build_app
from mdvec.interfaces.http.options import server_options
from mdvec.interfaces.rpc.dispatcher import INVALID_PARAMS
from mdvec.interfaces.rpc.methods import all_methods
from mdvec.types.query import MIN_SCORE, SearchQuery

PORT = 8765


def sent(workspace: FakeWorkspace, method: str, path: str, **request: Any) -> httpx2.Response:
    """Return what the server answers to one request."""
    bugs: list[Exception] = []
    options = server_options(f"127.0.0.1:{PORT}", env={})
    app = build_app(workspace, Config(), options, PORT, on_bug=bugs.append)
    with TestClient(app, base_url=f"http://127.0.0.1:{PORT}") as client:
        answer = client.request(method, path, **request)
    assert not bugs
    return answer


def over_http(workspace: FakeWorkspace, **given: object) -> Any:
    """Return the answer of ``GET /search``."""
    params = {key: str(value).lower() for key, value in given.items()}
    answer = sent(workspace, "GET", "/search", params=params)
    assert answer.status_code == 200
    return answer.json()


def over_rpc(workspace: FakeWorkspace, **given: object) -> Any:
    """Return the result of ``mdvec.search``."""
    method = all_methods(workspace)["mdvec.search"]
    return method.call(msgspec.convert(given, method.params))


def asked(workspace: FakeWorkspace) -> SearchQuery:
    [details] = [details for name, details in workspace.calls if name == "search"]
    query = details["query"]
    assert isinstance(query, SearchQuery)
    return query


@pytest.mark.parametrize("search", [over_http, over_rpc])
@pytest.mark.parametrize(
    ("given", "searched"),
    [({}, (MIN_SCORE, False)), ({"min_score": 0.25, "all_similar": True}, (0.25, True))],
)
def test_a_request_says_what_is_left_out(search: Any, given: dict[str, object], searched: object) -> None:
    """Each door takes both values, and has the same defaults."""
    workspace = FakeWorkspace()
    workspace.result = replace(RESULT, hits=(replace(HIT, similar=59),), weaker=4)
    answer = search(workspace, query="宿", **given)
    query = asked(workspace)
    assert (query.min_score, query.all_similar) == searched
    assert ([hit["similar"] for hit in answer["hits"]], answer["weaker"]) == ([59], 4)


def test_a_client_of_sections_gets_all() -> None:
    """It has no way to ask for what would be left out."""
    workspace = FakeWorkspace()
    workspace.result = replace(RESULT, hits=())
    method = all_methods(workspace)["search"]
    method.call(msgspec.convert({"query": "宿"}, method.params))
    query = asked(workspace)
    assert (query.min_score, query.all_similar) == (0, True)


# A tool, a method of JSON-RPC and an address of HTTP do each of these.
SEARCH = ("search", "mdvec.search", "/search")
READ = ("get_doc", "mdvec.get", "")
UPDATE = ("reindex", "mdvec.reindex", "")


@pytest.mark.parametrize(
    ("names", "arguments", "said"),
    [
        (SEARCH, {"query": "x", "limt": 3}, "unknown argument `limt`; did you mean `limit`?"),
        (SEARCH, {}, "`query` is missing"),
        (SEARCH, {"query": ["x", "y"]}, "`query` must be text, not ['x', 'y']"),
        (SEARCH, {"query": "x", "limit": "ten"}, "`limit` must be a whole number, not 'ten'"),
        (SEARCH, {"query": "x", "limit": 0}, "`limit` must be from 1 to 100"),
        (SEARCH, {"query": "x", "limit": 1, "k": 2}, "`limit` is given more than once"),
        (
            SEARCH,
            {"query": "x", "mode": "hybird"},
            "`mode` must be one of dense, hybrid, lexical, not 'hybird'",
        ),
        (SEARCH, {"query": "x", "depth": [1, 7]}, "`depth[1]` must be from 0 to 3"),
        (SEARCH, {"query": "x", "where": "nonsense"}, "not a condition on a property: 'nonsense'"),
        (SEARCH, {"query": "x", "updated_since": "soon"}, "not a date, a time or an age: 'soon'"),
        (READ, {"file": {}}, "`path` must be text, not {}"),
        (READ, {"path": "a.md", "lines": "first"}, "not a range of lines: 'first'"),
        (UPDATE, {"collection": "notes", "force": True}, "unknown argument `force`; it takes `collection`"),
    ],
)
def test_a_wrong_call_is_refused_in_the_same_words_everywhere(
    workspace: FakeWorkspace, names: tuple[str, str, str], arguments: dict[str, Any], said: str
) -> None:
    """Each door names the argument, what it must be and what it is; nothing reaches the workspace."""
    tool, method, path = names
    refused = call(workspace, tool, **arguments)
    told = [text_of(refused)]
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": arguments}
    error = sent(workspace, "POST", "/rpc", json=message).json()["error"]
    assert (refused.is_error, error["code"]) == (True, INVALID_PARAMS)
    told.append(error["message"])
    if path:
        answer = sent(workspace, "GET", path, params=arguments)
        assert answer.status_code == 400
        told.append(answer.json()["detail"])
    for each in told:
        assert said in each
    assert not [name for name, _ in workspace.calls if name in ("search", "read", "import")]
