"""The state of the index: collections, files, imports that run, models, memory, and a map of tags."""

from __future__ import annotations

import itertools
import os
import platform
import re
import shutil
import unicodedata
from collections import Counter
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any

import anyio
from msgspec import Struct
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse

from mdvec.errors import MdvecError
from mdvec.interfaces.errors import translate, translate_logged
from mdvec.interfaces.web.frame import Site
from mdvec.interfaces.web.search_page import number_of
from mdvec.run import Stage
from mdvec.types.document import DocumentState
from mdvec.types.report import Activity, CollectionStatus, ImportReport, TagCount
from mdvec.workspace import BackgroundImport, Workspace

_LOOK_EVERY_S = 0.5
_KEEP_ALIVE_S = 15.0
_MAX_FILES = 500
# A wide map of tags, and one for phones: class, width, height and most tags.
_MAPS = (("wide", 960, 300, 60), ("tall", 360, 480, 24))
_MINUTE_S = 60
_NOT_IN_NAME = re.compile(r"[^a-z0-9_-]+")


async def show(site: Site, request: Request) -> Response:
    """Return the whole page."""
    values = await site.call(lambda workspace: _values(site, workspace))
    tags = await site.call(lambda workspace: workspace.tags())
    maps = [(kind, width, height, treemap(tags[:most], width, height)) for kind, width, height, most in _MAPS]
    values |= {"maps": maps if tags else (), "vaults": await site.vaults()}
    return site.page(request, "status.html", failure=None, form={}, **values)


async def files(site: Site, request: Request) -> Response:
    """Return the files of one collection, by their state."""
    name = request.path_params["collection"]
    chosen = request.query_params.get("state", "")
    whole = await site.call(lambda workspace: workspace.status(name, files=True))
    [status] = whole.collections
    counts = Counter(each.state for each in status.files)
    files = [each for each in status.files if chosen in ("", each.state.value)]
    first = number_of(request.query_params.get("from", ""), most=len(files))
    return site.page(
        request,
        "files.html",
        status=status,
        counts=[(state.value, counts[state]) for state in DocumentState if counts[state]],
        chosen=chosen,
        files=files[first : first + _MAX_FILES],
        earlier=max(0, first - _MAX_FILES) if first else None,
        later=first + _MAX_FILES if first + _MAX_FILES < len(files) else None,
    )


async def events(site: Site, request: Request) -> Response:
    """Return a stream of the collections as they change (server-sent events)."""
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(_changes(site, request), media_type="text/event-stream", headers=headers)


async def add(site: Site, request: Request, form: FormData) -> Response:
    """Register a folder and start to index it."""
    folder, description = (str(form.get(key, "")).strip() for key in ("folder", "description"))
    name = str(form.get("name", "")).strip()
    try:
        if not name:
            known = await site.call(lambda workspace: workspace.collections(include_disabled=True))
            name = _free_name(folder, {each.name for each in known})
        await site.call(
            lambda workspace: workspace.add_collection(name, description or _title_of(folder), folder)
        )
    except MdvecError as error:
        values = {"folder": folder, "name": name, "description": description}
        failure, vaults = translate_logged(error), await site.vaults()
        return site.page(
            request, "welcome.html", HTTPStatus.BAD_REQUEST, failure=failure, form=values, vaults=vaults
        )
    _start(site, name)
    return RedirectResponse("/status", HTTPStatus.SEE_OTHER)


async def start(site: Site, request: Request, _: FormData) -> Response:
    """Bring a collection up to date."""
    name = request.path_params["collection"]
    await site.call(lambda workspace: workspace.collection(name))
    _start(site, name)
    return RedirectResponse("/status", HTTPStatus.SEE_OTHER)


async def cancel(site: Site, request: Request, _: FormData) -> Response:
    """Stop an import that this page has started."""
    if known := site.imports.get(request.path_params["collection"]):
        known.cancel()
    return RedirectResponse("/status", HTTPStatus.SEE_OTHER)


def _start(site: Site, name: str) -> None:
    """Start an import in a thread of its own, unless this page is at it."""
    site.imports.setdefault(name, BackgroundImport(lambda: _import(site, name))).start()


async def _changes(site: Site, request: Request) -> AsyncIterator[str]:
    last, quiet_s, generation, at_work = "", 0.0, -1, False
    while True:
        with suppress(MdvecError):  # the store is away; it is asked again
            now = await site.call(lambda workspace: workspace.generation())
            # Work ends without a change of the store, after its last commit.
            if now != generation or at_work or last == "":
                values = await site.call(lambda workspace: _values(site, workspace))
                generation, at_work = now, any(each["stage"] for each in values["collections"])
                text = site.text(request, "_collections.html", **values)
                if text != last:
                    last, quiet_s = text, 0.0
                    yield "".join(f"data: {line}\n" for line in text.splitlines()) + "\n"
        if quiet_s >= _KEEP_ALIVE_S:
            quiet_s = 0.0
            yield ":\n\n"
        await anyio.sleep(_LOOK_EVERY_S)
        quiet_s += _LOOK_EVERY_S


