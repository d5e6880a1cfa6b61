"""SQLite against the memory store, on random documents, filters, queries and sequences of changes."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contract.store_world import Place, World, read, unit_vectors, vector_of

from mdvec.stores.columns import fold_label, prefix_end
from mdvec.stores.interface import View
from mdvec.stores.sqlite.store import SqliteStore
from mdvec.testing.stores import MemoryStore
from mdvec.types.ids import ChunkId, DocumentId
from mdvec.types.query import Filters, TagMatch, Where

TAGS = ["a", "A/b", "a/b/c", "a-b", "ab", "ａｂ", "日本", "日本/東京", "é"]
PATHS = ["x.md", "notes/x.md", "notes/y.md", "notes/deep/z.txt", "notes-2/x.md", "メモ/猫.md"]
GLOBS = ["*.md", "notes/*", "notes/**", "**/x.md", "メモ/", "no*/x.md", "/x.md", "z.txt"]

texts = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=6).map(" ".join)
documents = st.fixed_dictionaries(
    {
        "texts": st.lists(texts, min_size=1, max_size=4),
        "collection": st.integers(0, 1),
        "tags": st.lists(st.sampled_from(TAGS), max_size=3, unique_by=fold_label).map(tuple),
        "aliases": st.lists(st.sampled_from(["Cat", "cats", "猫"]), max_size=2, unique=True).map(tuple),
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
)
path_sets = st.frozensets(st.sampled_from(PATHS), max_size=4)
steps = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(PATHS), documents),
    st.tuples(st.just("remove"), st.sampled_from(PATHS), st.integers(0, 1)),
    st.tuples(st.just("embed"), st.integers(0, 99), st.integers(1, 6)),
    st.tuples(st.just("drop"), st.integers(0, 3), st.none()),
)
QUERY = unit_vectors(1, seed=3, alike=0.5)[0]


def _texts(world: World) -> list[str]:
    """Return all texts and names without a vector, in an order that has nothing to do with the documents."""

    def pending(view: View) -> list[str]:
        return [
            each.text
            for collection in world.collections
            for each in (
                *view.pending(collection, world.space_id, 99),
                *view.pending_names(collection, world.space_id, 99),
            )
        ]

    return sorted(set(read(world.store, pending)))


def _step(world: World, kind: str, one: Any, two: Any) -> None:
    """Change a world; the same step changes equal worlds equally."""
    match kind:
        case "put":
            world.remove(one, collection=two["collection"])
            world.add(one, **two)
        case "remove":
            world.remove(one, collection=two)
        case "embed":
            missing = _texts(world)
            chosen = random.Random(one).sample(missing, min(two, len(missing)))
            world.embed({text: vector_of(text, alike=0.5) for text in chosen})
        case _:
            with world.store.write() as writer:
                writer.drop_unused(keep=one)


def _found(world: World, where: Where, limit: int, terms: Sequence[str], must: Sequence[str]) -> list[Any]:
    """Return everything that is found, by what is the same in every store."""
    with world.store.read() as view:
        names = _names(world, view)
        space = world.space_id
        by_words = [view.bm25(terms, where, limit), view.bm25(terms, where, limit, must=must)]
        chunks = view.nearest_chunks(space, QUERY, where, limit)
        documents = view.nearest_documents(space, QUERY, where, limit)
        called = [view.documents_called(name, where) for name in ("cat", "猫", "x md")]
        inside = view.places_in(sorted(names), where, 99)
        found = [
            *(_ranked(world, ranking) for ranking in (*by_words, chunks)),
            ([names[key] for key, _ in documents], [near for _, near in documents]),
            [[names[key] for key in each] for each in called],
            sorted((names[each.document_id], each.ordinal) for each in inside),
            view.tags(where),
            view.document_frequencies(terms),
            view.chunk_similarities(
                space, QUERY.reshape(1, -1), [each.id for each in view.sampled_chunks(space, 5)]
            )[0].tolist(),
            [view.counts(each, space) for each in world.collections],
            [view.file_states(each, space) for each in world.collections],
            [view.pending(each, space, limit) for each in world.collections],
            [view.pending_names(each, space, limit) for each in world.collections],
        ]
        everything = [key for key, _ in view.nearest_chunks(space, QUERY, world.where(), 99)]
        texts = view.chunk_similarities(space, QUERY.reshape(1, -1), everything)[0].tolist()
        similarities = dict(zip(everything, texts, strict=True))
        assert [similarities[key] for key, _ in chunks] == [near for _, near in chunks]
        of_names = view.name_similarities(space, QUERY.reshape(1, -1), sorted(names))[0].tolist()
        near_names = dict(zip(sorted(names), of_names, strict=True))
        assert [near_names[key] for key, _ in documents] == [near for _, near in documents]
    return found


def _names(world: World, view: View) -> dict[DocumentId, tuple[int, str]]:
    found: dict[DocumentId, tuple[int, str]] = {}
    for at, collection in enumerate(world.collections):
        for path in view.known_documents(collection):
            document = view.find_document(collection, path)
            assert document is not None
            found[document.id] = at, path
    return found


def _ranked(world: World, ranking: Sequence[tuple[ChunkId, float]]) -> tuple[list[Place], list[float]]:
    return world.places(key for key, _ in ranking), [score for _, score in ranking]


def _agree(found: list[Any], wanted: list[Any]) -> None:
    """Assert that two stores found the same: scores and similarities to 5 digits."""
    for mine, theirs in zip(found[:4], wanted[:4], strict=True):
        assert mine[0] == theirs[0]
        assert mine[1] == pytest.approx(theirs[1], rel=1e-5, abs=2e-6)
    assert found[4:8] == wanted[4:8]
    assert found[8] == pytest.approx(wanted[8], abs=2e-6)
    assert found[9:] == wanted[9:]


@settings(max_examples=60, deadline=None)
@given(
    files=st.dictionaries(st.sampled_from(PATHS), documents, max_size=6),
    narrow=filters,
    chosen=st.sampled_from([(0, 1), (0,), (1,)]),
    only=st.none() | path_sets,
    hidden=st.just(frozenset()) | path_sets,
    terms=st.lists(st.sampled_from("abcxy"), min_size=1, max_size=3),
    must=st.lists(st.sampled_from("abcxy"), min_size=1, max_size=2),
    limit=st.integers(1, 12),
    few=st.sampled_from([0, 5_000]),
)
def test_filtered_search_equals_the_reference(
    files: dict[str, dict[str, Any]],
    narrow: Filters,
    chosen: tuple[int, ...],
    only: frozenset[str] | None,
    hidden: frozenset[str],
    terms: list[str],
    must: list[str],
    limit: int,
    few: int,
) -> None:
    """For all documents and filters, in the way for few chunks inside and in the way for many."""
    found = []
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("mdvec.stores.inside.FEW_CHUNKS", few)
        store = SqliteStore(Path(folder) / "index.sqlite")
        for world in (World(MemoryStore()), World(store)):
            for path, document in files.items():
                _step(world, "put", path, document)
            missing = _texts(world)
            world.embed({text: vector_of(text, alike=0.5) for text in missing[: len(missing) * 2 // 3]})
            with world.store.read() as view:
                ids = {path: key for key, (_, path) in _names(world, view).items()}
            where = Where(
                tuple(world.collections[number] for number in chosen),
                narrow,
                None if only is None else frozenset(ids[path] for path in only & ids.keys()),
                frozenset(ids[path] for path in hidden & ids.keys()),
            )
            found.append(_found(world, where, limit, [*terms, *must], must))
        store.close()
    _agree(found[1], found[0])


@settings(max_examples=60, deadline=None)
@given(changes=st.lists(steps, min_size=1, max_size=12), few=st.sampled_from([0, 4096]))
def test_what_stays_in_memory_follows_every_change(changes: list[tuple[str, Any, Any]], few: int) -> None:
    """After any sequence of changes a store that was searched all along finds what the reference finds."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr("mdvec.stores.dense._FEW_CHUNKS", few)
        store = SqliteStore(Path(folder) / "index.sqlite")
        real, reference = World(store), World(MemoryStore())
        for change in changes:
            found = []
            for world in (real, reference):
                _step(world, *change)
                found.append(_found(world, world.where(), 9, ["a", "b"], ["a"]))
            if not few:  # chunks that are gone may be among those that are sampled
                found[0][8] = found[1][8]
            _agree(*found)
        store.close()


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
    assert fold_label(fold_label(label)) == fold_label(label)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=60), min_size=1, max_size=5))
def test_texts_come_back_as_they_went_in(texts: list[str]) -> None:
    """Every chunk's text is the span of the body that was written, whatever its characters."""
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "index.sqlite")
        world = World(store)
        ids = world.add("a.md", texts)
        stored = read(store, lambda view: view.chunks(ids))
        assert [stored[chunk_id].text for chunk_id in ids] == texts
        with store.read() as view:
            pending = view.pending(world.first.id, world.space_id, 100)
        assert [each.text for each in pending] == list(dict.fromkeys(texts))
        world.embed({each.text: vector_of(each.text) for each in pending})
        with store.read() as view:
            assert view.pending(world.first.id, world.space_id, 100) == []
        store.close()
