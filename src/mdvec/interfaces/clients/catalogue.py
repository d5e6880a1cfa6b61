"""The MCP clients: where each keeps its servers, the entry it expects there, and the variables in it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from mdvec.errors import UsageError
from mdvec.text.folding import spelled

_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# The folder of a user's settings of Electron applications: a variable, or one below the home directory.
_APPLICATION_DATA = {
    "darwin": ("", "Library/Application Support"),
    "win32": ("APPDATA", "AppData/Roaming"),
}
_XDG = ("XDG_CONFIG_HOME", ".config")
# The Windows installer of Claude Desktop has been an MSIX package since 2026, which sees its own folder in
# place of %APPDATA% (claude-code#57998).
_PACKAGED = "Packages/Claude_*/LocalCache/Roaming"


class Client(Struct, frozen=True, kw_only=True):
    """The differences between clients.

    Attributes:
        title: Its name for people.
        root: A variable with the folder of its file, and a folder below the home directory when that is not
            set; None for the folder of an application's data.
        user_file: The file with its servers for all projects, below ``root``.
        project_file: The file for one project, below the project's folder; empty when there is none.
        after: The step after which a change takes effect.
        servers_key: The member of the file that holds the servers by name.
        is_toml: True if the file is TOML instead of JSON.
        types: Values of ``type`` it expects in an entry: ``stdio``, ``http``.
        url_key: The member of an entry that holds a URL; empty when it cannot use running servers.
        reference: How an entry refers to a variable; empty where other keys name it, or nothing does.
        variable: Matches the parts of a value that it replaces by a variable; None if it replaces nothing.
    """

    title: str
    root: tuple[str, str] | None = None
    user_file: str
    project_file: str = ""
    after: str
    servers_key: str = "mcpServers"
    is_toml: bool = False
    types: tuple[str, ...] = ()
    url_key: str = "url"
    reference: str = ""
    variable: re.Pattern[str] | None = None

    @property
    def passes_variables(self) -> bool:
        """Whether an entry may name variables of the client's own environment."""
        return bool(self.reference or self.is_toml)

    def file(self, project: Path | None, *, platform: str, home: Path, env: Mapping[str, str]) -> Path:
        """Return the file with its servers.

        ``platform`` is as in ``sys.platform``.

        Raises:
            UsageError: If the client has no servers for single projects.
        """
        if project is not None:
            if not self.project_file:
                msg = f"{self.title} does not support servers for single projects"
                raise UsageError(msg, hint="Leave out --project.")
            return project / self.project_file
        variable, folder = self.root or _APPLICATION_DATA.get(platform, _XDG)
        root = Path(env.get(variable) or home / folder)
        if platform == "win32" and self.title == "Claude Desktop":
            local = Path(env.get("LOCALAPPDATA") or home / "AppData/Local")
            root = next(iter(sorted(local.glob(_PACKAGED))), root)
        return root / self.user_file

    def stdio_entry(
        self, command: Sequence[str], env: Mapping[str, str], references: Sequence[str] = ()
    ) -> dict[str, object]:
        """Return the entry for a command that the client starts.

        The client passes on the variables of ``references`` from its own environment.

        Raises:
            UsageError: If the client would misread a value, or cannot pass on variables.
        """
        for value in command:
            self._check(value, spelled(value))
        for name, value in env.items():
            self._check(value, f"the value of {name}")
        if references and not self.passes_variables:
            msg = f"{self.title} cannot pass on variables"
            raise UsageError(msg, hint=f"Write the value into the entry: --env {references[0]}.")
        kind = {"type": "stdio"} if "stdio" in self.types else {}
        passed = {name: self.reference % name for name in references} if self.reference else {}
        return {
            **kind,
            "command": command[0],
            "args": list(command[1:]),
            **({"env": {**env, **passed}} if env or passed else {}),
            **({"env_vars": list(references)} if references and not passed else {}),
        }

    def http_entry(self, url: str, token_variable: str) -> dict[str, object]:
        """Return the entry for a running server, whose token is in an environment variable or not needed.

        Raises:
            UsageError: If the client cannot use a running server, or would misread the URL.
        """
        if not self.url_key:
            msg = f"{self.title}'s file has no entries for running servers"
            raise UsageError(msg, hint=f"Leave out --http: {self.title} starts mdvec itself.")
        self._check(url, spelled(url))
        kind = {"type": "http"} if "http" in self.types else {}
        entry: dict[str, object] = {**kind, self.url_key: url}
        if token_variable and self.reference:
            entry["headers"] = {"Authorization": f"Bearer {self.reference % token_variable}"}
        elif token_variable:
            entry["bearer_token_env_var"] = token_variable
        return entry

    def _check(self, value: str, shown: str) -> None:
        problem = ""
        if value != spelled(value):
            problem = f"{shown} is not UTF-8, and cannot be written into the file of {self.title}"
        elif self.variable is not None and self.variable.search(value):
            problem = f"{self.title} would read a part of {shown!r} as a variable"
        if problem:
            raise UsageError(problem, hint="Change the value, or rename the folder or the file.")


