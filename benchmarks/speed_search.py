"""Query latency at 1,000, 10,000 and 100,000 chunks of real text, query embedding included.

Texts come from real documents (``--corpus``); when there are too few, halves of two of them are put
together. A sample of the chunks is really embedded; the other vectors are made from near pairs of the
sample with noise, so that their geometry is the model's. Latency does not depend on what they mean.
The SQL statements and snapshots of a warm hybrid search are counted, too.
"""

from __future__ import annotations

import argparse
import random
import re
import resource
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import ROOT, percentile, texts_below, time_ms, write_result
from mdvec import registry
from mdvec.config import Config
from mdvec.config.paths import default_cache_dir
from mdvec.config.schema import SearchSettings
from mdvec.embedding.interface import Embedder, Runtime, embed_all
from mdvec.stores.interface import Store
from mdvec.types.ids import CollectionId
from mdvec.types.query import Filters, SearchMode, SearchQuery
from mdvec.types.report import ImportOptions
from mdvec.workspace import Workspace, open_workspace
from mdvec.workspace.wiring import open_store

NAME = "bench"
SAMPLE = 600
QUERIES = 60
CHARS_PER_CHUNK = 700
SECTIONS_PER_FILE = 6
SECTIONS_PER_CHUNK = 1.19  # short sections share a chunk
WARMING = 10  # questions before anything is measured


def write_corpus(folder: Path, sources: list[Path], sections: int, chance: random.Random) -> list[str]:
    """Write some sections of real text, and return questions cut from them."""
    pieces = [
        piece
        for _, text in texts_below(sources)
        for piece in re.findall(rf"[^#\x00]{{200,{CHARS_PER_CHUNK}}}(?=\n|$)", text)
    ]
    chance.shuffle(pieces)
    made = pieces[:sections]
    while len(made) < sections:
        one, other = chance.choice(pieces), chance.choice(pieces)
        made.append(one[: len(one) // 2] + other[len(other) // 2 :])
    for number in range(0, len(made), SECTIONS_PER_FILE):
        tag = f"t{number % 1000}"
        body = "\n\n".join(
            f"## Part {part}\n\n{text.strip()}"
            for part, text in enumerate(made[number : number + SECTIONS_PER_FILE])
        )
        path = folder / f"d{number // 6000}" / f"note{number}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"---\ntags: [{tag}]\n---\n# Note {number}\n\n{body}\n", encoding="utf-8")
    return [_question(chance.choice(pieces), chance) for _ in range(QUERIES)]


def _question(text: str, chance: random.Random) -> str:
    words = text.split()
    if len(words) > 12:
        start = chance.randrange(len(words) - 8)
        return " ".join(words[start : start + 7])
    plain = re.sub(r"\s+", "", text)
    start = chance.randrange(max(1, len(plain) - 30))
    return plain[start : start + 20] or "設定"


def fill_vectors(
    store: Store, embedder: Embedder, collection_id: CollectionId, chance: np.random.Generator
) -> None:
    """Give all that is pending a vector: a sample of texts from the model, the rest made from the sample."""
    with store.write() as writer:
        space = writer.open_space(embedder.space)
    sample: NDArray[np.float32] | None = None
    while True:
        limit = SAMPLE if sample is None else 5000
        with store.read() as view:
            pending = view.pending(collection_id, space, limit)
            pending = pending or view.pending_names(collection_id, space, limit)
        if not pending:
            break
        if sample is None:
            vectors = sample = embed_all(embedder, [item.text for item in pending])
            near = np.argsort(-(sample @ sample.T), axis=1)[:, 1:9]
        else:
            first = chance.integers(len(sample), size=len(pending))
            second = near[first, chance.integers(8, size=len(pending))]
            share = chance.random((len(pending), 1), dtype=np.float32)
            vectors = sample[first] * share + sample[second] * (1 - share)
            vectors += chance.normal(0, 0.01, vectors.shape).astype(np.float32)
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        with store.write() as writer:
            writer.put_vectors(space, [item.text_hash for item in pending], vectors)


def measure(workspace: Workspace, questions: list[str]) -> dict[str, Any]:
    """Time every mode over the questions, after one pass to warm up."""
    kinds = {
        **{str(mode): SearchQuery("", mode=mode) for mode in SearchMode},
        "hybrid, tag 1 in 170": SearchQuery("", filters=Filters(tags=("t6",))),
    }
    figures: dict[str, Any] = {}
    for name, kind in kinds.items():
        queries = [_with_text(kind, text) for text in questions]
        for query in queries[:WARMING]:
            workspace.search(query)
        spent = [time_ms(lambda query=query: workspace.search(query)) for query in queries]  # type: ignore[misc]
        figures[name] = {
            "p50_ms": round(percentile(spent, 0.5), 2),
            "p95_ms": round(percentile(spent, 0.95), 2),
        }
    return figures


def _with_text(query: SearchQuery, text: str) -> SearchQuery:
    return SearchQuery(text, mode=query.mode, filters=query.filters)


def count_sql(database: Path, embedder: Embedder, questions: list[str]) -> dict[str, int]:
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
            for text in questions:
                seen.clear()
                workspace.search(SearchQuery(text))
                begun = sum(sql.startswith("BEGIN") for sql in seen)
                ended = sum(sql.startswith(("COMMIT", "ROLLBACK", "END")) for sql in seen)
                counted["statements"].append(len(seen) - begun - ended)
                counted["snapshots"].append(begun)
    finally:
        apsw.connection_hooks.remove(watch)
    return {name: max(counts[WARMING:]) for name, counts in counted.items()}


def run(sizes: list[int], sources: list[Path]) -> dict[str, Any]:
    """Measure each size in a database of its own, in one process with one model."""
    chance = random.Random(1)
    embedder: Embedder = registry.load("embedding", "builtin")(
        model="", dimension=None, runtime=Runtime(default_cache_dir())
    )
    figures: dict[str, Any] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory() as temporary:
            docs, database = Path(temporary) / "docs", Path(temporary) / "index.sqlite"
            docs.mkdir()
            questions = write_corpus(docs, sources, int(size * SECTIONS_PER_CHUNK), chance)
            with open_workspace(database=database, embedder=embedder) as workspace:
                collection = workspace.add_collection(NAME, "", str(docs))
                report = workspace.import_collection(NAME, ImportOptions(embed=False))
                with closing(open_store(database)) as store:
                    fill_vectors(store, embedder, collection.id, np.random.default_rng(1))
                figures[f"{size:,}"] = {
                    "chunks": report.total_chunks,
                    "text_chunks_per_s": round(report.total_chunks / report.elapsed_ms * 1000),
                    **measure(workspace, questions),
                    "sql": count_sql(database, embedder, questions),
                    "database_bytes_per_chunk": round(_size(database) / report.total_chunks),
                    "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
                }
                print(size, figures[f"{size:,}"], flush=True)
    query = [time_ms(lambda: embedder.embed_query("設定ファイルの場所はどこですか")) for _ in range(30)]
    figures["embed_query_p50_ms"] = round(percentile(query, 0.5), 2)
    return figures


def _size(database: Path) -> int:
    connection = sqlite3.connect(database)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return database.stat().st_size


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--corpus", type=Path, nargs="+", default=[ROOT / "docs", ROOT / "README.ja.md"])
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    figures = run(arguments.sizes, arguments.corpus)
    print(figures)
    write_result("speed_search", figures, arguments.output)


if __name__ == "__main__":
    main()
