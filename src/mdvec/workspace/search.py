"""Answers a query over some collections in one snapshot, and says how complete the index behind it is."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from mdvec import run
from mdvec.documents.conversion import place_with_words
from mdvec.documents.properties import CREATED_KEYS, first_moment
from mdvec.errors import ConfigError, EmbeddingError, MdvecError
from mdvec.search.filters import clean
from mdvec.search.query_vectors import SearchedCollection
from mdvec.search.search import search as find
from mdvec.search.where import unmet
from mdvec.stores.interface import View
from mdvec.stores.records import DocumentFacts, StoredChunk
from mdvec.stores.versions import VersionCache
from mdvec.text.boilerplate import without_boilerplate
from mdvec.text.highlight import matched_words
from mdvec.text.quantity import quantity
from mdvec.types.collection import Collection
from mdvec.types.folder_context import contexts_above
from mdvec.types.hit import Correction, SearchHit, SearchResult
from mdvec.types.ids import CollectionId, DocumentId, SpaceId
from mdvec.types.links import Versions
from mdvec.types.query import Filters, SearchMode, SearchQuery, SortBy, Where
from mdvec.types.report import Activity, CollectionCounts, ImportMode
from mdvec.workspace.collections import PUBLISH_AGAIN, Collections
from mdvec.workspace.reading import file_of, is_stale, where_of
from mdvec.workspace.stages import Model, Stages

_NS_PER_MS = 1_000_000
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


def answer(search: Search, collections: Collections, stages: Stages, versions: VersionCache) -> SearchResult:
    """Answer a query from what is indexed now.

    Args:
        search: The query.
        collections: Where to look.
        stages: Makes the models and the sources.
        versions: Which documents replace which.

    Raises:
        InvalidQueryError: If the query is empty.
        UsageError: If one of its numbers is out of range.
        CollectionNotFoundError: If it names a collection that does not exist.
        EmbeddingError: If its mode is ``dense`` and a model cannot be used or does not answer.
        DocumentNotFoundError: If it filters by links to a document that is not there.
    """
    started = time.perf_counter()
    query, warnings = clean(search.query)
    with collections.store().read() as view:
        chosen = collections.chosen(query.collections, view)
        replaced = versions.of((each.id for each in chosen), view)
        filtered = where_of(query.filters, chosen, replaced, view) if chosen else Where(())
        where = _without(filtered, search.related_to, chosen, view)
        searched = [_searched(each, stages.model(each), view) for each in chosen]
        found = find(query, where, searched, view, is_document=search.related_to is not None)
        meant = found.meant
        index = Completeness(
            chosen, [view.collections.counts(each.collection.id, each.space_id) for each in searched]
        )
        activities = view.collections.activities() if index.pending_chunks or index.partial else []
        unmet_filter = unmet(query.filters, filtered, view) if chosen and not found.shown.hits else ""
        facts = view.documents.facts([chunk.document_id for _, chunk in found.shown.hits])
    hits = tuple(_located(found.shown.hits, meant.searched, chosen, replaced, facts, stages))
    if query.sort is SortBy.DATE:
        newest = sorted(hits, key=lambda hit: -(hit.updated_ms or 0))
        hits = tuple(replace(hit, rank=rank) for rank, hit in enumerate(newest, start=1))
    if query.filters.clean_only:  # a file may have changed just now, before anything could mark it
        hits = tuple(hit for hit in hits if not hit.stale)
    return SearchResult(
        query=search.query.text,
        mode=found.mode,
        hits=hits,
        confidence=found.confidence,
        total_chunks=index.chunks,
        pending_chunks=index.pending_chunks,
        last_indexed_ms=index.last_indexed_ms(search.checked_ms),
        elapsed_ms=(time.perf_counter() - started) * 1000,
        warnings=(
            *warnings,
            *found.warnings,
            *_not_operators(query.text, meant.as_text),
            *(_too_long(query, found.shown.left_out) if found.shown.left_out else ()),
            *index.warnings(found.mode, collections, activities, importing=search.importing),
        ),
        hint=None
        if hits
        else _hidden(query, found.hidden)
        or index.hint(found.mode, collections)
        or unmet_filter
        or _all_weak(query, found.weaker)
        or _unmatched(query, meant.operators),
        searched=meant.searched,
        corrections=tuple(Correction(*pair) for pair in meant.corrections.items()),
        unknown_words=meant.unknown_words,
        left_out=found.shown.left_out,
        weaker=found.weaker,
    )


def _without(where: Where, path: str | None, searched: Sequence[Collection], view: View) -> Where:
    """Return where to look for texts related to a document of the first collection: not in itself."""
    document = view.documents.find(searched[0].id, path) if searched and path is not None else None
    return where if document is None else replace(where, hidden=where.hidden | {document.id})


def _searched(collection: Collection, model: Model, view: View) -> SearchedCollection:
    space_id = model.space_id(collection, view)
    problem = _problem(collection, model, space_id, view)
    return SearchedCollection(collection, model.embedder, space_id, problem)


def _problem(collection: Collection, model: Model, space_id: SpaceId | None, view: View) -> MdvecError | None:
    """Return why a collection cannot be searched by meaning; None when it can, or holds no vector yet."""
    if model.problem is not None or space_id is not None or model.made is None:
        return model.problem
    if collection.embedding is None and not view.collections.counts(collection.id, None).chunks:
        return None
    try:  # no vector yet, or a model whose files are gone, or whose server is away
        view.spaces.find(model.made.space)
    except (ConfigError, EmbeddingError) as error:
        return error
    return None


def _located(
    found: Sequence[tuple[SearchHit, StoredChunk]],
    query: str,
    collections: Sequence[Collection],
    versions: Mapping[CollectionId, Versions],
    facts: Mapping[DocumentId, DocumentFacts],
    stages: Stages,
) -> Iterator[SearchHit]:
    """Yield hits with their own text, and with what is known of their document and its file."""
    sources = {each.id: (each, stages.source(each.source)) for each in collections}
    for hit, chunk in found:
        collection, source = sources[chunk.collection_id]
        replaced, said = versions[chunk.collection_id], facts[chunk.document_id]
        created = first_moment(said.frontmatter, CREATED_KEYS)
        yield replace(
            hit,
            chunk_text=_own_text(query, hit.chunk_text, collection.boilerplate.frequent),
            stale=is_stale(chunk, source),
            file=file_of(chunk, collection),
            chunk_index=chunk.ordinal,
            folder_contexts=contexts_above(chunk.path, collection.folder_contexts),
            supersedes=replaced.older.get(chunk.document_id, ()),
            superseded_by=replaced.newer.get(chunk.document_id, ()),
            updated_ms=said.changed_ns // _NS_PER_MS or None,
            created_ms=None if created is None else created // _NS_PER_MS,
            tags=said.tags,
            place=_place(query, hit, said) if said.comments else "",
        )


def _place(query: str, hit: SearchHit, said: DocumentFacts) -> str:
    """Return the place that a hit names: that of its best chunk unless another one has more words."""
    above = hit.text.split("\n")[: max(0, hit.chunk_line - hit.start_line)]
    chunk = hit.start + sum(len(line) + 1 for line in above)
    return place_with_words(query, said.comments, hit.start, hit.text, chunk)


def _own_text(query: str, text: str, shared: Sequence[str]) -> str:
    """Return a text without the lines that many documents share, unless these hold words of the query."""
    rest = without_boilerplate(text, shared)
    return text if rest == text or matched_words(query, rest) != matched_words(query, text) else rest


def _too_long(query: SearchQuery, left_out: int) -> tuple[str, ...]:
    """Return a warning about hits that did not fit into the tokens wanted."""
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


def _all_weak(query: SearchQuery, weaker: int) -> str:
    """Return a hint about passages that hardly answer the query."""
    if not weaker:
        return ""
    passages = "one passage is" if weaker == 1 else f"{weaker:,} passages are"
    return f"Only {passages} near, with a score below {query.min_score:g}; lower min_score to see them."


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


class Completeness(Struct, frozen=True):
    """The state of the collections that were searched.

    Attributes:
        searched: The collections.
        counts: What each of them holds, in the space in which it was searched.
    """

    searched: Sequence[Collection]
    counts: Sequence[CollectionCounts]

    @property
    def chunks(self) -> int:
        """All chunks."""
        return sum(map(attrgetter("chunks"), self.counts))

    @property
    def pending_chunks(self) -> int:
        """Those without a vector."""
        return sum(map(attrgetter("pending_chunks"), self.counts))

    @property
    def partial(self) -> list[str]:
        """The collections whose import was stopped, or whose index was rebuilt."""
        return [each.name for each in self.searched if each.last_indexed_ms is None]

    def last_indexed_ms(self, checked_ms: Mapping[CollectionId, int]) -> int | None:
        """Return since when nothing is missing, in milliseconds since 1970; None if that is not known.

        Args:
            checked_ms: When sources were last found to be as indexed.
        """
        known = [
            max(each.last_indexed_ms, checked_ms.get(each.id, 0))
            for each in self.searched
            if each.last_indexed_ms is not None
        ]
        return min(known) if known and len(known) == len(self.searched) else None

    def hint(self, mode: SearchMode, collections: Collections) -> str:
        """Return what to do before anything can be found; empty if something can."""
        if not self.chunks:
            empty = "There is no text to search: the folders contain no document to index."
            return collections.first_step(self.searched) or empty
        if mode is SearchMode.DENSE and self.pending_chunks == self.chunks:
            return "There is no vector yet. Search in mode hybrid or lexical."
        return ""

    def warnings(
        self, mode: SearchMode, collections: Collections, activities: Sequence[Activity], *, importing: bool
    ) -> Iterator[str]:
        """Yield what is missing, and what completes it.

        Args:
            mode: How was searched.
            collections: Name the commands.
            activities: What processes are doing.
            importing: Whether this process is making the missing vectors.
        """
        working = {each.collection: str(each) for each in activities}

        def next_step(names: Sequence[str], verb: str) -> str:
            if importing:
                return "they are being made"
            if all(name in working for name in names):
                return "; ".join(working[name] for name in names)
            if collections.is_published:
                return PUBLISH_AGAIN
            return f"'{collections.place.import_command(names, ImportMode.UPDATE)}' {verb}"

        read = self._names(attrgetter("documents"))
        partial = self.partial if self.chunks and not importing else []
        if names := [name for name in partial if name not in read]:
            yield f"not imported yet: {', '.join(names)}; {next_step(names, 'imports the documents')}"
        if names := [name for name in partial if name in read]:
            state = "not imported to the end, so documents may be missing"
            yield f"{state}: {', '.join(names)}; {next_step(names, 'resumes')}"
        if self.pending_chunks and mode is not SearchMode.LEXICAL:
            names = self._names(attrgetter("pending_chunks"))
            count = f"{self.pending_chunks:,} of {self.chunks:,} chunks"
            step = next_step(names, "makes them")
            yield f"{count} have no vector yet and are found by words only; {step}"

    def _names(self, number: Callable[[CollectionCounts], int]) -> list[str]:
        """Return the collections in which a number is not 0."""
        return [each.name for each, count in zip(self.searched, self.counts, strict=True) if number(count)]
