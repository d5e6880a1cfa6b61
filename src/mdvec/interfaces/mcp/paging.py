"""Keeps answers as short as a client can show them, and names what is left out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeVar

from msgspec.structs import replace

from mdvec.errors import UsageError
from mdvec.interfaces.errors import text_for_client
from mdvec.interfaces.excerpt import best_passage
from mdvec.interfaces.mcp.places import shown_path
from mdvec.interfaces.present import spelling_lines
from mdvec.interfaces.printing import one_line, without_gaps
from mdvec.interfaces.requests import parse_lines
from mdvec.interfaces.wire import Map
from mdvec.text.tokens import estimate_token_count, estimate_token_ends
from mdvec.types.collection import Collection
from mdvec.types.document import Lines
from mdvec.types.hit import SearchHit, SearchResult
from mdvec.types.links import Backlink, DocumentLinks, OutgoingLink
from mdvec.types.outline import Outline
from mdvec.types.report import ListedDocument, Passage, WorkspaceStatus

MAX_DESCRIPTION_CHARS = 1_000
"""Longest description of a collection: clients send it with every question, and cut long ones."""

# What an excerpt has at most, in tokens: two lines of Japanese.
_EXCERPT_TOKENS = 160
_EXCERPT_COLUMNS = 160
_EXCERPT_LINES = 2
_MAX_READ_CHARS = 100_000

# Far more than prose has: a text of blanks must not be long because it has few tokens.
_MAX_CHARS_PER_TOKEN = 8
# A title or a heading is a line; what is longer was not written for people.
_MAX_NAME_CHARS = 200
_MAX_NAMES = 50
_MAX_NOTE_CHARS = 1_000
_MAX_NOTES = 50


# More sections or links of one document are no overview.
_MAX_ROWS = 200
_LINK_NAMES = ("target", "fragment", "text")

_Link = TypeVar("_Link", OutgoingLink, Backlink)


def name_line(text: str) -> str:
    """Return a title, a heading or a tag on one line, cut when it is long."""
    return one_line(text, _MAX_NAME_CHARS)


def name_lines(texts: Sequence[str]) -> tuple[str, ...]:
    """Return names on one line each, the first fifty of them."""
    return tuple(map(name_line, texts[:_MAX_NAMES]))


def note_lines(texts: Sequence[str]) -> tuple[str, ...]:
    """Return warnings on one line each, cut when they are long or many."""
    more = (f"and {len(texts) - _MAX_NOTES:,} more warnings",) if len(texts) > _MAX_NOTES else ()
    return (*(one_line(each, _MAX_NOTE_CHARS) for each in texts[:_MAX_NOTES]), *more)


def named(document: ListedDocument) -> ListedDocument:
    """Return a document of a list with its names as answers show them."""
    path = shown_path(document.collection, document.path)
    return replace(document, title=name_line(document.title), path=path)


def described(status: WorkspaceStatus) -> WorkspaceStatus:
    """Return a status with descriptions and folders on one line each, cut when they are long."""
    collections = (replace(each, collection=_described(each.collection)) for each in status.collections)
    return replace(status, collections=tuple(collections))


def _described(collection: Collection) -> Collection:
    return replace(
        collection,
        description=one_line(collection.description, MAX_DESCRIPTION_CHARS),
        folder_contexts=tuple(
            replace(each, folder=name_line(each.folder)) for each in collection.folder_contexts
        ),
    )


def fitted(result: SearchResult, most_tokens: int) -> SearchResult:
    """Return an answer without the gaps of hidden comments, and as short as a client can show it.

    Hits have their whole text while there is room, the others an excerpt; ``cut_lines`` of a hit names what
    is missing. Names of documents are on one line each.

    Args:
        result: The answer.
        most_tokens: Of the text in all hits together.
    """
    hits: list[SearchHit] = []
    left = most_tokens
    for number, hit in enumerate(result.hits, 1):
        whole = without_gaps(hit.text)
        # The first hit is worth all the room there is; a later one leaves some for the others, half at most.
        others = min(_EXCERPT_TOKENS * (len(result.hits) - number), left // 2)
        room = left - others if hits else left
        text, tokens = _start_of(whole, max(0, room))
        cut = hit.cut_lines
        if len(text) < len(whole) and hits:
            text, cut = (
                _excerpt(result.searched or result.query, hit),
                (f"{hit.start_line}:{hit.end_line}",),
            )
            tokens = estimate_token_count(text)
            if tokens > left:
                break
        elif len(text) < len(whole):
            cut_from = hit.start_line + text.count("\n")
            cut = (f"{cut_from}:{hit.end_line}", *cut)
        left -= tokens
        hits.append(_named(replace(hit, text=text, cut_lines=cut)))
    warnings = list(note_lines([*spelling_lines(result), *map(text_for_client, result.warnings)]))
    left_out = len(result.hits) - len(hits)
    if left_out:
        are = "hit is" if left_out == 1 else "hits are"
        warnings.append(
            f"{left_out:,} more {are} left out: an answer has at most {most_tokens:,} tokens; lower `limit`, "
            "or raise `max_tokens`"
        )
    hint = None if result.hint is None else one_line(text_for_client(result.hint), _MAX_NOTE_CHARS)
    left_out += result.left_out
    query = result.query if len(result.query) <= _MAX_NOTE_CHARS else f"{result.query[:_MAX_NOTE_CHARS]}…"
    return replace(
        result, query=query, hits=tuple(hits), warnings=tuple(warnings), hint=hint, left_out=left_out
    )


def _excerpt(query: str, hit: SearchHit) -> str:
    """Return the lines of a hit that answer best."""
    chunk, around = hit.chunk_text[:_MAX_READ_CHARS], hit.text[:_MAX_READ_CHARS]
    lines = best_passage(query, chunk, width=_EXCERPT_COLUMNS, lines=_EXCERPT_LINES, around=around)
    return "\n".join("".join(segment.text for segment in line) for line in lines)


def outlined(outline: Outline, links: DocumentLinks) -> Map:
    """Return the map of a document: names on one line each, no more of each kind than an agent reads."""
    parts = outline.sections, links.links, links.backlinks
    return Map(
        outline.collection,
        shown_path(outline.collection, outline.path),
        name_line(outline.title),
        tuple(replace(each, heading=name_line(each.heading)) for each in parts[0][:_MAX_ROWS]),
        tuple(_named_link(outline.collection, each) for each in parts[1][:_MAX_ROWS]),
        tuple(_named_link(outline.collection, each) for each in parts[2][:_MAX_ROWS]),
        sum(max(0, len(each) - _MAX_ROWS) for each in parts),
    )


def _named_link(collection: str, link: _Link) -> _Link:
    names = {each: name_line(getattr(link, each)) for each in _LINK_NAMES if hasattr(link, each)}
    return replace(link, **names, path=link.path and shown_path(collection, link.path))


# The first line may say how many of its characters were read before: "12+60000:40".
_PART = re.compile(r"(?P<line>\d+)\+(?P<read>\d{1,12})(?P<rest>:\d*)?")


def parse_part(text: str) -> tuple[Lines, int]:
    """Parse ``lines`` as :func:`mdvec.interfaces.requests.parse_lines` does, or the rest of a document.

    Returns:
        The lines, and how many characters of the first one are left out.

    Raises:
        UsageError: If it is neither.
    """
    found = _PART.fullmatch(text.strip())
    if found is None:
        return parse_lines(text), 0
    return parse_lines(found["line"] + (found["rest"] or "")), int(found["read"])


def _named(hit: SearchHit) -> SearchHit:
    return replace(
        hit,
        path=shown_path(hit.collection, hit.path),
        title=name_line(hit.title),
        heading=name_line(hit.heading),
        heading_path=name_lines(hit.heading_path),
        supersedes=tuple(shown_path(hit.collection, each) for each in hit.supersedes[:_MAX_NAMES]),
        superseded_by=tuple(shown_path(hit.collection, each) for each in hit.superseded_by[:_MAX_NAMES]),
    )


def _start_of(text: str, most_tokens: int) -> tuple[str, int]:
    """Return as many whole lines as fit, or a part of the first one, and their tokens."""
    part = text[: most_tokens * _MAX_CHARS_PER_TOKEN]
    ends = estimate_token_ends(part)
    if len(ends) > most_tokens:
        part = part[: ends[most_tokens - 1]] if most_tokens else ""
    if len(part) < len(text):
        part = part[: part.rfind("\n") + 1] or part
    return part, min(len(ends), most_tokens)


def first_part(passage: Passage, most_tokens: int, *, read_chars: int = 0) -> Passage:
    """Cut a passage after as many whole lines as a client can show; a longer line is cut inside.

    Args:
        passage: The passage.
        most_tokens: How many a client can show.
        read_chars: How many characters of its first line are left out.

    Returns:
        The part, its names on one line each; ``next_lines`` has the rest, for ``get_doc``.

    Raises:
        UsageError: If the first line has no more characters than are left out.
    """
    passage = replace(
        passage,
        path=shown_path(passage.collection, passage.path),
        title=name_line(passage.title),
        tags=name_lines(passage.tags),
    )
    line, _, _ = passage.text.partition("\n")
    if read_chars and read_chars >= len(line):
        msg = f"line {passage.start_line} of {passage.path} has {len(line):,} characters"
        raise UsageError(msg, hint=f"Request it from its start: lines={str(passage.start_line)!r}.")
    text = passage.text[read_chars:]
    ends = estimate_token_ends(text) if len(text) > most_tokens else []
    if len(ends) <= most_tokens:
        return replace(passage, text=text)
    most = ends[most_tokens - 1]
    whole = text.rfind("\n", 0, most + 1) + 1
    start, end = passage.start_line, passage.end_line
    if not whole:
        return replace(
            passage, text=text[:most], end_line=start, next_lines=f"{start}+{read_chars + most}:{end}"
        )
    after = start + text.count("\n", 0, whole)
    rest = f"{after}:{end}" if after <= end else None
    return replace(passage, text=text[:whole], end_line=after - 1, next_lines=rest)
