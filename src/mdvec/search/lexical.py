"""Candidates by words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from mdvec import trace
from mdvec.types.ids import ChunkId
from mdvec.types.query import Scope
from mdvec.search.fusion import LexicalEvidence
from mdvec.stores.lexical import BM25_K1, Holding, LexicalIndex
from mdvec.text.folding import fold_name
from mdvec.text.terms import QueryTerms, query_terms

# A question has ten to thirty terms of a kind; more only cost time, the rarest ones decide.
_MAX_TERMS = 64

# A word among Japanese says as much as a Japanese word of four characters, which gives three bigrams.
_WORD_AMONG_BIGRAMS = 3

# What a minor term reaches of a main one's score, about: its field weighs less (FIELD_WEIGHTS).
_MINOR_REACH = 0.5

# A term in more than this share of all chunks is common; in a small index nothing is.
_COMMON_SHARE = 0.25
_MIN_COMMON = 2_000

# Terms find chunks, the rarest first, until they are held by so many chunks for each that is wanted and are
# this share of what a perfect match scores (docs/decisions/0021-rare-terms-find.md).
_HELD_PER_FOUND = 10
_ESSENTIAL_SHARE = 0.5


class Names(Protocol):
    """The part of a catalog that is asked here; see :class:`mdvec.stores.interface.Catalog`."""

    def chunks_named(self, folded: str, scope: Scope, limit: int) -> list[ChunkId]:
        """Return chunks of documents with a name."""
        ...


@dataclass(frozen=True, slots=True)
class _Sought:
    """A term to look for.

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
        """What its idf is worth in the score of a chunk that holds all terms."""
        return self.times * self.reach


def find_by_words(
    text: str, *, index: LexicalIndex, names: Names, limit: int, scope: Scope
) -> LexicalEvidence:
    """Return the chunks that hold any of the query's terms, with what their scores are a share of.

    Chunks of documents that are called exactly what the query says are found too, whatever terms they hold.
    """
    with trace.step("lexical") as details:
        asked = query_terms(text, limit=_MAX_TERMS)
        holding = index.holding(_every_term(asked))
        wanted = list(_telling_kinds(asked, holding))
        sought = _telling(_known(wanted, asked, holding), holding)
        essential, inessential = _essential(sought, holding, limit)
        found = index.search(_repeated(essential), limit, scope, _repeated(inessential))
        named = names.chunks_named(fold_name(text), scope, limit)
        details.update(terms=len(sought), found=len(found), named=len(named))
    known = sum(each.weight * holding.idf(each.term) for each in sought)
    missing = sum(each.weight for each in wanted if each.term not in holding.of_term) * holding.largest_idf
    return LexicalEvidence(
        ranking=found,
        perfect=(BM25_K1 + 1) * known,
        known=known / (known + missing) if known else 0.0,
        named=frozenset(named),
    )


def _every_term(asked: QueryTerms) -> list[str]:
    kinds = (
        *(asked.words, asked.bigrams, asked.written, asked.pairs),
        *(asked.singles, asked.particles, asked.stop_words),
    )
    return [term for kind in kinds for term in kind]


def _known(wanted: Sequence[_Sought], asked: QueryTerms, holding: Holding) -> list[_Sought]:
    """Choose the terms that are in the index; what says little is looked for when nothing else is there."""
    known = [each for each in wanted if each.term in holding.of_term]
    for last_resort in (asked.singles, (*asked.particles, *asked.stop_words)):
        if not known:
            known = [_Sought(term, reach=_MINOR_REACH) for term in last_resort if term in holding.of_term]
    return known


def _telling_kinds(asked: QueryTerms, holding: Holding) -> Iterator[_Sought]:
    times = _WORD_AMONG_BIGRAMS if asked.bigrams or asked.pairs else 1
    yield from (_Sought(term, times) for term in asked.words)
    yield from (_Sought(term, times, _MINOR_REACH) for term in asked.written)
    yield from (_Sought(term) for term in asked.bigrams)
    yield from (_Sought(term, reach=_MINOR_REACH) for term in asked.pairs)
    # A character helps to rank what its bigram finds. Where none of its bigrams occurs, the text is in
    # another language, and the character is a chance meeting.
    near = {
        character for term in (*asked.bigrams, *asked.pairs) if term in holding.of_term for character in term
    }
    yield from (_Sought(term, reach=_MINOR_REACH) for term in asked.singles if term in near)


def _telling(sought: Sequence[_Sought], holding: Holding) -> Sequence[_Sought]:
    """Leave out what nearly every chunk holds while others are left: it costs most and decides little."""
    common = max(_MIN_COMMON, _COMMON_SHARE * holding.chunks)
    return [each for each in sought if holding.of_term[each.term] <= common] or sought


def _essential(
    sought: Sequence[_Sought], holding: Holding, limit: int
) -> tuple[Sequence[_Sought], Sequence[_Sought]]:
    """Split terms into those that find chunks, the rarest, and those that only count in what is found.

    Most of the chunks that hold any term of a question hold a common one alone, and none of them is
    among the best.

    References:
        After the MaxScore of Turtle and Flood, "Query evaluation: strategies and optimizations", 1995, with a
        bound that is usual instead of sure.
    """
    enough_held = _HELD_PER_FOUND * limit
    enough_said = _ESSENTIAL_SHARE * sum(each.weight * holding.idf(each.term) for each in sought)
    rarest_first = sorted(sought, key=lambda each: holding.of_term[each.term])
    held, said = 0, 0.0
    for count, each in enumerate(rarest_first):
        if held >= enough_held and said >= enough_said:
            return rarest_first[:count], rarest_first[count:]
        held += holding.of_term[each.term]
        said += each.weight * holding.idf(each.term)
    return sought, ()


def _repeated(sought: Sequence[_Sought]) -> list[str]:
    return [each.term for each in sought for _ in range(each.times)]
