"""What every store must do with words."""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from tests.contract.store_world import World, read

from mdvec.stores.interface import Store
from mdvec.stores.records import BM25_K1, ChunkTerms, DocumentFrequencies
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


def test_frequencies_count_the_chunks_with_a_term(world: World) -> None:
    """Each chunk once, in whatever field; unknown terms are left out."""
    terms = [
        ChunkTerms("猫 犬 犬"),
        ChunkTerms("猫"),
        ChunkTerms("鳥"),
    ]
    world.add("a.md", ["one", "two", "three"], terms=terms)
    assert frequencies(world, ["猫", "犬", "犬", "馬"]) == DocumentFrequencies(3, {"猫": 2, "犬": 1})


def test_no_score_exceeds_what_idf_allows(world: World) -> None:
    """However often a chunk repeats its terms, it stays below (k1 + 1) times the sum of their idf."""
    world.add("a.md", ["猫 " * 200 + "犬 " * 200, *["鳥 魚"] * 9])
    ((_, best), *_) = find(world, ["猫", "犬"])
    held = frequencies(world, ["猫", "犬"])
    max_score = (BM25_K1 + 1) * sum(held.idf(term) for term in held.of_term)
    assert 0.9 * max_score < best < max_score


def test_frequencies_follow_what_is_written(world: World) -> None:
    """New and removed chunks count at once, as chunks and as those that hold a term."""
    world.add("a.md", ["猫 犬", "鳥", "魚"])
    assert frequencies(world, ["犬"]) == DocumentFrequencies(3, {"犬": 1})
    world.add("b.md", ["犬", "羊"])
    assert frequencies(world, ["犬"]) == DocumentFrequencies(5, {"犬": 2})
    world.remove("b.md")
    assert frequencies(world, ["犬"]) == DocumentFrequencies(3, {"犬": 1})


def test_a_minor_term_counts_less(world: World) -> None:
    """Five of them weigh as two main ones; both fields make up the length."""
    terms = [
        ChunkTerms("x x a b c"),
        ChunkTerms("a b", "x x x x x"),
        ChunkTerms("x a b c d e f"),
        *[ChunkTerms("c c c")] * 6,
    ]
    ids = world.add("a.md", [f"text {number}" for number in range(len(terms))], terms=terms)
    scores = dict(find(world, ["x"]))
    assert scores[ids[0]] > scores[ids[1]] > scores[ids[2]]


def test_ties_are_in_order_of_id(world: World) -> None:
    """Equal chunks come in the order in which they were written, also in a tiny collection."""
    ids = world.add("a.md", ["same words", "same words", "same words"])
    found = find(world, ["same"], 2)
    assert [chunk_id for chunk_id, _ in found] == ids[:2]
    assert all(score > 0 for _, score in found)


def test_removed_documents_leave_no_words(world: World) -> None:
    """Deleting a document takes its words out of results and of the statistics."""
    ids = world.add("kept.md", ["cat dog", "bird fish"])
    before = find(world, ["cat", "fish"])
    world.add("gone.md", ["cat cat cat", "fish fish elephant mouse"])
    world.remove("gone.md")
    after = find(world, ["cat", "fish"])
    assert [chunk_id for chunk_id, _ in after] == ids
    assert dict(after) == pytest.approx(dict(before))


def test_a_term_given_twice_counts_twice(world: World) -> None:
    """Its part of a score is added once more: that is how a query weighs its terms."""
    world.add("a.md", ["x y", "x z", "w"])
    x, y, both = (dict(find(world, terms)) for terms in (["x"], ["y"], ["x", "x", "y"]))
    assert both == pytest.approx({key: 2 * x.get(key, 0) + y.get(key, 0) for key in x | y})


