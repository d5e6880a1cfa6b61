"""Chroma beside a store: what its users see, one owner of a folder, a server for several, and damage."""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from tests.contract.attached_world import TEXTS, entry, placed, queries, step
from tests.waiting import wait_until

from mdvec.errors import StoreError

pytestmark = [pytest.mark.chroma, pytest.mark.filterwarnings("ignore::ResourceWarning")]


def open_index(place: Path | str, **settings: Any) -> Any:
    from mdvec.stores.vectors.chroma import ChromaVectorIndex

    return ChromaVectorIndex(str(place), **settings)


def fill(index: Any, count: int = 100) -> None:
    assert index.apply(
        TEXTS, step(None, "1", [entry(at + 1, each) for at, each in enumerate(queries(count))])
    )


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A folder with an index of 100 texts."""
    index = open_index(tmp_path / "index")
    fill(index)
    index.close()
    return tmp_path / "index"


def test_what_local_rag_reads(tmp_path: Path) -> None:
    """Ids, texts and metadata are those of local-rag, one collection for each of mdvec, with its graph."""
    import chromadb

    index = open_index(tmp_path, hnsw_construction_ef=120, hnsw_M=12)
    vectors = queries(3)
    first = replace(placed(entry(1, vectors[0]), "日記/a.md", 3), heading="見出し")
    first = replace(first, section=replace(first.section, content="本文"))
    index.apply(TEXTS, step(None, "1", [first, entry(2, vectors[1], collection=7)]))
    index.close()
    client = chromadb.PersistentClient(tmp_path)
    documents = client.get_collection("documents", embedding_function=None)
    found = documents.get(include=["documents", "metadatas", "embeddings"])
    assert found["ids"] == ["日記/a.md::chunk_3"]
    assert found["documents"] == ["本文"]
    expected = {"file_path": "日記/a.md", "chunk_index": 3, "heading": "見出し"}
    assert expected.items() <= found["metadatas"][0].items()
    assert found["embeddings"][0] == pytest.approx(vectors[0], abs=1e-6)
    graph = documents.configuration_json["hnsw"]
    assert [graph[key] for key in ("space", "ef_construction", "ef_search", "max_neighbors")] == [
        *("cosine", 120, 100, 12)
    ]
    assert client.get_collection("documents_2", embedding_function=None).count() == 1
    client.close()


@pytest.mark.parametrize("space", ["cosine", "l2", "ip"])
def test_distances(tmp_path: Path, space: str) -> None:
    """Whatever the distance is called, the order is that of the cosines."""
    index, vectors = open_index(tmp_path, hnsw_space=space), queries(100)
    fill(index)
    found = index.nearest(TEXTS, vectors[5], 10, None)
    assert found == [1 + at for at in np.argsort(-(vectors @ vectors[5]))[:10]]
    index.close()


def test_another_graph_starts_from_nothing(filled: Path) -> None:
    """Chroma would keep the old one without a word."""
    index = open_index(filled, hnsw_M=24)
    assert index.applied(TEXTS) is None
    fill(index, 10)
    assert len(index.nearest(TEXTS, queries(1)[0], 99, None)) == 10
    index.close()


def test_recall_with_many_replacements(tmp_path: Path) -> None:
    """Of 5,000 texts of which many were replaced, the ten nearest are found."""
    index, vectors = open_index(tmp_path), queries(6_000)
    index.apply(TEXTS, step(None, "0", [entry(at + 1, each) for at, each in enumerate(vectors[:5_000])]))
    for at in range(5):
        more = [entry(5_001 + 200 * at + each, vectors[5_000 + 200 * at + each]) for each in range(200)]
        index.apply(
            TEXTS, step(str(at), str(at + 1), more, removed=list(range(1 + 200 * at, 201 + 200 * at)))
        )
    same = 0
    for query in vectors[::120]:
        expected = set((1_001 + np.argsort(-(vectors[1_000:] @ query))[:10]).tolist())
        same += len(expected & set(index.nearest(TEXTS, query, 42, None)[:10]))
    assert same / 500 >= 0.98
    assert len(index.nearest(TEXTS, vectors[0], 4_000, None)) == 4_000
    index.close()


def test_entries_that_chroma_lost(filled: Path) -> None:
    """An index that finds fewer than it holds is emptied, and filled again by what follows."""
    index = open_index(filled)
    lost = index._collections(TEXTS)[1]
    query = lost.query

    class Losing:
        name = lost.name

        def count(self) -> int:
            return 100

        def query(self, **arguments: Any) -> Any:
            return query(**{**arguments, "n_results": 5})

    index._collections = lambda _: {1: Losing()}
    assert index.nearest(TEXTS, queries(1)[0], 50, None) == []
    del index._collections
    assert index.applied(TEXTS) is None
    index.close()


def test_one_process_owns_a_folder(filled: Path) -> None:
    """A second process does without, and is told what serves several; it can follow when the first ends."""
    owner, other = open_index(filled), open_index(filled)
    assert owner.applied(TEXTS) == "1"
    with pytest.raises(StoreError, match="another process uses") as caught:
        other.applied(TEXTS)
    assert "chroma run" in caught.value.hint
    owner.close()
    assert other.applied(TEXTS) == "1"
    other.close()


def garble(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[100:] = random.Random(1).randbytes(len(content) - 100)
    path.write_bytes(content)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "folder deleted": shutil.rmtree,
    "database deleted": lambda path: (path / "chroma.sqlite3").unlink(),
    "database garbled": lambda path: garble(path / "chroma.sqlite3"),
    "database emptied": lambda path: (path / "chroma.sqlite3").write_bytes(b""),
}


@pytest.mark.parametrize("damage", [*DAMAGES])
def test_damage(filled: Path, damage: str) -> None:
    """What is gone or damaged can be filled again."""
    DAMAGES[damage](filled)
    index = open_index(filled)
    for _ in range(2):
        try:
            assert index.nearest(TEXTS, queries(1)[0], 5, None) == []
        except StoreError as error:
            assert "cannot be used" in str(error)  # noqa: PT017 - one of two outcomes
    assert index.applied(TEXTS) is None
    fill(index)
    assert index.nearest(TEXTS, queries(1)[0], 1, None)[0] == 1
    index.close()


def test_a_folder_that_is_deleted_in_use(filled: Path) -> None:
    """A running process notices, and fills a new one."""
    index = open_index(filled)
    assert index.applied(TEXTS) == "1"
    shutil.rmtree(filled)
    assert index.applied(TEXTS) is None
    fill(index)
    assert len(index.nearest(TEXTS, queries(1)[0], 999, None)) == 100
    index.close()


def test_folders_of_others_are_not_touched(tmp_path: Path) -> None:
    """A folder of another Chroma program, or of anything else, is refused."""
    import chromadb

    theirs = chromadb.PersistentClient(tmp_path / "theirs")
    theirs.create_collection("documents", embedding_function=None)
    theirs.close()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("# A\n")
    for name in ("theirs", "notes", "notes/a.md"):
        with pytest.raises(StoreError, match="is not a vector index of mdvec"):
            open_index(tmp_path / name)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real ``chroma run``; yields its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = Path(sys.executable).with_name("chroma")
    command = [program, "run", "--path", tmp_path_factory.mktemp("server"), "--port", str(port)]
    environment = {**os.environ, "ANONYMIZED_TELEMETRY": "False"}
    process = subprocess.Popen(
        [str(each) for each in command], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_until(lambda: _answers(port))
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_a_server_for_several(server: str) -> None:
    """Two clients see each other's changes at once, and collections of others stay."""
    import chromadb

    theirs = chromadb.HttpClient("127.0.0.1", int(server.rsplit(":", 1)[1]))
    theirs.create_collection("documents", embedding_function=None)
    first, second = open_index(server), open_index(server)
    vectors = queries(100)
    fill(first)
    assert second.applied(TEXTS) == "1"
    assert second.nearest(TEXTS, vectors[7], 1, None)[0] == 8
    assert second.apply(TEXTS, step("1", "2", [entry(200, vectors[7])], removed=[8]))
    assert first.nearest(TEXTS, vectors[7], 1, None)[0] == 200
    assert not first.apply(TEXTS, step("1", "3", [entry(300, vectors[0])]))
    second.drop(TEXTS)
    assert first.applied(TEXTS) is None
    assert theirs.get_collection("documents", embedding_function=None).count() == 0


def test_one_writer_at_a_time(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one client writes another does not; what a crashed one left is taken over."""
    from mdvec.stores.vectors import chroma

    first, second = open_index(server), open_index(server)
    with first._writing(TEXTS) as mine:
        assert mine
        assert not second.apply(TEXTS, step(None, "1", [entry(1, queries(1)[0])]))
    crashed = first._writing(TEXTS)
    assert crashed.__enter__()
    assert not second.apply(TEXTS, step(None, "1", [entry(1, queries(1)[0])]))
    monkeypatch.setattr(chroma, "_LEASE_S", -1.0)
    assert second.apply(TEXTS, step(None, "1", [entry(1, queries(1)[0])]))
    second.drop(TEXTS)
    crashed.__exit__(None, None, None)


def test_a_server_that_is_away() -> None:
    """The index cannot be used, and says so."""
    with pytest.raises(StoreError, match=r"http://127\.0\.0\.1:9 cannot be used"):
        open_index("http://127.0.0.1:9").applied(TEXTS)
