"""JSON Schemas of the tools. Agents read them: each word counts."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from mdvec.interfaces import requests
from mdvec.interfaces.encoding import JsonObject, schema_of
from mdvec.interfaces.mcp.fence import NOTICE_KEY

# From here on, the counts of an object in a list are described together: their names say enough.
_MANY_COUNTS = 4

FILTERS = (
    *("collections", "tags", "tag_match", "path", "where", "updated_since", "updated_until", "linked_to"),
    "limit",
)
"""The arguments of a search that choose documents."""


def input_schema(kind: type[Struct], only: Sequence[str] = (), *, limit: int | None = None) -> JsonObject:
    """Return the schema of a tool's arguments.

    Args:
        kind: The request.
        only: The arguments that are taken of it; all when empty.
        limit: Hits when a client names no number; None where a collection may have a number of its own.
    """
    schema = schema_of(kind, "mcp")
    properties = {name: _argument(schema["properties"][name]) for name in only or schema["properties"]}
    if limit is not None and "limit" in properties:
        properties["limit"]["default"] = min(limit, requests.MAX_HITS)
    required = [name for name in schema["required"] if name in properties]
    needed = {"required": required} if required else {}
    return {"type": "object", "properties": properties, **needed, "additionalProperties": False}


def output_schema(kind: type[Struct]) -> JsonObject:
    """Return the schema of a tool's answer, without descriptions: the names say enough."""
    answer = schema_of(kind, "mcp")
    return _result({**answer, "properties": {NOTICE_KEY: {"type": "string"}, **answer["properties"]}})


def _argument(node: JsonObject) -> JsonObject:
    """Return the schema of an argument: null stands for one that is left out, so it need not be allowed."""
    [value] = [each for each in node.get("anyOf", [node]) if each != {"type": "null"}]
    described = {"description": node["description"]} if "description" in node else {}
    named = {"type": "string"} if "enum" in value else {}  # some clients take no property without a type
    return {
        **named,
        **{key: each for key, each in value.items() if key not in ("default", "description")},
        **described,
    }


def _result(node: JsonObject) -> JsonObject:
    if "anyOf" in node:
        [value] = [_result(each) for each in node["anyOf"] if each != {"type": "null"}]
        return {**value, "type": [value["type"], "null"]}
    if node.get("type") == "array":
        items = _together(_result(node["items"]))
        return {"type": "array", "items": items} if items != {"type": "string"} else {"type": "array"}
    if node.get("type") == "object":
        properties = {name: _result(each) for name, each in node["properties"].items()}
        # As nothing else is allowed, their number requires all of them, in fewer tokens than ``required``.
        return {
            "type": "object",
            "properties": properties,
            "additionalProperties": False,
            "minProperties": len(properties),
        }
    if "enum" in node:
        return {"type": "string"}  # an agent reads the word itself
    return {key: each for key, each in node.items() if key not in ("default", "description")}


def _together(node: JsonObject) -> JsonObject:
    count = {"type": "integer"}
    others = {name: each for name, each in node.get("properties", {}).items() if each != count}
    if node.get("minProperties", 0) - len(others) < _MANY_COUNTS:
        return node
    return {**node, "properties": others, "additionalProperties": count}
