"""A published workspace as a store: searched from a copy on this machine, read-only, the newest one."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from msgspec import Struct

from mdvec import registry, run
from mdvec.errors import (
    DamagedDatabaseError,
    MdvecError,
    NotADatabaseError,
    ReadOnlyDatabaseError,
    StoreError,
    StoreUnavailableError,
)
from mdvec.settings import BucketSettings, OwnFolder, Seconds
from mdvec.stores.interface import Store, Team, View
from mdvec.stores.published.copies import LocalCopies
from mdvec.stores.published.dataset import LocalFile, latest, numbers, read_manifest
from mdvec.stores.published.places import Place, open_place
from mdvec.stores.tables import Readable
from mdvec.text.addresses import scheme_of
from mdvec.types.store_report import PublishedVersion

_REFRESH_S = 30.0
_END_WAIT_S = 1.0
_IDENTITY_CHARS = 16


class PublishedSettings(BucketSettings, frozen=True, kw_only=True):
    """``[store.published]``.

    Attributes:
        refresh_s: How often it is looked whether there is a new version, in seconds.
        cache_dir: The folder for copies; None for the user's cache directory.
    """

    refresh_s: Seconds | None = None
    cache_dir: OwnFolder | None = None


class _Held(Struct, frozen=True):
    """The version that is searched."""

    copy: LocalFile
    store: Store


class PublishedStore:
    """The newest version of a published workspace. Safe for several threads and processes.

    A version is fetched before the first search of it; a search that has begun ends on its version.

    Args:
        location: A folder, or ``s3://BUCKET[/PATH]``.
        cache_dir: The folder for copies.
        settings: See :class:`PublishedSettings`.

    Raises:
        ConfigError: If what it needs is not installed.
        NotADatabaseError: If nothing is published there.
        StoreError: If the newest version cannot be fetched. Where the place cannot be reached, the newest one
            that was fetched before is searched instead, with a warning.
    """

    Settings = PublishedSettings
    takes_cache_dir: ClassVar[bool] = True
    team: Team | None = None

    def __init__(self, location: Path | str, *, cache_dir: Path, **settings: Any) -> None:
        chosen = PublishedSettings(**settings)
        self._place = open_place(location, region=chosen.region, endpoint=chosen.endpoint)
        self.location = self._place.location
        identity = hashlib.sha256(f"{chosen.endpoint or ''} {self.location}".encode()).hexdigest()
        self._copies = LocalCopies(cache_dir.absolute() / "published" / identity[:_IDENTITY_CHARS])
        self._refreshing = threading.Lock()
        self._guard = threading.Lock()
        self._problem = ""
        known = self._copies.newest()
        self._highest = 0 if known is None else known.manifest.number
        self._held = self._open_first()
        self._stop = threading.Event()
        refresh_s = chosen.refresh_s or _REFRESH_S
        self._thread = threading.Thread(
            target=self._follow, args=(refresh_s,), name="mdvec-published", daemon=True
        )
        self._thread.start()

    @property
    def size_bytes(self) -> int:
        return self._held.copy.manifest.size_bytes

    @property
    def published(self) -> PublishedVersion:
        manifest = self._held.copy.manifest
        return PublishedVersion(manifest.number, manifest.published_ms)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why it may not be the newest version, for people."""
        number, found = self._held.copy.manifest.number, []
        if self._problem:
            found.append(f"mdvec cannot tell whether there is a newer version than {number}: {self._problem}")
        if number < self._highest:
            found.append(
                f"{self.location} has gone back from version {self._highest} to version {number}: unless its "
                f"publisher did that, somebody else can write there"
            )
        return tuple(found)

    @contextmanager
    def read(self, readable: Readable = None) -> Iterator[View]:
        with ExitStack() as stack:
            yield self._snapshot(stack, readable)

    def write(self, *_: Any, **__: Any) -> NoReturn:
        """Raise: a version never changes.

        Raises:
            ReadOnlyDatabaseError: Always.
        """
        msg = f"{self.location} is a published copy and can only be searched"
        hint = (
            "Change the workspace it comes from and run 'mdvec publish' there, or name another database with "
            "--database."
        )
        raise ReadOnlyDatabaseError(msg, hint=hint)

    claim = compact = write

    def make_vector_indexes(self) -> None:
        """Do nothing: the version is complete."""

    def check(self) -> list[StoreError]:
        held = self._held
        hint = f"Remove {held.copy.path.parent}: the next search fetches it again."
        return [DamagedDatabaseError(str(each), hint=hint) for each in held.store.check()]

    def refresh(self) -> None:
        """Look for a new version now, and search it from now on. A second thread waits for the first.

        Raises:
            StoreError: If the place or the version cannot be used; the one that is held stays.
        """
        with self._refreshing:
            found = numbers(self._place)
            if not found:
                raise _nothing(self._place)
            if found[-1] == self._held.copy.manifest.number and self._held.copy.path.exists():
                return
            manifest = read_manifest(self._place, found[-1])
            if manifest is None:  # removed meanwhile: the next look finds another one
                return
            new = self._open(self._copies.bring(self._place, manifest, _adopt))
            with self._guard:
                old, self._held = self._held, new
                if self._stop.is_set():  # closed meanwhile
                    new.store.close()
            old.store.close()  # what reads it has its connection until it ends

    def close(self) -> None:
        self._stop.set()
        self._thread.join(_END_WAIT_S)
        with self._guard:
            self._held.store.close()

    def _open_first(self) -> _Held:
        try:
            manifest = latest(self._place)
            if manifest is None:
                raise _nothing(self._place)
        except StoreUnavailableError as error:
            copy = self._copies.newest()
            if copy is None:
                raise
            self._problem = str(error)
            return self._open(copy)
        return self._open(self._copies.bring(self._place, manifest, _adopt))

    def _open(self, copy: LocalFile) -> _Held:
        self._highest = max(self._highest, copy.manifest.number)
        return _Held(copy, registry.load("stores", "sqlite")(copy.path, read_only=True, writes_matrices=True))

    def _snapshot(self, stack: ExitStack, readable: Readable) -> View:
        """Enter a snapshot; its version is not closed before it has begun."""
        with self._guard:
            held = self._held
            try:
                return stack.enter_context(held.store.read(readable))
            except StoreError:
                if held.copy.path.exists():
                    raise
        # Another process has fetched newer versions, and removed this one.
        self.refresh()
        with self._guard:
            return stack.enter_context(self._held.store.read(readable))

    def _follow(self, refresh_s: float) -> None:
        while not self._stop.wait(refresh_s):
            before = self._held.copy.manifest.number
            try:
                self.refresh()
            except MdvecError as error:
                if str(error) != self._problem:
                    run.log("cannot follow", level="warning", reason=str(error))
                self._problem = str(error)
            else:
                self._problem = ""
                if (now := self._held.copy.manifest.number) != before:
                    run.log("following", version=now, before=before)


def _adopt(path: Path) -> None:
    """Make the file of a version ready to be searched, whoever wrote it."""
    registry.load("stores", "sqlite").adopt(path)


def _nothing(place: Place) -> StoreError:
    if not place.is_there():
        msg = f"{place.location} does not exist"
        return StoreUnavailableError(msg, hint="Connect the disk that it is on, or name another place.")
    msg = f"nothing is published in {place.location}"
    hint = f"Run 'mdvec publish -n NAME {place.location}' first, or name another place."
    if not scheme_of(place.location):
        hint += " A disk that is not connected also looks like this."
    return NotADatabaseError(msg, hint=hint)
