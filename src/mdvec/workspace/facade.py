"""The workspace: one database and everything that can be done with it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import msgspec

from mdvec.config.paths import default_database
from mdvec.config.schema import Config, SearchSettings
from mdvec.embedding.interface import Embedder
from mdvec.errors import UsageError
from mdvec.stores.interface import StoredChunk
from mdvec.types.collection import ChunkingSpec, Collection, EmbeddingSpec, SearchDefaults
from mdvec.types.hit import SearchResult
from mdvec.types.links import DocumentLinks
from mdvec.types.query import Scope, SearchQuery
from mdvec.types.report import (
    Finding,
    ImportMode,
    ImportReport,
    ListedDocument,
    Passage,
    Progress,
    TagCount,
    WorkspaceStatus,
)
from mdvec.workspace import reading, registering
from mdvec.workspace.answering import answer, is_stale
from mdvec.workspace.checking import describe_all
from mdvec.workspace.database import Database
from mdvec.workspace.first_index import FirstIndex
from mdvec.workspace.folders import DOCS_COLLECTION
from mdvec.workspace.importing import import_into, until
from mdvec.workspace.linking import links_of
from mdvec.workspace.listing import every_chunk, page_of_documents
from mdvec.workspace.memory import idle_limit_s, memory_in_use
from mdvec.workspace.models import Models
from mdvec.workspace.wiring import Parts, given

if TYPE_CHECKING:
    from mdvec.config.presets import Preset

# An import ends with its batch, which takes a moment; what it has not committed then is done again.
_END_WAIT_S = 1.0


class Workspace:
    """One database, its collections, and what can be asked of them. Safe to use from several threads.

    Attributes:
        database: Absolute path of the database; of a database elsewhere, the path it would have here.
        models: What makes the vectors of its collections, and how to change that.
    """

    def __init__(
        self,
        database: Path | str,
        config: Config,
        *,
        docs_dir: Path | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        self.database = database if isinstance(database, Path) else default_database()
        self._config = config
        self._parts = Parts(config, embedder)
        self._database = Database(
            database, config, docs_dir=docs_dir, chunking=self._parts.configured_chunking
        )
        self._closing = threading.Event()
        self.models = Models(self._database, self._parts, config.prices, listening=self._listening)
        self._first_index: FirstIndex | None = None
        if docs_dir is not None:
            run = partial(self.import_collection, DOCS_COLLECTION, mode=ImportMode.UPDATE)
            self._first_index = FirstIndex(self._database, self._parts, run)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop what runs in the background, and release the database."""
        self._closing.set()
        if self._first_index is not None:
            self._first_index.close(_END_WAIT_S)
        self._database.close()

    # --- collections ---------------------------------------------------------------------------

    def collections(self, *, include_disabled: bool = False) -> list[Collection]:
        """Return the collections, by name."""
        return self._database.collections(include_disabled=include_disabled)

    def collection(self, name: str) -> Collection:
        """Return one collection, enabled or not.

        Raises:
            CollectionNotFoundError: If there is none of that name.
        """
        return self._database.collection(name)

    def add_collection(
        self,
        name: str,
        description: str,
        location: str,
        *,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        chunking: ChunkingSpec | None = None,
        embedding: EmbeddingSpec | None = None,
        search: SearchDefaults | None = None,
        preset: Preset | None = None,
    ) -> Collection:
        """Register a source; nothing is indexed yet.

        Args:
            name: ``[a-z][a-z0-9_-]{0,63}``.
            description: What it holds, for the language model that chooses where to search.
            location: The folder, or another source as ``github:OWNER/REPO``.
            include: Globs of files to take; all when empty.
            exclude: Globs of files to leave out.
            chunking: How it is cut; as configured when None.
            embedding: The model that makes its vectors, tried before anything is written; None leaves it to
                the configuration, until the first import.
            search: What a search of it alone does when it is not told.
            preset: What holds where nothing else is said (see :func:`mdvec.config.presets.load_preset`).

        Returns:
            The new collection.

        Raises:
            InvalidNameError: If the name cannot be one.
            SourceMissingError: If there is no such folder.
            CollectionExistsError: If the name is taken.
            ConfigError: If there is no such chunker or model.
            EmbeddingError: If the model cannot be used here; the hint says how to mend it.
            UsageError: If this is the database of a ``docs_dir``.
        """
        if self._database.docs_dir is not None:
            msg = f"the database of {self._database.docs_dir} holds that folder alone"
            raise UsageError(msg, hint="Leave out --docs-dir to register another folder.")
        return registering.add(
            name,
            description,
            location,
            include=include,
            exclude=exclude,
            chunking=chunking,
            embedding=embedding,
            search=search,
            preset=preset,
            store=self._database.store(),
            parts=self._parts,
        )

    def update_collection(
        self,
        name: str,
        *,
        description: str | None = None,
        location: str | None = None,
        include: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        chunking: ChunkingSpec | None = None,
        search: SearchDefaults | None = None,
        enabled: bool | None = None,
    ) -> Collection:
        """Change what is registered; None leaves a field as it is. The next import follows it.

        Another model is chosen with ``models.use``.

        Raises:
            CollectionNotFoundError: If there is no such collection.
            SourceMissingError: If there is no such folder.
            ConfigError: If there is no such chunker.
        """
        return registering.update(
            self.collection(name).id,
            description=description,
            location=location,
            include=include,
            exclude=exclude,
            chunking=chunking,
            search=search,
            enabled=enabled,
            store=self._database.store(),
            parts=self._parts,
        )

    def delete_collection(self, name: str, *, wait_s: float = 60.0) -> None:
        """Remove a collection and its index; the documents themselves are not touched.

        Raises:
            CollectionNotFoundError: If there is no such collection.
            WriterBusyError: If another process writes for longer than ``wait_s`` seconds.
        """
        registering.delete(self.collection(name), self._database.store(), wait_s=wait_s)

    # --- writing -------------------------------------------------------------------------------

    def import_collection(
        self,
        name: str,
        *,
        mode: ImportMode = ImportMode.NEW,
        embed: bool = True,
        allow_empty: bool = False,
        max_tokens: int | None = None,
        overlap_tokens: int | None = None,
        accept_pending: bool = False,
        wait_s: float = 60.0,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Bring a collection up to date with its source.

        Args:
            name: The collection.
            mode: What to do with what is there already.
            embed: Whether to make vectors now; without them it is searched by words.
            allow_empty: Believe a source that is missing or holds nothing.
            max_tokens: Largest chunk from now on; None leaves it as it is.
            overlap_tokens: Overlap of chunks from now on; None leaves it as it is.
            accept_pending: Whether a model that fails on the way, such as a service whose quota is used up,
                ends the import with a report; its ``failure`` says why chunks are pending.
            wait_s: How long to wait for another writer, in seconds.
            progress: Is told how far it is; what it raises ends the import.

        Returns:
            What was done.

        Raises:
            CollectionNotFoundError: If there is no such collection.
            CollectionNotEmptyError: If ``mode`` is ``new`` and it was imported before.
            SourceMissingError: If its folder is not there.
            SourceEmptyError: If its folder holds nothing though documents are known.
            WriterBusyError: If another process writes for longer than ``wait_s``.
            EmbeddingError: If the vectors cannot be made; the words are searched, and what was made is kept.
            ImportStoppedError: If the workspace is closed meanwhile.
        """
        with self._listening(progress) as listener:
            return import_into(
                lambda: self.collection(name),
                store=self._database.store(),
                parts=self._parts,
                mode=mode,
                embed=embed,
                allow_empty=allow_empty,
                max_tokens=max_tokens,
                overlap_tokens=overlap_tokens,
                accept_pending=accept_pending,
                wait_s=wait_s,
                progress=listener,
            )

    # --- reading -------------------------------------------------------------------------------

    def search_settings(self, collections: Sequence[str] = ()) -> SearchSettings:
        """Return what a search does when it is not told: what is configured, or what its one collection says.

        Args:
            collections: Names; all enabled ones when empty.

        Raises:
            CollectionNotFoundError: If one of them does not exist.
        """
        searched = self._database.chosen(collections)
        own = searched[0].search if len(searched) == 1 else SearchDefaults()
        return msgspec.structs.replace(self._config.search, **given(k=own.limit, threshold=own.threshold))

    def search(
        self, query: SearchQuery, *, progress: Progress | None = None, wait_for_vectors: bool = True
    ) -> SearchResult:
        """Answer a query.

        Args:
            query: What to look for.
            progress: Is told how far the first import of a ``docs_dir`` is, or the making of the model.
            wait_for_vectors: Whether to wait for the whole of that import. Otherwise it goes on behind
                the search, which waits for the text alone; :meth:`close` stops it.

        Returns:
            The hits, and how complete the index behind them is.

        Raises:
            InvalidQueryError: If the query is empty.
            CollectionNotFoundError: If it names a collection that does not exist.
            DocumentNotFoundError: If it asks for documents that link to one that is not there.
            EmbedderUnavailableError: If it asks for ``dense`` and there is no model.
        """
        listener: Progress = progress or (lambda *_: None)
        told: tuple[str, ...] = ()
        with self._parts.telling(listener):
            if self._first_index is not None:
                query, told = self._first_index.prepare(query, listener, wait_for_vectors=wait_for_vectors)
            result = answer(
                query,
                lambda: self._database.chosen(query.collections),
                store=self._database.store(),
                parts=self._parts,
                docs_dir=self._database.docs_dir,
                going_on=self._first_index is not None and self._first_index.going_on,
            )
        return replace(result, warnings=(*told, *result.warnings)) if told else result

    def read(
        self,
        path: str,
        *,
        collection: str | None = None,
        lines: reading.Lines | None = None,
        section: str | None = None,
    ) -> Passage:
        """Return a document or a part of it, as it was indexed.

        Args:
            path: As hits show it.
            collection: Where; all enabled collections when None.
            lines: 1-based first and last line, None for an open end.
            section: A heading, instead of lines.

        Returns:
            The passage.

        Raises:
            DocumentNotFoundError: If there is no such document or section.
            UsageError: If the lines do not exist, or the path is in more than one collection.
        """
        document, place = self._database.document(path, collection)
        stale = is_stale(document, self._parts.source(place.source))
        return reading.passage(document, lines=lines, section=section, stale=stale)

    def links(self, path: str, *, collection: str | None = None) -> DocumentLinks:
        """Return what a document links to, what links to it, and which versions of it there are.

        Args:
            path: As hits show it.
            collection: Where; all enabled collections when None.

        Raises:
            DocumentNotFoundError: If there is no such document.
            UsageError: If the path is in more than one collection.
        """
        document, _ = self._database.document(path, collection)
        return links_of(document, self._database.store().catalog)

    def documents(
        self,
        collection: str | None = None,
        *,
        after: tuple[str, str] | None = None,
        prefix: str = "",
        limit: int = 100,
    ) -> list[ListedDocument]:
        """List documents in order of collection and path, a page at a time.

        Args:
            collection: Only those of this one; of all enabled ones when None.
            after: Collection and path of the last document of the page before; it may be gone.
            prefix: Only paths that start so.
            limit: Most documents on the page.

        Raises:
            CollectionNotFoundError: If there is no such collection.
        """
        places = self._database.chosen((collection,) if collection else ())
        catalog = self._database.store().catalog
        return page_of_documents(places, catalog, after=after, prefix=prefix, limit=limit)

    def generation(self) -> int:
        """Return a number that grows whenever anything in the database changes, by any process."""
        return self._database.store().generation

    def free_idle_model(self) -> bool:
        """Free the memory of a model that was not used for ``[embedding] auto_unload_minutes``.

        A minute is long enough above ``[embedding] memory_threshold``. The next search that needs it
        loads it again.

        Returns:
            Whether there was anything to free.
        """
        settings = self._config.embedding
        limit_s = idle_limit_s(settings.auto_unload_minutes, settings.memory_threshold, memory_in_use())
        return limit_s is not None and self._parts.embedders.unload(idle_s=limit_s)

    def tags(self, collections: Sequence[str] = ()) -> list[TagCount]:
        """Count the documents of each tag, most used first.

        Args:
            collections: Names; all enabled ones when empty.

        Raises:
            CollectionNotFoundError: If one of them does not exist.
        """
        searched = self._database.chosen(tuple(collections))
        return self._database.store().catalog.tags(Scope(tuple(collection.id for collection in searched)))

    def chunks(self, collections: Sequence[str] = ()) -> Iterator[StoredChunk]:
        """Walk all chunks of some collections, or of all enabled ones, by collection, path and position.

        Raises:
            CollectionNotFoundError: If one of them does not exist.
        """
        yield from every_chunk(self._database.chosen(tuple(collections)), self._database.store().catalog)

    def status(self, name: str | None = None, *, files: bool = False, check: bool = False) -> WorkspaceStatus:
        """Say what is indexed, and whether it is true.

        Args:
            name: One collection; all of them, disabled ones included, when None.
            files: Whether to list the state of every file.
            check: Whether to compare the disk with the index.

        Raises:
            CollectionNotFoundError: If there is no such collection.
        """
        return describe_all((name,) if name else (), self._database, self._parts, files=files, check=check)

    def doctor(self) -> list[Finding]:
        """Look for what keeps mdvec from working well here."""
        from mdvec.workspace.doctor import examine

        return examine(self._database, self._parts)

    # --- inside --------------------------------------------------------------------------------

    @contextmanager
    def _listening(self, progress: Progress | None) -> Iterator[Progress]:
        """Have a call's listener told of everything, and end the call when the workspace is closed."""
        with until(self._closing, progress) as listener, self._parts.telling(listener):
            yield listener
