"""The shape of a section, as programs write and read it."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Annotated, Any

from msgspec import Struct

from mdvec.interfaces import wire
from mdvec.interfaces.fields import doc
from mdvec.types import section as types
from mdvec.types.section import IndexedSection


class Section(Struct, frozen=True, kw_only=True):
    """A section; see :class:`mdvec.types.section.IndexedSection`."""

    id: str
    document_path: str
    heading: str
    depth: int
    content: str
    token_count: int
    parent_id: str | None
    order: int
    is_dirty: bool
    document_hash: str
    created_at: Annotated[str, doc("ISO 8601, UTC, with milliseconds")]
    updated_at: Annotated[str, doc("ISO 8601, UTC, with milliseconds")]


class FoundSection(Section, frozen=True, kw_only=True, rename={"distance": "_distance"}):
    """A section that a search found."""

    score: Annotated[float, doc("0 to 1, higher is better")]
    distance: Annotated[float | None, doc("L2 of unit vectors, smaller is nearer; null without vectors")]


def section(value: IndexedSection) -> Section:
    """Return the shape of a section."""
    return Section(**_section_fields(value))


def found_section(value: types.FoundSection) -> FoundSection:
    """Return the shape of a section that was found."""
    # Of unit vectors, |a - b|² = 2 - 2 a·b.
    similarity = value.similarity
    distance = None if similarity is None else math.sqrt(max(0.0, 2 - 2 * similarity))
    return FoundSection(
        **_section_fields(value.section),
        score=round(value.score, wire.SCORE_DIGITS),
        distance=None if distance is None else round(distance, wire.SCORE_DIGITS),
    )


def _section_fields(value: IndexedSection) -> dict[str, Any]:
    same = {name: getattr(value, name) for name in Section.__struct_fields__ if hasattr(value, name)}
    times = {"created_at": value.created_at_ms, "updated_at": value.updated_at_ms}
    return same | {name: _iso_ms(moment_ms) for name, moment_ms in times.items()}


def _iso_ms(moment_ms: int) -> str:
    moment = datetime.fromtimestamp(moment_ms // 1000, UTC).replace(tzinfo=None)
    return f"{moment.isoformat()}.{moment_ms % 1000:03}Z"
