"""Every store, for the suites of its port."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
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
