"""``mdvec serve --http`` with real sockets and the real client, in both eras of the protocol."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from tests.commands import run_here
from tests.conformance.servers import MDVEC, serving
from tests.waiting import HANG_S, wait_until
from tests.workspaces import written

from mdvec import __version__
from mdvec.interfaces.http.guard import MAX_BODY_BYTES, MAX_REQUESTS

TOKEN = "token-of-the-tests-0123456789"
ERAS = ["auto", "legacy"]
SHED = "Plans [2026]/in {x}/what? [1].md"


@dataclass(frozen=True, slots=True)
class Server:
    """A server that runs.

    Attributes:
        url: Of its MCP endpoint.
        log: What it says on stderr.
    """

    url: str
    log: Path

    @property
    def place(self) -> tuple[str, int]:
        """Address and port."""
        parts = urlsplit(self.url)
        return str(parts.hostname), parts.port or 0

    def request(self, method: str, path: str, **settings: Any) -> httpx2.Response:
        """Send a request with an ordinary client."""
        return httpx2.request(method, self.url.removesuffix("/mcp") + path, timeout=HANG_S, **settings)

    def send(self, *pieces: bytes) -> bytes:
        """Send bytes as they are and return all that comes back until the server closes."""
        with socket.create_connection(self.place, timeout=HANG_S) as connection:
            for piece in pieces:
                connection.sendall(piece)
            received = b""
            while more := connection.recv(65536):
                received += more
            return received

    def opening(self, path: str = "/mcp") -> bytes:
        """Return the first lines of a request."""
        host, port = self.place
        return f"POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n".encode()


def environment(home: Path, **more: str) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MDVEC_", "XDG_"))}
    return {**inherited, "HOME": str(home), "MDVEC_DATABASE_PATH": str(home / "index.sqlite"), **more}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with three notes, of which the words are indexed."""
    folder = tmp_path_factory.mktemp("home")
    written(
        folder / "notes",
        {
            "再試行.md": "# 再試行\n\n五回まで再試行する。\n",
            SHED: "The lamp of the shed.\n",
            "Plans 2/attic.md": "Another lamp, of the attic.\n",
        },
    )
    for args in (
        ("tool", "add", "-n", "notes", "-d", "Notes", "-s", "notes"),
        ("import", "-n", "notes", "--no-embed"),
    ):
        assert run_here(args, cwd=folder, env=environment(folder)).returncode == 0
    return folder


@pytest.fixture(scope="module")
def server(home: Path, model_cache: Path) -> Iterator[Server]:
    """A server for this machine alone, without a token."""
    log = home / "plain.log"
    variables = environment(home, MDVEC_EMBEDDING_CACHE_DIR=str(model_cache))
    with serving([*MDVEC, "serve", "--http", "127.0.0.1:0"], variables, log) as url:
        yield Server(url, log)


@pytest.fixture(scope="module")
def locked(home: Path) -> Iterator[Server]:
    """A server with a token at every address of the machine, told everything there is to tell."""
    file, log = home / "token", home / "locked.log"
    file.write_text(TOKEN + "\n")
    file.chmod(0o600)
    command = [*MDVEC, "serve", "--http", "0.0.0.0:0", "--token-file", str(file), "--verbose"]
    with serving(command, environment(home), log) as url:
        yield Server(url, log)


def found(url: str, era: Any, token: str | None = None) -> tuple[str, list[str], Any]:
    """Connect as an agent does and search; return the protocol, the tools and the first hit."""

    async def use() -> tuple[str, list[str], Any]:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=headers) as http:
            transport = streamable_http_client(url, http_client=http)
            async with Client(transport, mode=era) as client:
                tools = [tool.name for tool in (await client.list_tools()).tools]
                answer = await client.call_tool("search", {"query": "再試行", "mode": "lexical"})
                assert not answer.is_error, answer.content
                assert answer.structured_content is not None
                return str(client.protocol_version), tools, answer.structured_content["hits"][0]["path"]

    return anyio.run(use)


# --- what it is for ----------------------------------------------------------------------------


