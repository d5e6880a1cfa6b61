"""The cost of starting: CPU and wall time of whole commands in a new process, without and with a daemon."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness import ROOT, compiled_env, percentile, write_result
from mdvec.workspace import open_workspace

SCRIPT = Path(sys.executable).with_name("mdvec")
WARM_UPS = 2


def spent_ms(command: Sequence[str], env: Mapping[str, str]) -> tuple[float, float]:
    """Run a command; return the CPU time of its process and its wall time, in milliseconds.

    Raises:
        CalledProcessError: If it fails.
    """
    started = time.perf_counter()
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall_ms = (time.perf_counter() - started) * 1000
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return (usage.ru_utime + usage.ru_stime) * 1000, wall_ms


def medians(commands: Mapping[str, Sequence[str]], env: Mapping[str, str], rounds: int) -> dict[str, Any]:
    """Run commands in turn, so that a busy moment falls on all of them; return their medians by name."""
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            spent[name].append(spent_ms(command, env))
    return {
        f"{name}_{kind}_ms": round(percentile([each[index] for each in times], 0.5))
        for name, times in spent.items()
        for index, kind in enumerate(("cpu", "wall"))
    }


def run(corpus: Path, rounds: int) -> dict[str, Any]:
    """Index a folder, then measure new processes on it."""
    with tempfile.TemporaryDirectory() as temporary:
        database = Path(temporary) / "i.sqlite"
        with open_workspace(database=database) as workspace:
            workspace.add_collection("docs", "", str(corpus))
            workspace.import_collection("docs")
        env = {**compiled_env(), "HOME": temporary, "XDG_DATA_HOME": temporary}  # a daemon of its own
        there = ["--database", str(database)]
        search = [str(SCRIPT), "search", "how does it work", *there]
        commands = {
            "bare_python": [sys.executable, "-c", ""],
            "version": [str(SCRIPT), "--version"],
            "lexical_search": [*search, "--mode", "lexical"],
        }
        medians(commands, env, WARM_UPS)
        figures = medians(commands, env, rounds)
        daemon = [str(SCRIPT), "daemon"]
        subprocess.run([*daemon, "start", *there], env=env, check=True, capture_output=True)
        try:
            pair = {"hybrid_search": [*search, "--no-daemon"], "daemon_hybrid_search": search}
            medians(pair, env, WARM_UPS)
            figures |= medians(pair, env, rounds)
        finally:
            subprocess.run([*daemon, "stop", *there], env=env, check=True, capture_output=True)
    return figures


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--corpus", type=Path, default=ROOT / "docs")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    figures = run(arguments.corpus, arguments.rounds)
    print(figures)
    write_result("speed_start", figures, arguments.output)


if __name__ == "__main__":
    main()
