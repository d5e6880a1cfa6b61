"""The cost of starting: CPU time and memory of whole commands in a new process (memory on Linux)."""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import ROOT, percentile, write_result
from mdvec.config.paths import default_cache_dir
from mdvec.embedding.builtin.embedder import BuiltinEmbedder
from mdvec.types.report import ImportOptions
from mdvec.workspace import open_workspace
from mdvec.workspace.wiring import open_store

SEARCHED_CHUNKS = 10_000
SCRIPT = Path(sys.executable).with_name("mdvec")
# The kernel's own high water mark: that of getrusage is inherited from the parent process.
RSS_PROBE = r"""
import re, sys
from pathlib import Path
from mdvec.types.query import SearchQuery
from mdvec.workspace import open_workspace
with open_workspace(database=Path(sys.argv[1])) as workspace:
    for _ in range(20):
        workspace.search(SearchQuery("how does it work"))
kb = dict(re.findall(r"(VmHWM|VmRSS|RssFile):\s*(\d+)", Path("/proc/self/status").read_text()))
print(*(int(kb[name]) // 1024 for name in ("VmHWM", "VmRSS", "RssFile")))
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
    command = [sys.executable, "-c", RSS_PROBE, str(database)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return {"peak_rss_mb": int(out[0]), "rss_mb": int(out[1]), "of_it_file_mappings_mb": int(out[2])}


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
        _add_chunks(database, SEARCHED_CHUNKS)
        figures["searched_chunks"] = SEARCHED_CHUNKS
        figures.update(memory_mb(database))
    return figures


def _add_chunks(database: Path, chunks: int) -> None:
    """Give every hundredth part of a long document a vector of its own, until there are enough."""
    embedder = BuiltinEmbedder(cache_dir=default_cache_dir())
    with tempfile.TemporaryDirectory() as temporary, open_workspace(database=database) as workspace:
        for number in range(chunks // 100):
            sections = "\n\n".join(
                f"## Part {part}\n\n{'words of a section ' * 20}{number}" for part in range(100)
            )
            (Path(temporary) / f"{number}.md").write_text(
                f"# Note {number}\n\n{sections}\n", encoding="utf-8"
            )
        collection = workspace.add_collection("many", "", temporary)
        workspace.import_collection("many", ImportOptions(embed=False))
        chance = np.random.default_rng(1)
        with closing(open_store(database)) as store, store.write() as writer:
            space = writer.open_space(embedder.space)
            while pending := writer.pending(collection.id, space, 2000):
                vectors = chance.normal(size=(len(pending), embedder.space.dimension)).astype(np.float32)
                vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
                writer.put_vectors(space, [item.text_hash for item in pending], vectors)


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