@pytest.mark.parametrize(("era", "protocol"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_agents_of_both_eras_search(server: Server, era: str, protocol: str) -> None:
    """One endpoint serves the newest protocol and those that begin with a handshake."""
    version, tools, path = found(server.url, era)
    assert (version, path) == (protocol, "再試行.md")
    assert {"search", "get_doc", "notes"} <= set(tools)


@pytest.mark.parametrize(
    "path", ["Plans [2026]", "Plans [2026]/", "Plans [2026]/**", "notes/Plans [2026]", SHED, "what? [1].md"]
)
def test_brackets_in_a_path_are_part_of_it(server: Server, path: str) -> None:
    """For agents and programs: the folder that is named, and not "Plans 2", which the set matches."""
    asked = {"query": "lamp", "path": path, "mode": "lexical"}

    async def use() -> list[Any]:
        async with Client(server.url) as client:
            listed = await client.call_tool("list_docs", {"path": path})
            return [await client.call_tool("search", asked), listed]

    for answer in anyio.run(use):
        assert answer.structured_content is not None
        assert SHED in str(answer.structured_content)
        assert "attic" not in str(answer.structured_content)
    query = {"q": "lamp", "path": path, "mode": "lexical"}
    params = {"query": f'path:"{path}" lamp', "path": path}
    call = {"jsonrpc": "2.0", "id": 1, "method": "mdvec.search", "params": params}
    answers = [
        server.request("POST", "/api/search", json=asked).json()["hits"],
        server.request("GET", "/search", params=query).json()["hits"],
        server.request("POST", "/rpc", json=call).json()["result"]["hits"],
    ]
    for hits in answers:
        assert [hit["path"] for hit in hits] == [SHED]


def test_a_document_in_brackets_is_read(server: Server) -> None:
    """By its path, and as the pattern of its folder."""
    for path in (SHED, "what? [1]", "Plans [2026]/"):
        read = server.request("POST", "/api/read", json={"path": path}).json()
        assert [each["path"] for each in read["documents"]] == [SHED]
    call = {"method": "getSectionsByPath", "params": {"document_path": SHED}}
    told = server.request("POST", "/rpc", json={"jsonrpc": "2.0", "id": 1, **call}).json()
    assert [each["document_path"] for each in told["result"]["sections"]] == [SHED]


def test_health_says_that_it_runs_and_nothing_else(server: Server) -> None:
    """Status and version are told to whoever asks; no path and no name."""
    answer = server.request("GET", "/health")
    assert answer.status_code == 200
    assert answer.json() == {"status": "ok", "version": __version__}
    assert server.request("POST", "/health").status_code == 405


# --- whom it lets in ---------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/mcp", "/health", "/"])
def test_a_rebound_name_is_refused(server: Server, path: str) -> None:
    """A page whose name was made to point here is refused on every route, and so is a foreign page."""
    for name in ("evil.example", f"evil.example:{server.place[1]}", "127.0.0.1:1"):
        assert server.request("GET", path, headers={"Host": name}).status_code == 421
    assert server.request("POST", path, headers={"Origin": "https://evil.example"}).status_code == 403
    assert server.request("POST", path, headers={"Origin": "null"}).status_code == 403


@pytest.mark.parametrize("era", ERAS)
def test_the_token_lets_agents_in(locked: Server, era: str) -> None:
    """With the token both eras work; the log does not have it."""
    assert found(locked.url, era, TOKEN)[2] == "再試行.md"
    assert TOKEN not in locked.log.read_text(encoding="utf-8")


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("token", [None, TOKEN[:-1]])
def test_without_the_token_nobody_comes_in(locked: Server, era: str, token: str | None) -> None:
    """The real client fails, whichever era it speaks."""
    with pytest.raises(Exception, match=r"401|[Uu]nauthorized|TaskGroup"):
        found(locked.url, era, token)


def test_a_refusal_says_how_to_come_in(locked: Server) -> None:
    """401 has the challenge of RFC 6750, and tells a wrong token from none; health stays free."""
    missing = locked.request("POST", "/mcp", json={})
    assert missing.status_code == 401
    assert missing.headers["www-authenticate"] == 'Bearer realm="mdvec"'
    wrong = locked.request("POST", "/mcp", json={}, headers={"Authorization": f"Bearer {TOKEN}x"})
    assert wrong.status_code == 401
    assert 'error="invalid_token"' in wrong.headers["www-authenticate"]
    assert TOKEN not in wrong.text
    assert locked.request("GET", "/no/such/path").status_code == 401
    assert locked.request("GET", "/health").status_code == 200


def test_a_wrong_byte_is_named_and_half_a_character_read(server: Server) -> None:
    """MCP and JSON-RPC decode messages alike: a place counts from the start of the message."""
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    about = {"name": "a", "version": "1"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about, "query": "caf*"}
    for path, method in (("/mcp", "initialize"), ("/rpc", "mdvec.ping")):
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        message = json.dumps(call).encode()
        place = message.index(b"*")
        content = message.replace(b"*", b"\xe9")
        wrong = server.request("POST", path, content=content, headers=headers).json()["error"]
        assert wrong["code"] == -32700
        assert f"0xe9 in position {place}" in wrong["message"]
        half = server.request("POST", path, content=message.replace(b"*", rb"\ud83d"), headers=headers)
        assert '"id":1' in half.text


# --- how much it takes -------------------------------------------------------------------------


def test_bodies_that_are_too_large_are_refused(server: Server) -> None:
    """With a length or in pieces: 413, and the next request is answered."""
    body = b"x" * (MAX_BODY_BYTES + 1)
    with socket.create_connection(server.place, timeout=HANG_S) as connection:
        connection.sendall(server.opening() + b"Content-Length: 999999999\r\n\r\n")
        declared = connection.recv(65536)
    assert declared.startswith(b"HTTP/1.1 413 ")
    assert server.request("POST", "/mcp", content=iter([body[:1000], body])).status_code == 413
    assert server.request("GET", "/health").status_code == 200


@pytest.mark.parametrize("era", ERAS)
def test_an_agent_reads_why_its_request_is_refused(server: Server, era: Any) -> None:
    """The real client, which sends a body whole first, shows the limit and goes on."""

    async def use() -> str:
        async with Client(server.url, mode=era) as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool("search", {"query": "x" * 5 * MAX_BODY_BYTES})
            assert not (await client.call_tool("search", {"query": "再試行", "mode": "lexical"})).is_error
            return str(caught.value)

    assert anyio.run(use) == "The body is larger than 4 MiB."


@pytest.mark.parametrize("version", [None, "2025-11-25", "2026-07-28"])
@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"jsonrpc":' * 1000,
        b"[" * 1000 + b"]" * 1000,
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b"[" * 2000 + b"]" * 2000 + b"}",
        b"{",
        b"\xff",
        b"",
        b"[]",
        b"\0" * 1000,
    ],
    ids=[
        "open lists",
        "open objects",
        "deep",
        "deep parameters",
        "cut off",
        "no text",
        "no",
        "list",
        "zeros",
    ],
)
def test_broken_json_is_a_bad_request(server: Server, body: bytes, version: str | None) -> None:
    """Deep or broken JSON is answered with 400 in every era, and the server lives on."""
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if version:
        headers["MCP-Protocol-Version"] = version
    answer = server.request("POST", "/mcp", content=body, headers=headers)
    assert answer.status_code == 400
    assert "Traceback" not in answer.text


