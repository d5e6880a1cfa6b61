"""The workspace: one database and everything that can be done with it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from mdvec.config.paths import default_database
from mdvec.config.schema import Config
from mdvec.embedding.interface import Embedder
from mdvec.errors import CollectionNotFoundError, SourceMissingError, UsageError, WriterBusyError
from mdvec.model.collection import ChunkingSpec, Collection, SourceSpec
from mdvec.model.hit import SearchResult
from mdvec.model.names import check_collection_name
from mdvec.model.query import Scope, SearchQuery
from mdvec.model.report import (
    Finding,
    ImportMode,
    ImportReport,
    ImportStage,
    Passage,
    Progress,
    TagCount,
    WorkspaceStatus,
)
from mdvec.stores.interface import Store
from mdvec.text.undecodable import spelled
from mdvec.workspace import reading
from mdvec.workspace.answering import answer, is_stale
from mdvec.workspace.checking import describe, model_in_use
from mdvec.workspace.folders import DOCS_COLLECTION, existing_folder, hide_from_git, index_of, named, register
from mdvec.workspace.wiring import Parts, given, make_store

# A search that finds another process making the first index waits this long for it to be complete.
_FIRST_INDEX_WAIT_S = 60.0


def open_workspace(
    config: Config | None = None,
    *,
    database: Path | None = None,
    docs_dir: Path | None = None,
    data_dir: Path | None = None,
    embedder: Embedder | None = None,
) -> Workspace:
    """Open a workspace; use it as a context manager, or close it.

    Args:
        config: Settings; the defaults when None.
        database: The index; else ``[database] path``, else the user's data directory.
        docs_dir: A folder to use without registering it: its index lies in ``DIR/.mdvec``, and the first
            search makes it.
        data_dir: Where the index of ``docs_dir`` lies instead.
        embedder: Used instead of the configured one.

    Returns:
        The workspace. Nothing is read or written before its first use.

    Raises:
        SourceMissingError: If ``docs_dir`` is not a folder.
    """
    config = config or Config()
    if docs_dir is None:
        path = database or config.database.path or default_database()
        return Workspace(path.absolute(), config, embedder=embedder)
    if not docs_dir.is_dir():
        msg = f"{docs_dir} is not a folder"
        raise SourceMissingError(msg, hint="Check the path given with --docs-dir.")
    root = docs_dir.resolve()
    path = database or index_of(root, data_dir)
    return Workspace(path.absolute(), config, docs_dir=root, embedder=embedder)


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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the database."""
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
            progress: Is told how far it is.

        Returns:
            What was done.

        Raises:
            CollectionNotFoundError: If there is no such collection.
            CollectionNotEmptyError: If ``mode`` is ``new`` and it was imported before.
            SourceMissingError: If its folder is not there.
            SourceEmptyError: If its folder holds nothing though documents are known.
            WriterBusyError: If another process writes for longer than ``wait_s``.
        """
        from mdvec.indexing.pipeline import run_import

        self.collection(name)  # a wrong name is told before waiting for another writer
        listener = self._listen(progress)
        store = self._open()
        with store.writer(f"import {name}", wait_s=wait_s):
            collection = self.collection(name)
            chunking = ChunkingSpec(
                collection.chunking.strategy,
                collection.chunking.max_tokens if max_tokens is None else max_tokens,
                collection.chunking.overlap_tokens if overlap_tokens is None else overlap_tokens,
            )
            report = run_import(
                replace(collection, chunking=chunking),
                store=store,
                source=self._parts.source(collection.source),
                recipe=self._parts.recipe(chunking),
                embedder=self._parts.embedder,
                mode=mode,
                embed=embed,
                allow_empty=allow_empty,
                progress=listener,
            )
        return self._with_model_warnings(report, embed=embed)

    def _with_model_warnings(self, report: ImportReport, *, embed: bool) -> ImportReport:
        if not embed:
            return report
        problem = self._parts.embedder_problem
        added = (f"{problem}. {problem.hint}",) if problem is not None else self._parts.embedder_warnings()
        return replace(report, warnings=(*report.warnings, *added)) if added else report

    # --- reading -------------------------------------------------------------------------------

    def search(self, query: SearchQuery, *, progress: Progress | None = None) -> SearchResult:
        """Answer a query.

        Args:
            query: What to look for.
            progress: Is told how far the first import of a ``docs_dir`` is, or the making of the model.

        Returns:
            The hits, and how complete the index behind them is.

        Raises:
            InvalidQueryError: If the query is empty.
            CollectionNotFoundError: If it names a collection that does not exist.
            EmbedderUnavailableError: If it asks for ``dense`` and there is no model.
        """
        self._listen(progress)
        told = self._index_docs_once(progress) if self._docs_dir is not None else ()
        result = answer(
            query,
            self._searched(query.collections),
            store=self._open(),
            parts=self._parts,
            docs_dir=self._docs_dir,
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

    def tags(self, collections: Sequence[str] = ()) -> list[TagCount]:
        """Count the documents of each tag, most used first.

        Args:
            collections: Names; all enabled ones when empty.

        Raises:
            CollectionNotFoundError: If one of them does not exist.
        """
        searched = self._searched(tuple(collections))
        return self._open().catalog.tags(Scope(tuple(collection.id for collection in searched)))

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

    def _index_docs_once(self, progress: Progress | None) -> tuple[str, ...]:
        """Import the folder, unless that was done before.

        Returns:
            What the asker has to be told about it.
        """
        if self.collection(DOCS_COLLECTION).last_indexed_ms is not None:
            return ()
        try:
            report = self.import_collection(
                DOCS_COLLECTION, mode=ImportMode.UPDATE, wait_s=_FIRST_INDEX_WAIT_S, progress=progress
            )
        except WriterBusyError as error:  # what is written already can be searched
            return (f"the folder is still being indexed: {error}",)
        return report.warnings

    def _searched(self, names: Sequence[str]) -> list[Collection]:
        if not names:
            return self.collections()
        return [self.collection(name) for name in dict.fromkeys(names)]
