"""The collections of a database: choosing, registering, changing, deleting, and what their folders hold."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from msgspec.structs import replace

from mdvec import registry
from mdvec.config.schema import Config
from mdvec.errors import (
    CollectionExistsError,
    CollectionNotFoundError,
    SourceMissingError,
    StoreError,
    UsageError,
    WorkspaceClosedError,
)
from mdvec.files import inside
from mdvec.settings import set_only
from mdvec.stores.interface import Store, View
from mdvec.stores.pool import closed_on_error
from mdvec.text.folding import nfc, spelled
from mdvec.types.collection import (
    DEFAULT_SOURCE,
    DOCS_COLLECTION,
    ChunkingSpec,
    Collection,
    EmbeddingSpec,
    SearchDefaults,
    SourceSpec,
    check_collection_name,
)
from mdvec.types.folder_context import CONTEXT_FILE, MAX_CHARS, FolderContext, context_line
from mdvec.types.ids import CollectionId
from mdvec.types.report import ImportMode
from mdvec.types.store_report import PublishedVersion
from mdvec.workspace.database import (
    DatabasePlace,
    hide_from_git,
    no_index,
    open_database,
    register_folder,
    registered,
)
from mdvec.workspace.stages import Stages

if TYPE_CHECKING:
    from mdvec.config.presets import Preset

PUBLISH_AGAIN = "import where it is published, and publish again"
"""The next step where a published copy is not complete."""

PUSH = "push"
"""The source of collections whose sections programs write."""

_MAX_DESCRIPTION_CHARS = 500  # a description becomes that of a tool for agents
_WEB = ("https://", "http://", "ssh://", "git@")


class Registration(TypedDict, total=False):
    """The settings of a new collection; the preset decides what is left out, or else the configuration.

    Attributes:
        include: Globs of files to take; all when empty.
        exclude: Globs of files to leave out.
        chunking: How it is cut.
        embedding: Its embedding model, tried before anything is written; without one, the configuration
            decides, until the first import.
        search: Search defaults when only this collection is searched.
        preset: See :func:`mdvec.config.presets.load_preset`.
    """

    include: Sequence[str]
    exclude: Sequence[str]
    chunking: ChunkingSpec | None
    embedding: EmbeddingSpec | None
    search: SearchDefaults | None
    preset: Preset | None


class CollectionChanges(TypedDict, total=False):
    """The fields to change of a registered collection; None leaves a field as it is."""

    description: str | None
    location: str | Path | None
    include: Sequence[str] | None
    exclude: Sequence[str] | None
    chunking: ChunkingSpec | None
    search: SearchDefaults | None
    enabled: bool | None
    new_name: str | None


class Collections:
    """The collections of a workspace. Safe to use from several threads.

    Attributes:
        place: Which database they are registered in.
        stages: Tries what they are registered with, and makes what the folder of ``place`` is indexed with.
        unreadable: Why sources cannot be read, by the name of a collection, each until it was read again.

    The configuration chooses the kind of store, and its vector index.
    """

    def __init__(self, place: DatabasePlace, config: Config, stages: Stages) -> None:
        self.place = place
        self.stages = stages
        self.unreadable: dict[str, str] = {}
        self._config = config
        self._store: Store | None = None
        self._opening = threading.Lock()
        self._closed = False

    @property
    def is_open(self) -> bool:
        """Whether the store is open."""
        return self._store is not None

    @property
    def published(self) -> PublishedVersion | None:
        """The version of a published copy, which cannot be imported here; None for any other store."""
        return self.store().published

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why answers may be incomplete, for people."""
        return self.store().warnings

    @property
    def size_bytes(self) -> int:
        """Bytes that the store takes."""
        return self.store().size_bytes

    def damage(self) -> list[StoreError]:
        """Examine the whole store; slow. See :meth:`mdvec.stores.interface.Store.check`."""
        return self.store().check()

    def read(self) -> AbstractContextManager[View]:
        """Open a snapshot."""
        return self.store().read()

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
            raise no_index(place)
        store = open_database(place.location, self._config, folder=place.came_with)
        if place.docs_dir is not None:
            with closed_on_error(store):
                register_folder(place.docs_dir, store, self.stages, place.choice)
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

    # --- reading -------------------------------------------------------------------------------

    def chosen(
        self, names: Sequence[str], view: View | None = None, *, include_disabled: bool = False
    ) -> list[Collection]:
        """Return the collections of these names, each once; all of them without any.

        Raises:
            CollectionNotFoundError: If one of them does not exist.
        """
        if view is None:
            if self.place.is_missing and not names:
                return []
            with self.read() as fresh:
                return self.chosen(names, fresh, include_disabled=include_disabled)
        names = (names,) if isinstance(names, str) else names  # it is a sequence of strings, too
        # No name has a comma, and people and models write several names so.
        names = [part.strip() for name in names for part in name.split(",")]
        # A folder has one collection and those of programs, even if its database has others.
        known = {
            each.name: replace(each, description=_one_line(each.description))
            for each in view.collections.all()
            if self.place.docs_dir is None or each.name == DOCS_COLLECTION or each.source.kind == PUSH
        }
        if not names:
            return [each for each in known.values() if each.enabled or include_disabled]
        missing = next((name for name in names if name not in known), None)
        if missing is not None:
            hint = (
                f"Known: {', '.join(known)}."
                if known
                else "Add one with 'mdvec tool add -n NAME -d DESCRIPTION -s DIR'."
            )
            msg = f"there is no collection {missing!r} in {self.place.shown}"
            raise CollectionNotFoundError(msg, hint=hint)
        return [known[name] for name in dict.fromkeys(names)]

    def named(self, name: str, view: View | None = None) -> Collection:
        """Return one collection, enabled or not.

        Raises:
            CollectionNotFoundError: If there is none of that name.
        """
        return self.chosen((name,), view)[0]

    # --- the next step -------------------------------------------------------------------------

    def first_step(self, searched: Sequence[Collection]) -> str:
        """Return how to get something to search; empty when all that was searched was imported."""
        if not searched:
            return (
                "No collection is enabled. Add one with 'mdvec tool add -n NAME -d DESCRIPTION -s DIR'; "
                "'mdvec tool ls --all' shows those that are disabled."
            )
        new = [each.name for each in searched if each.last_indexed_ms is None]
        return (
            f"Nothing is indexed yet. Run '{self.place.import_command(new, ImportMode.NEW)}'." if new else ""
        )

    def completed_by(self, names: Sequence[str], effect: str) -> str:
        """Return what completes some collections; see :class:`mdvec.search.advice.Commands`."""
        if self.published is not None:
            return PUBLISH_AGAIN
        return f"'{self.place.import_command(names, ImportMode.UPDATE)}' {effect}"

    # --- writing -------------------------------------------------------------------------------

    def add(
        self, name: str, description: str, location: str | Path, **options: Unpack[Registration]
    ) -> Collection:
        """Register a source; see :meth:`mdvec.workspace.Workspace.add_collection`.

        A chunker, model, key or server that cannot be used is an error here, not in the middle of an import.
        """
        if self.place.docs_dir is not None and str(location) != f"{PUSH}:":
            msg = f"the database of {self.place.docs_dir} is for that folder only"
            raise UsageError(msg, hint="Leave out --docs-dir to register another folder.")
        check_collection_name(name)
        include, exclude = options.get("include", ()), options.get("exclude", ())
        chunking, embedding = options.get("chunking"), options.get("embedding")
        search, preset = options.get("search"), options.get("preset")
        if preset is not None:
            include, exclude = include or preset.include, exclude or preset.exclude
            chunking, embedding = chunking or preset.chunking, embedding or preset.embedding
            search = search or preset.search
        source = source_spec(location, include, exclude)
        chunking = chunking or self.stages.configured_chunking
        self.stages.check_chunking(chunking)
        if embedding is not None:
            embedding = self.stages.models.check(embedding)
        elif self.stages.models.is_chosen:
            # It stays the configuration's until the first import.
            self.stages.models.check(self.stages.models.configured)
        settings = set_only(embedding=embedding, search=search, preset=preset.name if preset else None)
        description = _one_line(spelled(description))
        collection = Collection(CollectionId(0), name, description, source, chunking, **settings)
        with self.store().write() as writer:
            return writer.collections.add(registered(collection))

    def update(self, name: str, **changes: Unpack[CollectionChanges]) -> Collection:
        """Change what is registered; see :meth:`mdvec.workspace.Workspace.update_collection`."""
        collection = self.named(name)
        given = set_only(**changes)
        new_name = given.pop("new_name", None)
        if new_name is not None:
            self._check_can_rename(new_name)
            given["name"] = new_name
        if "chunking" in given:
            self.stages.check_chunking(given["chunking"])
        if "description" in given:
            given["description"] = _one_line(spelled(given["description"]))
        location = given.pop("location", None)
        place = None if location is None else source_spec(location, (), ())
        globs: dict[str, Any] = {key: tuple(given.pop(key)) for key in ("include", "exclude") if key in given}
        with self.store().write() as writer:
            if any(each.name == new_name and each.id != collection.id for each in writer.collections.all()):
                msg = f"there is already a collection named {new_name!r}"
                raise CollectionExistsError(msg)
            return writer.collections.change(
                collection.id, lambda now: _updated(now, replace(_moved(now, place, globs), **given))
            )

    def _check_can_rename(self, new_name: str) -> None:
        check_collection_name(new_name)
        if self.place.docs_dir is not None:
            msg = "the collection of --docs-dir cannot be renamed"
            raise UsageError(msg, hint="Register the folder with 'mdvec tool add' to name it.")

    def delete(self, name: str, *, wait_s: float) -> None:
        """Remove a collection; see :meth:`mdvec.workspace.Workspace.delete_collection`."""
        collection, store = self.named(name), self.store()
        with (
            store.claim(collection, f"deleting {name}", wait_s=wait_s) as claim,
            store.write(claim) as writer,
        ):
            writer.collections.delete(collection.id)


