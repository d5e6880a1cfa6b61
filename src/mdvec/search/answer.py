"""Answers a query: candidates from words and meaning, fused, thinned out, shown with their text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from mdvec import run
from mdvec.search.confidence import judge
from mdvec.search.exact import exact_matches
from mdvec.search.expand import Extract, extract, fit
from mdvec.search.fusion import (
    Candidate,
    DenseEvidence,
    LexicalEvidence,
    fuse,
    rank_by_similarity,
    rank_by_words,
)
from mdvec.search.lexical import find_by_words
from mdvec.search.proximity import QuerySpace, evidence_in, nearest_in, neighbourhood
from mdvec.stores.interface import View
from mdvec.stores.records import ChunkPlace, StoredChunk
from mdvec.text.scripts import holds_unspaced
from mdvec.types.hit import Confidence, SearchHit
from mdvec.types.ids import ChunkId, DocumentId
from mdvec.types.query import Expansion, SearchMode, SearchQuery, Where

# Candidates taken from each side at first. Fusion only reorders what it is given, so this is well
# above what is shown; it grows when one long document fills it. It is the same for the usual limits: a chunk
# that one side ranks below the depth has no evidence from it, so another depth is another ranking.
_MIN_DEPTH = 200
_DEPTH_PER_HIT = 5
_DEPTH_GROWTH = 8


@dataclass(frozen=True, slots=True)
class Found:
    """The passages found.

    Attributes:
        hits: Best first, each with the chunk it was made from.
        confidence: How sure it is that they answer the query.
        hidden: Similarities of candidates that the threshold hides, best first, where it hides all of them.
    """

    hits: list[tuple[SearchHit, StoredChunk]]
    confidence: Confidence
    hidden: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class _Ranking:
    """All candidates, best first; ``complete`` if a greater depth would give no more of them."""

    candidates: list[Candidate]
    places: Mapping[ChunkId, ChunkPlace]
    complete: bool


def find(query: SearchQuery, where: Where, view: View, spaces: Sequence[QuerySpace] = ()) -> Found:
    """Answer a query that was checked already.

    Args:
        query: The query.
        where: Which chunks may be found.
        view: The snapshot that is searched.
        spaces: The query in each space; chunks of collections in none of them are found by words.
    """
    depth = max(_MIN_DEPTH, _DEPTH_PER_HIT * query.limit)
    while True:
        ranking = _rank(query, where, view, spaces, depth)
        chosen = _choose(query, ranking)
        if ranking.complete or len(chosen) >= query.limit:
            break
        depth *= _DEPTH_GROWTH
    with run.current().step("show", hits=len(chosen)):
        chunks = view.chunks([candidate.id for candidate in chosen])
        hits = _show(query, [(each, chunks[each.id]) for each in chosen], view)
    known = () if chosen else (each.similarity for each in ranking.candidates)
    hidden = tuple(sorted((each for each in known if each is not None), reverse=True))
    return Found(hits, _confidence(query, chosen, ranking.places, spaces), hidden)


def _rank(query: SearchQuery, where: Where, view: View, spaces: Sequence[QuerySpace], depth: int) -> _Ranking:
    if not query.text:
        return _listed(query, where, view)
    words: LexicalEvidence | None = None
    by_words: list[ChunkId] = []
    if query.mode is not SearchMode.DENSE:
        words = find_by_words(query.text, view, where=where, limit=depth)
        if words.matched_weight and not words.named:
            words = replace(words, exact=exact_matches(query.text, words.ranking, view))
        by_words = list(dict.fromkeys([*(chunk for chunk, _ in words.ranking), *words.named]))
    searched = () if query.mode is SearchMode.LEXICAL else spaces
    found = [nearest_in(space, view, where=where, depth=depth) for space in searched]
    everything = list(dict.fromkeys([*by_words, *(chunk for each in found for chunk in each.candidates)]))
    places = neighbourhood(everything, view)
    repetitions = view.repetitions(everything)
    dense = [
        evidence_in(space, each, by_words, places, view, depth=depth, alone=len(searched) == 1)
        for space, each in zip(searched, found, strict=True)
    ]
    complete = all(len(each.ranking) < depth for each in dense)
    match query.mode:
        case SearchMode.LEXICAL:
            assert words is not None  # noqa: S101 - made above
            return _Ranking(rank_by_words(words, repetitions=repetitions), places, len(words.ranking) < depth)
        case SearchMode.DENSE:
            return _Ranking(rank_by_similarity(*dense, repetitions=repetitions), places, complete)
        case SearchMode.HYBRID:
            assert words is not None  # noqa: S101 - made above
            words = replace(words, other_language=_other_language(query, by_words, dense, places))
            with run.current().step("fuse"):
                fused = fuse(words, *dense, repetitions=repetitions)
            return _Ranking(fused, places, complete and len(words.ranking) < depth)
        case _:
            assert_never(query.mode)


def _listed(query: SearchQuery, where: Where, view: View) -> _Ranking:
    """Rank the first passages of each document inside, the last updated document first."""
    documents = [*view.documents_inside(where)][: query.limit]
    places = [place for each in documents for place in view.places_in([each], where, query.per_document)]
    found = [Candidate(place.id, 1.0, None, None, None, None, coverage=1.0) for place in places]
    return _Ranking(found, {place.id: place for place in places}, complete=True)


def _other_language(
    query: SearchQuery,
    by_words: Sequence[ChunkId],
    dense: Sequence[DenseEvidence],
    places: Mapping[ChunkId, ChunkPlace],
) -> frozenset[ChunkId]:
    """Return the candidates that are written in another way than the query: with or without spaces.

    A query with any Japanese in it is a Japanese one.
    """
    unspaced_query = holds_unspaced(query.text)
    candidates = {chunk for each in dense for chunk in each.nearness}.union(by_words)
    return frozenset(
        chunk for chunk in candidates if chunk in places and places[chunk].unspaced != unspaced_query
    )


def _choose(query: SearchQuery, ranking: _Ranking) -> list[Candidate]:
    """Take the best candidates that pass the threshold, a few of each document."""
    chosen: list[Candidate] = []
    taken: Counter[DocumentId] = Counter()
    for candidate in ranking.candidates:
        if not _passes(query, candidate):
            continue
        document_id = ranking.places[candidate.id].document_id
        if taken[document_id] >= query.per_document:
            continue
        taken[document_id] += 1
        chosen.append(candidate)
        if len(chosen) == query.limit:
            break
    return chosen


def _passes(query: SearchQuery, candidate: Candidate) -> bool:
    if query.threshold is None or candidate.similarity is None:
        return True
    return candidate.similarity >= query.threshold


def _confidence(
    query: SearchQuery,
    chosen: Sequence[Candidate],
    places: Mapping[ChunkId, ChunkPlace],
    spaces: Sequence[QuerySpace],
) -> Confidence:
    """Judge by the best hit, as its own model finds it."""
    if not chosen:
        return Confidence.NONE
    best, collection = chosen[0], places[chosen[0].id].collection_id
    own = next((space.unrelated for space in spaces if collection in space.collections), None)
    across = places[best.id].unspaced != holds_unspaced(query.text)
    exact = best.coverage == 1.0
    return judge(best.nearness, best.coverage, own, across=across and not exact)


def _show(
    query: SearchQuery, chosen: Sequence[tuple[Candidate, StoredChunk]], view: View
) -> list[tuple[SearchHit, StoredChunk]]:
    hits: list[tuple[SearchHit, StoredChunk]] = []
    shown: set[tuple[DocumentId, int, int]] = set()
    tokens_left = query.max_tokens
    for candidate, chunk in chosen:
        part: Extract | None = extract(chunk, query.expand, view)
        if tokens_left is not None and part is not None:
            alone = extract(chunk, Expansion.CHUNK, view)
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
