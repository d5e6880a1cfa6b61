"""The same questions have the same answers on every store and with every vector index."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.postgres_server import open_postgres
from tests.workspaces import workspace_of

from mdvec.config.schema import Config, StoreSettings
from mdvec.indexing.embed import update_vector_index
from mdvec.indexing.transfer import copy_store
from mdvec.search.query_vectors import SearchedCollection
from mdvec.search.search import find
from mdvec.stores.interface import Store
from mdvec.stores.published.reader import PublishedSettings
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.query import Filters, SearchMode, SearchQuery, Where
from mdvec.workspace import open_workspace
from mdvec.workspace.database import open_store

DOCS = Path(__file__).parents[1] / "data" / "astro_docs"
QUESTIONS = 20
EMBEDDER = HashingEmbedder()

INDEXES = [
    "sqlite-vec",
    pytest.param("lancedb", marks=pytest.mark.lancedb),
    pytest.param("chroma", marks=pytest.mark.chroma),
]

Hits = list[list[tuple[str, int]]]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation of Astro in English and Japanese, indexed."""
    path = tmp_path_factory.mktemp("astro") / "index.sqlite"
    with workspace_of(path, {"docs": DOCS / "tree"}, embedder=EMBEDDER, description="Astro"):
        pass
    return path


@pytest.fixture(scope="module")
def expected(database: Path) -> Iterator[Hits]:
    """What SQLite answers by itself."""
    store = open_store(database)
    yield answers(store)
    store.close()


def questions() -> list[str]:
    """Return questions: judged ones, and pieces of them."""
    lines = (DOCS / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    asked = [str(json.loads(line)["text"]) for line in lines]
    pieces = [text[at : at + 12] for text in asked for at in (0, 12)]
    return [*asked, *pieces][:QUESTIONS]


def answers(store: Store) -> Hits:
    """Return the ten first hits of each question, as path and position; every third one is filtered."""
    hits = []
    with store.read() as view:
        (space,) = view.spaces.all()
        searched = [SearchedCollection(each, EMBEDDER, space.id) for each in view.collections.all()]
        collections = tuple(each.collection.id for each in searched)
        for number, text in enumerate(questions()):
            filters = Filters(path="ja/**") if number % 3 == 2 else Filters()
            mode = SearchMode.DENSE if number % 5 == 4 else SearchMode.HYBRID
            query = SearchQuery(text, mode, limit=10, filters=filters, min_score=0.0)
            found = find(query, Where(collections, filters), searched, view)
            hits.append([(chunk.path, chunk.ordinal) for _, chunk in found.shown.hits])
    return hits


@pytest.mark.postgres
def test_postgres(database: Path, expected: Hits) -> None:
    """A copy on a server has the same ten hits, in the same order."""
    source, target = open_store(database), open_postgres()
    copy_store(source, target, wait_s=0)
    assert len(expected) == QUESTIONS
    assert sum(len(each) for each in expected) > 0.8 * 10 * QUESTIONS
    found = answers(target)
    for store in (source, target):
        store.close()
    assert found == expected


def test_published(database: Path, expected: Hits, tmp_path: Path) -> None:
    """What is published has the same ten hits, in the same order."""
    place = tmp_path / "published"
    with open_workspace(database=database, embedder=EMBEDDER) as workspace:
        workspace.stores.publish(str(place))
    settings = PublishedSettings(cache_dir=tmp_path / "cache")
    store = open_store(place, Config(extension_sections={"store.published": settings}))
    found = answers(store)
    store.close()
    assert found == expected


@pytest.mark.parametrize("name", INDEXES)
def test_vector_indexes(database: Path, expected: Hits, tmp_path: Path, name: str) -> None:
    """Through an index at least 98 % of the hits are the same."""
    store = open_store(database, Config(store=StoreSettings(vectors=f"{name}:{tmp_path / 'index'}")))
    assert update_vector_index(store) == ()
    found = answers(store)
    store.close()
    same = sum(len({*one} & {*other}) for one, other in zip(found, expected, strict=True))
    assert same >= 0.98 * sum(len(each) for each in expected)
