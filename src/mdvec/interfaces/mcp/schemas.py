"""JSON Schemas of the tools, and the check of arguments against them. Agents read both: each word counts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from msgspec import Struct

from mdvec.errors import InvalidArgumentsError
from mdvec.interfaces import requests
from mdvec.interfaces.encoding import schema_of

Schema = dict[str, Any]
"""A JSON Schema, 2020-12."""

MAX_HITS = 100
"""Most hits of one search: more than an agent can read."""

# What agents and the other tools they know call an argument.
_SAME_ARGUMENT = {
    "collection": ("collections",),
    "collections": ("collection",),
    "depths": ("depth",),
    "file": ("path",),
    "file_path": ("path",),
    "k": ("limit",),
    "tag": ("tags",),
    "top_k": ("limit",),
}

# From here on, the counts of an object in a list are described together: their names say enough.
_MANY_COUNTS = 4

# An agent corrects what it reads; a list of a thousand problems is no help.
_MAX_PROBLEMS = 5
_MAX_SHOWN_CHARS = 40
_NUMBER = re.compile(r"-?\d{1,9}(?:\.\d{1,9})?")

# As JSON writes them.
_LITERALS = {"None": "null", "True": "true", "False": "false"}
_KINDS = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
}


FILTERS = (
    *("collections", "tags", "tag_match", "path", "where", "updated_since", "updated_until", "linked_to"),
    "limit",
)
"""The arguments of a search that choose documents."""


def search_input(*, limit: int, only: Sequence[str] = (), least: Sequence[str] = ("query",)) -> Schema:
    """Return the schema of a search's arguments.

    Args:
        limit: Hits when a client names no number, as configured.
        only: The arguments that are taken; all when empty.
        least: Those that are needed.
    """
    schema = input_schema(requests.SearchRequest)
    taken = schema["properties"]
    taken["limit"] |= {"maximum": MAX_HITS, "default": min(limit, MAX_HITS)}
    needed = {"required": [*least]} if least else {}
    others = {key: value for key, value in schema.items() if key != "required"}
    return {**others, "properties": {name: taken[name] for name in only or taken}, **needed}


def input_schema(kind: type[Struct]) -> Schema:
    """Return the schema of a tool's arguments."""
    schema = schema_of(kind, "mcp")
    needed = {"required": schema["required"]} if schema["required"] else {}
    properties = {name: _argument(each) for name, each in schema["properties"].items()}
    return {"type": "object", "properties": properties, **needed, "additionalProperties": False}


def output_schema(kind: type[Struct]) -> Schema:
    """Return the schema of a tool's answer, without descriptions: the names say enough."""
    return _result(schema_of(kind, "mcp"))


def check(arguments: Mapping[str, object], schema: Schema) -> dict[str, object]:
    """Return the arguments of a tool in the types that its request has.

    Args:
        arguments: As the client sent them.
        schema: The tool's input schema.

    Raises:
        InvalidArgumentsError: If there is something wrong; the message has a line for each problem,
            in the order of the arguments.
    """
    taken = schema["properties"]
    arguments = _understood(arguments, taken)
    problems: list[str] = []
    for name, value in arguments.items():
        problems += _problems(name, value, taken[name]) if name in taken else [_unknown(name, list(taken))]
    problems += [f"`{name}` is missing" for name in schema.get("required", ()) if name not in arguments]
    problems = list(dict.fromkeys(problems))
    more = len(problems) - _MAX_PROBLEMS
    if more > 0:
        problems[_MAX_PROBLEMS:] = [f"and {more} more"]
    if problems:
        raise InvalidArgumentsError("\n".join(problems))
    return {name: _whole(value, taken[name]) for name, value in arguments.items()}


def _understood(arguments: Mapping[str, object], taken: Mapping[str, Schema]) -> dict[str, object]:
    """Return the arguments that are not null, under the tool's own names.

    A single value becomes a list of one where a list is wanted, and the other way round. Models also write
    numbers and truth values as texts, and lines as a number.
    """
    understood: dict[str, object] = {}
    for given, value in arguments.items():
        others = (each for each in _SAME_ARGUMENT.get(given, ()) if each in taken and each not in arguments)
        name = given if given in taken else next(others, given)
        if value is None and name in taken:  # many clients send what they leave out so
            continue
        is_list = taken.get(name, {}).get("type") == "array"
        if is_list and not isinstance(value, list | dict):
            value = [value]
        elif not is_list and name in taken and isinstance(value, list) and len(value) == 1:
            (value,) = value
        understood[name] = _typed(value, taken.get(name, {}).get("type"))
    return understood


