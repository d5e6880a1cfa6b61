"""How near chunks are: by their texts, the names of their documents, and what stands beside them."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from itertools import product
from string import ascii_lowercase

import numpy as np
import pytest
from tests.contract.store_world import (
    DIMENSION,
    SPACE,
    World,
    make_document,
    make_record,
    toward,
    unit_vectors,
)

from mdvec.search.meaning import (
    NAME_SHARE,
    NEIGHBOUR_SHARE,
    ORDINARY_SHARE,
    Meaning,
    QuerySpace,
    find_by_meaning,
    measure_meaning,
)
from mdvec.text.hashing import text_hash
from mdvec.types.ids import ChunkId, CollectionId
from mdvec.types.query import Filters, Where
from mdvec.types.space import Unrelated, UnrelatedTexts

QUERY = unit_vectors(1, seed=5)[0]
PASSAGES = (0.5 * QUERY).astype("<f4").tobytes()
NEAR_NOTHING = np.zeros(len(QUERY), "<f4").tobytes()


class Found:
    """What one space finds, and the evidence about it.

    Attributes:
        ids: The candidates that were found.
        meaning: The evidence about all chunks that were looked at, in the order of ``looked_at``.
        looked_at: These chunks.
    """

    def __init__(self, ids: Sequence[ChunkId], looked_at: Sequence[ChunkId], meaning: Meaning) -> None:
        self.ids = ids
        self.looked_at = looked_at
        self.meaning = meaning

    def values(self, name: str) -> dict[ChunkId, float]:
        """Return one kind of evidence of each chunk that has a vector."""
        values = getattr(self.meaning, name).tolist()
        return {
            chunk: value for chunk, value in zip(self.looked_at, values, strict=True) if not math.isnan(value)
        }

    @property
    def nearness(self) -> dict[ChunkId, float]:
        """The nearness of each chunk that has a vector."""
        return self.values("nearness")

    @property
    def ranking(self) -> list[ChunkId]:
        """The candidates that were found, nearest first."""
        near = self.nearness
        return sorted(self.ids, key=lambda chunk: -near[chunk])

    @property
    def background(self) -> tuple[float, float]:
        """Mean and spread of the space, from two chunks of different nearness."""
        deviations, near = self.values("deviations"), self.nearness
        one, other = min(near, key=near.__getitem__), max(near, key=near.__getitem__)
        spread = (near[other] - near[one]) / (deviations[other] - deviations[one])
        return near[one] - deviations[one] * spread, spread


def dense(
    world: World,
    *,
    depth: int = 200,
    where: Where | None = None,
    others: Sequence[ChunkId] = (),
    collections: tuple[CollectionId, ...] | None = None,
    unrelated: Unrelated | None = None,
    unspaced: bool = False,
) -> Found:
    """Search one space, and look at other chunks, too."""
    where = where or world.where()
    with world.store.read() as view:
        own = world.collections if collections is None else collections
        chunks = sum(view.collections.counts(each, None).chunks for each in own)
        measured = None if unrelated is None else UnrelatedTexts(unrelated, unrelated)
        space = QuerySpace(world.space_id, own, QUERY, measured, chunks, unspaced)
        [found] = find_by_meaning([space], view, where=where, depth=depth)
        places = view.chunks.places([*found, *others])
        meaning = measure_meaning([space], places, view)
    return Found(found, [place.id for place in places], meaning)


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
    assert found.ranking == [near, middle, plain, far]


def test_what_is_near_to_everything_is_less_near(world: World) -> None:
    """Among other-language texts, which are as near as before on average, and as similar."""
    first, second = world.add("a.md", ["a"]) + world.add("b.md", ["b"])
    (own,) = world.add("c.md", ["日本語の文章"])
    world.embed_toward(QUERY, {"a": 0.6, "b": 0.4, "日本語の文章": 0.5})
    before = dense(world, unrelated=Unrelated(0.1, 0.05, NEAR_NOTHING), unspaced=True)
    after = dense(world, unrelated=Unrelated(0.1, 0.05, PASSAGES), unspaced=True)
    assert after.nearness == {
        first: pytest.approx(0.6 - ORDINARY_SHARE * 0.05, abs=1e-3),
        second: pytest.approx(0.4 + ORDINARY_SHARE * 0.05, abs=1e-3),
        own: pytest.approx(before.nearness[own]),
    }
    for name in ("similarity", "above_unrelated"):
        assert after.values(name) == pytest.approx(before.values(name))


def test_nearness_is_seen_against_unrelated_texts(world: World) -> None:
    """.6 is near where unrelated texts are far apart; where they were not measured, nothing is known."""
    (chunk,) = world.add("a.md", ["a"])
    world.embed_toward(QUERY, {"a": 0.6})
    for unrelated, expected in (((0.1, 0.1), 5.0), ((0.7, 0.05), -2.0)):
        found = dense(world, unrelated=Unrelated(*unrelated, NEAR_NOTHING))
        assert found.values("above_unrelated") == {chunk: pytest.approx(expected, abs=0.05)}
    assert dense(world).values("above_unrelated") == {}


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
    assert found.ranking == [second[0], first[1], first[2], first[0]]


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


def test_chunks_that_were_found_in_another_way_are_scored_too(world: World) -> None:
    """Though they are not ranked; those without a vector, and those of other spaces, are left out."""
    far, pending = world.add("a.md", ["far", "pending"])
    (near,) = world.add("b.md", ["near"])
    (other,) = world.add("c.md", ["near"], collection=1)
    world.embed_toward(QUERY, {"far": 0.1, "near": 0.9})
    where = Where((world.first.id,))
    found = dense(world, depth=1, where=where, others=[far, pending, other], collections=(world.first.id,))
    assert found.ranking == [near]
    assert found.nearness == {near: pytest.approx(0.9, abs=1e-3), far: pytest.approx(0.1, abs=1e-3)}


def test_the_background_is_that_of_texts(world: World) -> None:
    """Mean and spread are those of plain similarities: names and neighbours do not say what is usual."""
    world.add("a.md", ["one", "two", "three"])
    world.embed_toward(QUERY, {"one": 0.1, "two": 0.2, "three": 0.6, "a.md": 1.0})
    assert dense(world).background == pytest.approx((0.3, np.std([0.1, 0.2, 0.6])), abs=2e-3)


def test_the_background_is_in_the_language_of_the_query(world: World) -> None:
    """Of all collections together, if it has some chunks there: the others are further away."""
    near = {f"word {letter * 5}": 0.3 + at / 100 for at, letter in enumerate(ascii_lowercase)}
    for at, text in enumerate(near):
        world.add(f"{at}.md", [text], collection=at % 2)
    for text in (far := [f"{chr(0x4E00 + at)}の文はここに書かれています" for at in range(20)]):
        world.add(f"{text}.md", [text])
    world.embed_toward(QUERY, near | dict.fromkeys(far, -0.2))
    assert dense(world).background == pytest.approx(
        (np.mean([*near.values()]), np.std([*near.values()])), abs=2e-3
    )
    everywhere = dense(world, unspaced=True).background
    assert everywhere[0] == pytest.approx(-0.2, abs=2e-3)


def test_equal_texts_do_not_deviate(world: World) -> None:
    """The background of a collection of one text has no spread."""
    ids = world.add("a.md", ["same"]) + world.add("b.md", ["same"]) + world.add("c.md", ["pending"])
    world.embed_toward(QUERY, {"same": 0.5})
    assert dense(world, others=ids).values("deviations") == {ids[0]: 0.0, ids[1]: 0.0}


def test_of_few_chunks_the_background_is_that_of_the_model(world: World) -> None:
    """Of many chunks it is their own, with most of the model's spread; where that was not measured, too."""
    unrelated = Unrelated(0.5, 0.25, NEAR_NOTHING)
    world.add("few.md", ["one"])
    world.add("more.md", ["two"])
    world.embed_toward(QUERY, {"one": 0.0, "two": 0.2})
    mean, spread = dense(world, unrelated=unrelated).background
    assert 0.4 < mean < 0.5
    assert 0.2 < spread < 0.25
    assert dense(world).background == pytest.approx((0.1, 0.1), abs=2e-3)
    texts = ["text " + "".join(pair) for pair in product(ascii_lowercase, ascii_lowercase)]
    world.add("many.md", texts)
    world.embed_toward(QUERY, {text: 0.2 * (number % 2) for number, text in enumerate(texts)})
    mean, spread = dense(world, unrelated=unrelated).background
    assert mean == pytest.approx(0.1, abs=0.02)
    assert spread == pytest.approx(0.75 * unrelated.spread)


