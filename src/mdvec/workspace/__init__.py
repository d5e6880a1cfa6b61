"""The composition root: wires configuration to implementations, and is all that a door calls."""

from __future__ import annotations

from pathlib import Path

from mdvec.config.paths import default_database
from mdvec.config.schema import Config
from mdvec.embedding.interface import Embedder
from mdvec.errors import SourceMissingError
from mdvec.text.addresses import scheme_of
from mdvec.workspace.collections import index_of
from mdvec.workspace.workspace import Workspace

__all__ = ["Workspace", "open_workspace"]


def open_workspace(
    config: Config | None = None,
    *,
    database: Path | str | None = None,
    docs_dir: Path | None = None,
    data_dir: Path | None = None,
    embedder: Embedder | None = None,
) -> Workspace:
    """Open a workspace; use it as a context manager, or close it.

    Args:
        config: Settings; the defaults when None.
        database: The index: a path or an address; else ``[store] location``, else the user's data directory.
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
        location = database or config.store.location or default_database()
        return Workspace(_place(location), config, embedder=embedder)
    if not docs_dir.is_dir():
        msg = f"{docs_dir} is not a folder"
        raise SourceMissingError(msg, hint="Check the path given with --docs-dir.")
    root = docs_dir.resolve()
    if database is not None:
        return Workspace(_place(database), config, docs_dir=root, embedder=embedder)
    place = index_of(root, data_dir)
    came_with = root if place.is_relative_to(root) else None
    return Workspace(place, config, docs_dir=root, came_with=came_with, embedder=embedder)


def _place(location: Path | str) -> Path | str:
    """Return an address as it is, and the absolute path of a file."""
    return location if scheme_of(str(location)) else Path(location).absolute()
