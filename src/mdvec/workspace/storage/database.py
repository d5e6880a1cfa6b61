"""The database of a workspace, opened once, when it is first needed."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from mdvec.config.paths import is_folder_name
from mdvec.config.schema import Config
from mdvec.errors import NoIndexError, WorkspaceClosedError
from mdvec.stores.interface import Store
from mdvec.stores.pool import closed_on_error
from mdvec.text.addresses import without_password
from mdvec.types.report import ImportMode
from mdvec.workspace.storage.docs_folder import FolderChoice, hide_from_git, register_folder
from mdvec.workspace.storage.opening import open_database
from mdvec.workspace.wiring.parts import Parts


class Place(Struct, frozen=True):
    """The location of a database, and how it is opened. It can be pickled.

    Attributes:
        location: Absolute path of the database, or its address.
        docs_dir: The folder whose index it is; None when collections are registered in it.
        came_with: The folder that it may have come with, and so be somebody else's; None elsewhere.
        choice: How to index ``docs_dir``, where that is to change.
        makes: Whether to make a database that is not there.
        is_named: Whether it is not the usual one, so that a command has to name it.
    """

    location: Path | str
    docs_dir: Path | None = None
    came_with: Path | None = None
    choice: FolderChoice = FolderChoice()
    makes: bool = True
    is_named: bool = False

    @property
    def shown(self) -> str:
        """The location for people, without a password."""
        return without_password(str(self.location))

    @property
    def is_missing(self) -> bool:
        """Whether the database is a file that is not there, and must not be made."""
        return not self.makes and isinstance(self.location, Path) and not self.location.exists()

    def import_command(self, names: Sequence[str], mode: ImportMode) -> str:
        """Return the command that imports some collections, or the folder whose index this is."""
        if self.docs_dir is not None:
            return self.command("import")
        words = [word for name in names for word in ("-n", name)]
        return self.command("import", *words, *([] if mode is ImportMode.NEW else ["-m", mode.value]))

    def command(self, *words: str) -> str:
        """Return a command that works on this database, for a person to run."""
        folder = () if self.docs_dir is None else ("--docs-dir", str(self.docs_dir))
        database = ("--database", self.shown) if self.is_named else ()
        return shlex.join(["mdvec", *words, *folder, *database])


class Database:
    """The store of a workspace. Safe to use from several threads.

    Args:
        place: Which database.
        config: Chooses the kind of store, and the vector index beside it.
        parts: Makes what the folder of ``place`` is indexed with.
    """

    def __init__(self, place: Place, config: Config, parts: Parts) -> None:
        self.place = place
        self._config = config
        self._parts = parts
        self._store: Store | None = None
        self._opening = threading.Lock()
        self._closed = False

    @property
    def is_open(self) -> bool:
        """Whether the store is open."""
        return self._store is not None

    def store(self) -> Store:
        """Return the store; the first call opens it, and makes it when it is not there.

        Raises:
            NoIndexError: If it is not there and must not be made.
            WorkspaceClosedError: If it was closed.
        """
        with self._opening:
            if self._closed:  # by another thread; nobody would close what this one opened
                raise WorkspaceClosedError
            if self._store is None:
                self._store = self._open()
            return self._store

    def _open(self) -> Store:
        place = self.place
        if place.is_missing:
            raise _no_index(place)
        store = open_database(place.location, self._config, folder=place.came_with)
        if place.docs_dir is not None:
            with closed_on_error(store):
                register_folder(place.docs_dir, store, self._parts, place.choice)
                if isinstance(place.location, Path):
                    hide_from_git(place.location.parent)
        return store

    def close(self) -> None:
        """Close the store for good; a second call does nothing."""
        with self._opening:
            self._closed = True
            store, self._store = self._store, None
        if store is not None:
            store.close()


def _no_index(place: Place) -> NoIndexError:
    if is_folder_name(place.location):
        return NoIndexError(
            f"{place.shown} does not exist: there is neither an index nor anything published",
            hint="Connect the disk that it is on, or create an index there with 'mdvec tool add'.",
        )
    update = None if place.docs_dir is None else place.import_command([], ImportMode.UPDATE)
    return NoIndexError(
        f"there is no index yet: {place.shown} does not exist", hint=update and f"'{update}' creates it."
    )