def _typed(value: object, kind: str | None) -> object:
    """Return a value in the type that is wanted if it can mean only one; else as it is."""
    match kind, value:
        case "integer" | "number", str() if _NUMBER.fullmatch(value):
            return float(value)
        case "boolean", "true" | "false":
            return value == "true"
        case "string", int() if not isinstance(value, bool):
            return str(value)
        case _:
            return value


def nearest(name: str, known: Sequence[str]) -> str:
    """Return ``; did you mean …?`` for a name that resembles one of the known; else nothing."""
    near = get_close_matches(name[:_MAX_SHOWN_CHARS].lower(), known, n=1)
    return f"; did you mean `{near[0]}`?" if near else ""


def shown(value: object) -> str:
    """Return a value as a client wrote it, cut when it is long."""
    text = _LITERALS.get(repr(value)) or repr(value)
    return text if len(text) <= _MAX_SHOWN_CHARS else f"{text[: _MAX_SHOWN_CHARS - 1]}…"


def _argument(node: Schema) -> Schema:
    """Return the schema of an argument: null stands for one that is left out, so it need not be allowed."""
    [value] = [each for each in node.get("anyOf", [node]) if each != {"type": "null"}]
    described = {"description": node["description"]} if "description" in node else {}
    return {
        **{key: each for key, each in value.items() if key not in ("default", "description")},
        **described,
    }


def _result(node: Schema) -> Schema:
    if "anyOf" in node:
        [value] = [_result(each) for each in node["anyOf"] if each != {"type": "null"}]
        return {**value, "type": [value["type"], "null"]}
    if node.get("type") == "array":
        return {"type": "array", "items": _together(_result(node["items"]))}
    if node.get("type") == "object":
        properties = {name: _result(each) for name, each in node["properties"].items()}
        # As nothing else is allowed, their number requires all of them, in fewer tokens than ``required``.
        return {
            "type": "object",
            "properties": properties,
            "additionalProperties": False,
            "minProperties": len(properties),
        }
    return {key: each for key, each in node.items() if key not in ("default", "description")}


def _together(node: Schema) -> Schema:
    count = {"type": "integer"}
    others = {name: each for name, each in node.get("properties", {}).items() if each != count}
    if node.get("minProperties", 0) - len(others) < _MANY_COUNTS:
        return node
    return {**node, "properties": others, "additionalProperties": count}


def _whole(value: object, schema: Schema) -> object:
    """Return a whole number as an integer: JSON has one kind of number, 5.0 is whole, too."""
    if isinstance(value, list):
        return [_whole(each, schema["items"]) for each in value]
    return int(value) if isinstance(value, float) and schema.get("type") == "integer" else value


def _unknown(name: str, taken: Sequence[str]) -> str:
    known = f"; it takes {', '.join(f'`{each}`' for each in taken)}" if taken else "; it takes none"
    return f"unknown argument `{shown(name)[1:-1]}`{nearest(name, taken) or known}"


def _problems(place: str, value: object, schema: Schema) -> Iterator[str]:
    if "enum" in schema:
        if value not in schema["enum"]:
            near = nearest(value, schema["enum"]) if isinstance(value, str) else ""
            yield f"`{place}` must be one of {', '.join(schema['enum'])}, not {shown(value)}{near}"
    elif not _fits(value, schema["type"]):
        yield f"`{place}` must be {_KINDS[schema['type']]}, not {shown(value)}"
    elif isinstance(value, list):
        for position, each in enumerate(value):
            yield from _problems(f"{place}[{position}]", each, schema["items"])
    elif isinstance(value, int | float) and "minimum" in schema:
        least, most = schema["minimum"], schema.get("maximum")
        if not (least <= value and (most is None or value <= most)):
            span = f"at least {least}" if most is None else f"from {least} to {most}"
            yield f"`{place}` must be {span}, not {shown(value)}"


def _fits(value: object, kind: str) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "array":
            return isinstance(value, list)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
            return whole and not isinstance(value, bool)
        case _:
            return isinstance(value, int | float) and not isinstance(value, bool)
