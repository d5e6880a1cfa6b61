"""Other spellings: one word that is written in several ways is found by each of them."""

from __future__ import annotations

from importlib.resources import files

import pytest

from mdvec.text.dictionary import SPELLINGS, TRANSLATIONS, other_spellings, others_of, translations
from mdvec.text.english import COMMON_WORDS
from mdvec.text.folding import normalise
from mdvec.text.indexed_terms import index_terms
from mdvec.text.matches import match_spans, phrase_finder
from mdvec.text.scripts import holds_unspaced
from mdvec.text.terms import indexed_spellings, query_terms, stem


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("an e-mail", "email"),
        ("an email", "e-mail"),
        ("well-\nknown", "well known"),
        ("well-\nknown", "wellknown"),
        ("GPT-4", "gpt4"),
        ("GPT4", "gpt-4"),
        ("ISBN 978-4-87311-778-2", "9784873117782"),
        ("1,234,567円", "1234567"),
        ("費用は年間１，２３４円です", "1234"),
        ("家賃は16万5千円", "165,000円"),
        ("家賃は165000円", "１６万５千円"),
        ("売上は3億5,000万円", "350000000"),
        ("1920×1080の画面", "1920x1080"),
        ("a 1920x1080 screen", "1920 x 1080"),
        ("返信はe-mailで送る", "email"),
        ("前はU.S.A.にいた", "USA"),
        ("a neuro\u2010transmitter", "neurotransmitter"),
        ("a pre\u2011flight check", "preflight"),
        ("crypto\u00ad\ngraphy", "cryptography"),
        ("photo- \ngraphy", "photography"),
        ("archi¬\ntecture", "architecture"),
        ("in the U.S.A.", "USA"),
        ("a Ph.D. thesis", "phd"),
        ("a trans-\n  formation", "transformation"),
        ("証明書を発\n行する", "発行"),
        ("マーク・トウェイン", "クト"),
        ("A N N U A L report", "annual"),
        ("検 索 エ ン ジ ン", "検索"),
        ("done 🎉", "🎉"),
        ("call 020 7946 0456 now", "02079460456"),
        ("02079460456", "020-7946 0456"),
        ("電話は03 3655 0001です", "0336550001"),
        ("+44 (0)20 7946 0456", "02079460456"),
        ("+44 7700 900 456", "07700900456"),
        ("London SE4 1QJ", "SE41QJ"),
        ("FLIGHT BA 502 LHR", "BA502"),
        ("roll 0912/558 731-4", "09125587314"),
        ("No. 84.221.907.3", "842219073"),
        ("the legacy_auth flag", "legacyAuth"),
        ("the legacyAuth flag", "legacy_auth"),
    ],
)
def test_a_word_is_found_in_its_other_spellings(text: str, query: str) -> None:
    """The terms of the text hold one by which the query looks."""
    terms = index_terms(text)
    asked = query_terms(query, limit=9)
    assert {*terms.main.split(), *terms.minor.split()} & {
        *asked.words[:1],
        *asked.bigrams,
        *asked.spellings,
    }


@pytest.mark.parametrize(
    ("query", "word", "spelling"),
    [
        ("やちん", "やちん", "家賃"),
        ("すしの作り方", "すし", "寿司"),
        ("来月のやちんはいくらですか", "やちん", "家賃"),
        ("今月のかいものリスト", "かいもの", "買い物"),
        ("ギョーザ", "ギョーザ", "餃子"),
        ("ぎょうざ", "ぎょうざ", "餃子"),
        ("向日葵の種", "向日葵", "ヒマワリ"),
        ("水もれ修理", "水もれ", "水漏れ"),
        ("打合せ", "打合せ", "打ち合わせ"),
        ("引っ越しの準備", "引っ越し", "引越し"),
        ("玉葱", "玉葱", "玉ネギ"),
        ("ネコのえさ", "ネコ", "ねこ"),
        ("かれー", "かれー", "カレー"),
        ("らーめんの店", "らーめん", "ラーメン"),
        ("ばいおりん", "ばいおりん", "バイオリン"),
        ("てれびを修理", "てれび", "テレビ"),
        ("ゔぁいおりんの弦", "ゔぁいおりん", "バイオリン"),
        ("﨟たけた竹の子", "竹の子", "筍"),
        ("けっこんしきの準備", "けっこんしき", "結婚式"),
        ("たんじょうび", "たんじょうび", "誕生日"),
        ("よぼうせっしゅを予約", "よぼうせっしゅ", "予防接種"),
    ],
)
def test_a_japanese_word_has_other_spellings(query: str, word: str, spelling: str) -> None:
    """Kana for kanji and the reverse, other kanji, other kana after kanji, and the other kana."""
    assert spelling in other_spellings(query)[word]


