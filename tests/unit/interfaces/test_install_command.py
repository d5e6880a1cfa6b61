"""``mdvec install`` and ``mdvec uninstall``."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest
from msgspec.structs import replace
from tests.unit.interfaces.conftest import Mdvec, Outcome
from tests.unit.interfaces.fake_workspace import COLLECTION, FakeWorkspace

from mdvec.interfaces.cli.installing import install
from mdvec.types.collection import EmbeddingSpec, SourceSpec

CLIENTS = ["claude-code", "claude-desktop", "cursor", "vscode", "codex", "gemini-cli"]
URL = "http://127.0.0.1:8765/mcp"
SERVE = ["-P", "-m", "mdvec", "serve"]
THEIRS = """\
{
  "theme": "dark",
  "mcpServers": {
    "other": {
      "command": "npx"
    }
  },
  "last": [1, 2]
}
"""


def written(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture
def cursor(tmp_path: Path) -> Path:
    """Cursor's file in a home that has others' servers in it."""
    path = tmp_path / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text(THEIRS, encoding="utf-8")
    return path


def home(mdvec: Mdvec, tmp_path: Path, *args: str, **env: str) -> Outcome:
    """Run mdvec with a home of its own."""
    return mdvec(*args, **{"HOME": str(tmp_path), "USERPROFILE": str(tmp_path), **env})


def test_the_entry_starts_this_mdvec_wherever_the_client_starts(
    mdvec: Mdvec, tmp_path: Path, cursor: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command is an absolute path, and so are folder and files: the client may start anywhere."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes").mkdir()
    outcome = home(
        mdvec,
        tmp_path,
        *("install", "cursor", "--docs-dir", "notes/../notes", "--data-dir", "index", "--database", "db"),
    )
    assert outcome.code == 0, outcome.err
    assert written(cursor)["mcpServers"]["mdvec"] == {
        "type": "stdio",
        "command": sys.executable,
        "args": [
            *SERVE,
            *("--docs-dir", str(tmp_path / "notes")),
            *("--data-dir", str(tmp_path / "index")),
            *("--database", str(tmp_path / "db")),
        ],
    }


def test_what_is_in_force_here_is_in_force_there(mdvec: Mdvec, tmp_path: Path, cursor: Path) -> None:
    """A configuration of this folder and a database from a variable are named: there they are not found."""
    (tmp_path / "mdvec.toml").write_text("[search]\nk = 3\n")
    outcome = home(
        mdvec, tmp_path, "install", "cursor", MDVEC_DATABASE_PATH="/x.sqlite", MDVEC_SEARCH_MODE="lexical"
    )
    assert written(cursor)["mcpServers"]["mdvec"]["args"] == [
        *SERVE,
        *("--config", str(tmp_path / "mdvec.toml")),
        *("--database", "/x.sqlite"),
    ]
    assert "warning: MDVEC_SEARCH_MODE is set here" in outcome.err


def test_the_users_own_configuration_is_found_without_a_name(
    mdvec: Mdvec, tmp_path: Path, cursor: Path
) -> None:
    """It is looked for from everywhere, so the entry does not name it."""
    (tmp_path / "user").mkdir()
    (tmp_path / "user" / "mdvec.toml").write_text("[search]\nk = 3\n")
    home(mdvec, tmp_path, "install", "cursor")
    assert written(cursor)["mcpServers"]["mdvec"]["args"] == SERVE


def test_all_else_stays_and_a_copy_is_kept(mdvec: Mdvec, tmp_path: Path, cursor: Path) -> None:
    """Order, other servers and unknown keys are as before; the file as it was lies beside it."""
    outcome = home(mdvec, tmp_path, "install", "cursor")
    changed = written(cursor)
    assert list(changed) == ["theme", "mcpServers", "last"]
    assert list(changed["mcpServers"]) == ["other", "mdvec"]
    backup = cursor.with_name("mcp.json.mdvec-backup")
    assert backup.read_text(encoding="utf-8") == THEIRS
    assert str(backup) in outcome.err
    assert "restart Cursor" in outcome.err
    assert home(mdvec, tmp_path, "uninstall", "cursor").code == 0
    assert cursor.read_text(encoding="utf-8") == THEIRS


@pytest.mark.parametrize("client", CLIENTS)
def test_a_second_run_writes_nothing(mdvec: Mdvec, tmp_path: Path, client: str) -> None:
    """Installing and uninstalling twice do once what they do, and say so."""
    first = home(mdvec, tmp_path, "install", client)
    assert first.code == 0, first.err
    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    again = home(mdvec, tmp_path, "install", client)
    assert (again.code, again.out) == (0, "")
    assert again.err.endswith("already has this entry: nothing to do\n")
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()} == files
    assert home(mdvec, tmp_path, "uninstall", client).code == 0
    assert home(mdvec, tmp_path, "uninstall", client).err.endswith("has no entry 'mdvec': nothing to do\n")


@pytest.mark.parametrize("client", CLIENTS)
def test_a_file_made_for_mdvec_goes_with_it(mdvec: Mdvec, tmp_path: Path, client: str) -> None:
    """Even after its entry was changed, a file that was made by us and holds nothing else is removed."""
    home(mdvec, tmp_path, "install", client)
    [path] = [path for path in tmp_path.rglob("*") if path.is_file()]
    home(mdvec, tmp_path, "install", client, "--database", "other.sqlite")
    assert "other.sqlite" in path.read_text()
    assert "it held nothing else" in home(mdvec, tmp_path, "uninstall", client).err
    assert not path.exists()


@pytest.mark.parametrize("client", CLIENTS)
def test_an_empty_file_that_was_there_stays(mdvec: Mdvec, tmp_path: Path, client: str) -> None:
    """A file that somebody else made stays, however little is in it."""
    home(mdvec, tmp_path, "install", client)
    [path] = [path for path in tmp_path.rglob("*") if path.is_file()]
    path.write_text("")
    home(mdvec, tmp_path, "install", client)
    home(mdvec, tmp_path, "uninstall", client)
    assert path.exists()


def test_what_the_user_added_to_the_entry_stays(mdvec: Mdvec, tmp_path: Path) -> None:
    """Settings of the user inside our entry survive an update, a change to HTTP included."""
    path = tmp_path / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text(
        "# my codex\n[mcp_servers.mdvec]\ncommand = 'old'\nargs = []\nstartup_timeout_sec = 60 # slow disk\n"
    )
    home(mdvec, tmp_path, "install", "codex", "--http", "http://127.0.0.1:8765/mcp")
    text = path.read_text()
    assert tomllib.loads(text)["mcp_servers"]["mdvec"] == {
        "startup_timeout_sec": 60,
        "url": "http://127.0.0.1:8765/mcp",
    }
    assert text.startswith("# my codex\n")
    assert "# slow disk" in text
    home(mdvec, tmp_path, "uninstall", "codex")
    assert path.read_text() == "# my codex\n"


@pytest.mark.parametrize("client", ["cursor", "vscode", "gemini-cli", "claude-code", "claude-desktop"])
def test_a_file_with_comments_is_left_alone(mdvec: Mdvec, tmp_path: Path, client: str) -> None:
    """Comments would be lost, so nothing is written, and the entry to add by hand is printed."""
    path = tmp_path / "mcp.json"
    key = "servers" if client == "vscode" else "mcpServers"
    text = f'{{\n  // mine\n  "{key}": {{"mdvec": {{"url": "http://x"}},}},\n}}\n'
    path.write_text(text)
    outcome = home(mdvec, tmp_path, "install", client, "--file", "mcp.json")
    assert outcome.code == 1
    assert json.loads(outcome.out)[key]["mdvec"]["args"] == SERVE
    assert "without comments" in outcome.err
    assert "line 2" in outcome.err
    assert "hint: Nothing was written." in outcome.err
    taken_out = home(mdvec, tmp_path, "uninstall", client, "--file", "mcp.json")
    assert (taken_out.code, taken_out.out) == (1, "")
    assert path.read_text() == text
    assert list(tmp_path.iterdir()) == [path]


def test_dry_run_shows_and_writes_nothing(mdvec: Mdvec, tmp_path: Path, cursor: Path) -> None:
    """``--dry-run`` prints a unified diff on stdout; the folder is as it was."""
    before = sorted(tmp_path.rglob("*"))
    outcome = home(mdvec, tmp_path, "install", "cursor", "--dry-run")
    assert outcome.code == 0
    assert outcome.out.startswith(f"--- {cursor}\n+++ {cursor}\n@@ ")
    assert '+    "mdvec": {\n' in outcome.out
    assert sorted(tmp_path.rglob("*")) == before
    assert cursor.read_text(encoding="utf-8") == THEIRS
    fresh = home(mdvec, tmp_path, "install", "codex", "--dry-run").out
    assert fresh.startswith("--- /dev/null\n")
    assert not (tmp_path / ".codex").exists()


@pytest.mark.parametrize(
    ("client", "text", "place"),
    [
        ("cursor", '{"mcpServers": {\n  "a": 1\n  "b": 2}}', "line 3 column 3"),
        ("cursor", '{"mcpServers": []}', "mcpServers"),
        ("cursor", "[]", "an object"),
        ("cursor", '{"mcpServers": {"a": {}, "a": {}}}', "a key twice"),
        ("cursor", '{"a": "\\ud800", "mcpServers": {}}', "cannot be edited safely"),
        ("codex", "a = 1\nb =\n", "line 2"),
        ("codex", "mcp_servers = { a = { command = 'x' } }\n", "cannot be edited safely"),
        ("codex", "mcp_servers = 1\n", "mcp_servers"),
    ],
)
def test_a_file_that_cannot_be_edited_is_never_touched(
    mdvec: Mdvec, tmp_path: Path, client: str, text: str, place: str
) -> None:
    """The error names file and reason, the entry is printed; the file stays, with no copy beside it."""
    path = tmp_path / "file"
    path.write_text(text)
    outcome = home(mdvec, tmp_path, "install", client, "--file", str(path))
    assert outcome.code == 1
    load = tomllib.loads if client == "codex" else json.loads
    assert [list(servers) for servers in load(outcome.out).values()] == [["mdvec"]]
    assert outcome.err.startswith(f"error: {path}")
    assert place in outcome.err
    assert "hint: Nothing was written." in outcome.err
    assert path.read_text() == text
    assert list(tmp_path.iterdir()) == [path]


def test_a_project_has_its_own_file(mdvec: Mdvec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``--project`` edits the file in that folder, and ``--name`` names the entry."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app").mkdir()
    home(mdvec, tmp_path, "install", "vscode", "--project", "app", "--name", "app-notes")
    assert list(written(tmp_path / "app" / ".vscode" / "mcp.json")["servers"]) == ["app-notes"]


@pytest.mark.parametrize(
    ("url", "env", "options", "header"),
    [
        ("http://127.0.0.1:8765/mcp", {}, [], None),
        ("http://[::1]:8765/mcp", {}, [], None),
        ("http://127.0.0.1:8765/mcp", {"MDVEC_TOKEN": "secret-secret-secret"}, [], "${env:MDVEC_TOKEN}"),
        ("https://notes.example.com/mcp", {}, [], "${env:MDVEC_TOKEN}"),
        ("https://notes.example.com/mcp", {}, ["--token-env", "NOTES"], "${env:NOTES}"),
        ("https://notes.example.com/mcp", {}, ["--token-env", ""], None),
    ],
)
def test_a_token_is_named_and_never_written(
    mdvec: Mdvec,
    tmp_path: Path,
    cursor: Path,
    url: str,
    env: dict[str, str],
    options: list[str],
    header: str | None,
) -> None:
    """``--http`` names the variable where the server needs a token; the token itself is nowhere."""
    outcome = home(mdvec, tmp_path, "install", "cursor", "--http", url, *options, **env)
    assert outcome.code == 0, outcome.err
    expected = {"url": url, **({"headers": {"Authorization": f"Bearer {header}"}} if header else {})}
    assert written(cursor)["mcpServers"]["mdvec"] == expected
    assert "secret" not in cursor.read_text() + outcome.err
    assert ("next: set" in outcome.err) is bool(header)


@pytest.mark.parametrize("is_clone", [True, False])
def test_an_environment_in_a_clone_is_named(
    mdvec: Mdvec, tmp_path: Path, cursor: Path, monkeypatch: pytest.MonkeyPatch, is_clone: bool
) -> None:
    """The entry is of no use once that folder is moved; tools install elsewhere."""
    prefix = tmp_path / "clone" / ".venv"
    prefix.mkdir(parents=True)
    if is_clone:
        (tmp_path / "clone" / "pyproject.toml").touch()
    monkeypatch.setattr("sys.prefix", str(prefix))
    outcome = home(mdvec, tmp_path, "install", "cursor")
    assert cursor.exists()
    reminder = f"it starts mdvec from {prefix}: run this again after you move or rebuild that folder"
    assert (reminder in outcome.err) is is_clone


@pytest.mark.parametrize(
    "args",
    [
        ("install", "emacs"),
        ("install", "cursor", "--name", "my notes"),
        ("install", "cursor", "--project", ".", "--file", "x"),
        ("install", "claude-desktop", "--project", "."),
        ("install", "claude-desktop", "--http", "http://127.0.0.1:8765/mcp"),
        ("install", "cursor", "--token-env", "X"),
        ("install", "cursor", "--data-dir", "x"),
        ("install", "cursor", "--http", "127.0.0.1:8765"),
        ("install", "cursor", "--http", "http://me:secret@127.0.0.1:8765/mcp"),
        ("install", "cursor", "--http", "http://[::1/mcp"),
        ("install", "cursor", "--http", "http://x/mcp", "--token-env", "a token"),
        ("install", "cursor", "--http", "http://x/mcp", "--docs-dir", "."),
        ("uninstall", "cursor", "--name", ""),
        ("install", "cursor", "--env", "NOT_SET_HERE"),
        ("install", "cursor", "--env", "a name=1"),
        ("install", "cursor", "--http", "http://127.0.0.1/mcp", "--env", "A=1"),
    ],
)
def test_wrong_calls_write_nothing(mdvec: Mdvec, tmp_path: Path, args: tuple[str, ...]) -> None:
    """A call that makes no sense exits with 2 and says what to do; nothing is written."""
    outcome = home(mdvec, tmp_path, *args)
    assert (outcome.code, outcome.out) == (2, "")
    assert "hint: " in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_the_client_may_write_at_the_same_moment(
    mdvec: Mdvec, tmp_path: Path, cursor: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the client saves its file in between, the edit starts again from what it saved."""
    from mdvec.interfaces.clients import edits

    original = edits.installed
    saves = iter([THEIRS.replace("dark", "light")])

    def while_the_client_saves(*args: Any) -> str:
        text = original(*args)
        for saved in saves:
            cursor.write_text(saved, encoding="utf-8")
        return text

    monkeypatch.setattr(edits, "installed", while_the_client_saves)
    assert home(mdvec, tmp_path, "install", "cursor").code == 0
    assert written(cursor)["theme"] == "light"
    assert "mdvec" in written(cursor)["mcpServers"]


