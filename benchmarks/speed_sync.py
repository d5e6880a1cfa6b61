"""The time to find that nothing has changed, and to cut a document."""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.harness import ROOT, percentile, texts_below, time_ms, write_result
from mdvec import registry
from mdvec.documents.parse import parse_document
from mdvec.testing.embedder import HashingEmbedder
from mdvec.text.tokens import estimate_token_ends
from mdvec.types.report import ImportMode, ImportOptions
from mdvec.workspace import open_workspace

NAME = "bench"


def unchanged_sync(files: int, rounds: int) -> dict[str, Any]:
    """Import a folder of small files, then again with nothing changed."""
    with tempfile.TemporaryDirectory() as temporary:
        docs = Path(temporary) / "docs"
        for number in range(files):
            path = docs / f"d{number // 500}" / f"note{number}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"# Note {number}\n\nA line about 設定 number {number}.\n", encoding="utf-8")
        with open_workspace(database=Path(temporary) / "i.sqlite", embedder=HashingEmbedder()) as workspace:
            workspace.add_collection(NAME, "", str(docs))
            workspace.import_collection(NAME)
            wall = []
            cpu = []
            for _ in range(rounds):
                started = time.process_time()
                wall.append(
                    time_ms(lambda: workspace.import_collection(NAME, ImportOptions(mode=ImportMode.UPDATE)))
                )
                cpu.append((time.process_time() - started) * 1000)
        walked = min(_walk_cpu_ms(docs) for _ in range(rounds))
    best = min(cpu)
    return {
        "files": files,
        "wall_p50_ms": round(percentile(wall, 0.5), 1),
        "cpu_best_ms": round(best, 1),
        "us_per_file": round(best * 1000 / files, 2),
        "walk_cpu_ms": round(walked, 1),
        "times_walk": round(best / walked, 2),
    }


def _walk_cpu_ms(folder: Path) -> float:
    """Return the CPU time of a bare walk that looks at the size and time of each file, in ms."""
    started = time.process_time()
    for place, _, names in os.walk(folder):
        for name in names:
            os.stat(f"{place}/{name}")  # noqa: PTH116 - as bare as can be
    return (time.process_time() - started) * 1000


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
    """Measure both."""
    return {"unchanged_sync": unchanged_sync(files, rounds), "cutting": cutting(sources)}


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
