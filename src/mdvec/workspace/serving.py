"""A workspace for servers: restricted to some collections, or searched in several processes.

:class:`RestrictedWorkspace` is the one place where rights are enforced. Every use case reads through the
collections and the store of its workspace, so that a door cannot show what these do not.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from msgspec.structs import asdict, replace

from mdvec import run
from mdvec.config.schema import Config
from mdvec.machine import available_cores
from mdvec.processes import SpareProcesses
from mdvec.search.search import Search
from mdvec.stores.interface import Store
from mdvec.stores.restricted import RestrictedStore, refuse, unplaced_errors
from mdvec.types.collection import Collection
from mdvec.types.hit import SearchResult
from mdvec.types.query import Filters
from mdvec.types.report import ImportMode, ImportOptions, ImportReport, ListedDocument, WorkspaceStatus
from mdvec.workspace.collections import Collections
from mdvec.workspace.database import DatabasePlace
from mdvec.workspace.pages import Browse
from mdvec.workspace.workspace import Workspace, workspace_at

# What one process can talk about with its clients meanwhile.
_MAX_PROCESSES = 4


class _UnnamedDatabasePlace(DatabasePlace, frozen=True):
    """A database whose path is not shown."""

    @property
    def shown(self) -> str:
        """No path."""
        return "the database of this server"

    def import_command(self, names: Sequence[str], mode: ImportMode) -> str:
        """Return the command with the collections alone."""
        return DatabasePlace(self.location).import_command(names, mode)

    def command(self, *words: str) -> str:
        """Return the command without the place."""
        return DatabasePlace(self.location).command(*words)


class _RestrictedCollections(Collections):
    """Some collections of a database, to be read."""

    def __init__(self, whole: Collections, names: frozenset[str]) -> None:
        super().__init__(whole.database, whole.stages)
        self.place: DatabasePlace = _UnnamedDatabasePlace(**asdict(whole.place))
        self._names = names
        self._shown: RestrictedStore | None = None

    def store(self) -> Store:
        """Return what may be seen of the store."""
        with unplaced_errors():
            store = super().store()
        if self._shown is None:
            self._shown = RestrictedStore(store, self._names)
        return self._shown


class _UnplacedBrowse(Browse):
    """Lists of documents without the places of their files."""

    def newest(
        self, filters: Filters, collections: Sequence[str] = (), *, limit: int = 100
    ) -> list[ListedDocument]:
        """List documents as in a whole workspace, but for the paths of their files."""
        return [replace(each, file=None) for each in super().newest(filters, collections, limit=limit)]


class RestrictedWorkspace(Workspace):
    """Read access to some collections of a workspace; all others seem not to exist.

    It uses the store and the models of the whole workspace, which has to stay open. A search does not look
    for changed files: that would write.

    Args:
        whole: The workspace.
        names: The collections that may be read.
    """

    may_write = False

    def __init__(self, whole: Workspace, names: Iterable[str]) -> None:
        self.readable = frozenset(names)
        search = replace(whole._config.search, sync_budget_ms=0)
        super().__init__(
            _RestrictedCollections(whole._collections, self.readable),
            replace(whole._config, search=search, warnings=()),
        )
        self.searchers = whole.searchers
        self.browse = _UnplacedBrowse(self._collections, self.browse._search)
        self._looking = threading.Lock()
        self._seen: tuple[int, WorkspaceStatus] | None = None
        self._generation = 0

    def close(self) -> None:
        """Do nothing: the whole workspace stays open."""

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Return what doors call inside of: an error of the system keeps its file for the log.

        Raises:
            OSError: In place of one that names a file.
        """
        try:
            with super().explaining():
                yield
        except OSError as error:
            run.log("failed", level="warning", error="os", reason=str(error))
            raise OSError(error.errno, error.strerror) from error

    def collections(self, *, include_disabled: bool = False) -> list[Collection]:
        """Return the collections that may be read, by name, without the places of their sources."""
        return [_unplaced(each) for each in super().collections(include_disabled=include_disabled)]

    def collection(self, name: str) -> Collection:
        """Return one of them.

        Raises:
            CollectionNotFoundError: If there is none of that name to read.
        """
        return _unplaced(super().collection(name))

    def status(self, name: str | None = None, *, files: bool = False, check: bool = False) -> WorkspaceStatus:
        """Return what is indexed of them, and whether it matches the sources.

        Raises:
            CollectionNotFoundError: If there is none of that name to read.
        """
        status = super().status(name, files=files, check=check)
        shown = [
            replace(
                each,
                collection=_unplaced(each.collection),
                check_error=each.check_error and "the source cannot be read",
                check_hint="",
            )
            for each in status.collections
        ]
        return replace(status, collections=tuple(shown))

    def answer(self, asked: Search) -> SearchResult:
        """Return an answer without the places of files.

        Raises:
            MdvecError: As in a whole workspace.
        """
        result = super().answer(asked)
        return replace(result, hits=tuple(replace(each, file=None) for each in result.hits))

    def add_collection(self, *_: Any, **__: Any) -> Collection:
        """Refuse, before anything on this machine is looked at.

        Raises:
            NotAllowedError: Always.
        """
        refuse()

    def import_collection(
        self,
        name: str,
        options: ImportOptions = ImportOptions(),  # noqa: ARG002, B008 - as in the whole workspace
    ) -> ImportReport:
        """Refuse: a restricted workspace only reads.

        Raises:
            CollectionNotFoundError: If there is none of that name to read.
            NotAllowedError: Otherwise.
        """
        self.collection(name)
        refuse()

    def generation(self) -> int:
        """Return a number that grows whenever anything changes in what may be read."""
        return self._look()[0]

    def wait_for_change(self, generation: int, *, timeout_s: float) -> int:
        """Return the generation as soon as it is not this one, or after that many seconds.

        Raises:
            ImportStoppedError: If the run is cancelled meanwhile.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            now, version = self._look()
            left_s = deadline - time.monotonic()
            if now != generation or left_s <= 0:
                return now
            self._collections.store().wait_for_change(version, timeout_s=left_s)

    def _look(self) -> tuple[int, int]:
        """Return the generation of what may be read, and the version of the whole store."""
        with self._looking:
            version = super().generation()
            if self._seen is None or self._seen[0] != version:
                status = self.status()
                # Changes of other collections change nothing here.
                self._generation += self._seen is None or self._seen[1] != status
                self._seen = version, status
            return self._generation, version


def _unplaced(collection: Collection) -> Collection:
    """Return a collection without the path or address of its source, which only its owner needs."""
    return replace(collection, source=replace(collection.source, location=""))


def use_processes(workspace: Workspace, most: int | None = None) -> None:
    """Answer searches at the same time in several processes, until a workspace is closed.

    Args:
        workspace: The workspace, and those that are made of it from now on to show a part of it.
        most: How many searches to answer at a time, each in its own process; 1 for only this process,
            None for the number of cores, but at most four.
    """
    most = min(available_cores(), _MAX_PROCESSES) if most is None else most
    if most > 1:
        workspace.searchers = SpareProcesses(most, answering_elsewhere(workspace))


def answering_elsewhere(workspace: Workspace) -> Callable[[], Callable[[Search], SearchResult]]:
    """Return what answers the searches of a workspace in another process; its database must exist."""
    return partial(_open_answering, replace(workspace._collections.place, makes=False), workspace._config)


def _open_answering(place: DatabasePlace, config: Config) -> Callable[[Search], SearchResult]:
    whole = workspace_at(place, config)
    whole.use_small_models_only()
    workspaces: dict[frozenset[str] | None, Workspace] = {None: whole}

    def answer(search: Search) -> SearchResult:
        readable = search.readable
        if readable is not None and readable not in workspaces:
            workspaces[readable] = RestrictedWorkspace(whole, readable)
        return workspaces[readable].answer(search)

    return answer
