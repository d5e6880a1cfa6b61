"""The cost of starting: CPU time of whole commands in a new process."""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.harness import ROOT, percentile, write_result
from mdvec.workspace import open_workspace

SCRIPT = Path(sys.executable).with_name("mdvec")


def cpu_ms(command: list[str], rounds: int) -> float:
    """Return the median CPU time of a command, in milliseconds."""
    spent = []
    for _ in range(rounds):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return round(percentile(spent, 0.5) * 1000)


def run(corpus: Path, rounds: int) -> dict[str, Any]:
    """Index a folder, then time new processes on it."""
    figures: dict[str, Any] = {"bare_python_cpu_ms": cpu_ms([sys.executable, "-c", ""], rounds)}
    with tempfile.TemporaryDirectory() as temporary:
        database = Path(temporary) / "i.sqlite"
        with open_workspace(database=database) as workspace:
            workspace.add_collection("docs", "", str(corpus))
            workspace.import_collection("docs")
        search = [str(SCRIPT), "search", "how does it work", "--database", str(database)]
        figures["version_cpu_ms"] = cpu_ms([str(SCRIPT), "--version"], rounds)
        figures["lexical_search_cpu_ms"] = cpu_ms([*search, "--mode", "lexical"], rounds)
        figures["hybrid_search_cpu_ms"] = cpu_ms(search, rounds)
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
