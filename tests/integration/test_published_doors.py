"""What is published, served over HTTP and to an MCP client by processes that have nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.e2e.agents import Target, connected, over_http, over_stdio
from tests.fakes.s3_server import S3Server
from tests.integration.mcp_wire import environment_of, make_plugin, write_notes
from tests.waiting import HANG_S, wait_until
from tests.workspaces import workspace_of

from mdvec import Workspace
from mdvec.config.schema import Config
from mdvec.stores.published.reader import PublishedSettings
from mdvec.types.query import SearchQuery

QUERIES = ("the common word", "number7 of its own", "共通の語", "note 3", "number1 -number2")


@contextmanager
def published(
    folder: Path, place: str, endpoint: str | None = None
) -> Iterator[tuple[Workspace, dict[str, str]]]:
    """Publish thirty notes; give their workspace, and the environment of another machine's processes."""
    make_plugin(folder)
    write_notes(folder / "notes", 30)
    config = Config(extension_sections={"store.published": PublishedSettings(endpoint=endpoint)})
    with workspace_of(
        folder / "index.sqlite", {"notes": folder / "notes"}, config, description="My notes"
    ) as workspace:
        workspace.stores.publish(place)
        yield (
            workspace,
            {
                **environment_of(folder),
                "HOME": str(folder / "elsewhere"),
                "MDVEC_DATABASE_PATH": place,
                "MDVEC_STORE_PUBLISHED_REFRESH_S": "0.1",
                "MDVEC_STORE_PUBLISHED_CACHE_DIR": str(folder / "cache"),
                **({"MDVEC_STORE_PUBLISHED_ENDPOINT": endpoint} if endpoint else {}),
            },
        )


def publish_more(workspace: Workspace, folder: Path, place: str) -> None:
    """Publish another note."""
    write_notes(folder / "notes", 31)
    workspace.import_collection("notes")
    workspace.stores.publish(place, keep=1)


def expected(workspace: Workspace) -> list[list[str]]:
    """Return the paths that the workspace itself finds."""
    found = [workspace.search(SearchQuery(query, limit=10)) for query in QUERIES]
    return [[hit.path for hit in each.hits] for each in found]


def paths(answer: dict[str, Any]) -> list[str]:
    """Return the paths of hits."""
    return [hit["path"] for hit in answer["hits"]]


@contextmanager
def followed(workspace: Workspace, target: Target) -> Iterator[None]:
    """Ask a server for everything, before and after another version is published."""
    with connected(target, "auto") as agent:

        def ten() -> list[list[str]]:
            return [paths(agent.data("search", query=query, limit=10)) for query in QUERIES]

        assert ten() == expected(workspace)
        assert sum(map(len, ten())) > 30
        assert "number7" in agent.text("get_doc", path="7.md")
        assert "7.md" in agent.text("list_docs")
        assert "is a published copy and can only be searched" in agent.failure("reindex")
        yield
        wait_until(lambda: paths(agent.data("search", query="number30", limit=1)) == ["30.md"])
        assert ten() == expected(workspace)


@pytest.mark.harness
def test_doors_of_what_is_published(tmp_path: Path) -> None:
    """A server over HTTP and one of an MCP client answer as the workspace does, and refuse to write."""
    place = str(tmp_path / "published")
    with published(tmp_path, place) as (workspace, environment), ExitStack() as stack:
        url = stack.enter_context(over_http(environment, tmp_path / "http.log", "--no-watch"))
        for target in (url, over_stdio(environment, "--no-watch")):
            stack.enter_context(followed(workspace, target))
        found = rpc(url, "mdvec.search", {"query": QUERIES[0], "limit": 10})["result"]
        assert paths(found) == expected(workspace)[0]
        refused = rpc(url, "addSections", {"sections": [{"document_path": "x.md", "content": "x"}]})
        assert refused["error"]["data"]["code"] == "read_only"
        publish_more(workspace, tmp_path, place)


@pytest.mark.s3
@pytest.mark.filterwarnings("ignore")
def test_a_door_of_a_bucket(tmp_path: Path) -> None:
    """What is published in a bucket is answered in the same way, and followed."""
    with (
        S3Server("doors") as server,
        published(tmp_path, "s3://doors/team", server.endpoint) as (workspace, environment),
        followed(workspace, over_stdio(environment, "--no-watch")),
    ):
        publish_more(workspace, tmp_path, "s3://doors/team")


def rpc(url: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Call a method over HTTP."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    place = f"{url.removesuffix('/mcp')}/rpc"
    answer: dict[str, Any] = httpx2.post(place, json=message, timeout=HANG_S).json()
    return answer
