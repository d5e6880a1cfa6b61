"""The command line and agents, on a store in PostgreSQL: what they show, and what they must not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp_types import ResourceTemplateReference
from tests.postgres_server import new_schema, shared_server
from tests.unit.interfaces.mcp.agent import talk

from mdvec import Workspace, open_workspace
from mdvec.config import load_config, paths
from mdvec.interfaces.cli.main import run
from mdvec.testing.embedder import HashingEmbedder

pytestmark = pytest.mark.postgres

ROLE = "reader_through_doors"
SECRETS = ("zeppelin", "Riddle", "riddle", "vault-of-a", "clandestine", "fuel.md")
"""What only the collection ``vault-of-a`` holds: words, title, name, tag and path."""


@dataclass(frozen=True, slots=True)
class Place:
    """A schema on the server, and two folders of notes.

    Attributes:
        schema: Its name.
        folder: Where the notes are.
    """

    schema: str
    folder: Path

    def open(self, role: str | None = None) -> Workspace:
        """Open it as the owner, or with the rights of a role."""
        env = {"MDVEC_STORE_LOCATION": shared_server(), "MDVEC_STORE_POSTGRES_SCHEMA": self.schema}
        if role is not None:
            env["MDVEC_STORE_POSTGRES_ROLE"] = role
        config = load_config(cwd=self.folder, env=env).config
        return open_workspace(config, embedder=HashingEmbedder(dimension=16))


@pytest.fixture
def place(tmp_path: Path, sql: Any) -> Place:
    """Two collections are in it, of one document each."""
    for name, path, text in (
        (
            "vault-of-a",
            "fuel.md",
            "---\ntitle: Riddle\ntags: [clandestine]\n---\n# Riddle\n\nA zeppelin flies.",
        ),
        ("open", "trees.md", "---\ntags: [public]\n---\n# Trees\n\n## Oaks\n\nAn oak grows."),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / path).write_text(text)
    place = Place(new_schema(), tmp_path)
    with place.open() as workspace:
        for name in ("vault-of-a", "open"):
            workspace.add_collection(name, f"The notes of {name}", str(tmp_path / name))
            workspace.import_collection(name)
    return place


@pytest.fixture
def sql() -> Iterator[Any]:
    """A connection of the owner, outside of transactions; the role is there."""
    import psycopg

    with psycopg.connect(shared_server(), autocommit=True) as connection:
        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (ROLE,)).fetchone():
            connection.execute(f"CREATE ROLE {ROLE}")
        yield connection


async def everything(client: Client) -> dict[str, str]:
    """Return all that a server answers to requests that name nothing of the hidden collection."""
    calls: dict[str, list[dict[str, Any]]] = {
        "search": [
            {"query": "what flies or grows", "mode": mode, "min_score": 0}
            for mode in ("hybrid", "dense", "lexical")
        ],
        "get_doc": [{"path": "trees.md"}, {"path": "unknown"}],
        "list_docs": [{}],
        "get_outline": [{"path": "trees.md"}, {"path": "unknown"}],
        "list_tags": [{}],
        "reindex": [{}],
        "status": [{}],
        "open": [{"query": "what flies"}],
        "vault-of-a": [{"query": "what flies"}],
    }
    answers = {}
    tools = await client.list_tools()
    answers["tools"] = tools.model_dump_json()
    for tool in tools.tools:
        for number, arguments in enumerate(calls[tool.name]):
            result = await client.call_tool(tool.name, arguments)
            answers[f"{tool.name} {number}"] = result.model_dump_json()
    resources = await client.list_resources()
    answers["resources"] = resources.model_dump_json()
    for resource in resources.resources:
        answers[f"read {resource.uri}"] = (await client.read_resource(str(resource.uri))).model_dump_json()
    template = ResourceTemplateReference(type="ref/resource", uri="mdvec://{collection}/{+path}")
    for name in ("collection", "path"):
        completed = await client.complete(template, {"name": name, "value": ""})
        answers[f"complete {name}"] = completed.model_dump_json()
    return answers


def test_an_agent_sees_nothing_of_a_collection_that_is_not_granted(place: Place) -> None:
    """In no tool, resource, completion, count or error; the owner's agent is shown all of it everywhere."""
    with place.open() as owner:
        owner.stores.grant("open", ROLE)
        full = talk(owner, everything)
    told = {name for name, answer in full.items() if any(each in answer for each in SECRETS)}
    assert told >= {"tools", "search 0", "search 1", "search 2", "list_docs 0", "list_tags 0", "status 0"}
    assert told >= {"resources", "complete collection", "complete path", "vault-of-a 0"}
    with place.open(ROLE) as restricted:
        seen = talk(restricted, everything)
        status = talk(restricted, lambda client: client.call_tool("status", {}))
    for name, answer in seen.items():
        assert not [each for each in SECRETS if each in answer], name
    assert status.structured_content is not None
    [collection] = status.structured_content["collections"]
    assert (collection["name"], collection["documents"]) == ("open", 1)
    assert "vault-of-a 0" not in seen


