"""``mdvec serve`` in a process of its own, spoken to line by line, without a client library in between."""

from __future__ import annotations

import itertools
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.commands import in_environment
from tests.waiting import HANG_S

from mdvec.testing.embedder import HashingEmbedder
from mdvec.workspace import open_workspace

PROTOCOL = "2025-11-25"
_PLUGIN = '''
import os
import time
from pathlib import Path

from mdvec.embedding.interface import Role
from mdvec.testing.embedder import HashingEmbedder


class Hashing(HashingEmbedder):
    """Fast, and in need of no model."""

    def __init__(self, **settings):
        super().__init__()


class Slow(Hashing):
    """Takes a moment for each passage, as a large model on a small machine does."""

    def embed(self, texts, role=Role.DOCUMENT, titles=()):
        if role is Role.DOCUMENT:
            time.sleep(0.02 * len(texts))
        yield from super().embed(texts, role, titles)


class Gated(Hashing):
    """Embeds passages only once there is a file ``gate`` in the home: never, unless a test makes it."""

    def embed(self, texts, role=Role.DOCUMENT, titles=()):
        while role is Role.DOCUMENT and not Path(os.environ["HOME"], "gate").exists():
            time.sleep(0.02)
        yield from super().embed(texts, role, titles)


class Printing(Hashing):
    """Writes to standard output in every way a library can, with and without a line's end."""

    def embed_queries(self, texts):
        print("a print")
        print("a print without end", end="")
        os.write(1, b"bytes from a library in C")
        os.system("echo a child process")
        return super().embed_queries(texts)


def make(**settings):
    """A collection keeps its model: which kind of it a process has is no matter of names."""
    kinds = {"hashing": Hashing, "slow": Slow, "gated": Gated, "printing": Printing}
    return kinds[os.environ["TEST_EMBEDDER"]](**settings)
'''


def make_home(folder: Path, documents: int) -> Path:
    """Make a home with a collection of notes, and embedders that are found as every plug-in is.

    Args:
        folder: An empty directory.
        documents: How many notes.

    Returns:
        The folder.
    """
    make_plugin(folder)
    write_notes(folder / "notes", documents)
    with (
        in_environment(environment_of(folder)),
        open_workspace(database=folder / "index.sqlite", embedder=HashingEmbedder()) as workspace,
    ):
        workspace.add_collection("notes", "My notes", str(folder / "notes"))
        workspace.import_collection("notes")
    return folder


def make_plugin(folder: Path) -> None:
    """Make embedders that are found as every plug-in is, in the home ``folder``."""
    plugin = folder / "plugin"
    metadata = plugin / "test_embedders-1.dist-info"
    metadata.mkdir(parents=True)
    (plugin / "test_embedders.py").write_text(_PLUGIN, encoding="utf-8")
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: test-embedders\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[mdvec.embedding]\nhashing = test_embedders:make\n")


def write_notes(folder: Path, count: int) -> None:
    """Write notes ``0.md``, ``1.md`` … that share words and have one of their own each."""
    folder.mkdir(exist_ok=True)
    for number in range(count):
        text = f"# Note {number}\n\nThe common word, and number{number} of its own. 共通の語。\n"
        (folder / f"{number}.md").write_text(text, encoding="utf-8")


def environment_of(home: Path, embedder: str = "hashing") -> dict[str, str]:
    """Return the environment of processes that work in a home of :func:`make_home`.

    Args:
        home: The home.
        embedder: ``hashing``, ``slow``, ``gated`` or ``printing``.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MDVEC_", "XDG_"))}
    path = os.pathsep.join(filter(None, [str(home / "plugin"), os.environ.get("PYTHONPATH", "")]))
    return {
        **inherited,
        "HOME": str(home),
        "PYTHONPATH": path,
        "MDVEC_DATABASE_PATH": str(home / "index.sqlite"),
        "MDVEC_EMBEDDING_PROVIDER": "hashing",
        "TEST_EMBEDDER": embedder,
    }


def run_mdvec(environment: Mapping[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, which has to be a good one."""
    done = subprocess.run(
        [sys.executable, "-m", "mdvec", *arguments],
        env=dict(environment),
        check=False,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
    return done


class WireError(Exception):
    """The server did not answer, or not with a message."""


class Wire:
    """One server and the two ends of its wire.

    Attributes:
        process: The server.
        log: Its stderr.
    """

    def __init__(self, environment: Mapping[str, str], *arguments: str, log: Path) -> None:
        self.log = log
        self._numbers = itertools.count(1)
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._notices: list[dict[str, Any]] = []
        with log.open("wb") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "mdvec", "serve", *arguments],
                env=dict(environment),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        # What is still in our buffer has no reader any more.
        with self.process.stdout, suppress(BrokenPipeError):
            self.process.stdin.close()

    def send_bytes(self, line: bytes) -> None:
        """Send a line, whatever it holds."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def send(self, method: str, params: Mapping[str, Any] | None = None, **fields: Any) -> None:
        """Send a message."""
        message = {"jsonrpc": "2.0", "method": method, "params": dict(params or {}), **fields}
        self.send_bytes(json.dumps(message).encode())

    def start_asking(self, method: str, params: Mapping[str, Any] | None = None) -> int:
        """Send a request and return its id at once."""
        number = next(self._numbers)
        self.send(method, params, id=number)
        return number

    def receive(self, timeout_s: float = HANG_S) -> dict[str, Any]:
        """Return the next message.

        Raises:
            WireError: If there is none in time, or the line is no JSON-RPC message.
        """
        try:
            message = json.loads(self._lines.get(timeout=timeout_s))
        except (queue.Empty, ValueError) as error:
            msg = f"no message: {error!r}; stderr: {self.errors()[-2000:]}"
            raise WireError(msg) from error
        assert message["jsonrpc"] == "2.0"
        return dict(message)

    def next_answer(self) -> dict[str, Any]:
        """Return the next answer; what the server announces before it goes to :meth:`notices`."""
        while "method" in (message := self.receive()):
            self._notices.append(message)
        return message

    def answer_to(self, number: int | None) -> dict[str, Any]:
        """Return the answer to a request; what arrives before it goes to :meth:`notices`."""
        while (message := self.next_answer()).get("id") != number:
            self._notices.append(message)
        return message

    def ask(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and return the whole answer."""
        return self.answer_to(self.start_asking(method, params))

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its result.

        Raises:
            WireError: If the server refuses the request itself.
        """
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        if "result" not in answer:
            raise WireError(str(answer["error"]))
        return dict(answer["result"])

    def search(self, query: str, **arguments: Any) -> dict[str, Any]:
        """Search and return the structured answer."""
        result = self.call("search", query=query, **arguments)
        assert not result.get("isError"), result
        return dict(result["structuredContent"])

    def notices(self) -> list[dict[str, Any]]:
        """Return what arrived before answers that were waited for."""
        return self._notices

    def shake_hands(self) -> dict[str, Any]:
        """Open the session as clients up to 2025-11-25 do."""
        answer = self.ask(
            "initialize",
            {
                "protocolVersion": PROTOCOL,
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            },
        )
        self.send("notifications/initialized")
        return dict(answer["result"])

    def close_stdin(self) -> None:
        """Leave, as a client does."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def errors(self) -> str:
        """Return what the server wrote to stderr."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")  # the server has ended


def ready(wire: Wire) -> Wire:
    """Wait until a server answers."""
    wire.shake_hands()
    wire.ask("tools/list")
    return wire
