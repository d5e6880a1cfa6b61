"""Answers a query: finds candidates by words and by meaning, fuses them, and joins them into passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from mdvec import run
from mdvec.search.confidence import level_of, probability, probability_across, score_of
from mdvec.search.exact import exact_matches
from mdvec.search.expand import Extract, expanded, fit, passage_of
from mdvec.search.fusion import (
    Candidate,
    DenseEvidence,
    LexicalEvidence,
    fuse,
    rank_by_similarity,
    rank_by_words,
)
from mdvec.search.lexical import find_by_words
from mdvec.search.likeness import with_likeness
from mdvec.search.passages import Passage, joined_passages, single_chunks
from mdvec.search.proximity import QuerySpace, evidence_in, nearest_in, neighbourhood
from mdvec.stores.interface import View
from mdvec.stores.records import ChunkPlace, StoredChunk
from mdvec.text.scripts import is_unspaced_query
from mdvec.types.hit import Confidence, SearchHit
from mdvec.types.ids import ChunkId, DocumentId
from mdvec.types.query import Expansion, SearchMode, SearchQuery, Where

# How many candidates words and meaning each return at first. Fusion only reorders candidates, so this is far
# more than the hits shown; it grows if one long document fills it. It is the same for all usual limits: a
# chunk that one side ranks below the depth has no evidence from that side, so the depth affects the ranking.
_MIN_DEPTH = 200
_DEPTH_PER_HIT = 5
_DEPTH_GROWTH = 8

# Passages prepared per hit when hits show surrounding text: two of them may show the same text.
_SPARE = 3

# How many of the best chunks are examined for an answer in another language.
_JUDGED_ACROSS = 20


class Found(Struct, frozen=True):
    """The passages found.

    Attributes:
        hits: Best first, each with the chunk it was made from.
        confidence: How sure it is that they answer the query.
        hidden: If the threshold hides every candidate, their similarities, best first; otherwise empty.
        left_out: How many hits did not fit into ``max_tokens``.
    """

    hits: list[tuple[SearchHit, StoredChunk]]
    confidence: Confidence
    hidden: tuple[float, ...] = ()
    left_out: int = 0


class _Ranking(Struct, frozen=True):
    """All candidates, best first; ``complete`` if a greater depth would find no more."""

    candidates: list[Candidate]
    places: Mapping[ChunkId, ChunkPlace]
    complete: bool


def find(
    query: SearchQuery,
    where: Where,
    view: View,
    spaces: Sequence[QuerySpace] = (),
    words: LexicalEvidence | None = None,
) -> Found:
    """Answer a query that :func:`mdvec.search.filters.clean` has checked.

    Args:
        query: The query.
        where: Which chunks may be found.
        view: The snapshot that is searched.
        spaces: The query in each space; chunks of other collections are found by words only.
        words: The result of :func:`words_of`, if it was called already.
    """
    depth = first_depth = depth_for(query.limit)
    while True:
        ranking = _rank(query, where, view, spaces, depth, words)
        passages = _passages(query, ranking)
        enough = len(passages) >= query.limit
        documents = {ranking.places[each.best.id].document_id for each in passages}
        # One long document may fill the first depth; one that fills the second has little beside it.
        if ranking.complete or (enough and (len(documents) >= query.limit or depth > first_depth)):
            break
        depth, words = depth * _DEPTH_GROWTH, None
    sure = _probability(passages, ranking, spaces)
    with run.current().step("show", hits=min(len(passages), query.limit)):
        hits, left_out = _show(query, passages, sure, view)
    known = () if passages else (each.similarity for each in ranking.candidates)
    hidden = tuple(sorted((each for each in known if each is not None), reverse=True))
    confidence = level_of(sure) if passages else Confidence.NONE
    return Found(hits, confidence, hidden, left_out)


def depth_for(hits: int) -> int:
    """Return how many candidates to take at first from words and from meaning, for a number of hits."""
    return max(_MIN_DEPTH, _DEPTH_PER_HIT * hits)


def words_of(
    query: SearchQuery, where: Where, view: View, depth: int | None = None
) -> LexicalEvidence | None:
    """Return the candidates by words; None if the query does not search by words.

    This needs no vector, so it can run while a model embeds the query.

    Args:
        query: The query.
        where: Which chunks may be found.
        view: The snapshot that is searched.
        depth: The most candidates; None for those that :func:`find` takes first.
    """
    if not query.text or query.mode is SearchMode.DENSE:
        return None
    words = find_by_words(query.text, view, where=where, limit=depth or depth_for(query.limit))
    if not words.named:
        words = replace(words, exact=exact_matches(query.text, words, where, view))
    return words


def _rank(
    query: SearchQuery,
    where: Where,
    view: View,
    spaces: Sequence[QuerySpace],
    depth: int,
    words: LexicalEvidence | None,
) -> _Ranking:
    if not query.text:
        return _listed(query, where, view)
    words = words or words_of(query, where, view, depth)
    ranked = () if words is None else (chunk for chunk, _ in words.ranking)
    by_words = [] if words is None else [*dict.fromkeys((*ranked, *words.named, *words.exact))]
    searched = () if query.mode is SearchMode.LEXICAL else spaces
    found = [nearest_in(space, view, where=where, depth=depth) for space in searched]
    everything = list(dict.fromkeys([*by_words, *(chunk for each in found for chunk in each)]))
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
            other_language = _other_language(query, by_words, dense, places)
            words = replace(words, other_language=other_language)
            revise = partial(
                with_likeness, spaces=searched, other_language=other_language, places=places, view=view
            )
            with run.current().step("fuse"):
                fused = fuse(words, *dense, repetitions=repetitions, revise=revise)
            return _Ranking(fused, places, complete and len(words.ranking) < depth)
        case _:
            assert_never(query.mode)


def _listed(query: SearchQuery, where: Where, view: View) -> _Ranking:
    """Rank the first chunks of each document inside ``where``, the last updated document first."""
    documents = [*view.documents_inside(where)][: query.limit]
    places = [place for each in documents for place in view.places_in([each], where, query.per_document or 1)]
    found = [
        Candidate(place.id, 1.0, None, None, None, None, coverage=1.0, in_scores=1.0) for place in places
    ]
    return _Ranking(found, {place.id: place for place in places}, complete=True)


def _other_language(
    query: SearchQuery,
    by_words: Sequence[ChunkId],
    dense: Sequence[DenseEvidence],
    places: Mapping[ChunkId, ChunkPlace],
) -> frozenset[ChunkId]:
    """Return the candidates in the other kind of script: with or without spaces between words."""
    unspaced_query = is_unspaced_query(query.text)
    candidates = {chunk for each in dense for chunk in each.nearness}.union(by_words)
    return frozenset(
        chunk for chunk in candidates if chunk in places and places[chunk].unspaced != unspaced_query
    )


def _passages(query: SearchQuery, ranking: _Ranking) -> list[Passage]:
    """Return the passages that pass the threshold, best first."""
    passing = [each for each in ranking.candidates if _passes(query, each)]
    # All passages of a document are the same when it is shown whole.
    per_document = 1 if query.expand is Expansion.DOCUMENT else query.per_document
    if not query.as_passages:
        return single_chunks(passing, ranking.places, per_document=per_document)
    # Each document has a passage at least as good as any of a later one.
    documents = _SPARE * query.limit
    return joined_passages(passing, ranking.places, per_document=per_document, documents=documents)


def _passes(query: SearchQuery, candidate: Candidate) -> bool:
    if query.threshold is None or candidate.similarity is None:
        return True
    return candidate.similarity >= query.threshold


def _probability(passages: Sequence[Passage], ranking: _Ranking, spaces: Sequence[QuerySpace]) -> float:
    """Return the probability that the best passage is an answer, judged in the space of its collection."""
    if not passages:
        return 0.0
    best = passages[0].best
    collection = ranking.places[best.id].collection_id
    space = next((each for each in spaces if collection in each.collections), None)
    unrelated = None if space is None else space.unrelated
    if best.ordinary is None or best.coverage == 1.0 or space is None or unrelated is None:
        return probability(best.nearness, best.coverage, unrelated)
    known = [
        (each.nearness, _above_ordinary(each.nearness, each.similarity, each.ordinary))
        for each in (best, *ranking.candidates[:_JUDGED_ACROSS])
        if ranking.places[each.id].collection_id in space.collections
        and each.ordinary is not None
        and each.nearness is not None
        and each.similarity is not None
    ]
    return probability_across(max(known)[1], max(above for _, above in known), space.ordinary(), unrelated)


def _above_ordinary(nearness: float, similarity: float, ordinary: float) -> float:
    """Return how much nearer a chunk is to the query than to unrelated passages; names count half."""
    return (nearness + similarity) / 2 - ordinary


def _show(
    query: SearchQuery, passages: Sequence[Passage], first_probability: float, view: View
) -> tuple[list[tuple[SearchHit, StoredChunk]], int]:
    """Return the hits, each with its best chunk, and how many did not fit."""
    wanted = passages[: query.limit if query.expand is Expansion.CHUNK else _SPARE * query.limit]
    chunks = view.chunks([chunk for each in wanted for chunk in each.chunks])
    whole = {each.document_id for each in chunks.values()} if query.expand is not Expansion.CHUNK else set()
    whole |= {chunks[each.best.id].document_id for each in wanted if len(each.chunks) > 1}
    bodies = view.bodies(sorted(whole)) if whole else {}
    tokens_left, more_left, behind = query.max_tokens, query.expand_tokens, 0.0
    hits: list[tuple[SearchHit, StoredChunk]] = []
    shown: list[tuple[DocumentId, Extract]] = []
    for number, each in enumerate(wanted):
        best, own = chunks[each.best.id], [chunks[chunk] for chunk in each.chunks]
        body = bodies.get(best.document_id, "")
        passage = passage_of(own, body)
        around = expanded(passage, own, best, query.expand, body, view)
        part = fit(passage, around, tokens_left, more_left, first=not hits)
        if part is None:
            return hits, min(len(wanted) - number, query.limit - len(hits))
        if any(other == best.document_id and part.inside(before) for other, before in shown):
            continue
        if tokens_left is not None:
            tokens_left -= part.tokens
        more_left -= part.tokens
        shown.append((best.document_id, part))
        behind = max(behind, passages[0].in_scores - each.in_scores)
        score = score_of(first_probability, behind)
        hits.append((_hit(len(hits) + 1, each.best, score, best, part), best))
        if len(hits) == query.limit:
            break
    return hits, 0


def _hit(rank: int, candidate: Candidate, score: float, chunk: StoredChunk, part: Extract) -> SearchHit:
    begin = max(0, chunk.start - part.start)
    chunk_text = part.text[begin : max(0, chunk.end - part.start)]
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
        score=score,
        similarity=candidate.similarity,
        dense_rank=candidate.dense_rank,
        lexical_rank=candidate.lexical_rank,
        text=part.text,
        chunk_text=chunk_text or part.text,
        chunk_line=part.start_line + part.text.count("\n", 0, begin if chunk_text else 0),
        cut_lines=part.cut_lines,
    )
