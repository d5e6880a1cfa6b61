"""Query latency at 10,000, 100,000 and 1,000,000 chunks, query embedding included.

Each size is an index of invented sentences and random vectors (:mod:`benchmarks.speed_index`), searched in a
process of its own, so that its memory is its own. Beside it stand sqlite-vec, which searches the same vectors
exactly, and a search without a filter. The SQL statements and snapshots of a warm search are counted, too.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import sqlite_vec

from benchmarks.harness import ROOT, compiled_env, peak_rss_mb, percentile, time_ms, write_result
from benchmarks.speed_index import fill, questions, sentences
from mdvec import registry
from mdvec.config import Config
from mdvec.config.paths import default_cache_dir
from mdvec.config.schema import SearchSettings
from mdvec.embedding.interface import Embedder, Runtime
from mdvec.search import query_vectors
from mdvec.stores.records import VectorKind
from mdvec.types.query import Filters, SearchMode, SearchQuery, Where
from mdvec.workspace import Workspace, open_workspace
from mdvec.workspace.database import open_store

SIZES = (10_000, 100_000, 1_000_000)
QUERIES = 80
WARMING = 10  # questions before anything is measured
_RECALL_QUERIES = 20
_PEER_QUERIES = 12
_NEAREST = 400  # that a search asks for
_KINDS: dict[str, SearchQuery] = {
    **{str(mode): SearchQuery("", mode=mode) for mode in SearchMode},
    "tag of 1 in 1,000": SearchQuery("", filters=Filters(tags=("one",))),
    "tag of 30 %": SearchQuery("", filters=Filters(tags=("many",))),
}
_FIRST = """
import sys, time
from pathlib import Path
from mdvec.types.query import SearchQuery
from mdvec.workspace import open_workspace
with open_workspace(database=Path(sys.argv[1])) as workspace:
    workspace.search(SearchQuery("how does it work"))
