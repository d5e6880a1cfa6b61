"""What every store must do with vectors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray
from tests.contract.store_world import (
    DIMENSION,
    SPACE,
    STORES,
    World,
    make_document,
    make_record,
    open_store,
    unit_vectors,
    vector_of,
)

from mdvec.stores.records import StoredSpace, VectorKind
from mdvec.text.hashing import text_hash
from mdvec.types.ids import ChunkId, DocumentId, SpaceId
from mdvec.types.query import Filters, Where
from mdvec.types.space import EmbeddingSpace, Unrelated, UnrelatedTexts

QUERY = unit_vectors(1, seed=5)[0]


def nearest(
    world: World,
    query: NDArray[np.float32] = QUERY,
    limit: int = 9,
    where: Where | None = None,
    space_id: SpaceId | None = None,
) -> list[tuple[ChunkId, float]]:
    with world.store.read() as view:
        return view.vectors.nearest(
            VectorKind.TEXT,
            world.space_id if space_id is None else space_id,
            query,
            where or world.where(),
            limit,
        )


def nearest_documents(
    world: World, limit: int = 9, where: Where | None = None
) -> list[tuple[DocumentId, float]]:
    with world.store.read() as view:
        return view.vectors.nearest(VectorKind.NAME, world.space_id, QUERY, where or world.where(), limit)


def similarities(
    world: World, ids: Sequence[ChunkId], space_id: SpaceId | None = None
) -> dict[ChunkId, float]:
    """Return the similarities of those of the chunks that have a vector."""
    with world.store.read() as view:
        own = world.space_id if space_id is None else space_id
        found = view.vectors.similarities(VectorKind.TEXT, own, QUERY[np.newaxis], ids)[0].tolist()
    return {key: near for key, near in zip(ids, found, strict=True) if not math.isnan(near)}


def sampled(world: World, count: int = 512) -> NDArray[np.float32]:
    with world.store.read() as view:
        ids = [place.id for place in view.vectors.sample(world.space_id, count)]
        return np.asarray(
            view.vectors.similarities(VectorKind.TEXT, world.space_id, QUERY[np.newaxis], ids)[0], np.float32
        )


def open_space(world: World, space: EmbeddingSpace) -> SpaceId:
    with world.store.write() as writer:
        return writer.spaces.open(space)


def test_vectors_of_chunks(world: World) -> None:
    """In the order asked for; NaN for a chunk without one, or that is not there."""
    (one,) = world.add("a.md", ["one"])
    (two,) = world.add("b.md", ["two"])
    (pending,) = world.add("c.md", ["pending"])
    (same,) = world.add("d.md", ["one"])
    world.embed({"one": vector_of("one"), "two": vector_of("two")})
    gone = ChunkId(10_000)
    with world.store.read() as view:
        found = view.vectors.of_chunks(world.space_id, [two, gone, one, pending, same, two])
        assert view.vectors.of_chunks(world.space_id, []).shape == (0, DIMENSION)
    expected = np.stack([vector_of("two"), vector_of("one"), vector_of("one"), vector_of("two")])
    assert found.dtype == np.float32
    np.testing.assert_allclose(found[[0, 2, 4, 5]], expected, atol=1e-3)
    assert np.isnan(found[[1, 3]]).all()


def test_a_document_is_as_near_as_the_nearest_of_its_names(world: World) -> None:
    """Each document once, best first, ties in order of path; those without an embedded name are left out."""
    for path, aliases in (
        ("far.md", ("best name", "other name")),
        ("also.md", ("best name",)),
        ("low.md", ("other name",)),
        ("none.md", ()),
    ):
        world.add(path, ["text"], aliases=aliases)
    world.embed_toward(QUERY, {"best name": 0.8, "other name": 0.2, "far.md": -0.1, "low.md": 0.1})
    far, also, low, none = (world.document_id(f"{name}.md") for name in ("far", "also", "low", "none"))
    found = nearest_documents(world)
    assert [key for key, _ in found] == [also, far, low]
    assert [near for _, near in found] == pytest.approx([0.8, 0.8, 0.2], abs=1e-3)
    assert nearest_documents(world, 2) == found[:2]
    with world.store.read() as view:
        both = view.vectors.similarities(
            VectorKind.NAME, world.space_id, np.stack([QUERY, -QUERY]), [low, none, far, low]
        )
        expected = [dict(found)[low], math.nan, dict(found)[far], dict(found)[low]]
        assert both[0].tolist() == pytest.approx(expected, abs=0, nan_ok=True)
        assert both[1, 2] == pytest.approx(0.1, abs=1e-3)  # another of its names is the nearest
        assert view.vectors.similarities(VectorKind.NAME, world.space_id, QUERY[np.newaxis], []).shape == (
            1,
            0,
        )


def test_spaces_are_apart(world: World) -> None:
    """Vectors of one space say nothing in another, whatever its dimension."""
    ids = world.add("a.md", ["one", "two"])
    other = open_space(world, replace(SPACE, model="other", dimension=8))
    world.embed({"one": vector_of("one"), "two": vector_of("two")})
    query = unit_vectors(1, dimension=8)[0]
    world.embed({"two": query}, other)
    assert [key for key, _ in nearest(world, query, space_id=other)] == ids[1:]
    assert len(nearest(world)) == 2


def test_spaces_are_found_by_key(world: World) -> None:
    """A space has one id from when it is opened."""
    space = replace(SPACE, model="new")
    with world.store.read() as view:
        assert view.spaces.find(space) is None
    space_id = open_space(world, space)
    assert open_space(world, space) == space_id
    with world.store.read() as view:
        assert view.spaces.find(space) == space_id != world.space_id


def test_all_spaces_and_vectors_can_be_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page at a time, in order of hash, as they are stored; whether or not anything uses them."""
    monkeypatch.setattr("mdvec.stores.vector_tables._BATCH_ROWS", 10)
    assert EmbeddingSpace.from_key(SPACE.key) == SPACE
    with pytest.raises(ValueError, match="not an embedding space"):
        EmbeddingSpace.from_key("e5")
    vectors = unit_vectors(25)
    world.embed({f"text {number}": vectors[number] for number in range(25)})
    expected = sorted((text_hash(f"text {number}"), number) for number in range(25))
    with world.store.read() as view:
        assert view.spaces.all() == [StoredSpace(world.space_id, SPACE, len(vectors))]
        pages = [*view.vectors.pages(world.space_id)]
    assert [len(hashes) for hashes, _ in pages] == [10, 10, 5]
    assert [each for hashes, _ in pages for each in hashes] == [each for each, _ in expected]
    stored = vectors[[number for _, number in expected]].astype(np.float16)
    assert np.array_equal(np.concatenate([vectors for _, vectors in pages]), stored)