_BRACED = re.compile(r"\$\{")

CLIENTS: Mapping[str, Client] = {
    # https://code.claude.com/docs/en/mcp; with CLAUDE_CONFIG_DIR the file moves there (claude-code#48448).
    "claude-code": Client(
        title="Claude Code",
        root=("CLAUDE_CONFIG_DIR", ""),
        user_file=".claude.json",
        project_file=".mcp.json",
        after="start a new session of Claude Code; /mcp lists its servers",
        types=("stdio", "http"),
        reference="${%s}",
        variable=_BRACED,
    ),
    # https://modelcontextprotocol.io/docs/develop/connect-local-servers
    "claude-desktop": Client(
        title="Claude Desktop",
        user_file="Claude/claude_desktop_config.json",
        after="quit Claude Desktop, not only its window, and start it again",
        url_key="",
    ),
    # https://cursor.com/docs/mcp
    "cursor": Client(
        title="Cursor",
        root=("", ""),
        user_file=".cursor/mcp.json",
        project_file=".cursor/mcp.json",
        after="restart Cursor, or switch the server on in its settings under MCP",
        types=("stdio",),
        reference="${env:%s}",
        variable=_BRACED,
    ),
    # https://code.visualstudio.com/docs/agents/reference/mcp-configuration
    "vscode": Client(
        title="VS Code",
        user_file="Code/User/mcp.json",
        project_file=".vscode/mcp.json",
        after="run 'MCP: List Servers' in VS Code and start the server",
        servers_key="servers",
        types=("stdio", "http"),
        reference="${env:%s}",
        variable=_BRACED,
    ),
    # https://developers.openai.com/codex/mcp
    "codex": Client(
        title="Codex",
        root=("CODEX_HOME", ".codex"),
        user_file="config.toml",
        project_file=".codex/config.toml",
        after="start a new session of Codex; /mcp lists its servers",
        servers_key="mcp_servers",
        is_toml=True,
    ),
    # https://geminicli.com/docs/reference/configuration: GEMINI_CLI_HOME replaces the home directory.
    "gemini-cli": Client(
        title="Gemini CLI",
        root=("GEMINI_CLI_HOME", ""),
        user_file=".gemini/settings.json",
        project_file=".gemini/settings.json",
        after="restart Gemini CLI; /mcp lists its servers",
        url_key="httpUrl",
        reference="${%s}",
        variable=re.compile(r"\$(?:\{|\w)"),
    ),
}
"""Every client by name."""


def variables_written(given: Sequence[str], env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables to write into an entry, with their values.

    A variable is given as ``NAME=VALUE``, or as ``NAME`` for the value it has now.

    Raises:
        UsageError: If one is no name of a variable, or is not set.
    """
    written: dict[str, str] = {}
    for variable in given:
        name, equals, value = variable.partition("=")
        check_variable(name, "Write --env NAME, or --env NAME=VALUE.")
        if not equals and name not in env:
            msg = f"the variable {name} is not set here"
            raise UsageError(msg, hint=f"Set it first, or write --env {name}=VALUE.")
        written[name] = value if equals else env[name]
    return written


def check_variable(name: str, hint: str) -> None:
    """Refuse a text that is not the name of a variable.

    Raises:
        UsageError: If it is not.
    """
    if not _VARIABLE_NAME.fullmatch(name):
        msg = f"not the name of a variable: {name!r}"
        raise UsageError(msg, hint=hint)


def token_variable(url: str | None, name: str | None, env: Mapping[str, str]) -> str:
    """Return the variable the client takes a server's token from; empty for none.

    Without a ``url``, the client starts the server; without a ``name``, one is chosen.

    Raises:
        UsageError: If the URL or the name cannot be used.
    """
    from mdvec.interfaces.http.options import TOKEN_VARIABLE, Authority

    if url is None:
        if name is not None:
            msg = "--token-env is for a server that is running"
            raise UsageError(msg, hint="Give --http URL too.")
        return ""
    host = _checked_host(url)
    if name is None:
        # On loopback a server needs no token, and some clients refuse to start with a variable not set.
        return TOKEN_VARIABLE if TOKEN_VARIABLE in env or not Authority(host).is_loopback else ""
    if name:
        check_variable(name, "Give a name such as MDVEC_TOKEN; mdvec never writes the token itself.")
    return name


def endpoint(url: str) -> str:
    """Return the URL at which a server speaks MCP; an address without a path is the whole server's."""
    base = url.rstrip("/")
    return base if urlsplit(base).path else f"{base}/mcp"


def _checked_host(url: str) -> str:
    try:
        parts = urlsplit(url)
        host = parts.hostname
        usable = parts.scheme in ("http", "https") and bool(host) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or host is None:
        msg = f"not the URL of a server: {url!r}"
        raise UsageError(msg, hint="Write it as 'mdvec serve --http' prints it: http://127.0.0.1:8765/mcp.")
    if parts.username is not None or parts.password is not None:
        msg = "a URL with a password would be written into the client's file"
        raise UsageError(msg, hint="Use --token-env.")
    return host
