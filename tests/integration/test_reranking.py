"""Searches with a reranker: every door, what it costs, and what happens when it cannot be used."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from msgspec.structs import replace
from starlette.testclient import TestClient
from tests.commands import run_here
from tests.fakes.embedding_services import KEY, VoyageServer
from tests.fakes.http_server import Answer
from tests.workspaces import workspace_of, written

from mdvec import SearchQuery, Workspace
from mdvec.config.schema import Config, PriceSettings, RerankSettings, SearchSettings
from mdvec.embedding.remote.provider import RerankServiceSettings
from mdvec.errors import ConfigError
from mdvec.interfaces import operations
from mdvec.interfaces.app import build_app
from mdvec.interfaces.http.options import server_options
from mdvec.interfaces.mcp.application import build_server
from mdvec.interfaces.requests import SearchRequest
from mdvec.types.hit import SearchResult
from mdvec.types.report import Severity

# Four answer "harbour lamp" more or less.
NOTES = {
    "lamps.md": "# Lamps\n\nA lamp of oil at the harbour.\n",
    "keeper.md": "# Keeper\n\nThe keeper of the harbour lights the red lamp.\n",
    "pier.md": "# Pier\n\nThe lamp on the pier is red, the harbour is quiet.\n",
    "ships.md": "# Ships\n\nShips see the lamp of the harbour at night.\n",
    "door.md": "# Door\n\nA red door.\n",
}
LAST_IS_BEST = Answer(
    200,
    {"data": [{"index": at, "relevance_score": at / 10} for at in range(4)], "usage": {"total_tokens": 9}},
)
BUSY = Answer(503, {"detail": "We are overloaded."})


@pytest.fixture
def voyage(monkeypatch: pytest.MonkeyPatch) -> Iterator[VoyageServer]:
    monkeypatch.setenv("VOYAGE_API_KEY", KEY)
    with VoyageServer() as server:
        yield server


def config_for(server: VoyageServer, **rerank: Any) -> Config:
    return Config(
        search=SearchSettings(rerank="voyage:rerank-2.5"),
        rerank=RerankSettings(**{"timeout_s": 20.0, **rerank}),
        extension_sections={"rerank.voyage": RerankServiceSettings(base_url=f"{server.url}/v1")},
    )


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return written(tmp_path / "notes", NOTES)


@pytest.fixture
def workspace(voyage: VoyageServer, notes: Path, tmp_path: Path) -> Iterator[Workspace]:
    with workspace_of(tmp_path / "i.sqlite", {"notes": notes}, config_for(voyage)) as made:
        yield made


def paths(result: SearchResult) -> list[str]:
    return [hit.path for hit in result.hits]


# --- order and scores --------------------------------------------------------------------------


def test_the_reranker_orders_and_the_evidence_scores(workspace: Workspace, voyage: VoyageServer) -> None:
    """Hits are in the order of the service; how many, their scores and the confidence are as without it."""
    query = SearchQuery("harbour lamp", min_score=0)
    without = workspace.search(replace(query, rerank=False))
    assert voyage.asked == []
    voyage.failures.append(LAST_IS_BEST)
    found = workspace.search(query)
    assert paths(found) == [*paths(without)[3::-1], *paths(without)[4:]]
    assert [hit.score for hit in found.hits] == [hit.score for hit in without.hits]
    assert [hit.rank for hit in found.hits] == [*range(1, len(found.hits) + 1)]
    assert (found.confidence, found.weaker) == (without.confidence, without.weaker)


def test_more_passages_are_read_than_shown(workspace: Workspace, voyage: VoyageServer) -> None:
    """A passage below the hits that are shown can become the first one."""
    last = paths(workspace.search(SearchQuery("harbour lamp", rerank=False)))[3]
    voyage.failures.append(LAST_IS_BEST)
    assert paths(workspace.search(SearchQuery("harbour lamp", limit=1))) == [last]


def test_a_note_that_the_query_names_stays_first(workspace: Workspace, voyage: VoyageServer) -> None:
    """Whoever types a title wants that note, and its text is not sent."""
    found = workspace.search(SearchQuery("Door", min_score=0))
    assert paths(found)[0] == "door.md"
    assert not any("A red door." in text for asked in voyage.asked for text in asked.body["documents"])


def test_related_notes_and_lists_send_nothing(workspace: Workspace, voyage: VoyageServer) -> None:
    """A document is no question, and a query of operators alone has no words."""
    assert workspace.browse.related("lamps.md").hits
    assert workspace.search(SearchQuery("path:lamps.md")).hits
    assert voyage.asked == []


def test_at_most_so_many_passages(voyage: VoyageServer, notes: Path, tmp_path: Path) -> None:
    """``[rerank] passages`` limits what is sent."""
    config = config_for(voyage, passages=2)
    with workspace_of(tmp_path / "two.sqlite", {"notes": notes}, config) as workspace:
        workspace.search(SearchQuery("harbour lamp", min_score=0))
    assert [len(asked.body["documents"]) for asked in voyage.asked] == [2]


def test_each_of_several_queries_is_read_by_itself(workspace: Workspace, voyage: VoyageServer) -> None:
    """A request for each, with its own passages; hits are merged as without it, and the tokens are added."""
    both = SearchQuery("harbour lamp", queries=("the lamp and the harbour",), min_score=0)
    without = workspace.search(replace(both, rerank=False))
    found = workspace.search(both)
    assert [asked.body["query"] for asked in voyage.asked] == ["harbour lamp", "the lamp and the harbour"]
    assert {*paths(found)} == {*paths(without)}
    assert found.reranked is not None
    usage = [voyage.answer(asked).body["usage"]["total_tokens"] for asked in voyage.asked]
    assert found.reranked.tokens == sum(usage)
    assert found.reranked.passages == sum(len(asked.body["documents"]) for asked in voyage.asked)


def test_one_of_several_queries_may_stay_unread(workspace: Workspace, voyage: VoyageServer) -> None:
    """The other is read; the answer says once what could not be used."""
    voyage.failures.append(BUSY)
    found = workspace.search(SearchQuery("harbour lamp", queries=("the lamp and the harbour",), min_score=0))
    assert {*paths(found)} == {*NOTES}
    assert found.reranked is not None
    assert len([each for each in found.warnings if "rerank" in each]) == 1


# --- what it costs -----------------------------------------------------------------------------


def test_what_it_has_read_is_counted(workspace: Workspace, voyage: VoyageServer) -> None:
    """The answer has the tokens that the service counted, at the price that is known."""
    reranked = workspace.search(SearchQuery("harbour lamp", min_score=0)).reranked
    assert reranked is not None
    usage = voyage.answer(voyage.asked[0]).body["usage"]["total_tokens"]
    assert (reranked.model, reranked.tokens) == ("voyage:rerank-2.5", usage)
    assert reranked.passages == len(voyage.asked[0].body["documents"])
    assert reranked.usd == pytest.approx(usage * 0.05 / 1_000_000)


def test_a_price_of_ones_own(voyage: VoyageServer, notes: Path, tmp_path: Path) -> None:
    """``[prices]`` holds for rerankers, too."""
    prices = PriceSettings(usd_per_million_tokens={"rerank-2.5": 1.0})
    config = replace(config_for(voyage), prices=prices)
    with workspace_of(tmp_path / "p.sqlite", {"notes": notes}, config) as workspace:
        reranked = workspace.search(SearchQuery("harbour lamp", min_score=0)).reranked
    assert reranked is not None
    assert reranked.usd == pytest.approx(reranked.tokens / 1_000_000)


# --- when it cannot be used --------------------------------------------------------------------


def test_without_it_hits_are_as_they_were(workspace: Workspace, voyage: VoyageServer) -> None:
    """The answer is that of a search without a reranker, and says why; the next search tries again."""
    query = SearchQuery("harbour lamp", min_score=0)
    without = workspace.search(replace(query, rerank=False))
    voyage.failures.append(BUSY)
    found = workspace.search(query)
    assert [*found.warnings] == ["not reranked: Voyage cannot answer now (HTTP 503: We are overloaded.)."]
    assert replace(found, elapsed_ms=0, last_indexed_ms=0, warnings=()) == replace(
        without, elapsed_ms=0, last_indexed_ms=0
    )
    assert workspace.search(query).reranked is not None


def test_a_missing_key_is_a_warning(
    workspace: Workspace, voyage: VoyageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Searches go on, each says what to set, and the doctor knows it before."""
    finding = next(each for each in workspace.doctor() if each.subject == "reranker")
    assert (finding.severity, finding.message) == (Severity.OK, "voyage:rerank-2.5")
    monkeypatch.delenv("VOYAGE_API_KEY")
    found = workspace.search(SearchQuery("harbour lamp", min_score=0))
    assert found.hits
    assert found.warnings[0].startswith("not reranked: Voyage needs a key, and VOYAGE_API_KEY is not set.")
    assert "export VOYAGE_API_KEY=KEY" in found.warnings[0]
    finding = next(each for each in workspace.doctor() if each.subject == "reranker")
    assert finding.severity is Severity.PROBLEM
    assert "VOYAGE_API_KEY" in finding.message
    assert voyage.asked == []


