"""Serves a built site to this machine only."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import RedirectResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from mdvec.errors import ListenError, SiteError
from mdvec.interfaces.http.options import Authority
from mdvec.interfaces.http.server import bind, serve
from mdvec.interfaces.site.build import BUILT, checked_base
from mdvec.interfaces.site.projects import SETTINGS

_HOST = "127.0.0.1"


def preview_site(folder: Path, port: int, *, note: Callable[[str], None]) -> int:
    """Serve the built site of a project until SIGTERM or Ctrl-C.

    Args:
        folder: The project.
        port: Where on loopback.
        note: Receives its address as soon as it is served.

    Returns:
        The exit code: 0, or 130 after Ctrl-C.

    Raises:
        SiteError: If there is no built site in the folder.
        ListenError: If the port cannot be used.
    """
    built = folder / BUILT
    if not (built / "index.html").is_file():
        msg = f"there is no built site in {folder}"
        raise SiteError(msg, hint="Run: mdvec site build -n NAME -o DIR")
    base = checked_base(str(json.loads((folder / SETTINGS).read_bytes())["base"]))
    try:
        listener = bind(Authority(_HOST, port))
    except ListenError as error:
        raise ListenError(str(error), hint="Use another port: --port PORT") from error
    address = f"http://{_HOST}:{listener.getsockname()[1]}{base}"
    return serve(static_app(built, base), listener, ready=lambda: note(f"serving {address}; Ctrl-C ends it"))


def static_app(built: Path, base: str) -> Starlette:
    """Return the application that serves the files of a site, as a host for static sites would."""
    files = StaticFiles(directory=built, html=True)
    routes: list[BaseRoute] = [Mount(base.rstrip("/"), files)]
    if base != "/":
        routes.append(Route("/", lambda _: RedirectResponse(base)))
    # A page of another site that resolves its name to this machine reads nothing.
    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=[_HOST, "localhost"])
    return Starlette(routes=routes, middleware=[hosts])
