"""From a query to its answer: the same over every store, without what hardly answers, like texts folded."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray
from tests.contract.store_world import (
    SPACE,
    STORES,
    QueryEmbedder,
    World,
    open_store,
    searched_in,
    unit_vectors,
    vector_of,
)

from mdvec.chunking.sections import SectionChunker
from mdvec.indexing.prepare import prepare
from mdvec.indexing.work import Recipe
from mdvec.search.query_vectors import SearchedCollection
from mdvec.search.search import Found, find
from mdvec.stores.interface import Store
from mdvec.stores.records import DocumentRecord, VectorKind
from mdvec.text.matches import match_spans
from mdvec.text.tokens import estimate_token_ends
from mdvec.types.change import SourceEntry
from mdvec.types.collection import Collection, SourceSpec
from mdvec.types.hit import Confidence, SearchHit
from mdvec.types.ids import CollectionId
from mdvec.types.query import Expansion, Filters, SearchMode, SearchQuery, Where
from mdvec.types.space import Unrelated, UnrelatedTexts

_RECIPE = Recipe(SectionChunker(token_ends=estimate_token_ends, tokenizer_name="estimate", max_tokens=40))
_SPACES = {"first": SPACE, "second": replace(SPACE, model="other")}
_WORDS = (
    *("garden", "tomato", "water", "soil", "summer", "server", "backup", "retry", "timeout", "the", "and"),
    *("設定", "温室", "水やり", "土", "夏", "サーバー", "再試行", "時間", "の", "は"),
)
_UNRELATED = Unrelated(0.1, 0.1, vector_of("passages").astype("<f4").tobytes())


def _records(chance: random.Random, count: int) -> list[DocumentRecord]:
    """Make documents of random words in two languages, some of them with tags and aliases."""
    records = []
    for number in range(count):
        spaced = chance.random() < 0.5
        words = _WORDS[:11] if spaced else _WORDS[9:]
        joiner = " " if spaced else ""
        sections = "\n\n".join(
            f"## Part {part} {chance.choice(_WORDS)}\n\n{joiner.join(chance.choices(words, k=30))}"
            for part in range(chance.randrange(1, 5))
        )
        header = f"---\ntags: [t{number % 3}]\naliases: [{chance.choice(_WORDS)} {number}]\n---\n"
        text = f"{header}# {chance.choice(_WORDS)} {chance.choice(_WORDS)}\n\n{sections}\n"
        entry = SourceEntry(f"{number}.md", f"{number}.md", number, 1)
        prepared = prepare(entry, text.encode(), _RECIPE)
        assert isinstance(prepared, DocumentRecord)
        records.append(prepared)
    return records


def _filled(store: Store, seed: int) -> Store:
    """Write two collections, each in a space of its own; a tenth of their texts is pending."""
    chance = random.Random(seed)
    for name, space in _SPACES.items():
        with store.write() as writer:
            collection = writer.collections.add(
                Collection(CollectionId(0), name, "", SourceSpec("folder", "/x"))
            )
            writer.documents.put(collection.id, _records(chance, 40))
            space_id = writer.spaces.open(space, UnrelatedTexts(_UNRELATED, _UNRELATED))
            pending = [
                *writer.vectors.pending(VectorKind.TEXT, collection.id, space_id, 999),
                *writer.vectors.pending(VectorKind.NAME, collection.id, space_id, 999),
            ]
            embedded = {each.text_hash: each.text for each in pending if chance.random() < 0.9}
            vectors = np.stack([vector_of(f"{name} {text}", alike=0.3) for text in embedded.values()])
            writer.vectors.put(space_id, list(embedded), vectors)
    return store


def _answer(store: Store, query: SearchQuery, names: Sequence[str] = ("first", "second")) -> Found:
    with store.read() as view:
        searched = []
        for collection in view.collections.all():
            if collection.name in names:
                space_id = view.spaces.find(_SPACES[collection.name])
                embedder = QueryEmbedder(partial(_vector, collection.name))
                searched.append(SearchedCollection(collection, embedder, space_id))
        where = Where(tuple(each.collection.id for each in searched), query.filters)
        return find(query, where, searched, view)


def _vector(name: str, text: str) -> NDArray[np.float32]:
    return vector_of(f"{name} {text}", alike=0.3)


def _without_scores(hits: Sequence[SearchHit]) -> list[SearchHit]:
    """Return hits without what depends on the last digit of a score: scores and the exact ranks."""
    return [
        replace(
            hit,
            score=0.0,
            similarity=None,
            dense_rank=hit.dense_rank and 1,
            lexical_rank=hit.lexical_rank and 1,
        )
        for hit in hits
    ]


QUERIES = (
    SearchQuery("garden tomato water", limit=20),
    SearchQuery("温室の水やり", limit=20),
    SearchQuery("サーバー backup", limit=20, per_document=3),
    SearchQuery("retry timeout", mode=SearchMode.LEXICAL, limit=20),
    SearchQuery("retry timeout", mode=SearchMode.DENSE, limit=20),
    SearchQuery("soil summer", filters=Filters(tags=("t1",)), limit=20),
    SearchQuery("夏の設定", filters=Filters(depths=(2,)), threshold=0.1, limit=20),
    SearchQuery("garden 3", expand=Expansion.SECTION, max_tokens=300),
    SearchQuery("nothingofthekind", limit=5),
    SearchQuery("夏 server", limit=20, min_score=0.0, all_similar=True),
)


@pytest.mark.parametrize("kind", STORES[1:])
@pytest.mark.parametrize("seed", range(2))
def test_all_stores_give_the_same_answers(tmp_path: Path, seed: int, kind: str) -> None:
    """Equal hits in equal order, scores and similarities to 5 digits, in one space and in two."""
    memory, other = (_filled(open_store(each, tmp_path), seed) for each in ("memory", kind))
    found = 0
    for query in QUERIES:
        for names in (("first",), ("first", "second")):
            mine, theirs = (_answer(store, query, names) for store in (memory, other))
            hits, others = ([hit for hit, _ in each.shown.hits] for each in (mine, theirs))
            assert _without_scores(hits) == _without_scores(others)
            assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in others], abs=1e-5)
            for hit, theirs_hit in zip(hits, others, strict=True):
                assert hit.similarity == (
                    None if theirs_hit.similarity is None else pytest.approx(theirs_hit.similarity, abs=1e-5)
                )
            assert (mine.confidence, mine.weaker) == (theirs.confidence, theirs.weaker)
            assert [chunk.text for _, chunk in mine.shown.hits] == [
                chunk.text for _, chunk in theirs.shown.hits
            ]
            found += len(hits)
    assert found > 100
    memory.close()
    other.close()


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_a_hit_names_its_best_chunk(tmp_path: Path, query: SearchQuery) -> None:
    """It is a part of the text, whole unless the text is cut, and has the line that is named."""
    store = _filled(open_store("memory", tmp_path), 0)
    hits = _answer(store, query).shown.hits
    for hit, chunk in hits:
        assert hit.chunk_text in hit.text
        assert hit.chunk_text == chunk.text or query.max_tokens
        before = hit.text[: hit.text.index(hit.chunk_text)]
        line = hit.line - hit.start_line - before.count("\n")
        words = [match_spans(query.text, each) for each in hit.chunk_text.splitlines()]
        assert words[line] or not any(words[1:])
    store.close()


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("phrase", ["how and when", "we sync a note"])
def test_a_phrase_of_frequent_words_is_found(tmp_path: Path, kind: str, phrase: str) -> None:
    """The one long text that holds it, behind 250 that hold its words more often and in another order."""
    others = " ".join(reversed(phrase.split()))
    texts = [f"# Part {number}\n\n{others} {others}\n" for number in range(250)]
    texts[90] = f"# Long\n\nSoil, {phrase}, {'water summer ' * 15}\n"
    store = open_store(kind, tmp_path)
    with store.write() as writer:
        collection = writer.collections.add(
            Collection(CollectionId(0), "notes", "", SourceSpec("folder", "/x"))
        )
        for number, text in enumerate(texts):
            prepared = prepare(SourceEntry(f"{number}.md", f"{number}.md", 1, 1), text.encode(), _RECIPE)
            assert isinstance(prepared, DocumentRecord)
            writer.documents.put(collection.id, [prepared])
    with store.read() as view:
        query = SearchQuery(phrase, mode=SearchMode.LEXICAL, limit=1)
        searched = [SearchedCollection(collection, None, None)]
        found = find(query, Where((collection.id,)), searched, view)
    assert [hit.path for hit, _ in found.shown.hits] == ["90.md"]
    store.close()


@pytest.mark.parametrize("kind", STORES)
def test_an_empty_store_answers_nothing(tmp_path: Path, kind: str) -> None:
    """Without collections or chunks there is no hit, and no confidence."""
    store = open_store(kind, tmp_path)
    for names in ((), ("first",)):
        found = _answer(store, SearchQuery("garden"), names)
        assert (paths(found), found.confidence, found.weaker) == ([], Confidence.NONE, 0)
    store.close()


QUERY = unit_vectors(1, seed=5)[0]


def ask(world: World, query: SearchQuery, *, is_document: bool = False) -> Found:
    """Search both collections of a world in its space."""
    with world.store.read() as view:
        searched = searched_in(world.space_id, view.collections.all(), lambda _: QUERY)
        return find(query, world.where(query.filters), searched, view, is_document=is_document)


def paths(found: Found) -> list[str]:
    return [hit.path for hit, _ in found.shown.hits]


@pytest.fixture
def mixed(world: World) -> World:
    """Notes about water, of which some hold more of a question than others, and some none of it."""
    texts = {f"{count}.md": "water " * count + "soil garden summer" for count in range(1, 6)}
    texts |= {f"far{number}.md": f"server backup {'x' * number}" for number in range(1, 30)}
    for path, text in texts.items():
        world.add(path, [text])
    near = {f"{count}.md": 0.1 * count for count in range(1, 6)}
    world.embed_toward(QUERY, {text: near.get(path, 0.0) for path, text in texts.items()})
    with world.store.write() as writer:
        unrelated = Unrelated(0.0, 0.1, np.zeros(len(QUERY), "<f4").tobytes())
        writer.spaces.open(SPACE, UnrelatedTexts(unrelated, unrelated))
    return world


@pytest.mark.parametrize("mode", list(SearchMode))
def test_weak_passages_are_left_out_and_counted(mixed: World, mode: SearchMode) -> None:
    """The others are the same with and without them, and score as much."""
    every = ask(mixed, SearchQuery("water", mode, limit=20, min_score=0.0))
    scores = [hit.score for hit, _ in every.shown.hits]
    assert every.weaker == 0
    assert scores == sorted(scores, reverse=True)
    assert every.confidence is not Confidence.NONE
    for least in (*scores, 0.999):
        found = ask(mixed, SearchQuery("water", mode, limit=20, min_score=least))
        kept = sum(score >= least for score in scores)
        assert [hit.path for hit, _ in found.shown.hits] == paths(every)[:kept]
        assert found.weaker == len(scores) - kept
        assert found.confidence is every.confidence


def test_an_answer_without_confidence_is_a_guess(mixed: World) -> None:
    """At most one hit; all of them where the weak ones are wanted."""
    query = SearchQuery("zeppelin", limit=9, min_score=0.001)
    with mixed.store.read() as view:
        searched = searched_in(mixed.space_id, view.collections.all(), lambda _: -QUERY)
        found = find(query, mixed.where(), searched, view)
        every = find(replace(query, min_score=0.0), mixed.where(), searched, view)
    assert (found.confidence, every.confidence) == (Confidence.NONE, Confidence.NONE)
    assert len(every.shown.hits) == 9
    assert found.shown.hits == every.shown.hits[:1]
    assert found.weaker == 8


def test_all_words_are_missed_where_nothing_answers(mixed: World) -> None:
    """Words of another language are not, where its question has an answer."""
    answered = ask(mixed, SearchQuery("eau jardin"))
    with mixed.store.read() as view:
        searched = searched_in(mixed.space_id, view.collections.all(), lambda _: -QUERY)
        nonsense = find(SearchQuery("eau jardin"), mixed.where(), searched, view)
    assert answered.confidence in {Confidence.MEDIUM, Confidence.HIGH}
    assert answered.unknown_words == ()
    assert (nonsense.confidence, nonsense.unknown_words) == (Confidence.NONE, ("eau", "jardin"))
    assert ask(mixed, SearchQuery("宇宙 銀河")).unknown_words == ()
    text = "庭の水やりは朝に行う。"
    mixed.add("庭.md", [text])
    mixed.embed_toward(QUERY, {text: 0.9})
    same_language = ask(mixed, SearchQuery("宇宙 銀河"))
    assert (paths(same_language)[0], same_language.unknown_words) == ("庭.md", ("宇宙", "銀河"))


@pytest.mark.parametrize("mode", list(SearchMode))
def test_like_texts_are_one_hit(world: World, mode: SearchMode) -> None:
    """The others are counted, and stand behind; each is a hit of its own where that is wanted."""
    footer = "water this note 2024-01-{:02}"
    for number in range(1, 6):
        world.add(f"{number}.md", [footer.format(number)])
    world.add("own.md", ["water soil"])
    world.embed_toward(QUERY, {footer.format(number): 0.1 * number for number in range(1, 6)})
    world.embed_toward(QUERY, {"water soil": 0.05})
    query = SearchQuery("water", mode, limit=9, min_score=0.0)
    found = ask(world, query)
    assert "own.md" in paths(found)[:2]
    assert len(paths(found)) == 6
    assert {hit.path: hit.similar for hit, _ in found.shown.hits if hit.similar} == {
        next(path for path in paths(found) if path != "own.md"): 4
    }
    every = ask(world, replace(query, all_similar=True))
    assert sorted(paths(every)) == sorted(paths(found))
    assert not any(hit.similar for hit, _ in every.shown.hits)


def test_like_texts_that_a_query_names_are_hits_of_their_own(world: World) -> None:
    """A year names two of five records; the others are folded."""
    for number, year in enumerate((1954, 1954, 1961, 1975, 1988)):
        world.add(f"{number}.md", [f"water record {year}"])
    found = ask(world, SearchQuery("water record of 1954", SearchMode.LEXICAL, limit=9, min_score=0.0))
    assert {*paths(found)[:2]} == {"0.md", "1.md"}
    assert [hit.similar for hit, _ in found.shown.hits[:3]] == [0, 0, 2]


def test_a_name_alone_finds_nothing(world: World) -> None:
    """What has no vector yet is not found by meaning, though its document is called so."""
    world.add("a.md", ["one", "two"])
    world.embed_toward(QUERY, {"a.md": 1.0, "two": 0.5})
    for mode in (SearchMode.DENSE, SearchMode.HYBRID):
        found = ask(world, SearchQuery("zeppelin", mode, min_score=0.0))
        assert [chunk.text for _, chunk in found.shown.hits] == ["two"]


def test_without_words_documents_are_listed(world: World) -> None:
    """What the operators allow, the last updated first, each with its beginning; nothing is embedded."""
    for number in range(4):
        world.add(f"{number}.md", ["begin", "more"], tags=(f"t{number % 2}",), updated_ns=number)
    found = ask(world, SearchQuery("tag:t1"))
    assert paths(found) == ["3.md", "1.md"]
    assert {chunk.text for _, chunk in found.shown.hits} == {"begin"}
    assert (found.confidence, found.mode) == (Confidence.HIGH, SearchMode.LEXICAL)
    none = ask(world, SearchQuery("tag:missing"))
    assert (paths(none), none.confidence) == ([], Confidence.NONE)


def test_in_the_text_of_a_document_nothing_is_an_operator(world: World) -> None:
    """Nor is a word corrected."""
    world.add("a.md", ["water soil"])
    assert paths(ask(world, SearchQuery("water -path:a.md"))) == []
    found = ask(world, SearchQuery("water -path:a.md watr"), is_document=True)
    assert paths(found) == ["a.md"]
    assert [each.corrections for each in found.meant] == [{}]


def test_a_threshold_hides_what_is_less_similar(mixed: World) -> None:
    """And says how similar all of it was; hits without a similarity stay."""
    mixed.add("pending.md", ["water pending"])
    query = SearchQuery("water", limit=9, min_score=0.0, threshold=0.35)
    assert {*paths(ask(mixed, query))} == {"4.md", "5.md", "pending.md"}
    found = ask(mixed, replace(query, text="soil", mode=SearchMode.DENSE, threshold=0.9))
    assert paths(found) == []
    assert max(found.hidden) == pytest.approx(0.5, abs=1e-3)


def test_a_long_document_does_not_fill_the_answer(world: World) -> None:
    """More candidates are found until there are as many documents as wanted."""
    world.add("long.md", [f"water {number}" for number in range(300)])
    for number in range(4):
        world.add(f"{number}.md", [f"water soil garden summer tomato {'x' * number}"])
    found = ask(world, SearchQuery("water", SearchMode.LEXICAL, limit=5, min_score=0.0, all_similar=True))
    assert {*paths(found)} == {"long.md", *(f"{number}.md" for number in range(4))}
