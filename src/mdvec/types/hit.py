"""The result of a search."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from mdvec.types.query import SearchMode


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
        chunk_line: 1-based line where that chunk starts.
        stale: The file has changed (or gone) since it was indexed.
        supersedes: Paths of the older versions that the document names.
        superseded_by: Paths of the documents that name this one as an older version.
        file: Absolute path of the file; None when it is no file of this machine.
        chunk_index: Position of the found chunk in its document, from 0.
        folder_contexts: What the folders that it is in hold, from the root down.
        cut_lines: Ranges of lines, such as ``12:40``, that did not fit into the text.
        similar: Number of like texts folded into it: copies, or parts made from one template.
    """

    rank: int
    collection: str
    path: str
    title: str
    heading: str
    heading_path: tuple[str, ...]
    depth: int
    start_line: int
    end_line: int
    start: int
    end: int
    score: float
    similarity: float | None
    dense_rank: int | None
    lexical_rank: int | None
    text: str
    chunk_text: str
    chunk_line: int
    stale: bool = False
    supersedes: tuple[str, ...] = ()
    superseded_by: tuple[str, ...] = ()
    file: str | None = None
    chunk_index: int = 0
    folder_contexts: tuple[str, ...] = ()
    cut_lines: tuple[str, ...] = ()
    similar: int = 0


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
        corrections: Known words by the mistyped ones that they replace.
        unknown_words: Words of the query that no document of the searched collections holds.
        left_out: Hits that did not fit into the tokens wanted.
        weaker: Passages that were left out because their score is below ``min_score``.
    """

    query: str
    mode: SearchMode
    hits: tuple[SearchHit, ...]
    confidence: Confidence
    total_chunks: int
    pending_chunks: int
    last_indexed_ms: int | None
    elapsed_ms: float
    warnings: tuple[str, ...] = ()
    hint: str | None = None
    searched: str = ""
    corrections: Mapping[str, str] = field(default_factory=dict)
    unknown_words: tuple[str, ...] = ()
    left_out: int = 0
    weaker: int = 0
