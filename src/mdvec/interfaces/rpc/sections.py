"""Ten methods on sections, for programs that keep documents of their own in step with the index."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from mdvec.interfaces import wire
from mdvec.interfaces.requests import SearchRequest, search_query
from mdvec.interfaces.rpc import shapes
from mdvec.interfaces.rpc.dispatcher import Method
from mdvec.interfaces.rpc.params import InvalidParamsError
from mdvec.types.section import IndexedSection

if TYPE_CHECKING:
    from mdvec.workspace import Workspace

_Depth = Annotated[int, Meta(ge=0, le=3)]
_Limit = Annotated[int, Meta(ge=1, le=1000)]
_Moment = str | float | None


class NoParams(Struct, frozen=True):
    """A method without parameters."""


class GivenSection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A section as a client writes it. What it leaves out, mdvec fills in."""

    document_path: str
    content: str
    id: str = ""
    heading: str = ""
    depth: _Depth = 0
    token_count: Annotated[int, Meta(ge=0)] = 0
    parent_id: str | None = None
    order: int = 0
    is_dirty: bool = False
    document_hash: str = ""
    created_at: _Moment = None
    updated_at: _Moment = None
    vector: list[float] | None = None
    """Of another model, so it is not used."""


class SectionParams(Struct, frozen=True, kw_only=True):
    """``addSection``."""

    section: GivenSection
    collection: str | None = None


class SectionsParams(Struct, frozen=True, kw_only=True):
    """``addSections``."""

    sections: tuple[GivenSection, ...]
    collection: str | None = None


class PathParams(Struct, frozen=True, kw_only=True):
    """A document."""

    document_path: str


class SearchParams(Struct, frozen=True, kw_only=True):
    """``search``."""

    query: str
    limit: _Limit = 10
    depth: _Depth | tuple[_Depth, ...] | None = None
    include_clean_only: bool = False


class LimitParams(Struct, frozen=True, kw_only=True):
    """``getDirtySections``."""

    limit: _Limit = 100


def section_methods(workspace: Workspace) -> dict[str, Method]:
    """Return the methods on sections, by name."""
    sections = workspace.sections

    def init_model(_: NoParams) -> object:
        space = workspace.models.load()
        return {"success": True, "model_name": space.model, "dimension": space.dimension}

    def add_section(params: SectionParams) -> object:
        [number] = sections.add([_indexed(params.section)], collection=params.collection)
        return {"id": number}

    def add_sections(params: SectionsParams) -> object:
        given = [_indexed(each) for each in params.sections]
        return {"count": len(sections.add(given, collection=params.collection)) if given else 0}

    def search(params: SearchParams) -> object:
        depths = params.depth if isinstance(params.depth, tuple) else (params.depth,)
        request = SearchRequest(
            query=params.query,
            depth=() if params.depth is None else tuple(each for each in depths if each is not None),
            limit=params.limit,
            per_document=params.limit,
            clean_only=params.include_clean_only,
        )
        query = search_query(request, workspace.search_settings())
        result = workspace.search(query, wait_for_vectors=False)
        found = [_plain(shapes.found_section(each)) for each in sections.found(result, params.limit)]
        return {"results": found, "total": len(found)}

    def at_path(params: PathParams) -> object:
        return {"sections": [_plain(shapes.section(each)) for each in sections.at(params.document_path)]}

    def dirty(params: LimitParams) -> object:
        return {"sections": [_plain(shapes.section(each)) for each in sections.dirty(params.limit)]}

    def stats(_: NoParams) -> object:
        totals = sections.totals()
        return {
            "totalSections": totals.sections,
            "dirtyCount": totals.dirty_sections,
            "totalDocuments": totals.documents,
        }

    return {
        "ping": Method(NoParams, lambda _: {"status": "ok"}),
        "initModel": Method(NoParams, init_model),
        "addSection": Method(SectionParams, add_section),
        "addSections": Method(SectionsParams, add_sections),
        "search": Method(SearchParams, search),
        "getSectionsByPath": Method(PathParams, at_path),
        "deleteSectionsByPath": Method(
            PathParams, lambda params: {"deleted": sections.delete(params.document_path)}
        ),
        "markDirty": Method(PathParams, lambda params: {"marked": sections.mark_dirty(params.document_path)}),
        "getDirtySections": Method(LimitParams, dirty),
        "getStats": Method(NoParams, stats),
    }


def _plain(value: Struct) -> object:
    return wire.to_json(value)


def _indexed(given: GivenSection) -> IndexedSection:
    return IndexedSection(
        id=given.id,
        document_path=given.document_path,
        heading=given.heading,
        depth=given.depth,
        content=given.content,
        token_count=given.token_count,
        parent_id=given.parent_id or None,
        order=given.order,
        is_dirty=given.is_dirty,
        document_hash=given.document_hash,
        created_at_ms=_milliseconds(given.created_at),
        updated_at_ms=_milliseconds(given.updated_at),
    )


def _milliseconds(moment: _Moment) -> int:
    """Return a time in milliseconds since 1970: ISO 8601, or milliseconds as JavaScript has them.

    Raises:
        InvalidParamsError: If it is neither.
    """
    if moment is None:
        return 0
    try:
        if isinstance(moment, str):
            parsed = datetime.fromisoformat(moment)
            parsed = parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)
            return int(parsed.timestamp() * 1000)
        datetime.fromtimestamp(moment / 1000, UTC)
        return int(moment)
    except (ValueError, OverflowError, OSError) as error:
        msg = f"not a time: {str(moment)[:100]!r}"
        raise InvalidParamsError(
            msg, hint="Write 2026-05-01T09:30:00Z, or milliseconds since 1970."
        ) from error
