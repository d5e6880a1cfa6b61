"""The store of a workspace, the collections registered in it, and the next command to run for them."""

from __future__ import annotations

import shlex
import threading
import time
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from msgspec.structs import replace

from mdvec import registry
from mdvec.config.paths import database_place, is_folder_name
from mdvec.config.schema import Config
from mdvec.errors import (
    CollectionExistsError,
    CollectionNotFoundError,
    NoIndexError,
    SourceMissingError,
    StoreError,
    UsageError,
)
from mdvec.stores.interface import Store, View
from mdvec.text.addresses import without_password
from mdvec.text.folding import nfc
from mdvec.text.undecodable import spelled
from mdvec.types.collection import (
    DEFAULT_SOURCE,
    ChunkingSpec,
    Collection,
    EmbeddingSpec,
    SearchDefaults,
    SourceSpec,
    check_collection_name,
)
from mdvec.types.folder_context import FolderContext, context_line
from mdvec.types.report import ImportMode
from mdvec.workspace.databases import (
    DOCS_COLLECTION,
    FolderChoice,
    hide_from_git,
    open_database,
    register_folder,
)
from mdvec.workspace.wiring import Parts, set_only

if TYPE_CHECKING:
    from mdvec.config.presets import Preset


_MOST_DESCRIPTION_CHARS = 500  # a description becomes that of a tool for agents
_WEB = ("https://", "http://", "ssh://", "git@")


