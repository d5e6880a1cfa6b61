"""Hits: the texts of passages, as they are shown, within a budget of tokens."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import accumulate, islice
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from mdvec.search.candidates import Candidates
from mdvec.search.extracts import Extract, expanded, fit, passage_of
from mdvec.search.families import without_copies
from mdvec.search.passages import ScoredPassage
from mdvec.search.query_vectors import SearchedCollection
from mdvec.stores.interface import View
from mdvec.stores.records import StoredChunk, StoredDocument
from mdvec.text.boilerplate import without_boilerplate
from mdvec.text.folding import normalise
from mdvec.text.links import is_markdown
from mdvec.text.matches import beyond_name, match_spans, matched_words
from mdvec.text.moments import CREATED_KEYS, first_moment
from mdvec.text.plain import plain_text
from mdvec.text.plain_headings import plain_headings
from mdvec.text.properties import property_lines
from mdvec.text.prose import FENCE
from mdvec.text.terms import word_terms
from mdvec.types.change import SourceEntry
from mdvec.types.collection import DEFAULT_SOURCE, Collection
from mdvec.types.document import Comment, Heading, parts_of_places
from mdvec.types.folder_context import contexts_above
from mdvec.types.hit import SearchHit
from mdvec.types.ids import ChunkId, DocumentId
from mdvec.types.query import Expansion, SearchQuery
from mdvec.types.report import ListedDocument

_HEADING = re.compile(r"^(?P<marks>#{1,6})[ \t]+(?P<text>[^\n]*?)[ \t]*#*[ \t]*$", re.MULTILINE)

_MOST_PROPERTIES = 3  # of a document that an answer shows

_NS_PER_MS = 1_000_000

# Of these, no more of a document is shown than its chunks.
_PLAIN = (Expansion.PASSAGE, Expansion.CHUNK)


class Shown(Struct, frozen=True):
    """Hits with their texts.

    Attributes:
        hits: Best first, each with the chunk of it that has most of the query's words.
        left_out: How many hits did not fit into ``max_tokens``.
    """

    hits: Sequence[tuple[SearchHit, StoredChunk]] = ()
    left_out: int = 0


def show_hits(query: SearchQuery, passages: Sequence[ScoredPassage], view: View) -> Shown:
    """Return the hits of the first passages.

    Args:
        query: How many hits, and how much text around them.
        passages: Best first, more than are wanted: some may be copies, or show the same text.
        view: The snapshot.
    """
    chunks = view.chunks.get([place.id for each in passages for place in each.passage.chunks])
    similar: Mapping[ChunkId, int] = {}
    if not query.all_similar:
        passages, similar = without_copies(passages, chunks)
    whole = {each.document_id for each in chunks.values()} if query.expand not in _PLAIN else set()
    whole |= {each.passage.best.place.document_id for each in passages if len(each.passage.chunks) > 1}
    bodies = view.documents.texts(sorted(whole)) if whole else {}
    tokens_left, more_left = query.max_tokens, query.expand_tokens
    hits: list[tuple[SearchHit, StoredChunk]] = []
    shown: list[tuple[DocumentId, Extract]] = []
    for number, each in enumerate(passages):
        found = each.passage
        best, own = chunks[found.best.place.id], [chunks[place.id] for place in found.chunks]
        body = bodies.get(best.document_id, "")
        passage = passage_of(own, body)
        around = expanded(passage, own, best, query.expand, body, view)
        part = fit(passage, around, tokens_left, more_left, first=not hits)
        if part is None:
            return Shown(hits, min(len(passages) - number, query.limit - len(hits)))
        if any(other == best.document_id and part.is_part_of(before) for other, before in shown):
            continue
        if tokens_left is not None:
            tokens_left -= part.tokens
        more_left -= part.tokens
        shown.append((best.document_id, part))
        beyond = beyond_name(each.query, f"{best.title} {best.path}")
        asked = _asked_chunk(beyond, best, own)
        hit = _hit(len(hits) + 1, each.score, similar.get(best.id, 0), beyond, asked, part)
        if each.candidates is not None:
            hit = _explained(hit, each.candidates, found.best.at)
        hits.append((hit, asked))
        if len(hits) == query.limit:
            break
    return Shown(hits)


def _asked_chunk(query: str, best: StoredChunk, own: Sequence[StoredChunk]) -> StoredChunk:
    """Return the chunk of a passage with most of the query's words; the best one if it has as many."""
    # In one text, so that a translation counts nowhere if the word itself is in another chunk.
    text = "\n".join(each.text for each in own)
    starts = [*accumulate((len(each.text) + 1 for each in own), initial=0)]
    words: list[set[str]] = [set() for _ in own]
    for start, end in match_spans(query, text):
        words[bisect_right(starts, start) - 1].add(_word(text[start:end]))
    weights = [(sum(map(len, held)), each.id == best.id) for each, held in zip(own, words, strict=True)]
    return own[weights.index(max(weights))]


