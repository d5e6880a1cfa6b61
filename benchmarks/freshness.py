"""From the save of a file to a search that finds it, while ``mdvec watch`` runs, and what it costs when idle.

    python -m benchmarks.freshness [--files 10000] [--edits 500] [--idle 600]

The processor time is that of the watching process; waiting is measured by searches in this one.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from benchmarks.harness import percentile, write_result
from mdvec.config.schema import Config, SearchSettings
from mdvec.types.query import SearchMode, SearchQuery
from mdvec.workspace import Workspace, open_workspace

NAME = "bench"
_FILES_OF_A_FOLDER = 100
_LOOK_S = 0.01
_MAX_S = 60.0
_TOPICS = ("tomatoes", "retries", "trains", "設定", "京都", "glaciers", "budgets", "violins")


def run(folder: Path, *, files: int, edits: int, idle_s: float, seed: int = 15) -> dict[str, Any]:
    """Import files, watch them, edit some, and rest.

    Args:
        folder: An empty directory to work in.
        files: How many documents there are.
        edits: How many of them are edited, one after the other.
        idle_s: How long the watcher is observed while nothing changes.
        seed: Decides which are edited, and when.

    Returns:
        Percentiles in milliseconds, and the share of one core that the idle watcher takes.
    """
    docs, database = folder / "docs", folder / "index.sqlite"
    paths = [docs / f"d{number // _FILES_OF_A_FOLDER}" / f"note{number}.md" for number in range(files)]
    for number, path in enumerate(paths):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Note {number}\n\nA line about {_TOPICS[number % 8]}.\n", encoding="utf-8")
    config = Config(search=SearchSettings(sync_budget_ms=0))
    with open_workspace(config, database=database) as workspace:
        workspace.add_collection(NAME, "", str(docs))
        workspace.import_collection(NAME)
        command = [sys.executable, "-m", "mdvec", "watch", "--database", str(database)]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL, cwd=folder) as watcher:
            try:
                _wait(lambda: bool(workspace.status().watchers))
                time.sleep(3)
                words, vectors, cpu_s = _edit(workspace, paths, edits, random.Random(seed), watcher.pid)
                time.sleep(3)
                idle = _cpu_of(watcher.pid, lambda: time.sleep(idle_s)) / idle_s
            finally:
                watcher.terminate()
    return {
        "files": files,
        "edits": edits,
        "words_p50_ms": round(percentile(words, 0.5)),
        "words_p95_ms": round(percentile(words, 0.95)),
        "vectors_p50_ms": round(percentile(vectors, 0.5)),
        "vectors_p95_ms": round(percentile(vectors, 0.95)),
        "cpu_ms_per_edit": round(cpu_s * 1000 / edits),
        "idle_s": idle_s,
        "idle_cpu_percent": round(idle * 100, 3),
    }


def _edit(
    workspace: Workspace, paths: list[Path], edits: int, chance: random.Random, pid: int
) -> tuple[list[float], list[float], float]:
    """Edit files; return how long each took to be found by words and by vectors, and the processor time."""
    words: list[float] = []
    vectors: list[float] = []

    def found(text: str, mode: SearchMode, path: str) -> bool:
        hits = workspace.search(SearchQuery(text, mode=mode, limit=1, min_score=0.0)).hits
        return bool(hits) and hits[0].path == path

    def edit() -> None:
        for number in range(edits):
            path = chance.choice(paths)
            name = path.relative_to(paths[0].parents[1]).as_posix()
            text = f"Edit{number}word: the {chance.choice(_TOPICS)} of {chance.randrange(10**9)}"
            started = time.perf_counter()
            path.write_text(f"# Edited\n\n{text}\n", encoding="utf-8")
            _wait(lambda text=text, name=name: found(text.split(":")[0], SearchMode.LEXICAL, name))  # type: ignore[misc]
            words.append((time.perf_counter() - started) * 1000)
            _wait(lambda text=text, name=name: found(text, SearchMode.DENSE, name))  # type: ignore[misc]
            vectors.append((time.perf_counter() - started) * 1000)
            time.sleep(chance.random() * 0.3)

    cpu_s = _cpu_of(pid, edit)
    return words, vectors, cpu_s


def _cpu_of(pid: int, call: Callable[[], None]) -> float:
    """Return the processor time that a process spends during a call, in seconds."""
    before = psutil.Process(pid).cpu_times()
    call()
    after = psutil.Process(pid).cpu_times()
    return after.user + after.system - before.user - before.system


def _wait(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _MAX_S
    while not condition():
        if time.monotonic() > deadline:
            msg = f"nothing happened in {_MAX_S:.0f} s"
            raise TimeoutError(msg)
        time.sleep(_LOOK_S)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--edits", type=int, default=500)
    parser.add_argument("--idle", type=float, default=600.0)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        figures = run(Path(temporary), files=arguments.files, edits=arguments.edits, idle_s=arguments.idle)
    print(write_result("freshness", figures, arguments.output), figures)


if __name__ == "__main__":
    main()
