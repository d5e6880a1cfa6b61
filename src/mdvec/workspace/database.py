"""The database of a workspace, opened once, and the one collection of a folder that is not registered."""

from __future__ import annotations

import contextlib
import os
import shlex
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from mdvec.clock import now_ms
from mdvec.config.paths import DATA_DIR, is_folder_name
from mdvec.config.schema import Config
from mdvec.errors import NoIndexError, WorkspaceClosedError
from mdvec.stores.interface import Store, View
from mdvec.stores.pool import closed_on_error
from mdvec.text.addresses import without_password
from mdvec.text.undecodable import spelled
from mdvec.types.collection import DEFAULT_SOURCE, ChunkingSpec, Collection, EmbeddingSpec, SourceSpec
from mdvec.types.report import ImportMode
from mdvec.workspace.opening import open_database
from mdvec.workspace.stages import Stages

if TYPE_CHECKING:
    from mdvec.config.presets import Preset


DOCS_COLLECTION = "docs"
"""Name of the one collection of a folder that is used without registering it."""


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
        database = ("--database", self.shown) if self.is_named else ()
        return shlex.join(["mdvec", *words, *folder, *database])


class WorkspaceDatabase:
    """The store of a workspace. Safe to use from several threads.

    Args:
        place: Which database.
        config: Chooses the kind of store, and its vector index.
        stages: Makes what the folder of ``place`` is indexed with.
    """

    def __init__(self, place: DatabasePlace, config: Config, stages: Stages) -> None:
        self.place = place
        self._config = config
        self._stages = stages
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
                register_folder(place.docs_dir, store, self._stages, place.choice)
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


def _no_index(place: DatabasePlace) -> NoIndexError:
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
        return after if same else replace(after, last_indexed_ms=None, updated_ms=now_ms())

    if docs is not None and changed(docs) == docs:
        return
    with store.write() as writer:
        docs = _docs(writer)  # another process may have been faster
        if docs is None:
            description = f"Documents in {spelled(str(folder))}"
            docs = writer.collections.add(DOCS_COLLECTION, description, source, stages.configured_chunking)
            made_ms = now_ms()
            writer.collections.change(
                docs.id, lambda now: replace(now, created_ms=made_ms, updated_ms=made_ms)
            )
        writer.collections.change(docs.id, changed)


def hide_from_git(directory: Path) -> None:
    """Keep an index that lies among documents out of their repository."""
    rules = directory / ".gitignore"
    if directory.name == DATA_DIR:
        # What has that name stays, a link too; and a place that can only be read is no reason to fail.
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
