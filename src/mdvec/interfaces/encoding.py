"""How answers become JSON and JSON Schema: every door shows its own fields of the same classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from typing import Any, get_args

import msgspec
from msgspec import Meta, Struct

from mdvec.text.undecodable import spelled
from mdvec.types.fields import DIGITS, DOOR, TIME, Door

JsonObject = dict[str, Any]


def to_json(value: object, door: Door = "programs") -> Any:
    """Return a value as JSON has it: objects, lists, text, numbers, true, false and null.

    Args:
        value: A value of :mod:`mdvec.types` or :mod:`mdvec.interfaces`, or a list or mapping of them.
        door: Fields of other doors are left out.
    """
    match value:
        case Enum():
            return value.value
        case str():
            return spelled(value)
        case Struct():
            shown = _fields_of(type(value), door)
            return {key: to_json(written(getattr(value, name)), door) for name, key, written in shown}
        case Mapping():
            return {key: to_json(each, door) for key, each in value.items()}
        case list() | tuple():
            return [to_json(each, door) for each in value]
        case None | bool() | int() | float():
            return value
        case _:
            return to_json(msgspec.to_builtins(value), door)


def schema_of(kind: type[Struct], door: Door) -> JsonObject:
    """Return the JSON Schema of a class in one piece, without the fields of other doors."""
    [found], parts = msgspec.json.schema_components(
        [kind], ref_template="{name}", schema_hook=lambda _: {"type": "object"}
    )
    return _whole(found, parts, door)


def iso_time(moment_ms: int | None) -> str | None:
    """Write milliseconds since 1970 as ISO 8601 in UTC, to the second."""
    if moment_ms is None:
        return None
    return datetime.fromtimestamp(moment_ms // 1000, UTC).isoformat().replace("+00:00", "Z")


@cache
def _fields_of(kind: type[Struct], door: Door) -> tuple[tuple[str, str, Callable[[Any], Any]], ...]:
    """Return attribute, key and way of writing of the fields that a door shows."""
    return tuple(
        (field.name, field.encode_name, _writing(field.type))
        for field in msgspec.structs.fields(kind)
        if _said(field.type, DOOR) in (None, door)
    )


def _said(kind: object, key: str) -> Any:
    metas = (each.extra_json_schema or {} for each in get_args(kind) if isinstance(each, Meta))
    return next((each[key] for each in metas if key in each), None)


def _writing(kind: object) -> Callable[[Any], Any]:
    """Return what makes the shown value of a field from its own."""
    if _said(kind, TIME):
        return iso_time
    digits = _said(kind, DIGITS)
    return lambda value: round(value, digits) if digits and value is not None else value


def _whole(node: JsonObject, parts: Mapping[str, JsonObject], door: Door) -> JsonObject:
    """Put the parts of a schema in their places."""
    if "$ref" in node:
        # The docstring of a class is for programmers.
        part = {key: each for key, each in parts[node["$ref"]].items() if key != "description"}
        return _whole({**part, **{key: node[key] for key in node if key != "$ref"}}, parts, door)
    whole = {key: node[key] for key in node if key not in ("title", DOOR, DIGITS, TIME)}
    if "properties" in node:
        shown = {name: each for name, each in node["properties"].items() if each.get(DOOR, door) == door}
        whole["properties"] = {name: _whole(each, parts, door) for name, each in shown.items()}
        whole["required"] = [name for name in node.get("required", ()) if name in shown]
    if TIME in node:
        whole["anyOf"] = [{"type": "string"}, {"type": "null"}]
    elif "anyOf" in node:
        whole["anyOf"] = [_whole(each, parts, door) for each in node["anyOf"]]
    if isinstance(node.get("items"), dict):
        whole["items"] = _whole(node["items"], parts, door)
    return whole
