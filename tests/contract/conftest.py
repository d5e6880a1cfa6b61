"""Every store, for the suites of its port."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.contract.attached_world import FACTORIES, MakeIndex, Place, fill, new_place, open_world
from tests.contract.store_world import STORES, World, add_collection, open_store

from mdvec.stores.interface import Store
from mdvec.types.collection import Collection


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """An empty store of each kind."""
    store = open_store(request.param, tmp_path)
    yield store
    store.close()


@pytest.fixture
def notes(store: Store) -> Collection:
    """An empty collection."""
    return add_collection(store)


@pytest.fixture
def world(store: Store) -> World:
    """Two empty collections."""
    return World(store)


@pytest.fixture
def make(request: pytest.FixtureRequest) -> MakeIndex:
    """Make an index beside a store."""
    return FACTORIES[getattr(request, "param", "memory")]


@pytest.fixture(scope="session")
def full_databases(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Place]:
    """Databases with 2,000 chunks in two collections, which are made once, when they are needed."""
    known: dict[str, Place] = {}

    def made(store_kind: str) -> Place:
        if store_kind not in known:
            folder = tmp_path_factory.mktemp("full")
            full = open_world(new_place(store_kind, folder), FACTORIES["memory"], folder)
            fill(full)
            full.close()
            known[store_kind] = full.place
        return known[store_kind]

    return made
