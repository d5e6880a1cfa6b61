"""The time to find what has changed in a folder, to delete a collection, and to cut a document."""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from benchmarks.harness import ROOT, percentile, texts_below, time_ms, write_result
from benchmarks.speed_index import NAME as FILLED
from benchmarks.speed_index import fill, sentences
from mdvec import registry
from mdvec.documents.parse import parse_document
from mdvec.testing.embedder import HashingEmbedder
from mdvec.text.tokens import estimate_token_ends
from mdvec.types.query import SearchMode, SearchQuery
from mdvec.types.report import ImportReport
from mdvec.workspace import Workspace, open_workspace

NAME = "notes"

Result = TypeVar("Result")


def syncing(files: int, rounds: int) -> dict[str, Any]:
    """Import a folder of small files, then again with nothing changed, one edited, and half of them moved.

    The same process does it all, without a watcher, so that a look at every file is a part of each figure;
    beside them stands a bare walk that looks at every file.
    """
    with tempfile.TemporaryDirectory() as temporary:
        docs = Path(temporary) / "docs"
        for number in range(files):
            path = docs / f"d{number * 2 // files}" / f"d{number // 500}" / f"note{number}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"# Note {number}\n\nA line about 設定 number {number}.\n", encoding="utf-8")
        with open_workspace(database=Path(temporary) / "i.sqlite", embedder=HashingEmbedder()) as workspace:
            workspace.add_collection(NAME, "", str(docs))

            def update() -> ImportReport:
                return workspace.import_collection(NAME)

            first_ms, _ = _cpu_ms(update)
            unchanged = _unchanged(update, files, rounds)
            edited_ms = min(_edited_cpu_ms(workspace, update, path, f"zebra{each}") for each in range(rounds))
            walk_ms = min(_cpu_ms(lambda: _walk(docs))[0] for _ in range(rounds))
            (docs / "d0").rename(docs / "moved")
            renamed_ms, report = _cpu_ms(update)
        if report.moved != files // 2:
            msg = f"{report.moved} files moved instead of {files // 2}"
            raise AssertionError(msg)
    return {
        "unchanged_sync": {**unchanged, **_beside(unchanged["cpu_best_ms"], walk_ms)},
        "edited": {"files": files, "cpu_best_ms": round(edited_ms, 1), **_beside(edited_ms, walk_ms)},
        "renamed": {
            "files": files // 2,
            "cpu_ms": round(renamed_ms, 1),
            "times_import": round(renamed_ms / (first_ms / 2), 2),
            **_beside(renamed_ms, walk_ms),
        },
    }


def _unchanged(update: Callable[[], object], files: int, rounds: int) -> dict[str, Any]:
    wall = []
    cpu = []
    for _ in range(rounds):
        started = time.process_time()
        wall.append(time_ms(update))
        cpu.append((time.process_time() - started) * 1000)
    best = min(cpu)
    return {
        "files": files,
        "wall_p50_ms": round(percentile(wall, 0.5), 1),
        "cpu_best_ms": round(best, 1),
        "us_per_file": round(best * 1000 / files, 2),
    }


def _edited_cpu_ms(workspace: Workspace, update: Callable[[], object], path: Path, word: str) -> float:
    """Return the CPU time from an edit of a file until it is found by a new word, in ms."""
    with path.open("a", encoding="utf-8") as file:
        file.write(f"\nThe {word} is new.\n")

    def found() -> bool:
        update()
        return bool(workspace.search(SearchQuery(word, mode=SearchMode.LEXICAL)).hits)

    spent_ms, is_found = _cpu_ms(found)
    if not is_found:
        msg = f"{word} was not found"
        raise AssertionError(msg)
    return spent_ms


def deleting(chunks: int) -> dict[str, Any]:
    """Delete a collection of invented notes; beside it stands writing them."""
    with tempfile.TemporaryDirectory() as temporary:
        database = Path(temporary) / "i.sqlite"
        pools = sentences(np.random.default_rng(1), count=200)
        written_ms, _ = _cpu_ms(lambda: fill(database, chunks, HashingEmbedder().space, pools))
        with open_workspace(database=database) as workspace:
            deleted_ms, _ = _cpu_ms(lambda: workspace.delete_collection(FILLED))
    return {
        "chunks": chunks,
        "cpu_ms": round(deleted_ms, 1),
        "times_written": round(deleted_ms / written_ms, 2),
    }


def _cpu_ms(action: Callable[[], Result]) -> tuple[float, Result]:
    """Return the CPU time that something takes, with the processes it starts, in ms, and what it returns."""
    started = _cpu_s()
    result = action()
    return (_cpu_s() - started) * 1000, result


def _cpu_s() -> float:
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in usages)


def _beside(spent_ms: float, walk_ms: float) -> dict[str, float]:
    return {"walk_cpu_ms": round(walk_ms, 1), "times_walk": round(spent_ms / walk_ms, 2)}


def _walk(folder: Path) -> None:
    """Walk and look at the size and time of each file, as bare as can be."""
    for place, _, names in os.walk(folder):
        for name in names:
            os.stat(f"{place}/{name}")  # noqa: PTH116


def cutting(sources: list[Path]) -> dict[str, Any]:
    """Parse and cut real documents; tokens are estimated, as the tokenizer is timed elsewhere."""
    chunker = registry.load("chunking", "sections")(token_ends=estimate_token_ends)
    spent = []
    size = 0
    for path, text in texts_below(sources, limit=600):
        spent.append(time_ms(lambda path=path, text=text: chunker.chunk(parse_document(path.name, text))))  # type: ignore[misc]
        size += len(text)
    return {
        "documents": len(spent),
        "mean_chars": round(size / len(spent)),
        "p50_ms": round(percentile(spent, 0.5), 3),
        "p95_ms": round(percentile(spent, 0.95), 3),
        "ms_per_10k_chars": round(sum(spent) / size * 10_000, 3),
    }


def run(sources: list[Path], *, files: int = 10_000, rounds: int = 7) -> dict[str, Any]:
    """Measure all."""
    return {**syncing(files, rounds), "deleted": deleting(10 * files), "cutting": cutting(sources)}


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--corpus", type=Path, nargs="+", default=[ROOT / "docs"])
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    figures = run(arguments.corpus, files=arguments.files, rounds=arguments.rounds)
    print(figures)
    write_result("speed_sync", figures, arguments.output)


if __name__ == "__main__":
    main()
