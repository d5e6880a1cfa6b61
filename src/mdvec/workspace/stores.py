"""The store of a workspace as a whole: what it holds, where it moves, and who else may read it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from mdvec import registry, run
from mdvec.config.schema import Config
from mdvec.errors import ConfigError, NoIndexError, StoreError
from mdvec.indexing.work import drop_unused_vectors
from mdvec.stores.interface import Team, View
from mdvec.text.addresses import scheme_of
from mdvec.text.quantity import quantity
from mdvec.types.collection import Collection
from mdvec.types.report import ImportMode
from mdvec.types.store_report import MovedStore, PublishReport, RebuiltIndex, SpaceSize, StoreDescription
from mdvec.workspace.collections import Collections
from mdvec.workspace.database import open_database, open_store

_MOVE_WAIT_S = 5.0  # for an import to end


class Stores:
    """The store of a workspace, and what can be done with it as a whole."""

    def __init__(self, collections: Collections, config: Config) -> None:
        self._collections = collections
        self._stages = collections.stages
        self._config = config

    def describe(self) -> StoreDescription:
        """Describe the store: what it is, what it holds, and its vector index."""
        with self._collections.read() as view:
            counts = [view.collections.counts(each.id, None) for each in view.collections.all()]
            spaces = [each for each in view.spaces.all() if each.vectors]
            location, problems = _vector_index(view)
        return StoreDescription(
            name=registry.named_store(str(self._collections.place.location)),
            location=self._collections.place.shown,
            size_bytes=self._collections.size_bytes,
            collections=len(counts),
            documents=sum(each.documents for each in counts),
            chunks=sum(each.chunks for each in counts),
            spaces=tuple(SpaceSize(each.space.key, each.vectors) for each in spaces),
            vector_index=location,
            problems=problems,
        )

    def compact(self) -> tuple[int, int]:
        """Rewrite the store without what was deleted, and return its bytes before and after."""
        store = self._collections.store()
        before = store.size_bytes
        with store.write() as writer:
            drop_unused_vectors(writer)
        store.compact()
        return before, store.size_bytes

    def move(self, target: str) -> MovedStore:
        """Copy everything to another store, vectors included, and compare both; nothing is embedded.

        The workspace stays with its store. A copy that was interrupted is resumed.

        Args:
            target: A path, or an address; an empty place, or one that an earlier copy has begun.

        Raises:
            ConfigError: If there is no store for the address.
            StoreError: If the place holds anything else, or differs afterwards.
            WriterBusyError: If a collection is being imported.
            ImportStoppedError: If the run is cancelled; what was copied stays.
        """
        from mdvec.indexing.embed import update_vector_index
        from mdvec.indexing.transfer import copy_store

        place = target if scheme_of(target) else Path(target).absolute()
        if _is_same(place, self._collections.place.location):
            msg = f"{self._collections.place.shown} is already there"
            raise StoreError(msg, hint="Name another file, or the address of another store.")
        # An index follows once the new store is used.
        without_index = msgspec.structs.replace(self._config.store, vectors=None)
        config = msgspec.structs.replace(self._config, store=without_index)
        with closing(open_database(place, config, folder=None)) as store:
            contents = copy_store(self._collections.store(), store, wait_s=_MOVE_WAIT_S)
            update_vector_index(store)
            return MovedStore(store.location, contents)

    def publish(
        self, target: str, names: Sequence[str] = (), *, keep: int | None = None, full: bool = False
    ) -> PublishReport:
        """Publish collections as a new version, which is there at once or not at all.

        If the newest version holds the same, it stays the newest, and nothing is sent. Needs space for a copy
        of the database meanwhile. See :mod:`mdvec.stores.published.dataset`.

        Args:
            target: A folder, or ``s3://BUCKET[/PATH]``.
            names: The collections; all enabled ones without any.
            keep: How many versions stay there; None for all.
            full: Publish even if nothing has changed, and use no part that is there already.

        Raises:
            CollectionNotFoundError: If one of them does not exist.
            ConfigError: If nothing can be published there.
            StoreError: If the place holds anything else, or cannot be used.
            WriterBusyError: If another process publishes there at the same time.
            ImportStoppedError: If the run is cancelled; the version before stays the newest.
        """
        from mdvec.stores.published import dataset, places

        collections = self._collections.chosen(names)
        if not collections:
            raise NoIndexError(hint="Add a collection with 'mdvec tool add -n NAME -d DESCRIPTION -s DIR'.")
        chosen = [each.name for each in collections]
        arguments = self._config.arguments("stores", "published", registry.load("stores", "published"))
        where = {name: arguments[name] for name in ("region", "endpoint") if name in arguments}
        place = places.open_place(target, **where)
        previous = None if full else dataset.latest(place)
        newest = max(dataset.numbers(place), default=0) if previous is None else previous.number
        if not newest:
            _check_is_free(place.location)
        number = newest + 1
        self._warn_of_pending(collections)
        with TemporaryDirectory(prefix="mdvec-publish-") as folder:
            file = Path(folder) / "version.sqlite"
            content = self._write_copy(file, chosen, number)
            if previous is not None and previous.content == content:
                manifest, sent = previous, 0
            else:
                manifest, sent = dataset.publish(place, file, number, chosen, previous, content)
            documents, chunks = _count(file)
        return PublishReport(
            location=place.location,
            version=manifest.number,
            changed=manifest is not previous,
            collections=tuple(chosen),
            documents=documents,
            chunks=chunks,
            size_bytes=manifest.size_bytes,
            sent_bytes=sent,
            removed=0 if keep is None else dataset.prune(place, manifest.number, keep),
        )

    def _write_copy(self, file: Path, names: Sequence[str], number: int) -> str:
        """Write the file that is published, and return a digest of what it holds.

        What is in another store than a file is copied into one before.
        """
        from mdvec.indexing.transfer import copy_store

        place = self._collections.place
        path = place.location
        if registry.named_store(str(path)) != "sqlite":
            path = file.with_name("all.sqlite")
            with closing(open_store(path)) as between:
                copy_store(self._collections.store(), between, wait_s=_MOVE_WAIT_S)
        digest: str = registry.load("stores", "sqlite").write_copy(
            Path(path), file, names, number, follow_links=place.came_with is None
        )
        return digest

    def _warn_of_pending(self, collections: Sequence[Collection]) -> None:
        """Warn of texts that are published without a vector."""
        for each in collections:
            with self._collections.read() as view:
                pending = self._stages.model(each).counts(each, view).pending_chunks
            if pending:
                command = self._collections.place.import_command([each.name], ImportMode.UPDATE)
                run.current().warn(
                    f"{quantity(pending, 'text')} of {each.name} without a vector, found by words alone; "
                    f"run '{command}', and publish again"
                )

    def rebuild_vector_index(self) -> RebuiltIndex:
        """Empty the vector index of the store and fill it again; nothing is embedded.

        Raises:
            ConfigError: If there is none.
        """
        with self._collections.store().read() as view:
            index = view.vectors.index
            if index is not None:
                return RebuiltIndex(index.location, index.rebuild())
        msg = "no vector index is in use"
        raise ConfigError(msg, hint="Choose one in the configuration: [store] vectors.")

    def grant(self, name: str, role: str) -> None:
        """Let a role of the server read a collection.

        Raises:
            ConfigError: If the store is not on a server.
            CollectionNotFoundError: If there is no such collection.
            NotFoundError: If there is no such role.
        """
        self._team().set_access(self._collections.named(name), role, may_read=True)

    def revoke(self, name: str, role: str) -> None:
        """Revoke the right to read a collection.

        Raises:
            ConfigError: If the store is not on a server.
            CollectionNotFoundError: If there is no such collection.
        """
        self._team().set_access(self._collections.named(name), role, may_read=False)

    def make_views(self, name: str) -> list[str]:
        """Show a collection to other programs, as views and a function; return their names.

        Raises:
            ConfigError: If the store is not on a server.
            CollectionNotFoundError: If there is no such collection.
            StoreError: If nothing is embedded yet, or other things have those names.
        """
        store, collection = self._team(), self._collections.named(name)
        with self._collections.read() as view:
            space_id = self._stages.model(collection).space_id(collection, view)
        if space_id is None:
            msg = f"the collection {name!r} has no vectors yet"
            raise StoreError(
                msg, hint=f"Run '{self._collections.place.import_command([name], ImportMode.UPDATE)}' first."
            )
        return store.make_views(collection, space_id)

    def _team(self) -> Team:
        store = self._collections.store()
        if store.team is None:
            msg = f"{store.location} is not on a server, so it has neither rights nor views"
            raise ConfigError(msg, hint="Use PostgreSQL: [store] location = 'postgresql://…'.")
        return store.team


def _count(file: Path) -> tuple[int, int]:
    """Return how many documents and chunks a file holds; it is not changed."""
    with closing(registry.load("stores", "sqlite")(file, read_only=True)) as store, store.read() as view:
        counts = [view.collections.counts(each.id, None) for each in view.collections.all()]
    return sum(each.documents for each in counts), sum(each.chunks for each in counts)


def _check_is_free(location: str) -> None:
    """Refuse to publish the first version into a folder of other files.

    Raises:
        StoreError: If it is one.
    """
    from mdvec.stores.published import dataset

    if scheme_of(location) or not Path(location).is_dir():
        return
    others = {each.name for each in Path(location).iterdir()} - dataset.FOLDERS
    if others:
        msg = f"{location} holds other files, such as {min(others)}"
        raise StoreError(msg, hint="Name an empty folder, or one that is not there yet.")


def _is_same(place: Path | str, location: Path | str) -> bool:
    """Return True if two places are one file, by whatever path, or one address."""
    if isinstance(place, Path) and isinstance(location, Path) and place.exists() and location.exists():
        return place.samefile(location)
    return str(place) == str(location)


def _vector_index(view: View) -> tuple[str, tuple[str, ...]]:
    index = view.vectors.index
    if index is None:
        return "", ()
    problem = index.problem()
    return index.location, (problem,) if problem else ()
