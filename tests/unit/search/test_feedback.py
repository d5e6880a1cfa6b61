"""What candidates gain by being like the first hits, and unlike those behind them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.contract.store_world import World, chunk_ids, unit_vectors

from mdvec.search.candidates import Candidates
from mdvec.search.fusion import GAIN, with_feedback
from mdvec.search.meaning import QuerySpace, measure_meaning
from mdvec.types.ids import ChunkId

FIRST, BEHIND, REST = unit_vectors(3, seed=5)


@pytest.fixture
def world(world: World) -> World:
    """Twenty documents: the last one but one is like the first, and the last one like those behind it."""
    for number in range(20):
        world.add(f"{number}.md", [f"text {number}"])
    near = dict.fromkeys(range(5, 20), BEHIND) | {0: FIRST, 18: FIRST}
    world.embed({f"text {number}": near.get(number, REST) for number in range(20)})
    return world


def gains(
    world: World, evidence: dict[ChunkId, float], other_language: frozenset[ChunkId] = frozenset()
) -> dict[ChunkId, float]:
    with world.store.read() as view:
        space = QuerySpace(world.space_id, world.collections, REST, None, 20, unspaced=False)
        places = view.chunks.places(sorted(evidence))
        meaning = measure_meaning([space], places, view)
        candidates = Candidates(
            places=places,
            word_share=np.zeros(len(places)),
            exact=np.zeros(len(places), np.bool_),
            named=np.zeros(len(places), np.bool_),
            other_language=np.array([place.id in other_language for place in places], np.bool_),
            similarity=meaning.similarity,
            deviations=meaning.deviations,
            above_unrelated=meaning.above_unrelated,
            commonness=meaning.commonness,
        )
        before = np.array([evidence[place.id] for place in places])
        after = with_feedback(before, candidates, [space], view)
    by_id = dict(zip([place.id for place in places], (after - before).tolist(), strict=True))
    return {chunk: by_id[chunk] for chunk in evidence}


def evidence_of(world: World) -> dict[ChunkId, float]:
    """Return evidence of which the first document has much more than the others."""
    with world.store.read() as view:
        ids = [chunk for number in range(20) for chunk in chunk_ids(view, world.first.id, f"{number}.md")]
    return {chunk: 20.0 - number - 4 * bool(number) for number, chunk in enumerate(ids)}


def test_what_is_like_the_first_hits_gains(world: World) -> None:
    """In standard deviations of their likeness, so that candidates gain nothing on average."""
    evidence = evidence_of(world)
    gained = gains(world, evidence)
    values = np.array([*gained.values()])
    assert values[18] > 0 > values[19]
    assert values[18] == pytest.approx(values[0])
    assert values.mean() == pytest.approx(0.0, abs=1e-9)
    assert values.std() == pytest.approx(GAIN)


def test_hits_in_the_other_writing_say_nothing(world: World) -> None:
    """They would speak for others in that writing."""
    evidence = evidence_of(world)
    first, *_, alike, _ = evidence
    assert gains(world, evidence, frozenset({first}))[alike] < GAIN / 100
    assert not any(gains(world, evidence, frozenset(evidence)).values())


def test_a_few_documents_say_nothing_of_each_other(world: World) -> None:
    """Of a small folder the first hits are a large part, and each is like itself."""
    evidence = dict([*evidence_of(world).items()][:19])
    assert not any(gains(world, evidence).values())


def test_what_has_no_vector_yet_keeps_its_evidence(world: World) -> None:
    """Among the first hits, too."""
    (pending,) = world.add("pending.md", ["pending"])
    evidence = evidence_of(world)
    with_pending = gains(world, {**evidence, pending: 40.0})
    assert with_pending.pop(pending) == 0.0
    assert max(with_pending.values()) < GAIN / 100  # the others are far behind it
    assert not any(gains(world, {**evidence, pending: 900.0}).values())
    assert gains(world, {**evidence, pending: -9.0})[pending] == 0.0
