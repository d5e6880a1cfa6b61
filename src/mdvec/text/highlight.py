"""Highlighting: the places in a text where the words of a query occur."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from mdvec.text.folding import normalise
from mdvec.text.operators import Operator, parse_query
from mdvec.text.phrases import phrase_spans
from mdvec.text.terms import Memory, query_terms, run_pattern, word_terms

# A character with its combining marks: normalising such a unit alone equals normalising it in place.
# Normalising takes quadratic time in the number of marks; no character has more.
_MAX_MARKS = 30
_COMBINING = "\u0300-\u036f\u3099\u309a\uff9e\uff9f"
_UNIT = re.compile(rf"ヴ[ァィェォ]|[^{_COMBINING}][{_COMBINING}]{{0,{_MAX_MARKS}}}|.", re.DOTALL)
_MARK = re.compile(rf"[{_COMBINING}ヴ]")
_MAX_TERMS = 64


def match_spans(query: str, text: str) -> list[tuple[int, int]]:
    """Find the words of a query in a text.

    Returns:
        Spans (start, end), ascending, not touching each other. Latin words match whole words in any
        of their forms, other scripts match anywhere. Quoted phrases match literally, and words after a minus
        do not match.
    """
    words, anywhere, phrases = _wanted(query)
    folded, units = _fold(text)
    spans = [*_words(folded, words), *_anywhere(folded, anywhere)]
    for operator in phrases:
        spans += phrase_spans(operator.text, folded, prefix=operator.prefix)
    merged: list[tuple[int, int]] = []
    for start, end in sorted((units[start][0], units[end - 1][1]) for start, end in spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def matched_words(query: str, text: str) -> set[str]:
    """Return the different words of a query in a text."""
    return {text[start:end].casefold() for start, end in match_spans(query, text)}


@lru_cache(maxsize=16)  # an answer looks for one query in many texts
def _wanted(query: str) -> tuple[frozenset[str], tuple[str, ...], tuple[Operator, ...]]:
    """Return the terms of words, the terms that match anywhere, and the quoted phrases of a query."""
    parsed = parse_query(query)
    terms = query_terms(" ".join(parsed.plain), limit=_MAX_TERMS)
    words, anywhere = terms.words, (*terms.bigrams, *terms.pairs)
    if not (words or anywhere):
        words, anywhere = terms.stop_words, terms.particles
    return frozenset(words), anywhere, tuple(each for each in parsed.operators if each.is_evidence)


def _fold(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Normalise unit by unit.

    Returns:
        The folded text, and for each of its characters the span of the unit it comes from: one
        character may become several.
    """
    if text.isascii():
        return text.lower(), [(place, place + 1) for place in range(len(text))]
    if _MARK.search(text) is None:
        folded = list(map(_folded_unit.__getitem__, text))
        spans: Iterable[tuple[int, int]] = ((place, place + 1) for place in range(len(text)))
    else:
        found = list(_UNIT.finditer(text))
        folded = [_folded_unit[match.group()] for match in found]
        spans = (match.span() for match in found)
    units = [span for unit, span in zip(folded, spans, strict=True) for _ in unit]
    return "".join(folded), units


_folded_unit = Memory(normalise)


def _words(folded: str, wanted: frozenset[str]) -> Iterator[tuple[int, int]]:
    for match in run_pattern(folded).finditer(folded) if wanted else ():
        if match.group(1) is None and not wanted.isdisjoint(word_terms(match.group())):
            yield match.span()


def _anywhere(folded: str, terms: Iterable[str]) -> Iterator[tuple[int, int]]:
    for term in terms:
        yield from (match.span() for match in re.finditer(re.escape(term), folded))
