"""Folders of notes, and workspaces of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from mdvec import Workspace, open_workspace
from mdvec.config import Config
from mdvec.embedding.interface import Embedder
from mdvec.testing.embedder import HashingEmbedder


def written(folder: Path, files: Mapping[str, str]) -> Path:
    """Write files below a folder, which is made, and return it."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


@contextmanager
def workspace_of(
    database: Path | str,
    folders: Mapping[str, Path],
    config: Config | None = None,
    *,
    embedder: Embedder | None = None,
    description: str = "",
) -> Iterator[Workspace]:
    """Open a workspace in which each folder is an imported collection of its name."""
    with open_workspace(config, database=database, embedder=embedder or HashingEmbedder()) as made:
        for name, folder in folders.items():
            made.add_collection(name, description, str(folder))
            made.import_collection(name)
        yield made
