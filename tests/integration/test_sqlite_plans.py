"""How SQLite carries out the queries that must stay fast, and that filters give all hits there are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mdvec.stores.lexical import LexicalFields
from mdvec.stores.sqlite.catalog import SqliteCatalog
from mdvec.stores.sqlite.lexical import SqliteLexicalIndex
from mdvec.stores.sqlite.scope import SMALL_SCOPE
from mdvec.stores.sqlite.space import _PLACES_OF_OLD
from tests.contract.store_world import FOLDER, SPACE, make_document, make_entry, unit_vectors

from mdvec.stores.sqlite.connection import Connection
from mdvec.stores.sqlite.database import Database
from mdvec.stores.sqlite.vectors import SqliteVectorIndex
from mdvec.text.hashing import text_hash
from mdvec.types.collection import ChunkingSpec
from mdvec.types.ids import DocumentId, SpaceId
from mdvec.types.query import Filters, Scope, TagMatch

DOCUMENTS = 2000
CHUNKS = 10 * DOCUMENTS
QUERY = unit_vectors(1, seed=4)[0]


Bindings = tuple[str | int, ...] | dict[str, int] | None


class Filled:
    """A database of 20,000 chunks: 1 in 1,000 documents has a rare tag, 30 % a common one."""

    def __init__(self, path: Path) -> None:
        self.database = Database(path)
        self.catalog = SqliteCatalog(self.database)
        self.lexical = SqliteLexicalIndex(self.database)
        self.vectors = SqliteVectorIndex(self.database)
        with self.database.transaction():
            notes = self.catalog.add_collection("notes", "", FOLDER, ChunkingSpec())
            other = self.catalog.add_collection("other", "", FOLDER, ChunkingSpec())
            self.notes, self.other = notes.id, other.id
            self.space_id: SpaceId = self.vectors.open_space(SPACE)
            hashes = []
            for number in range(DOCUMENTS):
                texts = [f"word w{number % 50} n{number} p{part}" for part in range(10)]
                self._write(number, texts)
                hashes += [text_hash(text) for text in texts]
            self.vectors.add(self.space_id, hashes, unit_vectors(len(hashes), alike=0.8))

    def _write(self, number: int, texts: list[str]) -> None:
        tags = ("common",) if number % 10 < 3 else ()
        if number % 1000 == 5:
            tags = (*tags, "rare/one")
        path = f"folder{number % 100}/{number}.md"
        document, chunks = make_document(
            path, texts, tags=tags, aliases=(f"alias {number}",), depths=[part % 4 for part in range(10)]
        )
        ids = self.catalog.put_document(
            self.other if number == 0 else self.notes,
            document,
            chunks,
            entry=make_entry(path, mtime_ns=number),
            content_hash=bytes(32),
            fingerprint="",
        )
        self.lexical.put(ids, [LexicalFields((), (), text.split()) for text in texts])

    def scope(self, filters: Filters | None = None) -> Scope:
        """Both collections."""
        return Scope((self.notes, self.other), filters or Filters())

    def queries(self, action: Callable[[], object]) -> list[tuple[str, Bindings]]:
        """Return the queries of an action with what was bound to them."""
        seen: list[tuple[str, Bindings]] = []

        def record(_cursor: object, sql: str, bindings: Any) -> bool:
            seen.append((sql, bindings))
            return True

        with self.database.transaction() as connection:  # so that the action uses this connection
            connection.exec_trace = record
            try:
                action()
            finally:
                connection.exec_trace = None
        return seen

    def plans(self, action: Callable[[], object]) -> list[str]:
        """Return how each query of an action is carried out, one line each."""
        queries = self.queries(action)
        with self.database.reading() as connection:
            return [plan(connection, sql, bindings) for sql, bindings in queries]


def plan(connection: Connection, sql: str, bindings: Bindings) -> str:
    """Return what EXPLAIN QUERY PLAN says, in one line."""
    rows = connection.execute(f"EXPLAIN QUERY PLAN {sql}", bindings)
    return " | ".join(row[3] for row in rows)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    """The database, made once."""
    filled = Filled(tmp_path_factory.mktemp("plans") / "index.sqlite")
    yield filled
    filled.database.close()


RARE = Filters(tags=("rare",))
COMMON = Filters(tags=("common",))
BOTH = Filters(tags=("common", "rare"), tag_match=TagMatch.ALL)
MATCHING = {
    "rare tag": (RARE, 20),
    "common tag": (COMMON, 3 * CHUNKS // 10),
    "rare and common": (BOTH, 0),
    "folder": (Filters(path="folder7/**"), 200),
    "file name": (Filters(path="7.md"), 10),
    "depth": (Filters(depths=(3,)), CHUNKS // 5),
    "time": (Filters(updated_since_ns=DOCUMENTS - 3), 30),
    "alias": (Filters(alias_prefix="ALIAS 199"), 110),
    "time span": (Filters(updated_since_ns=10, updated_until_ns=12), 20),
}


@pytest.mark.parametrize("name", MATCHING)
def test_filters_give_all_hits_there_are(filled: Filled, name: str) -> None:
    """However rare or common a filter is, min(k, matching) chunks are found, by words and by vectors."""
    filters, matching = MATCHING[name]
    for k in (10, 50):
        scope = filled.scope(filters)
        assert len(filled.lexical.search(["word", "w1"], k, scope)) == min(k, matching)
        nearest = filled.vectors.search(filled.space_id, QUERY, k, scope)
        assert len(nearest.ids) == min(k, matching)


@pytest.mark.parametrize("k", [10, 50])
def test_documents_that_are_named_or_hidden_give_all_hits_there_are(filled: Filled, k: int) -> None:
    """Few documents to look in, and few or many that are hidden, leave min(k, matching) chunks to find."""
    known = [DocumentId(number) for number in range(1, DOCUMENTS + 1)]
    for scope, matching in (
        (replace(filled.scope(), only=frozenset(known[:3])), 30),
        (replace(filled.scope(), only=frozenset()), 0),
        (replace(filled.scope(), hidden=frozenset(known[:3])), CHUNKS - 30),
        (replace(filled.scope(), hidden=frozenset(known[2:])), 20),
        (replace(filled.scope(COMMON), only=frozenset(known[:12]), hidden=frozenset(known[:2])), 30),
    ):
        assert len(filled.lexical.search(["word"], k, scope)) == min(k, matching)
        nearest = filled.vectors.search(filled.space_id, QUERY, k, scope)
        assert len(nearest.ids) == min(k, matching)


def test_plan_of_documents_that_are_named(filled: Filled) -> None:
    """A scope of few documents is listed from their ids, and nothing is walked through."""
    scope = replace(filled.scope(), only=frozenset([DocumentId(5)]))
    plans = filled.plans(lambda: filled.lexical.search(["word"], 5, scope))
    listing = only([each for each in plans if "sqlite_autoindex_chunks_1" in each], "SCAN j")
    assert "SEARCH d USING INTEGER PRIMARY KEY (rowid=?)" in listing
    assert "SEARCH c USING INDEX sqlite_autoindex_chunks_1 (document_id=?)" in listing


def test_plan_of_hidden_documents(filled: Filled) -> None:
    """With hidden documents the best candidates are tested one by one; the list of all is not made."""
    scope = replace(filled.scope(), hidden=frozenset([DocumentId(5)]))
    for action in (
        lambda: filled.lexical.search(["word"], 5, scope),
        lambda: filled.vectors.search(filled.space_id, QUERY, 5, scope),
    ):
        plans = filled.plans(action)
        testing = only(plans, "LIST SUBQUERY")
        assert testing.startswith("SCAN j")
        assert "SEARCH c USING INTEGER PRIMARY KEY (rowid=?)" in testing
        assert not [each for each in plans if "chunks_collection" in each and "SCAN k" not in each]


def test_plan_of_links(filled: Filled) -> None:
    """Links and documents of a name, and links to older versions, are found by index."""
    named = only(filled.plans(lambda: filled.catalog.links_named(filled.notes, "x")), "links_file")
    assert "(file_key=?)" in named
    assert "SEARCH d USING INTEGER PRIMARY KEY (rowid=?)" in named
    documents = only(filled.plans(lambda: filled.catalog.documents_named(filled.notes, ["x"])), "SCAN j")
    assert "SEARCH d USING INDEX documents_file (file_key=?)" in documents
    versions = only(filled.plans(lambda: filled.catalog.versions(filled.notes)), "links_previous")
    assert versions.startswith("SCAN l USING INDEX links_previous")
    assert "B-TREE" not in versions


def only(plans: list[str], part: str) -> str:
    """Return the one plan that holds a part."""
    matching = [each for each in plans if part in each]
    assert len(matching) == 1, plans
    return matching[0]


def test_plan_of_words_in_a_small_scope(filled: Filled) -> None:
    """The words are looked up once, and the list of allowed chunks is made once."""
    plans = filled.plans(lambda: filled.lexical.search(["word"], 5, filled.scope(RARE)))
    words = only(plans, "chunks_fts")
    assert words.startswith("SCAN chunks_fts VIRTUAL TABLE INDEX 0:M")
    assert "LIST SUBQUERY" in words
    assert "CORRELATED" not in words
    labels = only(plans, "UNION")
    assert "kind=? AND folded=?" in labels
    assert "SEARCH c USING" in labels
    assert "document_id=?" in labels
    assert "chunks_collection" not in labels


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(path="folder7/*"), "(collection_id=? AND path>? AND path<?)"),
        (Filters(updated_since_ns=1999), "documents_1 (collection_id=? AND path>?)"),
        (Filters(alias_prefix="alias 1999"), "(kind=? AND folded>? AND folded<?)"),
    ],
)
def test_plan_of_small_scopes(filled: Filled, filters: Filters, expected: str) -> None:
    """A scope is listed from where an index is most selective, and never by scanning all chunks."""
    plans = filled.plans(lambda: filled.lexical.search(["word"], 5, filled.scope(filters)))
    listing = only([each for each in plans if "json_each" not in each], "document_id=?)")
    assert expected in listing
    assert "SCAN c" not in listing
    assert "SEARCH c USING INDEX sqlite_autoindex_chunks_1 (document_id=?)" in listing


def test_plan_of_large_scopes(filled: Filled) -> None:
    """In a large scope the best candidates are tested one by one, found by their ids."""
    assert 3 * CHUNKS // 10 > SMALL_SCOPE
    for action in (
        lambda: filled.lexical.search(["word"], 5, filled.scope(COMMON)),
        lambda: filled.vectors.search(filled.space_id, QUERY, 5, filled.scope(COMMON)),
    ):
        plans = filled.plans(action)
        tests = [each for each in plans if each.startswith("SCAN j") and "labels_document" in each]
        assert tests
        for each in tests:
            assert "SEARCH c USING INTEGER PRIMARY KEY" in each
            assert "SEARCH d USING INTEGER PRIMARY KEY" in each
            assert "labels_document (document_id=?" in each


def test_plan_of_vectors(filled: Filled) -> None:
    """Vectors and what they belong to load in order of id without sorting; candidates are found by id."""
    plans = filled.plans(lambda: filled.vectors.search(filled.space_id, QUERY, 5, filled.scope()))
    assert "SEARCH vectors USING INTEGER PRIMARY KEY (rowid>?)" in plans
    places = [each for each in plans if each.startswith("SEARCH o USING INTEGER PRIMARY KEY (rowid>?)")]
    assert len(places) == 2  # of chunks and of names
    for each in places:
        assert "SEARCH v USING COVERING INDEX" in each
        assert "(space_id=? AND text_hash=?)" in each
        assert "B-TREE" not in each
    assert "SEARCH c USING INTEGER PRIMARY KEY" in only(plans, "SCAN j")


@pytest.mark.parametrize("owners", ["chunks", "names"])
def test_plan_of_what_was_there_before_its_vector(filled: Filled, owners: str) -> None:
    """New vectors find the chunks and names that waited for them by index, and nothing is sorted."""
    with filled.database.reading() as connection:
        found = plan(connection, _PLACES_OF_OLD.format(owners=owners), (filled.space_id, 5, 10))
    assert found.startswith("SEARCH v USING INTEGER PRIMARY KEY (rowid>?) | SEARCH o USING INDEX")
    assert f"{owners}_hash (text_hash=?" in found
    assert "B-TREE" not in found


def test_plan_of_dropping_vectors(filled: Filled) -> None:
    """Whether a chunk or a name uses a vector is looked up by index."""
    dropping = only(filled.plans(filled.vectors.drop_unused), "CORRELATED")
    assert "SEARCH c USING COVERING INDEX chunks_hash (text_hash=?" in dropping
    assert "SEARCH n USING COVERING INDEX names_hash (text_hash=?" in dropping


def test_plan_of_pending_names(filled: Filled) -> None:
    """Whether any is missing is seen by merging two indexes; which ones, in order of id without sorting."""
    plans = filled.plans(lambda: filled.catalog.pending_names(filled.notes, filled.space_id, 10))
    merging = only(plans, "EXCEPT")
    assert "MERGE (EXCEPT)" in merging
    assert "SCAN names USING COVERING INDEX names_hash" in merging
    assert "SEARCH vectors USING COVERING INDEX" in merging
    assert "B-TREE" not in merging
    pending = only(plans, "CORRELATED")
    assert pending.startswith("SEARCH n USING INTEGER PRIMARY KEY (rowid>?)")
    assert "(space_id=? AND text_hash=?)" in pending
    assert "B-TREE" not in pending


def test_names_that_have_vectors_are_not_looked_at_one_by_one(filled: Filled) -> None:
    """When none is missing, merging two indexes tells, and asking again starts behind the last name."""
    space_id = filled.vectors.open_space(replace(SPACE, revision="names"))
    while names := filled.catalog.pending_names(filled.notes, space_id, 1000):
        filled.vectors.add(space_id, [each.text_hash for each in names], unit_vectors(len(names)))
    for each in filled.catalog.pending_names(filled.other, space_id, 1000):
        filled.vectors.add(space_id, [each.text_hash], unit_vectors(1))
    fresh = SqliteCatalog(filled.database)
    queries = filled.queries(lambda: fresh.pending_names(filled.notes, space_id, 10))
    assert not [sql for sql, _ in queries if "NOT EXISTS" in sql]
    assert fresh.pending_names(filled.notes, space_id, 10) == []
    queries = filled.queries(lambda: fresh.pending_names(filled.notes, space_id, 10))
    assert [bindings for sql, bindings in queries if "NOT EXISTS" in sql] == [
        (2 * DOCUMENTS, filled.notes, space_id)
    ]


@pytest.mark.parametrize("filters", [Filters(), COMMON, Filters(path="folder7/*"), Filters(depths=(1,))])
def test_plan_of_names(filled: Filled, filters: Filters) -> None:
    """A name is looked up by index, then its documents and their chunks."""
    plans = filled.plans(lambda: filled.catalog.chunks_named("alias 7", filled.scope(filters), 10))
    called = only(plans, "names_folded")
    assert "names_folded (folded=?)" in called
    assert "SEARCH d USING INTEGER PRIMARY KEY (rowid=?)" in called
    assert "SEARCH c USING INDEX sqlite_autoindex_chunks_1 (document_id=?)" in called


# Lists that were bound or made by the query itself, the word index, and the handful of collections.
SCANNED = {"j", "json_each", "l", "called", "chunks_fts", "k", "collections", "CONSTANT"}


@pytest.mark.parametrize("name", [*MATCHING, "none"])
def test_no_search_walks_through_a_table(filled: Filled, name: str) -> None:
    """From the first query to the text of the hits, rows are found by an index; only depth has none."""
    scope = filled.scope(MATCHING[name][0] if name in MATCHING else None)

    def search() -> None:
        filled.catalog.collections()
        space_id = filled.vectors.find_space(SPACE)
        assert space_id is not None
        filled.catalog.chunks_named("alias 7", scope, 200)
        nearest = filled.vectors.search(space_id, QUERY, 200, scope)
        found = [chunk_id for chunk_id, _ in filled.lexical.search(["word", "w1"], 200, scope)]
        filled.vectors.similarities(space_id, QUERY, found)
        chunks = filled.catalog.load_chunks([*nearest.ids, *found])
        for chunk in list(chunks.values())[:1]:
            filled.catalog.document_chunks(chunk.document_id)

    scanned = set(re.findall(r"SCAN (\w+)", " | ".join(filled.plans(search))))
    assert scanned - SCANNED == ({"c"} if name == "depth" else set())


def test_plan_of_pending(filled: Filled) -> None:
    """Pending texts are found in order of id without sorting, each by one look at the index."""
    plans = filled.plans(lambda: filled.catalog.pending(filled.notes, filled.space_id, 10))
    pending = only(plans, "CORRELATED")
    assert pending.startswith("SEARCH c USING INTEGER PRIMARY KEY (rowid>?)")
    assert "SEARCH v USING COVERING INDEX" in pending
    assert "(space_id=? AND text_hash=?)" in pending
    assert "B-TREE" not in pending


def test_pending_does_not_start_again(filled: Filled) -> None:
    """Once every text has its vector, asking again starts behind the last chunk."""
    assert filled.catalog.pending(filled.notes, filled.space_id, 10) == []
    queries = filled.queries(lambda: filled.catalog.pending(filled.notes, filled.space_id, 10))
    starts = [bindings for sql, bindings in queries if "NOT EXISTS" in sql]
    assert starts == [(filled.notes, CHUNKS, filled.space_id)]


def test_plan_of_counting(filled: Filled) -> None:
    """Counting reads indexes alone, and merges texts and vectors instead of looking each one up."""
    plans = filled.plans(lambda: filled.catalog.counts(filled.notes, filled.space_id))
    counting = only(plans, "EXCEPT")
    assert "SCAN" not in counting.replace("SCAN CONSTANT ROW", "").replace("SCAN missing", "")
    assert "B-TREE" not in counting


def test_plan_of_a_page_of_documents(filled: Filled) -> None:
    """A page costs what is on it: the index gives its documents in order, and nothing is sorted."""
    plans = filled.plans(
        lambda: filled.catalog.documents(filled.notes, after="f", prefix="folder7/", limit=5)
    )
    listing = only(plans, "sqlite_autoindex_documents_1")
    assert "(collection_id=? AND path>" in listing
    assert "TEMP B-TREE" not in listing