def source_spec(location: str | Path, include: Sequence[str], exclude: Sequence[str]) -> SourceSpec:
    """Parse a source; nothing but a folder of this machine is looked for.

    Args:
        location: ``NAME:PLACE`` or ``NAME+ADDRESS`` for a source of that name, such as
            ``github:OWNER/REPO[@REF][:PATH]``, ``git+URL[@REF][:PATH]`` and ``s3://BUCKET[/PATH]``; else a
            folder. A folder whose name starts so is written ``./github:…``; a path is always one.
        include: Globs of files to take; all when empty.
        exclude: Globs of files to leave out.

    Returns:
        What a collection keeps, in one spelling for one place.

    Raises:
        ConfigError: If the extension that it names cannot be loaded, or what it needs is not installed.
        UsageError: If it starts like a repository and is none, or carries a password.
        SourceMissingError: If there is no such folder.
    """
    location = str(location.absolute()) if isinstance(location, Path) else location
    if not location.strip():
        msg = "the source is empty"
        raise SourceMissingError(msg, hint="Give a folder, such as ~/Notes, or '.' for the current one.")
    if location.startswith(_WEB):
        msg = f"a repository needs its kind, not {location.partition('://')[0]!r} alone"
        raise SourceMissingError(msg, hint="Write github:OWNER/REPO, or git+ in front of the address.")
    kind, place = registry.named_source(location)
    place = registry.load("sources", kind).parse(place)
    return SourceSpec(kind, place, tuple(include), tuple(exclude))


