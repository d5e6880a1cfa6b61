"""A workspace for servers: restricted to some collections, or searched in several processes.

:class:`RestrictedWorkspace` is the one place where rights are enforced. Every use case reads through the
collections of its workspace, whose snapshots show what may be read, and writes through their store, which is
refused; so a door cannot show or change anything else.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NoReturn

from msgspec.structs import asdict, replace

from mdvec import run
from mdvec.config.schema import Config
from mdvec.errors import NotAllowedError, StoreError
from mdvec.machine import available_cores
from mdvec.processes import SpareProcesses
from mdvec.search.search import Search
from mdvec.stores.interface import Store, View
from mdvec.types.collection import Collection
from mdvec.types.hit import SearchResult
from mdvec.types.report import ImportMode, ImportOptions, ImportReport, WorkspaceStatus
from mdvec.types.store_report import PublishedVersion
from mdvec.workspace.collections import Collections
from mdvec.workspace.database import DatabasePlace
from mdvec.workspace.workspace import Workspace

# One process cannot talk with the clients of more.
_MAX_PROCESSES = 4

_OWNER_HINT = "Its owner can run 'mdvec doctor'."


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
        super().__init__(_UnnamedDatabasePlace(**asdict(whole.place)), Config(), whole.stages)
        self._whole = whole
        self._names = names

    @property
    def is_open(self) -> bool:
        """Whether the store is open."""
        return self._whole.is_open

    @property
    def published(self) -> PublishedVersion | None:
        """The version of the whole database."""
        with _unplaced_errors():
            return self._whole.published

    @property
    def warnings(self) -> tuple[str, ...]:
        """That answers may not be right, without a word on where the store is."""
        with _unplaced_errors():
            return ("answers may lack something",)[: len(self._whole.warnings)]

    @property
    def size_bytes(self) -> int:
        """Nothing: how much the other collections take is not shown."""
        return 0

    def damage(self) -> list[StoreError]:
        """Return that the store is damaged, without a word on what of it."""
        found = self._whole.damage()
        return [StoreError("a part of it cannot be read", hint=_OWNER_HINT)][: len(found)]

    @contextmanager
    def read(self) -> Iterator[View]:
        """Open a snapshot of what may be read."""
        with _unplaced_errors(), self._whole.store().read(self._names) as view:
            yield view

    def store(self) -> Store:
        """Refuse the store itself, which is for changes.

        Raises:
            NotAllowedError: Always.
        """
        _refuse()


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
        self._whole = whole
        search = replace(whole._config.search, sync_budget_ms=0)
        super().__init__(
            _RestrictedCollections(whole._collections, self.readable),
            replace(whole._config, search=search, warnings=()),
        )
        self.searchers = whole.searchers
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
        return replace(status, collections=tuple(shown), published=None)

    def add_collection(self, *_: Any, **__: Any) -> Collection:
        """Refuse, before anything on this machine is looked at.

        Raises:
            NotAllowedError: Always.
        """
        _refuse()

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
        _refuse()

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
            with _unplaced_errors():
                self._whole.wait_for_change(version, timeout_s=left_s)

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


def _refuse() -> NoReturn:
    """Refuse what would change something.

    Raises:
        NotAllowedError: Always.
    """
    raise NotAllowedError


@contextmanager
def _unplaced_errors() -> Iterator[None]:
    """Replace errors of a store, which name its file or its server, by ones of the same kind that do not.

    What they say is in the log of the server.

    Raises:
        StoreError: In place of the error.
    """
    try:
        yield
    except StoreError as error:
        run.log_failure(error)
        shown = type(error)(hint=_OWNER_HINT)
        shown.is_logged = True
        raise shown from error


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
    return partial(_open_answering, workspace.opened_elsewhere())


def _open_answering(opened: Callable[[], Workspace]) -> Callable[[Search], SearchResult]:
    whole = opened()
    whole.use_small_models_only()
    workspaces: dict[frozenset[str] | None, Workspace] = {None: whole}

    def answer(search: Search) -> SearchResult:
        readable = search.readable
        if readable is not None and readable not in workspaces:
            workspaces[readable] = RestrictedWorkspace(whole, readable)
        return workspaces[readable].answer(search)

    return answer
