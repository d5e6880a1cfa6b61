"""The search page: the form, the results and the filters next to them."""

from __future__ import annotations

import glob
from datetime import datetime
from typing import Any, Self

from msgspec import Struct
from msgspec.structs import asdict, replace
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from mdvec.config.schema import SearchSettings
from mdvec.errors import CollectionNotFoundError, UsageError
from mdvec.interfaces import operations
from mdvec.interfaces.errors import translate_logged
from mdvec.interfaces.excerpt import excerpt_of
from mdvec.interfaces.present import about_line, score_text, trail
from mdvec.interfaces.requests import SearchRequest, search_query
from mdvec.interfaces.times import parse_period
from mdvec.interfaces.web.frame import Site, document_url
from mdvec.text.matches import match_spans
from mdvec.types.hit import SearchHit, SearchResult
from mdvec.types.page import PASSAGE_ANCHOR
from mdvec.types.query import Filters, SearchMode, TagMatch
from mdvec.workspace import Facets, Workspace

PAGE_HITS = 10
"""Results that are shown at first, and that each further step adds."""

MAX_HITS = 100
"""Results that are shown at most."""

PERIODS = ("1d", "7d", "30d", "365d")
"""The ages by which documents are narrowed."""

_SHOWN_WORDS = 12
# The length of an excerpt, in columns; a wide character takes two. The browser breaks lines where it likes.
_LINE_COLUMNS = 260
_LINES = 2
_SIMILAR = 6
_MAX_DIGITS = 10


class Form(Struct, frozen=True):
    """The search form: the parameters in the address of the page.

    Attributes:
        q: The query.
        n: Names of collections; empty for all enabled ones.
        tag: Tags; a document needs all of them.
        folder: Only documents below it; empty for all.
        since: One of :data:`PERIODS`, or empty.
        old: Whether to find older versions, too.
        one: Whether to find one passage of each document, not more.
        weak: Whether to show passages with a small score, too.
        newest: Whether the last updated come first.
        shown: How many results.
    """

    q: str = ""
    n: tuple[str, ...] = ()
    tag: tuple[str, ...] = ()
    folder: str = ""
    since: str = ""
    old: bool = False
    one: bool = False
    weak: bool = False
    newest: bool = False
    shown: int = PAGE_HITS

    @classmethod
    def of(cls, query: QueryParams) -> Self:
        """Return the form of an address."""
        return cls(
            q=query.get("q", "").strip(),
            n=tuple(dict.fromkeys(filter(None, query.getlist("n")))),
            tag=tuple(dict.fromkeys(filter(None, query.getlist("tag")))),
            folder=query.get("folder", "").strip("/"),
            since=query.get("since", "").strip(),
            old=bool(query.get("old")),
            one=bool(query.get("one")),
            weak=bool(query.get("weak")),
            newest=bool(query.get("newest")),
            shown=max(number_of(query.get("shown", ""), most=MAX_HITS), PAGE_HITS),
        )

    def parameters(self, **changes: Any) -> dict[str, Any]:
        """Return the parameters of an address with some of them changed; empty ones are left out."""
        fields = {**asdict(self), "shown": 0, **changes}
        return {key: "1" if value is True else value for key, value in fields.items() if value}

    @property
    def filtered(self) -> bool:
        """Whether any filter is set."""
        return bool(self.parameters(q=""))

    def filters(self) -> Filters:
        """Return the filters, to count the documents that they leave."""
        return search_query(self.request(None), SearchSettings()).filters

    def request(self, mode: SearchMode | None) -> SearchRequest:
        """Return the request of the form."""
        return SearchRequest(
            query=self.q,
            collections=self.n,
            tags=self.tag,
            tag_match=TagMatch.ALL,
            path=f"{glob.escape(self.folder)}/" if self.folder else None,
            updated_since=self.since or None,
            include_superseded=self.old,
            limit=self.shown,
            per_document=1 if self.one else None,
            min_score=0 if self.weak else None,
            mode=mode,
            rerank=mode is None,
        )


