"""Candidates by words."""

from __future__ import annotations

from mdvec import trace
from mdvec.model.query import Scope
from mdvec.search.fusion import LexicalEvidence
from mdvec.stores.interface import LexicalIndex
from mdvec.text.terms import query_terms

# A question has ten to thirty terms; more only cost time, the rarest ones decide.
_MAX_TERMS = 128


def find_by_words(text: str, *, index: LexicalIndex, limit: int, scope: Scope) -> LexicalEvidence:
    """Return the chunks that hold any of the query's terms, with what their scores are a share of."""
    with trace.step("lexical") as details:
        terms = query_terms(text, limit=_MAX_TERMS)
        found = index.search(terms, limit, scope) if terms else []
        perfect = index.perfect_score(terms) if found else 0.0
        details.update(terms=len(terms), found=len(found))
    return LexicalEvidence(found, perfect)
