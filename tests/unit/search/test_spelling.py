"""Which words are mistyped, and which are only unknown."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contract.store_world import World, read

from mdvec.search.spelling import Spelling, check_spelling, first_letter_neighbours, neighbours
from mdvec.stores.records import ChunkTerms
from mdvec.stores.sqlite.store import SqliteStore
from mdvec.text.indexed_terms import index_terms
from mdvec.types.query import Where

WORDS = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=12)


@pytest.fixture
def world(world: World) -> World:
    """Notes about backups, one of them in Japanese, and another collection."""
    texts = {
        "a.md": "The retention policy of a backup: a backup is kept, a bundle is sent.",
        "b.md": "Backup every bundle to the cloud, then mail the report.",
        "c.md": "全文検索エンジンの設定とバックアップ",
    }
    for path, text in texts.items():
        add(world, path, text)
    return world


def add(world: World, path: str, text: str) -> None:
    terms = index_terms(text)
    world.add(path, [text], terms=[ChunkTerms(terms.main, terms.minor)])


def spelling(world: World, *texts: str, tokens_in: Callable[[str], int] = lambda _: 0) -> Spelling:
    return read(world.store, lambda view: check_spelling(texts, Where(world.collections), view, tokens_in))


def test_what_the_model_knows_is_no_typo(world: World) -> None:
    """A word of its own that differs in a letter from one that is held; it is unknown all the same."""
    assert spelling(world, "backup bundles in a bunjle").corrections == {"bunjle": "bundle"}
    known = spelling(world, "backup bundles in a bunjle", tokens_in=lambda word: 1 + (word != "bunjle"))
    assert (known.corrections, known.unknown) == ({}, ("bunjle",))


def test_what_the_dictionary_knows_is_no_typo(world: World) -> None:
    """A dictionary knows "slope", whatever the documents hold; "scpoe" is none of its words."""
    add(world, "d.md", "The scope of the contract.")
    assert spelling(world, "the slope of a backup").corrections == {}
    assert spelling(world, "the scpoe of a backup").corrections == {"scpoe": "scope"}


@pytest.mark.parametrize(
    "word", ["backUp2", "bacKup", "BACKPU", "back_pu", "backpu.py", "/backpu", "backpu2", "bac"]
)
def test_a_word_that_is_a_name_stays(world: World, word: str) -> None:
    """Capitals inside, digits, paths and identifiers are meant so; a short word is near to too many."""
    assert spelling(world, f"retention of {word}").corrections == {}


def test_no_word_is_corrected_to_a_short_one(world: World) -> None:
    """A word of three letters is near to too many, from its own side as well."""
    add(world, "d.md", "Grow udo in spring.")
    found = spelling(world, "undo the retention")
    assert (found.corrections, found.unknown) == ({}, ("undo",))


def test_a_capital_in_front_is_no_name(world: World) -> None:
    """Questions begin with one."""
    assert spelling(world, "Bakcup retention").corrections == {"Bakcup": "backup"}


@pytest.mark.parametrize("query", ["wie spät ist sicherung", "combien retenton", "クラウド 予算 温泉宿"])
def test_a_foreign_question_stays(world: World, query: str) -> None:
    """Where no word of several is known, none is mistyped."""
    found = spelling(world, query)
    assert (found.corrections, found.unknown, found.is_foreign) == ({}, tuple(query.split()), True)


def test_a_word_whose_translation_is_known_is_not_missed(world: World) -> None:
    """Nor is one that texts have in another spelling."""
    add(world, "d.md", "家賃は八万円。")
    assert spelling(world, "the rent").unknown == ()
    assert spelling(world, "retention ヤチン").unknown == ()
    add(world, "e.md", "引っ越しに3000円。")
    assert spelling(world, "引越しに3,000円").unknown == ()


def test_words_of_questions_are_not_missed(world: World) -> None:
    """Notes do without them in Japanese, too."""
    assert spelling(world, "retention は何回まで、その方法").unknown == ()
    assert spelling(world, "retention の人工衛星").unknown == ("人工衛星",)


def test_one_unknown_word_is_no_language(world: World) -> None:
    """It is mended, or missed."""
    assert spelling(world, "retenton").corrections == {"retenton": "retention"}
    assert spelling(world, "zeppelin").unknown == ("zeppelin",)


@pytest.mark.parametrize(
    ("query", "is_strange"),
    [
        ("zzqqxx", True),
        ("the zzqqxx?", True),
        ("zzqqxx retention", False),
        ("zzqqxx qwxzv", False),
        ("the", False),
    ],
)
def test_a_single_word_that_nothing_knows_is_strange(world: World, query: str, is_strange: bool) -> None:
    """Several may be of another language, and the model may know a word that no text has, or its parts."""
    assert spelling(world, query, tokens_in=lambda word: len(word) // 2).is_strange is is_strange
    assert not spelling(world, query, tokens_in=lambda word: len(word) // 3).is_strange
    assert not spelling(world, query).is_strange


def test_a_word_that_texts_write_as_two_is_two(world: World) -> None:
    """And two words that they write as one are one, if they do not have both."""
    add(world, "d.md", "A needlestick injury. Peanut butter is banned; a hash table.")
    assert spelling(world, "needle stick").corrections == {"needle stick": "needlestick"}
    assert spelling(world, "peanutbutter").corrections == {"peanutbutter": "peanut butter"}
    assert spelling(world, "retention of hashTable").corrections == {"hashTable": "hash Table"}
    assert (
        spelling(world, "retention of hashTable").mended("日本語hashTableのhashTabled")
        == "日本語hash TableのhashTabled"
    )
    add(world, "e.md", "It has 16GB, and a cable of 30 mm.")
    assert spelling(world, "16 GB needlestick").corrections == {"16 GB": "16GB"}
    assert spelling(world, "cable 30mm").corrections == {"30mm": "30 mm"}
    add(world, "f.md", "家賃は165,000円。解像度は1920×1080。")
    assert spelling(world, "家賃 16万5千円 1920x1080 1920 x 1080").unknown == ()
    assert spelling(world, "家賃 17万円").unknown == ("17万",)
    assert spelling(world, "bannedpeanut").corrections == {}  # not next to each other
    assert spelling(world, "retention butter").corrections == {}


def test_a_word_that_no_text_has_is_its_closest_synonym(world: World) -> None:
    """Only one that texts of these collections have."""
    add(world, "d.md", "Two aubergines. The tap drips. 医師に相談する。")
    assert spelling(world, "eggplants").corrections == {"eggplants": "aubergine"}
    assert spelling(world, "the leaky faucet and the sofa").corrections == {"faucet": "tap"}
    assert spelling(world, "医者の話").corrections == {"医者": "医師"}
    assert spelling(world, "医者の話").mended("医者の話") == "医師の話"
    assert spelling(world, "the tap of the backup").corrections == {}


def test_a_word_in_kanji_is_its_reading(world: World) -> None:
    """Where texts have it as a word, and not as a part of another one."""
    add(world, "d.md", "薬でじんましんが出た。カビに注意。うまくくらす。")
    assert spelling(world, "蕁麻疹の薬").corrections == {"蕁麻疹": "じんましん"}
    assert spelling(world, "黴 掃除").corrections == {"黴": "カビ"}
    assert spelling(world, "枕の薬") == Spelling(unknown=("枕",))
    add(world, "e.md", "低いまくら")
    assert spelling(world, "枕の薬").corrections == {"枕": "まくら"}
    assert spelling(world, "薬を落とす時") == Spelling()  # 落 is the beginning of a verb


def test_a_first_letter_is_wrong_only_where_nothing_else_matches(world: World) -> None:
    """Most typos are further behind: the more frequent word does not win by another first letter."""
    assert spelling(world, "vackup retention").corrections == {"vackup": "backup"}
    assert spelling(world, "eport of backup").corrections == {"eport": "report"}
    for number in range(3):
        add(world, f"{number}.md", "A posse.")
    assert spelling(world, "hosse backup").corrections == {"hosse": "posse"}
    add(world, "house.md", "A house.")
    assert spelling(world, "hosse backup").corrections == {"hosse": "house"}


def test_no_document_no_spelling(tmp_path: Path) -> None:
    """In an empty index every word would be unknown."""
    with closing(SqliteStore(tmp_path / "empty.sqlite")) as store:
        assert spelling(World(store), "retenton of backups") == Spelling()


def test_only_words_are_mended() -> None:
    """Whole ones, as typed, with everything around them as it was."""
    found = Spelling({"Bakcup": "backup", "on": "in"})
    assert found.mended("Bakcup, Bakcups (on) front") == "backup, Bakcups (in) front"


@given(WORDS)
def test_neighbours_are_one_edit_away(word: str) -> None:
    """Each once, never the word itself; being a neighbour is mutual."""
    near, first = neighbours(word), first_letter_neighbours(word)
    for found in (near, first):
        assert len({*found}) == len(found)
        assert word not in found
        assert all(abs(len(each) - len(word)) <= 1 for each in found)
    assert all(each.endswith(word[1:]) for each in first)


def test_neighbours_by_every_edit() -> None:
    """Another letter, one too many, one missing, two exchanged; first letters apart."""
    near, first = {*neighbours("abcd")}, {*first_letter_neighbours("abcd")}
    assert {"bacd", "acbd", "abd", "abcde", "abxd", "abcxd"} <= near
    assert {"xbcd", "bcd", "xabcd"} <= first
    assert near.isdisjoint({"xbcd", "bcd", "xabcd"})


def test_the_parts_of_a_word_with_hyphens_are_known_where_it_is_one_word(world: World) -> None:
    """A query of e-mail lacks nothing where texts have email."""
    add(world, "d.md", "Send an email.")
    assert spelling(world, "an e-mail").unknown == ()
    assert spelling(world, "backup by e-post").unknown == ("e", "post")