def test_a_chunk_has_to_hold_one_of_the_required_terms(world: World) -> None:
    """Without one it is not found; those that are found have the scores that all terms give."""
    rng = random.Random(3)
    terms = ["a", "b", "b", "c", "unknown"]
    words: dict[ChunkId, list[str]] = {}
    for number in range(60):
        text = " ".join(rng.choices("abcdefghijklmnopqrst", k=6))
        tags = (*(["odd"] if number % 2 else []), *(["few"] if number < 4 else []))
        words |= dict.fromkeys(world.add(f"d{number}.md", [text], tags=tags), text.split())
    for filters in (Filters(), Filters(tags=("odd",)), Filters(tags=("few",))):
        where = world.where(filters)
        everything = find(world, terms, 60, where)
        for must in (["a"], ["a", "b"], ["b", "b"], ["a", "b", "b", "c"], ["unknown"]):
            expected = [(key, score) for key, score in everything if set(words[key]) & set(must)]
            for limit in (1, 5, 60):
                found = find(world, terms, limit, where, must)
                assert [key for key, _ in found] == [key for key, _ in expected[:limit]]
                assert dict(found) == pytest.approx(dict(expected[:limit]))


def test_minor_terms_weigh_less_than_main_ones(world: World) -> None:
    """The same term says less where it crosses from one word into the next."""
    terms = [
        ChunkTerms("x p"),
        ChunkTerms("p", "x"),
        ChunkTerms("q"),
    ]
    main, minor, _ = world.add("a.md", ["1", "2", "3"], terms=terms)
    found = find(world, ["x"])
    assert [chunk_id for chunk_id, _ in found] == [main, minor]
    assert found[0][1] > found[1][1] > 0


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


def test_filters_change_no_score(world: World) -> None:
    """A filter decides which chunks are found, not how they are scored."""
    rng = random.Random(7)
    for number in range(60):
        text = " ".join(rng.choices("abcdefghij", k=12))
        world.add(f"d{number}.md", [text], collection=number % 2, tags=("odd",) if number % 2 else ())
    everything = dict(find(world, ["a", "b"], 60))
    odd = find(world, ["a", "b"], 60, world.where(Filters(tags=("odd",))))
    second = find(world, ["a", "b"], 60, Where((world.second.id,)))
    assert 0 < len(odd) < len(everything)
    assert odd == second
    assert dict(odd) == pytest.approx({key: everything[key] for key, _ in odd})


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
    return read(world.store, lambda view: view.words.holding(groups, where or world.where(), limit=limit))


def test_chunks_are_found_that_hold_a_term_of_every_group(world: World) -> None:
    """In whatever fields, in order of id, of the first collection and of the second."""
    terms = [
        ChunkTerms("猫 犬"),
        ChunkTerms("猫 鳥", "馬"),
        ChunkTerms("犬 鳥"),
    ]
    ids = world.add("a.md", ["one", "two", "three"], terms=terms)
    (other,) = world.add("b.md", ["猫 犬"], collection=1)
    assert holding(world, [["猫"]]) == [ids[0], ids[1], other]
    assert holding(world, [["猫"], ["犬", "馬"]]) == [ids[0], ids[1], other]
    assert holding(world, [["猫"], ["犬"]], Where((world.first.id,))) == [ids[0]]
    assert holding(world, [["猫"]], limit=2) == ids[:2]
    assert holding(world, [["猫"], ["羊"]]) == []


def test_a_star_stands_for_any_end_of_a_term(world: World) -> None:
    """Also of no end, and beside whole terms; a sign of a query language is a part of its term."""
    ids = world.add("a.md", ["=retry", "=retries x", 'say"retry', "retry", "reader"])
    assert holding(world, [["=retr*"]]) == ids[:2]
    assert holding(world, [["=retry*"]]) == ids[:1]
    assert holding(world, [["=retr*", "reader"]]) == [ids[0], ids[1], ids[4]]
    assert holding(world, [['say"*']]) == [ids[2]]


def test_filters_narrow_what_holds_terms(world: World) -> None:
    """As they narrow a ranking: by documents, by chunks, and by what is left out."""
    first = world.add("a.md", ["猫", "猫"], tags=("t",))
    second = world.add("b.md", ["猫", "犬"])
    assert holding(world, [["猫"]], world.where(Filters(tags=("t",)))) == first
    assert holding(world, [["猫"]], replace(world.where(), hidden_chunks=frozenset(first[:1]))) == [
        first[1],
        second[0],
    ]
    among = replace(world.where(), chunks=frozenset([first[1], second[1]]))
    assert holding(world, [["猫"]], among) == [first[1]]
