"""A team's index: processes that work on one database in PostgreSQL, and a server that only reads it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.conformance.servers import MDVEC
from tests.postgres_server import new_schema, shared_server
from tests.waiting import HANG_S, wait_until

from mdvec import open_workspace
from mdvec.config import load_config
from mdvec.embedding.unrelated import PASSAGES
from mdvec.testing.embedder import HashingEmbedder

pytestmark = pytest.mark.postgres

_PLUGIN = '''
import json
import os
from pathlib import Path

from mdvec.embedding.interface import Role
from mdvec.testing.embedder import HashingEmbedder


class Counting(HashingEmbedder):
    """Writes down each text that it embeds."""

    def __init__(self, **settings):
        super().__init__(dimension=16)

    @property
    def texts_at_once(self):
        return 4

    def embed(self, texts, role=Role.DOCUMENT, titles=()):
        if role is Role.DOCUMENT:
            with Path(os.environ["TEST_EMBEDDED"], str(os.getpid())).open("a") as file:
                file.writelines(f"{json.dumps(text)}\\n" for text in texts)
        yield from super().embed(texts, role, titles)
'''


@dataclass(frozen=True, slots=True)
class Team:
    """What the machines of a team have in common.

    Attributes:
        folder: Where their notes are; each machine has a home of its own in it.
        schema: In the database.
        processes: All that were started.
    """

    folder: Path
    schema: str
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def environment(self, machine: str) -> dict[str, str]:
        """Return the environment of processes on a machine."""
        inherited = {
            key: value for key, value in os.environ.items() if not key.startswith(("MDVEC_", "XDG_"))
        }
        home = self.folder / machine
        home.mkdir(exist_ok=True)
        path = os.pathsep.join(filter(None, [str(self.folder / "plugin"), os.environ.get("PYTHONPATH", "")]))
        return {
            **inherited,
            "HOME": str(home),
            "PYTHONPATH": path,
            "MDVEC_STORE_LOCATION": shared_server(),
            "MDVEC_STORE_POSTGRES_SCHEMA": self.schema,
            "MDVEC_EMBEDDING_PROVIDER": "counting",
            "MDVEC_LOG_FILE": str(home / "log"),
            "TEST_EMBEDDED": str(self.folder / "embedded"),
        }

    def start(self, machine: str, *args: str) -> tuple[subprocess.Popen[bytes], Path]:
        """Start a process on a machine; the file has what it says."""
        log = self.folder / f"{machine}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*MDVEC, *args],
                env=self.environment(machine),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        self.processes.append(process)
        return process, log

    def embedding(self, text: str) -> int:
        """Return the process that has embedded a text."""
        files = (self.folder / "embedded").iterdir()
        [found] = [int(file.name) for file in files if text in file.read_text("utf-8")]
        return found

    def share(self, machine: str) -> str:
        """Return which collections the worker of a machine watches."""
        log = self.folder / machine / "log"
        found = re.findall(r" watching collections=(.+)", log.read_text("utf-8")) if log.exists() else []
        return found[-1] if found else ""

    def embedded(self) -> Counter[str]:
        """Return how often each text of the notes was embedded, by any process."""
        files = (self.folder / "embedded").iterdir()
        texts = (json.loads(line) for file in files for line in file.read_text("utf-8").splitlines())
        # Whoever is first in a new space measures it, and two may be.
        return Counter(text for text in texts if text not in PASSAGES)


@dataclass(frozen=True, slots=True)
class Running:
    """A process that serves HTTP.

    Attributes:
        process: The process.
        url: Where.
    """

    process: subprocess.Popen[bytes]
    url: str

    def finds(self, word: str) -> bool:
        """Return True if a document holds a word, and everything has its vector."""
        parameters = {"q": word, "mode": "lexical"}
        found = httpx2.get(f"{self.url}/search", params=parameters, timeout=HANG_S).json()
        return bool(found["hits"]) and found["pending_chunks"] == 0

    def watchers(self) -> set[int]:
        """Return the processes that keep the index up to date."""
        message = {"jsonrpc": "2.0", "id": 1, "method": "mdvec.status"}
        status: dict[str, Any] = httpx2.post(f"{self.url}/rpc", json=message, timeout=HANG_S).json()["result"]
        return set(map(int, re.findall(r"process (\d+)", status["watcher"] or "")))


def served(process: subprocess.Popen[bytes], log: Path) -> Running:
    """Wait until a process serves HTTP."""

    def url() -> str:
        found = re.search(r"http://127\.0\.0\.1:\d+", log.read_text("utf-8", "replace"))
        return found[0] if found else ""

    wait_until(lambda: url() or process.poll() is not None)
    assert url(), log.read_text("utf-8", "replace")
    return Running(process, url())


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    """Two collections, most of whose texts are the same; nothing is imported yet. All processes are ended."""
    metadata = tmp_path / "plugin" / "counting-1.dist-info"
    metadata.mkdir(parents=True)
    (tmp_path / "embedded").mkdir()
    (tmp_path / "plugin" / "counting_embedder.py").write_text(_PLUGIN, encoding="utf-8")
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: counting\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[mdvec.embedding]\ncounting = counting_embedder:Counting\n")
    made = Team(tmp_path, new_schema())
    for name in ("plans", "minutes"):
        (tmp_path / name).mkdir()
        for number in range(12):
            text = f"# Note {number}\n\nThe same in both, {number}.\n\n## Part\n\nOwn of {name} {number}.\n"
            (tmp_path / name / f"{number}.md").write_text(text)
    env = {"MDVEC_STORE_LOCATION": shared_server(), "MDVEC_STORE_POSTGRES_SCHEMA": made.schema}
    config = load_config(cwd=tmp_path, env=env).config
    with open_workspace(config, embedder=HashingEmbedder(dimension=16)) as workspace:
        for name in ("plans", "minutes"):
            workspace.add_collection(name, "", str(tmp_path / name))
    yield made
    for process in made.processes:
        process.kill()
        process.wait(HANG_S)


def test_workers_and_a_server_share_one_index(team: Team) -> None:
    """Two divide the collections, every text is embedded once, and one takes over when the other dies."""
    imports = [team.start(f"{name}-machine", "import", "-n", name) for name in ("plans", "minutes")]
    for process, log in imports:
        assert process.wait(HANG_S) == 0, log.read_text("utf-8", "replace")
    workers = [team.start(f"worker{number}", "daemon", "run", "--http", "127.0.0.1:0") for number in (1, 2)]
    reader = team.start("reader", "serve", "--http", "127.0.0.1:0", "--no-watch")
    running = [served(*each) for each in (*workers, reader)]
    *both, server = running
    assert "the daemon serves postgresql://" in workers[0][1].read_text("utf-8")
    wait_until(lambda: {team.share("worker1"), team.share("worker2")} == {"plans", "minutes"})
    assert server.watchers() == {each.process.pid for each in both}
    (team.folder / "plans" / "new.md").write_text("# Gyroscope\n\nIt turns.\n")
    (team.folder / "minutes" / "3.md").write_text("# Note 3\n\nA marmalade of oranges.\n")
    for each in running:
        wait_until(partial(each.finds, "gyroscope"))
        wait_until(partial(each.finds, "marmalade"))
    assert {team.embedding("It turns."), team.embedding("A marmalade")} == server.watchers()
    counts = team.embedded()
    [dying] = [each for each in both if each.process.pid == team.embedding("It turns.")]
    dying.process.kill()
    dying.process.wait(HANG_S)
    (team.folder / "plans" / "last.md").write_text("# Periscope\n\nIt looks.\n")
    running.remove(dying)
    for each in running:
        wait_until(partial(each.finds, "periscope"))
    assert server.watchers() == {each.process.pid for each in both if each is not dying}
    assert len(counts) > 40
    assert {text: count for text, count in counts.items() if count > 1} == {}