def _word(matched: str) -> str:
    """Return the form in which two matches are the same word: "parts" is "part"."""
    return word_terms(normalise(matched))[0]


def _found_at(query: str, chunk: StoredChunk, shown: str) -> tuple[int, tuple[str, ...]]:
    """Return where the line of a chunk starts that has most of the query's words, and the headings above it.

    A chunk may hold several small sections; its own headings are those of one of them, or of their parent.
    """
    own = chunk.heading_path
    is_plain = own and not is_markdown(chunk.path)
    headings = (is_plain and plain_headings(shown, own[-1])) or _headings(shown)
    best = best_line(query, shown, title=next((each for each in headings if each.text == chunk.title), None))
    if best is None or not headings or best < headings[0].start:
        return best or 0, own
    named = next((number for number, each in enumerate(headings) if (each.text,) == own[-1:]), -1)
    no_path: tuple[Heading, ...] = ()
    inside = reduce(_below, headings[: named + 1], no_path)
    above = own[: max(0, len(own) - len(inside))]
    level = (inside or headings)[0].level - len(above)
    path = tuple(Heading(level + number, text, 0) for number, text in enumerate(above))
    path = reduce(_below, (each for each in headings if each.start <= best), path)
    return best, tuple(each.text for each in path)


def _headings(text: str) -> list[Heading]:
    """Return the headings in a text, without comments in code that look the same."""
    code = [fence.span() for fence in FENCE.finditer(text)] if "#" in text else []
    return [
        Heading(len(found["marks"]), name, found.start())
        for found in _HEADING.finditer(text)
        if (name := plain_text(found["text"]).strip())
        and not any(begin <= found.start() < end for begin, end in code)
    ]


def _below(path: tuple[Heading, ...], heading: Heading) -> tuple[Heading, ...]:
    """Return the path of a heading that follows one with some path."""
    return (*(each for each in path if each.level < heading.level), heading)


def best_line(query: str, text: str, title: Heading | None = None) -> int | None:
    """Return the start of the line with most different words of a query, weighed by their length.

    The title of the document does not count: it is above every line.
    """
    words: dict[int, set[str]] = {}
    for start, end in match_spans(query, text):
        line = text.rfind("\n", 0, start) + 1
        if title is None or line != title.start:
            words.setdefault(line, set()).add(_word(text[start:end]))
    return max(words, key=lambda line: (sum(map(len, words[line])), -line), default=None)


def _explained(hit: SearchHit, candidates: Candidates, at: int) -> SearchHit:
    """Return a hit with its similarity, and its ranks by meaning alone and by words alone."""
    near, share = float(candidates.deviations[at]), float(candidates.word_share[at])
    return replace(
        hit,
        similarity=None if math.isnan(near) else float(candidates.similarity[at]),
        dense_rank=None if math.isnan(near) else 1 + int((candidates.deviations > near).sum()),
        lexical_rank=1 + int((candidates.word_share > share).sum()) if share else None,
    )


def _hit(rank: int, score: float, similar: int, query: str, chunk: StoredChunk, part: Extract) -> SearchHit:
    begin = max(0, chunk.start - part.start)
    chunk_text = part.text[begin : max(0, chunk.end - part.start)]
    at, headings = _found_at(query, chunk, chunk_text)
    return SearchHit(
        rank=rank,
        collection=chunk.collection,
        path=chunk.path,
        title=chunk.title,
        heading=headings[-1] if headings else "",
        heading_path=headings,
        depth=chunk.depth,
        start_line=part.start_line,
        end_line=part.end_line,
        start=part.start,
        end=part.end,
        score=score,
        similarity=None,
        dense_rank=None,
        lexical_rank=None,
        similar=similar,
        text=part.text,
        chunk_text=chunk_text or part.text,
        line=part.start_line + part.text.count("\n", 0, begin + at if chunk_text else 0),
        cut_lines=part.cut_lines,
    )


