"""The methods that a client can call: mdvec's own, ``mdvec.search`` and so on, and ten on sections.

The latter are for programs that keep documents of their own in step with the index. ``mdvec rpc`` serves all
on standard input and output, one message a line.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import partial
from operator import itemgetter
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from mdvec.errors import InvalidArgumentsError
from mdvec.interfaces import operations
from mdvec.interfaces.answers import JsonObject
from mdvec.interfaces.operations import OPERATIONS, Operation, Say
from mdvec.interfaces.requests import Depth, Limit, NoArguments, SearchRequest
from mdvec.interfaces.rpc.dispatcher import PREFIX, RpcClient
from mdvec.interfaces.streams import EXIT_CODES, exit_soon, private_streams, read_lines, write_all
from mdvec.types.hit import SCORE_DIGITS
from mdvec.types.query import Expansion
from mdvec.types.section import FoundSection, IndexedSection
from mdvec.workspace import Workspace

_Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
_WaitSeconds = Annotated[float, Meta(ge=0, le=3600)]
_Moment = str | float | None

_WAIT_S = 10.0
"""How long an answer waits for the vectors of sections; clients give up after half a minute."""

_FARTHEST = 4.0
"""The distance of opposite vectors, and of a section that has none."""


class GivenSection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A section as a client writes it. mdvec fills in the fields that it leaves out."""

    document_path: str
    content: str
    id: str = ""
    heading: str = ""
    depth: Depth = 0
    token_count: _Count = 0
    parent_id: str | None = None
    order: _Count = 0
    is_dirty: bool = False
    document_hash: str = ""
    created_at: _Moment = None
    updated_at: _Moment = None
    vector: list[float] | None = None
    """A vector of another model, which is not used."""


class SectionParams(Struct, frozen=True, kw_only=True):
    """``addSection``."""

    section: GivenSection
    collection: str | None = None
    wait_s: _WaitSeconds = _WAIT_S


class SectionsParams(Struct, frozen=True, kw_only=True):
    """``addSections``."""

    sections: tuple[GivenSection, ...]
    collection: str | None = None
    wait_s: _WaitSeconds = _WAIT_S


class PathParams(Struct, frozen=True, kw_only=True):
    """A document."""

    document_path: str


class SearchParams(Struct, frozen=True, kw_only=True):
    """``search``."""

    query: str
    limit: Limit = 10
    depth: Depth | tuple[Depth, ...] | None = None
    include_clean_only: bool = False


class LimitParams(Struct, frozen=True, kw_only=True):
    """``getDirtySections``."""

    limit: Limit = 100


def _init_model(workspace: Workspace, _: NoArguments, __: Say) -> object:
    space = workspace.models.load()
    return {"success": True, "model_name": space.model, "dimension": space.dimension}


def _added(
    workspace: Workspace, given: Iterable[GivenSection], params: SectionParams | SectionsParams
) -> list[str]:
    written = [_indexed(each) for each in given]
    sections = workspace.sections
    return sections.add(written, collection=params.collection, wait_s=params.wait_s) if written else []


def _add_section(workspace: Workspace, params: SectionParams, _: Say) -> object:
    [number] = _added(workspace, [params.section], params)
    return {"id": number}


def _add_sections(workspace: Workspace, params: SectionsParams, _: Say) -> object:
    return {"count": len(_added(workspace, params.sections, params))}


def _search(workspace: Workspace, params: SearchParams, _: Say) -> object:
    depths = params.depth if isinstance(params.depth, tuple) else (params.depth,)
    request = SearchRequest(
        query=params.query,
        depth=tuple(each for each in depths if each is not None),
        limit=params.limit,
        per_document=params.limit,
        # The client cannot ask for hits that are left out.
        min_score=0,
        all_similar=True,
        expand=Expansion.CHUNK,
        clean_only=params.include_clean_only,
    )
    result = operations.search(workspace, request)
    # The client has one number, and may sort by it.
    found = sorted(map(_found_json, workspace.sections.found(result)), key=itemgetter("_distance"))
    return {"results": found, "total": len(found), "warnings": result.warnings}


def _at(workspace: Workspace, params: PathParams, _: Say) -> object:
    return {"sections": list(map(_section_json, workspace.sections.at(params.document_path)))}


def _delete(workspace: Workspace, params: PathParams, _: Say) -> object:
    return {"deleted": workspace.sections.delete(params.document_path)}


def _mark_dirty(workspace: Workspace, params: PathParams, _: Say) -> object:
    return {"marked": workspace.sections.mark_dirty(params.document_path)}


