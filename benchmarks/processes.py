"""Many processes on one database: readers that search while importers write. Any error is a failure."""

from __future__ import annotations

import argparse
import multiprocessing
import random
import tempfile
import time
from collections import Counter
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any

from benchmarks.crash import NAME, change
from benchmarks.harness import percentile, write_result
from mdvec.errors import MdvecError
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.query import SearchMode, SearchQuery
from mdvec.workspace import open_workspace

Outcome = tuple[str, list[float], list[str]]


def run(folder: Path, *, readers: int, importers: int, seconds: float) -> dict[str, Any]:
    """Let the processes run.

    Args:
        folder: An empty directory to work in.
        readers: Processes that search without pause.
        importers: Processes that change documents and import them without pause.
        seconds: How long.

    Returns:
        Counts, percentiles in milliseconds, and the errors.
    """
    docs, database = folder / "docs", folder / "index.sqlite"
    docs.mkdir()
    change(docs, random.Random(0), 0, files=20)
    with open_workspace(database=database, embedder=HashingEmbedder()) as workspace:
        for number in range(importers):
            workspace.add_collection(f"{NAME}{number}", "", str(docs))
            workspace.import_collection(f"{NAME}{number}")
    context = multiprocessing.get_context("spawn")
    outcomes: Queue[Outcome] = context.Queue()
    jobs = [
        context.Process(target=_read, args=(database, seconds, seed, outcomes)) for seed in range(readers)
    ]
    jobs += [
        context.Process(target=_write, args=(database, docs, seconds, number, outcomes))
        for number in range(importers)
    ]
    for job in jobs:
        job.start()
    collected = [outcomes.get(timeout=seconds + 120) for _ in jobs]
    for job in jobs:
        job.join()
    times: dict[str, list[float]] = {"search": [], "import": []}
    errors: Counter[str] = Counter()
    for kind, spent, failed in collected:
        times[kind].extend(spent)
        errors.update(failed)
    with open_workspace(database=database, embedder=HashingEmbedder()) as workspace:
        for number in range(importers):
            workspace.import_collection(f"{NAME}{number}")
        errors.update(finding.message for finding in workspace.doctor() if finding.severity == "problem")
    return {
        "readers": readers,
        "importers": importers,
        "seconds": seconds,
        **{f"{kind}_count": len(spent) for kind, spent in times.items()},
        **{f"{kind}_p50_ms": round(percentile(spent, 0.5), 1) for kind, spent in times.items()},
        **{f"{kind}_p95_ms": round(percentile(spent, 0.95), 1) for kind, spent in times.items()},
        "errors": dict(errors),
    }


def _read(database: Path, seconds: float, seed: int, outcomes: Queue[Outcome]) -> None:
    chance = random.Random(seed)
    spent: list[float] = []
    errors: list[str] = []
    end = time.monotonic() + seconds
    with open_workspace(database=database, embedder=HashingEmbedder()) as workspace:
        while time.monotonic() < end:
            query = SearchQuery(
                f"語{chance.randrange(500)} word{chance.randrange(500)}",
                mode=chance.choice([*SearchMode]),
                min_score=0.0,
                all_similar=True,
            )
            started = time.perf_counter()
            try:
                if not workspace.search(query).hits:
                    errors.append("a search found nothing")
            except MdvecError as error:
                errors.append(f"{error.code}: {error}")
            spent.append((time.perf_counter() - started) * 1000)
    outcomes.put(("search", spent, errors))


def _write(database: Path, docs: Path, seconds: float, number: int, outcomes: Queue[Outcome]) -> None:
    chance = random.Random(number)
    spent: list[float] = []
    errors: list[str] = []
    made = 1000 * (number + 1)
    end = time.monotonic() + seconds
    with open_workspace(database=database, embedder=HashingEmbedder()) as workspace:
        while time.monotonic() < end:
            if number == 0:  # one process changes the folder, so that the others race with it
                made = change(docs, chance, made, files=3)
            started = time.perf_counter()
            try:
                workspace.import_collection(f"{NAME}{number}")
            except MdvecError as error:
                errors.append(f"{error.code}: {error}")
            spent.append((time.perf_counter() - started) * 1000)
    outcomes.put(("import", spent, errors))


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readers", type=int, default=8)
    parser.add_argument("--importers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = run(
            Path(folder),
            readers=arguments.readers,
            importers=arguments.importers,
            seconds=arguments.seconds,
        )
    print(figures)
    write_result("processes", figures, arguments.output)
    raise SystemExit(1 if figures["errors"] else 0)


if __name__ == "__main__":
    main()
