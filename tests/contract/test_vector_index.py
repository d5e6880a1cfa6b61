"""What every index of vectors must do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.contract.store_world import SPACE, MemoryWorld, StoreWorld, World, unit_vectors

from mdvec.stores.sqlite.store import SqliteStore
from mdvec.text.hashing import text_hash
from mdvec.types.ids import ChunkId, SpaceId
from mdvec.types.query import Filters, Scope
from mdvec.types.space import Unrelated, UnrelatedTexts


@pytest.fixture(params=["memory", "sqlite"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """Two empty collections in each kind of index."""
    if request.param == "memory":
        yield MemoryWorld()
        return
    store = SqliteStore(tmp_path / "index.sqlite")
    yield StoreWorld(store)
    store.close()


def embed(world: World, space_id: SpaceId, ids: list[ChunkId], *, seed: int = 0) -> None:
    """Give chunks random vectors."""
    hashes = [world.chunks[chunk_id].text_hash for chunk_id in ids]
    world.vectors.add(space_id, hashes, unit_vectors(len(ids), seed=seed))


def toward(query: NDArray[np.float32], *cosines: float) -> NDArray[np.float32]:
    """Make a unit vector for each cosine similarity to the query."""
    noise = unit_vectors(len(cosines), seed=77)
    noise -= np.outer(noise @ query, query)
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    near = np.array(cosines, np.float32)[:, np.newaxis]
    return np.asarray(near * query + np.sqrt(1 - near**2) * noise, np.float32)


def give(world: World, space_id: SpaceId, query: NDArray[np.float32], cosines: dict[str, float]) -> None:
    """Give texts and names vectors of some cosine similarities to the query."""
    vectors = toward(query, *cosines.values())
    world.vectors.add(space_id, [text_hash(text) for text in cosines], vectors)


def test_nearest_first(world: World) -> None:
    """Chunks come by falling cosine similarity, which is that of the float32 vectors to 3 digits."""
    ids = [chunk for number in range(40) for chunk in world.add(f"{number}.md", [f"text {number}"])]
    space_id = world.vectors.open_space(SPACE)
    embed(world, space_id, ids)
    query = unit_vectors(1, seed=9)[0]
    cosines = unit_vectors(40) @ query
    found = world.vectors.search(space_id, query, 10, world.scope())
    assert found.ids == tuple(ids[row] for row in np.argsort(-cosines)[:10])
    assert found.similarities == pytest.approx(sorted(cosines, reverse=True)[:10], abs=1e-3)
    assert found.mean == pytest.approx(cosines.mean(), abs=1e-3)
    assert found.spread == pytest.approx(cosines.std(), abs=1e-3)


def test_what_a_document_is_called_brings_its_chunks_nearer(world: World) -> None:
    """Half way up to the nearest of its names, where that is nearer than the text; never farther."""
    (far,) = world.add("far.md", ["far"], aliases=("best name", "other name"))
    (middle,) = world.add("middle.md", ["middle"], aliases=("best name",))
    (near,) = world.add("near.md", ["near"], aliases=("best name", "other name"))
    (plain,) = world.add("plain.md", ["half"])
    space_id = world.vectors.open_space(SPACE)
    query = unit_vectors(1, seed=5)[0]
    give(world, space_id, query, {"far": 0.0, "middle": 0.3, "near": 0.9, "half": 0.5})
    give(world, space_id, query, {"best name": 0.8, "other name": 0.2, "far.md": -0.1, "plain.md": 0.4})
    expected = {
        near: pytest.approx(0.9, abs=1e-3),
        middle: pytest.approx(0.55, abs=1e-3),
        plain: pytest.approx(0.5, abs=1e-3),
        far: pytest.approx(0.4, abs=1e-3),
    }
    found = world.vectors.search(space_id, query, 9, world.scope())
    assert dict(zip(found.ids, found.similarities, strict=True)) == expected
    assert list(found.ids) == list(expected)
    assert world.vectors.search(space_id, query, 2, world.scope()).ids == found.ids[:2]
    assert world.vectors.similarities(space_id, query, [near, middle, plain, far]) == expected


def test_what_stands_before_and_after_counts(world: World) -> None:
    """A chunk takes a sixth from its neighbours' mean; those of another document are no neighbours."""
    first = world.add("a.md", ["one", "two", "three"])
    second = world.add("b.md", ["alone"])
    space_id = world.vectors.open_space(SPACE)
    query = unit_vectors(1, seed=5)[0]
    give(world, space_id, query, {"one": 0.0, "two": 0.6, "three": 0.3, "alone": 0.9})
    expected = {
        second[0]: pytest.approx(0.9, abs=1e-3),
        first[1]: pytest.approx((0.6 + 0.2 * 0.15) / 1.2, abs=1e-3),
        first[2]: pytest.approx((0.3 + 0.2 * 0.6) / 1.2, abs=1e-3),
        first[0]: pytest.approx((0.0 + 0.2 * 0.6) / 1.2, abs=1e-3),
    }
    found = world.vectors.search(space_id, query, 9, world.scope())
    assert dict(zip(found.ids, found.similarities, strict=True)) == expected
    assert list(found.ids) == list(expected)
    for chunk, near in expected.items():  # alone in the question, as among others
        assert world.vectors.similarities(space_id, query, [chunk]) == {chunk: near}