def _import(site: Site, name: str) -> ImportReport:
    workspace = site.workspace
    with workspace.explaining():
        return workspace.import_collection(name)


def _values(site: Site, workspace: Workspace) -> dict[str, Any]:
    import psutil

    status = workspace.status()
    folder = Path(status.database).parent
    shown = [_shown(site, each) for each in status.collections]
    site.speeds.forget(each["key"] for each in shown if each["key"])
    return {
        "status": status,
        "collections": shown,
        "memory_bytes": psutil.Process().memory_info().rss,
        "free_bytes": shutil.disk_usage(folder).free if folder.is_dir() else None,
    }


def _shown(site: Site, status: CollectionStatus) -> dict[str, Any]:
    """Return a collection and the work on it now, by this process or another one."""
    name = status.collection.name
    job, activity = site.imports.get(name), status.activity
    stage, done, total = "", 0, 0
    if job is not None and job.running:
        stage, done, total, _ = job.latest or (Stage.SCAN, 0, 0, "")
    elif activity is not None:
        stage, done, total = activity.stage or "scan", activity.done, activity.total
    key = (name, stage) if stage else None
    speed = site.speeds.of(key, done) if key else None
    left_s = (total - done) / speed if speed and total else None
    return {
        "status": status,
        "job": job,
        "failure": translate(job.error) if job is not None and job.error is not None else None,
        "key": key,
        "stage": str(stage),
        "done": done,
        "total": total,
        "other_pid": _other_pid(activity),
        "speed": speed,
        "left_s": round(left_s) if left_s is not None and left_s < _MINUTE_S else None,
        "left_min": round(left_s / _MINUTE_S) if left_s is not None and left_s >= _MINUTE_S else None,
    }


def _other_pid(activity: Activity | None) -> int:
    """Return the process that is at work; 0 when it is this one, whose watcher imports, too."""
    if activity is None or (activity.pid, activity.host) == (os.getpid(), platform.node()):
        return 0
    return activity.pid


def _title_of(folder: str) -> str:
    return Path(folder).name or folder


def _free_name(folder: str, taken: Collection[str]) -> str:
    """Return a name for the collection of a folder: its own, as far as possible, with a number if taken."""
    plain = unicodedata.normalize("NFKD", _title_of(folder)).encode("ascii", "ignore").decode().lower()
    name = _NOT_IN_NAME.sub("-", plain).strip("-_").lstrip("-_0123456789")[:60] or "notes"
    numbered = (f"{name}-{number}" for number in itertools.count(2))
    return next(each for each in itertools.chain([name], numbered) if each not in taken)


_CHAR_WIDTH = 0.62
_MIN_FONT, _MAX_FONT = 10, 22


class Cell(Struct, frozen=True):
    """A tag on the map.

    Attributes:
        tag: The tag.
        documents: How many documents have it.
        x: Left edge.
        y: Upper edge.
        width: Its width.
        height: Its height.
        font: Size of its label; 0 when there is no room for one.
    """

    tag: str
    documents: int
    x: float
    y: float
    width: float
    height: float
    font: int


def treemap(tags: Sequence[TagCount], full_width: int, full_height: int) -> list[Cell]:
    """Lay tags out as nearly square rectangles, row by row.

    The tags come with most documents first; the map has units of its own.

    Returns:
        Cells that fill the map, in the same order.

    References:
        Bruls, Huizing and van Wijk, "Squarified treemaps", 2000.
    """
    left = [each for each in tags if each.documents > 0]
    cells: list[Cell] = []
    x, y, width, height = 0.0, 0.0, float(full_width), float(full_height)
    while left:
        scale = width * height / sum(each.documents for each in left)
        side = min(width, height)
        row = left[:1]
        while len(row) < len(left) and _worst(left[: len(row) + 1], side, scale) <= _worst(row, side, scale):
            row = left[: len(row) + 1]
        thickness = sum(each.documents for each in row) * scale / side
        along = 0.0
        for each in row:
            length = each.documents * scale / thickness
            if width >= height:
                cells.append(_cell(each, x, y + along, thickness, length))
            else:
                cells.append(_cell(each, x + along, y, length, thickness))
            along += length
        if width >= height:
            x, width = x + thickness, width - thickness
        else:
            y, height = y + thickness, height - thickness
        left = left[len(row) :]
    return cells


def _worst(row: Sequence[TagCount], side: float, scale: float) -> float:
    """Return the worst ratio of the sides of a row's rectangles."""
    areas = [each.documents * scale for each in row]
    total = sum(areas)
    return max(side**2 * max(areas) / total**2, total**2 / (side**2 * min(areas)))


def _cell(tag: TagCount, x: float, y: float, width: float, height: float) -> Cell:
    columns = sum(1.0 if char.isascii() else 1.7 for char in tag.tag) + 1
    font = int(min(_MAX_FONT, height / 2.4, width / (columns * _CHAR_WIDTH)))
    return Cell(tag.tag, tag.documents, x, y, width, height, font if font >= _MIN_FONT else 0)
