"""The tools as clients see them."""

from __future__ import annotations

import json
import re

import jsonschema
import pytest
from mcp_types import Tool
from msgspec.structs import replace
from tests.unit.interfaces.fake_workspace import COLLECTION

from mdvec.errors import InvalidArgumentsError
from mdvec.interfaces.mcp.definitions import INSTRUCTIONS, tool_definitions
from mdvec.interfaces.parsing import parse
from mdvec.interfaces.requests import AgentSearchRequest
from mdvec.text.tokens import estimate_token_count
from mdvec.types.collection import RESERVED_NAMES
from mdvec.types.ids import CollectionId

THREE = [
    replace(COLLECTION, id=CollectionId(number), name=name, description=description)
    for number, (name, description) in enumerate(
        [
            ("work", "Meeting minutes, decisions and project plans of the platform team since 2021"),
            ("notes", "個人のメモと日記。旅行、料理、読書、学んだこと(2015年から)"),
            ("api-docs", "Reference of the public REST API: endpoints, parameters, errors, examples"),
        ]
    )
]
GENERAL = ["search", "get_doc", "list_docs", "get_outline", "list_tags", "reindex", "status"]


def defined(*, collection_tools: bool = True) -> list[Tool]:
    """Return the tools of three collections."""
    return tool_definitions(THREE, limit=5, collection_tools=collection_tools)


def test_the_definitions_of_three_collections_take_few_tokens() -> None:
    """A client sends them with every question of its user: 3,000 tokens at most, by our own careful count.

    Descriptions differ in length, and these are left some room.
    """
    shown = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in defined()]
    assert estimate_token_count(json.dumps(shown, ensure_ascii=False)) <= 2_950
    assert estimate_token_count(INSTRUCTIONS) <= 150


def test_arguments_are_described_but_for_the_clear_ones() -> None:
    """A new one is described, or its name is listed as clear; the list names no argument that is gone.

    ``list_docs`` and the tools of collections say that they search.
    """
    search, get_doc, _, outline, *others = defined()
    described = [search, get_doc, outline, *(each for each in others if each.name in GENERAL)]
    lacking = {
        f"{tool.name}.{name}" if name == "path" else name
        for tool in described
        for name, argument in tool.input_schema["properties"].items()
        if "description" not in argument
    }
    assert lacking == {
        *("query", "collections", "collection", "tag_match", "updated_until", "all_similar", "sort"),
        *("per_document", "expand", "max_tokens", "section", "get_outline.path"),
    }


def test_the_general_tools_come_first_then_collections_by_name() -> None:
    """The order does not depend on that of the collections, so a client's cache of it holds."""
    names = [tool.name for tool in defined()]
    assert names == [*GENERAL, "api-docs", "notes", "work"]
    assert names == [tool.name for tool in tool_definitions(THREE[::-1], limit=5, collection_tools=True)]


def test_tools_are_made_once_for_the_same_collections() -> None:
    """Each call looks its tool up, and making them takes as long as a third of a search."""
    assert all(first is second for first, second in zip(defined(), defined(), strict=True))
    other = [*THREE[:2], replace(THREE[2], description="Another")]
    assert tool_definitions(other, limit=5, collection_tools=True)[-3].description == (
        "Search api-docs: Another"
    )


def test_a_least_number_is_not_sent() -> None:
    """It costs tokens and no agent asks for less; a call that does is answered with both limits."""
    arguments = [each for tool in defined() for each in tool.input_schema["properties"].values()]
    assert all("minimum" not in each for each in arguments)
    limit = defined()[0].input_schema["properties"]["limit"]
    assert limit == {"type": "integer", "maximum": 100, "description": "5 if left out"}
    with pytest.raises(InvalidArgumentsError, match="from 1 to 100, not 0"):
        parse({"query": "tea", "limit": 0}, AgentSearchRequest)


def test_a_tool_says_that_it_searches_and_what() -> None:
    """A description alone says what is there. Its limit has a default of its own."""
    tools = {tool.name: tool for tool in defined()}
    notes = tools["notes"]
    assert notes.description == f"Search notes: {THREE[1].description}"
    everything = tools["search"].input_schema["properties"]
    limit = {key: value for key, value in everything["limit"].items() if key != "description"}
    assert notes.input_schema["properties"] == {
        "query": everything["query"],
        "limit": limit,
    }


def test_collections_without_tools_are_named_by_search() -> None:
    """Otherwise a model could not know of them."""
    tools = defined(collection_tools=False)
    assert [tool.name for tool in tools] == GENERAL
    assert all(f"- {each.name}: {each.description}" in str(tools[0].description) for each in THREE)


