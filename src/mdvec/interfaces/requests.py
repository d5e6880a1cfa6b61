"""The shape of every request, and the parsing of conditions and lines in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from enum import EnumType
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

import msgspec
from msgspec import Meta, Struct

from mdvec.errors import UsageError
from mdvec.interfaces.encoding import doc
from mdvec.interfaces.times import parse_since, parse_until
from mdvec.types.document import Lines
from mdvec.types.query import (
    Comparison,
    Expansion,
    Filters,
    PropertyCondition,
    SearchMode,
    SearchQuery,
    TagMatch,
)

if TYPE_CHECKING:
    from mdvec.config.schema import SearchSettings

_MAX_SHOWN_CHARS = 40
_MISSING = re.compile(r"Object missing required field `(.*)`")
_OTHER_TYPE = re.compile(r"Expected `(.+?)`(.*?)(?:, got `(.+)`)?")
_OTHER_VALUE = re.compile(r"Invalid enum value (.*)")
_TYPE = re.compile(r"\w+")
_TYPES = {
    "array": "a list",
    "bool": "true or false",
    "float": "a number",
    "int": "a whole number",
    "object": "an object",
    "str": "text",
}
_CONDITION = re.compile(r"\s*([^=!<>]+?)\s*(!=|<=|>=|=|<|>)\s*(.*?)\s*", re.DOTALL)
_QUOTES = "\"'"
_LINES = re.compile(r"(\d{0,18})([:-]?)(\d{0,18})")  # Python reads no number of thousands of digits
_Depth = Annotated[int, Meta(ge=0, le=3)]
_Limit = Annotated[int, Meta(ge=1, le=1000)]
_Positive = Annotated[int, Meta(ge=1)]
_Cosine = Annotated[float, Meta(ge=-1, le=1)]


class SearchRequest(Struct, frozen=True, kw_only=True):
    """A search as it is requested; None leaves a setting to the configuration."""

    query: str
    collections: Annotated[tuple[str, ...], doc("default all")] = ()
    tags: Annotated[tuple[str, ...], doc("a also finds a/b")] = ()
    tag_match: TagMatch = TagMatch.ANY
    alias_prefix: Annotated[str | None, doc("start of an alias", "cli")] = None
    path: Annotated[str | None, doc("glob such as 2026/**")] = None
    where: Annotated[tuple[str, ...], doc("properties: author=Ann, rating>=4")] = ()
    depth: Annotated[tuple[_Depth, ...], doc("heading levels")] = ()
    updated_since: Annotated[str | None, doc("date, 7d or yesterday")] = None
    updated_until: str | None = None
    linked_to: str | None = None
    include_superseded: bool = False
    clean_only: bool = False
    limit: _Limit | None = None
    mode: SearchMode | None = None
    threshold: Annotated[_Cosine | None, doc("least cosine")] = None
    per_document: Annotated[_Positive | None, doc()] = None
    expand: Annotated[Expansion | None, doc("text to return")] = None
    max_tokens: _Positive | None = None


class DocumentRequest(Struct, frozen=True, kw_only=True):
    """A document, or a part of it, as it is requested."""

    path: Annotated[str, doc("as hits show it")]
    collection: str | None = None
    lines: Annotated[str | None, doc("such as 10:40")] = None
    section: Annotated[str | None, doc("heading, instead of lines")] = None


class OutlineRequest(Struct, frozen=True, kw_only=True):
    """The outline of a document as it is requested."""

    path: str
    collection: str | None = None


class CollectionRequest(Struct, frozen=True, kw_only=True):
    """One collection, or all of them."""

    collection: Annotated[str | None, doc("default all")] = None


class NoArguments(Struct, frozen=True):
    """A request without arguments."""


def understood(given: Mapping[str, object], kind: type[Struct]) -> dict[str, object]:
    """Return parameters as they are meant.

    Null is left out, a single value is a list of one, and 5.0 is 5: JSON has one kind of number.
    """
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    return {
        name: _meant(value, fields[name].type) if name in fields else value
        for name, value in given.items()
        if value is not None or name not in fields or fields[name].required
    }


def _meant(value: object, kind: Any) -> object:
    bare = get_args(kind)[0] if hasattr(kind, "__metadata__") else kind
    if get_origin(bare) is tuple and not isinstance(value, list):
        return [value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def what_is_wrong(
    error: msgspec.ValidationError, kind: type[Struct], names: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Return why parameters cannot be used, with the one that is wrong.

    Args:
        error: The exception of msgspec.
        kind: What the parameters were to become.
        names: What a door calls fields of a request that have another name there.
    """
    what, _, place = str(error).partition(" - at `$")
    place = place.strip(".`")
    missing = _MISSING.fullmatch(what)
    if missing is not None:
        name = ".".join(filter(None, (place, missing[1])))
        return f"`{names.get(name, name)}` is missing"
    shown = f"`{names.get(place, place)}`" if place else "it"
    if other := _OTHER_TYPE.fullmatch(what):
        expected = other[1].removesuffix(" | null").replace(" | ", " or ")
        got = f", not {_in_words(other[3])}" if other[3] else ""
        return f"{shown} must be {_in_words(expected)}{other[2]}{got}"
    if (other := _OTHER_VALUE.fullmatch(what)) and (values := _values(kind, place)):
        return f"{shown} must be one of {', '.join(values)}, not {other[1]}"
    return f"{shown}: {what}"


def _in_words(types: str) -> str:
    return _TYPE.sub(lambda found: _TYPES.get(found[0], found[0]), types)


def _values(kind: type[Struct], name: str) -> list[str]:
    """Return the words of a field that is one of several."""
    found = next((field.type for field in msgspec.structs.fields(kind) if field.encode_name == name), None)
    words: list[str] = []
    for each in (found, *get_args(found)):  # an enumeration, one or null, or a literal
        words += each if isinstance(each, EnumType) else [each] if isinstance(each, str) else []
    return words


def search_query(request: SearchRequest, defaults: SearchSettings) -> SearchQuery:
    """Return what the workspace is to search.

    Raises:
        UsageError: If a time cannot be read.
    """
    now = datetime.now().astimezone()
    since, until = request.updated_since, request.updated_until
    return SearchQuery(
        text=request.query,
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
            include_superseded=request.include_superseded,
            clean_only=request.clean_only,
        ),
        limit=_first(request.limit, defaults.k),
        threshold=_first(request.threshold, defaults.threshold),
        per_document=_first(request.per_document, defaults.per_document),
        expand=_first(request.expand, defaults.expand),
        expand_tokens=defaults.expand_tokens,
        max_tokens=_first(request.max_tokens, defaults.max_tokens),
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