def test_neighbours_count_that_may_not_be_found_themselves(world: World) -> None:
    """How near a chunk is does not depend on what else is searched."""
    ids = world.add("a.md", ["one", "two", "three"], depths=(1, 2, 1))
    space_id = world.vectors.open_space(SPACE)
    query = unit_vectors(1, seed=5)[0]
    give(world, space_id, query, {"one": 0.0, "two": 0.6, "three": 0.3})
    found = world.vectors.search(space_id, query, 9, world.scope(Filters(depths=(2,))))
    assert found.ids == (ids[1],)
    assert found.similarities == pytest.approx([(0.6 + 0.2 * 0.15) / 1.2], abs=1e-3)


def test_a_neighbour_counts_from_when_it_has_a_vector(world: World) -> None:
    """A chunk whose neighbours are not embedded yet is as near as it is; a gap makes no new neighbours."""
    ids = world.add("a.md", ["one", "two", "three"])
    space_id = world.vectors.open_space(SPACE)
    query = unit_vectors(1, seed=5)[0]
    give(world, space_id, query, {"one": 0.0, "three": 0.6})
    assert world.vectors.similarities(space_id, query, ids) == {
        ids[0]: pytest.approx(0.0, abs=1e-3),
        ids[2]: pytest.approx(0.6, abs=1e-3),
    }
    give(world, space_id, query, {"two": 0.6})
    assert world.vectors.similarities(space_id, query, [ids[0]]) == {ids[0]: pytest.approx(0.1, abs=1e-3)}


def test_names_do_not_say_what_is_usual(world: World) -> None:
    """Mean and spread are those of texts: a query like any name is no more like any text."""
    world.add("a.md", ["one", "two", "three"])
    space_id = world.vectors.open_space(SPACE)
    query = unit_vectors(1, seed=5)[0]
    give(world, space_id, query, {"one": 0.1, "two": 0.2, "three": 0.6, "a.md": 1.0})
    found = world.vectors.search(space_id, query, 9, world.scope())
    assert found.mean == pytest.approx(0.3, abs=1e-3)
    assert found.spread == pytest.approx(np.std([0.1, 0.2, 0.6]), abs=1e-3)


def test_a_name_counts_from_when_it_has_a_vector(world: World) -> None:
    """Before, its document is found by its texts; another document of that name has the vector at once."""
    first = world.add("a/note.md", ["one"])
    space_id = world.vectors.open_space(SPACE)
    query = unit_vectors(1, seed=5)[0]
    give(world, space_id, query, {"one": 0.2, "two": 0.1})
    assert world.vectors.similarities(space_id, query, first)[first[0]] == pytest.approx(0.2, abs=1e-3)
    give(world, space_id, query, {"note.md": 0.6})
    assert world.vectors.similarities(space_id, query, first)[first[0]] == pytest.approx(0.4, abs=1e-3)
    second = world.add("b/note.md", ["two"], collection=1)
    assert world.vectors.similarities(space_id, query, second)[second[0]] == pytest.approx(0.35, abs=1e-3)
    world.remove("a/note.md")
    found = world.vectors.search(space_id, query, 9, world.scope())
    assert found.ids == (second[0],)
    assert found.similarities == pytest.approx([0.35], abs=1e-3)


