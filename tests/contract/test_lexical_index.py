"""What every store must do with words."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

import pytest
from tests.contract.store_world import World, read

from mdvec.stores.interface import Store
from mdvec.stores.records import BM25_K1, DocumentFrequencies
from mdvec.types.ids import ChunkId
from mdvec.types.query import Filters, Where


def find(
    world: World, terms: Sequence[str], limit: int = 9, where: Where | None = None, must: Sequence[str] = ()
) -> list[tuple[ChunkId, float]]:
    with world.store.read() as view:
        return view.words.bm25(terms, where or world.where(), limit, must=must)


def frequencies(world: World, terms: Sequence[str]) -> DocumentFrequencies:
    with world.store.read() as view:
        return view.words.frequencies(terms)


def test_score_is_bm25(world: World) -> None:
    """The score of one term in one of three chunks is what the formula gives by hand."""
    ids = world.add("a.md", ["猫 犬 犬", "鳥", "魚 亀"])
    idf = math.log((3 - 1 + 0.5) / (1 + 0.5))
    expected = idf * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 2))
    assert dict(find(world, ["犬"])) == pytest.approx({ids[0]: expected}, rel=1e-6)


def test_no_score_exceeds_what_idf_allows(world: World) -> None:
    """However often a chunk repeats its terms, it stays below (k1 + 1) times the sum of their idf."""
    world.add("a.md", ["猫 " * 200 + "犬 " * 200, *["鳥 魚"] * 9])
    ((_, best), *_) = find(world, ["猫", "犬"])
    held = frequencies(world, ["猫", "犬"])
    max_score = (BM25_K1 + 1) * sum(held.idf(term) for term in held.of_term)
    assert 0.9 * max_score < best < max_score


@pytest.mark.parametrize(
    "term",
    ["c++", 'say"so', "it's", "か\u3099", "👩\u200d💻", "a_b", "-", "*", "^", "(", "near", "or", "日本"],
)
def test_terms_are_taken_literally(world: World, term: str) -> None:
    """No character of a term is an operator, and none splits it."""
    ids = world.add("a.md", [f"before {term} after", "say so か its a b c + 日 本 👩 and more"])
    for must in ((), (term,)):
        found = find(world, [term, "unknown"], must=must)
        assert [key for key, _ in found] == ids[:1]


def test_many_terms(world: World) -> None:
    """A query of a thousand terms is only a long query."""
    ids = world.add("a.md", ["w999", "other"])
    terms = [f"w{number}" for number in range(1000)]
    assert [key for key, _ in find(world, terms)] == ids[:1]


@pytest.mark.parametrize("terms", [[], ["unknown"]])
def test_nothing_found(world: World, terms: list[str]) -> None:
    """No terms, or none that is known, find nothing; neither does an empty store, nor no collection."""
    assert find(world, terms) == []
    world.add("a.md", ["some words"])
    assert find(world, terms) == []
    assert find(world, ["some"], where=Where(())) == []
    assert find(world, ["some"], 0) == []


def test_few_chunks_are_told_from_many(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks inside the filter count, not those of the collections."""
    for name in [each for each in sys.modules if each.startswith("mdvec.stores.")]:
        monkeypatch.setattr(f"{name}.FEW_CHUNKS", 3, raising=False)
    world = World(store)
    world.add("a.md", ["one", "two"], tags=("x",))
    assert read(store, lambda view: view.words.holds_few(world.where()))
    world.add("b.md", ["three", "four"])
    assert not read(store, lambda view: view.words.holds_few(world.where()))
    assert read(store, lambda view: view.words.holds_few(world.where(Filters(tags=("x",)))))


def holding(
    world: World, groups: Sequence[Sequence[str]], where: Where | None = None, limit: int | None = None
) -> list[ChunkId]:
    return read(
        world.store, lambda view: view.words.holding([groups], where or world.where(), limit=limit)[0]
    )


def test_a_star_stands_for_any_end_of_a_term(world: World) -> None:
    """Also of no end, and beside whole terms; a sign of a query language is a part of its term."""
    ids = world.add("a.md", ["=retry", "=retries x", 'say"retry', "retry", "reader"])
    assert holding(world, [["=retr*"]]) == ids[:2]
    assert holding(world, [["=retry*"]]) == ids[:1]
    assert holding(world, [["=retr*", "reader"]]) == [ids[0], ids[1], ids[4]]
    assert holding(world, [['say"*']]) == [ids[2]]
