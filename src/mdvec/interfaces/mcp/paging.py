"""Shortens answers to the length that a client can show, and names the omissions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import astuple, replace

from mdvec.interfaces.answers import Map, RelatedDocument
from mdvec.interfaces.errors import hint_for_client
from mdvec.interfaces.excerpt import excerpt_of
from mdvec.interfaces.mcp.places import (
    MAX_DESCRIPTION_CHARS,
    name_line,
    note_lines,
    shown_path,
    with_short_names,
)
from mdvec.interfaces.passages import MAX_CHARS_PER_TOKEN
from mdvec.interfaces.present import spelling_lines
from mdvec.interfaces.printing import one_line, without_gaps
from mdvec.text.tokens import estimate_token_count, estimate_token_ends
from mdvec.types.collection import Collection
from mdvec.types.hit import SearchHit, SearchResult
from mdvec.types.links import DocumentLinks
from mdvec.types.outline import Outline
from mdvec.types.report import WorkspaceStatus

# The longest excerpt, in tokens: two lines of Japanese.
_EXCERPT_TOKENS = 160
_EXCERPT_COLUMNS = 160
_EXCERPT_LINES = 2
_MAX_READ_CHARS = 100_000

# More sections or links of one document are no overview.
_MAX_ROWS = 200
_Row = TypeVar("_Row", bound=Struct)


def with_short_descriptions(status: WorkspaceStatus) -> WorkspaceStatus:
    """Return a status with descriptions and folders on one line each, cut when they are long."""

    def shown(collection: Collection) -> Collection:
        return replace(
            collection,
            description=one_line(collection.description, MAX_DESCRIPTION_CHARS),
            folder_contexts=tuple(map(with_short_names, collection.folder_contexts)),
        )

    collections = (replace(each, collection=shown(each.collection)) for each in status.collections)
    return replace(status, collections=tuple(collections))


def fitted(result: SearchResult, most_tokens: int) -> SearchResult:
    """Return an answer without the gaps of hidden comments, and as short as a client can show it.

    Hits have their whole text while there is room, the others an excerpt; ``cut_lines`` of a hit names the
    missing lines. Names of documents are on one line each. The tokens are those of the text in all hits
    together, with the names in all but the first one.
    """
    hits: list[SearchHit] = []
    left = most_tokens
    for number, hit in enumerate(map(with_short_names, result.hits), 1):
        left -= estimate_token_count(_names_of(hit)) if hits else 0
        whole = without_gaps(hit.text)
        # The first hit is worth all the room there is; a later one leaves some for the others, half at most.
        others = min(_EXCERPT_TOKENS * (len(result.hits) - number), left // 2)
        room = left - others if hits else left
        text, tokens = _start_of(whole, max(0, room))
        cut = hit.cut_lines
        if len(text) < len(whole) and (hits or room <= _EXCERPT_TOKENS):
            text = _excerpt(result.searched or result.query, hit)
            text, tokens = _start_of(text, _EXCERPT_TOKENS if hits else max(0, room))
            cut = (f"{hit.start_line}:{hit.end_line}",)
        elif len(text) < len(whole):
            cut_from = hit.start_line + text.count("\n")
            cut = (f"{cut_from}:{hit.end_line}", *cut)
        if hits and tokens > left:
            break
        left -= tokens
        hits.append(replace(hit, text=text, cut_lines=cut))
    warnings = list(note_lines([*spelling_lines(result), *map(hint_for_client, result.warnings)]))
    left_out = len(result.hits) - len(hits)
    if left_out:
        are = "hit is" if left_out == 1 else "hits are"
        warnings.append(
            f"{left_out:,} more {are} left out: an answer has at most {most_tokens:,} tokens; lower `limit`, "
            "or raise `max_tokens`"
        )
    [hint] = [None] if result.hint is None else note_lines([hint_for_client(result.hint)])
    left_out += result.left_out
    return replace(result, hits=tuple(hits), warnings=tuple(warnings), hint=hint, left_out=left_out)


def _excerpt(query: str, hit: SearchHit) -> str:
    """Return the lines of a hit that answer best."""
    read = replace(hit, chunk_text=hit.chunk_text[:_MAX_READ_CHARS], text=hit.text[:_MAX_READ_CHARS])
    lines = excerpt_of(query, read, width=_EXCERPT_COLUMNS, lines=_EXCERPT_LINES)
    return "\n".join("".join(segment.text for segment in line) for line in lines)


def first_rows(rows: Iterable[_Row], most_tokens: int) -> tuple[_Row, ...]:
    """Return the first rows that together have at most so many tokens."""
    fitting: list[_Row] = []
    left = most_tokens
    for row in rows:
        left -= estimate_token_count(" ".join(map(str, astuple(row))))
        if left < 0:
            break
        fitting.append(row)
    return tuple(fitting)


def outlined(outline: Outline, links: DocumentLinks, related: Sequence[SearchHit], most_tokens: int) -> Map:
    """Return the map of a document: names on one line each, no more of each kind than an agent reads.

    Each kind of row has an equal share of the tokens.
    """
    place = outline.collection
    share = most_tokens // 5

    def shown(rows: Iterable[_Row]) -> tuple[_Row, ...]:
        short = (with_short_names(each, place, also="text") for each in islice(rows, _MAX_ROWS))
        return first_rows(short, share)

    rows: dict[str, Sequence[Any]] = {
        "sections": outline.sections,
        "links": links.links,
        "backlinks": links.backlinks,
        "near": links.near,
        "related": [RelatedDocument(each.path, each.title, each.score) for each in related],
    }
    listed: dict[str, Any] = {kind: shown(each) for kind, each in rows.items()}
    more = sum(map(len, rows.values())) - sum(map(len, listed.values()))
    return Map(place, shown_path(place, outline.path), name_line(outline.title), **listed, more=more)


def _names_of(hit: SearchHit) -> str:
    versions = (*hit.supersedes, *hit.superseded_by)
    about = (*hit.folder_contexts, *hit.tags, *hit.properties)
    return "\n".join((hit.collection, hit.path, hit.title, *hit.heading_path, *versions, *about))


def _start_of(text: str, most_tokens: int) -> tuple[str, int]:
    """Return as many whole lines as fit, and their tokens; with a part of the next line if that is long."""
    part = text[: most_tokens * MAX_CHARS_PER_TOKEN]
    ends = estimate_token_ends(part)
    if len(ends) > most_tokens:
        part = part[: ends[most_tokens - 1]] if most_tokens else ""
    lines_end = part.rfind("\n") + 1
    if len(part) < len(text) and lines_end > len(part) // 2:
        part = part[:lines_end]
    return part, min(len(ends), most_tokens)
