"""Makes the index of an unregistered folder when it is first searched."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from mdvec.errors import WriterBusyError
from mdvec.types.collection import Collection
from mdvec.types.query import SearchMode, SearchQuery
from mdvec.types.report import CollectionCounts, ImportReport, Progress
from mdvec.workspace.background import BackgroundImport
from mdvec.workspace.database import Database
from mdvec.workspace.embedders import known_space
from mdvec.workspace.folders import DOCS_COLLECTION
from mdvec.workspace.wiring import Parts

# A search that finds another process making the index waits this long for it to be complete.
_OTHER_PROCESS_WAIT_S = 60.0
# A search that begins the index waits this long for the text; many clients give up after a minute.
_TEXT_WAIT_S = 45.0
# One that finds it begun, by a search that came with it, looks for a moment whether it is there.
_SECOND_WAIT_S = 3.0
# The vectors of a small folder are worth waiting for: the first answer is as good as all later ones.
_FEW_CHUNKS = 200
_VECTORS_WAIT_S = 5.0


class Importer(Protocol):
    """Brings the folder's collection up to date."""

    def __call__(self, *, wait_s: float, progress: Progress | None) -> ImportReport:
        """Import; see :meth:`mdvec.workspace.Workspace.import_collection`."""
        ...


class FirstIndex:
    """The index of a folder that nobody has imported.

    Args:
        database: The folder's.
        parts: Makes its model.
        run: Imports it.
    """

    def __init__(self, database: Database, parts: Parts, run: Importer) -> None:
        self._database = database
        self._parts = parts
        self._run = run
        self._background = BackgroundImport(lambda progress: run(wait_s=float("inf"), progress=progress))

    def prepare(
        self, query: SearchQuery, progress: Progress, *, wait_for_vectors: bool
    ) -> tuple[SearchQuery, tuple[str, ...]]:
        """Import the folder, unless that is done, so that a query can be answered.

        Args:
            query: What is asked.
            progress: Is told how far it is.
            wait_for_vectors: Whether to wait for all of it, or for the text alone.

        Returns:
            The query as it can be answered now, and what the asker has to be told about it.

        Raises:
            MdvecError: If the folder cannot be indexed.
        """
        if wait_for_vectors:
            return query, self._make(progress)
        return self._make_behind(query, progress)

    def _make(self, progress: Progress) -> tuple[str, ...]:
        if self._has_text():
            return ()
        try:
            return self._run(wait_s=_OTHER_PROCESS_WAIT_S, progress=progress).warnings
        except WriterBusyError as error:  # what is written already can be searched
            return (f"the folder is still being indexed: {error}",)

    def _make_behind(self, query: SearchQuery, progress: Progress) -> tuple[SearchQuery, tuple[str, ...]]:
        """Have a thread import the folder; what ``progress`` raises ends the waiting, not the import."""
        told: list[str] = []
        background = self._background
        if not self._has_text():
            most_s = _TEXT_WAIT_S if background.start() else _SECOND_WAIT_S
            background.wait(self._has_text, most_s=most_s, progress=progress)
            if not self._text_is_in():
                if background.error is not None:
                    raise background.error
                told.append("the folder is still being indexed: documents that are not read yet are missing")
        counts = self._count()
        if counts.pending_chunks and not background.tried:
            background.start()  # an earlier process ended before all vectors were made
        if query.mode is not SearchMode.LEXICAL and 0 < counts.pending_chunks <= _FEW_CHUNKS:
            background.wait(lambda: False, most_s=_VECTORS_WAIT_S, progress=progress)
            counts = self._count()
        no_vectors = counts.pending_chunks == counts.chunks > 0 and background.running
        if no_vectors and query.mode is SearchMode.HYBRID:
            # The answer does not even wait for a model that could be of no use to it.
            query = replace(query, mode=SearchMode.LEXICAL)
            told.append("searched by words only: the vectors are still being made")
        return query, (*told, *background.take_warnings())

    @property
    def going_on(self) -> bool:
        """Whether a thread is at work on it."""
        return self._background.running

    def close(self, most_s: float) -> None:
        """Wait for the thread, which was told to stop, for so many seconds at most."""
        self._background.join(most_s)

    def _docs(self) -> Collection:
        return self._database.collection(DOCS_COLLECTION)

    def _count(self) -> CollectionCounts:
        docs, store = self._docs(), self._database.store()
        return store.catalog.counts(docs.id, known_space(docs, self._parts.model(docs), store))

    def _text_is_in(self) -> bool:
        return self._docs().last_indexed_ms is not None

    def _has_text(self) -> bool:
        """Whether the folder was imported, and was not empty then; looking again costs next to nothing."""
        return self._text_is_in() and self._count().chunks > 0
