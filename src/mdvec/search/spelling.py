"""Words of a query that no document holds: mistyped ones are corrected, the others are reported."""

from __future__ import annotations

import re
import string
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from msgspec import Struct, field
from msgspec.structs import replace

from mdvec import run
from mdvec.stores.interface import View
from mdvec.stores.records import DocumentFrequencies
from mdvec.text.dictionary import SYNONYMS, in_hiragana, is_hiragana, others_of
from mdvec.text.english import COMMON_WORDS, STOP_WORDS
from mdvec.text.folding import normalise
from mdvec.text.matches import phrase_finder
from mdvec.text.numbers import numbers_in, plain_numbers
from mdvec.text.scripts import HAN, HIRAGANA, KATAKANA, compiled, holds_unspaced, is_english
from mdvec.text.terms import (
    LETTER,
    bigrams_of,
    query_terms,
    run_pattern,
    stem,
    whole_words,
    word_terms,
    written_term,
)
from mdvec.types.ids import ChunkId
from mdvec.types.query import ANY_VALUE, Comparison, Filters, PropertyCondition, Where

# In a shorter word, mistyped or held, another letter makes another word: "undo" is no "udo".
_MIN_LETTERS = 4
_MAX_LETTERS = 40  # the candidates of a word take the square of its length
_LETTERS_OF_TOKEN = 2.5  # fewer for each token of a model are no word in any language
_MIN_PART = 3  # letters of a word that is a part of another
_COUNTED = re.compile(r"\d+(?=[A-Za-z]+\Z)")
_MAX_READ = 20  # chunks, to see whether two words are next to each other
_PAIR = re.compile(r"(?<![^\W_])(\d+|[^\W\d_]+)(?=( [^\W\d_]+)(?![^\W_]))", re.ASCII)
# A question has hardly more unknown words; a mistyped one has some hundred neighbours to look up.
_MAX_MENDED = 8
_MAX_NAMED = 8
_MAX_TERMS = 64

_OF_JAPANESE_QUESTIONS = re.compile("何.*|方法|仕方|場合|理由|意味|[事物者所時話]")

# What is part of an identifier, a path or an address is as it is.
_TOKEN = re.compile(r"\S+")
_OUTER_SIGNS = "\"'`()[]{}<>*!?.,;:…、。！？「」『』（）“”‘’"
_FILE_SUFFIX = re.compile(r"(?<=\w)\.(?:md|mdx|markdown|txt)\b", re.IGNORECASE)
_INSIDE_WORDS = frozenset("-'’")

# A single kanji before other kana may be the beginning of a verb or an adjective.
_JAPANESE_WORD = rf"[{KATAKANA}]{{2,}}|[{HAN}]{{2,}}|[{HAN}](?![{HIRAGANA}])|[{HAN}](?=[のをはがに])"
_HAN_WORD = rf"[{HAN}]+"
# Before a word of hiragana: a particle, or the end of an adjective or a verb; after it a particle.
_BEFORE, _AFTER = "のをはがにでともやへかいるたなく", "のをはがにでともやへかだ"
_AS_WORD = f"(?:(?<![{HIRAGANA}])|(?<=[{_BEFORE}])){{}}(?:(?![{HIRAGANA}])|(?=[{_AFTER}]))"


class Spelling(Struct, frozen=True):
    """The corrections and the unknown words of a query.

    Attributes:
        corrections: Known words by the mistyped words that they replace, as typed.
        unknown: The other words that no document holds, as typed.
        is_foreign: Whether the documents hold none of several words, as with a question in another language.
        is_strange: Whether no document has its only word, and the model reads it letter by letter: "zzqqxx".
    """

    corrections: Mapping[str, str] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    is_foreign: bool = False
    is_strange: bool = False

    def mended(self, text: str) -> str:
        """Return a text with the corrections."""
        if not self.corrections:
            return text
        typed = "|".join(map(re.escape, self.corrections))
        expression = rf"(?<!{LETTER})(?:{typed})(?!{LETTER})"
        return re.sub(expression, lambda match: self.corrections[match[0]], text)


