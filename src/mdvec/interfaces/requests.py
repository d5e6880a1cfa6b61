"""The shape of every request, and the parsing of conditions, lines and times in them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any
from unicodedata import normalize

from msgspec import Meta, Struct

from mdvec.errors import UsageError
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
_LINES = re.compile(r"(\d{0,18})([:-]?)(\d{0,18})")  # Python reads no number of thousands of digits
_Depth = Annotated[int, Meta(ge=0, le=3)]
_Limit = Annotated[int, Meta(ge=1, le=1000)]
_Positive = Annotated[int, Meta(ge=1)]
_Cosine = Annotated[float, Meta(ge=-1, le=1)]
_Score = Annotated[float, Meta(ge=0, le=1)]


class SearchRequest(Struct, frozen=True, kw_only=True):
    """A search as it is requested; None leaves a setting to the configuration."""

    query: str
    queries: Annotated[tuple[str, ...], doc("up to 4 others, merged")] = ()
    collections: Annotated[tuple[str, ...], doc("default all")] = ()
    tags: Annotated[tuple[str, ...], doc("a also finds a/b")] = ()
    tag_match: TagMatch = TagMatch.ANY
    alias_prefix: Annotated[str | None, doc("start of an alias", "programs")] = None
    path: Annotated[str | None, doc("glob: 2026/**")] = None
    where: Annotated[tuple[str, ...], doc("properties: author=Ann, rating>=4")] = ()
    depth: Annotated[tuple[_Depth, ...], doc("heading levels")] = ()
    updated_since: Annotated[str | None, doc("date or 7d")] = None
    updated_until: str | None = None
    linked_to: str | None = None
    links: LinkFilter | None = None
    include_superseded: bool = False
    clean_only: bool = False
    limit: _Limit | None = None
    mode: SearchMode | None = None
    threshold: Annotated[_Cosine | None, doc("least cosine", "programs")] = None
    min_score: Annotated[_Score | None, doc("0 shows all")] = None
    all_similar: bool = False
    sort: SortBy | None = None
    per_document: Annotated[_Positive | None, doc()] = None
    expand: Expansion | None = None
    max_tokens: _Positive | None = None
    rerank: Annotated[bool, doc("with the configured reranker", "programs")] = True


DOCUMENT_FILTERS = (
    *("collections", "tags", "tag_match", "alias_prefix", "path", "where", "updated_since", "updated_until"),
    *("linked_to", "links", "include_superseded", "clean_only", "limit"),
)
"""The fields of a search that choose documents."""


class AgentSearchRequest(SearchRequest, frozen=True, kw_only=True):
    """A search as an agent may request it."""

    limit: Annotated[int, Meta(ge=1, le=MAX_HITS)] | None = None


class DocumentRequest(Struct, frozen=True, kw_only=True):
    """A document, or a part of it, as it is requested."""

    path: Annotated[str, doc("as hits show it")]
    collection: str | None = None
    lines: Annotated[str | None, doc("10:40")] = None
    section: Annotated[str | None, doc("heading, instead of lines")] = None


class ReadRequest(Struct, frozen=True, kw_only=True):
    """Documents, or parts of them, as they are requested."""

    path: Annotated[tuple[str, ...], doc("as in hits, a.md:10-40, or globs")]
    collection: str | None = None
    lines: Annotated[str | None, doc("10:40")] = None
    section: Annotated[str | None, doc("heading")] = None
    max_tokens: _Positive | None = None


class RelatedRequest(Struct, frozen=True, kw_only=True):
    """A document, and how many others on its subject to find."""

    path: str
    collection: str | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 5


class OutlineRequest(Struct, frozen=True, kw_only=True):
    """The outline of a document as it is requested."""

    path: str
    collection: str | None = None


class LinksRequest(OutlineRequest, frozen=True, kw_only=True):
    """The links of a document, and how far to follow them."""

    steps: Annotated[int, Meta(ge=1, le=3), doc("links away")] = 1


class MapRequest(LinksRequest, frozen=True, kw_only=True):
    """What a document holds and what is around it, as an agent may request it."""

    related: Annotated[int, Meta(ge=0, le=20), doc("documents on its subject")] = 0


class CollectionRequest(Struct, frozen=True, kw_only=True):
    """One collection, or all of them."""

    collection: Annotated[str | None, doc("default all")] = None


class TagsRequest(Struct, frozen=True, kw_only=True):
    """The tags of some collections, or of all."""

    collections: tuple[str, ...] = ()


class StatusRequest(Struct, frozen=True, kw_only=True):
    """One collection, with the state of each file, or all; and whether to look at the sources."""

    collection: str | None = None
    check: bool = False


class NoArguments(Struct, frozen=True):
    """A request without arguments."""


def search_query(request: SearchRequest, defaults: SearchSettings) -> SearchQuery:
    """Return what the workspace is to search.

    Raises:
        UsageError: If a time cannot be read.
    """
    now = datetime.now()  # noqa: DTZ005 - the offset of a local time depends on its date
    since, until = request.updated_since, request.updated_until
    return SearchQuery(
        text=request.query,
        queries=request.queries,
        mode=_first(request.mode, defaults.mode),
        collections=request.collections,
        filters=Filters(
            tags=request.tags,
            tag_match=request.tag_match,
            alias_prefix=request.alias_prefix,
            path=request.path,
            properties=tuple(map(parse_condition, request.where)),
            depths=request.depth,
            updated_since_ns=parse_since(since, now=now) if since else None,
            updated_until_ns=parse_until(until, now=now) if until else None,
            linked_to=request.linked_to,
            links=request.links,
            include_superseded=request.include_superseded,
            clean_only=request.clean_only,
        ),
        limit=_first(request.limit, defaults.k),
        min_score=_first(request.min_score, defaults.min_score),
        all_similar=request.all_similar,
        sort=request.sort or SortBy.SCORE,
        threshold=_first(request.threshold, defaults.threshold),
        per_document=_first(request.per_document, defaults.per_document),
        expand=_first(request.expand, defaults.expand),
        expand_tokens=defaults.expand_tokens,
        max_tokens=_first(request.max_tokens, defaults.max_tokens),
        rerank=request.rerank,
    )


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
    """Parse a range of lines: ``10:20`` or ``10-20``, ``10:``, ``:20`` or the single line ``10``.

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