KEY = "pa-0123456789"


@pytest.mark.parametrize("client", CLIENTS)
def test_keys_are_written_for_the_client(mdvec: Mdvec, tmp_path: Path, client: str) -> None:
    """``--env`` takes a value from here or as written; what was set before stays."""
    args = ("install", client, "--file", "file")
    assert home(mdvec, tmp_path, *args, "--env", "OLD=1").code == 0
    outcome = home(mdvec, tmp_path, *args, "--env", "VOYAGE_API_KEY", "--env", "B=x=y", VOYAGE_API_KEY=KEY)
    assert outcome.code == 0, outcome.err
    text = (tmp_path / "file").read_text()
    [servers] = (tomllib.loads(text) if client == "codex" else json.loads(text)).values()
    assert servers["mdvec"]["env"] == {"OLD": "1", "VOYAGE_API_KEY": KEY, "B": "x=y"}
    assert "this file now contains the value of VOYAGE_API_KEY, B" in outcome.err
    assert KEY not in outcome.err
    again = home(mdvec, tmp_path, *args)
    assert again.err.endswith("already has this entry: nothing to do\n")


def test_keys_are_not_printed(mdvec: Mdvec, tmp_path: Path) -> None:
    """A dry run and the entry to add by hand have the names of the variables in place of the values."""
    path = tmp_path / "file"
    args = ("install", "cursor", "--file", "file", "--env", "VOYAGE_API_KEY")
    dry = home(mdvec, tmp_path, *args, "--dry-run", VOYAGE_API_KEY=KEY)
    assert '"VOYAGE_API_KEY": "<VOYAGE_API_KEY>"' in dry.out
    path.write_text("// mine")
    refused = home(mdvec, tmp_path, *args, VOYAGE_API_KEY=KEY)
    assert json.loads(refused.out)["mcpServers"]["mdvec"]["env"] == {"VOYAGE_API_KEY": "<VOYAGE_API_KEY>"}
    assert KEY not in dry.out + dry.err + refused.out + refused.err