def test_a_long_description_is_cut() -> None:
    """Clients send each one with every question, and some refuse long ones or cut them themselves."""
    many = [replace(COLLECTION, name=f"c{number}", description="説明\n" * 700) for number in range(20)]
    for collection_tools in (True, False):
        for tool in tool_definitions(many, limit=5, collection_tools=collection_tools):
            assert tool.description is not None
            assert len(tool.description) < 1_500
    assert "\n- c19: 説明 説明" in str(tool_definitions(many, limit=5, collection_tools=False)[0].description)


def test_a_tool_is_never_without_a_description() -> None:
    """A collection can be; a model would have to guess then."""
    blank = replace(COLLECTION, description=" ")
    assert tool_definitions([blank], limit=5, collection_tools=True)[-1].description == ("Search notes")


def test_reserved_names_are_those_of_the_general_tools() -> None:
    """A collection that has one from before has no tool: no name is defined twice."""
    old = [replace(COLLECTION, name=name) for name in GENERAL]
    assert [tool.name for tool in tool_definitions(old, limit=5, collection_tools=True)] == GENERAL
    assert {*GENERAL, "search_docs"} == RESERVED_NAMES


def test_only_reindex_changes_anything() -> None:
    """It is idempotent, as reading is; all tools are closed, and every one has a title."""
    for tool in defined():
        hints = tool.annotations
        assert hints is not None
        assert hints.read_only_hint is (tool.name != "reindex")
        expected = (True, False) if tool.name == "reindex" else (None, None)
        assert (hints.idempotent_hint, hints.destructive_hint) == expected
        assert hints.open_world_hint is False
        assert tool.title


@pytest.mark.parametrize("tool", defined(), ids=lambda tool: tool.name)
def test_schemas_are_exact(tool: Tool) -> None:
    """They are valid, and every object in them says whether it takes other fields, and takes none unknown."""
    for schema in filter(None, (tool.input_schema, tool.output_schema)):
        jsonschema.Draft202012Validator.check_schema(schema)
        objects = [schema]
        while objects:
            each = objects.pop()
            if each.get("type") == "object":
                assert each["additionalProperties"] in (False, {"type": "integer"})
                objects += each["properties"].values()
            elif each.get("type") == "array":
                objects += [each["items"]] if "items" in each else []
            else:  # Gemini takes no property without a type
                assert "type" in each


# Taken by the function calling of OpenAI and Gemini, by their documentation; ``default`` is refused by the
# strict mode of OpenAI. Gemini's clients drop ``additionalProperties``, which the others need, and those of
# Anthropic's strict mode limits of numbers.
_KEYWORDS = {
    *("type", "properties", "required", "additionalProperties", "items", "enum", "description"),
    *("minimum", "maximum"),
}
_MOST_PROPERTIES, _MOST_DEPTH, _MOST_ENUM, _MOST_DESCRIPTION = 100, 5, 250, 1024


@pytest.mark.parametrize("tool", defined(), ids=lambda tool: tool.name)
def test_arguments_are_within_the_rules_of_the_strictest_clients(tool: Tool) -> None:
    """Known keywords, one type each, texts in enumerations, no references, alternatives or deep nesting."""
    assert re.fullmatch(r"[a-zA-Z][a-zA-Z0-9_-]{0,63}", tool.name)
    assert len(tool.description or "") <= _MOST_DESCRIPTION
    waiting = [(tool.input_schema, 1)]
    count = 0
    while waiting:
        each, depth = waiting.pop()
        assert depth <= _MOST_DEPTH
        assert each.keys() <= _KEYWORDS
        assert isinstance(each["type"], str)
        if "enum" in each:
            assert each["type"] == "string"
            assert all(isinstance(value, str) and value for value in each["enum"])
            assert len(each["enum"]) <= _MOST_ENUM
        if each["type"] == "object":
            assert each["additionalProperties"] is False
            assert set(each.get("required", ())) <= each["properties"].keys()
            assert all(re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}", name) for name in each["properties"])
            count += len(each["properties"])
            waiting += [(inner, depth + 1) for inner in each["properties"].values()]
        if each["type"] == "array":
            waiting.append((each["items"], depth + 1))
    assert count <= _MOST_PROPERTIES


def test_the_configured_number_of_hits_is_shown_as_far_as_agents_may_ask() -> None:
    """A default above the limit would be refused by a client that sends it."""
    [tool] = [
        each for each in tool_definitions([], limit=1000, collection_tools=True) if each.name == "search"
    ]
    assert tool.input_schema["properties"]["limit"]["description"] == "100 if left out"
