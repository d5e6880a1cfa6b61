"""The frame of all parts of the page: templates, languages, threads, errors, and guards of changes."""

from __future__ import annotations

import hmac
import json
import os
import posixpath
import secrets
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from http import HTTPStatus
from importlib import resources
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from anyio import CapacityLimiter, to_thread
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from mdvec.errors import NotAllowedError
from mdvec.interfaces.errors import translate_for_client
from mdvec.interfaces.http.guard import status_of
from mdvec.interfaces.http.options import ServerOptions
from mdvec.interfaces.present import moment
from mdvec.interfaces.web.strings import (
    NO_PAGE,
    OLD_PAGE,
    preferred_language,
    shown_failure,
    shown_hint,
    words_of,
)
from mdvec.templates import html_templates
from mdvec.types.page import Marked, Page
from mdvec.workspace import BackgroundImport, Workspace

Handler = Callable[[Request], Awaitable[Response]]
_ShowPage = Callable[["Site", Request], Awaitable[Response]]
_TakeForm = Callable[["Site", Request, FormData], Awaitable[Response]]

_Answer = TypeVar("_Answer")

CSRF_FIELD = "csrf"
"""The form field with the token that a change needs."""

# No script or style is in the page itself, nothing comes from or goes to another host, and no other page
# frames it.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {"content-security-policy": _POLICY, "referrer-policy": "same-origin"}
_MAX_CALLS = 16
# Rendering takes a core, and up to a second of it: it must not take the threads of the rest.
_MAX_RENDERINGS = 2
# A speed is measured over this long: enough to even out batches, short enough to follow a change.
_WINDOW_S = 20.0
_MIN_S = 1.0
_UNITS = ("B", "kB", "MB", "GB", "TB")


def obsidian_vaults() -> list[str]:
    """Return Obsidian's vaults on this machine, which are offered where a folder is added."""
    import platformdirs

    place = platformdirs.user_config_path("obsidian", appauthor=False, roaming=True) / "obsidian.json"
    try:
        entries = [*json.loads(place.read_text(encoding="utf-8"))["vaults"].values()]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):  # a file of another program
        return []
    paths = [each.get("path") for each in entries if isinstance(each, dict)]
    # A folder that cannot be looked at counts as missing; pathlib would raise an error.
    return sorted(each for each in paths if isinstance(each, str) and os.path.isdir(each))  # noqa: PTH112


