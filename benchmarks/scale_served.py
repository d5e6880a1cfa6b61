"""A large index, published to a folder and searched there by servers; each step is a process of its own."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.harness import ROOT, percentile, time_ms
from benchmarks.speed_index import fill, questions, sentences
from benchmarks.speed_search import builtin_embedder
from mdvec.config import load_config
from mdvec.types.query import SearchQuery
from mdvec.workspace import open_workspace

_QUERIES = 80
_WARMING = 10


def run(index: Path, chunks: int, folder: Path) -> dict[str, Any]:
    """Make an index, publish it, and let two servers of one machine search what is published.

    Args:
        index: Of so many chunks; made if it is not there.
        chunks: How many.
        folder: To work in; some five times the index.

    Returns:
        Seconds, processor seconds, megabytes and milliseconds of each step. The second server finds the copy
        that the first one has fetched.
    """
    pools = sentences(np.random.default_rng(1))
    if not index.exists():
        started = time.process_time()
        fill(index, chunks, builtin_embedder().space, pools)
        print(f"filled in {time.process_time() - started:.0f} s of CPU", flush=True)
    asked = questions(np.random.default_rng(2), pools, _QUERIES + _WARMING)
    (folder / "questions.json").write_text(json.dumps(asked), encoding="utf-8")
    target, cache = folder / "published", folder / "cache"
    published = _step("publish", str(index), str(target))
    published["parts"] = sum(each.is_file() for each in target.rglob("*"))
    servers = {
        name: _step("search", str(target), str(folder / "questions.json"), str(cache))
        for name in ("fetched", "second")
    }
    return {
        "chunks": chunks,
        "index_mb": _megabytes(index),
        "published": published,
        "served": {**servers, "disk_mb": sum(map(_megabytes, filter(Path.is_file, cache.rglob("*"))))},
    }


def publish(index: Path, target: Path) -> dict[str, Any]:
    """Publish an index to a folder, in this process."""
    started = time.perf_counter()
    with open_workspace(database=index) as workspace:
        report = workspace.stores.publish(str(target))
    return {
        "seconds": round(time.perf_counter() - started, 1),
        "cpu_s": round(time.process_time(), 1),
        "peak_rss_mb": _peak_mb(),
        "file_mb": round(report.size_bytes / 1e6),
        "sent_mb": round(report.sent_bytes / 1e6),
    }


def search(target: Path, asked: Path, cache: Path) -> dict[str, Any]:
    """Search what is published, in this process, which has just begun."""
    model = builtin_embedder()
    queries = [SearchQuery(text) for text in json.loads(asked.read_text(encoding="utf-8"))]
    environment = {"MDVEC_STORE_LOCATION": str(target), "MDVEC_STORE_PUBLISHED_CACHE_DIR": str(cache)}
    started = time.perf_counter()
    with open_workspace(load_config(cwd=target, env=environment).config, embedder=model) as workspace:
        workspace.search(queries[0])
        first_s, first_cpu_s = time.perf_counter() - started, time.process_time()
        for query in queries[:_WARMING]:
            workspace.search(query)
        cpu_s = time.process_time()
        spent = [time_ms(partial(workspace.search, query)) for query in queries[_WARMING:]]
        cpu_s = (time.process_time() - cpu_s) / len(spent)
        memory = psutil.Process().memory_info()
    return {
        "first_answer_s": round(first_s, 2),
        "first_answer_cpu_s": round(first_cpu_s, 2),
        "p50_ms": round(percentile(spent, 0.5), 1),
        "p95_ms": round(percentile(spent, 0.95), 1),
        "cpu_ms": round(cpu_s * 1000, 1),
        "rss_mb": round(memory.rss / 1e6),
        "shared_mb": round(memory.shared / 1e6),
        "peak_rss_mb": _peak_mb(),
    }


def _step(*arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.scale_served", *arguments]
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout
    figures: dict[str, Any] = json.loads(out.splitlines()[-1])
    print(arguments[0], figures, flush=True)
    return figures


def _peak_mb() -> int:
    # Not ru_maxrss, which a process inherits from the one that has started it.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    [kilobytes] = re.findall(r"VmHWM:\s+(\d+) kB", status)
    return round(int(kilobytes) * 1024 / 1e6)


def _megabytes(path: Path) -> int:
    return round(path.stat().st_size / 1e6)


def main() -> None:
    """Run one step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=("publish", "search"))
    parser.add_argument("paths", type=Path, nargs="+")
    arguments = parser.parse_args()
    print(json.dumps((publish if arguments.step == "publish" else search)(*arguments.paths)))


if __name__ == "__main__":
    main()
