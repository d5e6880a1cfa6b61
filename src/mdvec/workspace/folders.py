"""Folders as collections, registered or not."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

from mdvec.types.collection import ChunkingSpec, Collection, SourceSpec
from mdvec.stores.interface import Catalog, Store
from mdvec.text.undecodable import spelled

DOCS_COLLECTION = "docs"
"""Name of the one collection of a folder that is used without registering it."""

_DATA_DIR = ".mdvec"  # never indexed itself


def index_of(folder: Path, data_dir: Path | None) -> Path:
    """Return where the index of an unregistered folder lies: in the folder itself, if not elsewhere."""
    return (data_dir or folder / _DATA_DIR) / "index.sqlite"


def named(name: str, catalog: Catalog) -> Collection | None:
    """Return the collection of a name, enabled or not."""
    return next((each for each in catalog.collections() if each.name == name), None)


def register(folder: Path, store: Store, chunking: ChunkingSpec) -> None:
    """Make a folder the only collection of its database, at its present place."""
    location = str(folder)
    docs = named(DOCS_COLLECTION, store.catalog)
    if docs is not None and docs.source.location == location:
        return
    with store.transaction():
        docs = named(DOCS_COLLECTION, store.catalog)  # another process may have been faster
        if docs is None:
            description = f"Documents in {spelled(location)}"
            store.catalog.add_collection(
                DOCS_COLLECTION, description, SourceSpec("folder", location), chunking
            )
        else:
            store.catalog.change_collection(
                docs.id, lambda now: replace(now, source=replace(now.source, location=location))
            )


def hide_from_git(directory: Path) -> None:
    """Keep an index that lies among somebody's documents out of their repository."""
    rules = directory / ".gitignore"
    if directory.name == _DATA_DIR and not rules.exists():
        with contextlib.suppress(OSError):  # a place that can only be read is no reason to fail
            rules.write_text("*\n", encoding="utf-8")
