"""Answers a query over some collections in one snapshot."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from mdvec import run
from mdvec.embedding.interface import Embedder
from mdvec.errors import ConfigError, EmbeddingError, MdvecError
from mdvec.search.answer import Found, find, words_of
from mdvec.search.filters import clean
from mdvec.search.forms import embed_forms
from mdvec.search.fusion import LexicalEvidence
from mdvec.search.interpretation import Interpretation, interpret
from mdvec.search.proximity import QuerySpace
from mdvec.search.where import unmet
from mdvec.stores.interface import View
from mdvec.stores.records import StoredChunk
from mdvec.stores.versions import VersionCache
from mdvec.text.boilerplate import without_boilerplate
from mdvec.text.highlight import match_spans
from mdvec.text.quantity import quantity
from mdvec.text.scripts import is_unspaced_query
from mdvec.types.collection import Collection
from mdvec.types.folder_context import contexts_above
from mdvec.types.hit import Confidence, SearchHit, SearchResult
from mdvec.types.ids import CollectionId, SpaceId
from mdvec.types.links import Versions
from mdvec.types.query import Filters, SearchMode, SearchQuery, Where
from mdvec.workspace.collections import Collections
from mdvec.workspace.completeness import Completeness
from mdvec.workspace.documents.reading import file_of, is_stale
from mdvec.workspace.documents.references import where_of
from mdvec.workspace.wiring.embedders import Model
from mdvec.workspace.wiring.parts import Parts

if TYPE_CHECKING:
    from mdvec.search.forms import Vectors


# More than a person types.
_MAX_AS_TEXT = 3


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
    checked_ms: Mapping[CollectionId, int]
    importing: bool = False
    related_to: str | None = None
    readable: frozenset[str] | None = None


class _Embedded(Struct, frozen=True):
    """The query in the spaces of the collections.

    Attributes:
        mode: ``lexical`` when no model can be used.
        spaces: The query in each space that is searched.
        space_of: The space of each collection; None when no vector of it can be used.
        warnings: For people.
        words: What was found by words meanwhile.
    """

    mode: SearchMode
    spaces: tuple[QuerySpace, ...]
    space_of: Mapping[CollectionId, SpaceId | None]
    warnings: tuple[str, ...] = ()
    words: LexicalEvidence | None = None


def answer(search: Search, collections: Collections, parts: Parts, versions: VersionCache) -> SearchResult:
    """Answer a query from what is indexed now.

    Args:
        search: The query.
        collections: Where to look.
        parts: Makes the models and the sources.
        versions: Which documents replace which.

    Raises:
        InvalidQueryError: If the query is empty.
        UsageError: If one of its numbers is out of range.
        CollectionNotFoundError: If it names a collection that does not exist.
        EmbeddingError: If its mode is ``dense`` and a model cannot be used or does not answer.
        DocumentNotFoundError: If it filters by links to a document that is not there.
    """
    started = time.perf_counter()
    cleaned, warnings = clean(search.query)
    query = cleaned.text
    with collections.store().read() as view:
        searched = collections.chosen(search.query.collections, view)
        replaced = versions.of((each.id for each in searched), view)
        meant = _interpreted(cleaned, search.related_to, searched, replaced, view)
        # Without a text there is nothing to compare vectors with.
        mode = cleaned.mode if meant.text else SearchMode.LEXICAL
        cleaned = replace(cleaned, text=meant.text, mode=mode)
        embedded = _embed(cleaned, searched, view, parts, meant.where)
        found = Found([], Confidence.NONE)
        if searched:
            wanted = replace(cleaned, mode=embedded.mode)
            found = find(wanted, meant.where, view, embedded.spaces, embedded.words)
        counts = [view.counts(each.id, embedded.space_of[each.id]) for each in searched]
        index = Completeness(searched, counts)
        activities = view.activities() if index.lacks_anything else []
        unmet_filter = "" if found.hits else _unmet(cleaned.filters, searched, replaced, view)
    hits = tuple(_located(found.hits, meant.searched, searched, replaced, parts))
    if cleaned.filters.clean_only:  # a file may have changed just now, before anything could mark it
        hits = tuple(hit for hit in hits if not hit.stale)
    return SearchResult(
        query=search.query.text,
        mode=embedded.mode,
        hits=hits,
        confidence=found.confidence,
        total_chunks=index.chunks,
        pending_chunks=index.pending_chunks,
        last_indexed_ms=index.last_indexed_ms(search.checked_ms),
        elapsed_ms=(time.perf_counter() - started) * 1000,
        warnings=(
            *warnings,
            *embedded.warnings,
            *_not_operators(query, meant.as_text),
            *_too_long(cleaned, found.left_out),
            *index.warnings(embedded.mode, collections, activities, importing=search.importing),
        ),
        hint=None
        if hits
        else _hidden(cleaned, found.hidden)
        or index.hint(embedded.mode, collections)
        or unmet_filter
        or _unmatched(cleaned, meant.operators),
        searched=meant.searched,
        corrections=meant.corrections,
        unknown_words=meant.unknown_words,
        left_out=found.left_out,
    )


def _interpreted(
    query: SearchQuery,
    related_to: str | None,
    collections: Sequence[Collection],
    versions: Mapping[CollectionId, Versions],
    view: View,
) -> Interpretation:
    """Return what a query means; the text of a document is no query, and that document is left out."""
    if not collections:
        return Interpretation(query.text, Where(()), query.text)
    where = where_of(query.filters, collections, versions, view)
    if related_to is None:
        return interpret(query.text, where, view)
    document = view.find_document(collections[0].id, related_to)
    if document is not None:
        where = replace(where, hidden=where.hidden | {document.id})
    return Interpretation(query.text, where, query.text)


def _embed(
    query: SearchQuery, collections: Sequence[Collection], view: View, parts: Parts, where: Where
) -> _Embedded:
    """Embed a query once for each space, and look for its words meanwhile.

    A model that cannot be used leaves its collections to words.

    Raises:
        EmbeddingError: If the mode is ``dense`` and a model cannot be used or does not answer.
        ConfigError: If the configuration names a model that does not exist.
    """
    mode = query.mode
    models = {collection.id: parts.model(collection) for collection in collections}
    space_of = {each.id: models[each.id].space_id(each, view) for each in collections}
    if mode is SearchMode.LEXICAL:
        return _Embedded(mode, (), space_of)
    members: dict[SpaceId | None, list[Collection]] = {}
    silent: dict[str, list[str]] = {}
    for collection in collections:
        problem = _problem(collection, models[collection.id], space_of[collection.id], view)
        if problem is None:
            members.setdefault(space_of[collection.id], []).append(collection)
        elif mode is SearchMode.DENSE:
            raise problem
        else:
            silent.setdefault(str(problem), []).append(collection.name)
    embedders = {
        space_id: embedder
        for space_id, inside in members.items()
        # Else nothing is embedded yet, which another warning says.
        if space_id is not None and (embedder := models[inside[0].id].embedder) is not None
    }
    vectors, words = _vectors_and_words(query, where, view, embedders, alone=len(members) == 1)
    spaces: list[QuerySpace] = []
    for space_id, made in vectors.items():
        inside = members[space_id]
        if not isinstance(made, EmbeddingError):
            spaces.append(_query_space(query.text, made, space_id, inside, view))
        elif mode is SearchMode.DENSE:
            raise made
        else:
            silent.setdefault(str(made), []).extend(each.name for each in inside)
    if sum(map(len, silent.values())) < len(collections) or not collections:
        warnings = [f"{', '.join(names)}: searched by words only: {why}" for why, names in silent.items()]
        return _Embedded(mode, tuple(spaces), space_of, tuple(warnings), words)
    warnings = [f"searched by words only: {why}" for why in silent]
    return _Embedded(SearchMode.LEXICAL, (), space_of, tuple(warnings), words)


def _problem(collection: Collection, model: Model, space_id: SpaceId | None, view: View) -> MdvecError | None:
    """Return why a collection cannot be searched by meaning; None when it can, or holds no vector yet."""
    if model.problem is not None or space_id is not None or model.made is None:
        return model.problem
    if collection.embedding is None and not view.counts(collection.id, None).chunks:
        return None
    try:  # no vector yet, or a model whose files are gone, or whose server is away
        view.find_space(model.made.space)
    except (ConfigError, EmbeddingError) as error:
        return error
    return None


def _vectors_and_words(
    query: SearchQuery, where: Where, view: View, embedders: Mapping[SpaceId, Embedder], *, alone: bool
) -> tuple[dict[SpaceId, Vectors | EmbeddingError], LexicalEvidence | None]:
    """Embed a query with each model, or return why it does not answer; find by words meanwhile."""

    def embedded(embedder: Embedder) -> Vectors | EmbeddingError:
        try:
            with run.current().step("embed_query"):
                # What several spaces find is compared in the one form in which models were measured.
                return (
                    embed_forms(query.text, embedder) if alone else (embedder.embed_query(query.text), None)
                )
        except EmbeddingError as error:
            return error

    with ThreadPoolExecutor(max(1, len(embedders)), thread_name_prefix="mdvec-query") as pool:
        started = {
            space_id: pool.submit(copy_context().run, embedded, embedder)
            for space_id, embedder in embedders.items()
        }
        words = words_of(query, where, view)
        return {space_id: each.result() for space_id, each in started.items()}, words


def _query_space(
    text: str, vectors: Vectors, space_id: SpaceId, collections: Sequence[Collection], view: View
) -> QuerySpace:
    vector, ranked_by = vectors
    chunks = sum(view.counts(each.id, space_id).chunks for each in collections)
    return QuerySpace(
        id=space_id,
        collections=tuple(each.id for each in collections),
        vector=vector,
        measured=view.unrelated(space_id),
        chunks=chunks,
        unspaced=is_unspaced_query(text),
        ranked_by=ranked_by,
    )


def _located(
    found: Sequence[tuple[SearchHit, StoredChunk]],
    query: str,
    collections: Sequence[Collection],
    versions: Mapping[CollectionId, Versions],
    parts: Parts,
) -> Iterator[SearchHit]:
    """Yield hits with their own text, their file, its state, its versions and the contexts of its folders."""
    sources = {each.id: (each, parts.source(each.source)) for each in collections}
    for hit, chunk in found:
        collection, source = sources[chunk.collection_id]
        replaced = versions[chunk.collection_id]
        yield replace(
            hit,
            chunk_text=_own_text(query, hit.chunk_text, collection.boilerplate.frequent),
            stale=is_stale(chunk, source),
            file=file_of(chunk, collection),
            chunk_index=chunk.ordinal,
            folder_contexts=contexts_above(chunk.path, collection.folder_contexts),
            supersedes=replaced.older.get(chunk.document_id, ()),
            superseded_by=replaced.newer.get(chunk.document_id, ()),
        )


def _own_text(query: str, text: str, shared: Sequence[str]) -> str:
    """Return a text without the lines that many documents share; all of it if only these match the query."""
    rest = without_boilerplate(text, shared)
    return text if rest != text and match_spans(query, text) and not match_spans(query, rest) else rest


def _too_long(query: SearchQuery, left_out: int) -> tuple[str, ...]:
    """Return a warning about hits that did not fit into the tokens wanted."""
    if not left_out:
        return ()
    hits = "1 more hit is" if left_out == 1 else f"{left_out:,} more hits are"
    return (f"{hits} left out: max_tokens is {query.max_tokens:,}; raise it, or lower the limit",)


def _not_operators(query: str, as_text: Sequence[str]) -> tuple[str, ...]:
    """Return a warning about operators that a sentence makes plain text, unless it is a pasted one."""
    if not as_text or len(as_text) > _MAX_AS_TEXT or "\n" in query:
        return ()
    return (f"a whole sentence has no operators, so this is plain text: {' '.join(as_text)}",)


def _hidden(query: SearchQuery, similarities: Sequence[float]) -> str:
    """Return a hint about passages below the threshold, given their similarities, the largest first."""
    if not similarities:
        return ""
    return (
        f"The threshold of {query.threshold:g} hides {quantity(len(similarities), 'passage')}; "
        f"the nearest has a similarity of {similarities[0]:.3f}. Take a lower threshold."
    )


def _unmatched(query: SearchQuery, operators: Sequence[str]) -> str:
    """Return a hint for a query whose words, or operators, nothing matches."""
    match operators:
        case ():
            fewer = ", or fewer filters" if query.filters != Filters() else ""
            return f"Nothing matches. Try other words{fewer}."
        case (operator,):
            return f"Nothing matches {operator}. Leave it out."
        case several:
            return f"Nothing matches all of {' '.join(several)}. Leave some of them out."


def _unmet(
    filters: Filters, searched: Sequence[Collection], replaced: Mapping[CollectionId, Versions], view: View
) -> str:
    return unmet(filters, where_of(filters, searched, replaced, view), view) if searched else ""


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
    known = (
        {"query": text}
        if plain
        else {"query_hash": hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]}
    )
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
