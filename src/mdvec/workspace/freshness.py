"""Keeps the index up to date: by watching, or by a look before a search where nothing watches."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from mdvec import run
from mdvec.clock import now_ms
from mdvec.config.schema import Config
from mdvec.errors import ImportStoppedError, MdvecError, ReadOnlyDatabaseError, WriterBusyError
from mdvec.sources.interface import Source, WatchedSource
from mdvec.types.collection import Collection
from mdvec.types.ids import CollectionId
from mdvec.types.report import ImportMode, ImportOptions, ImportReport
from mdvec.workspace.collections import Collections
from mdvec.workspace.wiring.parts import Parts

if TYPE_CHECKING:
    from mdvec.indexing.watch import Watcher

# Of the time between two looks at a folder, a look takes this share at most.
_LOOKING_SHARE = 0.1

Importing = Callable[[str, ImportOptions], ImportReport]
"""Brings a collection up to date; see :meth:`mdvec.workspace.Workspace.import_collection`."""


class Freshness:
    """The means that keep an index fresh: a watcher, and checks before a search. Safe for several threads."""

    def __init__(self, collections: Collections, parts: Parts, config: Config, importing: Importing) -> None:
        self._collections = collections
        self._parts = parts
        self._config = config
        self._import = importing
        self._guard = threading.Lock()
        self._looked_ms: dict[CollectionId, int] = {}
        self._look_again_at: dict[CollectionId, float] = {}
        self._watchers: list[Watcher] = []

    # --- watching ------------------------------------------------------------------------------

    def watch(self, names: Sequence[str] = (), *, force: bool = False) -> None:
        """Keep collections up to date in threads of this process, until the workspace is closed.

        One process per database does it. The others stand by, and one of them takes over when it ends; with
        a store of several machines they divide the collections.

        Args:
            names: The collections; all enabled ones when empty.
            force: Whether to do it even if ``[watch] enabled`` is false.

        Raises:
            CollectionNotFoundError: If one of them does not exist.
        """
        settings = self._config.watch
        if not (force or settings.enabled):
            return
        from mdvec.indexing.watch import Watcher
        from mdvec.indexing.watch_targets import WatchTimes

        self._collections.chosen(names)
        times = WatchTimes(
            settings.interval_s, settings.repository_interval_s, concurrency=settings.concurrency
        )
        options = ImportOptions(accept_pending=True, wait_s=0)
        watcher = Watcher(
            self._collections.store,
            lambda: list(self._sources(names)),
            lambda name: self._import(name, options),
            times,
        )
        watcher.start()
        self._watchers.append(watcher)

    def close(self, most_s: float) -> None:
        """Stop watching, and wait at most that many seconds for running updates to end."""
        while self._watchers:
            self._watchers.pop().close(most_s)

    def _sources(self, names: Sequence[str]) -> Iterator[tuple[Collection, Source]]:
        """Yield what is watched: not what was never imported, since a first import may cost money."""
        for each in self._collections.chosen(()):
            if each.last_indexed_ms is not None and (not names or each.name in names):
                yield each, self._parts.source(each.source)

    # --- before a search -----------------------------------------------------------------------

    def bring_up(self, names: Sequence[str]) -> tuple[tuple[str, ...], Mapping[CollectionId, int]]:
        """Check the folders of collections for changes, and read changed files as far as the time allows.

        Nothing is done where a process watches, or another thread is looking.

        Returns:
            What is left, for people; and when collections were found to be as their folders, in milliseconds
            since 1970.
        """
        budget_ms = self._config.search.sync_budget_ms
        if not budget_ms or self._watchers or not self._guard.acquire(blocking=False):
            return (), {}
        try:
            with self._collections.store().read() as view:
                chosen = self._collections.chosen(names, view)
                if any(not each.collection for each in view.activities()):
                    return (), {}
            deadline = time.monotonic() + budget_ms / 1000
            left = [self._look(each, deadline) for each in chosen if each.last_indexed_ms is not None]
            return tuple(filter(None, left)), dict(self._looked_ms)
        finally:
            self._guard.release()

    def _look(self, collection: Collection, deadline: float) -> str:
        """Bring the words of a collection up to date until a deadline; return what remains to be done."""
        started = time.monotonic()
        source = self._parts.source(collection.source)
        if not isinstance(source, WatchedSource) or started < self._look_again_at.get(collection.id, 0.0):
            return ""
        name, progress = collection.name, _Progress()
        limited = run.Run(progress, run.current().on_step, deadline=deadline)
        looked_ms = now_ms()
        try:
            with run.bound(limited):
                if self._differs(collection, source):
                    options = ImportOptions(embed=False, wait_s=0)
                    self._import(name, options)
            self._looked_ms[collection.id] = looked_ms
        except ImportStoppedError:
            command = self._collections.place.import_command([name], ImportMode.UPDATE)
            if left := progress.total - progress.done:
                return f"changed documents of {name} that are not read yet: {left:,}; '{command}' reads them"
            budget_ms = self._config.search.sync_budget_ms
            return (
                f"{name} may have changed: looking took longer than {budget_ms} ms ([search] sync_budget_ms)"
            )
        except ReadOnlyDatabaseError:
            return ""
        except WriterBusyError as error:
            return f"{name} has changed, and is not up to date yet: {error}"
        except MdvecError as error:
            return f"mdvec cannot tell whether {name} has changed: {error}"
        finally:
            ended = time.monotonic()
            self._look_again_at[collection.id] = ended + (ended - started) / _LOOKING_SHARE
        return ""

    def _differs(self, collection: Collection, source: Source) -> bool:
        from mdvec.indexing.changes import find_changes
        from mdvec.indexing.folder_contexts import contexts_of_files

        recipe = self._parts.recipe(collection.chunking, self._parts.cutting_model(collection))
        changes = find_changes(collection, store=self._collections.store(), source=source, recipe=recipe)
        plan = changes.plan
        if changes.folder_contexts != contexts_of_files(collection):
            return True
        return bool(plan.new or plan.changed or plan.moved or plan.deleted or plan.touched)


class _Progress:
    """The number of documents read so far, and of how many; a :class:`mdvec.run.ProgressListener`."""

    def __init__(self) -> None:
        self.done = self.total = 0

    def __call__(self, stage: run.Stage, done: int, total: int, detail: str = "", /) -> None:  # noqa: ARG002
        if stage is run.Stage.TEXT:
            self.done, self.total = done, total
