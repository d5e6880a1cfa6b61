"""What every index of words must do."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from mdvec.stores.lexical import BM25_K1, Holding, LexicalFields
from tests.contract.store_world import MemoryWorld, StoreWorld, World

from mdvec.stores.sqlite.store import SqliteStore
from mdvec.types.query import Filters, Scope


@pytest.fixture(params=["memory", "sqlite"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """Two empty collections in each kind of index."""
    if request.param == "memory":
        yield MemoryWorld()
        return
    store = SqliteStore(tmp_path / "index.sqlite")
    yield StoreWorld(store)
    store.close()


def test_score_is_bm25(world: World) -> None:
    """The score of one term in one of three chunks is what the formula gives by hand."""
    ids = world.add("a.md", ["猫 犬 犬", "鳥", "魚 亀"])
    idf = math.log((3 - 1 + 0.5) / (1 + 0.5))
    expected = idf * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 2))
    assert dict(world.lexical.search(["犬"], 5, world.scope())) == pytest.approx({ids[0]: expected}, rel=1e-6)


def test_holding_counts_the_chunks_with_a_term(world: World) -> None:
    """Each chunk once, in whatever field; unknown terms are left out."""
    fields = [
        LexicalFields(["猫"], [], ["犬", "犬"]),
        LexicalFields([], ["猫"], []),
        LexicalFields([], [], ["鳥"]),
    ]
    world.add("a.md", ["one", "two", "three"], fields=fields)
    assert world.lexical.holding(["猫", "犬", "犬", "馬"]) == Holding(3, {"猫": 2, "犬": 1})


def test_no_score_exceeds_what_idf_allows(world: World) -> None:
    """However often a chunk repeats its terms, it stays below (k1 + 1) times the sum of their idf."""
    world.add("a.md", ["猫 " * 200 + "犬 " * 200, *["鳥 魚"] * 9])
    ((_, best), *_) = world.lexical.search(["猫", "犬"], 5, world.scope())
    holding = world.lexical.holding(["猫", "犬"])
    perfect = (BM25_K1 + 1) * sum(holding.idf(term) for term in holding.of_term)
    assert 0.9 * perfect < best < perfect


def test_holding_follows_what_is_written(world: World) -> None:
    """New and removed chunks count at once, as chunks and as holders of a term."""
    world.add("a.md", ["猫 犬", "鳥", "魚"])
    assert world.lexical.holding(["犬"]) == Holding(3, {"犬": 1})
    world.add("b.md", ["犬", "羊"])
    assert world.lexical.holding(["犬"]) == Holding(5, {"犬": 2})
    world.remove("b.md")
    assert world.lexical.holding(["犬"]) == Holding(3, {"犬": 1})


def test_title_counts_twice(world: World) -> None:
    """A term in the title weighs as much as two in the text; all fields make up the length."""
    fields = [
        LexicalFields(["x"], [], ["a", "b"]),
        LexicalFields([], ["x"], ["a", "b"]),
        LexicalFields([], [], ["x", "x", "b"]),
        *[LexicalFields([], [], ["c", "c", "c"])] * 6,
    ]
    ids = world.add("a.md", [f"text {number}" for number in range(9)], fields=fields)
    scores = dict(world.lexical.search(["x"], 9, world.scope()))
    assert scores[ids[0]] == pytest.approx(scores[ids[2]])
    assert scores[ids[0]] > scores[ids[1]]


def test_ties_are_in_order_of_id(world: World) -> None:
    """Equal chunks come in the order in which they were written, also in a tiny collection."""
    ids = world.add("a.md", ["same words", "same words", "same words"])
    found = world.lexical.search(["same"], 2, world.scope())
    assert [chunk_id for chunk_id, _ in found] == ids[:2]
    assert all(score > 0 for _, score in found)


def test_removed_documents_leave_no_words(world: World) -> None:
    """Deleting a document takes its words out of results and of the statistics."""
    ids = world.add("kept.md", ["cat dog", "bird fish"])
    before = world.lexical.search(["cat", "fish"], 5, world.scope())
    world.add("gone.md", ["cat cat cat", "fish fish elephant mouse"])
    world.remove("gone.md")
    after = world.lexical.search(["cat", "fish"], 5, world.scope())
    assert [chunk_id for chunk_id, _ in after] == ids
    assert dict(after) == pytest.approx(dict(before))


def test_a_term_given_twice_counts_twice(world: World) -> None:
    """Its part of a score is added once more: that is how a query weighs its terms."""
    world.add("a.md", ["x y", "x z", "w"])
    x, y, both = (
        dict(world.lexical.search(terms, 5, world.scope())) for terms in (["x"], ["y"], ["x", "x", "y"])
    )
    assert both == pytest.approx({key: 2 * x.get(key, 0) + y.get(key, 0) for key in x | y})


@pytest.mark.parametrize("filters", [Filters(), Filters(tags=("odd",)), Filters(tags=("first",))])
def test_inessential_terms_count_and_find_what_is_missing(world: World, filters: Filters) -> None:
    """Scores are those of all terms; what holds inessential ones alone lacks only where enough is found."""
    rng = random.Random(3)
    for number in range(60):
        text = " ".join(rng.choices("abcdefghijklmnopqrst", k=6))
        tags = (*(["odd"] if number % 2 else []), *(["first"] if number < 4 else []))
        world.add(f"d{number}.md", [text], tags=tags)
    scope = world.scope(filters)
    everything = dict(world.lexical.search(["a", "b", "b", "c"], 60, scope))
    essential = dict(world.lexical.search(["a", "b"], 60, scope)).keys()
    assert essential <= everything.keys()
    for limit in (1, 5, 60):
        found = world.lexical.search(["a", "b", "b"], limit, scope, ["c"])
        assert len(found) == min(limit, len(everything))
        assert dict(found) == pytest.approx({key: everything[key] for key, _ in found})
        assert found == sorted(found, key=lambda pair: (-pair[1], pair[0]))
        left_out = essential - dict(found).keys()
        assert all(everything[key] <= found[-1][1] + 1e-9 for key in left_out)


def test_minor_terms_weigh_less_than_main_ones(world: World) -> None:
    """The same term says less where it crosses from one word into the next."""
    fields = [
        LexicalFields((), (), ["x", "p"]),
        LexicalFields((), (), ["p"], ["x"]),
        LexicalFields((), (), ["q"]),
    ]
    main, minor, _ = world.add("a.md", ["1", "2", "3"], fields=fields)
    found = world.lexical.search(["x"], 5, world.scope())
    assert [chunk_id for chunk_id, _ in found] == [main, minor]
    assert found[0][1] > found[1][1] > 0


@pytest.mark.parametrize(
    "term",
    ["c++", 'say"so', "it's", "か\u3099", "👩\u200d💻", "a_b", "-", "*", "^", "(", "near", "or", "日本"],
)
def test_terms_are_taken_literally(world: World, term: str) -> None:
    """No character of a term is an operator, and none splits it."""
    ids = world.add("a.md", [f"before {term} after", "say so か its a b c + 日 本 👩 and more"])
    assert [found for found, _ in world.lexical.search([term], 5, world.scope())] == ids[:1]


def test_many_terms(world: World) -> None:
    """A query of a thousand terms is only a long query."""
    ids = world.add("a.md", ["w999", "other"])
    terms = [f"w{number}" for number in range(1000)]
    assert [found for found, _ in world.lexical.search(terms, 5, world.scope())] == ids[:1]


@pytest.mark.parametrize("terms", [[], ["unknown"]])
def test_nothing_found(world: World, terms: list[str]) -> None:
    """No terms, or none that is known, find nothing; neither does an empty index."""
    assert world.lexical.search(terms, 5, world.scope()) == []
    world.add("a.md", ["some words"])
    assert world.lexical.search(terms, 5, world.scope()) == []
    assert world.lexical.search(["some"], 5, Scope(())) == []


def test_filters_change_no_score(world: World) -> None:
    """A filter decides which chunks are found, not how they are scored."""
    rng = random.Random(7)
    for number in range(60):
        text = " ".join(rng.choices("abcdefghij", k=12))
        world.add(f"d{number}.md", [text], collection=number % 2, tags=("odd",) if number % 2 else ())
    everything = dict(world.lexical.search(["a", "b"], 60, world.scope()))
    odd = world.lexical.search(["a", "b"], 60, world.scope(Filters(tags=("odd",))))
    second = world.lexical.search(["a", "b"], 60, Scope(world.collections[1:]))
    assert 0 < len(odd) < len(everything)
    assert odd == second
    assert dict(odd) == pytest.approx({key: everything[key] for key, _ in odd})
