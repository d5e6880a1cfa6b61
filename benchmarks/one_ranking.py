"""The same questions on every store and vector index: which share of SQLite's ten first hits each one has.

    python -m benchmarks.one_ranking SETS_DIR --only docs_astro vault_obsidian_help --embed-cache DIR

The documents of each judged set are indexed once, in SQLite, and copied to other stores with their vectors.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness import write_result
from benchmarks.stores import overlap, start_postgres
from mdvec import registry
from mdvec.config import load_config
from mdvec.config.paths import default_cache_dir
from mdvec.config.schema import Config, StoreSettings
from mdvec.embedding.interface import Embedder, Runtime
from mdvec.evaluation.corpus import Indexing, indexed_set
from mdvec.evaluation.judgements import read_judged_set
from mdvec.indexing.embed import update_vector_index
from mdvec.indexing.transfer import copy_store
from mdvec.search.query_vectors import SearchedCollection
from mdvec.search.search import find
from mdvec.stores.interface import Store
from mdvec.types.query import Filters, SearchMode, SearchQuery, Where
from mdvec.workspace import open_workspace
from mdvec.workspace.database import open_store

NAMES = ("sqlite-vec", "lancedb", "chroma", "postgres", "postgres-hnsw")
QUESTIONS = 100


def answers(store: Store, texts: Sequence[str], embedder: Embedder) -> list[list[str]]:
    """Return the ten first hits of each question, by path and position."""
    hits = []
    with store.read() as view:
        space_id = view.spaces.find(embedder.space)
        if space_id is None:
            msg = f"{store.location} holds no vectors of {embedder.space.key}"
            raise LookupError(msg)
        searched = [SearchedCollection(each, embedder, space_id) for each in view.collections.all()]
        where = Where(tuple(each.collection.id for each in searched), Filters())
        for text in texts:
            query = SearchQuery(text, SearchMode.HYBRID, limit=10, min_score=0.0)
            found = find(query, where, searched, view)
            hits.append([f"{chunk.path}#{chunk.ordinal}" for _, chunk in found.shown.hits])
    return hits


def compare(database: Path, texts: Sequence[str], names: Sequence[str], folder: Path) -> dict[str, Any]:
    """Return the overlap with SQLite, and how many questions have exactly the same hits, for each store.

    Args:
        database: An index in SQLite.
        texts: Questions.
        names: Some of ``NAMES``.
        folder: An empty directory to work in.
    """
    make = registry.load("embedding", "builtin")
    embedder = make(model="", dimension=None, runtime=Runtime(default_cache_dir(), None, 128))
    own = folder / "index.sqlite"
    shutil.copy(database, own)
    store = open_store(own)
    expected = answers(store, texts, embedder)
    results: dict[str, Any] = {}
    for name in names:
        if name.startswith("postgres"):
            # With HNSW, as if there were more vectors than are searched in memory.
            env = {"MDVEC_STORE_POSTGRES_EXACT_UP_TO": "1"} if name == "postgres-hnsw" else {}
            target = open_store(start_postgres(folder / name), load_config(cwd=folder, env=env).config)
            copy_store(store, target, wait_s=0)
        else:
            target = open_store(own, Config(store=StoreSettings(vectors=f"{name}:{folder / name}")))
        update_vector_index(target)
        found = answers(target, texts, embedder)
        target.close()
        same = sum(one == other for one, other in zip(found, expected, strict=True))
        results[name] = {
            "overlap": round(overlap(found, expected), 4),
            "equal": same,
            "questions": len(texts),
        }
        print(f"  {name}: {results[name]}", flush=True)
    store.close()
    return results


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="SETS_DIR")
    parser.add_argument("--only", nargs="+", metavar="NAME", required=True, help="judged sets")
    parser.add_argument("--stores", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument(
        "--embed-cache", type=Path, metavar="DIR", required=True, help="keep the indexes here"
    )
    parser.add_argument("--output", type=Path, metavar="F")
    arguments = parser.parse_args()
    results = {}
    for name in arguments.only:
        judged = read_judged_set(arguments.folder / name)
        with indexed_set(judged, Indexing(open_workspace, Config(), arguments.embed_cache)):
            print(name, flush=True)
        database = next(arguments.embed_cache.glob(f"{name}-*/index.sqlite"))
        texts = [each.text for each in judged.set.questions][:QUESTIONS]
        with tempfile.TemporaryDirectory() as scratch:
            results[name] = compare(database, texts, arguments.stores, Path(scratch))
    write_result("one-ranking", results, arguments.output)


if __name__ == "__main__":
    main()
