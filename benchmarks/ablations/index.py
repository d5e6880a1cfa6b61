"""The index of a set as it is shipped, and copies of it that a variant has rebuilt."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache as remembered
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from mdvec import Workspace, open_workspace
from mdvec.config import Config
from mdvec.config.schema import ChunkingSettings
from mdvec.embedding.interface import Embedder
from mdvec.evaluation.corpus import Indexing, indexed_set, temporary_folder
from mdvec.evaluation.judgements import JudgedSet, Question
from mdvec.evaluation.naming import Naming
from mdvec.evaluation.runner import scope_filters
from mdvec.search.forms import embed_forms
from mdvec.search.where import narrowed
from mdvec.stores.interface import View
from mdvec.stores.records import StoredChunk
from mdvec.stores.versions import read_versions
from mdvec.types.ids import ChunkId, SpaceId
from mdvec.types.query import Where
from mdvec.types.report import ImportMode, ImportOptions
from mdvec.workspace.storage.opening import open_store

Vector = NDArray[np.float32]

_STORED = np.dtype("<f2")  # a number of a stored vector


class Index:
    """An open index, as variants see it.

    Attributes:
        name: Of the cached index it was copied from.
        workspace: Its workspace.
        view: A snapshot of the same database.
        embedder: Made its vectors.
        embed: Makes the vector of a question, each one once.
        embed_both: Makes the vector that ranks, likewise.
        space_id: Its vectors.
        chunks: All chunks, by path and position.
        path_of: The document of each chunk.
        collections: Its collections.
        unrelated: The similarity of unrelated texts.
    """

    def __init__(
        self,
        name: str,
        workspace: Workspace,
        view: View,
        embedder: Embedder,
        embed: Callable[[str], Vector],
    ) -> None:
        self.name = name
        self.workspace = workspace
        self.view = view
        self.embedder = embedder
        self.embed = embed
        self.embed_both = remembered(partial(_embedded_both, embedder))
        self.space_id = _known_space(embedder, view)
        self.chunks: tuple[StoredChunk, ...] = tuple(workspace.chunks())
        self.path_of = {chunk.id: chunk.path for chunk in self.chunks}
        self.collections = tuple(view.collections())
        self.unrelated = view.unrelated(self.space_id)
        self._versions = {each.id: read_versions(each.id, view) for each in self.collections}

    def where(self, question: Question) -> Where:
        """Return the chunks that count for a question."""
        return narrowed(scope_filters(question), self.collections, self._versions, self.view)

    @cached_property
    def neighbours(self) -> dict[ChunkId, tuple[ChunkId, ...]]:
        """The chunks before and after each one in its document."""
        beside: dict[ChunkId, tuple[ChunkId, ...]] = {chunk.id: () for chunk in self.chunks}
        for one, other in zip(self.chunks, self.chunks[1:], strict=False):
            if one.document_id == other.document_id:
                beside[one.id] += (other.id,)
                beside[other.id] += (one.id,)
        return beside

    @cached_property
    def rows(self) -> dict[ChunkId, int]:
        """The row of each chunk in :attr:`vectors`."""
        return {chunk_id: row for row, chunk_id in enumerate(self._read[0])}

    @property
    def vectors(self) -> NDArray[np.float32]:
        """The vectors of the texts of all chunks, shape (chunks, dim)."""
        return self._read[1]

    @cached_property
    def _read(self) -> tuple[list[ChunkId], NDArray[np.float32]]:
        # No part of the search needs single vectors, so no port returns them.
        with closing(sqlite3.connect(self.workspace.database)) as connection:
            rows = connection.execute(
                """SELECT c.id, v.vector FROM chunks c JOIN vectors v ON v.text_hash = c.text_hash
                WHERE v.space_id = ? ORDER BY c.id""",
                (self.space_id,),
            ).fetchall()
        stored = np.frombuffer(b"".join(row[1] for row in rows), _STORED)
        return [ChunkId(row[0]) for row in rows], stored.reshape(len(rows), -1).astype(np.float32)


@contextmanager
def shipped_index(
    sets: Sequence[JudgedSet], embedder: Embedder, cache: Path | None
) -> Iterator[tuple[Index, Naming]]:
    """Index the documents that some sets share, through the normal pipeline.

    Args:
        sets: Sets of the same documents.
        embedder: Makes the vectors.
        cache: Folder of the index; None for a temporary one.

    Yields:
        The index, rebuilt as those of variants are, and the naming of the documents in all these sets.
    """
    questions = tuple(question for each in sets for question in each.set.questions)
    together = replace(sets[0], set=replace(sets[0].set, questions=questions))
    opener = partial(open_workspace, embedder=embedder)
    with (
        temporary_folder() as folder,
        indexed_set(together, Indexing(opener, Config(), cache or folder)) as corpus,
    ):
        embed = remembered(embedder.embed_query)
        database = corpus.workspace.database
        with rebuilt(database.parent.name, database, embedder, embed) as index:
            yield index, corpus.naming


@contextmanager
def rebuilt(
    name: str,
    source: Path,
    embedder: Embedder,
    embed: Callable[[str], Vector],
    *,
    chunking: ChunkingSettings | None = None,
    file: Path | None = None,
) -> Iterator[Index]:
    """Copy an index and import all its documents again with the current code.

    An index is outdated when a version number in the code is raised; during development a cached one may be
    of other code than the one it is compared with.

    Args:
        name: Of the copy.
        source: The index to copy, for its vectors: a text that has one is not embedded again.
        embedder: Makes the vectors that are missing.
        embed: Makes the vectors of questions.
        chunking: Settings that documents are cut with; the defaults when None.
        file: The copy, for the next run; None for a temporary one.

    Yields:
        The copy.
    """
    with temporary_folder() as folder:
        database = file or folder / "index.sqlite"
        database.parent.mkdir(parents=True, exist_ok=True)
        if not database.exists():
            _copy(source, database)
        config = Config(chunking=chunking or ChunkingSettings())
        with open_workspace(config, database=database, embedder=embedder) as workspace:
            for collection in workspace.collections():
                workspace.import_collection(collection.name, ImportOptions(mode=ImportMode.REPLACE))
            with closing(open_store(database)) as store, store.read() as view:
                yield Index(name, workspace, view, embedder, embed)


def _embedded_both(embedder: Embedder, text: str) -> Vector:
    vector, moved = embed_forms(text, embedder)
    return vector if moved is None else moved


def _known_space(embedder: Embedder, view: View) -> SpaceId:
    space_id = view.find_space(embedder.space)
    if space_id is None:
        msg = f"there is no vector of {embedder.space.key}"
        raise LookupError(msg)
    return space_id


def _copy(source: Path, target: Path) -> None:
    """Copy a database whole, whatever of it is still in its log."""
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)
