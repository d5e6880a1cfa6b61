"""Candidates by words: the terms of a query, the terms that find chunks, and the chunks' BM25 scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from mdvec import run
from mdvec.search.fusion import LexicalEvidence
from mdvec.stores.interface import View
from mdvec.stores.records import BM25_K1, DocumentFrequencies
from mdvec.text.folding import fold_name
from mdvec.text.scripts import is_unspaced_query
from mdvec.text.terms import QueryTerms, query_terms
from mdvec.types.ids import ChunkId
from mdvec.types.query import Where

# A question has ten to thirty terms of a kind; more cost time and change little, since rare terms decide.
_MAX_TERMS = 64

# In a Japanese query, a Latin word weighs as much as a Japanese word of four characters (three bigrams).
_WORD_AMONG_BIGRAMS = 3

# A minor term scores about this share of a main term at most, since its field weighs less (FIELD_WEIGHTS).
_MINOR_REACH = 0.5

# A term in more than this share of all chunks is common; in a small index no term is.
_COMMON_SHARE = 0.25
_MIN_COMMON = 2_000

# The rarest terms find chunks: as many terms as it takes until they occur in _HELD_PER_FOUND chunks for each
# one wanted, and make up _ESSENTIAL_SHARE of the maximum score (docs/decisions/0021-rare-terms-find.md).
_HELD_PER_FOUND = 10
_ESSENTIAL_SHARE = 0.5


class QueryTerm(Struct, frozen=True):
    """A term of the query.

    Attributes:
        term: The term in its indexed form.
        times: How often it counts.
        reach: The share of ``(k1 + 1) * idf`` that a chunk can score by it.
    """

    term: str
    times: int = 1
    reach: float = 1.0

    @property
    def weight(self) -> float:
        """The factor of its idf in the maximum score."""
        return self.times * self.reach


def find_by_words(text: str, view: View, *, where: Where, limit: int) -> LexicalEvidence:
    """Return the chunks that contain query terms, with their scores and the maximum score.

    Chunks of documents whose name is exactly the query are found too, whatever terms they contain.
    """
    with run.current().step("lexical") as details:
        query = query_terms(text, limit=_MAX_TERMS)
        frequencies = view.document_frequencies(_informative(query) or query.particles)
        has_bigrams = bool(query.bigrams or query.pairs)
        times = _WORD_AMONG_BIGRAMS if has_bigrams and is_unspaced_query(text) else 1
        wanted = list(_expanded(query, frequencies, times))
        indexed = _known(wanted, query, frequencies)
        if not indexed:
            # Half of all chunks may contain such a term, and counting them is slow: only as a last resort.
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
    # With few chunks the split saves nothing.
    essential = every if view.holds_few(where) else _repeated(_essential(terms, frequencies, limit))
    found = view.bm25(every, where, limit, must=essential)
    if len(found) < limit and len(essential) < len(every):
        found = view.bm25(every, where, limit)
    return found


def _with_required(
    found: list[tuple[ChunkId, float]], required: frozenset[ChunkId], limit: int
) -> list[tuple[ChunkId, float]]:
    """Add the chunks that contain the quoted phrases of a query, but no term that finds chunks."""
    rest = sorted(required.difference(chunk for chunk, _ in found))
    return [*found, *((chunk, 0.0) for chunk in rest[: limit - len(found)])]


def _informative(query: QueryTerms) -> list[str]:
    kinds = (query.words, query.bigrams, query.written, query.pairs, query.singles)
    return [term for kind in kinds for term in kind]


def _known(
    wanted: Sequence[QueryTerm], query: QueryTerms, frequencies: DocumentFrequencies
) -> list[QueryTerm]:
    """Return the terms that are indexed; single characters count only if there are no others."""
    known = [each for each in wanted if each.term in frequencies.of_term]
    return known or _held(query.singles, frequencies)


def _held(terms: Sequence[str], frequencies: DocumentFrequencies) -> list[QueryTerm]:
    return [QueryTerm(term, reach=_MINOR_REACH) for term in terms if term in frequencies.of_term]


def _expanded(query: QueryTerms, frequencies: DocumentFrequencies, times: int) -> Iterator[QueryTerm]:
    """Yield the informative terms of a query with their weights; a word counts ``times`` times."""
    yield from (QueryTerm(term, times) for term in query.words)
    yield from (QueryTerm(term, times, _MINOR_REACH) for term in query.written)
    yield from (QueryTerm(term) for term in query.bigrams)
    yield from (QueryTerm(term, reach=_MINOR_REACH) for term in query.pairs)
    # A character helps to rank what its bigram finds. If none of its bigrams is indexed, the documents are in
    # another language, and the character occurs by chance.
    near = {
        character
        for term in (*query.bigrams, *query.pairs)
        if term in frequencies.of_term
        for character in term
    }
    yield from (QueryTerm(term, reach=_MINOR_REACH) for term in query.singles if term in near)
    if not _informative(query):  # a word such as きりん is all hiragana, as particles are
        yield from (QueryTerm(term, reach=_MINOR_REACH) for term in query.particles)


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


def _repeated(terms: Sequence[QueryTerm]) -> list[str]:
    return [each.term for each in terms for _ in range(each.times)]
