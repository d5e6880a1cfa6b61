"""Where clients keep their servers, and what they read there."""

from __future__ import annotations

from pathlib import Path

import pytest

from mdvec.errors import UsageError
from mdvec.interfaces.clients.catalogue import (
    CLIENTS,
    ENTRY_KEYS,
    ClientName,
    Launch,
    Surroundings,
    entry_of,
    file_of,
)

HOME = Path("/home/me")
MAC = Surroundings("darwin", HOME, {})
LINUX = Surroundings("linux", HOME, {})
WINDOWS = Surroundings("win32", HOME, {"APPDATA": "/roaming", "LOCALAPPDATA": "/local"})


@pytest.mark.parametrize(
    ("client", "linux", "mac", "windows"),
    [
        ("claude-code", "/home/me/.claude.json", "/home/me/.claude.json", "/home/me/.claude.json"),
        (
            "claude-desktop",
            "/home/me/.config/Claude/claude_desktop_config.json",
            "/home/me/Library/Application Support/Claude/claude_desktop_config.json",
            "/roaming/Claude/claude_desktop_config.json",
        ),
        ("cursor", *["/home/me/.cursor/mcp.json"] * 3),
        (
            "vscode",
            "/home/me/.config/Code/User/mcp.json",
            "/home/me/Library/Application Support/Code/User/mcp.json",
            "/roaming/Code/User/mcp.json",
        ),
        ("codex", *["/home/me/.codex/config.toml"] * 3),
        ("gemini-cli", *["/home/me/.gemini/settings.json"] * 3),
    ],
)
def test_each_client_has_its_file(client: str, linux: str, mac: str, windows: str) -> None:
    """For all projects of a user, on each system."""
    found = [file_of(ClientName(client), here, None).as_posix() for here in (LINUX, MAC, WINDOWS)]
    assert found == [linux, mac, windows]


@pytest.mark.parametrize(
    ("client", "variable", "expected"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR", "/elsewhere/.claude.json"),
        ("claude-desktop", "XDG_CONFIG_HOME", "/elsewhere/Claude/claude_desktop_config.json"),
        ("vscode", "XDG_CONFIG_HOME", "/elsewhere/Code/User/mcp.json"),
        ("codex", "CODEX_HOME", "/elsewhere/config.toml"),
        ("gemini-cli", "GEMINI_CLI_HOME", "/elsewhere/.gemini/settings.json"),
    ],
)
def test_variables_move_the_file(client: str, variable: str, expected: str) -> None:
    """A client that takes its place from a variable is found there."""
    here = Surroundings("linux", HOME, {variable: "/elsewhere"})
    assert file_of(ClientName(client), here, None).as_posix() == expected


def test_the_packaged_claude_desktop_has_a_folder_of_its_own(tmp_path: Path) -> None:
    """On Windows the packaged application reads below its package, and no longer from the roaming folder."""
    packaged = tmp_path / "Packages" / "Claude_abc" / "LocalCache" / "Roaming" / "Claude"
    packaged.mkdir(parents=True)
    here = Surroundings("win32", HOME, {"LOCALAPPDATA": str(tmp_path), "APPDATA": "/roaming"})
    assert file_of(ClientName.CLAUDE_DESKTOP, here, None) == packaged / "claude_desktop_config.json"


def test_projects_have_files_of_their_own() -> None:
    """All but one client have a file in the project; the one says that it has none."""
    found = {
        name: file_of(name, LINUX, Path("/p")).as_posix() for name in ClientName if CLIENTS[name].project_file
    }
    assert found == {
        "claude-code": "/p/.mcp.json",
        "cursor": "/p/.cursor/mcp.json",
        "vscode": "/p/.vscode/mcp.json",
        "codex": "/p/.codex/config.toml",
        "gemini-cli": "/p/.gemini/settings.json",
    }
    with pytest.raises(UsageError, match="Claude Desktop"):
        file_of(ClientName.CLAUDE_DESKTOP, LINUX, Path("/p"))


STDIO = {"command": "/py", "args": ["-m", "mdvec"]}
URL = "http://127.0.0.1:8765/mcp"


@pytest.mark.parametrize(
    ("client", "stdio", "http"),
    [
        (
            "claude-code",
            {"type": "stdio", **STDIO},
            {"type": "http", "url": URL, "headers": {"Authorization": "Bearer ${T}"}},
        ),
        ("cursor", {"type": "stdio", **STDIO}, {"url": URL, "headers": {"Authorization": "Bearer ${env:T}"}}),
        (
            "vscode",
            {"type": "stdio", **STDIO},
            {"type": "http", "url": URL, "headers": {"Authorization": "Bearer ${env:T}"}},
        ),
        ("codex", STDIO, {"url": URL, "bearer_token_env_var": "T"}),
        ("gemini-cli", STDIO, {"httpUrl": URL, "headers": {"Authorization": "Bearer ${T}"}}),
        ("claude-desktop", STDIO, None),
    ],
)
def test_each_client_reads_its_own_entry(
    client: str, stdio: dict[str, object], http: dict[str, object] | None
) -> None:
    """An entry starts mdvec or names a URL; a token is named by its variable, and left out without one."""
    name = ClientName(client)
    assert entry_of(name, Launch(command=("/py", "-m", "mdvec"))) == stdio
    if http is None:
        with pytest.raises(UsageError, match="running servers"):
            entry_of(name, Launch(url=URL))
        return
    assert entry_of(name, Launch(url=URL, token_variable="T")) == http
    without = {key: value for key, value in http.items() if key not in ("headers", "bearer_token_env_var")}
    assert entry_of(name, Launch(url=URL)) == without
    assert set(stdio) | set(http) <= ENTRY_KEYS


@pytest.mark.parametrize(
    ("client", "path", "refused"),
    [
        ("claude-code", "/n/${HOME}", True),
        ("vscode", "/n/${HOME}", True),
        ("gemini-cli", "/n/$HOME", True),
        ("claude-code", "/n/$HOME", False),
        ("codex", "/n/${HOME}", False),
        ("gemini-cli", "/n/5$", False),
    ],
)
def test_a_path_that_a_client_would_change_is_refused(client: str, path: str, refused: bool) -> None:
    """A folder with the look of a variable is refused where the client would replace it."""
    launch = Launch(command=("/py", "--docs-dir", path))
    if refused:
        with pytest.raises(UsageError, match="variable"):
            entry_of(ClientName(client), launch)
    else:
        assert entry_of(ClientName(client), launch)["args"] == ["--docs-dir", path]


@pytest.mark.parametrize("client", list(ClientName))
def test_a_path_that_is_not_utf_8_is_refused(client: ClientName) -> None:
    """No client's file can hold it; the error spells it."""
    with pytest.raises(UsageError, match=r"caf\\xe9 is not UTF-8"):
        entry_of(client, Launch(command=("/py", "--docs-dir", "/n/caf\udce9")))
