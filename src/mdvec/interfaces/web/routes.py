"""The routes of the page in the HTTP server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus

from starlette.convertors import PathConvertor, register_url_convertor
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from mdvec.interfaces.http.guard import WebDoor
from mdvec.interfaces.http.options import ServerOptions
from mdvec.interfaces.http.rights import LOGIN_PATH, end_session, right_of_token, start_session
from mdvec.interfaces.web import document_page, search_page, status_page
from mdvec.interfaces.web.frame import Site, static_file
from mdvec.workspace import Workspace


class _DocumentPath(PathConvertor):
    """A path may hold line ends, as the names of files do."""

    regex = "(?s:.*)"


register_url_convertor("document", _DocumentPath())

_STATIC_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def page_routes(workspace: Workspace, options: ServerOptions) -> WebDoor:
    """Return the page as a part of the HTTP server."""
    site = Site(workspace, options)
    shown, changing = site.handler, site.changing
    routes = [
        Route("/", shown(search_page.show)),
        Route("/results", shown(search_page.results)),
        Route("/filters", shown(search_page.filters)),
        Route("/similar/{collection}/{path:document}", shown(search_page.similar)),
        Route("/doc/{collection}/{path:document}", shown(document_page.show)),
        Route("/file/{collection}/{path:document}", shown(document_page.image)),
        Route("/original/{collection}/{path:document}", shown(document_page.original)),
        Route("/status", shown(status_page.show)),
        Route("/status/{collection}", shown(status_page.files)),
        Route("/events", shown(status_page.events)),
        Route("/login", shown(_sign_in), methods=["GET", "POST"]),
        Route("/logout", site.sent(_sign_out), methods=["POST"]),
        Route("/collections", changing(status_page.add), methods=["POST"]),
        Route("/collections/{collection}/import", changing(status_page.start), methods=["POST"]),
        Route("/collections/{collection}/cancel", changing(status_page.cancel), methods=["POST"]),
        Route("/reveal", changing(document_page.reveal), methods=["POST"]),
        Route("/static/{name}", _static),
        Route("/favicon.ico", _static),
    ]

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        try:
            yield
        finally:
            for each in site.imports.values():
                each.cancel()

    open_paths = frozenset({LOGIN_PATH, "/static/", "/favicon.ico"})
    return WebDoor(routes, lifespan, open_paths=open_paths, refuse=site.refuse)


async def _static(request: Request) -> Response:
    name = request.path_params.get("name", "icon.svg")
    content = static_file(name)
    kind = next((kind for suffix, kind in _STATIC_TYPES.items() if name.endswith(suffix)), None)
    if content is None or kind is None:
        return Response(status_code=HTTPStatus.NOT_FOUND)
    return Response(content, media_type=kind, headers={"cache-control": "no-cache"})


async def _sign_in(site: Site, request: Request) -> Response:
    """Return the form for a token, or check the token that was entered and start a session."""
    if request.method != "POST":
        return _form(site, request, _own_address(request.query_params.get("next", "")), HTTPStatus.OK)
    async with request.form() as form:
        entered, wanted = str(form.get("token", "")).strip(), _own_address(str(form.get("next", "")))
    right = right_of_token(site.options.rights, entered)
    if right is None:
        return _form(site, request, wanted, HTTPStatus.FORBIDDEN)
    response = RedirectResponse(wanted, HTTPStatus.SEE_OTHER)
    start_session(response, right.session_key)
    return response


async def _sign_out(site: Site, request: Request, _: FormData) -> Response:
    """End the session."""
    response = RedirectResponse("/login", HTTPStatus.SEE_OTHER)
    end_session(response, request.headers.get("cookie", ""), site.options.rights, site.options.ended)
    return response


def _form(site: Site, request: Request, wanted: str, status: HTTPStatus) -> Response:
    return site.page(request, "login.html", status, wanted=wanted, wrong=status != HTTPStatus.OK)


def _own_address(text: str) -> str:
    r"""Return an address of this server; the start page for any other (browsers read ``\`` as ``/``)."""
    return text if text.startswith("/") and text[1:2] not in {"/", "\\"} else "/"