@pytest.mark.parametrize(
    ("tool", "argument"),
    [("get_doc", "path"), ("get_outline", "path"), ("list_tags", "collection"), ("reindex", "collection")],
)
def test_an_agent_cannot_tell_what_is_hidden_from_what_is_not_there(
    place: Place, tool: str, argument: str
) -> None:
    """Asked for by its own name, the hidden collection answers as one that does not exist."""

    def ask(name: str) -> str:
        async def say(client: Client) -> str:
            try:
                return (await client.call_tool(tool, {argument: name})).model_dump_json()
            except MCPError as error:
                return f"{error.message} {error.data}"

        with place.open(ROLE) as restricted:
            return talk(restricted, say)

    with place.open() as owner:
        owner.stores.grant("open", ROLE)
    hidden, unknown = ("fuel.md", "gone.md") if argument == "path" else ("vault-of-a", "vault-of-z")
    assert hidden in (answer := ask(hidden))
    assert answer.replace(hidden, unknown) == ask(unknown)


# --- the command line ------------------------------------------------------------------------------

Mdvec = Callable[..., tuple[int, str, str]]


@pytest.fixture
def mdvec(place: Place, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Mdvec:
    """Run a command line on the place; returns exit code, standard output and standard error."""
    monkeypatch.setattr(paths, "user_config_dir", lambda: place.folder / "user")
    env = {"MDVEC_STORE_LOCATION": shared_server(), "MDVEC_STORE_POSTGRES_SCHEMA": place.schema}
    opener = partial(open_workspace, embedder=HashingEmbedder(dimension=16))

    def call(*args: str, **more: str) -> tuple[int, str, str]:
        code = run(args, env={**env, **more}, cwd=place.folder, opener=opener)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_rights_are_given_and_taken_back(place: Place, mdvec: Mdvec) -> None:
    """`store grant` and `store revoke`; an unknown role or collection is an error that names it."""

    def visible() -> list[str]:
        code, out, err = mdvec("tool", "ls", "--format", "json", MDVEC_STORE_POSTGRES_ROLE=ROLE)
        assert code == 0, err
        return [each["name"] for each in json.loads(out)]

    assert mdvec("store", "grant", ROLE, "-n", "open") == (0, "", f"{ROLE} may read open\n")
    assert visible() == ["open"]
    assert mdvec("store", "revoke", ROLE, "-n", "open") == (0, "", f"{ROLE} may not read open any more\n")
    assert visible() == []
    code, _, err = mdvec("store", "grant", "nobody", "-n", "open")
    assert code == 1
    assert "there is no role 'nobody'" in err
    assert "CREATE ROLE" in err
    code, _, err = mdvec("store", "grant", ROLE, "-n", "opne")
    assert code == 1
    assert "opne" in err


def test_views_are_made(place: Place, mdvec: Mdvec, sql: Any) -> None:
    """`store views` prints the names of what it made, and these answer."""
    code, out, err = mdvec("store", "views", "-n", "open")
    assert code == 0, err
    assert out.split() == [
        "raw.docs_github",
        "rag.documents_with_metadata",
        "rag.documents",
        "rag.chunks",
        "public.search_chunks",
    ]
    assert sql.execute("SELECT file_path FROM rag.documents").fetchall() == [("trees.md",)]


def test_a_file_has_no_rights_to_give(place: Place, mdvec: Mdvec) -> None:
    """The error says what would."""
    database = str(place.folder / "i.sqlite")
    assert (
        mdvec("tool", "add", "-n", "open", "-d", "x", "-s", str(place.folder), "--database", database)[0] == 0
    )
    code, _, err = mdvec("store", "grant", ROLE, "-n", "open", "--database", database)
    assert code == 2
    assert "not on a server" in err
    assert "postgresql://" in err


PASSWORD = "pa55word"
COMMANDS = (
    "search oak",
    "search oak --format json",
    "ls",
    "status",
    "status --format json",
    "doctor",
    "doctor --format json",
    "store ls --format json",
    "store show",
    "store show --format json",
    "config show",
    "config show --format json",
    "import -n open --no-embed --verbose",
    "get nothing.md --verbose",
    "daemon status --format json",
)


@pytest.mark.parametrize("away", [False, True], ids=["here", "away"])
def test_no_output_shows_the_password(place: Place, mdvec: Mdvec, away: bool) -> None:
    """Not in text, JSON, an error or a log, from ``--database`` or the settings, server there or not."""
    address = shared_server().replace("postgres:@", f"postgres:{PASSWORD}@")
    if away:
        address = f"postgresql://me:{PASSWORD}@127.0.0.1:1/db"
    assert PASSWORD in address
    log = place.folder / "mdvec.log"
    env = {"MDVEC_LOG_FILE": str(log), "MDVEC_LOG_LEVEL": "debug"}
    codes = {}
    for command in COMMANDS:
        for options, more in ((("--database", address), {}), ((), {"MDVEC_STORE_LOCATION": address})):
            codes[command], out, err = mdvec(*command.split(), *options, **env, **more)
            assert PASSWORD not in out + err, command
            assert "Traceback" not in err, command
            assert codes[command] in {0, 1}, err
    assert codes["search oak"] == codes["store show"] == (1 if away else 0)
    assert codes["config show"] == 0
    assert log.exists()
    assert PASSWORD not in log.read_text()
