"""A world in a database of its own, for tests of what reads a store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contract.store_world import World

from mdvec.stores.sqlite.store import SqliteStore


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Two empty collections."""
    store = SqliteStore(tmp_path / "world" / "index.sqlite")
    yield World(store)
    store.close()