@pytest.mark.parametrize(
    "path",
    [
        "/mcp/",
        "/mcp/../health/x",
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/health/../../etc/passwd",
        "/mcp%00",
        "//mcp",
        "/\0",
        "/notes/再試行.md",
        "/再試行.md",
    ],
)
def test_there_is_nothing_at_other_paths(server: Server, path: str) -> None:
    """Whatever the path climbs to, the answer is a problem that does not repeat it."""
    target = "".join(
        c if c.isascii() and c.isprintable() else "".join(f"%{byte:02x}" for byte in c.encode()) for c in path
    )
    answer = server.send(server.opening(target) + b"Content-Length: 0\r\n\r\n")
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 404 ")
    assert b"application/problem+json" in head
    assert json.loads(body)["detail"] == "There is nothing here."


def test_too_many_requests_are_told_to_come_back(server: Server) -> None:
    """With all places taken a request gets 503 at once, health answers, and places become free again."""
    half = server.opening() + b"Content-Length: 100\r\n\r\n{"
    with ExitStack() as stack:
        for _ in range(MAX_REQUESTS):
            connection = stack.enter_context(socket.create_connection(server.place))
            connection.sendall(half)
        wait_until(lambda: server.request("POST", "/mcp", json={}).status_code == 503)
        answer = server.request("POST", "/mcp", json={})
        assert answer.headers["retry-after"] == "1"
        assert answer.json()["detail"] == "Too many requests at once; try again."
        assert answer.headers["content-type"] == "application/json"
        assert answer.json()["error"]["message"] == answer.json()["detail"]
        assert server.request("GET", "/health").status_code == 200
    wait_until(lambda: server.request("POST", "/mcp", json={}).status_code != 503)
    assert found(server.url, "auto")[2] == "再試行.md"


def test_health_is_served_whatever_is_connected(server: Server) -> None:
    """Connections without a request take no place, from health or from others."""
    with ExitStack() as stack:
        for _ in range(600):
            connection = stack.enter_context(socket.create_connection(server.place))
            connection.sendall(b"GET /health HTTP/1.1\r\nHo")
        assert server.request("GET", "/health").status_code == 200
        assert server.request("POST", "/mcp", json={}).status_code == 400


def test_clients_that_listen_block_nobody(server: Server) -> None:
    """Twenty agents wait for news, and others still search."""

    async def use() -> None:
        async with anyio.create_task_group() as group:

            async def listen(*, task_status: anyio.abc.TaskStatus[None]) -> None:
                async with Client(server.url, mode="auto") as client, client.listen(tools_list_changed=True):
                    task_status.started()
                    await anyio.sleep_forever()

            for _ in range(20):
                await group.start(listen)
            async with Client(server.url, mode="legacy") as client:
                assert (await client.list_tools()).tools
            group.cancel_scope.cancel()

    anyio.run(use)


