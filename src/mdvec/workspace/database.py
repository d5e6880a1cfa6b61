"""The database of a workspace: opened when it is first needed, and asked for collections and documents."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from mdvec.config.schema import Config
from mdvec.errors import CollectionNotFoundError
from mdvec.stores.interface import Store, StoredDocument
from mdvec.text.addresses import without_password
from mdvec.types.collection import ChunkingSpec, Collection
from mdvec.workspace.folders import hide_from_git, named, register
from mdvec.workspace.reading import find
from mdvec.workspace.wiring import make_store


class Database:
    """One database. Safe to use from several threads.

    Attributes:
        location: Absolute path of its file, or an address.
        docs_dir: The folder whose index it is; None when collections are registered in it.

    Args:
        location: Absolute path of its file, or an address; nothing is read or written yet.
        config: Has the settings of the store.
        docs_dir: The folder whose index it is.
        chunking: How that folder is cut.
    """

    def __init__(
        self, location: Path | str, config: Config, *, docs_dir: Path | None, chunking: ChunkingSpec
    ) -> None:
        self.location = location
        self._config = config
        self.docs_dir = docs_dir
        self._chunking = chunking
        self._store: Store | None = None
        self._opening = threading.Lock()

    @property
    def shown(self) -> str:
        """The location for people, without a password."""
        return without_password(str(self.location))

    def store(self) -> Store:
        """Return what holds it; it is made and opened when it is not, and then knows its folder."""
        with self._opening:
            if self._store is None:
                store = make_store(self.location, self._config)
                try:
                    if self.docs_dir is not None:
                        register(self.docs_dir, store, self._chunking)
                        if isinstance(self.location, Path):
                            hide_from_git(self.location.parent)
                except BaseException:
                    store.close()
                    raise
                self._store = store
            return self._store

    def close(self) -> None:
        """Release it; the next use opens it again."""
        with self._opening:
            store, self._store = self._store, None
        if store is not None:
            store.close()

    def collections(self, *, include_disabled: bool = False) -> list[Collection]:
        """Return the collections, by name."""
        found = self.store().catalog.collections()
        return [collection for collection in found if collection.enabled or include_disabled]

    def collection(self, name: str) -> Collection:
        """Return one collection, enabled or not.

        Raises:
            CollectionNotFoundError: If there is none of that name.
        """
        found = named(name, self.store().catalog)
        if found is not None:
            return found
        msg = f"there is no collection {name!r} in {self.shown}"
        known = ", ".join(each.name for each in self.collections(include_disabled=True))
        raise CollectionNotFoundError(
            msg, hint=f"Known: {known}." if known else "Add one with 'mdvec tool add -n NAME -d TEXT -s DIR'."
        )

    def chosen(self, names: Sequence[str], *, include_disabled: bool = False) -> list[Collection]:
        """Return the collections of these names, each once; all of them without any.

        Args:
            names: Names, of disabled ones, too.
            include_disabled: Whether disabled ones are among all.

        Raises:
            CollectionNotFoundError: If one of them does not exist.
        """
        if not names:
            return self.collections(include_disabled=include_disabled)
        return [self.collection(name) for name in dict.fromkeys(names)]

    def document(self, path: str, collection: str | None) -> tuple[StoredDocument, Collection]:
        """Find a document.

        Args:
            path: As hits show it.
            collection: Where; all enabled collections when None.

        Returns:
            The document, and the collection it is in.

        Raises:
            CollectionNotFoundError: If there is no such collection.
            DocumentNotFoundError: If there is no such document.
            UsageError: If the path is in more than one collection.
        """
        places = self.chosen((collection,) if collection else ())
        document = find(path, places, self.store().catalog, docs_dir=self.docs_dir)
        return document, next(place for place in places if place.id == document.collection_id)
