"""Builds the site of a collection, and serves a built one to this machine only."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import RedirectResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from mdvec.errors import ListenError, SiteError, UsageError
from mdvec.interfaces.http.options import Authority
from mdvec.interfaces.http.server import bind, serve
from mdvec.interfaces.site.node import Node, find_node
from mdvec.interfaces.site.output import Output, explained
from mdvec.interfaces.site.pages import WORDS
from mdvec.interfaces.site.projects import SETTINGS, SiteReport, encoded, packages, project_files
from mdvec.text.scripts import holds_unspaced
from mdvec.types.page import PageEntry
from mdvec.workspace import Workspace

BUILT = "dist"
"""The folder of the finished site."""

_LANGUAGES = tuple(WORDS)
_DEAD_LINKS = "dead-links.txt"
# Parts of the user's folder that do not belong to the project.
_NOT_OWN = ("node_modules/", "dist/", ".git/", ".vitepress/cache/", ".vitepress/dist/")
_OWN_SETTINGS = ".vitepress/site.local.mjs"
_BASE_PART = re.compile(r"[-_.]*[A-Za-z0-9][-\w.]*", re.ASCII)


def build_site(
    workspace: Workspace,
    collection: str,
    folder: Path,
    *,
    base: str,
    language: str | None,
    project_only: bool,
    note: Callable[[str], None],
    custom: Path | None = None,
) -> SiteReport:
    """Build a site, or write the project that VitePress builds it from.

    The folder is empty, or one that an earlier build wrote. Without a language, most titles decide.
    Programs in the user's ``custom`` folder run. With ``project_only`` Node is left alone.

    Raises:
        CollectionNotFoundError: If there is no such collection.
        UsageError: If ``base`` is no path, the language is unknown, or the collection holds no page.
        SiteError: If the folder is another's, or Node is missing or fails.
    """
    base = checked_base(base)
    if language is not None and language not in _LANGUAGES:
        msg = f"no words for the language {language!r}"
        raise UsageError(msg, hint=f"Known: {', '.join(_LANGUAGES)}.")
    node = None if project_only else find_node()  # before anything is written
    entries = workspace.pages.entries(collection)
    shown = [entry for entry in entries if not (entry.superseded or _is_draft(entry.properties))]
    if not shown:
        msg = f"{collection} has no document for a site"
        raise UsageError(msg, hint=f"Run: mdvec import -n {collection}")
    report = SiteReport(pages=len(shown), left_out=len(entries) - len(shown), dead_list=folder / _DEAD_LINKS)
    with Output(folder) as output:
        output.write(".mdvecignore", b"*\n")  # the site may lie in the folder it is made of
        language = language or _language_of(shown)
        files = project_files(workspace, collection, shown, base=base, language=language, report=report)
        if node is None:
            for place, content in _with_own(files, custom):
                output.write(place, content)
        else:
            if custom is None and (folder / _OWN_SETTINGS).exists():
                note(f"{folder / _OWN_SETTINGS} is not used: name a folder with your settings by --custom")
            _build(node, _with_own(files, custom), output, report, note)
            report.built = folder / BUILT
        if report.dead_links:
            listed = "".join(f"{place}\t{target}\n" for place, target in report.dead_links)
            output.write(_DEAD_LINKS, encoded(listed))
    report.written, report.removed = output.written, output.removed
    return report


def _build(
    node: Node,
    files: Iterator[tuple[str, bytes]],
    output: Output,
    report: SiteReport,
    note: Callable[[str], None],
) -> None:
    """Write the project into a folder of ours, have Node build it, and take over the result."""
    with node.project(packages()) as project:
        for place, content in files:
            path = project / PurePosixPath(place)
            with explained(path, "written", "Free some space, or set XDG_CACHE_HOME to another folder."):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        note(f"building the site of {report.pages} pages")
        built = node.build(project)
        for path in sorted(built.rglob("*")):
            if path.is_file():
                output.write(f"{BUILT}/{path.relative_to(built).as_posix()}", path.read_bytes())
        output.write(SETTINGS, (project / SETTINGS).read_bytes())
    output.empty(BUILT)


def _with_own(files: Iterator[tuple[str, bytes]], custom: Path | None) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a project, then those of the user's.

    Raises:
        SiteError: If one of the user's has the name of another, or cannot be read.
    """
    taken = set()
    for place, content in files:
        taken.add(place.casefold())
        yield place, content
    if custom is None:
        return
    for path in sorted(custom.rglob("*")):
        place = path.relative_to(custom).as_posix()
        if path.is_dir() or place.startswith(_NOT_OWN):
            continue
        if place.casefold() in taken:
            msg = f"{path} would replace a file of mdvec's"
            raise SiteError(msg, hint="Rename it.")
        with explained(path, "read"):
            content = path.read_bytes()
        yield place, content


def checked_base(base: str) -> str:
    """Return the path of a site with a slash at both ends.

    Raises:
        UsageError: If it is no path.
    """
    inner = base.strip("/")
    if inner and not all(map(_BASE_PART.fullmatch, inner.split("/"))):
        msg = f"{base!r} is not the path of a site"
        raise UsageError(msg, hint="Write it as in the address of the site, such as /notes/.")
    return f"/{inner}/" if inner else "/"


def _is_draft(properties: Mapping[str, object]) -> bool:
    return properties.get("draft") is True or properties.get("publish") is False


def _language_of(entries: Sequence[PageEntry]) -> str:
    japanese = sum(holds_unspaced(entry.title) for entry in entries)
    return "ja" if japanese * 2 > len(entries) else "en"


_HOST = "127.0.0.1"


def preview_site(folder: Path, port: int, *, note: Callable[[str], None]) -> int:
    """Serve the built site of a project until SIGTERM or Ctrl-C.

    ``note`` receives its address as soon as it is served.

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
