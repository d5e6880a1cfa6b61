"""The page about MCP says all that the server offers, and nothing that it does not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp_types import Tool

from mdvec.interfaces.mcp.definitions import ANSWER, GENERAL_TOOLS, output_schema, tool_definitions
from mdvec.interfaces.mcp.places import STATUS, TEMPLATE
from mdvec.interfaces.mcp.wording import NOTICE_KEY

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "mcp.md"
TOOLS = {tool.name: tool for tool in tool_definitions([], limit=5, collection_tools=True)}


def section(heading: str) -> str:
    """Return the text under a heading, up to the next one."""
    found = re.search(
        rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)",
        PAGE.read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    assert found, f"there is no section {heading!r}"
    return found[1]


def rows(text: str, title: str) -> dict[str, str]:
    """Return the rows of the table whose first column has this title, by the names in that column."""
    table = re.search(rf"^\| {title} \|.*\n\|[-|]+\n((?:\|.*\n?)*)", text, re.MULTILINE)
    return {
        name: row
        for row in (table[1].splitlines() if table else [])
        for name in re.findall(r"`([^`]+)`", row.split("|")[1])
    }


def fields(schema: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield the paths of the fields of an answer that hold no others."""
    for name, field in schema["properties"].items():
        items = field.get("items", {})
        if "properties" in items:
            yield from fields(items, f"{prefix}{name}[].")
        else:
            yield prefix + name


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_every_argument_is_documented(tool: Tool) -> None:
    """With each value it can take, and whether it is needed; no other is."""
    documented = rows(section(tool.name), "argument")
    taken = tool.input_schema["properties"]
    assert list(documented) == list(taken)
    for name, schema in taken.items():
        assert all(f"`{value}`" in documented[name] for value in schema.get("enum", []))
        limits = [str(schema[key]) for key in ("minimum", "maximum") if key in schema]
        assert all(limit in documented[name].split("|")[2] for limit in limits), name
        assert ("Required." in documented[name]) == (name in tool.input_schema.get("required", []))


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_every_field_of_an_answer_is_documented(tool: Tool) -> None:
    """And no other is, save counts that a schema describes by one rule."""
    documented = set(rows(section(tool.name), "field of the answer"))
    promised = set(fields(output_schema(GENERAL_TOOLS[tool.name].answer))) - {NOTICE_KEY}
    counts = {
        "collections[]." + name
        for name in ("documents", "failed", "excluded", "chunks", "pending_chunks", "dirty", "superseded")
    }
    sizes = {f"sections[].{name}" for name in ("order", "depth", "start_line", "end_line", "tokens")}
    places = {f"hits[].{name}" for name in ("start_line", "end_line", "chunk_index", "similar")}
    lists = {"search": {"hits"} | places, "status": counts, "get_outline": sizes}
    assert f"`{NOTICE_KEY}`" in PAGE.read_text(encoding="utf-8").partition("\n## ")[0]
    assert documented == promised | lists.get(tool.name, set())


def test_no_tool_is_invented() -> None:
    """A section whose heading is a name is about a tool."""
    headings = re.findall(r"^## ([a-z_]+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert headings == list(TOOLS)


def test_resources_and_prompts_are_documented() -> None:
    """All of them, with the argument."""
    assert set(rows(section("Resources"), "address")) == {TEMPLATE, STATUS}
    documented = rows(section("Prompts"), "prompt")
    assert set(documented) == {ANSWER.name}
    assert all(f"`{argument.name}`" in documented[ANSWER.name] for argument in ANSWER.arguments or [])
