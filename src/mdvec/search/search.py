"""The way from a query to its answer: numbered steps, each of them a module of this folder.

:func:`search` checks the query and completes the answer, :func:`find` finds the passages of all its texts,
:func:`answer` those of one, :func:`rank` ranks them.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import accumulate, chain
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from mdvec import run
from mdvec.embedding.interface import ConfiguredReranker
from mdvec.search.advice import (
    Commands,
    Completeness,
    hidden,
    missed_words,
    not_operators,
    too_long,
    unmatched,
)
from mdvec.search.candidates import Candidates, Lexical
from mdvec.search.exact import Exact, Missed, find_exact
from mdvec.search.families import folded, without_titles
from mdvec.search.filters import clean, narrowed, unfound, without_document
from mdvec.search.fusion import fuse, with_feedback
from mdvec.search.hits import Shown, show_hits, with_files
from mdvec.search.interpretation import Interpretation, interpret
from mdvec.search.meaning import QuerySpace, find_by_meaning, measure_meaning
from mdvec.search.passages import (
    Ranked,
    RankedPassage,
    ScoredPassage,
    joined_passages,
    merged_passages,
    single_chunks,
)
from mdvec.search.probability import level_of, probabilities
from mdvec.search.query_vectors import SearchedCollection, embedding, tokens_in
from mdvec.search.reranking import Reranked, rerank, total_of
from mdvec.search.words import SAMPLE_CHUNKS, find_by_words
from mdvec.stores.interface import View
from mdvec.text.terms import is_unspaced_query
from mdvec.types.hit import Confidence, Correction, Reranking, SearchResult
from mdvec.types.ids import ChunkId, CollectionId
from mdvec.types.query import Expansion, SearchMode, SearchQuery, SortBy, Where

# How many candidates words and meaning each return at first. Fusion only reorders candidates, so this is far
# more than the hits shown; it grows if one long document fills it. It is the same for all usual limits: a
# chunk that one side ranks below the depth has no evidence from that side, so the depth affects the ranking.
_MIN_DEPTH = 200
_DEPTH_PER_HIT = 5
_DEPTH_GROWTH = 8

_STRANGE = 0.2  # the largest probability if nothing knows the only word of the query

# Of a query in a warning.
_MAX_SHOWN_CHARS = 80

# Passages prepared for each hit: two of them may be copies, or show the same text.
_SPARE = 3


class Answers(Struct, frozen=True):
    """The passages found for one query.

    Attributes:
        meant: The query with its operators applied and its spelling corrected.
        passages: Best first.
        plausible: Those of them that are not left out because they hardly answer the query.
        probability: How probable it is that the first one answers the query; 0 if there is none.
        hidden: If the threshold hides every candidate, their similarities; otherwise empty.
        reranked: What a reranker did.
    """

    meant: Interpretation
    passages: Sequence[ScoredPassage]
    plausible: Sequence[ScoredPassage]
    probability: float
    hidden: tuple[float, ...] = ()
    reranked: Reranked = Reranked(())


class Found(Struct, frozen=True):
    """The passages found for all queries.

    Attributes:
        shown: The hits, best first.
        meant: The queries.
        confidence: How sure it is that the first one answers its query.
        mode: The mode in use; ``lexical`` when no vector could be used.
        weaker: How many passages were left out because they hardly answer a query.
        unanswered: The queries that have no answer, if another one has.
        unknown_words: Words of the queries that no document contains.
        hidden: See :class:`Answers`.
        warnings: Collections that were searched by words only, and why; why nothing was reranked.
        reranked: What a reranker has read.
    """

    shown: Shown
    meant: Sequence[Interpretation]
    confidence: Confidence
    mode: SearchMode
    weaker: int
    unanswered: tuple[str, ...]
    unknown_words: tuple[str, ...]
    hidden: tuple[float, ...]
    warnings: tuple[str, ...]
    reranked: Reranking | None


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
    path = asked.related_to
    where = allowed if path is None else without_document(allowed, path, collections, view)
    # 2. to 13. Find the passages.
    found = find(query, where, searched, view, is_document=path is not None, reranker=reranker)
    words = "\n".join(each.searched for each in found.meant)
    # 14. Add what is known of their documents, and the state of each file.
    hits = [*with_files(found.shown.hits, words, searched, view)]
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
        texts = (query.text, *query.queries) if path is None else ("",)
        hint = (
            hidden(query, found.hidden)
            or index.hint(found.mode, commands)
            or (unfound(query.filters, texts, collections, view) if searched and not found.shown.hits else "")
            or ("" if found.weaker else unmatched(query))
        )
    return SearchResult(
        query=asked.query.text,
        mode=found.mode,
        hits=tuple(hits),
        confidence=found.confidence,
        total_chunks=index.chunks,
        pending_chunks=index.pending_chunks,
        last_indexed_ms=index.last_indexed_ms(asked.checked_ms),
        elapsed_ms=(time.perf_counter() - started) * 1000,
        warnings=(
            *warnings,
            *found.warnings,
            *(f"probably no answer to: {each[:_MAX_SHOWN_CHARS]}" for each in found.unanswered),
            *(line for each in found.meant for line in not_operators(each.searched, each.as_text)),
            *too_long(query, found.shown.left_out),
            *index.warnings(found.mode, commands, activities, importing=asked.importing),
        ),
        hint=hint,
        searched=words,
        corrections=tuple(Correction(*pair) for each in found.meant for pair in each.corrections.items()),
        unknown_words=found.unknown_words if index.chunks else (),
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
    """Find the passages that answer a query, or one of several.

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
    texts = (query.text, *query.queries)
    if is_document or not searched:
        meant = [Interpretation(each, each, where, each, is_document=is_document) for each in texts]
    else:
        count = partial(tokens_in, searched=searched)
        meant = [interpret(each, where, view, count) for each in texts]
    # 3. Embed it in each space. Meanwhile, find what has its words, and 4. the passages that it names.
    typed = [each.typed if each.text else "" for each in meant]
    depth = max(_MIN_DEPTH, _DEPTH_PER_HIT * query.limit)
    with embedding(typed, query.mode, searched, view) as wait_for_vectors:
        lexical = [find_lexical(query.mode, each, searched, view, depth) for each in meant]
        vectors = wait_for_vectors()
    # 5. to 12. Find the passages that answer. Without words there is nothing to rank: list the documents.
    answers: list[Answers] = []
    for each, spaces, own in zip(meant, vectors.spaces, lexical, strict=True):
        if each.text:
            answers.append(answer(query, each, spaces, own, searched, view, depth, reranker))
        else:
            answers.append(_newest(query, each, view))
    # 13. Merge what several queries found, and show the text of the first passages.
    best = max(answers, key=attrgetter("probability"))
    sure = [each for each in answers if not query.min_score or level_of(each.probability) != Confidence.NONE]
    lists = [each.plausible for each in sure] or [best.plausible]
    merge = partial(merged_passages, per_document=query.per_document, most=_SPARE * query.limit)
    passages, plausible = merge([each.passages for each in answers]), merge(lists)
    with run.current().step("show", hits=min(len(plausible), query.limit)):
        shown = show_hits(query, plausible, view)
    unsure = [each.meant.searched for each in answers if not any(each is other for other in sure)]
    missed = [missed_words(each.meant, each.passages, level_of(each.probability)) for each in answers]
    warnings = chain(vectors.warnings, *(each.reranked.warnings for each in answers))
    return Found(
        shown,
        meant,
        level_of(best.probability),
        vectors.mode,
        weaker=min(len(passages), query.limit) - min(len(plausible), query.limit),
        unanswered=tuple(unsure) if sure else (),
        unknown_words=tuple(dict.fromkeys(chain.from_iterable(missed))),
        hidden=best.hidden,
        warnings=tuple(dict.fromkeys(warnings)),
        reranked=None if reranker is None else total_of([each.reranked for each in answers]),
    )