def check_spelling(
    texts: Sequence[str], where: Where, view: View, count_tokens: Callable[[str], int]
) -> Spelling:
    """Look up the words of a query.

    Args:
        texts: The query without its operators; quoted phrases are not corrected.
        where: Only its collections are used.
        view: The snapshot.
        count_tokens: Counts the tokens of a word in the model; 0 without a model. A word of a single token is
            certainly not mistyped, whatever the documents hold.
    """
    inside = Where(where.collections)
    words = list(dict.fromkeys(word for text in texts for word in _words(text)))
    japanese = list(dict.fromkeys(word for text in texts for word in _japanese_words(text)))
    if not (words or japanese):
        return Spelling()
    with run.current().step("spelling") as details:
        whole = {part: each for text in texts for each, parts in whole_words(text).items() for part in parts}
        terms = {word: _terms_of(word) for word in (*words, *japanese)}
        forms = _other_forms(texts)
        others = {
            word: forms.get(own if holds_unspaced(word) else own[:1], []) for word, own in terms.items()
        }
        terms |= {
            word: (*terms[word], *word_terms(whole[normalise(word)]))
            for word in words
            if normalise(word) in whole
        }
        pairs = {"".join(pair): pair[0] + pair[1][1:] for text in texts for pair in _PAIR.findall(text)}
        joined = {typed: word_terms(normalise(each))[-1] for typed, each in pairs.items()}
        every = [*terms.values(), *chain(*others.values()), [*joined.values()]]
        frequencies = view.words.frequencies([term for each in every for term in each])
        if not frequencies.chunks:
            return Spelling()
        held = {word for word in words if any(term in frequencies.of_term for term in terms[word])}
        held.update(word for word in japanese if _holds_japanese(word, terms[word], frequencies))
        known = frequencies.of_term.keys()
        held.update(word for word, found in others.items() if any(known >= {*each} for each in found))
        if len(where.collections) < len(view.collections.all()):
            groups = {word: [[*terms[word], *chain(*others[word])]] for word in held}
            chunks = view.words.holding([*groups.values()], inside, limit=1)
            held = {word for word, found in zip(groups, chunks, strict=True) if found}
        unknown = [word for word in (*words, *japanese) if word not in held]
        # In another language each word would be mistyped.
        is_foreign = not held and len(words) + len(japanese) > 1
        corrections = {
            typed: whole
            for typed, whole in pairs.items()
            if joined[typed] in known and not {*typed.split()}.isdisjoint(unknown)
        }
        unknown = [word for word in unknown if not any(word in typed.split() for typed in corrections)]
        alone = [word for word in unknown if normalise(word) not in whole]
        corrections |= _synonyms(alone[:_MAX_MENDED], inside, view)
        unknown = [word for word in unknown if word not in corrections]
        if unknown and not is_foreign:
            mendable = (each for each in _mendable(texts, unknown) if not others[each])
            mistyped = [each for each in mendable if count_tokens(each) != 1]
            corrections |= _corrections(mistyped[:_MAX_MENDED], inside, view)
            rest = [word for word in unknown if word not in corrections and not others[word]]
            corrections |= _parted(rest[:_MAX_MENDED], inside, view)
        is_alone = len(words) == 1 and unknown == words and not (japanese or corrections)
        is_strange = (
            is_alone and words[0].isalpha() and len(words[0]) < _LETTERS_OF_TOKEN * count_tokens(words[0])
        )
        details.update(unknown=len(unknown), corrected=len(corrections))
        left = [word for word in unknown if word not in corrections][:_MAX_NAMED]
        typed = {each.plain: text[slice(*each.span)] for text in texts for each in numbers_in(text)}
        left = [typed.get(word, word) for word in left if not _is_property(word, inside, view)]
    return Spelling(corrections, tuple(left), is_foreign, is_strange)


def _is_property(word: str, where: Where, view: View) -> bool:
    """Return True if a document has a property of this name, which is not among its words."""
    condition = PropertyCondition(word, Comparison.EQUAL, ANY_VALUE)
    return bool(view.documents.newest(replace(where, filters=Filters(properties=(condition,))), limit=1))


