"""The composition root: wires configuration to implementations, and is all of the engine that a door sees.

Read ``workspace.py`` first: its methods are the use cases. ``database.py`` opens the index, ``stages.py``
makes sources, chunkers and models; a search hands both to :mod:`mdvec.search`. A changed file goes through
``importing.py`` to :mod:`mdvec.indexing`. ``reading.py`` and ``pages.py`` show documents, ``status.py`` what
is indexed; ``serving.py`` limits a workspace to some collections.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mdvec.config.paths import database_place
from mdvec.config.schema import Config
from mdvec.embedding.interface import Embedder
from mdvec.errors import SourceMissingError
from mdvec.workspace.database import DatabasePlace, FolderChoice, folder_with_index
from mdvec.workspace.importing import BackgroundImport
from mdvec.workspace.pages import Facets
from mdvec.workspace.workspace import Workspace, workspace_at

if TYPE_CHECKING:
    from mdvec.workspace.serving import RestrictedWorkspace as RestrictedWorkspace
    from mdvec.workspace.serving import use_processes as use_processes

__all__ = [
    "BackgroundImport",
    "Facets",
    "FolderChoice",
    "RestrictedWorkspace",
    "Workspace",
    "folder_with_index",
    "open_workspace",
    "use_processes",
]

# Only servers need these, and a command is to start at once.
_OF_SERVERS = {"RestrictedWorkspace": "mdvec.workspace.serving", "use_processes": "mdvec.workspace.serving"}


def __getattr__(name: str) -> object:
    if name in _OF_SERVERS:
        import importlib

        return getattr(importlib.import_module(_OF_SERVERS[name]), name)
    msg = f"module 'mdvec.workspace' has no attribute {name!r}"
    raise AttributeError(msg)


def open_workspace(
    config: Config | None = None,
    *,
    database: Path | str | None = None,
    docs_dir: Path | str | None = None,
    data_dir: Path | str | None = None,
    embedder: Embedder | None = None,
    choice: FolderChoice | None = None,
    makes: bool = True,
) -> Workspace:
    """Open a workspace; use it as a context manager, or close it.

    Args:
        config: Settings; the defaults when None.
        database: The index: a path or an address; else ``[store] location``, else the user's data directory.
        docs_dir: A folder to use without registering it: its index lies in ``DIR/.mdvec``, and the first
            search makes it.
        data_dir: Where the index of ``docs_dir`` lies instead.
        embedder: Used instead of the configured one.
        choice: How to index ``docs_dir``, where that is to change.
        makes: Whether to make a database that is not there; else it is an error, or there is no collection.

    Returns:
        The workspace. Nothing is read or written before its first use.

    Raises:
        SourceMissingError: If ``docs_dir`` is not a folder.
    """
    config = config or Config()
    root = None if docs_dir is None else Path(docs_dir).resolve()
    if root is not None and not root.is_dir():
        msg = f"{docs_dir} is not a folder"
        raise SourceMissingError(msg, hint="Check the path given with --docs-dir.")
    index = None if data_dir is None else Path(data_dir)
    place = database_place(config.store.location, database=database, docs_dir=root, data_dir=index)
    # A database that is named is the user's own.
    is_in_folder = (
        root is not None and database is None and isinstance(place, Path) and place.is_relative_to(root)
    )
    wanted = DatabasePlace(
        place,
        docs_dir=root,
        came_with=root if is_in_folder else None,
        choice=choice or FolderChoice(),
        makes=makes,
        is_named=place != database_place(None, database=None, docs_dir=root, data_dir=None),
    )
    return workspace_at(wanted, config, embedder)
