"""Candidates by words."""

from __future__ import annotations

from mdvec import trace
from mdvec.model.query import Scope
from mdvec.search.fusion import LexicalEvidence
from mdvec.stores.interface import BM25_K1, Holding, LexicalIndex
from mdvec.text.terms import query_terms

# A question has ten to thirty terms; more only cost time, the rarest ones decide.
_MAX_TERMS = 128

# A term in more than this share of all chunks is common; in a small index nothing is.
_COMMON_SHARE = 0.25
_MIN_COMMON = 2_000


def find_by_words(text: str, *, index: LexicalIndex, limit: int, scope: Scope) -> LexicalEvidence:
    """Return the chunks that hold any of the query's terms, with what their scores are a share of."""
    with trace.step("lexical") as details:
        holding = index.holding(query_terms(text, limit=_MAX_TERMS))
        terms = _telling(holding)
        found = index.search(terms, limit, scope)
        details.update(terms=len(terms), found=len(found))
    return LexicalEvidence(found, (BM25_K1 + 1) * sum(holding.idf(term) for term in terms))


def _telling(holding: Holding) -> list[str]:
    """Leave out terms like "the" while others are left: they cost most of the time and decide little."""
    common = max(_MIN_COMMON, _COMMON_SHARE * holding.chunks)
    return [term for term, chunks in holding.of_term.items() if chunks <= common] or [*holding.of_term]