def test_a_running_server_has_its_own_environment(mdvec: Mdvec, tmp_path: Path, cursor: Path) -> None:
    """An entry that is changed to a URL loses its variables, which some clients refuse there."""
    home(mdvec, tmp_path, "install", "cursor", "--env", "A=1")
    home(mdvec, tmp_path, "install", "cursor", "--http", URL)
    assert written(cursor)["mcpServers"]["mdvec"] == {"url": URL}


@pytest.mark.parametrize(
    ("env", "args", "needed"),
    [
        ({}, [], None),
        ({"MDVEC_EMBEDDING_PROVIDER": "voyage"}, [], "VOYAGE_API_KEY"),
        ({"MDVEC_EMBEDDING_PROVIDER": "voyage"}, ["--env", "VOYAGE_API_KEY=k"], None),
        ({"MDVEC_EMBEDDING_PROVIDER": "gemini"}, [], "GEMINI_API_KEY or GOOGLE_API_KEY"),
        ({"MDVEC_EMBEDDING_PROVIDER": "gemini"}, ["--env", "GOOGLE_API_KEY=k"], None),
        ({"MDVEC_EMBEDDING_PROVIDER": "openai", "MDVEC_EMBEDDING_OPENAI_API_KEY_ENV": "K"}, [], "K"),
        ({"MDVEC_EMBEDDING_PROVIDER": "openai"}, [], "OPENAI_API_KEY"),
        ({"MDVEC_SEARCH_RERANK": "cohere:rerank-v3.5"}, [], "COHERE_API_KEY"),
        ({"MDVEC_SEARCH_RERANK": "jina", "MDVEC_RERANK_JINA_API_KEY_ENV": "K"}, [], "K"),
        (
            {
                "MDVEC_EMBEDDING_PROVIDER": "openai",
                "MDVEC_EMBEDDING_OPENAI_BASE_URL": "http://127.0.0.1:8080/v1",
            },
            [],
            None,
        ),
    ],
)
def test_a_missing_key_is_named(
    mdvec: Mdvec, tmp_path: Path, env: dict[str, str], args: list[str], needed: str | None
) -> None:
    """When the configured model or reranker needs a key that is not written, a note names it."""
    outcome = home(mdvec, tmp_path, "install", "codex", *args, **env)
    assert outcome.code == 0, outcome.err
    notes = [line for line in outcome.err.splitlines() if " needs " in line]
    assert len(notes) == (needed is not None)
    assert needed is None or f"needs {needed}, which the entry does not set" in notes[0]


