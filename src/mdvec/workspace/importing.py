"""Imports: on command, by watching, before a search, and when a folder is first searched."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from mdvec import run
from mdvec.clock import now_ms
from mdvec.config.schema import Config
from mdvec.errors import (
    DatabaseFullError,
    EmbeddingError,
    ImportStoppedError,
    MdvecError,
    ReadOnlyDatabaseError,
    SourceError,
    WriterBusyError,
    sentences,
)
from mdvec.indexing.work import Work
from mdvec.sources.interface import Source, WatchedSource
from mdvec.types.collection import DOCS_COLLECTION, Collection
from mdvec.types.ids import CollectionId
from mdvec.types.query import SearchMode, SearchQuery
from mdvec.types.report import CollectionCounts, ImportMode, ImportOptions, ImportReport
from mdvec.workspace.collections import PUSH, Collections
from mdvec.workspace.models import chunking_of, model_warnings, pinned_model, resume_change

if TYPE_CHECKING:
    from mdvec.indexing.watch import Watcher

# Of the time between two looks at folders, a look at all of them takes this share at most.
_LOOKING_SHARE = 0.1

# A search waits this long at most for an index that is being made, here or by another process; many clients
# give up after a minute.
_BUDGET_S = 50.0
# Of that, for vectors at most: an answer without them is there at once.
_VECTORS_BUDGET_S = 10.0
# Chunks that a slow core embeds in a second: where a budget is enough for all, the first answer is complete.
_CHUNKS_PER_S = 20
_LOOK_EVERY_S = 0.1

Importing = Callable[[str, ImportOptions], ImportReport]
"""Brings a collection up to date; see :meth:`mdvec.workspace.Workspace.import_collection`."""


def import_into(name: str, options: ImportOptions, collections: Collections) -> ImportReport:
    """Bring a collection up to date; see :meth:`mdvec.workspace.Workspace.import_collection`.

    A change of model that is under way is resumed. Until it is complete the old model's vectors stay
    complete, too, if they were.
    """
    from mdvec.indexing.embed import update_vector_index
    from mdvec.indexing.imports import run_import

    store, stages = collections.store(), collections.stages
    collection = collections.named(name)
    with store.claim(collection, f"importing {name}", wait_s=options.wait_s) as claim:
        collection = collections.named(name)  # it may have changed while we waited
        chunking = chunking_of(collection, options)
        model, cutter = stages.model(collection), stages.cutting_model(collection)
        next_model = stages.next_model(collection)
        resuming = options.embed and next_model is not None and next_model.embedder is not None
        pinned = pinned_model(collection, model, embed=options.embed)
        was_pending = model.pending(collection, store)
        report = run_import(
            Work(replace(collection, chunking=chunking, embedding=pinned), store, claim),
            replace(options, embed=options.embed and not (resuming and was_pending)),
            source=stages.source(collection.source),
            recipe=stages.recipe(chunking, cutter),
            embedder=None if pinned is None else model.embedder,
            processes=stages.processes(chunking, cutter, options.processes),
        )
        if model.embedder is None:  # what it embedded before is not pending
            report = replace(report, pending_chunks=model.pending(collection, store))
        warnings = stages.size_warnings(chunking, cutter) if collection.source.kind != PUSH else ()
        if resuming and report.failure is None:
            collection = collections.named(name)
            try:
                report = resume_change(Work(collection, store, claim), report, stages)
            except EmbeddingError as error:
                report = replace(report, failure=error)
                if (left := stages.next_model(collection)) is not None:
                    report = replace(report, pending_chunks=left.pending(collection, store))
    started = time.perf_counter()
    warnings += update_vector_index(store)
    report = replace(report, elapsed_ms=report.elapsed_ms + (time.perf_counter() - started) * 1000)
    if report.failure is not None and not options.accept_pending:
        raise report.failure
    if options.embed:
        warnings += tuple(model_warnings(collections.named(name), collections))
    return replace(report, warnings=(*report.warnings, *warnings))


class Freshness:
    """The means that keep an index fresh: a watcher, and checks before a search. Safe for several threads.

    Args:
        collections: The collections.
        config: The settings.
        importing: Brings one up to date.
    """

    def __init__(self, collections: Collections, config: Config, importing: Importing) -> None:
        self._collections = collections
        self._stages = collections.stages
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
        from mdvec.indexing.watch import Watcher, WatchTimes

        self._collections.chosen(names)
        options = ImportOptions(accept_pending=True, wait_s=0)
        watcher = Watcher(
            self._collections.store,
            lambda: list(self._sources(names)),
            lambda name: self._import(name, options),
            WatchTimes(settings.interval_s, settings.repository_interval_s, concurrency=settings.concurrency),
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
                yield each, self._stages.source(each.source)

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
            with self._collections.read() as view:
                chosen = self._collections.chosen(names, view)
                if any(not each.collection for each in view.collections.activities()):
                    return (), {}
            deadline = time.monotonic() + budget_ms / 1000
            due = (each for each in chosen if time.monotonic() >= self._look_again_at.get(each.id, 0.0))
            share = _LOOKING_SHARE / max(1, len(chosen))
            left = [self._look(each, deadline, share) for each in due if each.last_indexed_ms is not None]
            return tuple(filter(None, left)), dict(self._looked_ms)
        finally:
            self._guard.release()

    def _look(self, collection: Collection, deadline: float, share: float) -> str:
        """Bring the words of a collection up to date until a deadline; return what remains to be done.

        Until the next look, it takes this share of the time.
        """
        started = time.monotonic()
        source = self._stages.source(collection.source)
        if not isinstance(source, WatchedSource):
            return ""
        name, left = collection.name, 0

        def note(stage: run.Stage, done: int, total: int, *_: str) -> None:
            nonlocal left
            left = total - done if stage is run.Stage.TEXT else left

        limited = run.Run(note, run.current().on_step, deadline=deadline)
        looked_ms = now_ms()
        try:
            with run.bound(limited):
                if self._differs(collection, source):
                    self._import(name, ImportOptions(embed=False, wait_s=0))
            self._looked_ms[collection.id] = looked_ms
            self._collections.unreadable.pop(name, None)
        except ImportStoppedError:
            command = self._collections.place.import_command([name], ImportMode.UPDATE)
            if left:
                return f"changed documents of {name} that are not read yet: {left:,}; '{command}' reads them"
            budget = f"{self._config.search.sync_budget_ms} ms ([search] sync_budget_ms)"
            return f"{name} may have changed: looking took longer than {budget}"
        except ReadOnlyDatabaseError:
            return ""
        except WriterBusyError as error:
            return f"{name} has changed, and is not up to date yet: {error}"
        except SourceError as error:
            self._collections.unreadable[name] = no_longer_updated(name, error)
            return ""
        except MdvecError as error:
            return f"mdvec cannot tell whether {name} has changed: {error}"
        finally:
            ended = time.monotonic()
            self._look_again_at[collection.id] = ended + (ended - started) / share
        return ""

    def _differs(self, collection: Collection, source: Source) -> bool:
        from mdvec.indexing.plan import contexts_of_files, find_changes

        recipe = self._stages.recipe(collection.chunking, self._stages.cutting_model(collection))
        read = self._collections.read
        # The sample would be the same each time, since nothing is written about a look.
        changes = find_changes(collection, read=read, source=source, recipe=recipe, by_listing=True)
        plan = changes.plan
        differing = plan.new or plan.changed or plan.moved or plan.deleted or plan.touched
        return bool(differing) or changes.folder_contexts != contexts_of_files(collection)


def no_longer_updated(name: str, error: SourceError) -> str:
    """Return why a collection is as it was, and what to do about it."""
    return f"{name} is no longer updated: {sentences(error, error.hint)}"


class BackgroundImport:
    """An import in its own thread, so that searches can answer from what is already indexed.

    Attributes:
        latest: The current step, the units done of it, their number (0 when unknown), and more for people;
            None before the first step.
        running: Whether it is at work.
        error: What ended it early; None while it runs, and when it ended well or was cancelled.
        started_at: When it began last, on the clock of ``time.monotonic``.
    """

    def __init__(self, work: Callable[[], ImportReport]) -> None:
        self._work = work
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._run = run.Run()
        self.running = self._again = False
        self.latest: tuple[run.Stage, int, int, str] | None = None
        self._warnings: tuple[str, ...] = ()
        self.error: Exception | None = None
        self.started_at = 0.0

    @property
    def tried(self) -> bool:
        """True if it was ever started."""
        return self._thread is not None

    @property
    def cancelled(self) -> bool:
        """True if :meth:`cancel` was called; the status page asks."""
        return self._run.cancelled

    def start(self) -> None:
        """Start it; if it is already running, it runs once more afterwards, for what is new since."""
        with self._guard:
            self._again = True
            if self.running:
                return
            self.running = True
            self.error = self.latest = None
            self.started_at = time.monotonic()
            self._run = run.Run(self._note, run.current().on_step)
            self._thread = run.start_thread(self._import, "mdvec-index")

    def wait(self, is_enough: Callable[[], bool], *, until: float) -> None:
        """Wait until enough is done, the import has ended, or time is up; report how far it is meanwhile.

        Args:
            is_enough: Returns True when there is nothing more to wait for.
            until: When time is up, on the clock of ``time.monotonic``.

        Raises:
            ImportStoppedError: If the run of the caller is cancelled, which ends the waiting alone.
        """
        while not is_enough() and self.running and time.monotonic() < until:
            if self.latest is not None:
                run.current().report(*self.latest)
            run.current().check()
            self.join(_LOOK_EVERY_S)

    def take_warnings(self) -> tuple[str, ...]:
        """Return the warnings of imports that have ended, each once."""
        warnings, self._warnings = self._warnings, ()
        return tuple(dict.fromkeys(warnings))

    def cancel(self) -> None:
        """Ask it to stop."""
        self._run.cancel()

    def join(self, most_s: float) -> None:
        """Wait for the thread to end, for so many seconds at most."""
        if self._thread is not None:
            self._thread.join(most_s)

    def _import(self) -> None:
        while True:
            with self._guard:
                if not self._again or self._run.cancelled:
                    self.running = False
                    return
                self._again = False
            try:
                with run.bound(self._run):
                    self._warnings += self._work().warnings
            except ImportStoppedError:
                pass
            except Exception as error:  # noqa: BLE001 - reported to the search that waits, or the next one
                self.error = error
                self._warnings += (f"indexing has ended early: {error}",)

    def _note(self, stage: run.Stage, done: int, total: int, detail: str = "", /) -> None:
        self.latest = stage, done, total, detail


class FirstIndex:
    """The index of an unregistered folder, made when the folder is first searched.

    Args:
        collections: The folder's.
        work: Imports it; is given how long to wait for another process, in seconds.
    """

    def __init__(self, collections: Collections, work: Callable[[ImportOptions], ImportReport]) -> None:
        self._collections = collections
        self._stages = collections.stages
        self._import = work
        self._background = BackgroundImport(lambda: work(ImportOptions(wait_s=float("inf"))))

    def prepare(
        self, query: SearchQuery, *, wait_for_vectors: bool | None
    ) -> tuple[SearchQuery, tuple[str, ...]]:
        """Import the folder, unless that is done, so that a query can be answered.

        Args:
            query: The query.
            wait_for_vectors: Whether to wait for all of it, or for the text alone while the rest goes on in a
                thread. None makes the vectors here: of a small folder all, of a large one none at first, and
                then some before each search.

        Returns:
            The query as it can be answered now, and warnings.

        Raises:
            MdvecError: If the folder cannot be indexed.
        """
        written = [each.name for each in self._collections.chosen(()) if each.source.kind == PUSH]
        if written:  # a program writes the sections of these documents: nobody waits for the folder's own
            is_theirs = not query.collections and not self._count().chunks
            return (replace(query, collections=tuple(written)) if is_theirs else query), ()
        is_new = not self._has_text()
        if wait_for_vectors is False:
            return self._make_behind(query, is_new=is_new)
        warnings: tuple[str, ...] = ()
        if is_new:
            try:
                options = ImportOptions(embed=bool(wait_for_vectors), wait_s=_BUDGET_S)
                warnings = self._import(options).warnings
            except WriterBusyError as error:  # what is written already can be searched
                warnings = (f"the folder is still being indexed: {error}",)
            except SourceError as error:
                warnings = self._refused(error)
        return (query, warnings) if wait_for_vectors else self._make_some(query, warnings, is_new=is_new)

    @property
    def running(self) -> bool:
        """True if a thread is at work on it."""
        return self._background.running

    def close(self, most_s: float) -> None:
        """Stop the thread, and wait for it for so many seconds at most."""
        self._background.cancel()
        self._background.join(most_s)

    def _make_some(
        self, query: SearchQuery, warnings: tuple[str, ...], *, is_new: bool
    ) -> tuple[SearchQuery, tuple[str, ...]]:
        """Make vectors: all of a few, or as many as a while allows, but none of many that are new."""
        pending = self._count().pending_chunks
        if not pending or (not is_new and self._stages.model(self._docs()).problem is not None):
            return query, warnings
        is_small = pending <= _BUDGET_S * _CHUNKS_PER_S
        if is_small or not is_new:
            return query, (*warnings, *self._embed(None if is_small else _VECTORS_BUDGET_S))
        everything = self._collections.place.import_command([DOCS_COLLECTION], ImportMode.UPDATE)
        return _by_words(
            query,
            warnings,
            f"{pending:,} chunks have no vector yet; run the same "
            f"command again to make vectors for {_VECTORS_BUDGET_S:.0f} seconds, or '{everything}' for all",
        )

    def _embed(self, budget_s: float | None) -> tuple[str, ...]:
        """Make vectors for so many seconds at most; another process may be at it already."""
        deadline = None if budget_s is None else time.monotonic() + budget_s
        try:
            with run.bound(run.current().until(deadline)):
                report = self._import(ImportOptions(accept_pending=True, wait_s=0))
        except WriterBusyError:
            return ()
        except (DatabaseFullError, ReadOnlyDatabaseError) as error:
            return (f"vectors cannot be stored: {error}",)
        except ImportStoppedError:
            run.current().check()
            return ()
        return (*report.warnings, *([] if report.failure is None else [str(report.failure)]))

    def _make_behind(self, query: SearchQuery, *, is_new: bool) -> tuple[SearchQuery, tuple[str, ...]]:
        """Wait for the text, and for the vectors of a small folder; the rest goes on in the thread."""
        warnings: tuple[str, ...] = ()
        background, ends_s = self._background, time.monotonic() + _BUDGET_S
        if is_new:
            background.start()
            background.wait(self._has_text, until=background.started_at + _BUDGET_S)
            if self._docs().last_indexed_ms is None:
                warnings = ("the folder is still being indexed: documents that are not read yet are missing",)
                if background.error is not None:
                    warnings = self._refused(background.error)
        counts = self._count()
        if counts.pending_chunks and not background.tried:
            background.start()  # an earlier process ended before all vectors were made
        is_small = 0 < counts.pending_chunks <= _VECTORS_BUDGET_S * _CHUNKS_PER_S
        if query.mode is not SearchMode.LEXICAL and is_small:
            background.wait(lambda: False, until=min(ends_s, time.monotonic() + _VECTORS_BUDGET_S))
            counts = self._count()
        if counts.pending_chunks == counts.chunks > 0 and background.running:
            # The answer does not even wait for a model that could be of no use to it.
            query, warnings = _by_words(query, warnings, "the vectors are still being made")
        return query, (*warnings, *background.take_warnings())

    def _refused(self, error: Exception) -> tuple[str, ...]:
        """Return a warning that the folder is searched as it was indexed before.

        Raises:
            MdvecError: The same error, if nothing is indexed or the source did not refuse the import.
        """
        if not isinstance(error, SourceError) or not self._count().chunks:
            raise error
        return (no_longer_updated(DOCS_COLLECTION, error),)

    def _docs(self) -> Collection:
        return self._collections.named(DOCS_COLLECTION)

    def _count(self) -> CollectionCounts:
        docs = self._docs()
        with self._collections.read() as view:
            return self._stages.model(docs).counts(docs, view)

    def _has_text(self) -> bool:
        """Return True if the folder was imported, and was not empty then."""
        return self._docs().last_indexed_ms is not None and self._count().chunks > 0


def _by_words(
    query: SearchQuery, warnings: tuple[str, ...], reason: str
) -> tuple[SearchQuery, tuple[str, ...]]:
    """Return a query that needs no vectors for now, with a warning if that makes a difference."""
    if query.mode is not SearchMode.HYBRID:
        return query, warnings
    return replace(query, mode=SearchMode.LEXICAL), (*warnings, f"searched by words only: {reason}")
