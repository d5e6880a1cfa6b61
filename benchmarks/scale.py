"""Past one machine: how embedding grows with the nodes of a Ray cluster, and how a million chunks are served.

python -m benchmarks.scale                    # both, some 10 minutes, and 5 more to make the index
python -m benchmarks.scale --only nodes
python -m benchmarks.scale --only served --index /tmp/million.sqlite     # is made there, unless it is there
python -m benchmarks.scale --page             # writes the recorded figures into docs/explanation/scale.md
"""

from __future__ import annotations

import argparse
import itertools
import json
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import scale_nodes, scale_served
from benchmarks.harness import RESULTS, ROOT, write_result
from benchmarks.scale_reckoning import costs_table, sizes_table
from benchmarks.speed_embedding import CHUNKS_PER_LANGUAGE, english_texts, japanese_texts
from benchmarks.speed_search import builtin_embedder
from mdvec.embedding.interface import embed_all

RECORD = RESULTS / "scale.json"
PAGE = ROOT / "docs" / "explanation" / "scale.md"
PARTS = ("embedding", "nodes", "served")
TARGET = 0.85
"""Of three times the chunks a second of one node, on three."""


def nodes_table(figures: dict[str, Any]) -> str:
    """Return the table of nodes, in Markdown."""
    lines = ["| nodes | chunks/s | of as many times one node |", "|---:|---:|---:|"]
    for number, found in figures["nodes"].items():
        lines.append(f"| {number} | {found['chunks_per_s']:.1f} | {found['of_linear']:.2f} |")
    return "\n".join(lines) + "\n"


def served_table(figures: dict[str, Any]) -> str:
    """Return the table of what was published and served, in Markdown."""
    published, served = figures["published"], figures["served"]
    first, second = served["fetched"], served["second"]
    rows = {
        "chunks": f"{figures['chunks']:,}",
        "index": f"{figures['index_mb']:,} MB",
        "publishing, first time": f"{published['seconds']:.0f} s, {published['cpu_s']:.0f} s of CPU",
        "memory of the publisher": f"{published['peak_rss_mb']:,} MB",
        "published": f"{published['sent_mb']:,} MB in {published['parts']:,} objects",
        "first answer of a server, with fetching": (
            f"{first['first_answer_s']:.0f} s, {first['first_answer_cpu_s']:.0f} s of CPU"
        ),
        "first answer of another one on the same machine": f"{second['first_answer_s']:.1f} s",
        "disk of a server: copy and vectors": f"{served['disk_mb']:,} MB",
        "hybrid search, p50": f"{second['p50_ms']:.0f} ms",
        "hybrid search, p95": f"{second['p95_ms']:.0f} ms",
        "memory of a server": f"{second['rss_mb']:,} MB",
        "of it, pages of files that processes share": f"{second['shared_mb']:,} MB",
    }
    return "| what | measured |\n|---|---:|\n" + "".join(
        f"| {name} | {shown} |\n" for name, shown in rows.items()
    )


def tables(figures: dict[str, Any]) -> dict[str, str]:
    """Return the tables of the page, by the name of their place there."""
    return {
        "nodes": nodes_table(figures["nodes"]),
        "served": served_table(figures["served"]),
        "sizes": sizes_table(figures["served"]),
        "costs": costs_table(figures),
    }


def write_page(figures: dict[str, Any]) -> None:
    """Write what was measured, and what follows from it, into the page."""
    text = PAGE.read_text(encoding="utf-8")
    for name, table in tables(figures).items():
        start, end = (
            f"<!-- {name}: written by python -m benchmarks.scale --page -->\n",
            f"<!-- end of {name} -->",
        )
        before, _, rest = text.partition(start)
        text = f"{before}{start}{table}{end}{rest.partition(end)[2]}"
    PAGE.write_text(text, encoding="utf-8")


def embedding() -> dict[str, float]:
    """Return how many tokens a second of processor time the builtin model embeds, half of them Japanese."""
    model = builtin_embedder()
    texts = [
        *itertools.islice(english_texts(), CHUNKS_PER_LANGUAGE),
        *itertools.islice(japanese_texts(), CHUNKS_PER_LANGUAGE),
    ]
    embed_all(model, texts[:8])
    tokens = sum(len(model.tokens.ends(text)) for text in texts)
    started = time.process_time()
    embed_all(model, texts)
    spent = time.process_time() - started
    return {"tokens": tokens, "cpu_s": round(spent, 2), "tokens_per_cpu_s": round(tokens / spent)}


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", choices=PARTS, nargs="+", help="measure these, and keep the others' figures"
    )
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--texts", type=int, default=2_000, help="how many chunks are embedded on nodes")
    parser.add_argument("--chunks", type=int, default=1_000_000, help="how many chunks are served")
    parser.add_argument("--index", type=Path, help="where the index is kept; a temporary file by default")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page anew")
    arguments = parser.parse_args()
    known: dict[str, Any] = (
        json.loads(RECORD.read_text(encoding="utf-8"))["result"] if RECORD.exists() else {}
    )
    if arguments.page:
        write_page(known)
        return
    with tempfile.TemporaryDirectory(prefix="scale") as temporary:
        folder = Path(temporary)
        index = arguments.index or folder / "index.sqlite"
        measures: dict[str, Callable[[], dict[str, Any]]] = {
            "embedding": embedding,
            "nodes": partial(scale_nodes.run, arguments.nodes, arguments.texts, folder),
            "served": partial(scale_served.run, index, arguments.chunks, folder),
        }
        for name in arguments.only or PARTS:
            known[name] = measures[name]()
            print(name, known[name], flush=True)
            write_result("scale", known, arguments.output)
    most = max(known.get("nodes", {}).get("nodes", {}).items(), key=lambda each: int(each[0]), default=None)
    raise SystemExit(1 if most is not None and most[1]["of_linear"] < TARGET else 0)


if __name__ == "__main__":
    main()
