"""The workspace: one database and everything that can be done with it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from mdvec.config.schema import Config
from mdvec.embedding.interface import Embedder
from mdvec.errors import CollectionNotFoundError, UsageError
from mdvec.model.collection import ChunkingSpec, Collection, SourceSpec
from mdvec.model.hit import SearchResult
from mdvec.model.names import check_collection_name
from mdvec.model.query import Scope, SearchQuery
from mdvec.model.report import (
    CollectionCounts,
    Finding,
    ImportMode,
    ImportReport,
    ImportStage,
    ListedDocument,
    Passage,
    Progress,
    TagCount,
    WorkspaceStatus,
)
from mdvec.stores.interface import Store, StoredChunk
from mdvec.text.undecodable import spelled
from mdvec.workspace import reading
from mdvec.workspace.answering import answer, is_stale, space_in_use
from mdvec.workspace.checking import describe, model_in_use
from mdvec.workspace.first_index import FirstIndex
from mdvec.workspace.folders import DOCS_COLLECTION, existing_folder, hide_from_git, named, register
from mdvec.workspace.importing import import_into, until
from mdvec.workspace.wiring import Parts, given, make_store

# An import ends with its batch, which takes a moment; what it has not committed then is done again.
_END_WAIT_S = 1.0


class Workspace:
    """One database, its collections, and what can be asked of them. Safe to use from several threads.

    Attributes:
        database: Absolute path of the database.
    """

    def __init__(
        self,
        database: Path,
        config: Config,
        *,
        docs_dir: Path | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        self.database = database
        self._config = config
        self._docs_dir = docs_dir
        self._parts = Parts(config, embedder)
        self._store: Store | None = None
        self._opening = threading.Lock()
        self._closing = threading.Event()
        self._first_index: FirstIndex | None = None
        if docs_dir is not None:
            self._first_index = FirstIndex(
                partial(self.collection, DOCS_COLLECTION),
                self._docs_counts,
                partial(self.import_collection, DOCS_COLLECTION, mode=ImportMode.UPDATE),
            )

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
        with self._opening:
            store, self._store = self._store, None
        if store is not None:
            store.close()

    # --- collections ---------------------------------------------------------------------------

    def collections(self, *, include_disabled: bool = False) -> list[Collection]:
        """Return the collections, by name."""
        found = self._open().catalog.collections()
        return [collection for collection in found if collection.enabled or include_disabled]

    def collection(self, name: str) -> Collection:
        """Return one collection, enabled or not.

        Raises:
            CollectionNotFoundError: If there is none of that name.
        """
        found = named(name, self._open().catalog)
        if found is not None:
            return found
        msg = f"there is no collection {name!r} in {self.database}"
        known = ", ".join(each.name for each in self.collections(include_disabled=True))
        raise CollectionNotFoundError(
            msg, hint=f"Known: {known}." if known else "Add one with 'mdvec tool add -n NAME -d TEXT -s DIR'."
        )

    def add_collection(
        self,
        name: str,
        description: str,
        location: str,
        *,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
    ) -> Collection:
        """Register a folder; nothing is indexed yet.

        Args:
            name: ``[a-z][a-z0-9_-]{0,63}``.
            description: What it holds, for the language model that chooses where to search.
            location: The folder.
            include: Globs of files to take; all when empty.
            exclude: Globs of files to leave out.

        Returns:
            The new collection.

        Raises:
            InvalidNameError: If the name cannot be one.
            SourceMissingError: If there is no such folder.
            CollectionExistsError: If the name is taken.
            UsageError: If this is the database of a ``docs_dir``.
        """
        if self._docs_dir is not None:
            msg = f"the database of {self._docs_dir} holds that folder alone"
            raise UsageError(msg, hint="Leave out --docs-dir to register another folder.")
        check_collection_name(name)
        source = SourceSpec("folder", existing_folder(location), tuple(include), tuple(exclude))
        store = self._open()
        with store.transaction():
            return store.catalog.add_collection(
                name, spelled(description), source, ChunkingSpec(self._config.chunking.strategy)
            )

    def update_collection(
        self,
        name: str,
        *,
        description: str | None = None,
        location: str | None = None,
        include: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        enabled: bool | None = None,
    ) -> Collection:
        """Change what is registered; None leaves a field as it is. The next import follows it.

        Raises:
            CollectionNotFoundError: If there is no such collection.
            SourceMissingError: If there is no such folder.
        """
        changes = given(description=None if description is None else spelled(description), enabled=enabled)
        source_changes = given(
            location=None if location is None else existing_folder(location),
            include=None if include is None else tuple(include),
            exclude=None if exclude is None else tuple(exclude),
        )
        collection = self.collection(name)
        store = self._open()
        with store.transaction():
            return store.catalog.change_collection(
                collection.id,
                lambda now: replace(now, source=replace(now.source, **source_changes), **changes),
            )

    def delete_collection(self, name: str, *, wait_s: float = 60.0) -> None:
        """Remove a collection and its index; the documents themselves are not touched.

        Raises:
            CollectionNotFoundError: If there is no such collection.
            WriterBusyError: If another process writes for longer than ``wait_s`` seconds.
        """
        collection = self.collection(name)
        store = self._open()
        with store.writer(f"delete {name}", wait_s=wait_s), store.transaction():
            store.catalog.delete_collection(collection.id)

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
            ImportStoppedError: If the workspace is closed meanwhile.
        """
        with until(self._closing, progress) as listener:
            self._listen(listener)
            return import_into(
                lambda: self.collection(name),
                store=self._open(),
                parts=self._parts,
                mode=mode,
                embed=embed,
                allow_empty=allow_empty,
                max_tokens=max_tokens,
                overlap_tokens=overlap_tokens,
                wait_s=wait_s,
                progress=listener,
            )

    # --- reading -------------------------------------------------------------------------------

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
            EmbedderUnavailableError: If it asks for ``dense`` and there is no model.
        """
        self._listen(progress)
        told: tuple[str, ...] = ()
        if self._first_index is not None and wait_for_vectors:
            told = self._first_index.make(progress)
        elif self._first_index is not None:
            query, told = self._first_index.make_behind(query, progress or (lambda *_: None))
        result = answer(
            query,
            self._searched(query.collections),
            store=self._open(),
            parts=self._parts,
            docs_dir=self._docs_dir,
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
        store = self._open()
        places = [self.collection(collection)] if collection else self.collections()
        document = reading.find(path, places, store.catalog)
        if section is not None:
            lines = reading.lines_of_section(document, section)
        text, first, last = reading.cut(document, lines or (None, None))
        place = next(item for item in places if item.id == document.collection_id)
        return Passage(
            collection=document.collection,
            path=document.path,
            title=document.title,
            tags=document.tags,
            start_line=first,
            end_line=last,
            text=text,
            stale=is_stale(document, self._parts.source(place.source)),
        )

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
        catalog = self._open().catalog
        last_collection, last_path = after or ("", "")
        page: list[ListedDocument] = []
        for place in self._searched((collection,) if collection else ()):
            if place.name >= last_collection and len(page) < limit:
                start = last_path if place.name == last_collection else ""
                page += catalog.documents(place.id, after=start, prefix=prefix, limit=limit - len(page))
        return page

    def generation(self) -> int:
        """Return a number that grows whenever anything in the database changes, by any process."""
        return self._open().generation

    def free_idle_model(self) -> bool:
        """Free the memory of a model that was not used for ``[embedding] auto_unload_minutes``.

        The next search that needs it loads it again.

        Returns:
            Whether there was anything to free.
        """
        minutes = self._config.embedding.auto_unload_minutes
        return minutes > 0 and self._parts.free_idle_model(minutes * 60)

    def tags(self, collections: Sequence[str] = ()) -> list[TagCount]:
        """Count the documents of each tag, most used first.

        Args:
            collections: Names; all enabled ones when empty.

        Raises:
            CollectionNotFoundError: If one of them does not exist.
        """
        searched = self._searched(tuple(collections))
        return self._open().catalog.tags(Scope(tuple(collection.id for collection in searched)))

    def chunks(self, collections: Sequence[str] = ()) -> Iterator[StoredChunk]:
        """Walk all chunks as they are indexed, by collection, path and position.

        Args:
            collections: Names; all enabled ones when empty.

        Raises:
            CollectionNotFoundError: If one of them does not exist.
        """
        catalog = self._open().catalog
        for collection in self._searched(tuple(collections)):
            for path in sorted(catalog.known_documents(collection.id)):
                document = catalog.find_document(collection.id, path)
                if document is not None:  # it may be deleted in between
                    yield from catalog.document_chunks(document.id)

    def status(self, name: str | None = None, *, files: bool = False, check: bool = False) -> WorkspaceStatus:
        """Say what is indexed, and whether it is true.

        Args:
            name: One collection; all of them, disabled ones included, when None.
            files: Whether to list the state of every file.
            check: Whether to compare the disk with the index.

        Raises:
            CollectionNotFoundError: If there is no such collection.
        """
        store = self._open()
        chosen = [self.collection(name)] if name else self.collections(include_disabled=True)
        return WorkspaceStatus(
            database=str(self.database),
            size_bytes=store.size_bytes,
            model=model_in_use(self._parts),
            collections=tuple(
                describe(collection, store, self._parts, files=files, check=check) for collection in chosen
            ),
        )

    def doctor(self) -> list[Finding]:
        """Look for what keeps mdvec from working well here."""
        from mdvec.workspace.doctor import examine

        return examine(self.database, self._parts, self._open, self.status, docs_dir=self._docs_dir)

    # --- inside --------------------------------------------------------------------------------

    def _open(self) -> Store:
        with self._opening:
            if self._store is None:
                store = make_store(self.database)
                try:
                    if self._docs_dir is not None:
                        register(self._docs_dir, store, ChunkingSpec(self._config.chunking.strategy))
                        hide_from_git(self.database.parent)
                except BaseException:
                    store.close()
                    raise
                self._store = store
            return self._store

    def _listen(self, progress: Progress | None) -> Progress:
        """Have a call's own listener told of the model too, and not that of an earlier call."""
        listener: Progress = progress or (lambda *_: None)
        self._parts.report_model_progress_to(lambda percent: listener(ImportStage.MODEL, percent, 100))
        return listener

    def _docs_counts(self) -> CollectionCounts:
        store = self._open()
        docs = self.collection(DOCS_COLLECTION)
        return store.catalog.counts(docs.id, space_in_use(store, self._parts))

    def _searched(self, names: Sequence[str]) -> list[Collection]:
        if not names:
            return self.collections()
        return [self.collection(name) for name in dict.fromkeys(names)]
