"""MCP, JSON-RPC and HTTP: the same calls, the same answers."""

from __future__ import annotations

from typing import Any

import httpx2
import jsonschema
import pytest
from msgspec.structs import replace
from starlette.testclient import TestClient
from tests.bugs import reported_bugs
from tests.unit.interfaces.fake_workspace import HIT, RESULT, FakeWorkspace

from mdvec.config import Config
from mdvec.interfaces.app import build_app
from mdvec.interfaces.http.api import description
from mdvec.interfaces.http.options import server_options
from mdvec.interfaces.operations import OPERATIONS, Operation
from mdvec.types.query import MIN_SCORE

PORT = 8765


def sent(workspace: FakeWorkspace, method: str, path: str, **request: Any) -> httpx2.Response:
    """Return what the server answers to one request."""
    options = server_options(f"127.0.0.1:{PORT}", env={})
    app = build_app(workspace, Config(), options, PORT)
    with reported_bugs() as bugs, TestClient(app, base_url=f"http://127.0.0.1:{PORT}") as client:
        answer = client.request(method, path, **request)
    assert not bugs
    return answer


def over_http(workspace: FakeWorkspace, **given: object) -> Any:
    """Return the answer of ``GET /api/search``."""
    params = {key: str(value).lower() for key, value in given.items()}
    answer = sent(workspace, "GET", "/api/search", params=params)
    assert answer.status_code == 200
    return answer.json()


def over_rpc(workspace: FakeWorkspace, method: str = "mdvec.search", **given: object) -> Any:
    """Return the result of a method."""
    message = {"jsonrpc": "2.0", "method": method, "params": given, "id": 1}
    return sent(workspace, "POST", "/rpc", json=message).json()["result"]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
def test_every_argument_is_described(operation: Operation) -> None:
    """To those who read the description at /api, and call the same by JSON-RPC."""
    of_post = operation.request_schema["properties"]
    [post, *get] = [description()["paths"][f"/api/{operation.name}"].get(each) for each in ("post", "get")]
    assert post["requestBody"]["content"]["application/json"]["schema"]["properties"] == of_post
    of_get = [each["schema"] for method in filter(None, get) for each in method["parameters"]]
    assert [each for each in (*of_post.values(), *of_get) if not each.get("description")] == []


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
    query = workspace.query
    assert (query.min_score, query.all_similar) == searched
    assert ([hit["similar"] for hit in answer["hits"]], answer["weaker"]) == ([59], 4)


def test_a_client_of_sections_gets_all() -> None:
    """It has no way to ask for what would be left out."""
    workspace = FakeWorkspace()
    workspace.result = replace(RESULT, hits=())
    over_rpc(workspace, "search", query="宿")
    query = workspace.query
    assert (query.min_score, query.all_similar) == (0, True)


ANSWERED: dict[str, dict[str, Any]] = {
    "search": {"query": "宿"},
    "get": {"path": "a.md", "lines": "1:2"},
    "read": {"path": ["a.md", "b.md"], "max_tokens": 100},
    "outline": {"path": "a.md"},
    "links": {"path": "a.md"},
    "list": {"tags": ["x"], "limit": 1},
    "related": {"path": "a.md"},
    "tags": {},
    "status": {"collection": "notes", "check": True},
    "collections": {},
    "models": {},
    "reindex": {},
}


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_each_operation_answers_alike_everywhere(workspace: FakeWorkspace, operation: Operation) -> None:
    """JSON-RPC and HTTP give the same answer, which fits the description at ``/api``."""
    name, given = operation.name, ANSWERED[operation.name]
    described = sent(workspace, "GET", "/api").json()["paths"][f"/api/{name}"]
    jsonschema.Draft202012Validator(operation.request_schema).validate(given)
    message = {"jsonrpc": "2.0", "id": 1, "method": f"mdvec.{name}", "params": given}
    answers = [sent(workspace, "POST", "/rpc", json=message).json()["result"]]
    answers.append(sent(workspace, "POST", f"/api/{name}", json=given).json())
    gets = sent(workspace, "GET", f"/api/{name}", params=given)
    assert (gets.status_code, "get" in described) == ((405, False) if operation.changes else (200, True))
    answers += [] if operation.changes else [gets.json()]
    assert all(each == answers[0] for each in answers)
    schema = described["post"]["responses"]["200"]["content"]["application/json"]["schema"]
    jsonschema.Draft202012Validator(schema).validate(answers[0])


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_page_elsewhere_starts_nothing(workspace: FakeWorkspace, site: str) -> None:
    """An image or a link sends no origin; its answer is not read, but the server would work for it."""
    for path in ("/api/status", "/search"):
        answer = sent(workspace, "GET", path, params={"q": "x"}, headers={"sec-fetch-site": site})
        assert (answer.status_code, answer.json()["code"]) == (403, "usage")
    assert not {"search", "status"}.intersection(name for name, _ in workspace.calls)


def test_a_post_takes_its_arguments_in_the_body(workspace: FakeWorkspace) -> None:
    """None in the address, where they would count for nothing; an empty body is no argument."""
    kind = {"content-type": "application/json"}
    assert sent(workspace, "POST", "/api/tags?collection=a", content="{}", headers=kind).status_code == 400
    assert sent(workspace, "POST", "/api/tags", content="", headers=kind).status_code == 200


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [("{}", "text/plain", 415), ("{", "application/json", 400), ("[]", "application/json", 400)],
)
def test_a_body_is_an_object_of_json(workspace: FakeWorkspace, body: str, kind: str, status: int) -> None:
    """A page elsewhere cannot send this type without leave."""
    answer = sent(workspace, "POST", "/api/tags", content=body, headers={"content-type": kind})
    assert answer.status_code == status
    assert "tags" not in dict(workspace.calls)