def test_unrelated_texts_are_measured_once_in_each_space(world: World) -> None:
    """Nothing is known of a new space; what is written first stays."""
    other = open_space(world, replace(SPACE, model="other"))
    first = UnrelatedTexts(Unrelated(0.1, 0.07, b"\0\0\x80?"), Unrelated(-0.25, 0.125, b"\0\0\0\0"))
    second = UnrelatedTexts(Unrelated(0.7, 0.03, b""), Unrelated(0.6, 0.04, b""))
    with world.store.write() as writer:
        assert writer.spaces.unrelated(world.space_id) is None
        for measured in (first, second):
            assert writer.spaces.open(SPACE, measured) == world.space_id
            assert writer.spaces.unrelated(world.space_id) == first
        assert writer.spaces.unrelated(other) is None
        assert writer.spaces.open(replace(SPACE, model="other"), second) == other
        writer.spaces.drop(world.space_id)
    with world.store.read() as view:
        assert (view.spaces.unrelated(world.space_id), view.spaces.unrelated(other)) == (first, second)


def test_a_vector_is_never_replaced(world: World) -> None:
    """Adding a hash again leaves its first vector."""
    ids = world.add("a.md", ["one"])
    for vector in (QUERY, vector_of("one")):
        world.embed({"one": vector})
        assert similarities(world, ids) == {ids[0]: pytest.approx(1.0, abs=1e-3)}


@pytest.mark.parametrize("shape", [(2, SPACE.dimension), (1, SPACE.dimension - 1)])
def test_vectors_of_another_shape_are_refused(world: World, shape: tuple[int, int]) -> None:
    """A vector of the wrong dimension, or one too many, is a mistake of the caller."""
    with pytest.raises(ValueError, match="shape"), world.store.write() as writer:
        writer.vectors.put(world.space_id, [text_hash("x")], np.zeros(shape, np.float32))


def test_samples_are_of_texts_spread_over_the_space(world: World) -> None:
    """Of few chunks all, of many as many as wanted; names and texts of removed chunks do not count."""
    world.add("a.md", ["one", "two", "three"])
    world.add("gone.md", ["gone"])
    world.embed_toward(QUERY, {"one": 0.1, "two": 0.2, "three": 0.6, "a.md": 1.0, "gone": 0.9})
    world.remove("gone.md")
    assert sorted(sampled(world)) == pytest.approx([0.1, 0.2, 0.6], abs=1e-3)
    texts = [f"text {ten}{one}" for ten in "abcdefghij" for one in "abcdefghij"]  # unlike each other
    world.add("b.md", texts)
    world.embed_toward(QUERY, {text: number / 200 for number, text in enumerate(texts)})
    few = sampled(world, 40)
    assert few.shape == (40,)
    assert few.mean() == pytest.approx(sampled(world).mean(), abs=0.05)
    assert few.std() == pytest.approx(sampled(world).std(), rel=0.2)


RARE = Filters(tags=("RARE",))
COMMON = Filters(tags=("common",))
DOCUMENTS = 2_000


