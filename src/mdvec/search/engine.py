"""Answers a query: candidates from words and meaning, fused, thinned out, shown with their text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from mdvec import trace
from mdvec.types.hit import Confidence, SearchHit
from mdvec.types.ids import DocumentId
from mdvec.types.query import Expansion, Scope, SearchMode, SearchQuery
from mdvec.search.confidence import judge
from mdvec.search.dense import AskedSpace, complete_in_spaces, find_in_spaces
from mdvec.search.expand import Extract, extract, fit
from mdvec.search.foreign import with_foreign
from mdvec.search.fusion import (
    Candidate,
    LexicalEvidence,
    fuse,
    rank_by_similarity,
    rank_by_words,
)
from mdvec.search.lexical import find_by_words
from mdvec.stores.interface import Store, StoredChunk

# Candidates taken from each side at first. Fusion only reorders what it is given, so this is well
# above what is shown; it grows when one long document fills it. It is the same for the usual limits: a chunk
# that one side ranks below the depth has no evidence from it, so another depth is another ranking.
_MIN_DEPTH = 200
_DEPTH_PER_HIT = 5
_DEPTH_GROWTH = 8


@dataclass(frozen=True, slots=True)
class Found:
    """What was found.

    Attributes:
        hits: Best first, each with the chunk it was made from.
        confidence: How sure it is that the query is answered by them.
    """

    hits: list[tuple[SearchHit, StoredChunk]]
    confidence: Confidence


def find(query: SearchQuery, scope: Scope, *, store: Store, spaces: Sequence[AskedSpace] = ()) -> Found:
    """Answer a query that was checked already.

    Args:
        query: What to look for.
        scope: Where to look.
        store: What is searched.
        spaces: Where to look for it by meaning; chunks of collections in none of them are found by words.
    """
    depth = max(_MIN_DEPTH, _DEPTH_PER_HIT * query.limit)
    while True:
        candidates, complete = _candidates(query, scope, store, spaces, depth)
        chosen = _choose(query, candidates, store)
        if complete or len(chosen) >= query.limit:
            break
        depth *= _DEPTH_GROWTH
    with trace.step("show", hits=len(chosen)):
        return Found(_show(query, chosen, store), _confidence(chosen, spaces))


def _candidates(
    query: SearchQuery, scope: Scope, store: Store, spaces: Sequence[AskedSpace], depth: int
) -> tuple[list[Candidate], bool]:
    """Return ranked candidates, and whether a greater depth would give no more of them."""
    if query.mode is SearchMode.LEXICAL:
        found = _by_words(query, scope, store, depth)
        return rank_by_words(found), len(found.ranking) < depth
    evidence = find_in_spaces(spaces, index=store.vectors, limit=depth, scope=scope)
    complete = all(len(each.ranking) < depth for each in evidence)
    match query.mode:
        case SearchMode.DENSE:
            return rank_by_similarity(*evidence), complete
        case SearchMode.HYBRID:
            found = _by_words(query, scope, store, depth)
            others = [*(chunk for chunk, _ in found.ranking), *found.named]
            evidence = complete_in_spaces(evidence, others, spaces, store=store, scope=scope)
            near = (chunk for each in evidence for chunk in each.similarities)
            found = with_foreign(found, query.text, {*near, *others}, store.catalog)
            with trace.step("fuse"):
                return fuse(found, *evidence), complete and len(found.ranking) < depth
        case _:
            assert_never(query.mode)


def _confidence(chosen: Sequence[tuple[Candidate, StoredChunk]], spaces: Sequence[AskedSpace]) -> Confidence:
    """Judge by the best hit, as its own model finds it."""
    if not chosen:
        return Confidence.NONE
    best, chunk = chosen[0]
    own = next((space.unrelated for space in spaces if chunk.collection_id in space.collections), None)
    return judge(best.similarity, best.coverage, own)


def _by_words(query: SearchQuery, scope: Scope, store: Store, depth: int) -> LexicalEvidence:
    return find_by_words(query.text, index=store.lexical, names=store.catalog, limit=depth, scope=scope)


def _choose(
    query: SearchQuery, candidates: Sequence[Candidate], store: Store
) -> list[tuple[Candidate, StoredChunk]]:
    """Take the best candidates that pass the threshold, a few of each document."""
    passing = [candidate for candidate in candidates if _passes(query, candidate)]
    # Text is read for what is chosen alone: one long document may hold most of the candidates.
    document_of = store.catalog.documents_of([candidate.id for candidate in passing])
    chosen: list[Candidate] = []
    taken: Counter[DocumentId] = Counter()
    for candidate in passing:
        document_id = document_of.get(candidate.id)
        if document_id is None or taken[document_id] >= query.per_document:
            continue
        taken[document_id] += 1
        chosen.append(candidate)
        if len(chosen) == query.limit:
            break
    chunks = store.catalog.load_chunks([candidate.id for candidate in chosen])
    return [(candidate, chunks[candidate.id]) for candidate in chosen if candidate.id in chunks]


def _passes(query: SearchQuery, candidate: Candidate) -> bool:
    if query.threshold is None or candidate.similarity is None:
        return True
    return candidate.similarity >= query.threshold


def _show(
    query: SearchQuery, chosen: Sequence[tuple[Candidate, StoredChunk]], store: Store
) -> list[tuple[SearchHit, StoredChunk]]:
    hits: list[tuple[SearchHit, StoredChunk]] = []
    shown: set[tuple[DocumentId, int, int]] = set()
    tokens_left = query.max_tokens
    for candidate, chunk in chosen:
        part: Extract | None = extract(chunk, query.expand, store.catalog)
        if tokens_left is not None and part is not None:
            alone = extract(chunk, Expansion.CHUNK, store.catalog)
            part = fit(part, alone, tokens_left, first=not hits)
        if part is None:
            break
        span = (chunk.document_id, part.start, part.end)
        if span in shown:  # two chunks of one section, both expanded to it
            continue
        shown.add(span)
        if tokens_left is not None:
            tokens_left -= part.tokens
        hits.append((_hit(len(hits) + 1, candidate, chunk, part), chunk))
    return hits


def _hit(rank: int, candidate: Candidate, chunk: StoredChunk, part: Extract) -> SearchHit:
    return SearchHit(
        rank=rank,
        collection=chunk.collection,
        path=chunk.path,
        title=chunk.title,
        heading=chunk.heading_path[-1] if chunk.heading_path else "",
        heading_path=chunk.heading_path,
        depth=chunk.depth,
        start_line=part.start_line,
        end_line=part.end_line,
        start=part.start,
        end=part.end,
        score=candidate.score,
        similarity=candidate.similarity,
        dense_rank=candidate.dense_rank,
        lexical_rank=candidate.lexical_rank,
        text=part.text,
    )
