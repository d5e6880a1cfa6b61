"""Arguments as clients send them, checked against a JSON Schema: the same words at every door."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from mdvec.errors import InvalidArgumentsError, did_you_mean
from mdvec.interfaces.encoding import schema_of

Schema = dict[str, Any]
"""A JSON Schema, 2020-12."""

_Request = TypeVar("_Request", bound=Struct)

# What agents, scripts and the other tools they know call an argument.
_SAME_ARGUMENT = {
    "collection": "collections",
    "collections": "collection",
    "depths": "depth",
    "file": "path",
    "file_path": "path",
    "k": "limit",
    "q": "query",
    "tag": "tags",
    "top_k": "limit",
}

# A client corrects what it reads; a list of a thousand problems is no help.
_MAX_PROBLEMS = 5
_MAX_SHOWN_CHARS = 40
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,2})?", re.ASCII)

# As JSON writes them.
_LITERALS = {"None": "null", "True": "true", "False": "false"}
_KINDS = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "text",
}
_TRUTH = {"true": True, "1": True, "false": False, "0": False}


def parse(given: Mapping[str, object], kind: type[_Request]) -> _Request:
    """Parse arguments into the request that they mean.

    Raises:
        InvalidArgumentsError: As :func:`check` does.
    """
    return msgspec.convert(check(given, _schema(kind)), kind)


def check(given: Mapping[str, object], schema: Schema) -> dict[str, object]:
    """Return arguments under the names and in the types of a schema.

    Args:
        given: As the client sent them.
        schema: An object whose properties are the arguments.

    Raises:
        InvalidArgumentsError: If there is something wrong; the message has a line for each problem,
            in the order of the arguments.
    """
    arguments = _understood(given, schema)
    wrong = list(dict.fromkeys(_problems("", arguments, {**schema, "additionalProperties": False})))
    more = len(wrong) - _MAX_PROBLEMS
    if more > 0:
        wrong[_MAX_PROBLEMS:] = [f"and {more} more"]
    if wrong:
        raise InvalidArgumentsError("\n".join(wrong))
    return arguments


def first_problem(value: object, kind: type[Struct]) -> str:
    """Return what keeps a value from being of a kind."""
    return next(_problems("", value, _schema(kind)), "")


def shown(value: object) -> str:
    """Return a value as a client wrote it, cut when it is long."""
    text = _LITERALS.get(repr(value)) or repr(value)
    return text if len(text) <= _MAX_SHOWN_CHARS else f"{text[: _MAX_SHOWN_CHARS - 1]}…"


@cache
def _schema(kind: type[Struct]) -> Schema:
    return schema_of(kind, "programs")


def _understood(given: Mapping[str, object], schema: Schema) -> dict[str, object]:
    """Return the arguments under the schema's own names; null stands for one that is left out.

    Raises:
        InvalidArgumentsError: If one has two names.
    """
    taken = schema["properties"]
    understood: dict[str, object] = {}
    for said, value in given.items():
        other = _SAME_ARGUMENT.get(said, said)
        name = said if said in taken or other not in taken else other
        if name in understood or (name != said and name in given):
            msg = f"`{name}` is given more than once"
            raise InvalidArgumentsError(msg)
        wanted = taken.get(name, {})
        takes_null = name in schema.get("required", ()) and any(map(_is_null, _variants(wanted)))
        if value is None and name in taken and not takes_null:  # many clients send what they leave out so
            continue
        understood[name] = _meant(value, wanted)
    return understood


def _meant(value: object, schema: Schema) -> object:
    """Return a value in the type of a schema if it can mean only one value of it; else as it is.

    A single value becomes a list of one where a list is wanted, and the other way round. Models also write
    numbers and truth values as texts, and lines as a number. JSON has one kind of number, so 5.0 is 5.
    """
    variants = [each for each in _variants(schema) if not _is_null(each)]
    if len(variants) > 1 or not variants[0]:
        return value
    [wanted] = variants
    kind = wanted.get("type")
    if kind == "array" and not isinstance(value, dict):
        items = value if isinstance(value, list) else [value]
        return [_meant(each, wanted.get("items", {})) for each in items]
    if kind != "array" and isinstance(value, list) and len(value) == 1:
        (value,) = value
    match kind, value:
        case "integer" | "number", str() if len(value) <= _MAX_SHOWN_CHARS and _NUMBER.fullmatch(value):
            return _meant(float(value), wanted)
        case "integer", float() if value.is_integer():
            return int(value)
        case "boolean", str():
            return _TRUTH.get(value.lower(), value)
        case "string", int() if not isinstance(value, bool):
            return str(value)
        case "object", dict():
            inside = wanted.get("properties", {})
            return {name: _meant(each, inside.get(name, {})) for name, each in value.items()}
        case _:
            return value


def _variants(schema: Schema) -> list[Schema]:
    found: list[Schema] = schema.get("anyOf", [schema])
    return found


def _is_null(schema: Schema) -> bool:
    return schema.get("type") == "null"


def _problems(place: str, value: object, schema: Schema) -> Iterator[str]:
    variants = _variants(schema)
    fitting = next((each for each in variants if _fits(value, each)), None)
    words = [word for each in variants for word in each.get("enum", ())]
    if fitting is None:
        one_of = [f"one of {', '.join(words)}"] if words else []
        kinds = dict.fromkeys(
            _KINDS[each["type"]] for each in variants if "type" in each and not _is_null(each)
        )
        near = did_you_mean(value.lower(), words) if isinstance(value, str) else ""
        yield f"{_quoted(place)} must be {' or '.join([*one_of, *kinds])}, not {shown(value)}{near}"
    elif isinstance(value, list):
        for position, each in enumerate(value):
            yield from _problems(f"{place}[{position}]", each, fitting.get("items", {}))
    elif isinstance(value, dict) and "properties" in fitting:
        yield from _problems_inside(place, value, fitting)
    elif isinstance(value, int | float) and "minimum" in fitting:
        least, most = fitting["minimum"], fitting.get("maximum")
        if not (least <= value and (most is None or value <= most)):
            span = f"at least {least}" if most is None else f"from {least} to {most}"
            yield f"{_quoted(place)} must be {span}, not {shown(value)}"


def _problems_inside(place: str, values: Mapping[str, object], schema: Schema) -> Iterator[str]:
    taken, before = schema["properties"], f"{place}." if place else ""
    for name, value in values.items():
        if name in taken:
            yield from _problems(f"{before}{name}", value, taken[name])
        elif schema.get("additionalProperties") is False:
            known = f"; it takes {', '.join(f'`{each}`' for each in taken)}" if taken else "; it takes none"
            near = did_you_mean(name.lower(), taken)
            yield f"unknown argument `{before}{shown(name)[1:-1]}`{near or known}"
    yield from (f"`{before}{name}` is missing" for name in schema.get("required", ()) if name not in values)


def _fits(value: object, schema: Schema) -> bool:
    """Return whether a value is of the type of a schema, or one of its words."""
    match schema.get("enum", schema.get("type")):
        case list() as words:
            return value in words
        case "string":
            return isinstance(value, str)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
            return whole and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "null":
            return value is None
        case _:
            return True


def _quoted(place: str) -> str:
    return f"`{place}`" if place else "it"