async def show(site: Site, request: Request) -> Response:
    """Return the whole page; its results, too, so that it works without scripts."""
    form = Form.of(request.query_params)
    if not await site.call(lambda workspace: workspace.collections(include_disabled=True)):
        return site.page(request, "welcome.html", failure=None, form={}, vaults=await site.vaults())
    found = await _results(site, request, form)
    facets = await _facets(site, form)
    mode = await site.call(_typing_mode)
    return site.page(
        request, "search.html", form=form, facets=facets, typing_mode=mode.value, offset=0, **found
    )


async def results(site: Site, request: Request) -> Response:
    """Return the results alone; from ``offset`` on when one is given."""
    form = Form.of(request.query_params)
    offset = number_of(request.query_params.get("offset", ""), most=MAX_HITS)
    found = await _results(site, request, form, offset)
    return site.page(request, "_results.html", form=form, offset=offset, **found)


async def filters(site: Site, request: Request) -> Response:
    """Return the filters alone."""
    form = Form.of(request.query_params)
    return site.page(request, "_filters.html", form=form, facets=await _facets(site, form))


async def similar(site: Site, request: Request) -> Response:
    """Return the documents that are similar to one."""
    collection, path = request.path_params["collection"], request.path_params["path"]
    found = await site.call(
        lambda workspace: workspace.browse.related(path, collection=collection, limit=_SIMILAR)
    )
    return site.page(request, "_similar.html", hits=found.hits)


async def _facets(site: Site, form: Form) -> Facets:
    """Return the counts next to the filters; a wrong filter counts as none."""
    # To the hour, so that the counts of one visit can be cached.
    now = datetime.now().replace(minute=0, second=0, microsecond=0)  # noqa: DTZ005 - local time
    periods = {name: parse_period(name, now=now)[0] for name in PERIODS}
    count = site.workspace.browse.facets
    try:
        return await site.call(lambda _: count(form.filters(), form.n, folder=form.folder, periods=periods))
    except (CollectionNotFoundError, UsageError):
        possible = replace(form, n=(), since="")
        return await site.call(lambda _: count(possible.filters(), periods=periods))


async def _results(site: Site, request: Request, form: Form, offset: int = 0) -> dict[str, Any]:
    """Return the values for the templates; a wrong request is shown in place of an answer.

    By date, what follows the hits on a page is in an order of its own: those that are shown stay as they are.
    """
    mode = SearchMode.LEXICAL if request.query_params.get("mode") == SearchMode.LEXICAL.value else None
    if not form.q:
        return {"result": None, "hits": (), "failure": None}
    try:
        result = await site.call(lambda workspace: operations.search(workspace, form.request(mode)))
    except (CollectionNotFoundError, UsageError) as error:
        return {"result": None, "hits": (), "failure": translate_logged(error)}
    following = sorted(result.hits[offset:], key=lambda hit: -(hit.updated_ms or 0) if form.newest else 0)
    hits = [_shown(hit, form, result) for hit in (*result.hits[:offset], *following)]
    return {"result": result, "hits": hits, "failure": None}


def _typing_mode(workspace: Workspace) -> SearchMode:
    """Return the mode of searches while someone types: none that asks a service at each pause."""
    models = workspace.models
    is_quick = not models.reranker and all(each.offline for each in models.known() if each.collections)
    return SearchMode.HYBRID if is_quick else SearchMode.LEXICAL


def _shown(hit: SearchHit, form: Form, result: SearchResult) -> dict[str, Any]:
    query = result.searched or form.q
    found = (hit.text[start:end] for start, end in match_spans(query, hit.text))
    # The address of a note leads back to this search.
    parameters = form.parameters(q=query, lines=f"{hit.start_line}-{hit.end_line}")
    return {
        "hit": hit,
        "about": about_line(hit),
        "score": score_text(hit),
        "href": f"{document_url(hit.collection, hit.path, **parameters)}#{PASSAGE_ANCHOR}",
        "trail": trail(hit).split(" › ")[1:],
        "lines": excerpt_of(query, hit, width=_LINE_COLUMNS, lines=_LINES),
        "words": list(dict.fromkeys(word.casefold() for word in found))[:_SHOWN_WORDS],
        # Older versions are not embedded.
        "pending": result.mode is not SearchMode.LEXICAL and hit.similarity is None and not hit.superseded_by,
    }


def number_of(text: str, *, most: int) -> int:
    """Return a number of an address, at most ``most``; 0 for anything else."""
    return min(int(text), most) if text.isdecimal() and len(text) < _MAX_DIGITS else 0