def with_files(
    found: Sequence[tuple[SearchHit, StoredChunk]],
    query: str,
    searched: Sequence[SearchedCollection],
    view: View,
) -> Iterator[SearchHit]:
    """Yield hits with their own text, and with all that is known of their documents and files.

    Args:
        found: The hits.
        query: As it was searched.
        searched: The collections.
        view: The snapshot.
    """
    places = {each.collection.id: each for each in searched}
    documents = view.documents.get([chunk.document_id for _, chunk in found])
    for hit, chunk in found:
        inside, document = places[chunk.collection_id], documents[chunk.document_id]
        replaced = view.documents.versions(chunk.collection_id)
        created = first_moment(document.frontmatter, CREATED_KEYS)
        begin = max(hit.start, chunk.start) if chunk.start < hit.end else hit.start
        place = place_with_words(query, document.comments, begin, hit.chunk_text)
        covered = dict(parts_of_places(document.comments, hit.start, hit.text))
        yield replace(
            hit,
            chunk_text=_own_text(query, hit.chunk_text, chunk.title, inside.collection.boilerplate.frequent),
            stale=is_stale(document, inside.differs),
            file=file_of(document, inside.collection, view),
            chunk_index=chunk.ordinal,
            folder_contexts=contexts_above(chunk.path, inside.collection.folder_contexts),
            supersedes=replaced.older.get(chunk.document_id, ()),
            superseded_by=replaced.newer.get(chunk.document_id, ()),
            updated_ms=document.changed_ns // _NS_PER_MS or None,
            created_ms=None if created is None else created // _NS_PER_MS,
            tags=document.tags,
            properties=_asked_properties(query, document.frontmatter) if document.frontmatter else (),
            place=place,
            other_places=tuple(each for each in covered if each not in (place, "")),
        )


def _asked_properties(query: str, frontmatter: Mapping[str, object]) -> tuple[str, ...]:
    """Return the first properties with words of a query, each as a line."""
    asked = (each for each in property_lines(frontmatter) if match_spans(query, each))
    return tuple(islice(asked, _MOST_PROPERTIES))


def file_of(known: StoredDocument | ListedDocument, collection: Collection, view: View) -> str | None:
    """Return the absolute path of a document's file; None if it is not shown, or no file of this machine."""
    if view.restricted or collection.source.kind != DEFAULT_SOURCE:
        return None
    return str(Path(collection.source.location, known.locator))


def is_stale(known: StoredDocument, differs: Callable[[SourceEntry], bool]) -> bool:
    """Return True if a document is marked as changed, or its file differs from the index."""
    return known.dirty or differs(entry_of(known))


def entry_of(known: StoredDocument) -> SourceEntry:
    """Return the file of a document as its source listed it."""
    return SourceEntry(known.path, known.locator, known.mtime_ns, known.size, known.content_hash)


def _own_text(query: str, text: str, title: str, shared: Sequence[str]) -> str:
    """Return a text without the lines that many documents share, unless they are what was asked for.

    Lines with words of the query are, and those below a heading with most of them: "soup ingredients".

    Args:
        query: The query.
        text: A text of a document.
        title: The title of the document, which is above all of its lines.
        shared: The keys of the lines.
    """
    rest = without_boilerplate(text, shared, with_numbers=False)
    if rest == text or matched_words(query, rest) != matched_words(query, text):
        return text
    headings = _headings(text)
    asked = best_line(query, text, title=next((each for each in headings if each.text == title), None))
    ends = [*(each.start for each in headings[1:]), len(text)]
    sections = dict(zip((each.start for each in headings), ends, strict=False))
    return text if asked in sections and text[asked : sections[asked]].strip() not in rest else rest


def place_with_words(query: str, comments: Sequence[Comment], start: int, text: str) -> str:
    """Return the place of the original that has most of the words of a query: the first one if several do.

    Args:
        query: Their query.
        comments: Those of a document, in order.
        start: Where a part of the document begins.
        text: That part.

    Returns:
        The place; empty in a document that was not converted.
    """
    parts = parts_of_places(comments, start, text)
    place, _ = max(parts, key=lambda each: sum(map(len, matched_words(query, each[1]))), default=("", ""))
    return place