def test_an_unknown_reranker_is_an_error(tmp_path: Path, notes: Path) -> None:
    """A wrong name is told with the nearest one, by a search and by the doctor."""
    config = Config(search=SearchSettings(rerank="voyag:rerank-2.5"))
    with workspace_of(tmp_path / "i.sqlite", {"notes": notes}, config) as workspace:
        with pytest.raises(ConfigError, match="no reranker 'voyag'; did you mean `voyage`") as caught:
            workspace.search(SearchQuery("lamp"))
        assert "voyage, cohere, jina, vllm, tei, transformers" in caught.value.hint
        assert any("'voyag'" in each.message for each in workspace.doctor())


# --- doors -------------------------------------------------------------------------------------


def command_line(folder: Path, server: VoyageServer, *args: str, **env: str) -> tuple[int, str, str]:
    file = folder / "own.toml"
    file.write_text(
        f"[search]\nrerank = 'voyage:rerank-2.5'\n[rerank]\ntimeout_s = 20\n"
        f"[rerank.voyage]\nbase_url = '{server.url}/v1'\n"
    )
    settings = {"HOME": str(folder), "MDVEC_CONFIG": str(file), "VOYAGE_API_KEY": KEY, **env}
    done = run_here([*args, "--no-daemon"], cwd=folder, env=settings)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def index(tmp_path: Path, notes: Path) -> Mapping[str, str]:
    """An index that words can search, as the command line finds it."""
    database = tmp_path / "i.sqlite"
    with workspace_of(database, {"notes": notes}):
        pass
    return {"MDVEC_STORE_LOCATION": str(database)}


