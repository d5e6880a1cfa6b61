"""Which candidates words can say little about: those in the other language."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from mdvec import trace
from mdvec.types.ids import ChunkId
from mdvec.search.fusion import LexicalEvidence
from mdvec.stores.interface import Catalog
from mdvec.text.writing import holds_unspaced


def with_foreign(
    evidence: LexicalEvidence, query: str, candidates: Iterable[ChunkId], catalog: Catalog
) -> LexicalEvidence:
    """Add which candidates are written in another way than the query.

    Args:
        evidence: What words say.
        query: What is asked; with any Japanese in it, it is a Japanese one.
        candidates: Chunks that were found by meaning or by words.
        catalog: Knows how they are written.
    """
    ids = list(candidates)
    with trace.step("writing", chunks=len(ids)):
        unspaced = catalog.unspaced(ids)
    foreign = frozenset(ids) - unspaced if holds_unspaced(query) else frozenset(unspaced)
    return replace(evidence, foreign=foreign)