def answer(
    query: SearchQuery,
    meant: Interpretation,
    spaces: Sequence[QuerySpace],
    lexical: Lexical,
    searched: Sequence[SearchedCollection],
    view: View,
    depth: int,
    reranker: ConfiguredReranker | None,
) -> Answers:
    """Find the passages that answer one query.

    Args:
        query: The limits.
        meant: What to search for; its text is not empty.
        spaces: It in each space.
        lexical: The evidence that needs no vector, to a depth.
        searched: The collections, each with its model.
        view: The snapshot.
        depth: The depth.
        reranker: Orders the first passages; None for none.
    """
    first_depth = depth
    # 5. to 8. Rank candidates, deeper if one long document fills the first ones.
    while True:
        ranking = rank(meant, lexical, spaces, view, depth)
        if not query.all_similar:
            # 9. Fold like texts, unless a value in the query names them, or the query one of them alone.
            exact, named = ranking.candidates.exact, ranking.candidates.named
            ranked, similar = folded(ranking.ranked, named | exact if exact.sum() == 1 else named)
            ranking = replace(ranking, ranked=ranked, similar=similar)
        # 10. Join neighbouring chunks into passages.
        passages = _passages(query, ranking, least=0 if reranker is None else reranker.passages)
        documents = {each.best.place.document_id for each in passages}
        enough = len(documents) >= query.limit or (len(passages) >= query.limit and depth > first_depth)
        if ranking.is_complete or enough:
            break
        depth *= _DEPTH_GROWTH
        lexical = find_lexical(query.mode, meant, searched, view, depth)
    # 11. Estimate for each passage how probably it answers, and leave out those that hardly do.
    probable = probabilities(passages, ranking.candidates, lexical.words)
    least = [*accumulate(probable, min)]
    is_sure = not query.min_score or not probable or level_of(probable[0]) is not Confidence.NONE
    scored = [
        ScoredPassage(passage, score, meant.text, ranking.candidates, ranking.similar)
        for passage, score in zip(passages, least, strict=True)
    ]
    # A folded passage is counted by another one, and must not take the place of one that was left out.
    plausible = [
        at
        for at, each in enumerate(passages[: None if is_sure else 1])  # the best guess
        if (least if each.best.is_folded else probable)[at] >= query.min_score
    ]
    # 12. Let a reranker order the first ones. Evidence gives the scores: none is higher than one before.
    reranked = Reranked(plausible)
    if reranker is not None:
        named = ranking.candidates.exact | ranking.candidates.named
        reranked = rerank(meant.typed, passages, plausible, probable, named, reranker, view)
    scores = accumulate((probable[at] for at in plausible), min)
    return Answers(
        meant,
        scored,
        [replace(scored[at], score=score) for at, score in zip(reranked.order, scores, strict=True)],
        probable[0] if probable else 0.0,
        () if passages else tuple(each for each in ranking.candidates.similarity.tolist() if each == each),
        reranked,
    )


