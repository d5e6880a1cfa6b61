"""The reading view: a document and its surroundings, its images, and other programs to open it in."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from urllib.parse import quote, urlencode

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from mdvec.errors import DocumentNotFoundError, UsageError
from mdvec.interfaces.requests import parse_lines
from mdvec.interfaces.web.frame import Site, document_url
from mdvec.interfaces.web.search_page import Form
from mdvec.text.folding import spelled
from mdvec.text.links import converter_of
from mdvec.types.links import Backlink
from mdvec.types.page import IMAGE_TYPES, ORIGINAL_TYPES, PASSAGE_ANCHOR, Marked, Page

# An image is only an image: opened by itself, an SVG file runs and requests nothing either.
_IMAGE_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "cache-control": "private, max-age=60",
}
# An original comes from anywhere: it runs nothing, and requests nothing. A viewer of PDF is an object, which
# cannot be in a sandbox.
_ORIGINAL_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"
_PDF, _PDF_POLICY = "application/pdf", f"{_ORIGINAL_POLICY}; object-src 'self'"
_PAGE_OF_PDF = re.compile(r"page (\d+)")
_MAX_PROPERTY_CHARS = 200
_LINK = re.compile(r"\[\[(?P<target>[^\[\]|#]+)[^\[\]|]*(?:\|(?P<text>[^\[\]]+))?\]\]|https?://[^\s,\"'<>]+")
_FILE_MANAGERS = {"darwin": ["open", "-R"], "win32": ["explorer", "/select,"]}


async def show(site: Site, request: Request) -> Response:
    """Return a document; ``lines`` is marked, the words of ``q`` in it, too.

    Lines that are not there are a notice: they were right once, or an address was written by hand.
    """
    collection, path = request.path_params["collection"], request.path_params["path"]
    form, lines = Form.of(request.query_params), request.query_params.get("lines", "")
    try:
        marked = _marked(lines, form.q)
        page = await site.read(path, collection, marked)
    except DocumentNotFoundError:
        # The HTML of a note names images from its own folder.
        if PurePosixPath(path).suffix.lower() in IMAGE_TYPES:
            return RedirectResponse(f"/file/{quote(collection)}/{quote(path)}")
        raise
    is_here = site.options.address.is_loopback and site.workspace.may_write
    file = spelled(page.file) if is_here and page.file else None
    # Addresses have / in front, even of a path of Windows.
    rooted = "/" + (file or "").replace("\\", "/").removeprefix("/")
    line = marked.first if marked else 1
    return site.page(
        request,
        "document.html",
        page=page,
        form=form,
        lines=lines,
        has_passage=f'id="{PASSAGE_ANCHOR}"' in page.html,
        passage_anchor=PASSAGE_ANCHOR,
        properties=_properties(page),
        updated_ms=page.updated_ns // 1_000_000 or None,
        backlinks=_named({each.path: each for each in page.links.backlinks}),
        file=file,
        original=_original_url(page),
        line=line,
        obsidian=f"obsidian://open?{urlencode({'path': file or ''}, quote_via=quote)}",
        vscode=f"vscode://file{quote(rooted)}:{line}",
    )


async def image(site: Site, request: Request) -> Response:
    """Return an image that lies next to the documents of a collection."""
    collection, path = request.path_params["collection"], request.path_params["path"]
    from_path = request.query_params.get("from", "")
    content, kind = await site.call(lambda workspace: workspace.pages.image(collection, path, from_path))
    return Response(content, media_type=kind, headers=_IMAGE_HEADERS)


async def original(site: Site, request: Request) -> Response:
    """Return the file that was converted to a document; the browser saves a type that it does not show."""
    collection, path = request.path_params["collection"], request.path_params["path"]
    content = await site.call(lambda workspace: workspace.pages.original(path, collection))
    kind = ORIGINAL_TYPES.get(PurePosixPath(path).suffix.lower(), "application/octet-stream")
    headers = {"content-security-policy": _PDF_POLICY if kind == _PDF else f"{_ORIGINAL_POLICY}; sandbox"}
    if kind not in ORIGINAL_TYPES.values():
        headers["content-disposition"] = f"attachment; filename*=UTF-8''{quote(PurePosixPath(path).name)}"
    response = Response(content, headers=headers)
    response.headers["content-type"] = kind  # the file says how its letters are coded
    return response


async def reveal(site: Site, _: Request, form: FormData) -> Response:
    """Show the file of a document in the file manager of this machine."""
    collection, path = str(form.get("collection", "")), str(form.get("path", ""))
    if not site.options.address.is_loopback:
        msg = "files can be shown only on the server's own machine"
        raise UsageError(msg, hint="Open the page on that machine.")
    file = (await site.read(path, collection)).file
    if file is not None:
        await site.call(lambda _: _reveal(Path(file)))
    return Response(status_code=HTTPStatus.NO_CONTENT)  # the browser stays on the page


def _original_url(page: Page) -> str:
    """Return the address of the place in the file that was converted; empty without one."""
    if not converter_of(page.path):
        return ""
    of_pdf = _PAGE_OF_PDF.fullmatch(page.place)
    place = f"#page={of_pdf[1]}" if of_pdf else quote(page.place, safe="#") if page.place[:1] == "#" else ""
    return f"/original/{quote(page.collection)}/{quote(page.path)}{place}"


def _marked(lines: str, query: str) -> Marked | None:
    try:
        first, last = parse_lines(lines)
    except UsageError:
        return None
    return Marked(first or 1, last or sys.maxsize, query)


def _named(backlinks: Mapping[str, Backlink]) -> list[tuple[str, Backlink]]:
    """Return links with the names of their files, or with their paths where names are the same."""
    names = {path: PurePosixPath(path).stem or path for path in backlinks}
    occurring = Counter(names.values())
    return [(name if occurring[name] == 1 else path, backlinks[path]) for path, name in names.items()]


def _properties(page: Page) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the properties that have no place of their own, each as texts with their addresses."""
    known = {each.target: each.path for each in page.links.links if each.path is not None}
    hrefs = {target: document_url(page.collection, path) for target, path in known.items()}
    return [
        (str(key), list(_linked(_in_words(value)[:_MAX_PROPERTY_CHARS], hrefs)))
        for key, value in page.properties.items()
        if str(key).casefold() not in {"title", "tags", "tag", "aliases", "alias"}
        and value not in (None, "", [])
    ]


