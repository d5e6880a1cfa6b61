"""Only type-checked: the public API as a user writes it, and every adapter against its port."""

from __future__ import annotations

from pathlib import Path

from mdvec import MdvecError, SearchHit, SearchQuery, SearchResult, Workspace, open_workspace
from mdvec.chunking.headings import HeadingChunker
from mdvec.chunking.interface import Chunker
from mdvec.chunking.sections import SectionChunker
from mdvec.chunking.vault import VaultChunker
from mdvec.chunking.windows import WindowChunker
from mdvec.embedding.builtin.embedder import BuiltinEmbedder
from mdvec.embedding.gemini import GeminiProvider
from mdvec.embedding.interface import Embedder
from mdvec.embedding.local.engines import PlamoEngine, SentenceTransformersEngine
from mdvec.embedding.local.inference import Engine
from mdvec.embedding.local.local_embedder import LocalEmbedder
from mdvec.embedding.openai import OpenAiProvider
from mdvec.embedding.remote.provider import Provider
from mdvec.embedding.remote.remote_embedder import RemoteEmbedder
from mdvec.embedding.voyage import VoyageProvider
from mdvec.sources.folder import FolderSource
from mdvec.sources.git.git_source import GitSource
from mdvec.sources.github.github_source import GithubSource
from mdvec.sources.interface import Source
from mdvec.stores.interface import Store
from mdvec.stores.published.reader import PublishedStore
from mdvec.stores.sqlite.store import SqliteStore
from mdvec.testing.embedder import HashingEmbedder

_embedders: tuple[type[Embedder], ...] = (BuiltinEmbedder, LocalEmbedder, RemoteEmbedder, HashingEmbedder)
_engines: tuple[type[Engine], ...] = (SentenceTransformersEngine, PlamoEngine)
_services: tuple[type[Provider], ...] = (GeminiProvider, VoyageProvider, OpenAiProvider)
_chunkers: tuple[type[Chunker], ...] = (SectionChunker, HeadingChunker, VaultChunker, WindowChunker)
_sources: tuple[type[Source], ...] = (FolderSource, GithubSource, GitSource)
_stores: tuple[type[Store], ...] = (SqliteStore, PublishedStore)


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