def _first(value: Any, default: Any) -> Any:
    return default if value is None else value


# --- points and stretches of time as people write them

_AGES = (
    re.compile(r"(\d{1,5}) ?(h|d|w|(?:hour|day|week|month|year)s?)(?: ago)?"),
    re.compile(r"(\d{1,5}) ?(時間?|日|週|[かカケヵヶ]月|年)間?前"),
)
# By the first letter of the unit. An age says about when: a month is 30 days, a year 365.
_HOURS = {
    **dict.fromkeys("h時", 1),
    **dict.fromkeys("d日", 24),
    **dict.fromkeys("w週", 7 * 24),
    **dict.fromkeys("mかカケヵヶ", 30 * 24),
    **dict.fromkeys("y年", 365 * 24),
}
# The unit, and how many of them ago.
_PERIODS = {
    **dict.fromkeys(("today", "今日"), ("d", 0)),
    **dict.fromkeys(("yesterday", "昨日"), ("d", 1)),
    **dict.fromkeys(("this week", "今週"), ("w", 0)),
    **dict.fromkeys(("last week", "先週"), ("w", 1)),
    **dict.fromkeys(("this month", "今月"), ("m", 0)),
    **dict.fromkeys(("last month", "先月"), ("m", 1)),
    **dict.fromkeys(("this year", "今年"), ("y", 0)),
    **dict.fromkeys(("last year", "去年", "昨年"), ("y", 1)),
}
_LONGEST_DAYS = {"d": 1, "w": 7, "m": 31, "y": 366}
_DATE = re.compile(r"(\d{4})(?:([-/]?)(\d\d)(?:\2(\d\d))?)?")
_HINT = (
    "Write a date or a time (2026-05-01, 2026-05, 2026-05-01T09:30), an age (12h, 7d, 2 weeks ago, 3日前), "
    "or today, yesterday, this or last week, month or year (今日, 昨日, 先週, 今月, 去年)."
)
# Times of files are stored in 64 bits; before 1970 and after 2262 there are none.
_LAST_NS = 2**63 - 1
_LAST_YEAR = 2262