class Speeds:
    """The rates of steps, measured from their progress."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[tuple[str, str], deque[tuple[float, int]]] = {}

    def of(self, key: tuple[str, str], done: int) -> float | None:
        """Add the progress of a step, and return its rate in units a second; None if that is unknown."""
        seen = self._seen.setdefault(key, deque())
        now = self._clock()
        if seen and done < seen[-1][1]:  # it has begun anew
            seen.clear()
        seen.append((now, done))
        while now - seen[0][0] > _WINDOW_S:
            seen.popleft()
        elapsed_s = now - seen[0][0]
        return (done - seen[0][1]) / elapsed_s if elapsed_s >= _MIN_S and done > seen[0][1] else None

    def forget(self, running: Iterable[tuple[str, str]]) -> None:
        """Forget all other steps."""
        current = set(running)
        self._seen = {key: value for key, value in self._seen.items() if key in current}


class Site:
    """The page of one server.

    Attributes:
        workspace: The workspace that it shows.
        options: Where the server listens, and its token.
        csrf: The secret that a form has to carry to change anything; new for each process.
        imports: Those that the page has started, by their collections.
        speeds: Of the steps that it shows.
    """

    def __init__(self, workspace: Workspace, options: ServerOptions) -> None:
        self.workspace = workspace
        self.options = options
        self.csrf = secrets.token_urlsafe(24)
        self.imports: dict[str, BackgroundImport] = {}
        self.speeds = Speeds()
        self._limiter = CapacityLimiter(_MAX_CALLS)
        self._renderings = CapacityLimiter(_MAX_RENDERINGS)
        self._templates = html_templates("mdvec.interfaces.web")
        self._templates.filters.update(
            bytes=_bytes,
            moment=lambda moment_ms: "" if moment_ms is None else moment(moment_ms),
            hint=shown_hint,
            shown=shown_failure,
        )
        self._templates.globals.update(document_url=document_url, search_url=search_url)

    async def call(
        self, function: Callable[[Workspace], _Answer], *, limiter: CapacityLimiter | None = None
    ) -> _Answer:
        """Call a function with the workspace in a thread; damage of the database is reported as such."""

        def explained() -> _Answer:
            with self.workspace.explaining():
                return function(self.workspace)

        return await to_thread.run_sync(explained, limiter=limiter or self._limiter)

    async def read(self, path: str, collection: str, marked: Marked | None = None) -> Page:
        """Return a document, rendered in one of the few threads for that."""
        return await self.call(
            lambda workspace: workspace.pages.read(path, collection, PageAddresses(), marked),
            limiter=self._renderings,
        )

    async def vaults(self) -> list[str]:
        """Return the folders to offer in the form that adds one; a thread looks, as disks may be slow."""
        if not (self.workspace.may_write and self.options.address.is_loopback):
            return []
        return await to_thread.run_sync(obsidian_vaults, limiter=self._limiter)

    def text(self, request: Request, template: str, **values: Any) -> str:
        """Return a template in the language of a request, filled in."""
        language = preferred_language(request.headers.get("accept-language", ""))
        return self._templates.get_template(template).render(
            values,
            t=words_of(language),
            language=language,
            csrf=self.csrf,
            path=request.url.path,
            has_token=bool(self.options.rights),
            may_write=self.workspace.may_write,
        )

    def page(self, request: Request, template: str, code: int = HTTPStatus.OK, **values: Any) -> Response:
        """Return a filled in template as a response."""
        headers = {**_HEADERS, "vary": "accept-language"}
        return HTMLResponse(self.text(request, template, **values), code, headers)

    def failure(self, request: Request, error: Exception) -> Response:
        """Return an error as a page, or as a part of one for a script."""
        failure = translate_for_client(error)
        is_fragment = request.headers.get("x-requested-with") == "fetch"
        template = "_failure.html" if is_fragment else "failure.html"
        return self.page(request, template, status_of(error), failure=failure)

    def refuse(self, request: Request, error: HTTPException) -> Response:
        """Return the page for an address that has none."""
        return self.page(request, "failure.html", error.status_code, failure=NO_PAGE)

    def handler(self, function: _ShowPage) -> Handler:
        """Return a handler whose errors are shown as pages."""

        async def handle(request: Request) -> Response:
            try:
                return await function(self, request)
            except Exception as error:  # noqa: BLE001 - a door translates once
                return self.failure(request, error)

        return handle

    def changing(self, function: _TakeForm) -> Handler:
        """Return a handler of a form that changes something, for those who may; see :meth:`sent`."""

        async def change(site: Site, request: Request, form: FormData) -> Response:
            if not site.workspace.may_write:
                raise NotAllowedError
            return await function(site, request, form)

        return self.sent(change)

    def sent(self, function: _TakeForm) -> Handler:
        """Return a handler of a form that only a page of this process can send."""

        async def handle(site: Site, request: Request) -> Response:
            async with request.form() as form:
                sent = form.get(CSRF_FIELD)
                if not isinstance(sent, str) or not hmac.compare_digest(sent.encode(), site.csrf.encode()):
                    return site.page(request, "failure.html", HTTPStatus.FORBIDDEN, failure=OLD_PAGE)
                return await function(site, request, form)

        return self.handler(handle)


def _bytes(number: int) -> str:
    """Write a number of bytes for people."""
    power = min((len(str(number)) - 1) // 3, len(_UNITS) - 1)
    return f"{number / 1000**power:.{0 if power < 2 else 1}f} {_UNITS[power]}"


def static_file(name: str) -> bytes | None:
    """Return a file of the page; None when there is none of that name."""
    folder = resources.files("mdvec.interfaces.web") / "static"
    return next((each.read_bytes() for each in folder.iterdir() if each.name == name), None)


def document_url(collection: str, path: str, **parameters: Any) -> str:
    """Return the address of a document; empty parameters are left out."""
    return _with_parameters(f"/doc/{quote(collection)}/{quote(path)}", parameters)


def search_url(parameters: Mapping[str, Any]) -> str:
    """Return the address of a search; empty parameters are left out."""
    return _with_parameters("/", parameters)


def _with_parameters(address: str, parameters: Mapping[str, Any]) -> str:
    named = urlencode({key: value for key, value in parameters.items() if value}, doseq=True)
    return f"{address}?{named}" if named else address


class PageAddresses:
    """Addresses for :meth:`mdvec.workspace.pages.Pages.read`."""

    def document(self, collection: str, path: str) -> str:
        """Return the address of a document."""
        return document_url(collection, path)

    def image(self, collection: str, path: str, from_path: str) -> str:
        """Return the address of an image."""
        if ".." in path.split("/"):  # a browser would take these out of the address
            path, from_path = posixpath.normpath(posixpath.join(posixpath.dirname(from_path), path)), ""
        return f"/file/{quote(collection)}/{quote(path.lstrip('/'))}?{urlencode({'from': from_path})}"

    def file(self, collection: str, path: str, from_path: str) -> None:
        """Return no address: the page serves images alone."""

    def tag(self, collection: str, tag: str) -> str:
        """Return the address of the documents with a tag."""
        return search_url({"n": [collection], "tag": [tag]})
