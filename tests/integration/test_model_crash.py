"""A change of the model that is killed at any instant: old answers or new answers, never neither."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.integration.models import PROVIDER, Shelf

from mdvec import SearchQuery, open_workspace
from mdvec.stores.interface import Store
from mdvec.types.collection import EmbeddingSpec
from mdvec.types.query import SearchMode
from mdvec.workspace.database import open_store

pytestmark = pytest.mark.harness

NAME = "notes"
KILLED = 20


def test_a_killed_change_of_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed 20 times at a random instant: all chunks are found each time, and the next run completes it."""
    shelf = Shelf()
    shelf.put_up(monkeypatch)
    chance = random.Random(20261122)
    docs, database = tmp_path / "docs", tmp_path / "i.sqlite"
    docs.mkdir()
    for number in range(120):
        (docs / f"{number}.md").write_text(f"# Note {number}\n\nMarker{number} stands here.\n")
    models = [EmbeddingSpec(PROVIDER, name, 32) for name in ("a", "b")]
    with open_workspace(database=database) as workspace:
        workspace.add_collection(NAME, "", str(docs), embedding=models[0])
        workspace.import_collection(NAME)
    in_child(partial(use, database, models[1]))
    longest_s, killed, round_number = 1.0, 0, 0
    while killed < KILLED:
        round_number += 1
        before, after = models[(round_number + 1) % 2], models[round_number % 2]
        child = fork(partial(use, database, after))
        time.sleep(chance.uniform(0, longest_s))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        # Half of the instants are to be within the change, however fast the machine is just now.
        killed += os.WIFSIGNALED(status)
        longest_s *= 1.1 if os.WIFSIGNALED(status) else 0.9
        in_child(partial(look, database, shelf, {before, after}))
        in_child(partial(go_on, database, after, by_import=round_number % 4 > 1))
        in_child(partial(look, database, shelf, {after}))


def use(database: Path, wanted: EmbeddingSpec) -> None:
    """Change the model."""
    with open_workspace(database=database) as workspace:
        list(workspace.models.use(wanted, [NAME]))


def go_on(database: Path, wanted: EmbeddingSpec, *, by_import: bool) -> None:
    """Complete the change, one way or the other."""
    if by_import:
        with open_workspace(database=database) as workspace:
            workspace.import_collection(NAME)
    use(database, wanted)


def look(database: Path, shelf: Shelf, possible: set[EmbeddingSpec]) -> None:
    """See that every chunk is found, by a model that may be in use, and that no other vectors are left."""
    with open_workspace(database=database) as workspace:
        collection = workspace.collection(NAME)
        assert collection.embedding in possible, collection.embedding
        everything = SearchQuery("marker", mode=SearchMode.DENSE, limit=1000, min_score=0.0, all_similar=True)
        result = workspace.search(everything)
        assert (len(result.hits), result.pending_chunks) == (120, 0), (
            len(result.hits),
            result.pending_chunks,
        )
        assert not [each for each in workspace.doctor() if each.severity == "problem"]
    if len(possible) == 1:
        store = open_store(database)
        other = ({"a", "b"} - {each.model for each in possible}).pop()
        assert in_space(store, shelf, other) == 0, other
        store.close()


def in_space(store: Store, shelf: Shelf, model: str) -> int:
    """Count the chunks with a vector of a model."""
    with store.read() as view:
        (collection,) = view.collections.all()
        counts = view.collections.counts(collection.id, view.spaces.find(shelf[model, 32].space))
    return counts.chunks - counts.pending_chunks


def fork(task: Callable[[], None]) -> int:
    """Run a task in a child of this warm process."""
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        task()
        code = 0
    except BaseException as error:  # noqa: BLE001 - a child must not fall through into the parent's code
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(code)


def in_child(task: Callable[[], None]) -> None:
    """Run a task in a child, which must succeed."""
    _, status = os.waitpid(fork(task), 0)
    assert status == 0