def _linked(text: str, hrefs: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the parts of a text and their targets: wikilinks, web addresses, and plain text."""
    position = 0
    for found in _LINK.finditer(text):
        yield text[position : found.start()], ""
        target = found["target"]
        if target is None:
            yield found[0], found[0]
        else:
            yield found["text"] or target, hrefs.get(target.strip(), "")
        position = found.end()
    yield text[position:], ""


def _in_words(value: object) -> str:
    match value:
        case list():
            return ", ".join(map(_in_words, value))
        case dict():
            return ", ".join(f"{key}: {_in_words(each)}" for key, each in value.items())
        case bool():
            return str(value).lower()
        case _:
            return str(value)


def _reveal(file: Path) -> None:
    """Open the folder of a file in the file manager, the file chosen where the system can do that."""
    command = _FILE_MANAGERS.get(sys.platform)
    arguments = [*command, str(file)] if command else ["xdg-open", str(file.parent)]
    try:
        process = subprocess.Popen(  # noqa: S603 - a program of the system, and a file that is indexed
            arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    except OSError as error:
        msg = f"no file manager could be opened: {error}"
        raise UsageError(msg, hint=f"The file is {file}.") from error
    # Some file managers stay; whenever it ends, its exit status has to be read.
    threading.Thread(target=process.wait, name="mdvec-file-manager", daemon=True).start()
