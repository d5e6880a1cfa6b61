"""The result of a search."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Struct, field

from mdvec.types.fields import HIDDEN, MOMENT, doc
from mdvec.types.query import SearchMode

SCORE_DIGITS = 6
"""Digits of a score or a similarity that are shown."""


class Confidence(StrEnum):
    """The certainty that the searched documents answer the query at all."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    NONE = "none"


class SearchHit(Struct, frozen=True):
    """One found passage. ``text`` is ``body[start:end]`` of its document.

    Attributes:
        rank: From 1.
        collection: Name of the collection.
        path: Path of the document.
        title: Title of the document.
        heading: Nearest heading; empty without one.
        heading_path: Headings from the outermost to the nearest.
        depth: 0-3, see :class:`mdvec.types.chunk.Chunk`.
        start_line: 1-based first line of the text in the file.
        end_line: 1-based last line.
        start: First character of the text in the document.
        end: One past the last.
        score: 0..1, higher is better: how probable it is that this is the answer.
        similarity: Cosine similarity of query and chunk; None when the chunk has no vector yet or the
            search did not use vectors.
        dense_rank: Rank by similarity alone; None when it was not among the nearest.
        lexical_rank: Rank by words alone; None when no word was found.
        text: The passage.
        chunk_text: The best chunk of the passage, as far as the text has it, without lines that many
            documents of the collection share; all of it if only these hold words of the query.
        line: 1-based line of that chunk with the most words of the query; its first line if it has none.
        stale: The file has changed (or gone) since it was indexed.
        supersedes: Paths of the older versions that the document names.
        superseded_by: Paths of the documents that name this one as an older version.
        file: Absolute path of the file; None when it is no file of this machine.
        chunk_index: Position of the found chunk in its document, from 0.
        folder_contexts: What the folders that it is in hold, from the root down.
        cut_lines: Ranges of lines, such as ``12:40``, that did not fit into the text.
        similar: Number of like texts folded into it: copies, or parts made from one template.
        updated_ms: When the document was last updated, by itself or else its file, in milliseconds since
            1970; None if nothing says when.
        created_ms: When it was written, by its frontmatter.
        tags: Tags of the document.
        properties: Those of the document with words of the query, each as ``key: value``.
        place: The part of the original that holds the passage, such as ``page 7`` of a PDF file; of several,
            the one with most words of the query. Empty in a document that was not converted.
        other_places: The others, in order.
    """

    rank: Annotated[int, doc("from 1", "programs")]
    collection: str
    path: Annotated[str, doc("of the document")]
    title: Annotated[str, doc("of the document")]
    heading: Annotated[str, doc("nearest heading", "programs")]
    heading_path: Annotated[tuple[str, ...], doc("headings, outermost first")]
    depth: Annotated[int, doc("0 to 3", "programs")]
    start_line: Annotated[int, doc("from 1")]
    end_line: int
    start: Annotated[int, doc("first character in the document", "programs")]
    end: Annotated[int, doc("one past the last character", "programs")]
    score: Annotated[float, doc("0 to 1, higher is better", digits=SCORE_DIGITS)]
    similarity: Annotated[float | None, doc("cosine; null without vectors", "programs", digits=SCORE_DIGITS)]
    dense_rank: Annotated[int | None, doc("rank by meaning", "programs")]
    lexical_rank: Annotated[int | None, doc("rank by words", "programs")]
    text: Annotated[str, doc("the passage")]
    chunk_text: Annotated[str, HIDDEN]
    line: Annotated[int, HIDDEN]
    stale: Annotated[bool, doc("the file has changed since it was indexed")] = False
    supersedes: Annotated[tuple[str, ...], doc("paths of older versions")] = ()
    superseded_by: Annotated[tuple[str, ...], doc("paths of newer versions", "programs")] = ()
    file: Annotated[str | None, doc("absolute path", "programs")] = None
    chunk_index: Annotated[int, doc("from 0")] = 0
    folder_contexts: Annotated[tuple[str, ...], doc("what its folders hold")] = ()
    cut_lines: Annotated[tuple[str, ...], doc("lines that did not fit")] = ()
    similar: Annotated[int, doc("like texts folded into it")] = 0
    updated_ms: Annotated[int | None, MOMENT] = field(name="updated", default=None)
    created_ms: Annotated[int | None, MOMENT] = field(name="created", default=None)
    tags: tuple[str, ...] = ()
    properties: Annotated[tuple[str, ...], doc("those with words of the query")] = ()
    place: Annotated[str, doc("of the original, as page 7", "programs")] = ""
    other_places: Annotated[tuple[str, ...], doc("that the passage covers, too", "programs")] = ()


class Correction(Struct, frozen=True):
    """A word that no document contains, and the known one that was searched for instead."""

    typed: str
    searched: str


NOT_RERANKED = "not reranked"
"""The beginning of the warning that a reranker could not be used."""


class Reranking(Struct, frozen=True):
    """The work of a reranker for an answer.

    Attributes:
        model: The model, as ``PROVIDER:MODEL``.
        passages: How many passages.
        tokens: Tokens that a service counted; 0 for a model on this machine.
        usd: Their cost, in US dollars; None when it costs nothing, or its price is not known.
    """

    model: str
    passages: int
    tokens: int
    usd: Annotated[float | None, doc(digits=8)] = None


class SearchResult(Struct, frozen=True):
    """Hits, and the completeness of the index behind them.

    Attributes:
        query: As the user wrote it.
        mode: The search mode in use (``lexical`` when no vector could be used).
        hits: Best first.
        confidence: The certainty that the documents answer the query; ``none`` without hits.
        total_chunks: Chunks in the searched collections.
        pending_chunks: Those that have no vector yet.
        last_indexed_ms: Since when the oldest of the searched collections is as it is, in milliseconds
            since 1970 (see :class:`mdvec.types.collection.Collection`); None when one was never imported.
        elapsed_ms: Time taken, in milliseconds.
        warnings: For the user.
        hint: The next step when there is nothing to show; else None.
        searched: The query with its corrections, for finding its words in a text.
        corrections: Mistyped words, and those that were searched for instead.
        unknown_words: Words of the query that no document of the searched collections holds.
        left_out: Hits that did not fit into the tokens wanted.
        weaker: Passages that were left out because their score is below ``min_score``.
        reranked: What a reranker has read; None without one, or when the order is not its.
    """

    query: Annotated[str, doc("as requested", "programs")]
    mode: Annotated[SearchMode, doc("how it was searched")]
    hits: Annotated[tuple[SearchHit, ...], doc("best first")]
    total_chunks: Annotated[int, doc("passages that were searched")]
    pending_chunks: Annotated[int, doc("passages without a vector")]
    last_indexed_ms: Annotated[int | None, MOMENT] = field(name="last_indexed")
    elapsed_ms: Annotated[float, doc("milliseconds", "programs", digits=1)]
    warnings: tuple[str, ...] = ()
    hint: Annotated[str | None, doc("next step when there is no hit")] = None
    confidence: Annotated[Confidence, doc("that the documents answer the query")] = Confidence.NONE
    searched: Annotated[str, HIDDEN] = ""
    corrections: Annotated[tuple[Correction, ...], doc("words taken for mistyped", "programs")] = ()
    unknown_words: Annotated[tuple[str, ...], doc("no document contains them", "programs")] = ()
    left_out: Annotated[int, doc("hits that did not fit", "programs")] = 0
    weaker: Annotated[int, doc("passages with a score below the least one")] = 0
    reranked: Annotated[Reranking | None, doc("what a reranker has read", "programs")] = None