def find_lexical(
    mode: SearchMode, meant: Interpretation, searched: Sequence[SearchedCollection], view: View, depth: int
) -> Lexical:
    """Find what has the words of a query, to a depth, and what the query names."""
    if mode is SearchMode.DENSE or not meant.text:
        return Lexical()
    spaces = dict.fromkeys(each.space_id for each in searched if each.space_id is not None)
    sample = [place.id for space in spaces for place in view.vectors.sample(space, SAMPLE_CHUNKS)]
    words = find_by_words(meant.text, view, where=meant.where, limit=depth, sample=sample)
    exact = Exact() if meant.is_document else find_exact(meant.typed, words, meant.where, view)
    return Lexical(words, exact)


def rank(
    meant: Interpretation, lexical: Lexical, spaces: Sequence[QuerySpace], view: View, depth: int
) -> Ranking:
    """Rank the candidates of a query.

    Args:
        meant: The query; its text is not empty.
        lexical: The evidence that needs no vector.
        spaces: The query in each space; chunks of other collections are found by words only.
        view: The snapshot.
        depth: How many candidates to take from words and from each space.
    """
    import numpy as np

    words, exact = lexical.words, lexical.exact
    # 5. Find candidates by meaning.
    near = find_by_meaning(spaces, view, where=meant.where, depth=depth)
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
        commonness=meaning.commonness,
        missed=Missed(meant.unknown_words, most=_STRANGE) if meant.is_strange else exact.missed,
    )
    candidates = without_titles(candidates)  # a footer is not about what its document is about
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


def _newest(query: SearchQuery, meant: Interpretation, view: View) -> Answers:
    """Return the first chunks of each document that operators allow, the last updated document first."""
    documents = view.documents.newest(meant.where, limit=query.limit)
    most = query.per_document or 1
    places = [place for each in documents for place in view.chunks.places_in([each], meant.where, most)]
    listed = [
        ScoredPassage(RankedPassage(Ranked(at, place, 0.0), (place,), 0.0), 1.0, "")
        for at, place in enumerate(places)
    ]
    return Answers(meant, listed, listed, 1.0 if listed else 0.0)


def _passages(query: SearchQuery, ranking: Ranking, *, least: int) -> list[RankedPassage]:
    """Return the passages that pass the threshold, best first: those of ``least`` documents or more."""
    ranked = ranking.ranked
    if query.threshold is not None:
        below = ranking.candidates.similarity < query.threshold  # NaN, for want of a vector, is not below
        ranked = [each for each in ranked if not below[each.at]]
    if query.expand is Expansion.CHUNK:
        return single_chunks(ranked, per_document=query.per_document)
    # Each document has a passage at least as good as any of a later one.
    documents = max(_SPARE * query.limit, least)
    return joined_passages(ranked, per_document=query.per_document, documents=documents)