def test_like_texts_are_one_chunk_of_the_background(world: World) -> None:
    """Were they all of it, a manual of like parts would be near to no question."""
    world.add("manual.md", [f"part {number}" for number in range(20)])
    world.embed_toward(QUERY, {f"part {number}": 0.5 for number in range(20)})
    world.add("notes.md", [f"note {letter}" for letter in ascii_lowercase])
    world.embed_toward(QUERY, {f"note {letter}": 0.0 for letter in ascii_lowercase})
    mean, _ = dense(world).background
    assert mean == pytest.approx(0.5 / 27, abs=2e-3)


def test_a_space_finds_in_its_own_collections(world: World) -> None:
    """Whatever else is searched: a query has another vector in another space."""
    (own,) = world.add("a.md", ["same"])
    world.add("b.md", ["same"], collection=1)
    world.embed_toward(QUERY, {"same": 0.5})
    assert dense(world, collections=(world.first.id,)).ranking == [own]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("alike", [0.0, 0.8])
def test_the_ten_best_are_those_of_all_chunks(world: World, seed: int, alike: float) -> None:
    """Candidates are found by plain similarity, but what is best by the whole formula is among them."""
    chance = random.Random(seed)
    sizes = [chance.randrange(1, 12) for _ in range(250)]
    texts = unit_vectors(sum(sizes), seed=seed, alike=alike)
    names = unit_vectors(len(sizes), seed=seed + 100, alike=alike)
    records = [
        make_record(*make_document(f"{at}.md", [f"text {at} {part}" for part in range(size)]))
        for at, size in enumerate(sizes)
    ]
    with world.store.write() as writer:
        writer.documents.put(world.first.id, records)
        hashes = [text_hash(chunk.embedded_text) for record in records for chunk in record.chunks]
        writer.vectors.put(world.space_id, hashes, texts)
        writer.vectors.put(world.space_id, [text_hash(f"{at}.md") for at in range(len(sizes))], names)
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


def test_texts_in_another_language_without_vectors_change_nothing(world: World) -> None:
    """While they are pending there is nothing to subtract from."""
    (pending,) = world.add("pending.md", ["pending"])
    measured = Unrelated(0.1, 0.1, QUERY.astype("<f4").tobytes())
    with world.store.read() as view:
        space = QuerySpace(
            world.space_id, world.collections, QUERY, UnrelatedTexts(measured, measured), 1, unspaced=True
        )
        found = measure_meaning([space], view.chunks.places([pending]), view)
    assert np.isnan(found.deviations).tolist() == [True]
