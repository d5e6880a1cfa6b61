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
from mdvec.interfaces.answers import JsonObject, to_json
from mdvec.interfaces.errors import hint_for_client
from mdvec.interfaces.operations import OPERATIONS, Operation
from mdvec.interfaces.requests import Depth, Limit, NoArguments, SearchRequest
from mdvec.interfaces.rpc.dispatcher import PREFIX, Method, RpcClient
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
    """Of another model, so it is not used."""


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


def all_methods(workspace: Workspace) -> dict[str, Method]:
    """Return the methods that a client can call, by name."""
    return _section_methods(workspace) | {
        f"{PREFIX}{each.name}": _method(workspace, each) for each in OPERATIONS
    }


def _method(workspace: Workspace, operation: Operation) -> Method:
    say = partial(hint_for_client, prefix=PREFIX)
    return Method(
        operation.request,
        lambda request: to_json(operation.run(workspace, request, say)),
        is_long=operation.changes,
        takes=operation.takes,
        fixed=operation.fixed,
    )


def _section_methods(workspace: Workspace) -> dict[str, Method]:
    """Return the methods on sections, by name."""
    sections = workspace.sections

    def init_model(_: NoArguments) -> object:
        space = workspace.models.load()
        return {"success": True, "model_name": space.model, "dimension": space.dimension}

    def added(given: Iterable[GivenSection], params: SectionParams | SectionsParams) -> list[str]:
        written = [_indexed(each) for each in given]
        return sections.add(written, collection=params.collection, wait_s=params.wait_s) if written else []

    def add_section(params: SectionParams) -> object:
        [number] = added([params.section], params)
        return {"id": number}

    def add_sections(params: SectionsParams) -> object:
        return {"count": len(added(params.sections, params))}

    def search(params: SearchParams) -> object:
        depths = params.depth if isinstance(params.depth, tuple) else (params.depth,)
        request = SearchRequest(
            query=params.query,
            depth=() if params.depth is None else tuple(each for each in depths if each is not None),
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
        found = sorted(map(_found_json, sections.found(result)), key=itemgetter("_distance"))
        return {"results": found, "total": len(found), "warnings": result.warnings}

    def listed(found: Iterable[IndexedSection]) -> object:
        return {"sections": [_section_json(each) for each in found]}

    def stats(_: NoArguments) -> object:
        totals = sections.totals()
        return {
            "totalSections": totals.sections,
            "dirtyCount": totals.dirty_sections,
            "totalDocuments": totals.documents,
        }

    return {
        "ping": Method(NoArguments, lambda _: {"status": "ok"}),
        "initModel": Method(NoArguments, init_model),
        "addSection": Method(SectionParams, add_section),
        "addSections": Method(SectionsParams, add_sections),
        "search": Method(SearchParams, search),
        "getSectionsByPath": Method(PathParams, lambda params: listed(sections.at(params.document_path))),
        "deleteSectionsByPath": Method(
            PathParams, lambda params: {"deleted": sections.delete(params.document_path)}
        ),
        "markDirty": Method(PathParams, lambda params: {"marked": sections.mark_dirty(params.document_path)}),
        "getDirtySections": Method(LimitParams, lambda params: listed(sections.dirty(params.limit))),
        "getStats": Method(NoArguments, stats),
    }


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
    return {key: to_json(each) for key, each in (fields | times).items()}


def _found_json(value: FoundSection) -> JsonObject:
    """Return a section that was found, with its distance as LanceDB computes it: L2, squared."""
    # Of unit vectors, |a - b|² = 2 - 2 a·b.
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
        client = RpcClient(all_methods(workspace), send, around=workspace.explaining)
        threading.Thread(target=read, name="mdvec-stdin", daemon=True).start()
        # Standard input may stay open: another child of the parent can have inherited it.
        parent = os.getppid()
        while not ended.wait(_LOOK_EVERY_S) and os.getppid() == parent:
            pass
        code = codes[0] if codes else 0
        exit_soon(code)
        client.close()
    return code
