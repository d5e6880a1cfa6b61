"""Answers from the memory store and from SQLite are the same."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from tests.contract.store_world import SPACE, STORES, open_store, vector_of

from mdvec.chunking.sections import SectionChunker
from mdvec.documents import PARSER_VERSION
from mdvec.documents.parse import parse_document
from mdvec.indexing.prepare import Prepared, prepare
from mdvec.indexing.recipe import Recipe
from mdvec.search.answer import Found, find
from mdvec.search.proximity import QuerySpace
from mdvec.stores.interface import Store
from mdvec.stores.records import DocumentRecord
from mdvec.text.tokens import estimate_token_ends
from mdvec.types.change import SourceEntry
from mdvec.types.collection import ChunkingSpec, SourceSpec
from mdvec.types.hit import Confidence, SearchHit
from mdvec.types.query import Expansion, Filters, SearchMode, SearchQuery, Where
from mdvec.types.space import Unrelated, UnrelatedTexts

_RECIPE = Recipe(
    parse_document,
    PARSER_VERSION,
    SectionChunker(token_ends=estimate_token_ends, tokenizer_name="estimate", max_tokens=40),
)
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
        assert isinstance(prepared, Prepared)
        records.append(prepared.record)
    return records


def _filled(store: Store, seed: int) -> Store:
    """Write two collections, each in a space of its own; a tenth of their texts is pending."""
    chance = random.Random(seed)
    for name, space in _SPACES.items():
        with store.write() as writer:
            collection = writer.add_collection(name, "", SourceSpec("folder", "/x"), ChunkingSpec())
            writer.put_documents(collection.id, _records(chance, 40))
            space_id = writer.open_space(space)
            writer.set_unrelated(space_id, UnrelatedTexts(_UNRELATED, _UNRELATED))
            pending = [
                *writer.pending(collection.id, space_id, 999),
                *writer.pending_names(collection.id, space_id, 999),
            ]
            embedded = {each.text_hash: each.text for each in pending if chance.random() < 0.9}
            vectors = np.stack([vector_of(f"{name} {text}", alike=0.3) for text in embedded.values()])
            writer.put_vectors(space_id, list(embedded), vectors)
    return store


def _answer(store: Store, query: SearchQuery, names: Sequence[str] = ("first", "second")) -> Found:
    with store.read() as view:
        chosen = [each for each in view.collections() if each.name in names]
        spaces = []
        for collection in chosen:
            space_id = view.find_space(_SPACES[collection.name])
            assert space_id is not None
            chunks, measured = view.counts(collection.id, space_id).chunks, view.unrelated(space_id)
            vector = vector_of(f"{collection.name} {query.text}", alike=0.3)
            spaces.append(QuerySpace(space_id, (collection.id,), vector, measured, chunks, unspaced=False))
        where = Where(tuple(each.id for each in chosen), query.filters)
        return find(query, where, view, spaces)


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
            hits, others = ([hit for hit, _ in each.hits] for each in (mine, theirs))
            assert _without_scores(hits) == _without_scores(others)
            assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in others], abs=1e-5)
            for hit, theirs_hit in zip(hits, others, strict=True):
                assert hit.similarity == (
                    None if theirs_hit.similarity is None else pytest.approx(theirs_hit.similarity, abs=1e-5)
                )
            assert mine.confidence == theirs.confidence
            assert [chunk.text for _, chunk in mine.hits] == [chunk.text for _, chunk in theirs.hits]
            found += len(hits)
    assert found > 100
    memory.close()
    other.close()


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_a_hit_names_its_best_chunk(tmp_path: Path, query: SearchQuery) -> None:
    """It is a part of the text, whole unless the text is cut, and starts at the line that is named."""
    store = _filled(open_store("memory", tmp_path), 0)
    hits = _answer(store, query).hits
    for hit, chunk in hits:
        assert hit.chunk_text in hit.text
        assert hit.chunk_text == chunk.text or query.max_tokens
        before = hit.text[: hit.text.index(hit.chunk_text)]
        assert hit.chunk_line == hit.start_line + before.count("\n")
    if query.as_passages and query.limit == 20 and query.mode is SearchMode.HYBRID:
        assert any(hit.chunk_line > hit.start_line for hit, _ in hits)
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
        collection = writer.add_collection("notes", "", SourceSpec("folder", "/x"), ChunkingSpec())
        for number, text in enumerate(texts):
            prepared = prepare(SourceEntry(f"{number}.md", f"{number}.md", 1, 1), text.encode(), _RECIPE)
            assert isinstance(prepared, Prepared)
            writer.put_documents(collection.id, [prepared.record])
    with store.read() as view:
        query = SearchQuery(phrase, mode=SearchMode.LEXICAL, limit=1)
        hits = find(query, Where((collection.id,)), view).hits
    assert [hit.path for hit, _ in hits] == ["90.md"]
    store.close()


@pytest.mark.parametrize("kind", STORES)
def test_an_empty_store_answers_nothing(tmp_path: Path, kind: str) -> None:
    """Without collections or chunks there is no hit, and no confidence."""
    store = open_store(kind, tmp_path)
    assert _answer(store, SearchQuery("garden"), ()) == Found([], Confidence.NONE)
    store.close()
