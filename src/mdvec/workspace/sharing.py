"""A database on a server, as far as other users and other programs see it."""

from __future__ import annotations

from mdvec.errors import ConfigError, StoreError
from mdvec.stores.sharing import SharedStore
from mdvec.workspace.collections import Collections
from mdvec.workspace.wiring import Parts


class Sharing:
    """Rights and views of a store on a server; every method raises :class:`ConfigError` for another one."""

    def __init__(self, collections: Collections, parts: Parts) -> None:
        self._collections = collections
        self._parts = parts

    def grant(self, name: str, role: str) -> None:
        """Let a role of the server read a collection.

        Raises:
            CollectionNotFoundError: If there is no such collection.
            NotFoundError: If there is no such role.
        """
        self._store().grant(self._collections.named(name), role)

    def revoke(self, name: str, role: str) -> None:
        """Take the right to read a collection back.

        Raises:
            CollectionNotFoundError: If there is no such collection.
        """
        self._store().revoke(self._collections.named(name), role)

    def make_views(self, name: str) -> list[str]:
        """Show a collection to other programs, as views and a function; return their names.

        Raises:
            CollectionNotFoundError: If there is no such collection.
            StoreError: If nothing is embedded yet, or other things have those names.
        """
        store, collection = self._store(), self._collections.named(name)
        with self._collections.store().read() as view:
            space_id = self._parts.model(collection).space_id(collection, view)
        if space_id is None:
            msg = f"the collection {name!r} has no vectors yet"
            raise StoreError(msg, hint=f"Run 'mdvec import -n {name}' first.")
        return store.make_views(collection, space_id)

    def _store(self) -> SharedStore:
        store = self._collections.store()
        if not isinstance(store, SharedStore):
            msg = f"{store.location} is not on a server, and cannot be shared so"
            raise ConfigError(msg, hint="Use PostgreSQL: [store] location = 'postgresql://…'.")
        return store
