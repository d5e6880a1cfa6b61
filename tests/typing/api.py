"""Only type-checked: the public API as a user writes it, and every adapter against its port."""

from __future__ import annotations

from pathlib import Path

from mdvec import MdvecError, SearchHit, SearchQuery, SearchResult, Workspace, open_workspace
from mdvec.chunking.interface import Chunker
from mdvec.chunking.sections import SectionChunker
from mdvec.embedding.builtin.embedder import BuiltinEmbedder
from mdvec.embedding.interface import Embedder
from mdvec.sources.folder import FolderSource
from mdvec.sources.interface import Source
from mdvec.stores.interface import Catalog, LexicalIndex, Store, VectorIndex
from mdvec.stores.sqlite.catalog import SqliteCatalog
from mdvec.stores.sqlite.lexical import SqliteLexicalIndex
from mdvec.stores.sqlite.store import SqliteStore
from mdvec.stores.sqlite.vectors import SqliteVectorIndex
from mdvec.testing.embedder import HashingEmbedder
from mdvec.testing.indexes import MemoryLexicalIndex, MemoryVectorIndex

_embedders: tuple[type[Embedder], ...] = (BuiltinEmbedder, HashingEmbedder)
_chunkers: tuple[type[Chunker], ...] = (SectionChunker,)
_sources: tuple[type[Source], ...] = (FolderSource,)
_stores: tuple[type[Store], ...] = (SqliteStore,)
_catalogs: tuple[type[Catalog], ...] = (SqliteCatalog,)
_lexical_indexes: tuple[type[LexicalIndex], ...] = (SqliteLexicalIndex, MemoryLexicalIndex)
_vector_indexes: tuple[type[VectorIndex], ...] = (SqliteVectorIndex, MemoryVectorIndex)


def search(folder: Path) -> list[str]:
    """Use the public API."""
    try:
        workspace: Workspace
        with open_workspace(docs_dir=folder) as workspace:
            result: SearchResult = workspace.search(SearchQuery("設定", limit=3))
    except MdvecError as error:
        return [error.code, error.hint]
    hits: tuple[SearchHit, ...] = result.hits
    return [f"{hit.path}:{hit.start_line}" for hit in hits]
