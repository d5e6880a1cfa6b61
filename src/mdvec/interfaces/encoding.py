"""How answers become JSON and JSON Schema: every door shows its own fields of the same classes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from typing import Any, Literal, get_args

import msgspec
from msgspec import Meta, Struct

from mdvec.text.undecodable import spelled

JsonObject = dict[str, Any]

Door = Literal["programs", "mcp"]
"""Who reads an answer: programs (``--format json``, JSON-RPC, ``GET /search``), or agents over MCP.

Some fields are for one of them only.
"""

_DOOR = "door"  # the key in a field's schema that names its door


def doc(description: str = "", door: Door | None = None) -> Meta:
    """Describe a field.

    Args:
        description: For a JSON Schema.
        door: The only door that shows the field; None for all.
    """
    return Meta(description=description or None, extra_json_schema={_DOOR: door} if door else None)


def to_json(value: object, door: Door = "programs") -> Any:
    """Return a value as JSON has it: objects, lists, text, numbers, true, false and null.

    Args:
        value: An answer of :mod:`mdvec.interfaces.wire`, a value of :mod:`mdvec.types`, or a list or mapping
            of them.
        door: Fields of other doors are left out.
    """
    match value:
        case Enum():
            return value.value
        case str():
            return spelled(value)
        case Struct():
            shown = _fields_of(type(value), door)
            return {key: to_json(getattr(value, name), door) for name, key in shown}
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
    [found], parts = msgspec.json.schema_components([kind], ref_template="{name}")
    return _whole(found, parts, door)


def iso_time(moment_ms: int | None) -> str | None:
    """Write milliseconds since 1970 as ISO 8601 in UTC, to the second."""
    if moment_ms is None:
        return None
    return datetime.fromtimestamp(moment_ms // 1000, UTC).isoformat().replace("+00:00", "Z")


@cache
def _fields_of(kind: type[Struct], door: Door) -> tuple[tuple[str, str], ...]:
    """Return attribute and key of the fields that a door shows."""
    return tuple(
        (field.name, field.encode_name)
        for field in msgspec.structs.fields(kind)
        if _door_of(field.type) in (None, door)
    )


def _door_of(kind: object) -> str | None:
    metas = (each for each in get_args(kind) if isinstance(each, Meta))
    return next((each.extra_json_schema[_DOOR] for each in metas if each.extra_json_schema), None)


def _whole(node: JsonObject, parts: Mapping[str, JsonObject], door: Door) -> JsonObject:
    """Put the parts of a schema in their places."""
    if "$ref" in node:
        # The docstring of a class is for programmers.
        part = {key: each for key, each in parts[node["$ref"]].items() if key != "description"}
        return _whole({**part, **{key: node[key] for key in node if key != "$ref"}}, parts, door)
    whole = {key: node[key] for key in node if key not in ("title", _DOOR)}
    if "properties" in node:
        shown = {name: each for name, each in node["properties"].items() if each.get(_DOOR, door) == door}
        whole["properties"] = {name: _whole(each, parts, door) for name, each in shown.items()}
        whole["required"] = [name for name in node.get("required", ()) if name in shown]
    if "anyOf" in node:
        whole["anyOf"] = [_whole(each, parts, door) for each in node["anyOf"]]
    if isinstance(node.get("items"), dict):
        whole["items"] = _whole(node["items"], parts, door)
    return whole