class Registration(TypedDict, total=False):
    """What a collection can be registered with; what is left out is as the preset says, or as configured.

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


class Changes(TypedDict, total=False):
    """What can be changed of a registered collection; None leaves a field as it is."""

    description: str | None
    location: str | None
    include: Sequence[str] | None
    exclude: Sequence[str] | None
    chunking: ChunkingSpec | None
    search: SearchDefaults | None
    enabled: bool | None
    new_name: str | None


class Collections:
    """The collections of one database. Safe to use from several threads.

    Attributes:
        location: Absolute path of the database, or its address.
        docs_dir: The folder whose index it is; None when collections are registered in it.
    """

    def __init__(
        self,
        location: Path | str,
        config: Config,
        *,
        docs_dir: Path | None,
        came_with: Path | None,
        parts: Parts,
        choice: FolderChoice,
        makes: bool,
    ) -> None:
        self.location = location
        self._came_with = came_with
        self._config = config
        self.docs_dir = docs_dir
        self._parts = parts
        self._choice = choice
        self._makes = makes
        self._store: Store | None = None
        self._opening = threading.Lock()
        self._closed = False

    @property
    def shown(self) -> str:
        """The location for people, without a password."""
        return without_password(str(self.location))

    @property
    def is_open(self) -> bool:
        """Whether the store is open."""
        return self._store is not None

    def store(self) -> Store:
        """Return the store; the first call opens it, and makes it when it is not there.

        Raises:
            NoIndexError: If it is not there and must not be made.
            StoreError: If it was closed.
        """
        with self._opening:
            if self._closed:  # by another thread; nobody would close what this one opened
                msg = "the workspace has been closed"
                raise StoreError(msg)
            if self._store is None:
                self._check_may_make()
                store = open_database(self.location, self._config, folder=self._came_with)
                try:
                    if self.docs_dir is not None:
                        register_folder(self.docs_dir, store, self._parts, self._choice)
                        if isinstance(self.location, Path):
                            hide_from_git(self.location.parent)
                except BaseException:
                    store.close()
                    raise
                self._store = store
            return self._store

    @property
    def is_missing(self) -> bool:
        """Whether the store is a file that is not there, and must not be made."""
        return not self._makes and isinstance(self.location, Path) and not self.location.exists()

    def _check_may_make(self) -> None:
        if self.is_missing:
            hint = None
            if self.docs_dir is not None:
                hint = f"'{self.import_command([], ImportMode.UPDATE)}' creates it."
            msg = f"there is no index yet: {self.shown} does not exist"
            if is_folder_name(self.location):
                msg = f"{self.shown} does not exist: there is neither an index nor anything published"
                hint = "Connect the disk that it is on, or create an index there with 'mdvec tool add'."
            raise NoIndexError(msg, hint=hint)

    def close(self) -> None:
        """Close the store for good; a second call does nothing."""
        with self._opening:
            self._closed = True
            store, self._store = self._store, None
        if store is not None:
            store.close()

    def compact(self) -> tuple[int, int]:
        """Rewrite the store without what was deleted, and return its bytes before and after."""
        store = self.store()
        before = store.size_bytes
        with store.write() as writer:
            writer.drop_unused()
        store.compact()
        return before, store.size_bytes

    # --- reading -------------------------------------------------------------------------------

    def chosen(
        self, names: Sequence[str], view: View | None = None, *, include_disabled: bool = False
    ) -> list[Collection]:
        """Return the collections of these names, each once; all of them without any.

        Raises:
            CollectionNotFoundError: If one of them does not exist.
        """
        if view is None:
            if self.is_missing and not names:
                return []
            with self.store().read() as fresh:
                return self.chosen(names, fresh, include_disabled=include_disabled)
        known = {each.name: each for each in self._usable(view)}
        if not names:
            return [each for each in known.values() if each.enabled or include_disabled]
        missing = next((name for name in names if name not in known), None)
        if missing is not None:
            hint = (
                f"Known: {', '.join(known)}."
                if known
                else "Add one with 'mdvec tool add -n NAME -d TEXT -s DIR'."
            )
            msg = f"there is no collection {missing!r} in {self.shown}"
            raise CollectionNotFoundError(msg, hint=hint)
        return [known[name] for name in dict.fromkeys(names)]

    def named(self, name: str, view: View | None = None) -> Collection:
        """Return one collection, enabled or not.

        Raises:
            CollectionNotFoundError: If there is none of that name.
        """
        return self.chosen((name,), view)[0]

    def _usable(self, view: View) -> Sequence[Collection]:
        """Return the collections; a folder has only one, even if its database has others."""
        return [
            replace(each, description=_one_line(each.description))
            for each in view.collections()
            if self.docs_dir is None or each.name == DOCS_COLLECTION
        ]

    # --- the next step -------------------------------------------------------------------------

    def import_command(self, names: Sequence[str], mode: ImportMode) -> str:
        """Return the command that imports some collections, or the folder whose index this is."""
        configured = self._config.store.location
        if self.docs_dir is None:
            words = [word for name in names for word in ("-n", name)]
            words += [] if mode is ImportMode.NEW else ["-m", mode.value]
        else:
            words, configured = ["--docs-dir", str(self.docs_dir)], None
        usual = database_place(configured, database=None, docs_dir=self.docs_dir, data_dir=None)
        if self.location != usual:
            words += ["--database", self.shown]
        return shlex.join(["mdvec", "import", *words])

    def first_step(self, searched: Sequence[Collection]) -> str:
        """Return how to get something to search; empty when all that was searched was imported."""
        if not searched:
            return (
                "No collection is enabled. Add one with 'mdvec tool add -n NAME -d TEXT -s DIR'; "
                "'mdvec tool ls --all' shows those that are disabled."
            )
        new = [each.name for each in searched if each.last_indexed_ms is None]
        return f"Nothing is indexed yet. Run '{self.import_command(new, ImportMode.NEW)}'." if new else ""

    # --- writing -------------------------------------------------------------------------------

    def add(self, name: str, description: str, location: str, **options: Unpack[Registration]) -> Collection:
        """Register a source; see :meth:`mdvec.workspace.Workspace.add_collection`.

        A chunker, model, key or server that cannot be used is an error here, not in the middle of an import.
        """
        if self.docs_dir is not None:
            msg = f"the database of {self.docs_dir} is for that folder only"
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
        chunking = chunking or self._parts.configured_chunking
        self._parts.check_chunking(chunking)
        if embedding is not None:
            embedding = self._parts.embedders.checked(embedding)
        elif self._parts.embedders.is_chosen:
            # It stays the configuration's until the first import.
            self._parts.embedders.checked(self._parts.embedders.configured)
        settings = set_only(embedding=embedding, search=search, preset=preset.name if preset else None)
        now_ms = _now_ms()
        with self.store().write() as writer:
            made = writer.add_collection(name, _one_line(spelled(description)), source, chunking)
            return writer.change_collection(
                made.id, lambda now: replace(now, **settings, created_ms=now_ms, updated_ms=now_ms)
            )

    def update(self, name: str, **changes: Unpack[Changes]) -> Collection:
        """Change what is registered; see :meth:`mdvec.workspace.Workspace.update_collection`."""
        collection = self.named(name)
        given = set_only(**changes)
        new_name = given.pop("new_name", None)
        if new_name is not None:
            self._check_can_rename(new_name)
            given["name"] = new_name
        if "chunking" in given:
            self._parts.check_chunking(given["chunking"])
        if "description" in given:
            given["description"] = _one_line(spelled(given["description"]))
        location = given.pop("location", None)
        place = None if location is None else source_spec(location, (), ())
        globs: dict[str, Any] = {key: tuple(given.pop(key)) for key in ("include", "exclude") if key in given}
        with self.store().write() as writer:
            if any(each.name == new_name and each.id != collection.id for each in writer.collections()):
                msg = f"there is already a collection named {new_name!r}"
                raise CollectionExistsError(msg)
            return writer.change_collection(
                collection.id, lambda now: _updated(now, replace(_moved(now, place, globs), **given))
            )

    def _check_can_rename(self, new_name: str) -> None:
        check_collection_name(new_name)
        if self.docs_dir is not None:
            msg = "the collection of --docs-dir cannot be renamed"
            raise UsageError(msg, hint="Register the folder with 'mdvec tool add' to name it.")

    def delete(self, name: str, *, wait_s: float) -> None:
        """Remove a collection; see :meth:`mdvec.workspace.Workspace.delete_collection`."""
        collection, store = self.named(name), self.store()
        with (
            store.claim(collection, f"deleting {name}", wait_s=wait_s) as claim,
            store.write(claim) as writer,
        ):
            writer.delete_collection(collection.id)


def source_spec(location: str, include: Sequence[str], exclude: Sequence[str]) -> SourceSpec:
    """Parse a source; nothing but a folder of this machine is looked for.

    Args:
        location: ``NAME:PLACE`` or ``NAME+ADDRESS`` for a source of that name, such as
            ``github:OWNER/REPO[@REF][:PATH]``, ``git+URL[@REF][:PATH]`` and ``s3://BUCKET[/PATH]``; else a
            folder. A folder whose name starts so is written ``./github:…``.
        include: Globs of files to take; all when empty.
        exclude: Globs of files to leave out.

    Returns:
        What a collection keeps, in one spelling for one place.

    Raises:
        ConfigError: If the extension that it names cannot be loaded, or what it needs is not installed.
        UsageError: If it starts like a repository and is none, or carries a password.
        SourceMissingError: If there is no such folder.
    """
    if location.startswith(_WEB):
        msg = f"a repository needs its kind, not {location.partition('://')[0]!r} alone"
        raise SourceMissingError(msg, hint="Write github:OWNER/REPO, or git+ in front of the address.")
    kind, place = registry.named_source(location)
    place = registry.load("sources", kind).parse(place)
    return SourceSpec(kind, place, tuple(include), tuple(exclude))


def _one_line(description: str) -> str:
    """Return a description as agents may read it: one line, without control characters, and limited."""
    line = "".join(each if each.isprintable() else " " for each in description)
    return " ".join(line.split())[:_MOST_DESCRIPTION_CHARS]


def _updated(before: Collection, after: Collection) -> Collection:
    return before if after == before else replace(after, updated_ms=_now_ms())


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


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
            text: A sentence; it becomes one line of 300 characters at most.

        Raises:
            CollectionNotFoundError: If there is no such collection.
            UsageError: If the text is empty, or the folder is not in the source.
        """
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
        if not any(each.folder == place and not each.from_file for each in collection.folder_contexts):
            msg = f"no context was set for {place or 'the root'} of {name}"
            raise UsageError(msg, hint=f"'mdvec tool context -n {name}' lists them.")
        self._write(collection, place, None)

    def holds_documents(self, name: str, folder: str) -> bool:
        """Return True if a document is indexed below a folder, given as in the context of one."""
        collection = self._collections.named(name)
        prefix = f"{folder}/" if folder else ""
        with self._collections.store().read() as view:
            return bool(view.documents(collection.id, after="", prefix=prefix, limit=1))

    def _write(self, collection: Collection, folder: str, made: FolderContext | None) -> None:
        def changed(now: Collection) -> Collection:
            others = [each for each in now.folder_contexts if each.from_file or each.folder != folder]
            return replace(now, folder_contexts=(*others, *([made] if made else [])))

        with self._collections.store().write() as writer:
            writer.change_collection(collection.id, changed)


def _folder_of(folder: str, collection: Collection) -> str:
    """Return a folder as paths of documents spell it.

    Raises:
        UsageError: If it is not in the source of the collection.
    """
    place = PurePosixPath(nfc(spelled(folder.replace("\\", "/"))))
    root = PurePosixPath(nfc(spelled(collection.source.location)))
    is_local = collection.source.kind == DEFAULT_SOURCE
    if is_local and place.is_absolute() and place.is_relative_to(root):
        place = place.relative_to(root)
    if place.is_absolute() or ".." in place.parts:
        msg = f"{folder} is not a folder of {collection.name}"
        raise UsageError(msg, hint=f"Give its path relative to {collection.source}, or '.' for all of it.")
    return "" if place == PurePosixPath() else str(place)