@pytest.fixture(scope="module", params=STORES)
def large(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """2,000 documents of five chunks, the nearest first: the last two have a rare tag, 30 % a common one."""
    world = World(open_store(request.param, tmp_path_factory.mktemp("large")))
    vectors = unit_vectors(5 * DOCUMENTS, seed=6, alike=0.8)
    vectors = vectors[np.argsort(-(vectors @ QUERY))]
    names = unit_vectors(DOCUMENTS, seed=7, alike=0.8)
    names = names[np.argsort(-(names @ QUERY))]
    records = []
    for number in range(DOCUMENTS):
        tags = ("common",) if number % 10 > 6 else ()
        tags = (*tags, "rare/kind") if number >= DOCUMENTS - 2 else tags
        texts = [f"word n{number} p{part}" for part in range(5)]
        records.append(make_record(*make_document(f"{number}.md", texts, tags=tags)))
    with world.store.write() as writer:
        writer.documents.put(world.first.id, records)
        hashes = [text_hash(chunk.embedded_text) for record in records for chunk in record.chunks]
        writer.vectors.put(world.space_id, hashes, vectors)
        writer.vectors.put(world.space_id, [text_hash(f"{at}.md") for at in range(DOCUMENTS)], names)
    yield world
    world.store.close()


@pytest.mark.parametrize(("filters", "documents"), [(RARE, 2), (COMMON, 3 * DOCUMENTS // 10)])
@pytest.mark.parametrize("limit", [3, 50, 4000])
def test_filters_give_all_hits_there_are(large: World, filters: Filters, documents: int, limit: int) -> None:
    """However rare or common a tag is, and however far what has it, min(limit, matching) are found."""
    where = large.where(filters)
    with large.store.read() as view:
        by_words = view.words.bm25(["word"], where, limit)
        chunks = view.vectors.nearest(VectorKind.TEXT, large.space_id, QUERY, where, limit)
        named = view.vectors.nearest(VectorKind.NAME, large.space_id, QUERY, where, limit)
    assert len(by_words) == len(chunks) == min(limit, 5 * documents)
    assert len(named) == min(limit, documents)
    for ranking in (by_words, chunks, named):
        scores = [score for _, score in ranking]
        assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("hidden", [2, DOCUMENTS - 2])
def test_hidden_documents_leave_all_others_to_be_found(large: World, hidden: int) -> None:
    """Whether few or nearly all are hidden."""
    with large.store.read() as view:
        ids = [
            document
            for document, _ in view.vectors.nearest(
                VectorKind.NAME, large.space_id, QUERY, large.where(), 9999
            )
        ]
        where = replace(large.where(), hidden=frozenset(ids[:hidden]))
        left = DOCUMENTS - hidden
        assert len(view.vectors.nearest(VectorKind.NAME, large.space_id, QUERY, where, 50)) == min(50, left)
        assert len(view.vectors.nearest(VectorKind.TEXT, large.space_id, QUERY, where, 50)) == min(
            50, 5 * left
        )
        assert len(view.words.bm25(["word"], where, 50)) == min(50, 5 * left)


def test_drop_unused(world: World) -> None:
    """Only vectors without a chunk go, of any space, the oldest first; the others are found as before."""
    world.add("kept.md", ["one", "two"])
    world.add("gone.md", ["three", "four", "five"])
    other = open_space(world, replace(SPACE, model="other"))
    texts = ["one", "two", "three", "four", "five"]
    for text in texts:
        world.embed({text: vector_of(text)})
    world.embed({"three": QUERY, "one": QUERY}, other)
    with world.store.write() as writer:
        assert writer.vectors.drop_unused() == 0
    world.remove("gone.md")
    before = nearest(world)
    with world.store.write() as writer:
        assert writer.vectors.drop_unused(keep=2) == 2
        hashes = [text_hash(text) for text in texts]
        assert writer.vectors.known(world.space_id, hashes) == {*hashes[:2], hashes[4]}
        assert writer.vectors.known(other, hashes) == {hashes[0], hashes[2]}
        assert writer.vectors.drop_unused() == 2
    assert nearest(world) == before
    assert len(before) == 2


def test_drop_space(world: World) -> None:
    """All its vectors go, those of other spaces stay; its id stays, and finds nothing until it is filled."""
    ids = world.add("a.md", ["one", "two"])
    kept = open_space(world, replace(SPACE, model="other"))
    vectors = {"one": vector_of("one"), "two": vector_of("two")}
    world.embed(vectors)
    world.embed(vectors, kept)
    before = nearest(world)
    assert len(before) == 2
    with world.store.write() as writer:
        assert writer.spaces.drop(world.space_id) == 2
        assert writer.spaces.drop(world.space_id) == 0
    assert nearest(world) == []
    assert similarities(world, ids) == {}
    assert nearest(world, space_id=kept) == before
    assert open_space(world, SPACE) == world.space_id
    world.embed(vectors)
    assert nearest(world) == before