print(time.process_time())
"""


def run(sizes: Sequence[int] = SIZES) -> dict[str, Any]:
    """Measure each size; an index is removed before the next one is made."""
    figures: dict[str, Any] = {}
    embedder = builtin_embedder()
    chance = np.random.default_rng(1)
    pools = sentences(chance)
    asked = questions(chance, pools, QUERIES + WARMING)
    for size in sizes:
        with tempfile.TemporaryDirectory() as temporary:
            database = Path(temporary) / "index.sqlite"
            started = time.process_time()
            fill(database, size, embedder.space, pools)
            filled = time.process_time() - started
            asking = Path(temporary) / "questions.json"
            asking.write_text(json.dumps(asked), encoding="utf-8")
            command = [
                sys.executable,
                "-m",
                "benchmarks.speed_search",
                "--measure",
                str(database),
                str(asking),
            ]
            out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout
            figures[f"{size:,}"] = {
                "chunks_written_per_cpu_s": round(size / filled),
                **json.loads(out.splitlines()[-1]),
                "first_answer_cpu_ms": _first_answer(database),
            }
            print(size, figures[f"{size:,}"], flush=True)
    query = [time_ms(lambda: embedder.embed_query("設定ファイルの場所はどこですか")) for _ in range(30)]
    figures["embed_query_p50_ms"] = round(percentile(query, 0.5), 2)
    return figures


def measure(database: Path, asked: Sequence[str]) -> dict[str, Any]:
    """Measure every kind of search of one index, in this process."""
    embedder = builtin_embedder()
    with open_workspace(database=database, embedder=embedder) as workspace:
        figures: dict[str, Any] = {name: _latency(workspace, kind, asked) for name, kind in _KINDS.items()}
        figures["rss_mb"] = round(peak_rss_mb())
    hybrid = figures["hybrid"]["p50_ms"]
    for name in ("tag of 1 in 1,000", "tag of 30 %"):
        figures[name]["times_no_filter"] = round(figures[name]["p50_ms"] / hybrid, 2)
    figures["hybrid"]["p95_times_p50"] = round(figures["hybrid"]["p95_ms"] / hybrid, 2)
    return {
        **figures,
        "sql": count_sql(database, embedder, asked[: WARMING + 20]),
        **beside_sqlite_vec(database, embedder, asked),
    }


def _latency(workspace: Workspace, kind: SearchQuery, asked: Sequence[str]) -> dict[str, float]:
    queries = [SearchQuery(text, mode=kind.mode, filters=kind.filters) for text in asked]
    query_vectors._recent.clear()  # of another kind of search with these questions
    for query in queries[:WARMING]:
        workspace.search(query)
    started = time.process_time()
    spent = [time_ms(partial(workspace.search, query)) for query in queries[WARMING:]]
    return {
        "p50_ms": round(percentile(spent, 0.5), 2),
        "p95_ms": round(percentile(spent, 0.95), 2),
        "cpu_ms": round((time.process_time() - started) * 1000 / len(spent), 2),
    }


def beside_sqlite_vec(database: Path, embedder: Embedder, asked: Sequence[str]) -> dict[str, Any]:
    """Search the vectors alone, here and in a table of sqlite-vec, and compare what is found with numpy."""
    vectors = [embedder.embed_query(text) for text in asked[:_RECALL_QUERIES]]
    with closing(open_store(database)) as store, store.read() as view:
        where = Where(tuple(each.id for each in view.collections.all()))
        space_id = view.spaces.find(embedder.space)
        if space_id is None:
            msg = "the index has no vectors"
            raise RuntimeError(msg)
        view.vectors.nearest(VectorKind.TEXT, space_id, vectors[0], where, 10)
        ours = [
            time_ms(partial(view.vectors.nearest, VectorKind.TEXT, space_id, vector, where, _NEAREST))
            for vector in vectors
        ]
        with closing(apsw.Connection(":memory:")) as table:
            table.enable_load_extension(True)  # noqa: FBT003 - its only argument
            table.load_extension(sqlite_vec.loadable_path())
            columns = f"e float[{embedder.space.dimension}] distance_metric=cosine"
            table.execute(f"CREATE VIRTUAL TABLE v USING vec0({columns})")
            nearest: list[list[float]] = [[] for _ in vectors]
            # Names have vectors, too, and are no chunks.
            names = {row[0] for row in view.documents.tables.rows("SELECT text_hash FROM names")}  # type: ignore[attr-defined] # of SQLite
            queries = np.array(vectors, np.float32)
            for hashes, rows in view.vectors.pages(space_id):
                table.executemany("INSERT INTO v(e) VALUES (?)", ((row.tobytes(),) for row in rows))
                chunks = rows[[each not in names for each in hashes]]
                for known, products in zip(nearest, queries @ chunks.T, strict=True):
                    known[:] = sorted([*known, *np.sort(products)[-_NEAREST:].tolist()])[-_NEAREST:]
            search = "SELECT rowid FROM v WHERE e MATCH ? AND k = ?"
            theirs = [
                time_ms(lambda vector=vector: table.execute(search, (vector.tobytes(), _NEAREST)).fetchall())  # type: ignore[misc]
                for vector in vectors[:_PEER_QUERIES]
            ]
        found = 0
        for vector, known in zip(vectors, nearest, strict=True):
            # Similarities of float16 rows are rounded, so what is as near as the tenth counts.
            hits = [near for _, near in view.vectors.nearest(VectorKind.TEXT, space_id, vector, where, 10)]
            found += sum(near >= known[-10] - 2e-4 for near in hits)
    return {
        "vectors_p50_ms": round(percentile(ours, 0.5), 2),
        "sqlite_vec_p50_ms": round(percentile(theirs, 0.5), 2),
        "times_sqlite_vec": round(percentile(theirs, 0.5) / percentile(ours, 0.5), 1),
        "recall_at_10": found / (10 * len(vectors)),
    }


def count_sql(database: Path, embedder: Embedder, asked: Sequence[str]) -> dict[str, int]:
    """Count the ``statements`` and ``snapshots`` of a warm hybrid search.

    Returns:
        The most of any question but the first ones; ``BEGIN`` and ``COMMIT`` are no statements.
    """
    seen: list[str] = []
    counted: dict[str, list[int]] = {"statements": [], "snapshots": []}

    def record(_cursor: object, sql: str, _bindings: object) -> bool:
        seen.append(sql.strip().upper())
        return True

    def watch(connection: apsw.Connection) -> None:
        connection.exec_trace = record

    apsw.connection_hooks.append(watch)
    try:
        # Looking whether the folder changed is work of its own, and a watcher spares it.
        config = Config(search=SearchSettings(sync_budget_ms=0))
        with open_workspace(config, database=database, embedder=embedder) as workspace:
            for text in asked:
                seen.clear()
                workspace.search(SearchQuery(text))
                begun = sum(sql.startswith("BEGIN") for sql in seen)
                ended = sum(sql.startswith(("COMMIT", "ROLLBACK", "END")) for sql in seen)
                counted["statements"].append(len(seen) - begun - ended)
                counted["snapshots"].append(begun)
    finally:
        apsw.connection_hooks.remove(watch)
    return {name: max(counts[WARMING:]) for name, counts in counted.items()}


def _first_answer(database: Path) -> int:
    """Return the CPU time of a new process up to its first hybrid answer, in ms; Python and model count."""
    command = [sys.executable, "-c", _FIRST, str(database)]
    env = compiled_env()
    spent = [
        float(subprocess.run(command, check=True, capture_output=True, env=env).stdout) for _ in range(6)
    ]
    return round(percentile(spent[1:], 0.5) * 1000)


def builtin_embedder() -> Embedder:
    """Return the builtin model, as it is built for this user."""
    make: Callable[..., Embedder] = registry.load("embedding", "builtin")
    return make(model="", dimension=None, runtime=Runtime(default_cache_dir()))


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--measure", type=Path, nargs=2, help="an index and questions, in this process")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    if arguments.measure:
        database, asked = arguments.measure
        print(json.dumps(measure(database, json.loads(asked.read_text(encoding="utf-8")))))
        return
    figures = run(arguments.sizes)
    print(figures)
    write_result("speed_search", figures, arguments.output)


if __name__ == "__main__":
    main()
