"""The workspace: one database and everything that can be done with it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, Unpack

import msgspec
from msgspec.structs import replace

from mdvec import run
from mdvec.config.paths import default_database
from mdvec.config.schema import Config, SearchSettings
from mdvec.embedding.interface import Embedder
from mdvec.errors import ImportStoppedError, SourceError, StoreError, UsageError, WorkspaceClosedError
from mdvec.search.filters import narrowed
from mdvec.search.hits import is_stale
from mdvec.search.search import Search, recorded_search, search
from mdvec.settings import set_only
from mdvec.stores.commits import await_commit
from mdvec.stores.records import StoredChunk
from mdvec.types.collection import DOCS_COLLECTION, Collection, SearchDefaults
from mdvec.types.document import Lines
from mdvec.types.hit import SearchResult
from mdvec.types.links import DocumentLinks
from mdvec.types.query import Filters, SearchQuery
from mdvec.types.report import (
    Finding,
    ImportOptions,
    ImportReport,
    ListedDocument,
    Passage,
    Severity,
    TagCount,
    WorkspaceStatus,
)
from mdvec.workspace import reading
from mdvec.workspace.collections import CollectionChanges, Collections, Folders, Registration
from mdvec.workspace.database import DatabasePlace
from mdvec.workspace.importing import FirstIndex, Freshness, import_into, no_longer_updated
from mdvec.workspace.models import Models, configured_otherwise
from mdvec.workspace.pages import Browse, Pages
from mdvec.workspace.reading import find
from mdvec.workspace.sections import Sections
from mdvec.workspace.stages import Stages
from mdvec.workspace.status import describe_all, examine, explaining
from mdvec.workspace.stores import Stores

if TYPE_CHECKING:
    from mdvec.processes import SpareProcesses

# An import ends with its batch, which takes a moment; what it has not committed then is done again.
_END_WAIT_S = 1.0


class Workspace:
    """One database, its collections, and what can be done with them. Safe to use from several threads.

    Long calls report progress and can be cancelled through the run that is bound in their context
    (:mod:`mdvec.run`).

    Attributes:
        database: Absolute path of the database; of a database elsewhere, the path it would have here.
        location: Where the database is, for people; never with a password.
        models: The embedding models of its collections, and how to change them.
        freshness: Keeps its collections up to date while it is open.
        sections: The sections of its documents, and those that clients write.
        stores: The store as a whole, and what others may see of one on a server.
        pages: Its documents, rendered for people.
        browse: Its documents without a query: lists, counts, outlines, and what is about the same.
        folders: What its folders hold.
        may_write: Whether it can change anything (see :mod:`mdvec.workspace.serving`).
        readable: Names of the collections that may be read; None for all.
        searchers: Other processes that answer searches; None where this process answers all.
    """

    may_write = True
    readable: frozenset[str] | None = None
    searchers: SpareProcesses[Search, SearchResult] | None = None

    def __init__(self, collections: Collections, config: Config) -> None:
        self._collections = collections
        self._stages = collections.stages
        self._config = config
        place = collections.place
        self.database = place.location if isinstance(place.location, Path) else default_database()
        self.location = place.shown
        self._first_index: FirstIndex | None = None
        if place.docs_dir is not None and self.may_write:
            self._first_index = FirstIndex(
                collections, lambda options: self.import_collection(DOCS_COLLECTION, options)
            )
        self._guard = threading.Lock()
        self._runs: list[run.Run] = []
        self._closed = False
        self.models = Models(
            collections, config.prices, importing=self.import_collection, running=self._running
        )
        self.sections = Sections(collections, self.import_collection)
        self.freshness = Freshness(collections, config, self.import_collection)
        self.stores = Stores(collections, config)
        self._other_files = reading.OtherFiles()
        self.pages = Pages(collections, self._other_files)
        self.browse = Browse(
            collections, lambda query, path: self.search(query, wait_for_vectors=False, related_to=path)
        )
        self.folders = Folders(collections)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Cancel imports that are under way, and release the database and the models."""
        with self._guard:
            self._closed = True
            running = list(self._runs)
        for each in running:
            each.cancel()
        self.sections.close(_END_WAIT_S)
        self.freshness.close(_END_WAIT_S)
        if self._first_index is not None:
            self._first_index.close(_END_WAIT_S)
        if self.searchers is not None:
            self.searchers.close()
        self._collections.close()
        self._stages.models.close()

    # --- collections ---------------------------------------------------------------------------

    def collections(self, *, include_disabled: bool = False) -> list[Collection]:
        """Return the collections, by name."""
        return self._collections.chosen((), include_disabled=include_disabled)

    def collection(self, name: str) -> Collection:
        """Return one collection, enabled or not.

        Raises:
            CollectionNotFoundError: If there is none of that name.
        """
        return self._collections.named(name)

    def add_collection(
        self, name: str, description: str, location: str | Path, **options: Unpack[Registration]
    ) -> Collection:
        """Register a source; nothing is indexed yet.

        Args:
            name: ``[a-z][a-z0-9_-]{0,63}``.
            description: What it holds, for the language model that chooses where to search.
            location: The folder, or another source as ``github:OWNER/REPO``.
            options: See :class:`mdvec.workspace.collections.Registration`.

        Returns:
            The new collection.

        Raises:
            InvalidNameError: If the name cannot be one.
            SourceMissingError: If there is no such folder.
            CollectionExistsError: If the name is taken.
            ConfigError: If there is no such chunker or model.
            EmbeddingError: If the model cannot be used here; the hint says how to fix that.
            UsageError: If this is the database of a ``docs_dir``.
        """
        return self._collections.add(name, description, location, **options)

    def update_collection(self, name: str, **changes: Unpack[CollectionChanges]) -> Collection:
        """Change what is registered; None leaves a field as it is. The next import follows it.

        Another model is chosen with ``models.use``.

        Raises:
            CollectionNotFoundError: If there is no such collection.
            CollectionExistsError: If the new name is taken.
            SourceMissingError: If there is no such folder.
            ConfigError: If there is no such chunker.
        """
        return self._collections.update(name, **changes)

    def delete_collection(self, name: str, *, wait_s: float = 60.0) -> None:
        """Remove a collection and its index; the documents themselves are not touched.

        Raises:
            CollectionNotFoundError: If there is no such collection.
            WriterBusyError: If another process works on it for longer than ``wait_s`` seconds.
        """
        self._collections.delete(name, wait_s=wait_s)

    # --- writing -------------------------------------------------------------------------------

    def import_collection(
        self,
        name: str,
        options: ImportOptions = ImportOptions(),  # noqa: B008 - frozen
    ) -> ImportReport:
        """Bring a collection up to date with its source.

        Imports of several collections run side by side; of one collection, one process at a time.

        Raises:
            CollectionNotFoundError: If there is no such collection.
            CollectionNotEmptyError: If the mode is ``new`` and it was imported before.
            SourceMissingError: If its folder is not there.
            SourceEmptyError: If its folder holds nothing though documents are known.
            WriterBusyError: If another process works on it for longer than the options wait.
            EmbeddingError: If the vectors cannot be made; words are searched, and what was made stays.
            ImportStoppedError: If the run is cancelled, or the workspace is closed meanwhile.
        """
        from mdvec.indexing.imports import recorded_import  # searches do not need it

        with self._running(), recorded_import(name, options) as record:
            try:
                report = import_into(name, options, self._collections)
            except SourceError as error:
                self._collections.unreadable[name] = no_longer_updated(name, error)
                raise
            self._collections.unreadable.pop(name, None)
            return record(report)

    # --- reading -------------------------------------------------------------------------------

    def search_settings(self, collections: Sequence[str] = ()) -> SearchSettings:
        """Return the defaults of a search: those of its one collection, else those configured.

        What an environment variable sets is meant for now, and beats what the collection was registered with.

        Raises:
            CollectionNotFoundError: If one of them does not exist.
        """
        searched = self._collections.chosen(collections)
        own = searched[0].search if len(searched) == 1 else SearchDefaults()
        given = set_only(k=own.limit, threshold=own.threshold, per_document=own.per_document)
        for name in given.keys() & {name.removeprefix("search.") for name in self._config.from_environment}:
            del given[name]
        return msgspec.structs.replace(self._config.search, **given)

    def search(
        self, query: SearchQuery, *, wait_for_vectors: bool | None = None, related_to: str | None = None
    ) -> SearchResult:
        """Answer a query.

        Args:
            query: The query.
            wait_for_vectors: Whether to wait for the whole first import of a ``docs_dir``. With False it
                runs on behind the search, which waits for the text alone; :meth:`close` stops it. None waits
                for the vectors of a small folder; those of a large one are made from the second search on,
                ten seconds long before each.
            related_to: Path of the document of the one collection whose text is the query; it is not found
                itself, and nothing in its text is an operator.

        Returns:
            The hits, and how complete the index behind them is.

        Raises:
            InvalidQueryError: If the query is empty.
            CollectionNotFoundError: If it names a collection that does not exist.
            DocumentNotFoundError: If it filters by links to a document that is not there.
            EmbedderUnavailableError: If its mode is ``dense`` and there is no model.
        """
        with recorded_search(query, plain=self._config.log.queries) as record:
            warnings: tuple[str, ...] = ()
            if self._first_index is not None:
                query, warnings = self._first_index.prepare(query, wait_for_vectors=wait_for_vectors)
                # A folder that is not registered has no model of its own: the configuration chooses it.
                for each in self._collections.chosen(query.collections):
                    warnings += configured_otherwise(each, self._collections)
                warnings = tuple(dict.fromkeys(warnings))  # an import has said so, too
            left, checked_ms = self.freshness.bring_up(query.collections)
            of_store = self._collections.warnings
            warnings = (*self._warnings_of(query.collections), *of_store, *warnings, *left)
            importing = self._first_index is not None and self._first_index.running
            asked = Search(query, checked_ms, importing, related_to, self.readable)
            # The steps of a search can be followed only in this process.
            if self.searchers is None or run.current().on_step or not self._stages.models.are_small:
                result = self.answer(asked)
            else:
                result = self.searchers.answer(asked, partial(self.answer, asked))
            result = replace(result, warnings=(*warnings, *result.warnings)) if warnings else result
            return record(result)

    def answer(self, asked: Search) -> SearchResult:
        """Answer a query from what is indexed now, without looking for changed files as :meth:`search` does.

        Raises:
            MdvecError: As :meth:`search`.
        """
        with self._collections.read() as view:
            chosen = self._collections.chosen(asked.query.collections, view)
            searched = [self._stages.searched(each, view) for each in chosen]
            return search(asked, searched, view, self._collections, self._stages.models.reranker())

    def opened_elsewhere(self) -> Callable[[], Workspace]:
        """Return what opens the database in another process, where it must exist."""
        return partial(workspace_at, replace(self._collections.place, makes=False), self._config)

    def use_small_models_only(self) -> None:
        """Refuse, by a RuntimeError, searches that need a large model."""
        self._stages.models.small_only = True

    def read(
        self,
        path: str,
        *,
        collection: str | None = None,
        lines: Lines | None = None,
        section: str | None = None,
    ) -> Passage:
        """Return a document or a part of it, as it was indexed.

        Args:
            path: As any door prints it: ``notes/a.md:14-21``, the absolute path of a file, a note's name; or
                as a link names it: ``[[note]]``, ``note.md#heading``.
            collection: Where; all enabled collections when None.
            lines: Instead of those in ``path``; 1-based first and last line, None for an open end.
            section: A heading, instead of lines.

        Raises:
            DocumentNotFoundError: If there is no such document or section.
            UsageError: If the lines do not exist, both lines and a section are given, or more than one
                document is meant.
        """
        if lines is not None and section is not None:
            msg = "`lines` and `section` cannot be used together"
            raise UsageError(msg, hint="Give one of them.")
        with self._collections.read() as view:
            found = find(path, collection, self._collections, view)
        stale = is_stale(found.document, self._stages.source(found.collection.source).differs)
        if lines is None and section is None:
            lines, section = found.lines, found.section
        return reading.passage(found.document, lines=lines, section=section, stale=stale)

    def links(self, path: str, *, collection: str | None = None, steps: int = 1) -> DocumentLinks:
        """Return the links of a document and those to it, and which versions of it there are.

        Args:
            path: As :meth:`read` takes it.
            collection: Likewise.
            steps: From 2 on also the documents that are so many links away, in either direction.

        Raises:
            DocumentNotFoundError: If there is no such document.
            UsageError: If more than one document is meant.
        """
        with self._collections.read() as view:
            found = find(path, collection, self._collections, view)
            return reading.links_of(found.document, self._other_files, view, steps)

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
        with self._collections.read() as view:
            places = self._collections.chosen((collection,) if collection else (), view)
            return reading.page_of_documents(places, view, after=after, prefix=prefix, limit=limit)

    def generation(self) -> int:
        """Return a number that grows whenever anything in the database changes, by any process."""
        with self._collections.read() as view:
            return view.version

    def wait_for_change(self, generation: int, *, timeout_s: float) -> int:
        """Return the generation as soon as it is not this one, or after that many seconds.

        Raises:
            ImportStoppedError: If the run is cancelled meanwhile.
        """
        return await_commit(self._collections.store(), generation, timeout_s=timeout_s)

    def tags(self, collections: Sequence[str] = ()) -> list[TagCount]:
        """Count the documents of each tag, most used first, without older versions, as a search does.

        Raises:
            CollectionNotFoundError: If one of them does not exist.
        """
        with self._collections.read() as view:
            searched = self._collections.chosen(collections, view)
            return view.documents.tags(narrowed(Filters(), searched, view))

    def chunks(self, collections: Sequence[str] = ()) -> Iterator[StoredChunk]:
        """Yield all chunks of some collections, or of all enabled ones, by collection, path and position.

        Raises:
            CollectionNotFoundError: If one of them does not exist.
        """
        with self._collections.read() as view:
            for place in self._collections.chosen(collections, view):
                for _, known in sorted(view.documents.known(place.id).items()):
                    yield from view.chunks.of_document(known.id)

    def status(self, name: str | None = None, *, files: bool = False, check: bool = False) -> WorkspaceStatus:
        """Return what is indexed, and whether it matches the sources.

        Raises:
            CollectionNotFoundError: If there is no such collection.
        """
        names = (name,) if name else ()
        status = describe_all(names, self._collections, files=files, check=check)
        of_store = () if self._collections.place.is_missing else self._collections.warnings
        return replace(status, warnings=(*self._warnings_of(names), *of_store))

    def doctor(self) -> list[Finding]:
        """Return what keeps mdvec from working well here."""
        findings = examine(self._collections)
        return [*findings, *(Finding(Severity.NOTE, "settings", each) for each in self._config.warnings)]

    def explaining(self) -> AbstractContextManager[None]:
        """Return what doors call inside of: damage is raised in place of the errors it has led to."""
        return explaining(self._collections)

    def free_idle_model(self) -> bool:
        """Free models and processes that were not used for ``[embedding] auto_unload_minutes``.

        A minute is long enough above ``[embedding] memory_threshold``. The next search that needs it
        loads it again.

        Returns:
            Whether there was anything to free.
        """
        limit_s = self._stages.idle_limit_s()
        if limit_s is None:
            return False
        ended = self.searchers is not None and self.searchers.end_idle(limit_s)
        return self._stages.models.unload(idle_s=limit_s) or ended

    # --- inside --------------------------------------------------------------------------------

    def _warnings_of(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the warnings of the settings, and of the sources of some collections, or of all."""
        unreadable = self._collections.unreadable
        return (*self._config.warnings, *filter(None, map(unreadable.get, names or sorted(unreadable))))

    @contextmanager
    def _running(self) -> Iterator[None]:
        """Let :meth:`close` cancel the call.

        Raises:
            WorkspaceClosedError: If it was closed before.
            ImportStoppedError: If it was cancelled so, by itself or because the store was closed.
        """
        current = run.bound_run() or run.Run()
        with self._guard:
            if self._closed:
                raise WorkspaceClosedError
            self._runs.append(current)
        try:
            with run.bound(current):
                yield
        except StoreError as error:
            if current.cancelled:
                raise ImportStoppedError from error
            raise
        finally:
            with self._guard:
                self._runs.remove(current)


def workspace_at(place: DatabasePlace, config: Config, embedder: Embedder | None = None) -> Workspace:
    """Make a workspace; nothing is read or written before its first use.

    An embedder is used instead of the configured one.
    """
    stages = Stages(config, embedder, str(place.location))
    return Workspace(Collections(place, config, stages), config)
