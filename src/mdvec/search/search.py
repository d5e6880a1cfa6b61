"""The way from a query to its answer: numbered steps, each of them a module of this folder.

:func:`search` checks the query and completes the answer, :func:`find` finds the passages, :func:`rank` ranks
them.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import accumulate

from msgspec import Struct
from msgspec.structs import replace

from mdvec import run
from mdvec.embedding.reranker import ConfiguredReranker
from mdvec.search.advice import (
    Commands,
    Completeness,
    all_weak,
    hidden,
    not_operators,
    too_long,
    unmatched,
)
from mdvec.search.candidates import Candidates
from mdvec.search.exact import Exact, find_exact
from mdvec.search.families import folded
from mdvec.search.filters import clean, narrowed, unmet
from mdvec.search.fusion import fuse, with_feedback
from mdvec.search.hits import Shown, show_hits, with_files
from mdvec.search.interpretation import Interpretation, interpret
from mdvec.search.meaning import QuerySpace, find_by_meaning, measure_meaning
from mdvec.search.passages import Ranked, RankedPassage, joined_passages, single_chunks
from mdvec.search.probability import level_of, probabilities
from mdvec.search.query_vectors import SearchedCollection, embedding, is_known_word
from mdvec.search.reranking import Reranked, rerank
from mdvec.search.words import SAMPLE_CHUNKS, Words, find_by_words
from mdvec.stores.interface import View
from mdvec.text.terms import is_unspaced_query
from mdvec.types.collection import Collection
from mdvec.types.hit import Confidence, Correction, Reranking, SearchResult
from mdvec.types.ids import ChunkId, CollectionId
from mdvec.types.query import Expansion, SearchMode, SearchQuery, SortBy, Where

# How many candidates words and meaning each return at first. Fusion only reorders candidates, so this is far
# more than the hits shown; it grows if one long document fills it. It is the same for all usual limits: a
# chunk that one side ranks below the depth has no evidence from that side, so the depth affects the ranking.
_MIN_DEPTH = 200
_DEPTH_PER_HIT = 5
_DEPTH_GROWTH = 8

# Passages prepared for each hit: two of them may show the same text.
_SPARE = 3


class Found(Struct, frozen=True):
    """The passages found.

    Attributes:
        shown: The hits, best first.
        confidence: How sure it is that the first one answers the query.
        mode: The mode in use; ``lexical`` when no vector could be used.
        meant: The query with its operators applied and its spelling corrected.
        weaker: How many passages were left out because they hardly answer the query.
        hidden: If the threshold hides every candidate, their similarities, best first; otherwise empty.
        warnings: Collections that were searched by words only, and why; why nothing was reranked.
        reranked: What a reranker has read.
    """

    shown: Shown
    confidence: Confidence
    mode: SearchMode
    meant: Interpretation
    weaker: int = 0
    hidden: tuple[float, ...] = ()
    warnings: tuple[str, ...] = ()
    reranked: Reranking | None = None


class Ranking(Struct, frozen=True):
    """All candidates in the order of evidence.

    Attributes:
        ranked: Best first; like texts behind the others.
        candidates: All that is known about them.
        similar: Number of like texts folded into a candidate.
        is_complete: Whether a greater depth would find no more.
    """

    ranked: Sequence[Ranked]
    candidates: Candidates
    similar: Mapping[ChunkId, int]
    is_complete: bool


class Search(Struct, frozen=True):
    """A query, and what only the process that received it knows. It can be pickled.

    Attributes:
        query: As the caller gave it.
        checked_ms: When that process last found sources to be as indexed, in milliseconds since 1970.
        importing: Whether that process is making the missing vectors.
        related_to: Path of the document of the one collection whose text is the query; it is left out, and
            nothing in its text is an operator.
        readable: Names of the collections that may be read; None for all.
    """

    query: SearchQuery
    checked_ms: Mapping[CollectionId, int] = {}
    importing: bool = False
    related_to: str | None = None
    readable: frozenset[str] | None = None


@contextmanager
def recorded_search(query: SearchQuery, *, plain: bool) -> Iterator[Callable[[SearchResult], SearchResult]]:
    """Record a search.

    Args:
        query: The query.
        plain: Whether the query may be in the log as it is, instead of its length and a hash.

    Yields:
        Takes the answer, and returns it.
    """
    text = query.text
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
    known = {"query": text} if plain else {"query_hash": digest}
    with (
        run.logged("search", **known, chars=len(text), mode=query.mode.value, limit=query.limit) as line,
        run.current().step("search_total", query=text, limit=query.limit) as step,
    ):

        def record(result: SearchResult) -> SearchResult:
            line.update(hits=len(result.hits), confidence=result.confidence.value)
            scores = (f"{hit.path}:{hit.start_line}={hit.score:.3f}" for hit in result.hits)
            step.update(hits=len(result.hits), scores=" ".join(scores))
            return result

        yield record


def search(
    asked: Search,
    searched: Sequence[SearchedCollection],
    view: View,
    commands: Commands,
    reranker: ConfiguredReranker | None = None,
) -> SearchResult:
    """Answer a query from what is indexed now.

    Args:
        asked: The query.
        searched: The collections, each with its model.
        view: The snapshot.
        commands: Name the next steps.
        reranker: Orders the first passages; None for none.

    Raises:
        InvalidQueryError: If the query is empty.
        UsageError: If one of its numbers is out of range.
        EmbeddingError: If its mode is ``dense`` and a model cannot be used or does not answer.
        DocumentNotFoundError: If it filters by links to a document that is not there.
    """
    started = time.perf_counter()
    collections = [each.collection for each in searched]
    # 1. Check the query, and find out which chunks its filters allow.
    query, warnings = clean(asked.query)
    allowed = narrowed(query.filters, collections, view) if searched else Where(())
    where = _without(allowed, asked.related_to, collections, view)
    # 2. to 13. Find the passages.
    found = find(query, where, searched, view, is_document=asked.related_to is not None, reranker=reranker)
    meant, mode = found.meant, found.mode
    # 14. Add what is known of their documents, and the state of each file.
    hits = [*with_files(found.shown.hits, meant.searched, searched, view)]
    if query.sort is SortBy.DATE:
        hits.sort(key=lambda hit: -(hit.updated_ms or 0))
        hits = [replace(hit, rank=rank) for rank, hit in enumerate(hits, start=1)]
    if query.filters.clean_only:  # a file may have changed just now, before anything could mark it
        hits = [hit for hit in hits if not hit.stale]
    # 15. Say what the index lacks, and what helps where nothing was found.
    index = Completeness(
        collections, [view.collections.counts(each.collection.id, each.space_id) for each in searched]
    )
    activities = view.collections.activities() if index.pending_chunks or index.partial else []
    hint = None
    if not hits:
        hint = (
            hidden(query, found.hidden)
            or index.hint(mode, commands)
            or (unmet(query.filters, allowed, view) if searched and not found.shown.hits else "")
            or all_weak(query, found.weaker)
            or unmatched(query, meant.operators)
        )
    return SearchResult(
        query=asked.query.text,
        mode=mode,
        hits=tuple(hits),
        confidence=found.confidence,
        total_chunks=index.chunks,
        pending_chunks=index.pending_chunks,
        last_indexed_ms=index.last_indexed_ms(asked.checked_ms),
        elapsed_ms=(time.perf_counter() - started) * 1000,
        warnings=(
            *warnings,
            *found.warnings,
            *not_operators(query.text, meant.as_text),
            *too_long(query, found.shown.left_out),
            *index.warnings(mode, commands, activities, importing=asked.importing),
        ),
        hint=hint,
        searched=meant.searched,
        corrections=tuple(Correction(*pair) for pair in meant.corrections.items()),
        unknown_words=meant.unknown_words,
        left_out=found.shown.left_out,
        weaker=found.weaker,
        reranked=found.reranked,
    )


def find(
    query: SearchQuery,
    where: Where,
    searched: Sequence[SearchedCollection],
    view: View,
    *,
    is_document: bool = False,
    reranker: ConfiguredReranker | None = None,
) -> Found:
    """Find the passages that answer a query.

    Args:
        query: The query, checked by :func:`mdvec.search.filters.clean`.
        where: The chunks that its filters allow.
        searched: The collections, each with its model.
        view: The snapshot.
        is_document: Whether the query is the text of a document, in which nothing is an operator. It is not
            reranked: rerankers judge answers to a question.
        reranker: Orders the first passages; None for none.

    Raises:
        EmbeddingError: If the mode is ``dense`` and a model cannot be used or does not answer.
        ConfigError: If the mode is ``dense`` and a model's files are gone.
    """
    if is_document or not query.rerank:
        reranker = None
    # 2. Read the operators, and correct the spelling.
    if is_document or not searched:
        meant = Interpretation(query.text, query.text, where, query.text, is_document=is_document)
    else:
        meant = interpret(query.text, where, view, partial(is_known_word, searched=searched))
    text, where = meant.text, meant.where
    # Without words there is nothing to rank: list the documents that the filters allow.
    if not text:
        passages = _newest(query, where, view)
        return Found(
            show_hits(query, text, passages, [1.0] * len(passages), None, {}, view),
            Confidence.HIGH if passages else Confidence.NONE,
            SearchMode.LEXICAL,
            meant,
        )
    # 3. Embed the query in each space, and look for its words meanwhile.
    with embedding(meant.typed, query.mode, searched, view) as wait_for_vectors:
        depth = first_depth = max(_MIN_DEPTH, _DEPTH_PER_HIT * query.limit)
        find_words = _words_finder(query.mode, text, where, searched, view)
        words = find_words(depth)
        vectors = wait_for_vectors()
    # 4. to 8. Rank candidates, deeper if one long document fills the first ones.
    while True:
        ranking = rank(meant, words, vectors.spaces, view, depth)
        if not query.all_similar:
            # 9. Fold like texts, unless a value in the query names them.
            named = ranking.candidates.named
            ids = [each.place.id for each in ranking.ranked if not named[each.at]]
            ranked, similar = folded(ranking.ranked, view.chunks.skeletons(ids))
            ranking = replace(ranking, ranked=ranked, similar=similar)
        # 10. Join neighbouring chunks into passages.
        passages = _passages(query, ranking, least=0 if reranker is None else reranker.passages)
        documents = {each.best.place.document_id for each in passages}
        enough = len(documents) >= query.limit or (len(passages) >= query.limit and depth > first_depth)
        if ranking.is_complete or enough:
            break
        depth *= _DEPTH_GROWTH
        words = find_words(depth)
    # 11. Estimate for each passage how probably it answers, and leave out those that hardly do.
    probable = probabilities(passages, ranking.candidates, words)
    confidence = level_of(probable[0]) if probable else Confidence.NONE
    most = 1 if query.min_score and confidence is Confidence.NONE else len(passages)  # the best guess
    least = [*accumulate(probable, min)]
    # A folded passage is counted by another one, and must not take the place of one that was left out.
    plausible = [
        at
        for at, each in enumerate(passages[:most])
        if (least if each.best.is_folded else probable)[at] >= query.min_score
    ]
    # 12. Let a reranker order the first ones.
    reranked = Reranked(plausible)
    if reranker is not None:
        named = ranking.candidates.exact | ranking.candidates.named
        reranked = rerank(meant.typed, passages, plausible, probable, named, reranker, view)
    # 13. Show the text of the first ones. Evidence orders hits, so that no score is higher than one before.
    scores = [*accumulate((probable[at] for at in plausible), min)]
    with run.current().step("show", hits=min(len(plausible), query.limit)):
        shown = show_hits(
            query,
            text,
            [passages[at] for at in reranked.order],
            scores,
            ranking.candidates,
            ranking.similar,
            view,
        )
    return Found(
        shown,
        confidence,
        vectors.mode,
        meant,
        weaker=min(len(passages), query.limit) - min(len(plausible), query.limit),
        hidden=() if passages else _similarities(ranking.candidates),
        warnings=(*vectors.warnings, *reranked.warnings),
        reranked=reranked.report,
    )


def rank(
    meant: Interpretation, words: Words, spaces: Sequence[QuerySpace], view: View, depth: int
) -> Ranking:
    """Rank the candidates of a query.

    Args:
        meant: The query; its text is not empty.
        words: The evidence of words.
        spaces: The query in each space; chunks of other collections are found by words only.
        view: The snapshot.
        depth: How many candidates to take from words and from each space.
    """
    import numpy as np

    where = meant.where
    # 4. Find the passages that the query, as it was typed, names.
    exact = Exact()
    if words.max_score and not meant.is_document:
        exact = find_exact(meant.typed, words, where, view)
    # 5. Find candidates by meaning.
    near = find_by_meaning(spaces, view, where=where, depth=depth)
    # 6. Collect all that is known about each candidate.
    by_words = {*words.scores, *exact.whole, *exact.parts}
    ids = by_words.union(*near)
    with run.current().step("places", chunks=len(ids)):
        places = view.chunks.places([*ids])
    meaning = measure_meaning(spaces, places, view)
    is_exact = np.array([place.id in exact.whole for place in places], np.bool_)
    bm25 = np.array([words.scores.get(place.id, 0.0) for place in places])
    candidates = Candidates(
        places=places,
        word_share=np.where(is_exact, 1.0, np.minimum(1.0, bm25 / (words.max_score or 1.0))),
        exact=is_exact,
        named=np.array([place.id in exact.parts for place in places], np.bool_),
        other_language=np.array([place.unspaced for place in places], np.bool_)
        != is_unspaced_query(meant.text),
        similarity=meaning.similarity,
        deviations=meaning.deviations,
        above_unrelated=meaning.above_unrelated,
    )
    # 7. Put words and meaning on one scale.
    with run.current().step("fuse"):
        evidence = fuse(candidates, words)
    # 8. Let the first hits speak for those that resemble them.
    if words.max_score and spaces:
        evidence = with_feedback(evidence, candidates, spaces, view)
    order: list[int] = np.argsort(-evidence, kind="stable").tolist()
    # What was found by the name of its document, and has no vector yet, has no evidence.
    is_known = ~np.isnan(meaning.similarity)
    ranked = [
        Ranked(at, places[at], float(evidence[at]))
        for at in order
        if is_known[at] or places[at].id in by_words
    ]
    complete = len(words.scores) < depth and all(len(each) < depth for each in near)
    return Ranking(ranked, candidates, {}, complete)


def _without(where: Where, path: str | None, searched: Sequence[Collection], view: View) -> Where:
    """Return where to look for texts related to a document of the first collection: not in itself."""
    document = view.documents.find(searched[0].id, path) if searched and path is not None else None
    return where if document is None else replace(where, hidden=where.hidden | {document.id})


def _words_finder(
    mode: SearchMode, text: str, where: Where, searched: Sequence[SearchedCollection], view: View
) -> Callable[[int], Words]:
    """Return the search by words to a depth."""
    if mode is SearchMode.DENSE:
        return lambda _: Words()
    spaces = dict.fromkeys(each.space_id for each in searched if each.space_id is not None)
    sample = [place.id for space in spaces for place in view.vectors.sample(space, SAMPLE_CHUNKS)]
    return lambda depth: find_by_words(text, view, where=where, limit=depth, sample=sample)


def _newest(query: SearchQuery, where: Where, view: View) -> list[RankedPassage]:
    """Return the first chunks of each document inside ``where``, the last updated document first."""
    documents = [*view.documents.titles(where)][: query.limit]
    places = [
        place for each in documents for place in view.chunks.places_in([each], where, query.per_document or 1)
    ]
    return [RankedPassage(Ranked(at, place, 0.0), (place,), 0.0) for at, place in enumerate(places)]


def _passages(query: SearchQuery, ranking: Ranking, *, least: int) -> list[RankedPassage]:
    """Return the passages that pass the threshold, best first: those of ``least`` documents or more."""
    ranked = ranking.ranked
    if query.threshold is not None:
        below = ranking.candidates.similarity < query.threshold  # NaN, for want of a vector, is not below
        ranked = [each for each in ranked if not below[each.at]]
    # All passages of a document are the same when it is shown whole.
    per_document = 1 if query.expand is Expansion.DOCUMENT else query.per_document
    if query.expand is Expansion.CHUNK:
        return single_chunks(ranked, per_document=per_document)
    # Each document has a passage at least as good as any of a later one.
    return joined_passages(ranked, per_document=per_document, documents=max(_SPARE * query.limit, least))


def _similarities(candidates: Candidates) -> tuple[float, ...]:
    known = (each for each in candidates.similarity.tolist() if each == each)
    return tuple(sorted(known, reverse=True))
