"""Candidates by words: the terms of a query, the terms that find chunks, and the chunks' BM25 scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from mdvec import run
from mdvec.stores.interface import View
from mdvec.stores.records import BM25_K1, DocumentFrequencies, Groups
from mdvec.text.dictionary import has_hiragana, is_hiragana
from mdvec.text.terms import (
    QueryTerms,
    WordForms,
    is_unspaced_query,
    query_terms,
    whole_words,
    word_terms,
)
from mdvec.types.ids import ChunkId
from mdvec.types.query import Where

# A question has ten to thirty terms of a kind; more cost time and change little, since rare terms decide.
_MAX_TERMS = 64

# In a Japanese query, a Latin word weighs as much as a Japanese word of four characters (three bigrams).
_WORD_AMONG_BIGRAMS = 3

# How often another spelling or a translation of a word counts if texts also have the word as it was typed.
_FORM_TIMES = 0.5

# A minor term scores about this share of a main term at most, since its field weighs less (FIELD_WEIGHTS).
_MINOR_REACH = 0.5

# A term in more than this share of all chunks is common; in a small index no term is.
_COMMON_SHARE = 0.25
_MIN_COMMON = 2_000

# The rarest terms find chunks: as many terms as it takes until they occur in _HELD_PER_FOUND chunks for each
# one wanted, and make up _ESSENTIAL_SHARE of the maximum score.
_HELD_PER_FOUND = 10
_ESSENTIAL_SHARE = 0.5

SAMPLE_CHUNKS = 512
"""The most chunks of a space in a sample of it."""

UNRELATED_CHUNKS = 30
"""Unrelated texts count as so many more chunks. Else the one good hit in a folder of five notes would be a
fifth of its background, and a word that most of ten notes hold would be as common as function words."""

# In an index of more chunks they would change little.
_MANY_CHUNKS = 200

# A sample has one chunk of several like texts. Where it is smaller than this share of its largest size, like
# texts are so many that a word of theirs counts as common, though it tells them from everything else.
_FEW_DIFFERENT = 0.7
_IN_MANY = 0.1  # of all chunks: what fewer hold is rare as it is


class Words(Struct, frozen=True):
    """The evidence of words about one query.

    Attributes:
        are_used: Whether words were looked for.
        scores: BM25 scores of the chunks that contain query terms, best first.
        max_score: The largest BM25 score that a chunk could reach; 0 if no term is known.
        matched_weight: The share of the query's weight in terms that some chunk contains, 0..1.
        all_known: Whether each query term, function words aside, occurs in some chunk.
        holding: Those of the chunks that hold every word of the query.
    """

    are_used: bool = False
    scores: Mapping[ChunkId, float] = {}
    max_score: float = 0.0
    matched_weight: float = 0.0
    all_known: bool = True
    holding: frozenset[ChunkId] = frozenset()


KnownForms = Mapping[WordForms, Sequence[tuple[str, ...]]]
"""The words of a query with the terms of each of their other forms that texts may have."""


class QueryTerm(Struct, frozen=True):
    """A term of the query.

    Attributes:
        term: The term in its indexed form.
        times: How often it counts.
        reach: The share of ``(k1 + 1) * idf`` that a chunk can score by it.
    """

    term: str
    times: float = 1.0
    reach: float = 1.0

    @property
    def weight(self) -> float:
        """The factor of its idf in the maximum score."""
        return self.times * self.reach


def find_by_words(
    text: str, view: View, *, where: Where, limit: int, sample: Sequence[ChunkId] = ()
) -> Words:
    """Return the chunks that contain query terms, with their scores and the maximum score.

    Args:
        text: The query.
        view: The snapshot.
        where: Which chunks may be found.
        limit: Most chunks to return.
        sample: At most ``SAMPLE_CHUNKS`` chunks, of which none is like another.
    """
    with run.current().step("lexical") as details:
        query = query_terms(text, limit=_MAX_TERMS)
        forms = [*query.spelled, *query.translated]
        others = [term for word in forms for term in chain(word.typed, *word.others)]
        frequencies = view.words.frequencies([*(_informative(query) or query.particles), *others])
        known_forms = {word: held for word in forms if (held := _known_forms(word, frequencies))}
        typed = _typed(text, query, frequencies)
        typed_terms = {each.term for each in typed}
        more = [each for each in _of_forms(known_forms, frequencies) if each.term not in typed_terms]
        terms: Sequence[QueryTerm] = [each for each in (*typed, *more) if each.term in frequencies.of_term]
        is_informative = bool(terms)
        if not is_informative:
            # Half of all chunks may contain such a term, and counting them is slow: only as a last resort.
            last_resort = (*query.singles, *query.particles, *query.stop_words)
            frequencies = view.words.frequencies(last_resort)
            terms = [
                QueryTerm(term, reach=_MINOR_REACH) for term in last_resort if term in frequencies.of_term
            ]
        terms = _without_common(terms, frequencies)
        found = _ranked(terms, frequencies, view, where=where, limit=limit)
        if terms and where.chunks is not None:
            found = _with_required(found, where.chunks, limit, view)
        is_alike = 0 < len(sample) <= _FEW_DIFFERENT * min(SAMPLE_CHUNKS, frequencies.chunks)
        alike = frozenset(sample if is_alike else ())
        groups = _groups(text, query, known_forms)
        informative = terms if is_informative else ()
        holding, holders = _held(groups, informative, found, frequencies, where=where, alike=alike, view=view)
        found, gains = _with_gains(found, holders, frequencies, alike)
        details.update(terms=len(terms), found=len(found))
    weights = {
        each.term: each.weight * (frequencies.idf(each.term) + gains.get(each.term, 0.0)) for each in terms
    }
    matched = _matched_weight(weights, typed_terms, known_forms, frequencies)
    known = matched or sum(weights.values())  # the last resort
    in_other_forms = chain.from_iterable(word.typed for word in known_forms)
    present = {*frequencies.of_term, *query.spellings, *in_other_forms}
    unknown = sum(each.weight for each in typed if each.term not in present)
    return Words(
        are_used=True,
        scores=dict(found),
        max_score=(BM25_K1 + 1) * known,
        matched_weight=matched / (known + unknown * frequencies.largest_idf) if known else 0.0,
        all_known=not unknown,
        holding=holding,
    )


def _typed(text: str, query: QueryTerms, frequencies: DocumentFrequencies) -> list[QueryTerm]:
    """Return the terms of the words as they were typed.

    The parts of a word such as ``e-mail`` are left out where texts write it as one word alone.
    """
    known, parts = frequencies.of_term.keys(), set[str]()
    for whole, own in whole_words(text).items():
        terms = [word_terms(part) for part in own]
        if not known.isdisjoint(word_terms(whole)) and any(map(known.isdisjoint, terms)):
            parts.update(*terms)
    # How often a typed word between spaces counts.
    times = _WORD_AMONG_BIGRAMS if (query.bigrams or query.pairs) and is_unspaced_query(text) else 1
    return [each for each in _expanded(query, times) if each.term not in parts]


def _of_forms(known_forms: KnownForms, frequencies: DocumentFrequencies) -> list[QueryTerm]:
    """Return the terms of the words in other spellings and in the other language."""
    found: dict[str, float] = {}
    for word, held in known_forms.items():
        times = _FORM_TIMES if frequencies.of_term.keys() >= {*word.typed} else 1.0
        for term in chain(*held):
            found[term] = max(times, found.get(term, 0.0))
    return [
        QueryTerm(term, times, _MINOR_REACH if has_hiragana(term) else 1.0) for term, times in found.items()
    ]


def _matched_weight(
    weights: Mapping[str, float],
    typed: AbstractSet[str],
    known_forms: KnownForms,
    frequencies: DocumentFrequencies,
) -> float:
    """Return the weight of the words that some chunk has, each in the form that weighs most."""
    own = {term: weight for term, weight in weights.items() if term in typed}
    more = (
        max(_total(weights, each) for each in held) - _total(own, word.typed)
        for word, held in known_forms.items()
        if not frequencies.of_term.keys() >= {*word.typed}
    )
    return sum(own.values()) + sum(max(0.0, each) for each in more)


def _known_forms(word: WordForms, frequencies: DocumentFrequencies) -> list[tuple[str, ...]]:
    """Return the other forms of a word that texts may have: all of their terms are known.

    Pairs of hiragana are parts of many words, unless one is ー; so a word or a spelling of them alone has no
    other form if texts have it as it was typed.
    """
    known = frequencies.of_term.keys()
    is_common = known >= {*word.typed}
    return [
        each
        for each in word.others
        if known >= {*each}
        and not (is_common and any(all(map(is_hiragana, terms)) for terms in (word.typed, each)))
    ]


def _total(weights: Mapping[str, float], terms: Iterable[str]) -> float:
    return sum(weights.get(term, 0.0) for term in terms)


def _groups(text: str, query: QueryTerms, forms: KnownForms) -> list[tuple[str, ...]]:
    """Return the terms of each word of a query, in whichever spelling."""
    others: dict[str, tuple[str, ...]] = {
        term: word_terms(word)
        for word, parts in whole_words(text).items()
        for part in parts
        for term in word_terms(part)
    }
    for word, found in forms.items():
        others |= {term: (*others.get(term, ()), *chain(*found)) for term in word.typed}
    typed = (term for word in forms for term in word.typed)
    return [(term, *others.get(term, ())) for term in dict.fromkeys((*query.words, *query.bigrams, *typed))]


def _ranked(
    terms: Sequence[QueryTerm], frequencies: DocumentFrequencies, view: View, *, where: Where, limit: int
) -> list[tuple[ChunkId, float]]:
    least = min((1.0, *(each.times for each in terms)))
    every = _repeated(terms, least)
    # With few chunks the split saves nothing.
    essential = (
        every if view.words.holds_few(where) else _repeated(_essential(terms, frequencies, limit), least)
    )
    found = view.words.bm25(every, where, limit, must=essential)
    if len(found) < limit and len(essential) < len(every):
        found = view.words.bm25(every, where, limit)
    return [(chunk, least * score) for chunk, score in found]


def _held(
    groups: Groups,
    terms: Sequence[QueryTerm],
    found: Sequence[tuple[ChunkId, float]],
    frequencies: DocumentFrequencies,
    *,
    where: Where,
    alike: frozenset[ChunkId],
    view: View,
) -> tuple[frozenset[ChunkId], dict[str, list[ChunkId]]]:
    """Look up which chunks hold the words of a query.

    Args:
        groups: The terms of each word.
        terms: The terms of the query. The idf of some is too small if like texts are many or texts are few.
        found: The chunks, with their scores.
        frequencies: The frequencies of the terms.
        where: Which chunks were searched.
        alike: A sample of chunks that count, too, if like texts are many.
        view: The snapshot.

    Returns:
        The chunks found that hold every word, and the chunks that hold each term whose idf is too small.
    """
    least = _IN_MANY * frequencies.chunks if alike else 0.0
    if not alike and frequencies.chunks > _MANY_CHUNKS:
        least = math.inf
    common = [*dict.fromkeys(each.term for each in terms if frequencies.of_term[each.term] > least)]
    ids = frozenset(chunk for chunk, _ in found)
    wanted = [*([groups] if groups else ()), *([[term]] for term in common)]
    if not (ids and wanted):
        return frozenset(), {}
    inside = replace(where, chunks=ids)
    if alike:
        inside = Where(tuple(each.id for each in view.collections.all()), chunks=ids.union(alike))
    held = view.words.holding(wanted, inside)
    holding = ids.intersection(held.pop(0)) if groups else frozenset[ChunkId]()
    return holding, dict(zip(common, held, strict=True))


def _with_gains(
    found: list[tuple[ChunkId, float]],
    held: Mapping[str, Sequence[ChunkId]],
    frequencies: DocumentFrequencies,
    alike: frozenset[ChunkId],
) -> tuple[list[tuple[ChunkId, float]], dict[str, float]]:
    """Return scores in which like texts count once, and a word is not common because texts are few.

    A chunk that holds a term gains what it would gain from one occurrence if the idf were that of such texts.

    Args:
        found: The scores.
        held: Terms, with the chunks that hold them.
        frequencies: The frequencies of the terms.
        alike: A sample of chunks, of which none is like another, if like texts are many.

    Returns:
        The scores, best first, and by how much the idf of each term is larger.
    """
    scores = dict(found)
    gains: dict[str, float] = {}
    for term, holding in held.items():
        chunks, holders = frequencies.chunks + UNRELATED_CHUNKS, frequencies.of_term[term]
        if alike:
            chunks, holders = len(alike), len(alike.intersection(holding))
        idf = math.log(1 + (chunks - holders + 0.5) / (holders + 0.5))
        gains[term] = max(0.0, idf - frequencies.idf(term))
        for chunk in scores.keys() & holding:
            scores[chunk] += gains[term]
    return sorted(scores.items(), key=lambda each: -each[1]), gains


def _with_required(
    found: list[tuple[ChunkId, float]], required: frozenset[ChunkId], limit: int, view: View
) -> list[tuple[ChunkId, float]]:
    """Add the chunks that contain the quoted phrases of a query, but no term that finds chunks."""
    rest = view.chunks.places([*required.difference(chunk for chunk, _ in found)])
    return [*found, *((place.id, 0.0) for place in rest[: limit - len(found)])]


def _informative(query: QueryTerms) -> list[str]:
    kinds = (query.words, query.bigrams, query.written, query.spellings, query.pairs)
    return [term for kind in kinds for term in kind]


def _expanded(query: QueryTerms, times: int) -> Iterator[QueryTerm]:
    """Yield the informative terms of a query with their weights; a word counts ``times`` times."""
    weighted = (
        (query.words, times, 1.0),
        ((*query.written, *query.spellings), times, _MINOR_REACH),
        (query.bigrams, 1, 1.0),
        (query.pairs, 1, _MINOR_REACH),
        # A word such as きりん is all hiragana, as particles are.
        (() if _informative(query) else query.particles, 1, _MINOR_REACH),
    )
    for terms, count, reach in weighted:
        for term in terms:
            yield QueryTerm(term, count, reach)


def _without_common(terms: Sequence[QueryTerm], frequencies: DocumentFrequencies) -> Sequence[QueryTerm]:
    """Leave out common terms unless all are common: they cost the most and decide little."""
    common = max(_MIN_COMMON, _COMMON_SHARE * frequencies.chunks)
    return [each for each in terms if frequencies.of_term[each.term] <= common] or terms


def _essential(
    terms: Sequence[QueryTerm], frequencies: DocumentFrequencies, limit: int
) -> Sequence[QueryTerm]:
    """Return the rarest terms, which find chunks; the others only score the chunks found.

    Most chunks that contain a query term contain a common one alone, and none of them is among the best.

    References:
        After the MaxScore of Turtle and Flood, "Query evaluation: strategies and optimizations", 1995, with a
        usual bound instead of a guaranteed one.
    """
    enough_held = _HELD_PER_FOUND * limit
    enough_weight = _ESSENTIAL_SHARE * sum(each.weight * frequencies.idf(each.term) for each in terms)
    rarest_first = sorted(terms, key=lambda each: frequencies.of_term[each.term])
    held, weight = 0, 0.0
    for count, each in enumerate(rarest_first):
        if held >= enough_held and weight >= enough_weight:
            return rarest_first[:count]
        held += frequencies.of_term[each.term]
        weight += each.weight * frequencies.idf(each.term)
    return terms


def _repeated(terms: Sequence[QueryTerm], least: float) -> list[str]:
    """Return the terms, each as often as it counts in comparison with what counts least."""
    return [each.term for each in terms for _ in range(round(each.times / least))]
