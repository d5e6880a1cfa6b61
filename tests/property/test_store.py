"""Every store against the definitions, on random documents, filters, queries and sequences of changes."""

from __future__ import annotations

import math
import random
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contract.store_world import NAMES, STORES, World, open_store, read, unit_vectors, vector_of
from tests.oracle import Place, Scope

from mdvec.stores.interface import Store, View
from mdvec.stores.records import ChunkTerms, VectorKind
from mdvec.stores.sqlite.store import SqliteStore
from mdvec.stores.tables import prefix_end
from mdvec.text.folding import fold_characters
from mdvec.types.ids import ChunkId, DocumentId
from mdvec.types.query import Filters, TagMatch, Where

TAGS = ["a", "A/b", "a/b/c", "a-b", "ab", "ａｂ", "日本", "日本/東京", "é"]
PATHS = ["x.md", "notes/x.md", "notes/y.md", "notes/deep/z.txt", "notes-2/x.md", "メモ/猫.md"]
ALIASES = ["Cat", "cats", "ＣＡＴ", "猫"]
GLOBS = ["*.md", "notes/*", "notes/**", "**/x.md", "メモ/", "no*/x.md", "/x.md", "z.txt"]

texts = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=6).map(" ".join)
documents = st.fixed_dictionaries(
    {
        "texts": st.lists(texts, min_size=1, max_size=4),
        "minor": st.lists(st.just("") | texts, min_size=4, max_size=4),
        "collection": st.integers(0, 1),
        "tags": st.lists(st.sampled_from(TAGS), max_size=3, unique_by=fold_characters).map(tuple),
        "aliases": st.lists(st.sampled_from(ALIASES), max_size=2, unique=True).map(tuple),
        "depths": st.lists(st.integers(0, 3), min_size=4, max_size=4),
        "mtime_ns": st.integers(1, 4),
        "updated_ns": st.none() | st.integers(0, 4),
    }
)
filters = st.builds(
    Filters,
    tags=st.lists(st.sampled_from([*TAGS, "B", "日"]), max_size=2).map(tuple),
    tag_match=st.sampled_from(TagMatch),
    alias_prefix=st.none() | st.sampled_from(["", "c", "CAT", "cats", "猫", "x"]),
    path=st.none() | st.sampled_from(GLOBS),
    depths=st.lists(st.integers(0, 3), max_size=2).map(tuple),
    updated_since_ns=st.none() | st.integers(0, 5),
    updated_until_ns=st.none() | st.integers(0, 5),
    clean_only=st.booleans(),
)
path_sets = st.frozensets(st.sampled_from(PATHS), max_size=4)
steps = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(PATHS), documents),
    st.tuples(st.sampled_from(["remove", "mark"]), st.sampled_from(PATHS), st.integers(0, 1)),
    st.tuples(st.just("embed"), st.integers(0, 99), st.integers(1, 6)),
    st.tuples(st.just("drop"), st.integers(0, 3), st.none()),
)
QUERY = unit_vectors(1, seed=3, alike=0.5)[0]
_NOBODY = 10**9  # an id that no chunk and no document has


