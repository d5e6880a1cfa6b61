"""What starting costs: CPU time and memory of whole commands in a new process."""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.harness import ROOT, percentile, write_result
from mdvec.workspace import open_workspace

SCRIPT = Path(sys.executable).with_name("mdvec")
RSS_PROBE = """
import resource, sys
from pathlib import Path
from mdvec.model.query import SearchQuery
from mdvec.workspace import open_workspace
with open_workspace(database=Path(sys.argv[1])) as workspace:
    for _ in range(20):
        workspace.search(SearchQuery("how does it work"))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
print(open("/proc/self/status").read())
"""


def cpu_ms(command: list[str], rounds: int) -> float:
    """Return the median CPU time of a command, in milliseconds."""
    spent = []
    for _ in range(rounds):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return round(percentile(spent, 0.5) * 1000)


def memory_mb(database: Path) -> dict[str, int]:
    """Return the memory of a process that searches with the model, in MB."""
    out = subprocess.run(
        [sys.executable, "-c", RSS_PROBE, str(database)], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    fields = {
        line.split(":")[0]: line.split()[1]
        for line in out
        if line.startswith(("VmRSS", "RssAnon", "RssFile"))
    }
    return {"peak_rss_mb": int(out[0]), **{name: int(kb) // 1024 for name, kb in fields.items()}}


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--corpus", type=Path, default=ROOT / "docs")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    figures: dict[str, Any] = {"bare_python_cpu_ms": cpu_ms([sys.executable, "-c", ""], arguments.rounds)}
    with tempfile.TemporaryDirectory() as temporary:
        database = Path(temporary) / "i.sqlite"
        with open_workspace(database=database) as workspace:
            workspace.add_collection("docs", "", str(arguments.corpus))
            workspace.import_collection("docs")
        at = ["--database", str(database)]
        figures["version_cpu_ms"] = cpu_ms([str(SCRIPT), "--version"], arguments.rounds)
        figures["lexical_search_cpu_ms"] = cpu_ms(
            [str(SCRIPT), "search", "how does it work", "--mode", "lexical", *at], arguments.rounds
        )
        figures["hybrid_search_cpu_ms"] = cpu_ms(
            [str(SCRIPT), "search", "how does it work", *at], arguments.rounds
        )
        if os.name == "posix":
            figures.update(memory_mb(database))
    print(figures)
    write_result("speed_start", figures, arguments.output)


if __name__ == "__main__":
    main()
