"""How SQLite carries out the queries that must stay fast."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.contract.store_world import (
    SPACE,
    World,
    connection_of,
    make_document,
    make_entry,
    make_record,
    unit_vectors,
)

from mdvec.stores.interface import View, Writer
from mdvec.stores.records import FEW_CHUNKS, VectorKind
from mdvec.stores.sqlite.connection import Connection
from mdvec.stores.sqlite.store import SqliteStore
from mdvec.stores.vector_tables import _OLD_OWNERS
from mdvec.stores.vectors.journal import OWNERS, TABLES
from mdvec.text.hashing import text_hash
from mdvec.types.ids import DocumentId
from mdvec.types.query import Filters, TagMatch

DOCUMENTS = 2000
CHUNKS = 10 * DOCUMENTS
QUERY = unit_vectors(1, seed=4)[0]


Bindings = tuple[str | int, ...] | dict[str, int] | None


class Filled(World):
    """A database of 20,000 chunks: 1 in 1,000 documents has a rare tag, 30 % a common one."""

    store: SqliteStore

    def __init__(self, path: Path) -> None:
        super().__init__(SqliteStore(path))
        self.notes, self.other = self.collections
        with self.store.write() as writer:
            for number in range(DOCUMENTS):
                self._write(writer, number)
            chunks = [
                f"word w{number % 50} n{number} p{part}" for number in range(DOCUMENTS) for part in range(10)
            ]
            hashes = [text_hash(text) for text in chunks]
            writer.vectors.put(self.space_id, hashes, unit_vectors(len(hashes), alike=0.8))

    def _write(self, writer: Writer, number: int) -> None:
        texts = [f"word w{number % 50} n{number} p{part}" for part in range(10)]
        tags = ("common",) if number % 10 < 3 else ()
        if number % 1000 == 5:
            tags = (*tags, "rare/one")
        path = f"folder{number % 100}/{number}.md"
        depths = [part % 4 for part in range(10)]
        document, chunks = make_document(path, texts, tags=tags, aliases=(f"alias {number}",), depths=depths)
        record = make_record(document, chunks, entry=make_entry(path, mtime_ns=number))
        writer.documents.put(self.other if number == 0 else self.notes, [record])

    def queries(self, action: Callable[[View], object]) -> list[tuple[str, Bindings]]:
        """Return the queries of an action in a snapshot of a store that knows nothing yet."""
        seen: list[tuple[str, Bindings]] = []

        def record(_cursor: object, sql: str, bindings: Any) -> bool:
            seen.append((sql, bindings))
            return True

        for each in self.store.path.parent.glob("*-matrix-*"):
            each.unlink()
        fresh = SqliteStore(self.store.path, read_only=True)  # which writes no file
        with fresh.read() as view:
            connection_of(view).exec_trace = record
            try:
                action(view)
            finally:
                connection_of(view).exec_trace = None
        fresh.close()
        return seen

    def plans(self, action: Callable[[View], object]) -> list[str]:
        """Return how each query of an action is carried out, one line each."""
        return self.explained(self.queries(action))

    def explained(self, queries: list[tuple[str, Bindings]]) -> list[str]:
        """Return how each query is carried out, one line each."""
        with self.store.read() as view:
            return [plan(connection_of(view), sql, bindings) for sql, bindings in queries]


def plan(connection: Connection, sql: str, bindings: Bindings) -> str:
    """Return what EXPLAIN QUERY PLAN says, in one line."""
    rows = connection.execute(f"EXPLAIN QUERY PLAN {sql}", bindings)
    return " | ".join(row[3] for row in rows)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    """The database, made once."""
    filled = Filled(tmp_path_factory.mktemp("plans") / "index.sqlite")
    yield filled
    filled.store.close()


RARE = Filters(tags=("rare",))
COMMON = Filters(tags=("common",))
FILTERS = {
    "rare tag": RARE,
    "common tag": COMMON,
    "rare and common": Filters(tags=("common", "rare"), tag_match=TagMatch.ALL),
    "folder": Filters(path="folder7/**"),
    "file name": Filters(path="7.md"),
    "depth": Filters(depths=(3,)),
    "time": Filters(updated_since_ns=DOCUMENTS - 3),
    "alias": Filters(alias_prefix="ALIAS 199"),
    "time span": Filters(updated_since_ns=10, updated_until_ns=12),
    "none": None,
}


def test_plan_of_documents_that_are_named(filled: Filled) -> None:
    """A filter of few documents is listed from their ids, and nothing is walked through."""
    where = replace(filled.where(), only=frozenset([DocumentId(5)]))
    plans = filled.plans(lambda view: view.words.bm25(["word"], where, 5))
    listing = only([each for each in plans if "sqlite_autoindex_chunks_1" in each], "SCAN j")
    assert "SEARCH d USING INTEGER PRIMARY KEY (rowid=?)" in listing
    assert "SEARCH c USING INDEX sqlite_autoindex_chunks_1 (document_id=?)" in listing


def test_plan_of_hidden_documents(filled: Filled) -> None:
    """With hidden documents the best candidates are tested one by one; the list of all is not made."""
    where = replace(filled.where(), hidden=frozenset([DocumentId(5)]))
    for action in (
        lambda view: view.words.bm25(["word"], where, 5),
        lambda view: view.vectors.nearest(VectorKind.TEXT, filled.space_id, QUERY, where, 5),
    ):
        plans = filled.plans(action)
        testing = [each for each in plans if each.startswith("SCAN j VIRTUAL TABLE")]
        assert testing
        assert all("LIST SUBQUERY" in each for each in testing)
        assert all("SEARCH c USING INTEGER PRIMARY KEY (rowid=?)" in each for each in testing)
        assert not [each for each in plans if "chunks_collection" in each and "SCAN k" not in each]


def test_plan_of_links(filled: Filled) -> None:
    """Links and documents of a name, and links to older versions, are found by index."""
    named = only(filled.plans(lambda view: view.documents.links_to(filled.notes, "x")), "links_file")
    assert "(file_key=?)" in named
    assert "SEARCH d USING INTEGER PRIMARY KEY (rowid=?)" in named
    documents = only(filled.plans(lambda view: view.documents.with_file_names(filled.notes, ["x"])), "SCAN j")
    assert "SEARCH d USING INDEX documents_file (file_key=?)" in documents
    versions = only(filled.plans(lambda view: view.documents.versions(filled.notes)), "links_previous")
    assert versions.startswith("SCAN l USING INDEX links_previous")
    assert "B-TREE" not in versions


def only(plans: list[str], part: str) -> str:
    """Return the one plan that holds a part."""
    matching = [each for each in plans if part in each]
    assert len(matching) == 1, plans
    return matching[0]


def test_plan_of_words_in_a_narrow_filter(filled: Filled) -> None:
    """The words are looked up once, and the list of allowed chunks is made once."""
    plans = filled.plans(lambda view: view.words.bm25(["word"], filled.where(RARE), 5))
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
def test_plan_of_narrow_filters(filled: Filled, filters: Filters, expected: str) -> None:
    """What is inside is listed from where an index is most selective, and never by scanning all chunks."""
    plans = filled.plans(lambda view: view.words.bm25(["word"], filled.where(filters), 5))
    listing = only([each for each in plans if "json_each" not in each], "document_id=?)")
    assert expected in listing
    assert "SCAN c" not in listing
    assert "SEARCH c USING INDEX sqlite_autoindex_chunks_1 (document_id=?)" in listing


def test_plan_of_wide_filters(filled: Filled) -> None:
    """In a wide filter the best candidates are tested one by one, found by their ids."""
    assert 3 * CHUNKS // 10 > FEW_CHUNKS
    for action in (
        lambda view: view.words.bm25(["word"], filled.where(COMMON), 5),
        lambda view: view.vectors.nearest(VectorKind.TEXT, filled.space_id, QUERY, filled.where(COMMON), 5),
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
    plans = filled.plans(
        lambda view: view.vectors.nearest(VectorKind.TEXT, filled.space_id, QUERY, filled.where(), 5)
    )
    assert "SEARCH v USING INTEGER PRIMARY KEY (rowid>?)" in plans
    places = [each for each in plans if each.startswith("SEARCH o USING INTEGER PRIMARY KEY (rowid>?)")]
    assert len(places) == 2  # of chunks and of names
    for each in places:
        assert "SEARCH v USING COVERING INDEX" in each
        assert "(space_id=? AND text_hash=?)" in each
        assert "B-TREE" not in each
    assert "SEARCH c USING INTEGER PRIMARY KEY" in only(plans, "SCAN j")


@pytest.mark.parametrize("kind", VectorKind)
def test_plan_of_what_was_there_before_its_vector(filled: Filled, kind: VectorKind) -> None:
    """New vectors find the chunks and names that waited for them by index, and nothing is sorted."""
    owners = TABLES[kind]
    sql = _OLD_OWNERS.format(owner=OWNERS[kind], table=owners, unindexed="+")
    (found,) = filled.explained([(sql, (filled.space_id, 5, 10))])
    assert found.startswith("SEARCH v USING INTEGER PRIMARY KEY (rowid>?) | SEARCH o USING ")
    assert f"{owners}_hash (text_hash=?" in found
    assert "B-TREE" not in found


def test_plan_of_dropping_vectors(filled: Filled) -> None:
    """Whether a chunk or a name uses a vector is looked up by index."""
    seen: list[tuple[str, Bindings]] = []

    def record(_cursor: object, sql: str, bindings: Any) -> bool:
        seen.append((sql, bindings))
        return True

    with filled.store.write() as writer:
        connection_of(writer).exec_trace = record
        writer.vectors.drop_unused()
        connection_of(writer).exec_trace = None
    dropping = only(filled.explained(seen), "CORRELATED")
    assert "SEARCH c USING COVERING INDEX chunks_hash (text_hash=?" in dropping
    assert "SEARCH n USING COVERING INDEX names_hash (text_hash=?" in dropping


def test_plan_of_pending_names(filled: Filled) -> None:
    """Whether any is missing is seen by merging two indexes; which ones, in order of id without sorting."""
    plans = filled.plans(
        lambda view: view.vectors.pending(VectorKind.NAME, filled.notes, filled.space_id, 10)
    )
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
    """When none is missing, merging two indexes shows it, and the next call starts behind the last name."""
    with filled.store.write() as writer:
        space_id = writer.spaces.open(replace(SPACE, revision="names"))
        for collection in filled.collections:
            names = writer.vectors.pending(VectorKind.NAME, collection, space_id, 2 * DOCUMENTS)
            vectors = unit_vectors(len(names))
            writer.vectors.put(space_id, [each.text_hash for each in names], vectors)

    def twice(view: View) -> None:
        for _ in range(2):
            assert view.vectors.pending(VectorKind.NAME, filled.notes, space_id, 10) == []

    queries = filled.queries(twice)
    assert [bindings for sql, bindings in queries if "NOT EXISTS" in sql] == [
        (2 * DOCUMENTS, filled.notes, space_id)
    ]


@pytest.mark.parametrize("filters", [Filters(), COMMON, Filters(path="folder7/*"), Filters(depths=(1,))])
def test_plan_of_names(filled: Filled, filters: Filters) -> None:
    """A name is looked up by index, then its documents."""
    plans = filled.plans(lambda view: view.documents.called(["alias 7"], filled.where(filters)))
    called = only(plans, "names_folded")
    assert "names_folded (folded=?)" in called
    assert "SEARCH d USING INTEGER PRIMARY KEY (rowid=?)" in called


# Lists that were bound or made by the query itself, the word index, and the handful of collections.
SCANNED = {
    *("j", "json_each", "l", "called", "chunks_fts", "k", "collections", "CONSTANT"),
    *("with_optional", "sampled"),
}


@pytest.mark.parametrize("name", FILTERS)
def test_no_search_walks_through_a_table(filled: Filled, name: str) -> None:
    """From the first query to the text of the hits, rows are found by an index; only depth has none."""
    where = filled.where(FILTERS[name])

    def search(view: View) -> None:
        view.collections.all()
        space_id = view.spaces.find(SPACE)
        assert space_id is not None
        called = view.documents.called(["alias 7"], where)
        near = [document for document, _ in view.vectors.nearest(VectorKind.NAME, space_id, QUERY, where, 50)]
        named = [place.id for place in view.chunks.places_in([*called, *near], where, 200)]
        nearest = [
            chunk_id for chunk_id, _ in view.vectors.nearest(VectorKind.TEXT, space_id, QUERY, where, 200)
        ]
        found = [chunk_id for chunk_id, _ in view.words.bm25(["word", "w1"], where, 200, must=["w1"])]
        places = view.chunks.places([*named, *nearest, *found])
        view.vectors.similarities(
            VectorKind.TEXT, space_id, QUERY.reshape(1, -1), [place.id for place in places]
        )
        view.vectors.similarities(
            VectorKind.NAME, space_id, QUERY.reshape(1, -1), [place.document_id for place in places]
        )
        view.vectors.sample(space_id, 512)
        chunks = view.chunks.get([*nearest, *found])
        for chunk in list(chunks.values())[:1]:
            view.chunks.of_document(chunk.document_id)

    scanned = set(re.findall(r"SCAN (\w+)", " | ".join(filled.plans(search))))
    assert scanned - SCANNED == ({"c"} if name == "depth" else set())


def test_an_import_leaves_one_segment_of_words(tmp_path: Path) -> None:
    """A term is looked up in each segment of the index, but a small change does not write it anew."""
    world = World(SqliteStore(tmp_path / "index.sqlite"))
    notes = world.collections[0]

    def write(name: str, words: int) -> None:
        with world.store.write() as writer:
            document, chunks = make_document(name, [" ".join(f"{name}{each}" for each in range(words))])
            writer.documents.put(notes, [make_record(document, chunks)])

    def finished() -> list[int]:
        with world.store.write() as writer:
            writer.documents.finish(notes, exclusions=[], failures=[])
            rows = connection_of(writer).execute("SELECT count(*) FROM chunks_fts_idx GROUP BY segid")
            return [pages for (pages,) in rows]

    for name in "abc":
        write(name, 5_000)
    (pages,) = finished()
    write("d", 10)
    assert sorted(finished()) == [1, pages]
    world.store.close()


def test_plan_of_pending(filled: Filled) -> None:
    """Pending texts are found in order of id without sorting, each by one look at the index."""
    with filled.store.write() as writer:
        space_id = writer.spaces.open(replace(SPACE, revision="empty"))
    plans = filled.plans(lambda view: view.vectors.pending(VectorKind.TEXT, filled.notes, space_id, 10))
    pending = only(plans, "CORRELATED")
    assert pending.startswith("SEARCH c USING INTEGER PRIMARY KEY (rowid>?)")
    assert "SEARCH v USING COVERING INDEX" in pending
    assert "(space_id=? AND text_hash=?)" in pending
    assert "B-TREE" not in pending


def test_pending_does_not_start_again(filled: Filled) -> None:
    """When none is missing, merging two indexes shows it, and the next call starts behind the last chunk."""

    def twice(view: View) -> None:
        for _ in range(2):
            assert view.vectors.pending(VectorKind.TEXT, filled.notes, filled.space_id, 10) == []

    starts = [bindings for sql, bindings in filled.queries(twice) if "NOT EXISTS" in sql]
    assert starts == [(CHUNKS, filled.notes, filled.space_id)]


def test_plan_of_counting(filled: Filled) -> None:
    """Counting reads indexes alone, and merges texts and vectors instead of looking each one up."""
    plans = filled.plans(lambda view: view.collections.counts(filled.notes, filled.space_id))
    counting = only(plans, "EXCEPT")
    assert "SCAN" not in counting.replace("SCAN CONSTANT ROW", "").replace("SCAN missing", "")
    assert "B-TREE" not in counting


def test_plan_of_a_page_of_documents(filled: Filled) -> None:
    """A page costs what is on it: the index gives its documents in order, and nothing is sorted."""
    plans = filled.plans(
        lambda view: view.documents.page(filled.notes, after="f", prefix="folder7/", limit=5)
    )
    listing = only(plans, "sqlite_autoindex_documents_1")
    assert "(collection_id=? AND path>" in listing
    assert "TEMP B-TREE" not in listing