@pytest.fixture(scope="module", params=STORES)
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store of each kind, in which one example follows the other."""
    store = open_store(request.param, tmp_path_factory.mktemp("store"))
    yield store
    store.close()


@contextmanager
def _world_in(store: Store) -> Iterator[World]:
    """Make a world in a store, and empty the store at the end."""
    world = World(store)
    try:
        yield world
    finally:
        with store.write() as writer:
            for each in world.collections:
                writer.collections.delete(each)
            writer.vectors.drop_unused()


def _texts(world: World) -> list[str]:
    """Return all texts and names without a vector, in an order that has nothing to do with the documents."""
    pending = world.oracle.pending
    return sorted({each for name in NAMES for kind in VectorKind for each in pending(kind, name)})


def write(world: World, path: str, document: dict[str, Any]) -> None:
    """Write one of the documents above instead of the one at a path."""
    minor, rest = document["minor"], {key: document[key] for key in document if key != "minor"}
    terms = [ChunkTerms(*both) for both in zip(document["texts"], minor, strict=False)]
    world.remove(path, collection=document["collection"])
    world.add(path, terms=terms, **rest)


def _step(world: World, kind: str, one: Any, two: Any) -> None:
    """Change a world."""
    match kind:
        case "put":
            write(world, one, two)
        case "remove":
            world.remove(one, collection=two)
        case "mark":
            world.mark_dirty(one, collection=two)
        case "embed":
            missing = _texts(world)
            chosen = random.Random(one).sample(missing, min(two, len(missing)))
            world.embed({text: vector_of(text, alike=0.5) for text in chosen})
        case _:
            with world.store.write() as writer:
                assert writer.vectors.drop_unused(keep=one) == world.oracle.drop_unused(one)


def _check(world: World, scope: Scope, limit: int, terms: Sequence[str], must: Sequence[str]) -> None:
    """Assert that a store finds what the definitions say: scores and similarities to 5 digits."""
    oracle, space = world.oracle, world.space_id
    numbers = dict(zip(NAMES, world.collections, strict=True))
    with world.store.read() as view:
        keys = _keys(world, view)
        ids = {key: document for document, key in keys.items()}
        where = Where(
            tuple(numbers[each] for each in scope.collections),
            scope.filters,
            None if scope.only is None else frozenset(ids[key] for key in ids if key[1] in scope.only),
            frozenset(ids[key] for key in ids if key[1] in scope.hidden),
        )
        for required in ((), must):
            found = view.words.bm25(terms, where, limit, must=required)
            _agree(_placed(world, found), oracle.bm25(terms, scope, limit, required))
            [held] = view.words.holding([[terms, required or terms]], where)
            assert held == sorted(held)
            assert {*world.places(held)} == oracle.holding([terms, required or terms], scope)
            assert (
                view.words.holding([[terms], [terms, required or terms]], where, limit=limit)[1]
                == held[:limit]
            )
        frequencies = view.words.frequencies(terms)
        assert frequencies.of_term == {
            term: count for term, count in oracle.frequencies(terms).items() if count
        }
        assert frequencies.chunks == len(oracle.places(Scope(NAMES)))
        chunks = view.vectors.nearest(VectorKind.TEXT, space, QUERY, where, limit)
        _agree(_placed(world, chunks), oracle.nearest_chunks(QUERY, scope, limit))
        documents = view.vectors.nearest(VectorKind.NAME, space, QUERY, where, limit)
        _agree([(keys[key], near) for key, near in documents], oracle.nearest_documents(QUERY, scope, limit))
        query = QUERY.reshape(1, -1)
        for kind, ranking in ((VectorKind.TEXT, chunks), (VectorKind.NAME, documents)):
            owners = [*(key for key, _ in ranking), _NOBODY]
            same = view.vectors.similarities(kind, space, query, owners)[0].tolist()
            assert same[:-1] == [near for _, near in ranking]
            assert math.isnan(same[-1])
        for name in ("cat", "猫", "x md", "", "x\udcff"):
            assert [keys[key] for key in view.documents.called([name], where)] == oracle.called(name, scope)
        inside = sorted(oracle.places(scope))
        wanted = [place for key in keys.values() for place in inside if place[:2] == key]
        for most in (limit, 99):
            found_places = view.chunks.places_in([*keys], where, most)
            placed = [Place(*keys[each.document_id], each.ordinal) for each in found_places]
            assert placed == wanted[:most]
        assert [(each.tag, each.documents) for each in view.documents.tags(where)] == oracle.tags(scope)
        for name, key in numbers.items():
            for kind in VectorKind:
                pending = [each.text for each in view.vectors.pending(kind, key, space, limit)]
                assert pending == oracle.pending(kind, name)[:limit]
            left = len(oracle.pending(VectorKind.NAME, name))
            assert view.vectors.count_pending_names(key, space) == left
            written = [record.text_hashes for (of, _), record in oracle.documents.items() if of == name]
            texts = [text for record in written for text in record]
            counts = view.collections.counts(key, space)
            assert (counts.documents, counts.chunks) == (len(written), len(texts))
            assert counts.pending_chunks == sum(text not in oracle.vectors for text in texts)


def _check_sample(world: World) -> None:
    with world.store.read() as view:
        ids = [each.id for each in view.vectors.sample(world.space_id, 5)]
        near = view.vectors.similarities(VectorKind.TEXT, world.space_id, QUERY.reshape(1, -1), ids)[
            0
        ].tolist()
    assert near == pytest.approx(world.oracle.sample(QUERY, 5), abs=2e-6)


def _keys(world: World, view: View) -> dict[DocumentId, tuple[str, str]]:
    """Return collection and path of each document, by id."""
    found: dict[DocumentId, tuple[str, str]] = {}
    for name, collection in zip(NAMES, world.collections, strict=True):
        for path in view.documents.known(collection):
            document = view.documents.find(collection, path)
            assert document is not None
            found[document.id] = name, path
    return found


def _placed(world: World, ranking: Sequence[tuple[ChunkId, float]]) -> list[tuple[Place, float]]:
    places = world.places(key for key, _ in ranking)
    return list(zip(places, (score for _, score in ranking), strict=True))


def _agree(found: Sequence[tuple[Any, float]], wanted: Sequence[tuple[Any, float]]) -> None:
    assert [each for each, _ in found] == [each for each, _ in wanted]
    assert [score for _, score in found] == pytest.approx([score for _, score in wanted], rel=1e-5, abs=2e-6)


@settings(max_examples=60, deadline=None)
@given(
    files=st.dictionaries(st.sampled_from(PATHS), documents, max_size=6),
    narrow=filters,
    chosen=st.sampled_from([(0, 1), (0,), (1,), ()]),
    only=st.none() | path_sets,
    hidden=st.just(frozenset()) | path_sets,
    terms=st.lists(st.sampled_from("abcxy"), min_size=1, max_size=3),
    must=st.lists(st.sampled_from("abcxy"), min_size=1, max_size=2),
    marked=path_sets,
    limit=st.integers(0, 12),
    few=st.sampled_from([0, 5_000]),
)
def test_filtered_search_finds_what_fits(
    store: Store,
    files: dict[str, dict[str, Any]],
    narrow: Filters,
    chosen: tuple[int, ...],
    only: frozenset[str] | None,
    hidden: frozenset[str],
    terms: list[str],
    must: list[str],
    marked: frozenset[str],
    limit: int,
    few: int,
) -> None:
    """For all documents and filters, in the way for few chunks inside and in the way for many."""
    scope = Scope(tuple(NAMES[number] for number in chosen), narrow, only, hidden)
    with pytest.MonkeyPatch.context() as patch, _world_in(store) as world:
        patch.setattr("mdvec.stores.where_tables.FEW_CHUNKS", few)
        for path, document in files.items():
            _step(world, "put", path, document)
        for path in sorted(marked):
            _step(world, "mark", path, 0)
        missing = _texts(world)
        world.embed({text: vector_of(text, alike=0.5) for text in missing[: len(missing) * 2 // 3]})
        _check(world, scope, limit, [*terms, *must], must)
        _check_sample(world)


@settings(max_examples=60, deadline=None)
@given(changes=st.lists(steps, min_size=1, max_size=12), few=st.sampled_from([0, 4096]))
def test_what_stays_in_memory_follows_every_change(
    store: Store, changes: list[tuple[str, Any, Any]], few: int
) -> None:
    """After any sequence of changes a store that was searched all along finds what there is."""
    with pytest.MonkeyPatch.context() as patch, _world_in(store) as world:
        patch.setattr("mdvec.stores.vector_tables._FEW_CHUNKS", few)
        for change in changes:
            _step(world, *change)
            _check(world, Scope(NAMES), 9, ["a", "b"], ["a"])
            if few:  # else chunks that are gone may be among those that are sampled
                _check_sample(world)
        _check(world, Scope(NAMES, Filters(clean_only=True)), 9, ["a", "b"], ["a"])


@given(st.text(), st.text())
def test_prefix_ranges_hold_exactly_what_starts_so(prefix: str, text: str) -> None:
    """A string lies in the range of a prefix when it starts with it, and only then."""
    end = prefix_end(prefix)
    for candidate in (text, prefix + text):
        in_range = prefix <= candidate and (end is None or candidate < end)
        assert in_range == candidate.startswith(prefix)


@given(st.text())
def test_folding_is_stable(label: str) -> None:
    """Folding twice is folding once, and case does not count."""
    assert fold_characters(fold_characters(label)) == fold_characters(label)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=60), min_size=1, max_size=5))
def test_texts_come_back_as_they_went_in(texts: list[str]) -> None:
    """Every chunk's text is the span of the body that was written, whatever its characters."""
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "index.sqlite")
        world = World(store)
        ids = world.add("a.md", texts)
        stored = read(store, lambda view: view.chunks.get(ids))
        assert [stored[chunk_id].text for chunk_id in ids] == texts
        with store.read() as view:
            pending = view.vectors.pending(VectorKind.TEXT, world.first.id, world.space_id, 100)
        assert [each.text for each in pending] == list(dict.fromkeys(texts))
        world.embed({each.text: vector_of(each.text) for each in pending})
        with store.read() as view:
            assert view.vectors.pending(VectorKind.TEXT, world.first.id, world.space_id, 100) == []
        store.close()