def _dirty(workspace: Workspace, params: LimitParams, _: Say) -> object:
    return {"sections": list(map(_section_json, workspace.sections.dirty(params.limit)))}


def _stats(workspace: Workspace, _: NoArguments, __: Say) -> object:
    totals = workspace.sections.totals()
    return {
        "totalSections": totals.sections,
        "dirtyCount": totals.dirty_sections,
        "totalDocuments": totals.documents,
    }


_ON_SECTIONS = (
    Operation("ping", NoArguments, lambda *_: {"status": "ok"}),
    Operation("initModel", NoArguments, _init_model),
    Operation("addSection", SectionParams, _add_section),
    Operation("addSections", SectionsParams, _add_sections),
    Operation("search", SearchParams, _search),
    Operation("getSectionsByPath", PathParams, _at),
    Operation("deleteSectionsByPath", PathParams, _delete),
    Operation("markDirty", PathParams, _mark_dirty),
    Operation("getDirtySections", LimitParams, _dirty),
    Operation("getStats", NoArguments, _stats),
)

METHODS = {each.name: each for each in _ON_SECTIONS} | {f"{PREFIX}{each.name}": each for each in OPERATIONS}
"""The methods that a client can call, by name."""


def _indexed(given: GivenSection) -> IndexedSection:
    written = msgspec.structs.asdict(given)
    del written["vector"]
    created, updated = written.pop("created_at"), written.pop("updated_at")
    return IndexedSection(
        **written | {"parent_id": given.parent_id or None},
        created_at_ms=_milliseconds(created),
        updated_at_ms=_milliseconds(updated),
    )


def _milliseconds(moment: _Moment) -> int:
    """Return a time in milliseconds since 1970: ISO 8601, or milliseconds as JavaScript has them.

    Raises:
        InvalidArgumentsError: If it is neither.
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
        raise InvalidArgumentsError(
            msg, hint="Write 2026-05-01T09:30:00Z, or milliseconds since 1970."
        ) from error


def _section_json(value: IndexedSection) -> JsonObject:
    """Return a section as clients read it, with ISO 8601 in UTC for its times."""
    fields = msgspec.structs.asdict(value)
    times = {name: _iso_ms(fields.pop(f"{name}_ms")) for name in ("created_at", "updated_at")}
    return fields | times


def _found_json(value: FoundSection) -> JsonObject:
    """Return a section that was found, with its distance as LanceDB computes it: L2, squared."""
    # For unit vectors, |a - b|² = 2 - 2 a·b.
    similarity = value.similarity
    distance = _FARTHEST if similarity is None else max(0.0, 2 - 2 * similarity)
    return _section_json(value.section) | {
        "score": round(value.score, SCORE_DIGITS),
        "_distance": round(distance, SCORE_DIGITS),
    }


def _iso_ms(moment_ms: int) -> str:
    moment = datetime.fromtimestamp(moment_ms // 1000, UTC).replace(tzinfo=None)
    return f"{moment.isoformat()}.{moment_ms % 1000:03}Z"


# --- lines on standard input and output ------------------------------------------------------------------

# Requests before the end of the input are answered, even if the model has to be loaded first.
_LAST_ANSWERS_S = 30.0
_LOOK_EVERY_S = 0.5


def serve_rpc_stdio(workspace: Workspace) -> int:
    """Serve one client on the standard streams.

    It ends when the client closes its end, when the parent process dies, at SIGTERM or at Ctrl-C. From then
    on the process ends at once, even if threads are running: use it only in a process that does nothing else.

    Returns:
        The exit code: 0, or 130 after Ctrl-C.
    """
    codes: list[int] = []  # the first one counts
    ended = threading.Event()

    def end(code: int = 0, *_: object) -> None:
        codes.append(code)
        ended.set()

    for number, code_after in EXIT_CODES.items():
        signal.signal(number, partial(end, code_after))
    with private_streams() as (wire_in, wire_out):

        def send(message: bytes) -> None:
            try:
                write_all(wire_out, message + b"\n")
            except OSError:  # the client has gone
                end()

        def read() -> None:
            for line in read_lines(wire_in):
                client.receive(line)
            client.wait(_LAST_ANSWERS_S)
            end()

        workspace.sections.resume()
        client = RpcClient(workspace, METHODS, send)
        threading.Thread(target=read, name="mdvec-stdin", daemon=True).start()
        # Standard input may stay open: another child of the parent can have inherited it.
        parent = os.getppid()
        while not ended.wait(_LOOK_EVERY_S) and os.getppid() == parent:
            pass
        code = codes[0] if codes else 0
        exit_soon(code)
        client.close()
    return code
