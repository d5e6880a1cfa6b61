"""What a JSON Schema says about the fields of requests and answers."""

from __future__ import annotations

from typing import Literal

from msgspec import Meta

Door = Literal["cli", "mcp"]
"""A way into mdvec; some fields are for one of them only."""

DOOR = "door"
"""The key in a field's schema that names its door."""


def doc(description: str = "", door: Door | None = None) -> Meta:
    """Describe a field.

    Args:
        description: For a JSON Schema.
        door: The only door that shows the field; None for all.
    """
    return Meta(description=description or None, extra_json_schema={DOOR: door} if door else None)