def test_a_name_alone_finds_nothing(world: World) -> None:
    """A chunk whose text has no vector yet is not found by what its document is called."""
    ids = world.add("a.md", ["one", "two"])
    space_id = world.vectors.open_space(SPACE)
    query = unit_vectors(1, seed=5)[0]
    give(world, space_id, query, {"a.md": 1.0, "two": 0.0})
    assert world.vectors.search(space_id, query, 9, world.scope()).ids == (ids[1],)


def test_equal_texts_share_a_vector(world: World) -> None:
    """A text embedded once serves every chunk that has it; ties are in order of id."""
    first = world.add("a.md", ["shared"])
    second = world.add("b.md", ["shared"], collection=1)
    space_id = world.vectors.open_space(SPACE)
    embed(world, space_id, first)
    embed(world, space_id, world.add("c.md", ["alone"]), seed=1)
    found = world.vectors.search(space_id, unit_vectors(2)[0], 2, world.scope())
    assert found.ids == (first[0], second[0])


def test_chunks_without_a_vector_are_not_found(world: World) -> None:
    """What is not embedded yet is neither found nor compared."""
    ids = world.add("a.md", ["one", "two", "three"])
    space_id = world.vectors.open_space(SPACE)
    embed(world, space_id, ids[:1])
    query = unit_vectors(1)[0]
    assert world.vectors.search(space_id, query, 5, world.scope()).ids == (ids[0],)
    assert world.vectors.similarities(space_id, query, [*ids, ChunkId(999)]) == {
        ids[0]: pytest.approx(1.0, abs=1e-3)
    }


def test_removed_chunks_are_not_found(world: World) -> None:
    """A vector outlives its chunk without showing in a search."""
    kept = world.add("a.md", ["one"])
    gone = world.add("b.md", ["two"])
    space_id = world.vectors.open_space(SPACE)
    embed(world, space_id, kept + gone)
    world.remove("b.md")
    assert world.vectors.search(space_id, unit_vectors(2)[1], 5, world.scope()).ids == (kept[0],)
    assert world.vectors.cached(space_id, [text_hash("two")]) == {text_hash("two")}


def test_spaces_are_apart(world: World) -> None:
    """Vectors of one space say nothing in another, whatever its dimension."""
    ids = world.add("a.md", ["one", "two"])
    space_id = world.vectors.open_space(SPACE)
    other = world.vectors.open_space(replace(SPACE, model="other", dimension=8))
    embed(world, space_id, ids)
    query = unit_vectors(1, dimension=8)
    world.vectors.add(other, [world.chunks[ids[1]].text_hash], query)
    assert world.vectors.search(other, query[0], 5, world.scope()).ids == (ids[1],)
    assert len(world.vectors.search(space_id, unit_vectors(1)[0], 5, world.scope()).ids) == 2


def test_spaces_are_found_by_key(world: World) -> None:
    """A space has one id from when it is opened."""
    assert world.vectors.find_space(SPACE) is None
    space_id = world.vectors.open_space(SPACE)
    assert world.vectors.find_space(SPACE) == world.vectors.open_space(SPACE) == space_id


def test_unrelated_texts_are_measured_once_in_each_space(world: World) -> None:
    """Nothing is known of a new space; what is written down first stays, also when its vectors go."""
    space_id = world.vectors.open_space(SPACE)
    other = world.vectors.open_space(replace(SPACE, model="other"))
    assert world.vectors.unrelated(space_id) is None
    first = UnrelatedTexts(spaced=Unrelated(0.1, 0.07), unspaced=Unrelated(-0.25, 0.125))
    second = UnrelatedTexts(spaced=Unrelated(0.7, 0.03), unspaced=Unrelated(0.6, 0.04))
    for measured in (first, second):
        world.vectors.set_unrelated(space_id, measured)
        assert world.vectors.unrelated(space_id) == first
    assert world.vectors.unrelated(other) is None
    world.vectors.set_unrelated(other, second)
    world.vectors.drop_space(space_id)
    assert world.vectors.unrelated(world.vectors.open_space(SPACE)) == first
    assert world.vectors.unrelated(other) == second


def test_a_vector_is_never_replaced(world: World) -> None:
    """Adding a hash again leaves its first vector."""
    ids = world.add("a.md", ["one"])
    space_id = world.vectors.open_space(SPACE)
    embed(world, space_id, ids, seed=1)
    embed(world, space_id, ids, seed=2)
    cosine = world.vectors.similarities(space_id, unit_vectors(1, seed=1)[0], ids)[ids[0]]
    assert cosine == pytest.approx(1.0, abs=1e-3)


