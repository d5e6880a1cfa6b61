"""The SQLite indexes against the references, on random documents, filters and queries."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mdvec.stores.sqlite.labels import fold, prefix_end
from tests.contract.store_world import SPACE, MemoryWorld, StoreWorld, World, unit_vectors

from mdvec.stores.interface import DenseMatches
from mdvec.stores.sqlite.store import SqliteStore
from mdvec.testing.indexes import inside
from mdvec.types.ids import ChunkId, DocumentId, TextHash
from mdvec.types.query import Filters, Scope, TagMatch

TAGS = ["a", "A/b", "a/b/c", "a-b", "ab", "日本", "日本/東京", "é"]
PATHS = ["x.md", "notes/x.md", "notes/y.md", "notes/deep/z.txt", "notes-2/x.md", "メモ/猫.md"]
GLOBS = ["*.md", "notes/*", "notes/**", "**/x.md", "メモ/", "no*/x.md", "/x.md", "z.txt"]

texts = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=6).map(" ".join)
documents = st.fixed_dictionaries(
    {
        "texts": st.lists(texts, min_size=1, max_size=4),
        "collection": st.integers(0, 1),
        "tags": st.lists(st.sampled_from(TAGS), max_size=3, unique_by=str.casefold).map(tuple),
        "aliases": st.lists(st.sampled_from(["Cat", "cats", "猫"]), max_size=2, unique=True).map(tuple),
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
numbers = st.frozensets(st.integers(1, len(PATHS) + 1).map(DocumentId), max_size=4)


def real_tags(document: dict[str, object]) -> tuple[str, ...]:
    """Return the tags of a generated document."""
    return document["tags"]  # type: ignore[return-value]


def _hashes(world: World) -> list[TextHash]:
    """Return the hashes of all texts and names, in an order that has nothing to do with the documents."""
    return sorted({each for chunk in world.chunks.values() for each in (chunk.text_hash, *chunk.name_hashes)})


def _fill(world: World, files: dict[str, dict[str, object]]) -> None:
    space_id = world.vectors.open_space(SPACE)
    for path, document in files.items():
        depths = [ordinal % 4 for ordinal in range(len(document["texts"]))]  # type: ignore[arg-type]
        world.add(path, **document, depths=depths)  # type: ignore[arg-type]
    hashes = _hashes(world)
    embedded = hashes[: len(hashes) * 2 // 3]
    if embedded:
        world.vectors.add(space_id, embedded, unit_vectors(len(embedded), alike=0.5))


def _agree(found: DenseMatches, wanted: DenseMatches, real: dict[ChunkId, float]) -> None:
    """Assert equal rankings; chunks as near as each other to 3 digits may change places."""
    assert found.similarities == pytest.approx(wanted.similarities, abs=1e-3)
    assert len(set(found.ids)) == len(wanted.ids)
    assert [real[each] for each in found.ids] == pytest.approx(found.similarities, abs=1e-3)


@settings(max_examples=60, deadline=None)
@given(
    files=st.dictionaries(st.sampled_from(PATHS), documents, max_size=6),
    narrow=filters,
    chosen=st.sampled_from([(0, 1), (0,), (1,)]),
    only=st.none() | numbers,
    hidden=st.just(frozenset()) | numbers,
    terms=st.lists(st.sampled_from("abcxy"), min_size=1, max_size=3),
    common=st.lists(st.sampled_from("abcxy"), min_size=1, max_size=2),
    limit=st.integers(1, 12),
)
def test_filtered_search_equals_the_reference(
    files: dict[str, dict[str, object]],
    narrow: Filters,
    chosen: tuple[int, ...],
    only: frozenset[DocumentId] | None,
    hidden: frozenset[DocumentId],
    terms: list[str],
    common: list[str],
    limit: int,
) -> None:
    """For all documents and filters: the same chunks, BM25 to 4 digits, nearness to 3; counts agree."""
    reference = MemoryWorld()
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "index.sqlite")
        real = StoreWorld(store)
        _fill(reference, files)
        _fill(real, files)
        scope = Scope(tuple(real.collections[number] for number in chosen), narrow, only, hidden)
        expected = reference.lexical.search(terms, limit, scope)
        found = real.lexical.search(terms, limit, scope)
        assert [score for _, score in found] == pytest.approx([score for _, score in expected], rel=1e-4)
        assert [key for key, _ in found] == [key for key, _ in expected]
        everything = dict(reference.lexical.search(terms, 99, scope, common))
        found = real.lexical.search(terms, limit, scope, common)
        assert len(found) == min(limit, len(everything))
        assert dict(found) == pytest.approx({key: everything[key] for key, _ in found}, rel=1e-4)

        space_id = real.vectors.open_space(SPACE)
        query = unit_vectors(1, seed=3, alike=0.5)[0]
        nearest = real.vectors.search(space_id, query, limit, scope)
        wanted = reference.vectors.search(space_id, query, limit, scope)
        _agree(nearest, wanted, reference.vectors.similarities(space_id, query, nearest.ids))

        allowed = {chunk.path for chunk in real.chunks.values() if inside(chunk, scope)}
        carried = Counter(tag.casefold() for path in allowed for tag in real_tags(files[path]))
        assert {each.tag.casefold(): each.documents for each in store.catalog.tags(scope)} == carried
        store.close()


steps = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(PATHS), documents),
    st.tuples(st.just("remove"), st.sampled_from(PATHS), st.integers(0, 1)),
    st.tuples(st.just("embed"), st.integers(0, 99), st.integers(1, 6)),
    st.tuples(st.just("drop"), st.integers(0, 3), st.none()),
)


def _step(world: World, kind: str, one: Any, two: Any) -> None:
    """Change a world; the same step changes equal worlds equally."""
    space_id = world.vectors.open_space(SPACE)
    match kind:
        case "put":
            world.remove(one, collection=two["collection"])
            world.add(one, **two)
        case "remove":
            world.remove(one, collection=two)
        case "embed":
            missing = [each for each in _hashes(world) if not world.vectors.cached(space_id, [each])]
            chosen = random.Random(one).sample(missing, min(two, len(missing)))
            # A text has the same vector whenever it is embedded.
            vectors = [unit_vectors(1, seed=int.from_bytes(each[:4]), alike=0.5) for each in chosen]
            if chosen:
                world.vectors.add(space_id, chosen, np.concatenate(vectors))
        case _:
            world.vectors.drop_unused(keep=one)


@settings(max_examples=60, deadline=None)
@given(changes=st.lists(steps, min_size=1, max_size=12), few=st.sampled_from([0, 4096]))
def test_what_is_kept_in_memory_follows_every_change(changes: list[tuple[str, Any, Any]], few: int) -> None:
    """After any sequence of changes a store that was searched all along finds what the reference finds."""
    reference = MemoryWorld()
    query = unit_vectors(1, seed=3, alike=0.5)[0]
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr("mdvec.stores.sqlite.space._FEW_CHUNKS", few)
        store = SqliteStore(Path(folder) / "index.sqlite")
        real = StoreWorld(store)
        space_id = real.vectors.open_space(SPACE)
        assert reference.vectors.open_space(SPACE) == space_id
        # The numbers of chunks are the same in both: AUTOINCREMENT counts every chunk ever added.
        for change in changes:
            _step(reference, *change)
            _step(real, *change)
            found = real.vectors.search(space_id, query, 9, real.scope())
            wanted = reference.vectors.search(space_id, query, 9, real.scope())
            _agree(found, wanted, reference.vectors.similarities(space_id, query, found.ids))
            if few:
                assert found.mean == pytest.approx(wanted.mean, abs=1e-3)
                assert found.spread == pytest.approx(wanted.spread, abs=1e-3)
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
    assert fold(fold(label)) == fold(label)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=60), min_size=1, max_size=5))
def test_texts_come_back_as_they_went_in(texts: list[str]) -> None:
    """Every chunk's text is the span of the body that was written, whatever its characters."""
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "index.sqlite")
        world = StoreWorld(store)
        ids = world.add("a.md", texts)
        space_id = world.vectors.open_space(SPACE)
        stored = store.catalog.load_chunks(ids)
        assert [stored[chunk_id].text for chunk_id in ids] == texts
        pending = store.catalog.pending(world.collections[0], space_id, 100)
        assert [each.text for each in pending] == list(dict.fromkeys(texts))
        world.vectors.add(
            space_id, [each.text_hash for each in pending], np.ascontiguousarray(unit_vectors(len(pending)))
        )
        assert store.catalog.pending(world.collections[0], space_id, 100) == []
        store.close()