def parse_since(text: str, *, now: datetime) -> int:
    """Parse the beginning of a period, or a point in time.

    Args:
        text: A period such as ``2026-05-01``, ``2026-05`` or ``last week``, an ISO 8601 time, or an age such
            as ``12h``, ``7d`` or ``2 weeks ago``. A time without an offset is in the time zone of ``now``.
        now: What an age counts back from. Without a time zone it is local time, whose offset may change
            with the season.

    Returns:
        Nanoseconds since 1970.

    Raises:
        UsageError: If it is none of these.
    """
    return _parse(text, now)[0]


def parse_until(text: str, *, now: datetime) -> int:
    """Parse the end of a period, as :func:`parse_since` its beginning; a day is included.

    Args:
        text: As written.
        now: As for :func:`parse_since`.

    Returns:
        Nanoseconds since 1970, one past the period: after a day the start of the next.

    Raises:
        UsageError: If it is no date, time or age.
    """
    return _parse(text, now)[1]


def _parse(text: str, now: datetime) -> tuple[int, int]:
    """Return the two ends of a period; of a point in time, the point twice."""
    folded = " ".join(normalize("NFKC", text).casefold().split())
    try:
        start, end = _age(folded, now) or _named(folded, now) or _date(folded, now) or _moment(text, now)
        return _nanoseconds(start), _nanoseconds(end)
    except (ValueError, OverflowError, OSError) as error:
        msg = f"not a date, a time or an age: {text!r}"
        raise UsageError(msg, hint=_HINT) from error


def _age(text: str, now: datetime) -> tuple[datetime, datetime] | None:
    for pattern in _AGES:
        if age := pattern.fullmatch(text):
            hours = int(age[1]) * _HOURS[age[2][0]]
            moment = datetime.fromtimestamp(now.timestamp() - hours * 3600, now.tzinfo)
            return moment, moment
    return None


def _named(text: str, now: datetime) -> tuple[datetime, datetime] | None:
    if (found := _PERIODS.get(text.replace("-", " "))) is None:
        return None
    unit, ago = found
    start = _start(unit, now)
    if ago:
        start = _start(unit, start - timedelta(days=1))
    return start, _end(unit, start)


def _date(text: str, now: datetime) -> tuple[datetime, datetime] | None:
    if (found := _DATE.fullmatch(text)) is None:
        return None
    year, _, month, day = found.groups()
    start = datetime(int(year), int(month or 1), int(day or 1), tzinfo=now.tzinfo)
    return start, _end("d" if day else "m" if month else "y", start)


def _moment(text: str, now: datetime) -> tuple[datetime, datetime]:
    moment = datetime.fromisoformat(text.strip())
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=now.tzinfo)
    return moment, moment


def _start(unit: str, moment: datetime) -> datetime:
    """Return when the day, week, month or year of a moment begins; a week begins on Monday."""
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "w":
        return day - timedelta(days=day.weekday())
    return {"d": day, "m": day.replace(day=1), "y": day.replace(month=1, day=1)}[unit]


def _end(unit: str, start: datetime) -> datetime:
    """Return when the next one begins."""
    if start.year > _LAST_YEAR:
        return start
    return _start(unit, start + timedelta(days=_LONGEST_DAYS[unit]))


def _nanoseconds(moment: datetime) -> int:
    # Whole seconds apart, so that the nanoseconds stay exact.
    since_ns = int(moment.replace(microsecond=0).timestamp()) * 10**9 + moment.microsecond * 1000
    return min(max(since_ns, 0), _LAST_NS)
