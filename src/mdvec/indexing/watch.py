"""Keeps collections up to date: decides when each is looked at, from file events, intervals and failures.

An event only says where something changed: it marks documents there as dirty, and has the whole collection
compared with its source as every import does. A sweep does the same now and then without an event, so what
no event reported is found, too.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct, field

from mdvec import run
from mdvec.errors import ImportStoppedError, MdvecError, StoreError, WatchError, WriterBusyError
from mdvec.indexing.plan import marked_dirty
from mdvec.sources.events import watch, why_no_events
from mdvec.sources.interface import Source, WatchedSource
from mdvec.stores.claims import Claim
from mdvec.stores.interface import Store
from mdvec.types.collection import Collection
from mdvec.types.report import ImportReport

PURPOSE = "keeping the index up to date"
"""The purpose of the lease, as others see it."""

_STAND_BY_S = 3.0  # how soon another process takes over
_RENEW_S = 20.0  # how soon it is noticed that the lease was lost
_COLLECTIONS_S = 5.0  # how soon new and changed collections are noticed
_SWEEP_S = 300.0  # how soon what no event reported is found
_MAX_REST_S = 30.0
_MAX_RETRY_S = 60.0
_POLLING_SHARE = 0.02  # of the time of one core, however large a folder is


class WatchTimes(Struct, frozen=True):
    """The intervals at which collections are checked.

    Attributes:
        poll_s: At a folder in which changes raise no events, and again after a failure, in seconds.
        repository_s: At a source elsewhere.
        concurrency: Most collections that are brought up to date at the same time.
    """

    poll_s: float = 5.0
    repository_s: float = 300.0
    concurrency: int = 3


class Target(Struct):
    """A collection that is watched.

    Attributes:
        collection: As it is registered.
        source: What it is made from.
        times: How often it is looked at.
        due_at: When it is looked at next, on the clock of ``time.monotonic``.
        changed: Whether an event came since it was last looked at.
        restructured: Whether folders may have come or gone since then.
        folders: What to watch, and what identifies it; empty where events do not work.
        no_events: Why they do not; empty while they do.
        dirty: The documents that were dirty at the last look.
        problem: What was wrong the last time; empty when nothing was.
        failures: How often in a row.
        at_work: The run that looks at it now.
        embedding_at: When that one began to embed; 0 before.
    """

    collection: Collection
    source: Source
    times: WatchTimes
    due_at: float = 0.0
    changed: bool = False
    restructured: bool = True
    folders: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    no_events: str = ""
    dirty: set[str] = field(default_factory=set)
    problem: str = ""
    failures: int = 0
    at_work: run.Run | None = None
    embedding_at: float = 0.0

    def begin(self) -> run.Run:
        """Return the run of a new look; newer changes stop its embedding, since words come first."""
        self.restructured |= not self.changed  # a sweep also checks what is watched
        self.changed = False
        self.embedding_at = 0.0
        self.at_work = run.Run(self._note_progress, run.current().on_step)
        return self.at_work

    def cancel(self) -> None:
        """Stop the look that is under way."""
        if self.at_work is not None:
            self.at_work.cancel()

    def find_folders(self) -> None:
        """Find out what is to be watched; where nothing can be, it is polled."""
        if not isinstance(self.source, WatchedSource) or self.no_events:
            return
        self.restructured = False
        folders = self.source.folders()
        reason = why_no_events(folders[0]) if folders else ""
        if reason:
            self.poll(reason)
        else:
            self.folders = _identities(folders)

    def is_replaced(self) -> bool:
        """Return True if the folder is not the one that is watched: an unmounted disk raises no event."""
        root = next(iter(self.folders), None)
        return root is not None and _identities([root]) != {root: self.folders[root]}

    def forget_folders(self) -> None:
        """Forget what is watched; the next look reads it from the source again."""
        self.folders, self.restructured = {}, True

    def poll(self, reason: str) -> None:
        """Look at the folder every few seconds from now on, and say so once."""
        self.no_events = reason
        name = self.collection.name
        run.log("no file events, so it is polled", level="warning", collection=name, reason=reason)

    def succeeded(self, cost_s: float) -> float:
        """Return how long to wait after a look that took so many seconds."""
        if self.problem:
            self.problem, self.failures = "", 0
            run.log("up to date again", collection=self.collection.name)
        if not isinstance(self.source, WatchedSource):
            return self.times.repository_s
        return max(self.times.poll_s if self.no_events else _SWEEP_S, cost_s / _POLLING_SHARE)

    def failed(self, problem: str) -> float:
        """Report a problem once; return how long to wait before the next try."""
        if problem != self.problem:
            self.problem = problem
            run.log("cannot update", collection=self.collection.name, level="warning", reason=problem)
        self.failures += 1
        return min(self.times.poll_s * 2.0 ** min(self.failures - 1, 6), _MAX_RETRY_S)

    def _note_progress(self, stage: run.Stage, done: int, total: int, detail: str = "", /) -> None:  # noqa: ARG002
        if stage is not run.Stage.EMBED:
            return
        if not self.embedding_at:
            self.embedding_at = time.monotonic()
        if 0 < done < total and self.changed:
            self.cancel()


class Watcher:
    """Keeps the collections of a store up to date in threads of its own, in one process at a time.

    The others stand by, and one of them takes over when the process ends. In a store of several machines they
    divide the collections instead, and take over those of a process that ends.

    Args:
        store: Opens the store.
        sources: Returns the collections to watch with their sources; those never imported are left out.
        update: Brings a collection up to date, words first; is cancelled when there are newer changes.
        times: How often is looked.
    """

    def __init__(
        self,
        store: Callable[[], Store],
        sources: Callable[[], Sequence[tuple[Collection, Source]]],
        update: Callable[[str], ImportReport],
        times: WatchTimes,
    ) -> None:
        self._store = store
        self._sources = sources
        self._update = update
        self._times = times
        self._targets: dict[str, Target] = {}
        self._guard = threading.Lock()
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._watched: Mapping[str, tuple[int, int]] = {}
        self._unwatch = threading.Event()
        self._thread = threading.Thread(target=self._stand_by, name="mdvec-watch", daemon=True)
        self._share: list[str] = []

    def start(self) -> None:
        """Start watching, in a thread of its own."""
        self._thread.start()

    def close(self, most_s: float) -> None:
        """Stop, and wait at most ``most_s`` seconds for running updates to end."""
        self._stop.set()
        self._wake.set()
        self._rest()
        self._thread.join(most_s)

    # --- the lease -----------------------------------------------------------------------------

    def _stand_by(self) -> None:
        said = ""
        while not self._stop.is_set():
            try:
                with self._store().claim(None, PURPOSE, wait_s=0) as lease:
                    said = ""
                    run.log("watching")
                    self._keep(lease)
            except WriterBusyError as error:
                if str(error) != said:
                    said = str(error)
                    run.log("standing by", reason=said)
            except MdvecError as error:
                if not self._stop.is_set() and str(error) != said:
                    said = str(error)
                    run.log("cannot watch", level="warning", reason=said)
            except Exception as error:  # noqa: BLE001 - whatever it was, the next try may succeed
                if not self._stop.is_set() and str(error) != said:
                    said = str(error)
                    run.log("cannot watch", level="error", reason=f"{type(error).__name__}: {said}")
            finally:
                self._rest()
            self._stop.wait(_STAND_BY_S)

    def _keep(self, lease: Claim) -> None:
        """Look at collections when they are due, until the lease is lost or the watcher is closed.

        Raises:
            StoreError: If the store cannot be used, or another process has taken over.
        """
        version, renew_at, list_at = -1, time.monotonic() + _RENEW_S, 0.0
        while not self._stop.is_set():
            now = time.monotonic()
            if now >= renew_at:
                with self._store().write(lease):
                    renew_at = now + _RENEW_S
            if now >= list_at:
                with self._store().read() as view:
                    found = view.version
                if found != version or self._store().team is not None:
                    self._list_collections(lease)
                    version = found if self._notice_dirty() else -1
                self._notice_replaced()
                list_at = now + _COLLECTIONS_S
            self._watch_folders()
            due_at = self._start_due(now)
            self._wake.wait(max(0.0, min(due_at, renew_at, list_at) - time.monotonic()))
            self._wake.clear()

    def _rest(self) -> None:
        """Stop what is at work, and forget what was known."""
        self._unwatch.set()
        with self._guard:
            targets, self._targets, self._watched = list(self._targets.values()), {}, {}
        for each in targets:
            each.cancel()

    # --- what is watched -----------------------------------------------------------------------

    def _list_collections(self, lease: Claim) -> None:
        watched = self._mine(self._sources(), lease)
        found = {collection.name: (collection, source) for collection, source in watched}
        with self._guard:
            for name, target in list(self._targets.items()):
                now, _ = found.get(name, (None, None))
                known = target.collection
                if now is None or (now.id, now.source) != (known.id, known.source):
                    del self._targets[name]
                    target.cancel()
            for name, (collection, source) in found.items():
                self._targets.setdefault(name, Target(collection, source, self._times))

    def _mine(
        self, every: Sequence[tuple[Collection, Source]], lease: Claim
    ) -> Sequence[tuple[Collection, Source]]:
        """Return what this process is to watch, and not another one."""
        team = self._store().team
        if team is None:
            return every
        missing = [
            each.id for each, source in every if isinstance(source, WatchedSource) and not source.is_here()
        ]
        mine = team.share(lease, [each.id for each, _ in every if each.id not in missing], missing)
        names = [each.name for each, _ in every if each.id in mine]
        if names != self._share:
            self._share = names
            run.log("watching", collections=", ".join(names) or "none")
        return [(each, source) for each, source in every if each.id in mine]

    def _notice_dirty(self) -> bool:
        """Schedule a check of collections in which others have marked documents, once for each set of them.

        Returns:
            False if a collection is at work, which marks documents itself: then it has to be done again.
        """
        is_complete = True
        with self._guard, self._store().read() as view:
            for target in self._targets.values():
                if target.at_work is not None:
                    is_complete = False
                    continue
                dirty = {each.path for each in marked_dirty(target.collection.id, view)}
                if dirty and dirty != target.dirty:
                    target.due_at = 0.0
                target.dirty = dirty
        return is_complete

    def _notice_replaced(self) -> None:
        """Look at collections whose folder is no longer the one that is watched, after an unmount, say."""
        with self._guard:
            for target in self._targets.values():
                if target.at_work is None and target.is_replaced():
                    target.forget_folders()
                    target.due_at = 0.0

    def _watch_folders(self) -> None:
        """Watch what the collections need now, instead of what was watched before."""
        with self._guard:
            wanted = {
                folder: each for target in self._targets.values() for folder, each in target.folders.items()
            }
            if wanted == self._watched:
                return
            self._unwatch.set()
            self._watched, self._unwatch = wanted, threading.Event()
            stop = self._unwatch
        if wanted:
            threading.Thread(
                target=self._listen, args=(list(wanted), stop), name="mdvec-events", daemon=True
            ).start()

    def _listen(self, folders: Sequence[str], stop: threading.Event) -> None:
        established = False
        try:
            for paths in watch(folders, stop):
                if not established:  # what changed just before raised no event; "/" has folders checked, too
                    established = True
                    with self._guard:
                        everything = {name: ["/"] for name in self._targets}
                    self._note(everything)
                if paths:
                    self._note(self._concerned(paths))
                if not paths.isdisjoint(folders):  # one was moved: no event comes from it any more
                    with self._guard:
                        if not stop.is_set():
                            self._watched = {}
                    self._wake.set()
        except WatchError as error:
            with self._guard:
                if stop.is_set():
                    return
                self._watched = {}
                for target in self._targets.values():
                    gone = not all(map(os.path.isdir, target.folders))
                    concerned = error.folders is None or not target.folders.keys().isdisjoint(error.folders)
                    if target.folders and concerned and not gone:
                        target.poll(str(error))
                    target.forget_folders()
                    target.changed, target.due_at = True, 0.0
            self._wake.set()

    def _concerned(self, paths: set[str]) -> dict[str, list[str]]:
        """Return the documents that events may be about, by collection."""
        with self._guard:
            targets = dict(self._targets)
        found: dict[str, list[str]] = {}
        for name, target in targets.items():
            if isinstance(target.source, WatchedSource):
                concerned = [each for path in sorted(paths) for each in target.source.concerned(path)]
                if concerned:
                    found[name] = concerned
        return found

    def _note(self, concerned: Mapping[str, Sequence[str]]) -> None:
        """Mark documents as dirty, and have their collections looked at."""
        with self._guard:
            noted = {name: target for name in concerned if (target := self._targets.get(name)) is not None}
        if any(concerned.values()):
            with suppress(StoreError), self._store().write() as writer:
                for name, target in noted.items():
                    writer.documents.mark_dirty(target.collection.id, concerned[name])
        with self._guard:
            now = time.monotonic()
            for name, target in noted.items():
                target.changed = True
                # Folders, or what .gitignore and .mdvecignore leave out of them.
                target.restructured |= any(path.endswith(("/", "ignore")) for path in concerned[name])
                target.due_at = min(target.due_at, now)
        self._wake.set()

    # --- looking -------------------------------------------------------------------------------

    def _start_due(self, now: float) -> float:
        """Start threads for what is due; return when the next one will be."""
        with self._guard:
            idle = [each for each in self._targets.values() if each.at_work is None]
            free = self._times.concurrency - (len(self._targets) - len(idle))
            for target in sorted(idle, key=lambda each: each.due_at):
                if target.due_at > now or free <= 0:
                    break
                free -= 1
                threading.Thread(
                    target=self._look, args=(target, target.begin()), name="mdvec-update", daemon=True
                ).start()
            waiting = [each.due_at for each in self._targets.values() if each.at_work is None]
        return min(waiting, default=float("inf")) if free > 0 else float("inf")

    def _look(self, target: Target, working: run.Run) -> None:
        """Bring a collection up to date, and decide when it is looked at next."""
        started = time.monotonic()
        try:
            with run.bound(working):
                if target.restructured:  # first, since embedding what is pending may take hours
                    target.find_folders()
                    self._wake.set()
                report = self._update(target.collection.name)
        except ImportStoppedError:
            wait_s = 0.0
        except WriterBusyError:
            wait_s = self._times.poll_s
        except MdvecError as error:
            wait_s = target.failed(str(error))
            target.forget_folders()
            with self._guard:  # the folder may come back as it was, and no event comes from a watch of before
                self._watched = {}
        except Exception as error:  # noqa: BLE001 - a bug in one collection must not stop the others
            wait_s = target.failed(f"{type(error).__name__}: {error}")
        else:
            if report.failure is not None:
                wait_s = target.failed(str(report.failure))
            else:
                wait_s = target.succeeded(time.monotonic() - started)
        ended = time.monotonic()
        # So that changes without end leave some time. To embed until it was stopped was no waste.
        words_s = (target.embedding_at if working.cancelled and target.embedding_at else ended) - started
        rest_s = min(words_s**2, _MAX_REST_S)
        with self._guard:
            target.at_work = None
            target.due_at = ended + (rest_s if target.changed else wait_s)
        self._wake.set()


def _identities(folders: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return what identifies each of some folders that are there: one of the same name may take its place."""
    found: dict[str, tuple[int, int]] = {}
    for folder in folders:
        with suppress(OSError):
            status = os.stat(folder)  # noqa: PTH116 - of a name that is a string
            found[folder] = status.st_dev, status.st_ino
    return found
