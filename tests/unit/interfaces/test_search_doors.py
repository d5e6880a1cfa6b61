"""JSON-RPC and ``GET /search``: what a search asks, and what its answer says of what is left out."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from starlette.testclient import TestClient
from tests.unit.interfaces.fake_workspace import HIT, RESULT, FakeWorkspace

from mdvec.config import Config
from mdvec.interfaces.http.app import build_app
from mdvec.interfaces.http.options import server_options
from mdvec.interfaces.rpc.methods import all_methods
from mdvec.types.query import MIN_SCORE, SearchQuery

PORT = 8765


def over_http(workspace: FakeWorkspace, **given: object) -> Any:
    """Return the answer of ``GET /search``."""
    bugs: list[Exception] = []
    options = server_options(f"127.0.0.1:{PORT}", env={})
    app = build_app(workspace, Config(), options, PORT, on_bug=bugs.append)
    with TestClient(app, base_url=f"http://127.0.0.1:{PORT}") as client:
        answer = client.get("/search", params={key: str(value).lower() for key, value in given.items()})
    assert (answer.status_code, bugs) == (200, [])
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
