"""A query in the spaces of the collections that are searched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Never

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray
from tests.contract.store_world import SPACE, QueryEmbedder, World, unit_vectors

from mdvec.embedding.interface import TokenCounter
from mdvec.errors import EmbedderUnavailableError, EmbeddingError
from mdvec.search.query_vectors import QueryVectors, SearchedCollection, embedding, tokens_in
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.query import SearchMode

QUERY = unit_vectors(1, seed=5)[0]
AWAY = EmbedderUnavailableError("the model is away")


class Counting(HashingEmbedder):
    """Has one token for each of some words, and one for each letter of others."""

    def __init__(self, *words: str, is_exact: bool = True) -> None:
        super().__init__()
        self._words = words
        self._is_exact = is_exact

    @property
    def tokens(self) -> TokenCounter:
        """Those of the words."""
        return TokenCounter(self._ends, 500, is_exact=self._is_exact)

    def _ends(self, text: str) -> list[int]:
        return [len(text)] if text in self._words else [*range(1, len(text) + 1)]


class Silent(HashingEmbedder):
    """Can be used, and does not answer."""

    def embed_queries(self, texts: Sequence[str]) -> Never:
        """Fail."""
        msg = f"no answer for {texts[0]}"
        raise EmbeddingError(msg)


@pytest.fixture
def world(world: World) -> World:
    world.add("a.md", ["one", "two"])
    world.add("b.md", ["three"], collection=1)
    return world


def vectors(world: World, mode: SearchMode, *searched: SearchedCollection, text: str = "q") -> QueryVectors:
    with world.store.read() as view, embedding([text], mode, searched, view) as wait:
        return wait()


def test_a_space_is_asked_once(world: World) -> None:
    """For all of its collections, with all of their chunks."""
    asked: list[str] = []

    def vector(text: str) -> NDArray[np.float32]:
        asked.append(text)
        return unit_vectors(1)[0]  # type: ignore[no-any-return] # a row of an array

    embedder = QueryEmbedder(vector)
    searched = [SearchedCollection(each, embedder, world.space_id) for each in (world.first, world.second)]
    found = vectors(world, SearchMode.HYBRID, *searched)
    [[space]] = found.spaces
    assert asked == ["q"]
    assert (space.id, space.collections, space.chunks) == (world.space_id, world.collections, 3)
    assert (found.mode, found.warnings) == (SearchMode.HYBRID, ())


def test_a_question_that_was_asked_before_is_not_embedded_again(world: World) -> None:
    """By each model; a failure is not remembered, nor a long text, nor are too many questions."""
    asked: list[str] = []

    def vector(text: str) -> NDArray[np.float32]:
        asked.append(text)
        if len(asked) == 1:
            msg = "away"
            raise EmbeddingError(msg)
        return unit_vectors(1)[0]  # type: ignore[no-any-return] # a row of an array

    searched = SearchedCollection(world.first, QueryEmbedder(vector), world.space_id)
    for text in ("a", "a", "b", "a", "b"):
        vectors(world, SearchMode.HYBRID, searched, text=text)
    assert asked == ["a", "a", "b"]
    long = "word " * 300
    for number in range(300):
        vectors(world, SearchMode.HYBRID, searched, text=f"{number}")
    for text in (long, long, "299", "a"):
        vectors(world, SearchMode.HYBRID, searched, text=text)
    assert asked[303:] == [long, long, "a"]
    again = SearchedCollection(world.first, QueryEmbedder(vector), world.space_id)
    vectors(world, SearchMode.HYBRID, again, text="a")
    assert asked[306:] == ["a"]


def test_without_a_text_or_by_words_nothing_is_embedded(world: World) -> None:
    """The model is not even asked for."""
    away = SearchedCollection(world.first, Silent(), world.space_id)
    for found in (
        vectors(world, SearchMode.LEXICAL, away),
        vectors(world, SearchMode.DENSE, away, text=""),
    ):
        assert (found.mode, found.spaces, found.warnings) == (SearchMode.LEXICAL, ((),), ())


def test_a_model_that_cannot_be_used_leaves_its_collections_to_words(world: World) -> None:
    """The others are searched by meaning; with none of these, the whole search is by words."""
    near = SearchedCollection(world.second, QueryEmbedder(lambda _: QUERY), world.space_id)
    with world.store.write() as writer:
        elsewhere = writer.spaces.open(replace(SPACE, model="other"))
    for away, why in (
        (SearchedCollection(world.first, None, None, AWAY), "the model is away"),
        (SearchedCollection(world.first, Silent(), elsewhere), "no answer for q"),
    ):
        some = vectors(world, SearchMode.HYBRID, away, near)
        assert [each.id for each in some.spaces[0]] == [world.space_id]
        assert some.warnings == (f"first: searched by words only: {why}",)
        none = vectors(world, SearchMode.HYBRID, away)
        assert (none.mode, none.spaces) == (SearchMode.LEXICAL, ((),))
        assert none.warnings == (f"searched by words only: {why}",)
        with pytest.raises(EmbeddingError, match=why):
            vectors(world, SearchMode.DENSE, away, near)


def test_a_collection_without_vectors_is_no_problem(world: World) -> None:
    """What is not embedded yet is said elsewhere."""
    found = vectors(world, SearchMode.HYBRID, SearchedCollection(world.first, Counting(), None))
    assert (found.mode, found.spaces, found.warnings) == (SearchMode.HYBRID, [()], ())


def test_the_tokens_of_a_word_are_those_of_the_model_with_the_fewest(world: World) -> None:
    """In any case; an estimate knows no words."""
    known, other = Counting("bungle"), Counting("bundle")
    one, two = (SearchedCollection(world.first, each, None) for each in (known, other))
    assert tokens_in("Bungle", [two, one]) == 1
    assert tokens_in("bungle", [two]) > 1
    guessed = Counting("bungle", is_exact=False)
    for embedder in (guessed, None):
        assert tokens_in("bungle", [SearchedCollection(world.first, embedder, None)]) == 0