def test_the_command_line(voyage: VoyageServer, tmp_path: Path, index: Mapping[str, str]) -> None:
    """People see what was read and what it cost, programs have it in JSON; ``--no-rerank`` sends nothing."""
    command = ("search", "harbour lamp", "--mode", "lexical", "--all")
    code, out, err = command_line(tmp_path, voyage, *command, **index)
    assert code == 0
    assert "passages reranked by voyage:rerank-2.5: " in err
    assert err.rstrip().endswith(" USD")
    code, out, _ = command_line(tmp_path, voyage, *command, "--format", "json", **index)
    reranked = json.loads(out)["reranked"]
    assert reranked["model"] == "voyage:rerank-2.5"
    assert reranked["usd"] > 0
    asked = len(voyage.asked)
    code, out, err = command_line(tmp_path, voyage, *command, "--no-rerank", **index)
    assert (code, len(voyage.asked)) == (0, asked)
    assert "rerank" not in err
    voyage.failures.append(BUSY)
    code, out, err = command_line(tmp_path, voyage, *command, **index)
    assert code == 0
    assert "lamp" in out
    assert "not reranked: Voyage cannot answer now" in err


def test_json_rpc_and_http(workspace: Workspace, voyage: VoyageServer) -> None:
    """The operation of both has the report or the warning, and ``rerank`` to leave it out."""
    request = SearchRequest(query="harbour lamp", min_score=0)
    assert operations.search(workspace, request).reranked is not None
    voyage.failures.append(BUSY)
    assert operations.search(workspace, request).warnings[0].startswith("not reranked: ")
    asked = len(voyage.asked)
    without = operations.search(workspace, replace(request, rerank=False))
    assert (without.reranked, without.warnings, len(voyage.asked)) == (None, (), asked)


def test_the_page_sends_nothing_while_someone_types(workspace: Workspace, voyage: VoyageServer) -> None:
    """At each pause words are searched; the whole search, and its report, follow."""
    options = server_options("127.0.0.1:8765", env={})
    app = build_app(workspace, Config(), options, 8765)
    client = TestClient(app, base_url="http://127.0.0.1:8765")
    assert 'data-typing-mode="lexical"' in client.get("/").text
    typed = client.get("/results", params={"q": "harbour lamp", "mode": "lexical"})
    assert (typed.status_code, voyage.asked) == (200, [])
    assert "harbour" in typed.text
    assert client.get("/", params={"q": "harbour lamp"}).status_code == 200
    assert len(voyage.asked) == 1
    voyage.failures.append(BUSY)
    assert "not reranked: Voyage cannot answer now" in client.get("/", params={"q": "harbour lamp"}).text


def test_agents(workspace: Workspace, voyage: VoyageServer) -> None:
    """An agent reads the same hits, and the warning when they are not reranked; it is told no cost."""
    voyage.failures.extend([LAST_IS_BEST, BUSY])
    arguments = {"query": "harbour lamp", "min_score": 0}

    async def ask() -> list[str]:
        async with Client(build_server(workspace, Config())) as client:
            answers = [await client.call_tool("search", arguments) for _ in range(2)]
        return [str(each.content) + str(each.structured_content) for each in answers]

    found, warned = asyncio.run(ask())
    assert "reranked" not in found
    assert "not reranked" in warned
    assert found.index("Ships see") < found.index("A lamp of oil")