def test_headers_that_do_not_come_are_given_up(home: Path) -> None:
    """A connection that never finishes its headers is closed, on its first request and on a later one."""
    code = (
        "import sys; from mdvec.interfaces.http import server; server._LOOK_EVERY_S = 1;"
        "sys.argv[1:] = ['serve', '--http', '127.0.0.1:0'];"
        "from mdvec.interfaces.cli.main import main; main()"
    )
    log = home / "slow.log"
    with serving([sys.executable, "-c", code], environment(home), log) as url:
        server = Server(url, log)
        assert server.send(b"POST /mcp HTTP/1.1\r\nHo") == b""
        whole = (
            server.opening("/health").replace(b"POST", b"GET").replace(b"Connection: close\r\n", b"")
            + b"\r\n"
        )
        assert server.send(whole, b"GET /hea").count(b"HTTP/1.1 200") == 1


# --- how it starts and ends --------------------------------------------------------------------


def messages(stderr: str) -> list[str]:
    """Return the lines for people: without the log, in which the watcher says what it does."""
    return [line for line in stderr.splitlines() if " INFO " not in line]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_it_ends_whoever_is_connected(home: Path, number: int, code: int) -> None:
    """With a listener, a half-sent request and an idle connection, it ends cleanly and says nothing more."""
    log = home / f"ends-{number}.log"
    with (
        log.open("wb") as stderr,
        subprocess.Popen(
            [*MDVEC, "serve", "--http", "127.0.0.1:0"], env=environment(home), stderr=stderr, stdout=stderr
        ) as process,
        ExitStack() as stack,
    ):
        stack.callback(process.kill)
        wait_until(lambda: "/mcp" in log.read_text())
        server = Server(next(word for word in log.read_text().split() if "/mcp" in word).rstrip(";"), log)
        idle = stack.enter_context(socket.create_connection(server.place))
        half = stack.enter_context(socket.create_connection(server.place))
        half.sendall(server.opening() + b"Content-Length: 100\r\n\r\n{")

        async def listen_until_the_end() -> None:
            async with Client(server.url, mode="legacy") as client:
                await client.list_tools()
                await anyio.sleep(0.2)  # until its stream is open
                process.send_signal(number)
                await anyio.to_thread.run_sync(process.wait, HANG_S)

        try:
            anyio.run(listen_until_the_end)
        except* (httpx2.HTTPError, OSError):
            pass  # when it says good-bye, its server is gone
        assert process.returncode == code
        assert idle.recv(1) == b""
    assert len(messages(log.read_text())) == 1


def test_a_port_in_use_is_told(server: Server, home: Path) -> None:
    """The second server on a port exits with 1, names the port and the next step."""
    port = server.place[1]
    done = run_here(["serve", "--http", f"127.0.0.1:{port}"], cwd=home, env=environment(home))
    assert (done.returncode, done.stdout) == (1, "")
    error, hint = messages(done.stderr)
    assert error == f"error: port {port} of 127.0.0.1 is in use"
    assert hint.startswith("hint: ")


def test_all_addresses_are_served_with_a_token(locked: Server) -> None:
    """Its URL has an address to connect to; other names are refused even so."""
    port = locked.place[1]
    assert locked.url == f"http://127.0.0.1:{port}/mcp"
    assert locked.request("GET", "/health", headers={"Host": f"evil:{port}"}).status_code == 421


def test_a_script_searches_with_one_address(server: Server) -> None:
    """The answer is that of ``--format json``; what cannot be used is a problem."""
    answer = server.request("GET", "/search?q=再試行&limit=1&depth=0&depth=1&depth=2")
    assert answer.status_code == 200
    [hit] = answer.json()["hits"]
    assert hit["path"] == "再試行.md"
    assert Path(hit["file"]).name == "再試行.md"
    for parameters, status, code, said in (
        ("q=x&limt=3", 400, "invalid_arguments", "unknown argument `limt`; did you mean `limit`?"),
        ("q=x&where=nonsense", 400, "usage", "not a condition on a property: 'nonsense'"),
        ("q=x&collection=none", 404, "collection_not_found", "there is no collection 'none'"),
    ):
        refused = server.request("GET", f"/search?{parameters}")
        wrong = refused.json()
        assert (refused.status_code, wrong["status"], wrong["code"]) == (status, status, code)
        assert wrong["detail"].startswith(said)
        assert wrong["detail"].endswith(wrong["hint"])
        assert wrong["retry"] is False
