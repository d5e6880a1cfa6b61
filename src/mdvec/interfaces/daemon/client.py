"""The workspace of a running daemon, over its socket. It loads neither the engine nor a database driver."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import msgspec
from msgspec import Struct

from mdvec import __version__, run
from mdvec.errors import MdvecError
from mdvec.interfaces.daemon.calls import (
    Answer,
    CollectionsCall,
    Lines,
    LinksCall,
    NamesCall,
    ReadCall,
    SearchCall,
    StatusCall,
)

if TYPE_CHECKING:
    from mdvec.config.schema import Config, SearchSettings
    from mdvec.interfaces.daemon.place import DaemonInfo
    from mdvec.types.collection import Collection
    from mdvec.types.hit import SearchResult
    from mdvec.types.links import DocumentLinks
    from mdvec.types.query import SearchQuery
    from mdvec.types.report import Passage, TagCount, WorkspaceStatus

_Value = TypeVar("_Value")

_CONNECT_TIMEOUT_S = 2.0
# What changes no answer.
_OTHERS_MAY_DIFFER = ("access", "display", "mcp", "log", "watch")
_INTERNAL_ERRORS = range(-32768, -31999)


class DaemonLostError(Exception):
    """The daemon did not answer, or not so that it can be understood; nothing was changed by asking."""


class RemoteWorkspace:
    """A :class:`mdvec.interfaces.daemon.calls.Reader`; every call is one request, one after the other.

    A call imports only the classes of its own answer: making them all takes longer than a search.

    Raises:
        DaemonLostError: If nothing answers there.
    """

    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(_CONNECT_TIMEOUT_S)
        try:
            self._socket.connect(path)
        except OSError as error:
            self._socket.close()
            raise DaemonLostError from error
        self._socket.settimeout(None)
        self._lines = self._socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Closing cancels what is in work.
        self._lines.close()
        self._socket.close()

    def collections(self) -> list[Collection]:
        """Return the enabled collections, by name."""
        from mdvec.types.collection import Collection

        return self._ask("collections", CollectionsCall(), list[Collection])

    def search_settings(self, collections: Sequence[str] = ()) -> SearchSettings:
        """Return the defaults of a search."""
        from mdvec.config.schema import SearchSettings

        return self._ask("search_settings", NamesCall(tuple(collections)), SearchSettings)

    def search(self, query: SearchQuery) -> SearchResult:
        """Answer a query."""
        from mdvec.types.hit import SearchResult

        return self._ask("search", SearchCall(query), SearchResult)

    def read(
        self,
        path: str,
        *,
        collection: str | None = None,
        lines: Lines | None = None,
        section: str | None = None,
    ) -> Passage:
        """Return a document or a part of it."""
        from mdvec.types.report import Passage

        return self._ask("read", ReadCall(path, collection, lines, section), Passage)

    def links(self, path: str, *, collection: str | None = None) -> DocumentLinks:
        """Return the links of a document and those to it."""
        from mdvec.types.links import DocumentLinks

        return self._ask("links", LinksCall(path, collection), DocumentLinks)

    def tags(self, collections: Sequence[str] = ()) -> list[TagCount]:
        """Count the documents of each tag."""
        from mdvec.types.report import TagCount

        return self._ask("tags", NamesCall(tuple(collections)), list[TagCount])

    def status(self, name: str | None = None, *, files: bool = False, check: bool = False) -> WorkspaceStatus:
        """Return what is indexed, and whether it is true."""
        from mdvec.types.report import WorkspaceStatus

        return self._ask("status", StatusCall(name, files, check), WorkspaceStatus)

    def _ask(self, method: str, params: Struct, kind: type[_Value]) -> _Value:
        """Send a request and return its answer.

        Raises:
            DaemonLostError: If the daemon ends, or has a bug; asking here shows it.
            MdvecError: What the method raised there.
        """
        message = {"jsonrpc": "2.0", "id": 1, "method": f"workspace.{method}", "params": params}
        try:
            self._socket.sendall(msgspec.json.encode(message) + b"\n")
            response = msgspec.json.decode(self._lines.readline())
            if "error" in response:
                raise _error_of(response["error"])
            answer = msgspec.convert(response["result"], Answer)
            value = msgspec.convert(answer.value, kind)
        # A name that is no UTF-8 cannot be sent.
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DaemonLostError from error
        for warning in answer.warnings:
            run.current().warn(warning)
        return value


def settings_id(config: Config, docs_dir: Path | None) -> str:
    """Return what identifies the settings that answers depend on."""
    shown = {
        name: getattr(config, name) for name in config.__struct_fields__ if name not in _OTHERS_MAY_DIFFER
    }
    # It also decides which settings win over a collection's preset.
    shown["from_environment"] = sorted(
        each for each in config.from_environment if each.partition(".")[0] not in _OTHERS_MAY_DIFFER
    )
    shown["docs_dir"] = None if docs_dir is None else docs_dir.resolve()
    encoded = msgspec.json.encode(shown, enc_hook=str, order="sorted")
    return blake2b(encoded, digest_size=16).hexdigest()


def why_not(info: DaemonInfo, settings: str) -> str:
    """Return why a daemon is not used, for people; empty if it is."""
    if info.version != __version__:
        return f"the daemon runs mdvec {info.version}, and this is {__version__}"
    return "" if info.settings == settings else "the daemon was started with other settings"


def _error_of(error: dict[str, Any]) -> Exception:
    """Return the error that was raised in the daemon."""
    code = error["data"]["code"]
    kind = next((each for each in _kinds(MdvecError) if each.code == code), None)
    if kind is None and error["code"] in _INTERNAL_ERRORS and code != "os":
        return DaemonLostError(error["message"])
    return (kind or MdvecError)(error["message"], hint=error["data"]["hint"])


def _kinds(kind: type[MdvecError]) -> Iterator[type[MdvecError]]:
    yield kind
    for each in kind.__subclasses__():
        yield from _kinds(each)
