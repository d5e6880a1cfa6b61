"""Opens databases; one that came with a folder, and was not made by this account here, is set aside.

Each database carries a random number, its mark. A file named after the mark, in the user's data directory,
holds the path of the database. The number cannot be guessed, so a database from elsewhere has none that
is known here.
"""

from __future__ import annotations

import contextlib
import glob
import itertools
import os
import secrets
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mdvec import registry, run
from mdvec.config.paths import DATA_DIR, default_cache_dir, place_beside, user_data_dir
from mdvec.config.schema import Config
from mdvec.config.trust import is_trusted, make_private_folder, only_one, write_private
from mdvec.errors import ConfigError, ForeignDatabaseError, MdvecError, StoreError
from mdvec.stores.interface import Store
from mdvec.stores.vectors.index import VectorIndex

_KNOWN = "known"
_MARK_BITS = 63  # what SQLite's integers hold without a sign
_FOREIGN = ".foreign-"
# Providers that are paid for each text.
_PAID = ("gemini", "openai", "voyage")


def open_store(location: Path | str, config: Config | None = None, **how: Any) -> Store:
    """Open a store, making a database file and its folder when they are not there.

    Its factory receives the location, its settings, and ``vector_index`` if the configuration names one; a
    factory that can search one says so by the attribute ``takes_vector_index``, and one that keeps copies by
    ``takes_cache_dir``.

    Raises:
        ConfigError: If there is no store for the address, or it is not installed, or it cannot use the index.
    """
    config = config or Config()
    name = registry.named_store(str(location))
    location = Path(location) if name == "sqlite" else location
    factory = registry.load("stores", name)
    settings = config.arguments("stores", name, factory)
    if config.store.vectors is not None:
        if not getattr(factory, "takes_vector_index", False):
            msg = f"the store {name!r} searches its own vectors, and no index beside it"
            raise ConfigError(msg, hint="Leave out [store] vectors.")
        prefix = place_beside(location, settings.get("schema", ""))
        settings["vector_index"] = _vector_index(config.store.vectors, prefix, config)
    if getattr(factory, "takes_cache_dir", False):
        settings.setdefault("cache_dir", config.embedding.cache_dir or default_cache_dir())
    made: Store = factory(location, **settings, **how)
    return made


def _vector_index(named: str, prefix: Path, config: Config) -> VectorIndex:
    """Make a vector index; its place begins with ``prefix`` unless another one is named."""
    name, place = registry.named_vector_index(named)
    factory = registry.load("vector_indexes", name)
    arguments = config.arguments("vector_indexes", name, factory)
    made: VectorIndex = factory(place or f"{prefix}.{name}", **arguments)
    return made


def open_database(location: Path | str, config: Config, *, folder: Path | None) -> Store:
    """Open a store; a database that may have come with a folder has to be known.

    One that is not is renamed and made anew, unless the user trusts the folder; the run is warned of it.
    Before that is done to vectors that cost money, the user is asked.

    Raises:
        ForeignDatabaseError: If it is not known and cannot be renamed, or nobody can be asked, or it is
            reached through a link.
        StoreError: If it cannot be opened.
    """
    if not isinstance(location, Path) or (folder is None and registry.named_store(str(location)) != "sqlite"):
        return open_store(location, config)
    if folder is not None:
        if location.is_dir():  # a published folder that was put there
            msg = f"{location} is not a file"
            raise ForeignDatabaseError(msg, hint="Move it away, or keep the index elsewhere with --data-dir.")
        _refuse_links(location, folder)
    if location.parent == user_data_dir() or location.parent.name == DATA_DIR:
        with contextlib.suppress(OSError):  # where nothing can be made, opening says so
            make_private_folder(location.parent)
    known = KnownDatabases(user_data_dir() / _KNOWN)
    if folder is None:
        return _open_named(location, config, known)
    mark = _admit(location, folder, known)
    return open_store(location, config, mark=mark, follow_links=False)


def folder_with_index(path: Path) -> Path | None:
    """Return the folder of an index that was found in it; None if the index is not to be used.

    One that was not made here, in a folder that the user does not trust, is not: the run is warned of it.
    """
    folder = path.parent.parent
    try:
        _refuse_links(path, folder)
        if is_trusted(folder) or KnownDatabases(user_data_dir() / _KNOWN).has(_mark_of(path), path):
            return folder
    except MdvecError as error:
        run.current().warn(f"the index in {folder} is not used: {error}")
        return None
    trust = f"mdvec trust {shlex.quote(str(folder))}"
    run.current().warn(f"{path} was not made by mdvec here, and is not used; '{trust}' changes that")
    return None