def test_an_empty_space(world: World) -> None:
    """Without vectors there is nothing to find, and no mean or spread."""
    world.add("a.md", ["one"])
    space_id = world.vectors.open_space(SPACE)
    found = world.vectors.search(space_id, unit_vectors(1)[0], 5, world.scope())
    assert (found.ids, found.similarities, found.mean, found.spread) == ((), (), 0.0, 0.0)


def test_filters_come_before_the_nearest_are_taken(world: World) -> None:
    """A rare tag on the farthest chunks still gives as many hits as there are."""
    space_id = world.vectors.open_space(SPACE)
    query = unit_vectors(1, seed=5)[0]
    vectors = unit_vectors(300, seed=6)
    vectors = vectors[np.argsort(-(vectors @ query))]
    for number in range(300):
        tags = ("rare/kind",) if number >= 297 else ()
        ids = world.add(f"d{number}.md", [f"text {number}"], tags=tags)
        world.vectors.add(space_id, [world.chunks[ids[0]].text_hash], vectors[number : number + 1])
    found = world.vectors.search(space_id, query, 5, world.scope(Filters(tags=("RARE",))))
    assert [world.chunks[chunk_id].path for chunk_id in found.ids] == ["d297.md", "d298.md", "d299.md"]
    assert world.vectors.search(space_id, query, 5, Scope(())).ids == ()


def test_the_vectors_of_names_are_used(world: World) -> None:
    """They are kept as long as a document is called so."""
    world.add("a.md", ["one"], aliases=("first", "both"))
    world.add("b.md", ["one"], aliases=("both",))
    space_id = world.vectors.open_space(SPACE)
    names = [text_hash(name) for name in ("first", "both", "nobody")]
    world.vectors.add(space_id, names, unit_vectors(3))
    assert world.vectors.drop_unused() == 1
    world.remove("a.md")
    assert world.vectors.drop_unused() == 1
    assert world.vectors.cached(space_id, names) == {names[1]}


def test_drop_unused(world: World) -> None:
    """Only vectors without a chunk go, the oldest first; the others are found as before."""
    kept = world.add("kept.md", ["one", "two"])
    gone = world.add("gone.md", ["three", "four", "five"])
    space_id = world.vectors.open_space(SPACE)
    embed(world, space_id, kept + gone)
    hashes = [world.chunks[chunk_id].text_hash for chunk_id in kept + gone]
    query = unit_vectors(1)[0]
    assert world.vectors.drop_unused() == 0
    before = world.vectors.search(space_id, query, 5, world.scope())
    world.remove("gone.md")
    assert world.vectors.drop_unused(keep=1) == 2
    assert world.vectors.cached(space_id, hashes) == {*hashes[:2], hashes[4]}
    assert world.vectors.drop_unused() == 1
    after = world.vectors.search(space_id, query, 5, world.scope())
    assert after.ids == tuple(chunk_id for chunk_id in before.ids if chunk_id in kept)


def test_drop_space(world: World) -> None:
    """All its vectors go, those of other spaces stay; who still asks for it finds nothing."""
    ids = world.add("a.md", ["one", "two"])
    other = replace(SPACE, model="other")
    dropped, kept = world.vectors.open_space(SPACE), world.vectors.open_space(other)
    embed(world, dropped, ids)
    embed(world, kept, ids, seed=3)
    query = unit_vectors(1, seed=9)[0]
    before = world.vectors.search(kept, query, 5, world.scope())
    assert len(world.vectors.search(dropped, query, 5, world.scope()).ids) == 2
    assert world.vectors.drop_space(dropped) == 2
    gone = world.vectors.search(dropped, query, 5, world.scope())
    assert (gone.ids, gone.spread) == ((), 0.0)
    assert world.vectors.similarities(dropped, query, ids) == {}
    assert world.vectors.search(kept, query, 5, world.scope()) == before
    assert world.vectors.drop_space(dropped) == 0
    assert world.vectors.open_space(SPACE) not in (None, kept)
    embed(world, world.vectors.open_space(SPACE), ids)
    assert len(world.vectors.search(world.vectors.open_space(SPACE), query, 5, world.scope()).ids) == 2
