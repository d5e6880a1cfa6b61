"""Write the table of Japanese spellings, ``src/mdvec/text/spellings.txt``, from SudachiDict.

Each line has a word and its other spellings, kana as hiragana, all folded as texts are: those that the
dictionary lists for it, and for a word in kana all nouns in kanji that are read so.

    pip install sudachipy sudachidict_small
    python scripts/spellings.py
"""

from __future__ import annotations

import importlib
import importlib.metadata
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from mdvec.text.folding import normalise
from mdvec.text.scripts import HAN, HIRAGANA, KATAKANA
from mdvec.text.spellings import in_hiragana

TABLE = Path(__file__).parents[1] / "src/mdvec/text/spellings.txt"
_NOUNS = (("名詞", "普通名詞"), ("形状詞", "一般"))
_JAPANESE = re.compile(f"[{HAN}{HIRAGANA}{KATAKANA}]+")
_HAN = re.compile(f"[{HAN}]")
_SHORTEST = 2
# Two letters are read in many ways, and are part of many words.
_SHORTEST_READING = 3


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


def main() -> None:
    """Write the table."""
    version = importlib.metadata.version("sudachidict_small")
    lines = [
        " ".join((word, *sorted(others - {word})))
        for word, others in _spellings().items()
        if len(word) >= _SHORTEST and others - {word}
    ]
    notice = f"# From SudachiDict {version} (small), Works Applications, under the Apache License 2.0."
    TABLE.write_text("\n".join([notice, *sorted(lines)]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
