"""Candidates by words: which terms a query has, which of them find chunks, and what those score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from mdvec import run
from mdvec.search.fusion import LexicalEvidence
from mdvec.stores.interface import View
from mdvec.stores.records import BM25_K1, DocumentFrequencies
from mdvec.text.folding import fold_name
from mdvec.text.language import is_unspaced_query
from mdvec.text.terms import QueryTerms, query_terms
from mdvec.types.ids import ChunkId
from mdvec.types.query import Where

# A question has ten to thirty terms of a kind; more only cost time, the rarest ones decide.
_MAX_TERMS = 64

# A word among Japanese says as much as a Japanese word of four characters, which gives three bigrams.
_WORD_AMONG_BIGRAMS = 3

# A minor term reaches about this share of a main one's score: its field weighs less (FIELD_WEIGHTS).
_MINOR_REACH = 0.5

# A term in more than this share of all chunks is common; in a small index nothing is.
_COMMON_SHARE = 0.25
_MIN_COMMON = 2_000

# Terms find chunks, the rarest first, until they are held by so many chunks for each that is wanted and are
# this share of the maximum score (docs/decisions/0021-rare-terms-find.md).
_HELD_PER_FOUND = 10
_ESSENTIAL_SHARE = 0.5


class QueryTerm(Struct, frozen=True):
    """A term of the query.

    Attributes:
        term: As it is indexed.
        times: How often it counts.
        reach: What share of ``(k1 + 1) * idf`` a chunk can get for it.
    """

    term: str
    times: int = 1
    reach: float = 1.0

    @property
    def weight(self) -> float:
        """The factor of its idf in the score of a chunk that holds all terms."""
        return self.times * self.reach


def find_by_words(text: str, view: View, *, where: Where, limit: int) -> LexicalEvidence:
    """Return the chunks that hold any of the query's terms, with the score that the best could reach.

    Chunks of documents that are called exactly as the query are found too, whatever terms they hold.
    """
    with run.current().step("lexical") as details:
        query = query_terms(text, limit=_MAX_TERMS)
        frequencies = view.document_frequencies(_informative(query))
        has_bigrams = bool(query.bigrams or query.pairs)
        times = _WORD_AMONG_BIGRAMS if has_bigrams and is_unspaced_query(text) else 1
        wanted = list(_expanded(query, frequencies, times))
        indexed = _known(wanted, query, frequencies)
        if not indexed:
            # Half of all chunks may hold such a term: to count them takes longer than to find what is rare.
            last_resort = (*query.particles, *query.stop_words)
            frequencies = view.document_frequencies(last_resort)
            indexed = _held(last_resort, frequencies)
        terms = _without_common(indexed, frequencies)
        found = _ranked(terms, frequencies, view, where=where, limit=limit)
        if terms and where.chunks is not None:
            found = _with_required(found, where.chunks, limit)
        called = view.documents_called(fold_name(text), where)
        named = view.places_in(called, where, limit)
        details.update(terms=len(terms), found=len(found), named=len(named))
    informative = {each.term for each in wanted}
    known = sum(each.weight * frequencies.idf(each.term) for each in terms)
    matched = sum(each.weight * frequencies.idf(each.term) for each in terms if each.term in informative)
    unknown = sum(each.weight for each in wanted if each.term not in frequencies.of_term)
    missing = unknown * frequencies.largest_idf
    return LexicalEvidence(
        ranking=found,
        max_score=(BM25_K1 + 1) * known,
        matched_weight=matched / (known + missing) if known else 0.0,
        named=frozenset(place.id for place in named),
        all_known=not unknown,
    )


def _ranked(
    terms: Sequence[QueryTerm], frequencies: DocumentFrequencies, view: View, *, where: Where, limit: int
) -> list[tuple[ChunkId, float]]:
    every = _repeated(terms)
    # Among few chunks the split saves nothing.
    essential = every if view.holds_few(where) else _repeated(_essential(terms, frequencies, limit))
    found = view.bm25(every, where, limit, must=essential)
    if len(found) < limit and len(essential) < len(every):
        found = view.bm25(every, where, limit)
    return found


def _with_required(
    found: list[tuple[ChunkId, float]], required: frozenset[ChunkId], limit: int
) -> list[tuple[ChunkId, float]]:
    """Add the chunks that hold the phrases of a query, and none of the terms that find chunks."""
    rest = sorted(required.difference(chunk for chunk, _ in found))
    return [*found, *((chunk, 0.0) for chunk in rest[: limit - len(found)])]


def _informative(query: QueryTerms) -> list[str]:
    kinds = (query.words, query.bigrams, query.written, query.pairs, query.singles)
    return [term for kind in kinds for term in kind]


def _known(
    wanted: Sequence[QueryTerm], query: QueryTerms, frequencies: DocumentFrequencies
) -> list[QueryTerm]:
    """Choose the terms that are indexed; single characters count alone when nothing else is there."""
    known = [each for each in wanted if each.term in frequencies.of_term]
    return known or _held(query.singles, frequencies)


def _held(terms: Sequence[str], frequencies: DocumentFrequencies) -> list[QueryTerm]:
    return [QueryTerm(term, reach=_MINOR_REACH) for term in terms if term in frequencies.of_term]


def _expanded(query: QueryTerms, frequencies: DocumentFrequencies, times: int) -> Iterator[QueryTerm]:
    """Yield the informative terms of a query, each with its weight; a word counts so many times."""
    yield from (QueryTerm(term, times) for term in query.words)
    yield from (QueryTerm(term, times, _MINOR_REACH) for term in query.written)
    yield from (QueryTerm(term) for term in query.bigrams)
    yield from (QueryTerm(term, reach=_MINOR_REACH) for term in query.pairs)
    # A character helps to rank what its bigram finds. Where none of its bigrams occurs, the text is in
    # another language, and the character is a chance meeting.
    near = {
        character
        for term in (*query.bigrams, *query.pairs)
        if term in frequencies.of_term
        for character in term
    }
    yield from (QueryTerm(term, reach=_MINOR_REACH) for term in query.singles if term in near)


def _without_common(terms: Sequence[QueryTerm], frequencies: DocumentFrequencies) -> Sequence[QueryTerm]:
    """Leave out what nearly every chunk holds while others are left: it costs most and decides little."""
    common = max(_MIN_COMMON, _COMMON_SHARE * frequencies.chunks)
    return [each for each in terms if frequencies.of_term[each.term] <= common] or terms


def _essential(
    terms: Sequence[QueryTerm], frequencies: DocumentFrequencies, limit: int
) -> Sequence[QueryTerm]:
    """Return the terms that find chunks, the rarest ones; the others only count in chunks that are found.

    Most of the chunks that hold any term of a question hold a common one alone, and none of them is
    among the best.

    References:
        After the MaxScore of Turtle and Flood, "Query evaluation: strategies and optimizations", 1995, with a
        bound that is usual instead of sure.
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


def _repeated(terms: Sequence[QueryTerm]) -> list[str]:
    return [each.term for each in terms for _ in range(each.times)]
