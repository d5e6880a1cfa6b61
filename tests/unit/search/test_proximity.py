"""How near chunks are: by their texts, the names of their documents, and what stands beside them."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.contract.store_world import (
    DIMENSION,
    SPACE,
    World,
    make_document,
    make_record,
    toward,
    unit_vectors,
)

from mdvec.search.answer import find
from mdvec.search.fusion import DenseEvidence
from mdvec.search.proximity import (
    NAME_SHARE,
    NEIGHBOUR_SHARE,
    ORDINARY_SHARE,
    QuerySpace,
    evidence_in,
    nearest_in,
    neighbourhood,
)
from mdvec.testing.stores import MemoryStore
from mdvec.text.hashing import text_hash
from mdvec.types.hit import Confidence
from mdvec.types.ids import ChunkId, CollectionId, SpaceId
from mdvec.types.query import Filters, SearchMode, SearchQuery, Where
from mdvec.types.space import Unrelated, UnrelatedTexts

QUERY = unit_vectors(1, seed=5)[0]


@pytest.fixture
def world() -> World:
    return World(MemoryStore())


def dense(
    world: World,
    *,
    depth: int = 200,
    where: Where | None = None,
    others: Sequence[ChunkId] = (),
    collections: tuple[CollectionId, ...] | None = None,
    unrelated: Unrelated | None = None,
    alone: bool = True,
    ranked_by: NDArray[np.float32] | None = None,
    unspaced: bool = False,
) -> DenseEvidence:
    """Search one space."""
    where = where or world.where()
    with world.store.read() as view:
        own = world.collections if collections is None else collections
        chunks = sum(view.counts(each, None).chunks for each in own)
        measured = None if unrelated is None else UnrelatedTexts(unrelated, unrelated)
        space = QuerySpace(world.space_id, own, QUERY, measured, chunks, unspaced, ranked_by)
        found = nearest_in(space, view, where=where, depth=depth)
        places = neighbourhood(list(dict.fromkeys([*found, *others])), view)
        return evidence_in(space, found, others, places, view, depth=depth, alone=alone)


def smoothed(own: float, *beside: float) -> float:
    return (own + NEIGHBOUR_SHARE * float(np.mean(beside))) / (1 + NEIGHBOUR_SHARE)


def test_the_name_of_a_document_brings_its_chunks_nearer(world: World) -> None:
    """Part of the way up to the nearest of its names, where that is nearer than the text; never farther."""
    (far,) = world.add("far.md", ["far"], aliases=("best name", "other name"))
    (middle,) = world.add("middle.md", ["middle"], aliases=("best name",))
    (near,) = world.add("near.md", ["near"], aliases=("best name", "other name"))
    (plain,) = world.add("plain.md", ["half"])
    world.embed_toward(QUERY, {"far": 0.0, "middle": 0.3, "near": 0.9, "half": 0.5})
    world.embed_toward(QUERY, {"best name": 0.8, "other name": 0.2, "far.md": -0.1, "plain.md": 0.4})
    found = dense(world)
    assert found.nearness == {
        near: pytest.approx(0.9, abs=1e-3),
        middle: pytest.approx((1 - NAME_SHARE) * 0.3 + NAME_SHARE * 0.8, abs=1e-3),
        plain: pytest.approx(0.5, abs=1e-3),
        far: pytest.approx(NAME_SHARE * 0.8, abs=1e-3),
    }
    assert list(found.ranking) == [near, middle, plain, far]
    assert list(dense(world, depth=3).ranking) == [near, middle, plain]


PASSAGES = (0.5 * QUERY).astype("<f4").tobytes()


def test_a_text_in_the_other_writing_has_a_background_of_its_own(world: World) -> None:
    """Its similarity to unrelated passages; where an older version measured, what is usual in the model."""
    (chunk,) = world.add("a.md", ["a"])
    (pending,) = world.add("b.md", ["pending"])
    world.embed_toward(QUERY, {"a": 0.4})
    for measured, expected in ((Unrelated(0.1, 0.05, PASSAGES), 0.2), (Unrelated(0.1, 0.05), 0.1)):
        found = dense(world, unrelated=measured, unspaced=True, others=[pending])
        assert found.ordinary == {chunk: pytest.approx(expected, abs=1e-3)}
    for same in (dense(world, unrelated=measured), dense(world, unspaced=True)):
        assert same.ordinary == {}


def test_what_is_near_to_everything_is_less_near(world: World) -> None:
    """Among texts in the other writing, which are as near as before on average, and as similar."""
    first, second = world.add("a.md", ["a"]) + world.add("b.md", ["b"])
    (own,) = world.add("c.md", ["日本語の文章"])
    world.embed_toward(QUERY, {"a": 0.6, "b": 0.4, "日本語の文章": 0.5})
    before = dense(world, unspaced=True)
    after = dense(world, unrelated=Unrelated(0.1, 0.05, PASSAGES), unspaced=True)
    assert after.nearness == {
        first: pytest.approx(0.6 - ORDINARY_SHARE * 0.05, abs=1e-3),
        second: pytest.approx(0.4 + ORDINARY_SHARE * 0.05, abs=1e-3),
        own: pytest.approx(before.nearness[own]),
    }
    assert after.similarities == pytest.approx(before.similarities)
    assert after.plain_nearness == pytest.approx(before.plain_nearness)


def test_a_query_has_a_background_of_its_own() -> None:
    """Its similarity to unrelated passages in the other writing; else what is usual in the model."""
    usual = Unrelated(0.1, 0.05)
    for spaced, expected in ((Unrelated(0.3, 0.05, PASSAGES), 0.5), (Unrelated(0.3, 0.05), 0.1)):
        space = QuerySpace(SpaceId(1), (), QUERY, UnrelatedTexts(spaced, usual), 1, unspaced=True)
        assert space.ordinary() == pytest.approx(expected)


def test_an_answer_in_the_other_writing_counts_where_a_threshold_hides_what_is_before_it(
    world: World,
) -> None:
    """It is judged by texts in that writing among the first ones, of which there may be none but itself."""
    names = {f"n{number}.md": f"日本語の文章 {number}" for number in range(21)}
    for name, text in names.items():
        world.add(name, [text])
    world.add("b.md", ["near"])
    world.embed_toward(QUERY, {"near": 0.5, "b.md": 0.0, **dict.fromkeys(names, 0.9)})
    world.embed_toward(QUERY, dict.fromkeys(names.values(), 0.3))
    measured = UnrelatedTexts(Unrelated(0.1, 0.05, PASSAGES), Unrelated(0.1, 0.05, PASSAGES))
    space = QuerySpace(world.space_id, world.collections, QUERY, measured, 22, unspaced=True)
    with world.store.read() as view:
        found = find(SearchQuery("日本語", SearchMode.DENSE, threshold=0.4), world.where(), view, [space])
    assert [chunk.path for _, chunk in found.hits] == ["b.md"]
    assert found.confidence is Confidence.LOW


def test_what_stands_before_and_after_counts(world: World) -> None:
    """A share of the mean of its neighbours; those of another document are no neighbours."""
    first = world.add("a.md", ["one", "two", "three"])
    second = world.add("b.md", ["alone"])
    world.embed_toward(QUERY, {"one": 0.0, "two": 0.6, "three": 0.3, "alone": 0.9})
    found = dense(world)
    assert found.nearness == {
        second[0]: pytest.approx(0.9, abs=1e-3),
        first[1]: pytest.approx(smoothed(0.6, 0.0, 0.3), abs=1e-3),
        first[2]: pytest.approx(smoothed(0.3, 0.6), abs=1e-3),
        first[0]: pytest.approx(smoothed(0.0, 0.6), abs=1e-3),
    }
    assert list(found.ranking) == [second[0], first[1], first[2], first[0]]


def test_another_vector_ranks_and_the_query_judges(world: World) -> None:
    """Chunks are ranked by the one, and their plain similarities are those to the other."""
    one, other = world.add("a.md", ["one"])[0], world.add("b.md", ["other"])[0]
    world.embed_toward(QUERY, {"one": 0.9, "other": 0.2})
    found = dense(world, ranked_by=-QUERY)
    assert list(found.ranking) == [other, one]
    assert found.nearness == {other: pytest.approx(-0.2, abs=1e-3), one: pytest.approx(-0.9, abs=1e-3)}
    assert found.plain_nearness == {other: pytest.approx(0.2, abs=1e-3), one: pytest.approx(0.9, abs=1e-3)}
    assert found.similarities == pytest.approx(found.plain_nearness)


def test_another_vector_does_not_rank_texts_in_the_other_writing(world: World) -> None:
    """It moves them as far as it moves the others on average, and leaves their order as it was."""
    first, second = world.add("a.md", ["a"]) + world.add("b.md", ["b"])
    world.embed_toward(QUERY, {"a": 0.6, "b": 0.4})
    alone = dense(world, ranked_by=-QUERY, unspaced=True)
    assert alone.nearness == {first: pytest.approx(0.6, abs=1e-3), second: pytest.approx(0.4, abs=1e-3)}
    (own,) = world.add("c.md", ["日本語の文章"])
    world.embed_toward(QUERY, {"日本語の文章": 0.5})
    found = dense(world, ranked_by=-QUERY, unspaced=True)
    assert found.nearness == {
        own: pytest.approx(-0.5, abs=1e-3),
        first: pytest.approx(0.6 - 1.0, abs=1e-3),
        second: pytest.approx(0.4 - 1.0, abs=1e-3),
    }


def test_names_count_before_neighbours_do(world: World) -> None:
    """Neighbours count with what the name of their document says of them."""
    ids = world.add("a.md", ["one", "two"])
    world.embed_toward(QUERY, {"one": 0.2, "two": 0.9, "a.md": 0.8})
    lifted = (1 - NAME_SHARE) * 0.2 + NAME_SHARE * 0.8
    assert dense(world).nearness == {
        ids[0]: pytest.approx(smoothed(lifted, 0.9), abs=1e-3),
        ids[1]: pytest.approx(smoothed(0.9, lifted), abs=1e-3),
    }


def test_neighbours_count_that_may_not_be_found_themselves(world: World) -> None:
    """How near a chunk is does not depend on what else is searched."""
    ids = world.add("a.md", ["one", "two", "three"], depths=(1, 2, 1))
    world.embed_toward(QUERY, {"one": 0.0, "two": 0.6, "three": 0.3})
    found = dense(world, where=world.where(Filters(depths=(2,))))
    assert found.nearness == {ids[1]: pytest.approx(smoothed(0.6, 0.0, 0.3), abs=1e-3)}


def test_a_neighbour_counts_from_when_it_has_a_vector(world: World) -> None:
    """A chunk whose neighbours are not embedded yet is as near as it is; a gap makes no new neighbours."""
    ids = world.add("a.md", ["one", "two", "three"])
    world.embed_toward(QUERY, {"one": 0.0, "three": 0.6})
    assert dense(world).nearness == {
        ids[0]: pytest.approx(0.0, abs=1e-3),
        ids[2]: pytest.approx(0.6, abs=1e-3),
    }
    world.embed_toward(QUERY, {"two": 0.6})
    assert dense(world).nearness[ids[0]] == pytest.approx(smoothed(0.0, 0.6), abs=1e-3)


def test_a_name_alone_finds_nothing(world: World) -> None:
    """A chunk whose text has no vector yet is not found by what its document is called."""
    ids = world.add("a.md", ["one", "two"])
    world.embed_toward(QUERY, {"a.md": 1.0, "two": 0.0})
    assert list(dense(world).ranking) == [ids[1]]


def test_chunks_that_were_found_in_another_way_are_scored_too(world: World) -> None:
    """Though they are not ranked; those without a vector, and those of other spaces, are left out."""
    far, pending = world.add("a.md", ["far", "pending"])
    (near,) = world.add("b.md", ["near"])
    (other,) = world.add("c.md", ["near"], collection=1)
    world.embed_toward(QUERY, {"far": 0.1, "near": 0.9})
    where = Where((world.first.id,))
    found = dense(world, depth=1, where=where, others=[far, pending, other], collections=(world.first.id,))
    assert list(found.ranking) == [near]
    assert found.nearness == {near: pytest.approx(0.9, abs=1e-3), far: pytest.approx(0.1, abs=1e-3)}


def test_the_background_is_that_of_texts(world: World) -> None:
    """Mean and spread are those of plain similarities: names and neighbours do not say what is usual."""
    world.add("a.md", ["one", "two", "three"])
    world.embed_toward(QUERY, {"one": 0.1, "two": 0.2, "three": 0.6, "a.md": 1.0})
    found = dense(world, unrelated=Unrelated(0.5, 0.5))
    assert found.mean == pytest.approx(0.3, abs=1e-3)
    assert found.spread == pytest.approx(np.std([0.1, 0.2, 0.6]), abs=1e-3)
    assert (dense(World(MemoryStore())).mean, dense(World(MemoryStore())).spread) == (0.0, 0.0)


def test_beside_another_space_the_background_of_few_chunks_is_that_of_the_model(world: World) -> None:
    """Of many chunks it is their own; of none it is that of unrelated texts; without these, what is there."""
    unrelated = Unrelated(0.5, 0.25)
    empty = dense(world, unrelated=unrelated, alone=False)
    assert (empty.mean, empty.spread) == (0.5, 0.25)
    world.add("few.md", ["one", "two"])
    world.embed_toward(QUERY, {"one": 0.0, "two": 0.2})
    few = dense(world, unrelated=unrelated, alone=False)
    assert 0.4 < few.mean < 0.5
    assert 0.2 < few.spread < 0.25
    unknown = dense(world, unrelated=None, alone=False)
    assert [unknown.mean, unknown.spread] == pytest.approx([0.1, 0.1], abs=1e-3)
    world.add("many.md", [f"text {number}" for number in range(998)])
    world.embed_toward(QUERY, {f"text {number}": 0.2 * (number % 2) for number in range(998)})
    many = dense(world, unrelated=unrelated, alone=False)
    assert many.mean == pytest.approx(0.1, abs=0.02)
    assert many.spread == pytest.approx(0.1, abs=0.02)


def test_a_space_finds_in_its_own_collections(world: World) -> None:
    """Whatever else is searched: a query has another vector in another space."""
    (own,) = world.add("a.md", ["same"])
    world.add("b.md", ["same"], collection=1)
    world.embed_toward(QUERY, {"same": 0.5})
    assert list(dense(world, collections=(world.first.id,)).ranking) == [own]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("alike", [0.0, 0.8])
def test_the_ten_best_are_those_of_all_chunks(seed: int, alike: float) -> None:
    """Candidates are found by plain similarity, but what is best by the whole formula is among them."""
    world = World(MemoryStore())
    chance = random.Random(seed)
    sizes = [chance.randrange(1, 12) for _ in range(250)]
    texts = unit_vectors(sum(sizes), seed=seed, alike=alike)
    names = unit_vectors(len(sizes), seed=seed + 100, alike=alike)
    records = [
        make_record(*make_document(f"{at}.md", [f"text {at} {part}" for part in range(size)]))
        for at, size in enumerate(sizes)
    ]
    with world.store.write() as writer:
        writer.put_documents(world.first.id, records)
        hashes = [text_hash(chunk.embedded_text) for record in records for chunk in record.chunks]
        writer.put_vectors(world.space_id, hashes, texts)
        writer.put_vectors(world.space_id, [text_hash(f"{at}.md") for at in range(len(sizes))], names)
    near: list[tuple[float, str, int]] = []
    start = 0
    for at, size in enumerate(sizes):
        plain = (texts[start : start + size].astype(np.float16).astype(np.float32) @ QUERY).tolist()
        name = float(names[at].astype(np.float16).astype(np.float32) @ QUERY)
        lifted = [max(each, (1 - NAME_SHARE) * each + NAME_SHARE * name) for each in plain]
        for ordinal, own in enumerate(lifted):
            beside = [lifted[each] for each in (ordinal - 1, ordinal + 1) if 0 <= each < size]
            near.append((smoothed(own, *beside) if beside else own, f"{at}.md", ordinal))
        start += size
    best = sorted(near, reverse=True)[:10]
    found = dense(world)
    assert [(each.path, each.ordinal) for each in world.places(found.ranking[:10])] == [
        (path, ordinal) for _, path, ordinal in best
    ]
    assert [found.nearness[key] for key in found.ranking[:10]] == pytest.approx(
        [value for value, _, _ in best], abs=1e-5
    )


def test_this_world_has_vectors_of_one_length() -> None:
    """The vectors of these tests are unit vectors of the space's dimension."""
    vectors = toward(QUERY, 0.1, -0.5)
    assert vectors.shape == (2, DIMENSION) == (2, SPACE.dimension)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1], abs=1e-6)
    assert vectors @ QUERY == pytest.approx([0.1, -0.5], abs=1e-6)
