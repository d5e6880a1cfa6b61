"""What used to end in an internal error is an answer, or an error that names the cause."""

from __future__ import annotations

import io
import json
import sqlite3
import tarfile
from pathlib import Path

import pytest
from mcp import Client
from mcp_types import CallToolResult
from starlette.testclient import TestClient
from tests.bugs import reported_bugs
from tests.security.conftest import Mdvec
from tests.unit.interfaces.mcp.agent import talk

from mdvec import open_workspace
from mdvec.chunking.vault import VaultChunker
from mdvec.config import Config
from mdvec.documents.parse import parse_document
from mdvec.errors import UsageError
from mdvec.interfaces.app import build_app
from mdvec.interfaces.http.options import server_options
from mdvec.sources.blobs import FetchedBlobs, blob_id, take_wanted
from mdvec.testing.embedder import HashingEmbedder
from mdvec.text.tokens import estimate_token_ends
from mdvec.types.query import Filters, SearchQuery


def change(index: Path, statement: str, *arguments: object) -> None:
    """Change rows behind the back of mdvec."""
    connection = sqlite3.connect(index)
    connection.execute(statement, arguments)
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        (".search-docs.json", "[" * 100_000, "nested too deeply"),
        (".search-docs.json", '{"search": {"k": ' + "9" * 100_000 + "}}", "digits"),
        ("c.toml", "a = " + "[" * 100_000, "nested too deeply"),
        ("c.toml", "a = " + "9" * 100_000, "digits"),
        ("c.toml", "a.b." * 60_000 + "c = 1", "nested too deeply"),
        ("c.toml", "[a" + ".b" * 60_000 + "]", "nested too deeply"),
        ("config.yaml", "[" * 100_000, "nested too deeply"),
        ("config.yaml", "a: " + "9" * 100_000, "digits"),
    ],
)
def test_extreme_configurations(mdvec: Mdvec, tmp_path: Path, name: str, text: str, reason: str) -> None:
    """Depth and digits are refused in all formats; a TOML key of 100,000 parts took minutes."""
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    outcome = mdvec("status", "--config", file)
    assert outcome.code == 2
    assert reason in outcome.err


@pytest.mark.parametrize("count", [247, 100_000])
def test_many_tags(index: Path, count: int) -> None:
    """A search by more than 100 tags is a wrong call."""
    filters = Filters(tags=tuple(f"t{number}" for number in range(count)))
    with (
        open_workspace(database=index, embedder=HashingEmbedder()) as workspace,
        pytest.raises(UsageError, match="at most 100 tags"),
    ):
        workspace.search(SearchQuery("install", filters=filters))


@pytest.mark.parametrize("moment_ms", [3_170_900 * 365 * 86_400 * 1000, -(2**62)])
@pytest.mark.parametrize("command", [("status",), ("search", "install", "--format", "json"), ("doctor",)])
def test_years_that_no_calendar_has(
    mdvec: Mdvec, index: Path, moment_ms: int, command: tuple[str, ...]
) -> None:
    """A time of the last import that is damaged counts as none, and the next import writes it anew."""
    change(index, "UPDATE collections SET last_indexed_ms = ?", moment_ms)
    outcome = mdvec(*command, "--database", index)
    assert outcome.code == 0
    assert mdvec("import", "-n", "notes", "-m", "update", "--database", index).code == 0
    assert "never" not in mdvec("status", "--database", index).out


def test_archives_with_impossible_sizes() -> None:
    """A tar archive whose header names a size of 40 digits gives what stands before it."""
    raw = b"# One\n"
    wanted = blob_id(raw, b"\0" * 20)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
        for name, headers in (("a.md", {}), ("b.md", {"size": "9" * 40})):
            member = tarfile.TarInfo(name)
            member.size, member.pax_headers = len(raw), headers
            archive.addfile(member, io.BytesIO(raw))
    packed.seek(0)
    blobs = FetchedBlobs()
    take_wanted(packed, {wanted: len(raw), b"\1" * 20: 3}, blobs, lambda: None)
    assert blobs.get(wanted) == raw


@pytest.mark.parametrize("text", ["paragraph\n---", "# A\n\na long paragraph\n---\n", "one\n===\n"])
def test_a_paragraph_that_is_a_heading_is_kept(text: str) -> None:
    """A text with a line of hyphens below it is a heading without text, and the vault chunker keeps it."""
    chunks = VaultChunker(token_ends=estimate_token_ends).chunk(parse_document("a.md", text)).chunks
    assert "".join(each.text for each in chunks).strip() == text.strip()


def test_damage_is_explained_to_agents(mdvec: Mdvec, index: Path) -> None:
    """A row that leads to an unexpected error is named as damage by the MCP server, too."""
    change(index, "UPDATE chunks SET heading_path = '3'")

    async def say(client: Client) -> CallToolResult:
        return await client.call_tool("search", {"query": "install"})

    with reported_bugs() as bugs, open_workspace(database=index, embedder=HashingEmbedder()) as workspace:
        answer = talk(workspace, say)
    assert answer.is_error
    text = json.dumps([each.model_dump() for each in answer.content])
    assert "is damaged" in text
    assert "import --check" in text
    assert bugs == []
    assert "is damaged" in mdvec("search", "install", "--database", index).err


def test_damage_is_explained_to_programs_and_on_the_page(index: Path) -> None:
    """JSON-RPC, the search page and ``GET /search`` name it as well, and report no bug."""
    change(index, "UPDATE chunks SET heading_path = '3'")
    request = {"jsonrpc": "2.0", "id": 1, "method": "mdvec.search", "params": {"query": "install"}}
    with reported_bugs() as bugs, open_workspace(database=index, embedder=HashingEmbedder()) as workspace:
        app = build_app(workspace, Config(), server_options("127.0.0.1:8765", env={}), 8765)
        with TestClient(app, base_url="http://127.0.0.1:8765") as client:
            answers = [
                client.post("/rpc", json=request),
                client.get("/search", params={"q": "install"}),
                client.get("/", params={"q": "install"}),
            ]
    for answer in answers:
        assert "is damaged" in answer.text
    assert [each.status_code for each in answers] == [200, 500, 500]
    assert answers[1].json()["code"] == "damaged_database"
    assert bugs == []