def _one_line(description: str) -> str:
    """Return a description as agents may read it: one line, without control characters, and limited."""
    line = "".join(each if each.isprintable() else " " for each in description)
    return " ".join(line.split())[:_MAX_DESCRIPTION_CHARS]


def _updated(before: Collection, after: Collection) -> Collection:
    return before if after == before else registered(after)


def _moved(now: Collection, place: SourceSpec | None, globs: dict[str, Any]) -> Collection:
    source = replace(now.source, **globs)
    if place is not None:
        source = replace(source, kind=place.kind, location=place.location)
    # Of another place nothing is imported yet.
    return replace(now, source=source, revision=now.revision if source == now.source else "")


class Folders:
    """The contexts of folders. A part of :class:`mdvec.workspace.Workspace`."""

    def __init__(self, collections: Collections) -> None:
        self._collections = collections

    def set_context(self, name: str, folder: str, text: str) -> FolderContext:
        """Set the context of a folder, in place of any set before; every hit below the folder shows it.

        Args:
            name: The collection.
            folder: Relative to its source, empty or ``.`` for the root; or absolute, of a folder in it.
            text: A sentence; it becomes one line.

        Raises:
            CollectionNotFoundError: If there is no such collection.
            UsageError: If the text is empty or too long, or the folder is not in the source.
        """
        if len(text) > MAX_CHARS:
            msg = f"the context has {len(text):,} characters; at most {MAX_CHARS} are shown with every hit"
            raise UsageError(msg, hint="Shorten it to a sentence.")
        line = context_line(spelled(text))
        if not line:
            msg = "the context is empty"
            raise UsageError(msg, hint="Give a sentence, or --remove.")
        collection = self._collections.named(name)
        made = FolderContext(_folder_of(folder, collection), line)
        self._write(collection, made.folder, made)
        return made

    def remove_context(self, name: str, folder: str) -> None:
        """Remove the context of a folder; that in its own file is shown again.

        Raises:
            CollectionNotFoundError: If there is no such collection.
            UsageError: If nothing was set for the folder.
        """
        collection = self._collections.named(name)
        place = _folder_of(folder, collection)
        known = [each.from_file for each in collection.folder_contexts if each.folder == place]
        if False not in known:
            msg = f"no context was set for {place or 'the root'} of {name}"
            hint = f"'mdvec tool context -n {name}' lists them."
            if known:
                hint = f"It comes from the folder's own file {CONTEXT_FILE}: change or delete that."
            raise UsageError(msg, hint=hint)
        self._write(collection, place, None)

    def holds_documents(self, name: str, folder: str) -> bool:
        """Return True if a document is indexed below a folder, given as in the context of one."""
        collection = self._collections.named(name)
        prefix = f"{folder}/" if folder else ""
        with self._collections.read() as view:
            return bool(view.documents.page(collection.id, after="", prefix=prefix, limit=1))

    def _write(self, collection: Collection, folder: str, made: FolderContext | None) -> None:
        def changed(now: Collection) -> Collection:
            others = [each for each in now.folder_contexts if each.from_file or each.folder != folder]
            return replace(now, folder_contexts=(*others, *([made] if made else [])))

        with self._collections.store().write() as writer:
            writer.collections.change(collection.id, changed)


def _folder_of(folder: str, collection: Collection) -> str:
    """Return a folder as paths of documents spell it.

    Raises:
        UsageError: If it is not in the source of the collection.
    """
    given: str | None = nfc(spelled(folder))
    if collection.source.kind == DEFAULT_SOURCE and given and Path(given).is_absolute():
        given = inside(str(Path(given)), nfc(spelled(collection.source.location)))
    path = PurePosixPath("/" if given is None else given.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts:
        msg = f"{folder} is not a folder of {collection.name}"
        raise UsageError(msg, hint=f"Give its path relative to {collection.source}, or '.' for all of it.")
    return "" if path == PurePosixPath() else str(path)
