"""The database of a workspace: where it is, how it is opened, and the one collection of a folder.

A database that came with a folder, and was not made by this account here, is set aside. Each carries a random
number, its mark. A file named after the mark, in the user's data directory, holds the path of the database.
The number cannot be guessed, so a database from elsewhere has none that is known here.
"""

from __future__ import annotations

import contextlib
import glob
import itertools
import os
import secrets
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from mdvec import __version__, registry, run
from mdvec.clock import now_ms
from mdvec.config.paths import DATA_DIR, default_cache_dir, files_of_store, is_folder_name, user_data_dir
from mdvec.config.schema import Config
from mdvec.config.trust import is_trusted, make_private_folder, only_one, write_private
from mdvec.errors import ConfigError, ForeignDatabaseError, MdvecError, NoIndexError, StoreError
from mdvec.stores.interface import Store, View
from mdvec.stores.vectors.index import VectorIndex
from mdvec.text.addresses import without_password
from mdvec.text.folding import spelled
from mdvec.types.collection import (
    DEFAULT_SOURCE,
    DOCS_COLLECTION,
    ChunkingSpec,
    Collection,
    EmbeddingSpec,
    SourceSpec,
)
from mdvec.types.ids import CollectionId
from mdvec.types.report import ImportMode
from mdvec.workspace.stages import Stages

if TYPE_CHECKING:
    from mdvec.config.presets import Preset

_KNOWN = "known"
_MARK_BITS = 63  # what SQLite's integers hold without a sign
_FOREIGN = ".foreign-"
# Providers that are paid for each text.
_PAID = ("gemini", "openai", "voyage")


class FolderChoice(Struct, frozen=True):
    """The user's choices for the index of such a folder; the rest stays as it was.

    Attributes:
        include: Globs of files to take, in place of those before; None for no choice.
        exclude: Globs of files to leave out, likewise.
        chunker: How documents are cut; empty for no choice.
        embedding: What makes the vectors.
        preset: Holds for what is left out.
    """

    include: tuple[str, ...] | None = None
    exclude: tuple[str, ...] | None = None
    chunker: str = ""
    embedding: EmbeddingSpec | None = None
    preset: Preset | None = None


class DatabasePlace(Struct, frozen=True):
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
        return shlex.join(["mdvec", *words, *folder, *(("--database", self.shown) if self.is_named else ())])


def no_index(place: DatabasePlace) -> NoIndexError:
    """Return the error for a database that is not there."""
    if is_folder_name(place.location):
        return NoIndexError(
            f"{place.shown} does not exist: there is neither an index nor anything published",
            hint="Connect the disk that it is on, or create an index there with 'mdvec tool add'.",
        )
    update = None if place.docs_dir is None else place.import_command([], ImportMode.UPDATE)
    return NoIndexError(
        f"there is no index yet: {place.shown} does not exist", hint=update and f"'{update}' creates it."
    )


def register_folder(folder: Path, store: Store, stages: Stages, choice: FolderChoice) -> None:
    """Make a folder the only collection of its database, at its present place, indexed as chosen.

    The next import does what another choice changes; until then nothing counts as imported.

    Raises:
        ConfigError: If there is no such chunker or model.
        EmbeddingError: If the model cannot be used here; the hint says how to fix that.
    """
    with store.read() as view:
        docs = _docs(view)
    source = SourceSpec(DEFAULT_SOURCE, str(folder))
    change = _checked(docs, choice, stages)

    def changed(now: Collection) -> Collection:
        placed = replace(now, source=replace(now.source, kind=source.kind, location=source.location))
        after = _chosen(placed, change)
        same = after == placed or after == replace(placed, search=after.search, preset=after.preset)
        return after if same else registered(replace(after, last_indexed_ms=None))

    if docs is not None and changed(docs) == docs:
        return
    with store.write() as writer:
        docs = _docs(writer)  # another process may have been faster
        if docs is None:
            description = f"Documents in {spelled(str(folder))}"
            new = Collection(
                CollectionId(0), DOCS_COLLECTION, description, source, stages.configured_chunking
            )
            docs = writer.collections.add(registered(new))
        writer.collections.change(docs.id, changed)


def registered(collection: Collection) -> Collection:
    """Return a collection with the time and the version of what is registered now."""
    moment_ms = now_ms()
    created_ms = collection.created_ms if collection.updated_ms else moment_ms
    return replace(collection, created_ms=created_ms, updated_ms=moment_ms, app_version=__version__)


