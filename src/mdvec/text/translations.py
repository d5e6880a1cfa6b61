"""Translations of the words of a query, from a dictionary: 避難 for evacuation, rent for 家賃."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mdvec.text.dictionary import TRANSLATIONS, others_of
from mdvec.text.spellings import in_hiragana, japanese_runs, spellings_of, words_of

_JOINED = "_"
_MOST_WORDS = 2


def translations(folded: str, stems: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the words of a query, each with its translations.

    Args:
        folded: The folded query.
        stems: Its English words as stems, in order; function words are empty.

    Yields:
        A Japanese word with the stems of English ones, or stems with Japanese words in all spellings; a space
        separates the stems of two words.
    """
    for run in japanese_runs(folded):
        for word in words_of(run, TRANSLATIONS):
            yield word, [each.replace(_JOINED, " ") for each in others_of(in_hiragana(word), TRANSLATIONS)]
    at = 0
    while at < len(stems):
        ends = range(min(len(stems), at + _MOST_WORDS), at, -1)
        phrases = [_JOINED.join(stems[at:end]) for end in ends if all(stems[at:end])]
        phrase = next((each for each in phrases if others_of(each, TRANSLATIONS)), "")
        if phrase:
            found = (spelling for each in others_of(phrase, TRANSLATIONS) for spelling in spellings_of(each))
            yield phrase.replace(_JOINED, " "), list(dict.fromkeys(found))
        at += phrase.count(_JOINED) + 1