def test_the_key_of_a_collection_is_named(
    mdvec: Mdvec, tmp_path: Path, workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A collection may have another model than the configured one."""
    made = replace(COLLECTION, embedding=EmbeddingSpec("voyage"))
    monkeypatch.setattr(workspace, "database", tmp_path)
    monkeypatch.setattr(workspace, "collections", lambda **_: [made])
    assert "voyage needs VOYAGE_API_KEY" in home(mdvec, tmp_path, "install", "codex").err


def test_the_token_of_a_private_vault_is_named(
    mdvec: Mdvec, tmp_path: Path, workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client starts without the variables of a shell, and the vault would no longer be updated."""
    made = replace(COLLECTION, source=SourceSpec("github", "me/vault"))
    monkeypatch.setattr(workspace, "database", tmp_path)
    monkeypatch.setattr(workspace, "collections", lambda **_: [made])
    said = "a private repository on github needs GITHUB_TOKEN, which the entry does not set"
    assert said in home(mdvec, tmp_path, "install", "codex").err
    assert said not in home(mdvec, tmp_path, "install", "cursor", "--env", "GITHUB_TOKEN=x").err


def test_a_configuration_that_is_found_counts_in_the_entry(
    mdvec: Mdvec, tmp_path: Path, cursor: Path
) -> None:
    """It is named there and so trusted: nothing of it is called ignored, and its model's key is asked for."""
    (tmp_path / "config.yaml").write_text("embedding: {output_dimensionality: 768}\n", "utf-8")
    outcome = home(mdvec, tmp_path, "install", "cursor")
    assert str(tmp_path / "config.yaml") in written(cursor)["mcpServers"]["mdvec"]["args"]
    assert "is named in the entry and so is trusted" in outcome.err
    assert "ignored" not in outcome.err
    assert "gemini needs GEMINI_API_KEY" in outcome.err


def test_variables_that_are_written_are_not_warned_of(mdvec: Mdvec, tmp_path: Path, cursor: Path) -> None:
    """A setting from a variable is in force where the client starts when the entry sets it."""
    outcome = home(
        mdvec, tmp_path, "install", "cursor", "--env", "MDVEC_SEARCH_MODE", MDVEC_SEARCH_MODE="lexical"
    )
    assert written(cursor)["mcpServers"]["mdvec"]["env"] == {"MDVEC_SEARCH_MODE": "lexical"}
    assert "warning" not in outcome.err


def test_all_clients_can_be_named() -> None:
    """The command offers exactly the clients that there are."""
    [kind] = [each.type for each in install.params if each.name == "client_name"]
    assert isinstance(kind, click.Choice)
    assert list(kind.choices) == CLIENTS


@pytest.mark.parametrize(
    ("client", "shown"),
    [
        ("claude-code", {"env": {"VOYAGE_API_KEY": "${VOYAGE_API_KEY}"}}),
        ("cursor", {"env": {"VOYAGE_API_KEY": "${env:VOYAGE_API_KEY}"}}),
        ("vscode", {"env": {"VOYAGE_API_KEY": "${env:VOYAGE_API_KEY}"}}),
        ("gemini-cli", {"env": {"VOYAGE_API_KEY": "${VOYAGE_API_KEY}"}}),
        ("codex", {"env_vars": ["VOYAGE_API_KEY"]}),
    ],
)
def test_a_client_passes_a_key_on(
    mdvec: Mdvec, tmp_path: Path, client: str, shown: dict[str, Any], workspace: FakeWorkspace
) -> None:
    """Its file has a reference in the client's own form, and not the value; a second run changes nothing."""
    file = tmp_path / ("x.toml" if client == "codex" else "x.json")
    args = ("install", client, "--file", str(file), "--env-ref", "VOYAGE_API_KEY")
    outcome = home(mdvec, tmp_path, *args, VOYAGE_API_KEY="secret-secret")
    assert outcome.code == 0, outcome.err
    assert "next: set VOYAGE_API_KEY where" in outcome.err
    text = file.read_text(encoding="utf-8")
    assert "secret-secret" not in text
    [servers] = (tomllib.loads(text) if client == "codex" else json.loads(text)).values()
    assert {key: servers["mdvec"][key] for key in shown} == shown
    assert "nothing to do" in home(mdvec, tmp_path, *args).err


def test_a_client_without_references_refuses_one(mdvec: Mdvec, tmp_path: Path) -> None:
    """The hint names the other way."""
    outcome = home(mdvec, tmp_path, "install", "claude-desktop", "--env-ref", "VOYAGE_API_KEY")
    assert outcome.code == 2
    assert "--env VOYAGE_API_KEY" in outcome.err