def hide_from_git(directory: Path) -> None:
    """Keep an index that lies among documents out of their repository."""
    rules = directory / ".gitignore"
    if directory.name == DATA_DIR:
        # A file or a link of that name stays; and a place that can only be read is no reason to fail.
        with contextlib.suppress(OSError):
            descriptor = os.open(rules, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(b"*\n")


def _checked(docs: Collection | None, choice: FolderChoice, stages: Stages) -> FolderChoice:
    """Return a choice whose model was tried; without a model where the folder has it, or is to have it."""
    if choice.chunker:
        stages.check_chunking(ChunkingSpec(choice.chunker))
    elif choice.preset is not None:
        stages.check_chunking(choice.preset.chunking)
    wanted = choice.embedding or (choice.preset.embedding if choice.preset else None)
    own = None if docs is None else docs.next_embedding or docs.embedding
    space = stages.models.for_(wanted).space if wanted else None
    if wanted is None or wanted == own or (own and space and space == stages.models.for_(own).space):
        return replace(choice, embedding=None)
    return replace(choice, embedding=stages.models.check(wanted))


def _chosen(now: Collection, choice: FolderChoice) -> Collection:
    """Return a collection as it was chosen; a model that is in use is replaced once the new one is done."""
    preset = choice.preset
    if preset is not None:
        source = replace(now.source, include=preset.include, exclude=preset.exclude)
        now = replace(now, source=source, chunking=preset.chunking, search=preset.search, preset=preset.name)
    if choice.include is not None:
        now = replace(now, source=replace(now.source, include=choice.include))
    if choice.exclude is not None:
        now = replace(now, source=replace(now.source, exclude=choice.exclude))
    if choice.chunker and choice.chunker != now.chunking.strategy:
        now = replace(now, chunking=ChunkingSpec(choice.chunker))
    if choice.embedding is None:
        return now
    if now.embedding is None:
        return replace(now, embedding=choice.embedding)
    return replace(now, next_embedding=choice.embedding)


def _docs(view: View) -> Collection | None:
    return next((each for each in view.collections.all() if each.name == DOCS_COLLECTION), None)


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
        prefix = files_of_store(location, settings.get("schema", ""))
        settings["vector_index"] = _vector_index(config.store.vectors, prefix, config)
    if getattr(factory, "takes_cache_dir", False):
        settings.setdefault("cache_dir", config.embedding.cache_dir or default_cache_dir())
    made: Store = factory(location, **settings, **how)
    return made


def _vector_index(named: str, prefix: Path, config: Config) -> VectorIndex:
    """Make a vector index, ``NAME[:PLACE]``; without a place, that begins with ``prefix``."""
    name, _, place = named.partition(":")
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
    if folder is None:
        return _open_named(location, config)
    return open_store(location, config, mark=_admit(location, folder), follow_links=False)


def folder_with_index(path: Path) -> Path | None:
    """Return the folder of an index that was found in it; None if the index is not to be used.

    One that was not made here, in a folder that the user does not trust, is not: the run is warned of it.
    """
    folder = path.parent.parent
    try:
        _refuse_links(path, folder)
        if is_trusted(folder) or _is_known(_mark_of(path), path):
            return folder
    except MdvecError as error:
        run.current().warn(f"the index in {folder} is not used: {error}")
        return None
    trust = f"mdvec trust {shlex.quote(str(folder))}"
    run.current().warn(f"{path} was not made by mdvec here, and is not used; '{trust}' changes that")
    return None


def _is_known(mark: int | None, path: Path) -> bool:
    """Return True if a database with this mark is the one we know, or the one we know is not there now.

    A copy next to the original may have been changed by others, and is not it.
    """
    recorded = None if mark is None else _recorded(mark)
    return recorded is not None and (recorded == path or not recorded.exists())


def _remember(mark: int, path: Path) -> None:
    """Remember a database that was made or adopted here, unless that is known.

    Raises:
        OSError: If it cannot be remembered.
    """
    if _recorded(mark) != path:
        make_private_folder(user_data_dir())
        write_private(_file_of(mark), os.fsencode(path))


def _recorded(mark: int) -> Path | None:
    try:
        return Path(os.fsdecode(_file_of(mark).read_bytes()))
    except OSError:
        return None


def _file_of(mark: int) -> Path:
    return user_data_dir() / _KNOWN / f"{mark:016x}"


def _open_named(path: Path, config: Config) -> Store:
    """Open a database that the user named, wherever it was made, and know it from then on."""
    mark = _mark_of(path)
    store = open_store(path, config, mark=mark or secrets.randbits(_MARK_BITS))
    if mark is not None and _is_known(mark, path):
        return store
    with contextlib.suppress(OSError, StoreError):
        now = _mark_of(path)  # none where nothing can be written
        if now is not None:
            _remember(now, path)
            if mark is not None and path.parent != user_data_dir():
                run.current().warn(f"{path} was made elsewhere, and is used because it was named")
    return store


def _admit(path: Path, folder: Path) -> int:
    """Make sure that the database at a path is ours or missing, and return its mark or that of the next one.

    Raises:
        ForeignDatabaseError: If it is neither, and stays.
    """
    mark = _mark_of(path)
    if mark is not None and _is_known(mark, path):
        with contextlib.suppress(OSError):  # it was moved
            _remember(mark, path)
        return mark
    keeps = is_trusted(folder) or _is_wanted(path, folder)
    try:
        make_private_folder(user_data_dir())
        with only_one(user_data_dir() / _KNOWN / ".lock"):  # of processes that decide about a database
            mark = _mark_of(path)  # another process may have been faster
            if not (keeps or _is_known(mark, path)) and path.exists() and path.stat().st_size:
                _set_aside(path, folder)
                mark = None
            if mark is None:
                mark = secrets.randbits(_MARK_BITS)
            _remember(mark, path)
            return mark
    except OSError as error:
        reason = error.strerror or error
        msg = f"{path} cannot be entered in the list of the databases that mdvec has made: {reason}"
        hint = f"Make {user_data_dir()} writable, or keep the index elsewhere: --data-dir DIR."
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