def _other_forms(texts: Sequence[str]) -> dict[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the terms of other spellings and of translations, by the terms of the word or by one of two."""
    found = defaultdict[tuple[str, ...], list[tuple[str, ...]]](list)
    for text in texts:
        terms = query_terms(text, limit=_MAX_TERMS)
        for word in (*terms.spelled, *terms.translated):
            starts = (word.typed[:end] for end in range(1, len(word.typed) + 1))  # its kanji alone
            for key in {*starts, *((term,) for term in word.typed if term.isascii())}:
                found[key] += word.others
    return found


def _words(text: str) -> Iterator[str]:
    """Yield the words of scripts with spaces, as typed, without the most common English ones.

    The end of a file's name, as in ``notes.md``, is no word, and ``3,000`` is one.
    """
    text = _FILE_SUFFIX.sub("", plain_numbers(text, "x"))
    for match in run_pattern(text).finditer(text):
        folded = normalise(match[0])
        if not (holds_unspaced(folded) or folded in COMMON_WORDS):
            yield match[0]


def _japanese_words(text: str) -> list[str]:
    """Return the words of katakana or kanji in a text; of single kanji, those that have other forms."""
    found = [] if text.isascii() else compiled(_JAPANESE_WORD).findall(plain_numbers(text))
    words = (word for word in found if not _OF_JAPANESE_QUESTIONS.fullmatch(word))
    return [word for word in words if len(word) > 1 or _synonyms_of(word)]


def _synonyms_of(word: str) -> Sequence[str]:
    folded = in_hiragana(normalise(word))
    return others_of(folded, SYNONYMS) or others_of(stem(folded), SYNONYMS)


def _terms_of(word: str) -> tuple[str, ...]:
    folded = normalise(word)
    return bigrams_of(folded) if holds_unspaced(word) else word_terms(folded)


def _holds_japanese(word: str, terms: Iterable[str], frequencies: DocumentFrequencies) -> bool:
    """Return True if the bigrams of a word occur: all of them, or any for a word of kanji alone."""
    known = [term in frequencies.of_term for term in terms]
    return any(known) if compiled(_HAN_WORD).fullmatch(word) else all(known)


def _synonyms(words: Sequence[str], inside: Where, view: View) -> dict[str, str]:
    """Return the closest synonym that texts have, of each word that has one."""
    found = {word: _synonyms_of(word) for word in words}
    every = [*dict.fromkeys(chain(*found.values()))]
    if not every:
        return {}
    groups = [
        [(term,) for term in _terms_of(each)] if holds_unspaced(each) else [_terms_of(each)] for each in every
    ]
    held = view.words.holding(groups, inside, limit=_MAX_READ)
    known = {each for each, ids in zip(every, held, strict=True) if ids and _is_word_in(each, ids, view)}
    closest = ((word, next(filter(known.__contains__, others), "")) for word, others in found.items())
    return {word: synonym for word, synonym in closest if synonym and not _is_property(word, inside, view)}


def _is_word_in(word: str, chunks: Sequence[ChunkId], view: View) -> bool:
    """Return False if texts have a word of hiragana only as a part of others: まくら in うまくくらす."""
    if not is_hiragana(word):
        return True
    found = compiled(_AS_WORD.format(word))
    return any(found.search(normalise(each.text)) for each in view.chunks.get(chunks).values())


def _parted(words: Sequence[str], inside: Where, view: View) -> dict[str, str]:
    """Return the two words that texts have next to each other instead of each of some words.

    Of ``lruCache`` that are ``lru Cache``, of ``16GB`` ``16 GB``.
    """
    places = {word: _places_in(word) for word in words if word.isascii()}
    parts = {part for word, found in places.items() for at in found for part in (word[:at], word[at:])}
    terms = {part: word_terms(normalise(part))[-1] for part in parts}
    known = view.words.frequencies([*terms.values()]).of_term if terms else {}
    corrections: dict[str, str] = {}
    for word, found in places.items():
        for at in found:
            pair = word[:at], word[at:]
            if word not in corrections and all(terms[part] in known for part in pair):
                [ids] = view.words.holding([[(terms[part],) for part in pair]], inside, limit=_MAX_READ)
                holds = phrase_finder(" ".join(pair))
                if holds and any(holds(each.text) for each in view.chunks.get(ids).values()):
                    corrections[word] = " ".join(pair)
    return corrections


def _places_in(word: str) -> list[int]:
    """Return the places where a word may be two: before a unit, or between a small and a capital letter."""
    if not word.isalpha():
        return [number.end()] if (number := _COUNTED.match(word)) else []
    inner = range(_MIN_PART, len(word) - _MIN_PART + 1)
    humps = [at for at in inner if word[at - 1].islower() and word[at].isupper()]
    return humps or [*inner]


def _mendable(texts: Iterable[str], unknown: Sequence[str]) -> Iterator[str]:
    """Yield the unknown words that may be mistyped: no identifiers or numbers, no capitals inside."""
    wanted = set(unknown)
    for text in texts:
        for token in _TOKEN.findall(text):
            core = token.strip(_OUTER_SIGNS)
            if all(sign.isalpha() or sign in _INSIDE_WORDS for sign in core):
                for word in _words(core):
                    is_long = _MIN_LETTERS <= len(word) <= _MAX_LETTERS
                    if word in wanted and is_long and word[1:].islower():
                        wanted.discard(word)
                        yield word


def _corrections(words: Sequence[str], inside: Where, view: View) -> dict[str, str]:
    """Return the most frequent known word one edit away from each mistyped word, if there is one."""
    english = {word: normalise(word) for word in words if is_english(normalise(word))}
    corrections = _best({word: neighbours(folded) for word, folded in english.items()}, inside, view)
    # Few words are mistyped in their first letter, and many words differ in it alone: only where nothing else
    # is known.
    rest = {
        word: first_letter_neighbours(folded) for word, folded in english.items() if word not in corrections
    }
    return corrections | _best(rest, inside, view)


def _best(near: Mapping[str, Sequence[str]], inside: Where, view: View) -> dict[str, str]:
    """Return the most frequent known neighbour of each word that has one."""
    if not near:
        return {}
    everywhere = len(inside.collections) >= len(view.collections.all())
    terms = {each: written_term(each) for found in near.values() for each in found}
    count = view.words.frequencies(list(terms.values())).of_term
    corrections: dict[str, str] = {}
    for word, found in near.items():
        known = [each for each in found if len(each) >= _MIN_LETTERS and terms[each] in count]
        # The most frequent one; function words come last, since they carry no subject.
        known.sort(key=lambda each: (each in STOP_WORDS, -count[terms[each]]))
        held = (
            each for each in known if everywhere or view.words.holding([[[terms[each]]]], inside, limit=1)[0]
        )
        best = next(held, None)
        if best is not None:
            corrections[word] = best
    return corrections


def neighbours(word: str) -> list[str]:
    """Return the words one edit away: one letter inserted, deleted or replaced, or two transposed.

    The first letter is nearly always right, so it is not changed, unless transposed with the second.

    References:
        Kukich, "Techniques for automatically correcting words in text", 1992, section 1.1.
    """
    letters = string.ascii_lowercase
    found: dict[str, None] = {}
    for at in range(len(word)):
        before, after = word[:at], word[at:]
        if len(after) > 1:
            found[before + after[1] + after[0] + after[2:]] = None
        if at:
            found[before + after[1:]] = None
            found.update(dict.fromkeys(before + letter + after[1:] for letter in letters))
            found.update(dict.fromkeys(before + letter + after for letter in letters))
    found.update(dict.fromkeys(word + letter for letter in letters))
    found.pop(word, None)
    return list(found)


def first_letter_neighbours(word: str) -> list[str]:
    """Return the words that differ in the first letter: another one, one too many, or one missing."""
    letters = string.ascii_lowercase
    others = (letter + rest for rest in (word[1:], word) for letter in letters)
    return [each for each in dict.fromkeys((word[1:], *others)) if each != word]
