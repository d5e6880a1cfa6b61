"""What the pages say about clients is what `mdvec install` does, and what a client can start."""

from __future__ import annotations

import json
import re
import sysconfig
import tomllib
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters

from mdvec.interfaces.clients.catalogue import CLIENTS
from mdvec.interfaces.clients.edits import LAUNCH_KEYS

ROOT = Path(__file__).resolve().parents[2]
HOW_TO = ROOT / "docs" / "how-to" / "connect-an-agent.md"
READMES = [ROOT / "README.md", ROOT / "README.ja.md"]
MDVEC = Path(sysconfig.get_path("scripts")) / "mdvec"


def files_shown(page: Path) -> list[Any]:
    """Return the files of clients that a page shows, as their own readers read them."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"```(json|toml)\n(.*?)```", text, re.DOTALL)
    return [json.loads(block) if kind == "json" else tomllib.loads(block) for kind, block in blocks]


@pytest.mark.parametrize("page", [*READMES, HOW_TO], ids=lambda page: page.name)
def test_shown_files_have_the_form_that_is_written(page: Path) -> None:
    """Each shown file has the entry of a client under that client's key; a field more does no harm."""
    shown = {key: servers["mdvec"] for file in files_shown(page) for key, servers in file.items()}
    assert list(shown) == ["mcpServers", "servers", "mcp_servers"][: len(shown)]
    for client in CLIENTS.values():
        if client.servers_key in shown:
            entry = client.stdio_entry(("/path/to/mdvec", "serve"), {})
            assert {"type": "stdio", **shown[client.servers_key]} == {"type": "stdio", **entry}
            assert set(shown[client.servers_key]) <= LAUNCH_KEYS


@pytest.mark.parametrize("number", [0, 1])
def test_a_real_client_can_start_what_the_readme_shows(number: int, tmp_path: Path) -> None:
    """With the path filled in, the official client starts the entry and lists the tools."""
    assert files_shown(READMES[0]) == files_shown(READMES[1])
    [(_, servers)] = files_shown(READMES[0])[number].items()
    entry = servers["mdvec"]
    assert entry["command"] == "/path/to/mdvec"
    server = StdioServerParameters(
        command=str(MDVEC), args=entry["args"], env={"HOME": str(tmp_path), "PATH": ""}
    )

    async def names() -> list[str]:
        async with Client(server) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    assert "search" in anyio.run(names)


def test_every_client_is_documented() -> None:
    """The page about clients, the reference and both READMEs name each of them."""
    pages = [HOW_TO, ROOT / "docs" / "reference" / "cli.md", *READMES]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert [name for name in CLIENTS if name not in text] == [], page.name


@pytest.mark.parametrize("name", CLIENTS)
def test_every_file_is_documented(name: str) -> None:
    """The row of a client names its file for a project, and where its own one may be moved to."""
    row = re.search(rf"^\| `{name}` \|.*$", HOW_TO.read_text(encoding="utf-8"), re.MULTILINE)
    assert row
    assert (CLIENTS[name].project_file or "none") in row[0]
