"""Where clients keep their servers, and what they read there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from mdvec.errors import UsageError
from mdvec.interfaces.clients.catalogue import CLIENTS
from mdvec.interfaces.clients.edits import LAUNCH_KEYS

HOME = Path("/home/me")
WINDOWS = {"APPDATA": "/roaming", "LOCALAPPDATA": "/local"}


def user_file(client: str, platform: str, env: Mapping[str, str]) -> Path:
    return CLIENTS[client].file(None, platform=platform, home=HOME, env=env)


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
    machines: list[tuple[str, Mapping[str, str]]] = [("linux", {}), ("darwin", {}), ("win32", WINDOWS)]
    found = [user_file(client, platform, env).as_posix() for platform, env in machines]
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
    assert user_file(client, "linux", {variable: "/elsewhere"}).as_posix() == expected


def test_the_packaged_claude_desktop_has_a_folder_of_its_own(tmp_path: Path) -> None:
    """On Windows the packaged application reads below its package, and no longer from the roaming folder."""
    packaged = tmp_path / "Packages" / "Claude_abc" / "LocalCache" / "Roaming" / "Claude"
    packaged.mkdir(parents=True)
    env = {"LOCALAPPDATA": str(tmp_path), "APPDATA": "/roaming"}
    assert user_file("claude-desktop", "win32", env) == packaged / "claude_desktop_config.json"


def test_projects_have_files_of_their_own() -> None:
    """All but one client have a file in the project; the one says that it has none."""
    found = {
        name: client.file(Path("/p"), platform="linux", home=HOME, env={}).as_posix()
        for name, client in CLIENTS.items()
        if client.project_file
    }
    assert found == {
        "claude-code": "/p/.mcp.json",
        "cursor": "/p/.cursor/mcp.json",
        "vscode": "/p/.vscode/mcp.json",
        "codex": "/p/.codex/config.toml",
        "gemini-cli": "/p/.gemini/settings.json",
    }
    with pytest.raises(UsageError, match="Claude Desktop"):
        CLIENTS["claude-desktop"].file(Path("/p"), platform="linux", home=HOME, env={})


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
    known = CLIENTS[client]
    assert known.stdio_entry(("/py", "-m", "mdvec"), {}) == stdio
    assert known.stdio_entry(("/py", "-m", "mdvec"), {"KEY": "k"}) == {**stdio, "env": {"KEY": "k"}}
    if http is None:
        with pytest.raises(UsageError, match="running servers"):
            known.http_entry(URL, "")
        return
    assert known.http_entry(URL, "T") == http
    without = {key: value for key, value in http.items() if key not in ("headers", "bearer_token_env_var")}
    assert known.http_entry(URL, "") == without
    assert set(stdio) | set(http) <= LAUNCH_KEYS


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
    command = ("/py", "--docs-dir", path)
    if refused:
        with pytest.raises(UsageError, match="variable"):
            CLIENTS[client].stdio_entry(command, {})
        with pytest.raises(UsageError, match="a part of 'the value of KEY' as a variable"):
            CLIENTS[client].stdio_entry(("/py",), {"KEY": path})
    else:
        assert CLIENTS[client].stdio_entry(command, {})["args"] == ["--docs-dir", path]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_path_that_is_not_utf_8_is_refused(client: str) -> None:
    """No client's file can hold it; the error spells it."""
    with pytest.raises(UsageError, match=r"caf\\xe9 is not UTF-8"):
        CLIENTS[client].stdio_entry(("/py", "--docs-dir", "/n/caf\udce9"), {})
