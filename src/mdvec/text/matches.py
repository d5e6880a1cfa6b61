"""Places in a text where the words and phrases of a query occur, regardless of case, width and punctuation.

Japanese is written without spaces, so a space next to it means nothing: ``30 秒`` is ``30秒``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, pairwise

from mdvec.text.dates import find_date, without_date
from mdvec.text.dictionary import is_hiragana, other_spellings
from mdvec.text.folding import VARIANTS, fold_name, normalise
from mdvec.text.numbers import numbers_in, plain_numbers
from mdvec.text.operators import Operator, parse_query
from mdvec.text.plain import without_addresses
from mdvec.text.prose import without_marks
from mdvec.text.scripts import HIRAGANA, UNSPACED, holds_unspaced
from mdvec.text.terms import (
    Memory,
    bigrams_of,
    codes_in,
    forms_of,
    indexed_spellings,
    joined_words,
    phrase_spellings,
    query_terms,
    run_pattern,
    without_hyphens,
)

# A character with its combining marks: normalising such a unit alone equals normalising it in place.
# Normalising takes quadratic time in the number of marks; no character has more.
_MAX_MARKS = 30
_COMBINING = "\u0300-\u036f\u3099\u309a\uff9e\uff9f"
_UNIT = re.compile(
    rf"[ヴウ][ァィェォュョ]|イヤ|[^々]々|[^{_COMBINING}][{_COMBINING}]{{0,{_MAX_MARKS}}}|.", re.DOTALL
)
_MARK = re.compile(rf"[{_COMBINING}ヴ々]|ウ[ィェォ]|イヤ")
_MAX_TERMS = 64

_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalnum())
_NO_WORD = re.compile(r"[\W_]+")
# With the character before, which combining marks change.
_BEYOND_ASCII = re.compile(r"[\x00-\x7f]?[^\x00-\x7f]+")
_POINT_IN_NUMBER = re.compile(r"(?<=\d)\.(?=\d)")
_WORD_END = re.compile(rf"[^\W_{UNSPACED}]")
_HAN = re.compile("[\u4e00-\u9fff]")
_SPACE_BESIDE_UNSPACED = re.compile(rf"(?<=[{UNSPACED}]) | (?=[{UNSPACED}])")
# Of links, notes, HTML, attributes and readings, whose inside parts the words around them.
# A word with a digit, or a name in several parts: codes, telephone numbers, legacyAuth and legacy_auth.
_CODE = re.compile(r"\b(?=\w{4})(?:(?=\w*\d)|(?=\w*[a-z][A-Z])|(?=\w+_\w))\w+", re.ASCII)
_PARTICLE = re.compile(rf"(?<!\S)[{HIRAGANA}](?!\S)")  # which joined a word that is left out
_JOINT = r"[ ./()_-]{0,3}"
_MAX_CODES = 8
_LEAST_CODE = 3  # characters; two such as 4B are in many texts
_Finder = Callable[[str], Iterator[tuple[int, int]]]

_LINK_SIGN = re.compile(r"\][(\[{]|\||\[\^|</?\w|\{:?[.#]|《")


@lru_cache(maxsize=32)  # an answer asks several times about each of its texts
def match_spans(query: str, text: str) -> Sequence[tuple[int, int]]:
    """Find the words of a query in a text.

    Returns:
        Spans (start, end), ascending, not touching each other. Latin words match whole words in any
        of their forms, other scripts match anywhere. Quoted phrases match literally, and words after a minus
        do not match. Translations match in a text without any of the words. A day matches however a text
        writes it; in a text that has it, its numbers and signs do not match elsewhere.
    """
    dated = find_date(query)
    days = [*dated[0].spans_in(text)] if dated else []
    words, anywhere, translations, phrases, others = _wanted(without_date(query) if days else query)
    folded, starts, ends = _fold(text)
    spans = [*_words(folded, words), *_anywhere(folded, anywhere)]
    spans = spans or [*_words(folded, translations), *_anywhere(folded, filter(holds_unspaced, translations))]
    for operator in phrases:
        spans += phrase_spans(operator.text, folded, prefix=operator.prefix)
    found = [(starts[start], ends[end - 1]) for start, end in spans]
    merged: list[tuple[int, int]] = []
    for start, end in sorted(chain(found, days, *(find(text) for find in others))):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


@lru_cache(maxsize=32)
def beyond_name(query: str, name: str) -> str:
    """Return the part of a query that the name of a document does not have; all of it if nothing is left.

    The words of its title and path say which document is meant, and the others which of its lines.
    """
    folded, starts, ends = _fold(query)
    named = normalise(name)
    runs = [*run_pattern(named).finditer(named)]
    words = frozenset(forms_of[run[0]][0] for run in runs if run.lastindex is None).difference(("",))
    pairs = {pair for run in runs if run.lastindex for pair in bigrams_of(run[0]) if not is_hiragana(pair)}
    found = [
        (starts[start], ends[end - 1]) for start, end in (*_words(folded, words), *_anywhere(folded, pairs))
    ]
    if (dated := find_date(query)) and dated[0].is_in(name):
        found.append(dated[1].span())
    rest = query
    for start, end in found:
        rest = rest[:start] + " " * (end - start) + rest[end:]
    rest = _PARTICLE.sub(" ", rest)
    return rest if any(_wanted(rest)[:2]) else query


def matched_words(query: str, text: str) -> set[str]:
    """Return the different words of a query in a text."""
    return {text[start:end].casefold() for start, end in match_spans(query, text)}


@lru_cache(maxsize=16)  # an answer looks for one query in many texts
def _wanted(
    query: str,
) -> tuple[frozenset[str], tuple[str, ...], frozenset[str], tuple[Operator, ...], tuple[_Finder, ...]]:
    """Return the terms of words, those that match anywhere, the translations, the phrases, and finders.

    These find codes and numbers in any notation.
    """
    parsed = parse_query(query)
    terms = query_terms(" ".join(parsed.plain), limit=_MAX_TERMS)
    words, anywhere = terms.words, (*terms.bigrams, *terms.pairs)
    if not (words or anywhere):
        words, anywhere = terms.stop_words, terms.particles
    spelled = [each for others in other_spellings(" ".join(parsed.plain)).values() for each in others]
    anywhere = (*anywhere, *(each for each in spelled if len(each) > 1))
    others = (term for word in terms.translated for each in word.others for term in each if len(term) > 1)
    phrases = tuple(each for each in parsed.operators if each.is_evidence)
    plain = plain_numbers(query)
    codes = [
        *map("".join, codes_in(plain)),
        *_CODE.findall(plain),
        *(each.plain for each in numbers_in(query)),
    ]
    long = {code: None for each in codes if len(code := each.replace("_", "")) >= _LEAST_CODE}
    finders = [*map(_finder_of_code, [*long][:_MAX_CODES]), *([_finder_of_numbers(long)] if long else [])]
    return frozenset(words), anywhere, frozenset(others), phrases, tuple(finders)


def _finder_of_code(code: str) -> _Finder:
    """Return what finds a code, with or without signs or spaces between its characters."""
    pattern = re.compile(rf"(?<![^\W_])0?{_JOINT.join(code.removeprefix('0'))}(?![^\W_])", re.IGNORECASE)
    return lambda text: (found.span() for found in pattern.finditer(text))


def _finder_of_numbers(numbers: Collection[str]) -> _Finder:
    """Return what finds numbers of several parts."""
    return lambda text: (number.span for number in numbers_in(text) if number.plain in numbers)


def _fold(text: str) -> tuple[str, Sequence[int], Sequence[int]]:
    """Normalise unit by unit.

    Returns:
        The folded text, and for each of its characters the start and the end of the unit it comes from: one
        character may become several.
    """
    starts: Sequence[int] = range(len(text))
    ends: Sequence[int] = range(1, len(text) + 1)
    if text.isascii():
        return text.lower(), starts, ends
    if _MARK.search(text) is None:
        units = list(map(_folded_unit.__getitem__, text))
    else:
        found = list(_UNIT.finditer(text))
        units = [_folded_unit[match.group()] for match in found]
        starts, ends = [match.start() for match in found], [match.end() for match in found]
    folded = "".join(units)
    if len(folded) == len(units) and all(units):  # each of them is one character, as nearly always
        return folded, starts, ends
    of_character = [number for number, unit in enumerate(units) for _ in unit]
    return folded, [starts[number] for number in of_character], [ends[number] for number in of_character]


_folded_unit = Memory(normalise)


def _words(folded: str, wanted: frozenset[str]) -> Iterator[tuple[int, int]]:
    for match in run_pattern(folded).finditer(folded) if wanted else ():
        if match.lastindex is None and not wanted.isdisjoint(forms_of[match.group()]):
            yield match.span()


def _anywhere(folded: str, terms: Iterable[str]) -> Iterator[tuple[int, int]]:
    for term in terms:
        at = folded.find(term)
        while at >= 0:
            yield at, at + len(term)
            at = folded.find(term, at + len(term))


def phrase_finder(phrase: str, *, prefix: bool = False) -> Callable[[str], bool] | None:
    """Return a predicate: True for a text that contains a phrase; None if the phrase has no words.

    Words match whole: ``422`` is not in ``1422``. Scripts without spaces have no word boundaries.

    Args:
        phrase: The phrase, in any of its spellings.
        prefix: Whether its last word is only a prefix.
    """
    finders = [_finder(each, prefix=prefix) for each in phrase_spellings(phrase)]
    found = [each for each in finders if each is not None]
    if len(found) <= 1:
        return found[0] if found else None
    return lambda text: any(holds(text) for holds in found)


def _finder(phrase: str, *, prefix: bool) -> Callable[[str], bool] | None:
    phrase = plain_numbers(phrase)
    folded = fold_name(phrase)
    if not any(map(str.isalnum, folded)):
        return None
    has_number = any(map(str.isdecimal, folded))
    starts_whole = _WORD_END.match(folded[0]) is not None
    ends_whole = _WORD_END.match(folded[-1]) is not None and not prefix
    # Most texts are passed over by their characters alone. Folding makes no new Chinese ones (except from
    # variants and signs such as ㈱), and other forms of a text have its letters in the same order.
    characters = frozenset(_HAN.findall(folded)).difference(VARIANTS.values())
    letters = _letters(phrase)
    is_joined = holds_unspaced(folded)
    words = [] if is_joined else folded.split()
    folded = _joined(folded) if is_joined else folded

    def holds(text: str) -> bool:
        seen = without_marks(text)
        seen = plain_numbers(seen) if has_number else seen  # 200 is not in 1,200
        every = _letters(seen)
        if not (all(map(seen.__contains__, characters)) and all(map(every.__contains__, words))):
            return False
        codes = " ".join(indexed_spellings(seen)) if has_number else ""
        whole = [seen] if letters in every else []
        if _LINK_SIGN.search(seen) and letters in _letters(shown := without_addresses(seen)):
            whole.append(shown)
        forms = [form for each in whole for form in (each, joined_words(each), without_hyphens(each))]
        for form in dict.fromkeys((*forms, codes)):
            own = _joined(fold_name(form)) if is_joined else fold_name(form)
            start = own.find(folded)
            while start >= 0:
                end = start + len(folded)
                cut_before = starts_whole and start and _WORD_END.match(own, start - 1)
                if not cut_before and not (ends_whole and _WORD_END.match(own, end)):
                    return True
                start = own.find(folded, start + 1)
        return False

    return holds


def phrase_spans(phrase: str, text: str, *, prefix: bool = False) -> list[tuple[int, int]]:
    """Return the spans of a phrase in a text whose case and width are folded.

    Args:
        phrase: A phrase, as for :func:`phrase_finder`.
        text: The text; any punctuation may stand between its words.
        prefix: Whether the last word is only a prefix; the span covers the whole word.
    """
    return [span for each in phrase_spellings(phrase) for span in _spans(each, text, prefix=prefix)]


def _spans(phrase: str, text: str, *, prefix: bool) -> Iterator[tuple[int, int]]:
    folded = fold_name(phrase)
    bound = rf"[^\W_{UNSPACED}]"
    inside = re.escape(folded[0])
    for first, second in pairwise(_joined(folded)):
        if second == " ":
            inside += r"[\W_]+"
        elif first == " " or (_WORD_END.match(first) and _WORD_END.match(second)):
            inside += re.escape(second)
        else:
            inside += rf"[\W_]*{re.escape(second)}"
    before = rf"(?<!{bound})" if _WORD_END.match(folded[0]) else ""
    after = rf"{bound}*" if prefix else rf"(?!{bound})" if _WORD_END.match(folded[-1]) else ""
    return (match.span() for match in re.finditer(before + inside + after, text))


def fold_heading(heading: str) -> str:
    """Return the form in which headings and clauses are compared.

    Each word is in the form that its inflections share, and function words are left out unless there are no
    others: "Changing the PIN" is "change PIN". A number is one word: 200 is not in 1,200, nor 1.1 in 1.1.0.
    """
    folded = plain_numbers(normalise(heading))
    folded = _POINT_IN_NUMBER.sub("point", folded)
    runs = run_pattern(folded).finditer(folded)
    words = [run[0] if run.lastindex else forms_of[run[0]][0] for run in runs]
    return " ".join(filter(None, words)) or fold_name(heading)


def _letters(text: str) -> str:
    """Return the folded letters and digits of a text; without ``ー``, which is often typed as a hyphen."""
    if not text.isascii():
        text = _BEYOND_ASCII.sub(lambda found: _letters_of_run(found[0]), text)
    raw = text.lower().encode("utf-8", "surrogatepass")
    return raw.translate(None, _NO_LETTERS).decode("utf-8", "surrogatepass")


@lru_cache(maxsize=2_000)  # nearly all of a text in English are the same few quotes and dashes
def _letters_of_run(run: str) -> str:
    return _NO_WORD.sub("", normalise(run)).replace("ー", "")


def _joined(folded: str) -> str:
    """Return a folded text without the spaces next to Japanese."""
    return _SPACE_BESIDE_UNSPACED.sub("", folded)
