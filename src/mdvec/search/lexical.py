"""Candidates by words."""

from __future__ import annotations

from mdvec import trace
from mdvec.model.ids import ChunkId
from mdvec.model.query import Scope
from mdvec.stores.interface import LexicalIndex
from mdvec.text.terms import query_terms

# A question has ten to thirty terms; more only cost time, the rarest ones decide.
_MAX_TERMS = 128


def find_by_words(text: str, *, index: LexicalIndex, limit: int, scope: Scope) -> list[tuple[ChunkId, float]]:
    """Return the chunks that hold any of the query's terms with their BM25 scores, best first."""
    with trace.step("lexical") as details:
        terms = query_terms(text, limit=_MAX_TERMS)
        found = index.search(terms, limit, scope) if terms else []
        details.update(terms=len(terms), found=len(found))
    return found
