"""The calls of a workspace that only read: their shape on the wire, for a daemon and its clients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from mdvec import run
from mdvec.types.query import SearchQuery

if TYPE_CHECKING:
    from mdvec.config.schema import SearchSettings
    from mdvec.types.collection import Collection
    from mdvec.types.hit import SearchResult
    from mdvec.types.links import DocumentLinks
    from mdvec.types.report import Passage, TagCount, WorkspaceStatus
    from mdvec.workspace import Workspace

Lines = tuple[int | None, int | None]


class Reader(Protocol):
    """What a :class:`mdvec.workspace.Workspace` can be asked, here or in a daemon."""

    def collections(self) -> list[Collection]:
        """Return the enabled collections, by name."""
        ...

    def search_settings(self, collections: Sequence[str] = ()) -> SearchSettings:
        """Return the defaults of a search."""
        ...

    def search(self, query: SearchQuery) -> SearchResult:
        """Answer a query."""
        ...

    def read(
        self,
        path: str,
        *,
        collection: str | None = None,
        lines: Lines | None = None,
        section: str | None = None,
    ) -> Passage:
        """Return a document or a part of it."""
        ...

    def links(self, path: str, *, collection: str | None = None) -> DocumentLinks:
        """Return the links of a document and those to it."""
        ...

    def tags(self, collections: Sequence[str] = ()) -> list[TagCount]:
        """Count the documents of each tag."""
        ...

    def status(self, name: str | None = None, *, files: bool = False, check: bool = False) -> WorkspaceStatus:
        """Return what is indexed, and whether it is true."""
        ...


class CollectionsCall(Struct, frozen=True):
    """:meth:`Reader.collections`."""


class NamesCall(Struct, frozen=True):
    """:meth:`Reader.search_settings` and :meth:`Reader.tags`."""

    collections: tuple[str, ...]


class SearchCall(Struct, frozen=True):
    """:meth:`Reader.search`."""

    query: SearchQuery


class ReadCall(Struct, frozen=True):
    """:meth:`Reader.read`."""

    path: str
    collection: str | None
    lines: Lines | None
    section: str | None


class LinksCall(Struct, frozen=True):
    """:meth:`Reader.links`."""

    path: str
    collection: str | None


class StatusCall(Struct, frozen=True):
    """:meth:`Reader.status`."""

    name: str | None
    files: bool
    check: bool


class Answer(Struct, frozen=True):
    """The answer to a call.

    Attributes:
        value: What the method returned.
        warnings: What it warned of that belongs to no result.
    """

    value: Any
    warnings: list[str]


def calls(workspace: Workspace) -> dict[str, tuple[type[Struct], Callable[[Any], Answer]]]:
    """Return the calls, by the name of their method: their parameters, and what answers them."""

    def answering(call: Callable[[Any], object]) -> Callable[[Any], Answer]:
        def answer(params: Any) -> Answer:
            warnings: list[str] = []
            with run.bound(run.Run(on_warning=warnings.append)):
                return Answer(call(params), warnings)

        return answer

    methods: dict[str, tuple[type[Struct], Callable[[Any], object]]] = {
        "collections": (CollectionsCall, lambda _: workspace.collections()),
        "search_settings": (NamesCall, lambda params: workspace.search_settings(params.collections)),
        "search": (SearchCall, lambda params: workspace.search(params.query)),
        "read": (
            ReadCall,
            lambda params: workspace.read(
                params.path, collection=params.collection, lines=params.lines, section=params.section
            ),
        ),
        "links": (LinksCall, lambda params: workspace.links(params.path, collection=params.collection)),
        "tags": (NamesCall, lambda params: workspace.tags(params.collections)),
        "status": (
            StatusCall,
            lambda params: workspace.status(params.name, files=params.files, check=params.check),
        ),
    }
    return {f"workspace.{name}": (kind, answering(call)) for name, (kind, call) in methods.items()}
