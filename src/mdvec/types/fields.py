"""How the fields of a value are shown as JSON, and described in a JSON Schema."""

from __future__ import annotations

from typing import Literal

from msgspec import Meta

Door = Literal["programs", "mcp"]
"""Who reads an answer: programs (``--format json``, JSON-RPC, HTTP), or agents over MCP.

Some fields are for one of them only.
"""

DOOR = "door"
"""The key in a field's schema that names its door."""

DIGITS = "digits"
"""The key that says to how many decimal digits a number is rounded."""

TIME = "time"
"""The key of a field that holds milliseconds since 1970, which JSON has as ISO 8601."""

HIDDEN = Meta(extra_json_schema={DOOR: "none"})
"""Marks a field that no door shows."""

MOMENT = Meta(description="ISO 8601, UTC", extra_json_schema={TIME: True})
"""Marks a field in milliseconds since 1970, or None, that is shown as ISO 8601."""


def doc(description: str = "", door: Door | None = None, *, digits: int = 0) -> Meta:
    """Describe a field.

    Args:
        description: For a JSON Schema.
        door: The only door that shows the field; None for all.
        digits: Decimal digits of the number that is shown; 0 for all there are.
    """
    said = {DOOR: door, DIGITS: digits}
    return Meta(
        description=description or None,
        extra_json_schema={key: value for key, value in said.items() if value} or None,
    )
