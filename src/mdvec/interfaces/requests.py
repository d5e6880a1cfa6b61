"""The shape of every request, and the parsing of conditions and lines in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct
from msgspec.structs import asdict

from mdvec.errors import UsageError
from mdvec.interfaces.times import parse_period
from mdvec.types.document import Lines
from mdvec.types.fields import doc
from mdvec.types.query import (
    Comparison,
    Expansion,
    Filters,
    LinkFilter,
    PropertyCondition,
    SearchMode,
    SearchQuery,
    SortBy,
    TagMatch,
)

if TYPE_CHECKING:
    from mdvec.config.schema import SearchSettings

MAX_HITS = 100
"""Most hits of one search of an agent, which cannot read more."""

_MAX_SHOWN_CHARS = 40
_CONDITION = re.compile(r"\s*([^=!<>]+?)\s*(!=|<=|>=|=|<|>)\s*(.*?)\s*", re.DOTALL)
_QUOTES = "\"'"
_LINES = re.compile(r"L?(\d{0,18})(?:([:-])L?(\d{0,18}))?")  # Python reads no number of thousands of digits
Depth = Annotated[int, Meta(ge=0, le=3)]
Limit = Annotated[int, Meta(ge=1, le=1000)]
_Positive = Annotated[int, Meta(ge=1)]
_Cosine = Annotated[float, Meta(ge=-1, le=1)]
_Score = Annotated[float, Meta(ge=0, le=1)]
_Path = Annotated[str, doc("as hits show it")]
_Places = Annotated[tuple[str, ...], doc("all if empty")]
_Collection = Annotated[str | None, doc("of the path, if several have it")]
_OneOrAll = Annotated[str | None, doc("all if left out")]
_Section = Annotated[str | None, doc("heading, instead of lines")]
_Tokens = Annotated[_Positive | None, doc("of all texts together")]


class SearchRequest(Struct, frozen=True, kw_only=True):
    """A search as it is requested; None leaves a setting to the configuration."""

    query: Annotated[str, doc("words or a question")]
    queries: Annotated[tuple[str, ...], doc("up to 4 others, merged")] = ()
    collections: _Places = ()
    tags: Annotated[tuple[str, ...], doc("a also finds a/b")] = ()
    tag_match: Annotated[TagMatch, doc("one of the tags, or all")] = TagMatch.ANY
    alias_prefix: Annotated[str | None, doc("start of an alias", "programs")] = None
    path: Annotated[str | None, doc("glob: 2026/**")] = None
    where: Annotated[tuple[str, ...], doc("properties: author=Ann, rating>=4")] = ()
    depth: Annotated[tuple[Depth, ...], doc("heading levels")] = ()
    updated_since: Annotated[str | None, doc("date or 7d; a date in a note counts before its file's")] = None
    updated_until: Annotated[str | None, doc("date or 7d")] = None
    linked_to: Annotated[str | None, doc("path")] = None
    links: Annotated[LinkFilter | None, doc("no links at all, or one that leads nowhere")] = None
    include_superseded: Annotated[bool, doc("older versions")] = False
    clean_only: Annotated[bool, doc("unchanged files")] = False
    limit: Annotated[Limit | None, doc("most results")] = None
    mode: Annotated[SearchMode | None, doc("dense: meaning; lexical: words")] = None
    threshold: Annotated[_Cosine | None, doc("least cosine", "programs")] = None
    min_score: Annotated[_Score | None, doc("0 shows all")] = None
    all_similar: Annotated[bool, doc("like texts as hits of their own")] = False
    sort: Annotated[SortBy | None, doc("order of the hits")] = None
    per_document: Annotated[_Positive | None, doc("most hits of one")] = None
    expand: Annotated[Expansion | None, doc("text around a hit")] = None
    max_tokens: _Tokens = None
    rerank: Annotated[bool, doc("with the configured reranker", "programs")] = True


DOCUMENT_FILTERS = (
    *("collections", "tags", "tag_match", "alias_prefix", "path", "where", "updated_since", "updated_until"),
    *("linked_to", "links", "include_superseded", "clean_only", "limit"),
)
"""The fields of a search that choose documents."""


class AgentSearchRequest(SearchRequest, frozen=True, kw_only=True):
    """A search as an agent may request it."""

    limit: Annotated[Annotated[int, Meta(ge=1, le=MAX_HITS)] | None, doc("most results")] = None


class OutlineRequest(Struct, frozen=True, kw_only=True):
    """The outline of a document as it is requested."""

    path: _Path
    collection: _Collection = None


class DocumentRequest(OutlineRequest, frozen=True, kw_only=True):
    """A document, or a part of it, as it is requested."""

    lines: Annotated[str | None, doc("10:40")] = None
    section: _Section = None


class ReadRequest(Struct, frozen=True, kw_only=True):
    """Documents, or parts of them, as they are requested."""

    path: Annotated[tuple[str, ...], doc("as in hits, a.md:10-40, or globs")]
    collection: _Collection = None
    lines: Annotated[str | None, doc("10:40")] = None
    section: _Section = None
    max_tokens: _Tokens = None


class RelatedRequest(OutlineRequest, frozen=True, kw_only=True):
    """A document, and the number of others on its subject to find."""

    limit: Annotated[int, Meta(ge=1, le=100), doc("most documents")] = 5


class LinksRequest(OutlineRequest, frozen=True, kw_only=True):
    """The links of a document, and the number of steps to follow them."""

    steps: Annotated[int, Meta(ge=1, le=3), doc("links away")] = 1


class MapRequest(LinksRequest, frozen=True, kw_only=True):
    """The sections and the surroundings of a document, as an agent may request them."""

    path: str  # as that of ``get_doc``, whose description an agent has read
    related: Annotated[int, Meta(ge=0, le=20), doc("how many")] = 0


class CollectionRequest(Struct, frozen=True, kw_only=True):
    """One collection, or all of them."""

    collection: _OneOrAll = None


class TagsRequest(Struct, frozen=True, kw_only=True):
    """The tags of some collections, or of all."""

    collections: _Places = ()


class StatusRequest(CollectionRequest, frozen=True, kw_only=True):
    """One collection with the state of each file, or all collections; perhaps compared with the sources."""

    check: Annotated[bool, doc("compare with the sources")] = False


class NoArguments(Struct, frozen=True):
    """A request without arguments."""


def search_query(request: SearchRequest, defaults: SearchSettings) -> SearchQuery:
    """Return the query for the workspace: what a request leaves out is as configured.

    Raises:
        UsageError: If a time cannot be read.
    """
    now = datetime.now()  # noqa: DTZ005 - the offset of a local time depends on its date
    since, until = request.updated_since, request.updated_until
    asked = {name: value for name, value in asdict(request).items() if value is not None}
    filters = Filters(
        properties=tuple(map(parse_condition, request.where)),
        depths=request.depth,
        updated_since_ns=parse_period(since, now=now)[0] if since else None,
        updated_until_ns=parse_period(until, now=now)[1] if until else None,
        **_fields_of(Filters, asked),
    )
    chosen = {**asdict(defaults), "limit": defaults.k, **asked}
    return SearchQuery(text=request.query, filters=filters, **_fields_of(SearchQuery, chosen))


def parse_condition(text: str) -> PropertyCondition:
    """Parse a condition on a property, such as ``author="Ridley Scott"`` or ``rating>=4``.

    Raises:
        UsageError: If it is none.
    """
    found = _CONDITION.fullmatch(text)
    if found is None:
        msg = f"not a condition on a property: {text!r}"
        raise UsageError(msg, hint="Write author='Ridley Scott', status!=done, rating>=4 or due<2026-06.")
    value = found[3]
    if value.startswith(("=", "<", ">")):
        msg = f"not a comparison: {f'{found[2]}{value[0]}'!r} in {text!r}"
        raise UsageError(msg, hint=f"Compare with =, !=, <, <=, > or >=, such as {found[1]}>=4.")
    if len(value) > 1 and value[0] in _QUOTES and value[-1] == value[0]:
        value = value[1:-1]
    return PropertyCondition(found[1], Comparison(found[2]), value)


def parse_lines(text: str) -> Lines:
    """Parse a range of lines: ``10:20``, ``10-20`` or ``L10-L20``, ``10:``, ``:20``, or the one line ``10``.

    Raises:
        UsageError: If it is no range, starts before line 1, or ends before it starts.
    """
    found = _LINES.fullmatch(text.strip())
    if found and (found[1] or found[3]):
        first = int(found[1]) if found[1] else None
        last = int(found[3]) if found[3] else None if found[2] else first
        if (first is None or first >= 1) and (last is None or last >= (first or 1)):
            return first, last
    shown = text if len(text) <= _MAX_SHOWN_CHARS else f"{text[:_MAX_SHOWN_CHARS]}…"
    msg = f"not a range of lines: {shown!r}"
    raise UsageError(msg, hint="Write 10:20, 10:, :20 or 10; lines count from 1.")


def _fields_of(kind: type[Struct], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return those values whose names are fields of a kind of struct."""
    return {name: values[name] for name in kind.__struct_fields__ if name in values}
