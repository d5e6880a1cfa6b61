"""Operators and spelling over every store: the same passages, and as many as there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
from tests.contract.store_world import SPACE, STORES, open_store, searched_in, vector_of

from mdvec.chunking.sections import SectionChunker
from mdvec.indexing.prepare import prepare
from mdvec.indexing.work import Recipe
from mdvec.search.interpretation import Interpretation, interpret
from mdvec.search.search import find
from mdvec.stores.interface import Store
from mdvec.stores.records import DocumentRecord, VectorKind
from mdvec.text.tokens import estimate_token_ends
from mdvec.types.change import SourceEntry
from mdvec.types.collection import Collection, SourceSpec
from mdvec.types.ids import CollectionId
from mdvec.types.query import SearchMode, SearchQuery, Where

_CHUNKER = SectionChunker(token_ends=estimate_token_ends, tokenizer_name="estimate", max_tokens=60)
_RECIPE = Recipe(_CHUNKER)

_NOTES: Mapping[str, str] = {
    "retry.md": "# Retry policy\n\nA retry policy says when a request is sent again.\n",
    "python/retry.md": "# Retries in Python\n\nThe Python client retries; its policy of retry is fixed.\n",
    "archive/old.md": "---\ntags: [draft/old]\n---\n# Old plan\n\nThe **retry** policy of the first plan.\n",
    "keep.md": "---\ntags: [ops]\nby: Jane Austen\nplace: New York\n---\n"
    "# Data retention\n\nRetention of records: seven years, "
    "with a watch, with logs.\n",
    "ja/検索.md": "# 検索\n\n検索クエリの説明をする。全文検索\nエンジンの設定。\n",
    "ja/設定.md": "# 設定\n\nクエリを保存する設定の説明。\n",
    "人.md": "---\naliases: [きょうと出張, 'Trip: B']\nauthor: '[[山田太郎]]'\n---\n# 出張\n\n宿の設定。\n",
    "link.md": "# Links\n\nSee https://example.org/retry/policy for the rest.\n",
}
_MODES = tuple(SearchMode)


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """The notes in one collection, and a word that nothing else holds in another."""
    store = open_store(request.param, tmp_path)
    for name, notes in (("notes", _NOTES), ("other", {"x.md": "# Zebra\n\nA zebra and its foal.\n"})):
        with store.write() as writer:
            collection = writer.collections.add(
                Collection(CollectionId(0), name, "", SourceSpec("folder", "/x"))
            )
            for time, (path, text) in enumerate(notes.items()):
                prepared = prepare(SourceEntry(path, path, time, 1), text.encode(), _RECIPE)
                assert isinstance(prepared, DocumentRecord)
                writer.documents.put(collection.id, [prepared])
            space_id = writer.spaces.open(SPACE)
            pending = writer.vectors.pending(VectorKind.TEXT, collection.id, space_id, 99)
            vectors = np.stack([vector_of(each.text, alike=0.3) for each in pending])
            writer.vectors.put(space_id, [each.text_hash for each in pending], vectors)
    yield store
    store.close()


def paths(store: Store, query: str, mode: SearchMode) -> set[str]:
    """Return the documents of all hits in the notes."""
    with store.read() as view:
        notes = next(each for each in view.collections.all() if each.name == "notes")
        space_id = view.spaces.find(SPACE)
        assert space_id is not None
        wanted = SearchQuery(query, mode=mode, limit=50, min_score=0.0, all_similar=True)
        found = find(wanted, Where((notes.id,)), searched_in(space_id, [notes], vector_of), view)
        return {hit.path for hit, _ in found.shown.hits}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('"retry policy"', {"retry.md", "archive/old.md", "link.md"}),
        ('"RETRY  Policy" request', {"retry.md", "archive/old.md", "link.md"}),
        ('"全文検索 エンジン"', {"ja/検索.md"}),
        ('"山田太郎"', {"人.md"}),
        ('"jane austen"', {"keep.md"}),
        ('"austen new york"', set()),  # two values
        ('"きょうと出張"', {"人.md"}),
        ('"trip: b"', {"人.md"}),
        ('"設定" -山田太郎', {"ja/検索.md", "ja/設定.md"}),
        ('"retry policy" -plan', {"retry.md", "link.md"}),
        ('"retry policy" -"first plan"', {"retry.md", "link.md"}),
        ("reten* years", {"keep.md"}),
        ('"検索クエリ"', {"ja/検索.md"}),
        ('"全文検索エンジン"', {"ja/検索.md"}),
        ('"説明"', {"ja/検索.md", "ja/設定.md"}),
        ("クエ* -検索", {"ja/設定.md"}),
        ("tag:draft", {"archive/old.md"}),
        ("tag:draft -tag:draft/old", set()),
        ("path:ja", {"ja/検索.md", "ja/設定.md"}),
        ("title:retr*", {"retry.md", "python/retry.md"}),
        ('"retry" -path:python -path:archive', {"retry.md"}),
        ("-retry -path:ja", {"keep.md", "link.md", "人.md"}),
        ('"retention" "years"', {"keep.md"}),
        ('"no such phrase"', set()),
    ],
)
def test_every_match_and_nothing_else_is_found(store: Store, query: str, expected: set[str]) -> None:
    """In every mode: what is required stands in each hit, what is left out in none."""
    assert {mode: paths(store, query, mode) for mode in _MODES} == dict.fromkeys(_MODES, expected)


def meaning(store: Store, query: str, *names: str) -> Interpretation:
    with store.read() as view:
        known = {each.name: each.id for each in view.collections.all()}
        return interpret(query, Where(tuple(known[name] for name in names or known)), view, lambda _: 0)


@pytest.mark.parametrize(
    ("typed", "meant", "corrections"),
    [
        ("retnetion of records", "retention of records", {"retnetion": "retention"}),
        ("Retenton, records", "retention, records", {"Retenton": "retention"}),
        ("retentionn", "retention", {"retentionn": "retention"}),
        ("recirds の設定", "records の設定", {"recirds": "records"}),
        ("wath of records", "watch of records", {"wath": "watch"}),  # not "with"
    ],
)
def test_a_typo_is_mended(store: Store, typed: str, meant: str, corrections: Mapping[str, str]) -> None:
    """By one letter that is too many, missing, another one or exchanged."""
    found = meaning(store, typed)
    assert (found.text, found.searched) == (meant, meant)
    assert found.corrections == corrections
    assert found.unknown_words == ()


@pytest.mark.parametrize(
    "typed", ['"retnetion" policy', "-retnetion policy", "RETENTON policy", "reten7ion policy"]
)
def test_what_is_quoted_a_name_or_a_number_stays(store: Store, typed: str) -> None:
    """Nothing replaces it."""
    found = meaning(store, typed)
    assert (found.corrections, found.searched) == ({}, typed)


def test_a_common_word_is_no_typo(store: Store) -> None:
    """Few notes hold all words that questions are made of."""
    found = meaning(store, "many records, even plans")  # "seven" is known, "even" is not
    assert (found.corrections, found.unknown_words) == ({}, ())


def test_unknown_words_are_named(store: Store) -> None:
    """Of spaced scripts and of Japanese, where another word of the query is known; function words never."""
    assert meaning(store, "the samesite policy").unknown_words == ("samesite",)
    assert meaning(store, "samesite").unknown_words == ("samesite",)
    assert meaning(store, "ダッシュボードの設定").unknown_words == ("ダッシュボード",)
    assert meaning(store, "how would anybody understand").is_foreign
    assert meaning(store, "retries of requests").unknown_words == ()


def test_a_word_of_another_collection_is_unknown(store: Store) -> None:
    """What counts is where the search looks; a word found nowhere there replaces none."""
    assert meaning(store, "zebra policy").unknown_words == ()
    assert meaning(store, "zebra policy", "notes").unknown_words == ("zebra",)
    assert meaning(store, "zebar foal", "other").searched == "zebra foal"
    assert meaning(store, "zebar policy", "notes").searched == "zebar policy"
