"""Every command that writes is killed at random instants: nothing is damaged, and the next import has all."""

from __future__ import annotations

import contextlib
import io
import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from benchmarks.crash import change
from mcp import Client
from tests.integration.models import PROVIDER, Shelf
from tests.unit.interfaces.mcp.agent import talk

from mdvec import open_workspace
from mdvec.config import load_config
from mdvec.interfaces.cli.main import run
from mdvec.types.query import SearchMode, SearchQuery
from mdvec.types.report import ImportOptions

pytestmark = pytest.mark.harness

ROUNDS = 60
FAILED = 70
CONFIG = f"""
[embedding]
provider = "{PROVIDER}"
model = "a"
dimension = 32
[store]
vectors = "sqlite-vec"
"""
UPDATE = ImportOptions()
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("import", "-n", "notes", "-m", "update"),
    ("import", "-n", "notes", "-m", "replace"),
    ("import", "-n", "notes", "--check"),
    ("reindex",),
    ("tool", "add", "-n", "other", "-d", "x", "-s", "docs"),
    ("import", "-n", "other"),
    ("tool", "update", "-n", "notes", "-d", "other words"),
    ("tool", "delete", "-n", "other", "--yes"),
    ("model", "use", f"{PROVIDER}:b@32", "-n", "notes"),
    ("model", "use", "--cancel", "-n", "notes"),
    ("model", "use", f"{PROVIDER}:a@32", "-n", "notes"),
    ("store", "rebuild"),
    ("compact",),
    ("trust", "docs"),
    ("trust", "--remove", "docs"),
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where the commands run.

    Attributes:
        folder: Holds the documents (``docs``), the database and the configuration.
    """

    folder: Path

    @property
    def docs(self) -> Path:
        return self.folder / "docs"

    def run(self, command: tuple[str, ...]) -> int:
        """Run a command in this process; ``reindex`` is that of the MCP server."""
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            if command == ("reindex",):
                return self._reindex()
            common = (
                "--config",
                str(self.folder / "mdvec.toml"),
                "--database",
                str(self.folder / "i.sqlite"),
            )
            return run([*command, *common], env=os.environ, cwd=self.folder)

    def _reindex(self) -> int:
        async def say(client: Client) -> int:
            return int((await client.call_tool("reindex", {})).is_error or 0)

        config = load_config(self.folder / "mdvec.toml", cwd=self.folder, env=os.environ).config
        with open_workspace(config, database=self.folder / "i.sqlite") as workspace:
            return talk(workspace, say, config=config)

    def examine(self, *, whole: bool) -> None:
        """Fail unless nothing is damaged; unless all is found, too, once the next import has run."""
        config = load_config(self.folder / "mdvec.toml", cwd=self.folder, env=os.environ).config
        with open_workspace(config, database=self.folder / "i.sqlite") as workspace:
            problems = [each for each in workspace.doctor() if each.severity == "problem"]
            assert not problems, problems
            assert "notes" in {each.name for each in workspace.collections()}
            workspace.search(SearchQuery("note", collections=("notes",)))
            if not whole:
                return
            workspace.import_collection("notes", UPDATE)
            (status,) = workspace.status("notes", check=True).collections
            assert status.check is not None
            assert status.check.in_sync
            assert status.counts.pending_chunks == 0
            every = SearchQuery(
                "note",
                SearchMode.DENSE,
                ("notes",),
                limit=1000,
                per_document=1000,
                min_score=0.0,
                all_similar=True,
            )
            found = {hit.path for hit in workspace.search(every).hits}
            assert found == {path.relative_to(self.docs).as_posix() for path in self.docs.rglob("*.md")}
        trusted = (self.folder / "data" / "mdvec" / "trusted.json").is_file()
        assert not trusted or self.run(("trust", "--list")) == 0


def forked(task: Callable[[], int]) -> int:
    """Run a task in a child of this warm process, and return the child."""
    child = os.fork()
    if child:
        return child
    code = FAILED
    try:
        code = task()
    except BaseException as error:  # noqa: BLE001 - a child must not fall through into the parent's code
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(code)


def done(task: Callable[[], int]) -> float:
    """Run a task in a child, which has to end well, and return how long it took."""
    started = time.monotonic()
    _, status = os.waitpid(forked(task), 0)
    assert os.waitstatus_to_exitcode(status) == 0
    return time.monotonic() - started


def test_nothing_is_lost_by_a_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """60 times SIGKILL while one of 15 commands runs: never damage, and the next import has everything."""
    for name in ("DATA", "CONFIG", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MDVEC_CONFIG", raising=False)
    Shelf().put_up(monkeypatch)
    (tmp_path / "mdvec.toml").write_text(CONFIG, encoding="utf-8")
    place, chance = Place(tmp_path), random.Random(20261122)
    place.docs.mkdir()
    number = change(place.docs, chance, 0, files=12)
    done(lambda: place.run(("tool", "add", "-n", "notes", "-d", "x", "-s", "docs")))
    done(lambda: place.run(("import", "-n", "notes")))
    took = {command: done(lambda: place.run(command)) for command in COMMANDS}  # noqa: B023 - used at once
    killed = dict.fromkeys(COMMANDS, 0)
    for round_number in range(ROUNDS):
        command = COMMANDS[round_number % len(COMMANDS)]
        number = change(place.docs, chance, number, files=3)
        child = forked(lambda: place.run(command))  # noqa: B023
        time.sleep(chance.uniform(0, took[command]))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        killed[command] += os.WIFSIGNALED(status)
        whole = round_number % 7 == 0

        def examine(whole: bool = whole) -> int:
            place.examine(whole=whole)
            return 0

        done(examine)
    assert sum(killed.values()) > ROUNDS // 4, killed