class KnownDatabases:
    """The marks of the databases that were made or adopted here."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def has(self, mark: int | None, path: Path) -> bool:
        """Return True if a database with this mark is the one we know, or the one we know is not there now.

        A copy next to the original may have been changed by others, and is not it.
        """
        if mark is None:
            return False
        recorded = self._path(mark)
        return recorded is not None and (recorded == path or not recorded.exists())

    def add(self, mark: int, path: Path) -> None:
        """Remember a database, unless that is known.

        Raises:
            OSError: If it cannot be remembered.
        """
        if self._path(mark) != path:
            make_private_folder(user_data_dir())
            write_private(self._file(mark), os.fsencode(path))

    @contextlib.contextmanager
    def only_one(self) -> Iterator[None]:
        """Keep other processes out that decide about a database.

        Raises:
            OSError: If nothing can be remembered.
        """
        make_private_folder(user_data_dir())
        with only_one(self._directory / ".lock"):
            yield

    def _path(self, mark: int) -> Path | None:
        try:
            return Path(os.fsdecode(self._file(mark).read_bytes()))
        except OSError:
            return None

    def _file(self, mark: int) -> Path:
        return self._directory / f"{mark:016x}"


def _open_named(path: Path, config: Config, known: KnownDatabases) -> Store:
    """Open a database that the user named, wherever it was made, and know it from then on."""
    mark = _mark_of(path)
    store = open_store(path, config, mark=mark or secrets.randbits(_MARK_BITS))
    if mark is not None and known.has(mark, path):
        return store
    with contextlib.suppress(OSError, StoreError):
        now = _mark_of(path)  # none where nothing can be written
        if now is not None:
            known.add(now, path)
            if mark is not None and path.parent != user_data_dir():
                run.current().warn(f"{path} was made elsewhere, and is used because it was named")
    return store


def _admit(path: Path, folder: Path, known: KnownDatabases) -> int:
    """Make sure that the database at a path is ours or missing, and return its mark or that of the next one.

    Raises:
        ForeignDatabaseError: If it is neither, and stays.
    """
    mark = _mark_of(path)
    if mark is not None and known.has(mark, path):
        with contextlib.suppress(OSError):  # it was moved
            known.add(mark, path)
        return mark
    keeps = is_trusted(folder) or _is_wanted(path, folder)
    try:
        with known.only_one():
            mark = _mark_of(path)  # another process may have been faster
            if not (keeps or known.has(mark, path)) and _holds_anything(path):
                _set_aside(path, folder)
                mark = None
            if mark is None:
                mark = secrets.randbits(_MARK_BITS)
            known.add(mark, path)
            return mark
    except OSError as error:
        msg = f"whether {path} was made here cannot be remembered: {error}"
        hint = f"Make {user_data_dir()} writable, or name the database with --database."
        raise ForeignDatabaseError(msg, hint=hint) from error


def _is_wanted(path: Path, folder: Path) -> bool:
    """Ask whether to use a database whose vectors cost money; return False without such vectors.

    Raises:
        ForeignDatabaseError: If nobody can be asked.
    """
    keys = registry.load("stores", "sqlite").spaces_of(path)
    paid = {each for each in _PAID if any(key.startswith(f"{each}:") for key in keys)}
    if not paid:
        return False
    msg = (
        f"{path} was not made by mdvec here, or under another home directory, and holds vectors of "
        f"{' and '.join(sorted(paid))}, which cost money to make again"
    )
    wanted = run.current().ask(
        f"{msg}. Use it? Say yes only if you made it: it may misrepresent your documents. "
        "Otherwise it is renamed, and a new one is made."
    )
    if wanted is None:
        trust = f"mdvec trust {shlex.quote(str(folder))}"
        hint = f"If you made it, run '{trust}' to use it. Else move it away, and a new one is made."
        raise ForeignDatabaseError(msg, hint=hint)
    return wanted


def _set_aside(path: Path, folder: Path) -> None:
    """Rename a database.

    Raises:
        ForeignDatabaseError: If that is not possible.
    """
    names = (path.with_name(f"{path.name}{_FOREIGN}{number}") for number in itertools.count(1))
    target = next(name for name in names if not os.path.lexists(name))
    trust = f"mdvec trust {shlex.quote(str(folder))}"
    try:
        for each in (*_companions(path), path):  # the log first: a new database must not find it
            with contextlib.suppress(FileNotFoundError):
                each.rename(each.with_name(target.name + each.name.removeprefix(path.name)))
    except OSError as error:
        msg = f"{path} was not made by mdvec here, and cannot be renamed: {error.strerror}"
        hint = f"Keep the index elsewhere with --data-dir, or run '{trust}' to use this one."
        raise ForeignDatabaseError(msg, hint=hint) from error
    run.current().warn(
        f"{path} was not made by mdvec here, and is not used: it may misrepresent your documents. It was "
        f"renamed to {target.name}, and a new one is made. If you trust it, run '{trust}' and rename it back"
    )


def _refuse_links(path: Path, folder: Path) -> None:
    """Check that nothing between a folder and the database in it leads elsewhere.

    Raises:
        ForeignDatabaseError: If something does.
    """
    steps = path.relative_to(folder).parts
    places = [folder.joinpath(*steps[:count]) for count in range(1, len(steps) + 1)]
    for place in (*places, *_companions(path)):
        if place.is_symlink():
            msg = f"{place} is a symbolic link, and mdvec does not write an index through one"
            hint = "Remove it, or choose another place for the index with --data-dir."
            raise ForeignDatabaseError(msg, hint=hint)


def _companions(path: Path) -> list[Path]:
    """Return the files that belong to a database: its log, and its vector index."""
    found = path.parent.glob(f"{glob.escape(path.name)}[-.]*")
    return sorted(each for each in found if not each.name.startswith(f"{path.name}{_FOREIGN}"))


def _mark_of(path: Path) -> int | None:
    mark: int | None = registry.load("stores", "sqlite").mark_of(path)
    return mark


def _holds_anything(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False