@pytest.mark.parametrize(
    "query",
    [
        "an e-mail",
        "どうすればいいですか",
        "買うまで",
        "電気料金",  # a longer word of kanji is not its parts
        "新しいものを食べすし",  # the end of a verb
    ],
)
def test_parts_of_other_words_have_none(query: str) -> None:
    """A word begins and ends where the kind of character changes, or at a particle."""
    assert other_spellings(query) == {}


def test_the_spellings_of_a_word_are_terms_of_their_own() -> None:
    """A spelling is found if a text has all of its bigrams, so they are together."""
    [word] = query_terms("ひまわり", limit=9).spelled
    assert word.typed == ("ひま", "まわ", "わり")
    assert word.others == (("向日", "日葵"), ("ヒマ", "マワ", "ワリ"))
    assert ("薬",) in query_terms("くすり", limit=9).spelled[0].others


@pytest.mark.parametrize(
    ("query", "word", "translation"),
    [
        ("where is the evacuation shelter", "evacu", "避難"),
        ("how long do I bake the custard pudding", "pud", "プリン"),
        ("remedies for hay fever", "hay fever", "花粉症"),
        ("how to get to Ise", "ise", "伊勢"),
        ("家賃はいくら", "家賃", "rent"),
        ("花粉症の薬", "花粉症", "hay fever"),
        ("京都の宿", "京都", "kyoto"),
        ("コミットを取り消す", "コミット", "commit"),
    ],
)
def test_a_word_has_translations(query: str, word: str, translation: str) -> None:
    """Of English words the stems are looked for; the stems of two words that are one name are together."""
    stems = ["" if each in COMMON_WORDS else stem(each) for each in query.lower().split()]
    assert translation in dict(translations(normalise(query), [] if holds_unspaced(query) else stems))[word]


def test_words_of_questions_have_no_translation() -> None:
    """A text in another language has them in every sentence, or not at all."""
    assert query_terms("how to get it and to use it", limit=9).translated == ()


def test_words_of_another_language_in_a_query_are_not_translated() -> None:
    """They are names of things in that language."""
    words = [each.typed for each in query_terms("Ruby の花粉症", limit=9).translated]
    assert words == [("花粉", "粉症")]


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("打合せ", "来週の打ち合わせ"),
        ("引越しの準備", "引っ越しの準備"),
        ("e-mail address", "an email address"),
        ("email address", "an e-mail address"),
    ],
)
def test_a_phrase_is_found_in_each_spelling_that_looks_the_same(phrase: str, text: str) -> None:
    """Other kana after the same kanji, and hyphens inside words."""
    holds = phrase_finder(phrase)
    assert holds is not None
    assert holds(text)


@pytest.mark.parametrize(("phrase", "text"), [("すし", "寿司"), ("水もれ", "水漏れ"), ("会う", "合う")])
def test_a_phrase_is_not_found_in_other_characters(phrase: str, text: str) -> None:
    """Quotation marks ask for these words, and these look otherwise."""
    holds = phrase_finder(phrase)
    assert holds is not None
    assert not holds(text)


def test_another_spelling_is_marked() -> None:
    """So the excerpt is the line that has it."""
    assert match_spans("やちん", "家賃は八万円") == [(0, 2)]


def test_a_translation_is_marked_where_no_word_is() -> None:
    """A text in the language of the query has its words."""
    assert match_spans("the rent", "家賃は八万円") == [(0, 2)]
    assert match_spans("家賃はいくら", "The rent is due") == [(4, 8)]
    assert match_spans("the rent", "The rent (家賃) is due") == [(4, 8)]


@pytest.mark.parametrize(
    "text",
    [
        "私の本を山で読む",  # particles
        "サーバーとネットワーク",  # foreign words: long, or with a long vowel
        "1 2 3 4 5 and a b c",
        "-x, a--b, 1,5 and 12,34",
        "見る人と話した人",
        "In 2024 I had 12 A and 34 B",
        "1 2 3 4 5 6 7 8 9 10 11 12",
        "y_i = x_i",
        ",".join(["100"] * 2_000),
    ],
)
def test_other_words_have_no_other_spelling(text: str) -> None:
    """Neither what stands between two words, nor numbers, nor a few letters in a row."""
    assert indexed_spellings(text) == []


@pytest.mark.parametrize("table", [SPELLINGS, TRANSLATIONS])
def test_each_word_of_a_table_is_found(table: str) -> None:
    """The lines are in the order of their bytes, and words are folded as those of queries are."""
    text = files("mdvec.text").joinpath(table).read_text(encoding="utf-8")
    lines = [line.split() for line in text.splitlines() if not line.startswith("#")]
    assert all(len(line) > 1 for line in lines)
    for word, *others in [*lines[::500], lines[0], lines[-1]]:
        assert others_of(word, table) == others
        assert normalise(word.replace("_", " ")).split() == word.split("_")
    assert others_of("んんん", table) == []


def test_of_a_pasted_text_few_words_are_looked_up() -> None:
    """A question has no more, and each takes time."""
    many = query_terms("家賃と餃子。" * 500, limit=64)
    assert len(many.translated) == 64
