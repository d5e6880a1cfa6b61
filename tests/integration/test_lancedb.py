"""LanceDB beside a store: the table that others read, graphs, damage, several processes, and S3."""

from __future__ import annotations

import multiprocessing
import random
import shutil
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from tests.contract.attached_world import OTHER, TEXTS, entry, queries, step
from tests.waiting import HANG_S

from mdvec.config import Config
from mdvec.config.schema import StoreSettings
from mdvec.errors import StoreError
from mdvec.locks import locked
from mdvec.stores.records import VectorKind
from mdvec.stores.vectors.index import IndexedSpace
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.query import SearchQuery
from mdvec.types.section import IndexedSection
from mdvec.workspace import open_workspace

pytestmark = pytest.mark.lancedb

HASH_AND_TIMES: dict[str, Any] = {
    "document_hash": "abc",
    "created_at_ms": 1_767_323_045_678,
    "updated_at_ms": 1_767_323_045_679,
}
SECOND = IndexedSpace(OTHER.key, OTHER.dimension, VectorKind.TEXT)


def open_index(place: Path | str, **settings: Any) -> Any:
    from mdvec.stores.vectors.lancedb import LanceVectorIndex

    return LanceVectorIndex(str(place), **settings)


def read(place: Path, table: str = "sections") -> Any:
    """Read a table as another program does."""
    import lancedb

    return lancedb.connect(str(place)).open_table(table)


def unindexed(place: Path) -> int:
    """Count the rows that are missing in the graph."""
    table = read(place)
    (graph,) = table.list_indices()
    return int(table.index_stats(graph.name).num_unindexed_rows)


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A folder with an index of 100 texts."""
    index = open_index(tmp_path / "index")
    assert index.apply(TEXTS, step(None, "1", [entry(at + 1, each) for at, each in enumerate(queries(100))]))
    index.close()
    return tmp_path / "index"


def test_the_table_that_search_docs_reads(tmp_path: Path) -> None:
    """The columns of search-docs come first, in its order; no text is null, and ids are unique."""
    index = open_index(tmp_path)
    top, below = (entry(key, queries(1)[0]) for key in (1, 2))
    written = {"id": "s2", "parent_id": "s1", "content": "本文", "token_count": 3}
    below = replace(below, section=replace(below.section, is_dirty=True, **written, **HASH_AND_TIMES))
    index.apply(TEXTS, step(None, "1", [top, below]))
    table = read(tmp_path)
    expected = "id document_path heading depth content token_count vector parent_id order is_dirty"
    expected += " document_hash created_at updated_at"
    assert table.schema.names[:13] == expected.split()
    types = [str(each.type) for each in table.schema][:13]
    assert [types[3], types[5], types[8], types[9], types[11]] == [
        *("int32", "int32", "int32"),
        *("bool", "timestamp[ms]"),
    ]
    rows = {row["id"]: row for row in table.to_arrow().to_pylist()}
    assert written.items() <= rows["s2"].items()
    assert (rows["s2"]["heading"], rows["s2"]["is_dirty"]) == ("Part", True)
    moments = [
        rows["s2"][name].isoformat(timespec="milliseconds")[-12:] for name in ("created_at", "updated_at")
    ]
    assert moments == ["03:04:05.678", "03:04:05.679"]
    assert (rows["1"]["document_path"], rows["1"]["parent_id"]) == ("1.md", None)
    wanted = table.search(queries(1)[0]).where("depth = 1 OR depth = 2").limit(5).to_arrow()
    assert len(wanted) == 2


def test_sections_that_a_program_wrote(tmp_path: Path) -> None:
    """The table has their own ids, parents, hashes and times, and says which were sent as changed."""
    place = tmp_path / "sections"
    config = Config(store=StoreSettings(vectors=f"lancedb:{place}"))
    one = IndexedSection("s1", "a.md", "Tea", 1, "Green tea.", 3, None, 0, is_dirty=True, **HASH_AND_TIMES)
    two = replace(one, id="s2", heading="Water", depth=2, content="Hot.", parent_id="s1", order=1)
    with open_workspace(config, database=tmp_path / "db.sqlite", embedder=HashingEmbedder()) as workspace:
        workspace.sections.add([two, one], wait_s=HANG_S)
        workspace.search(SearchQuery("tea"))
        written = {each.id: each for each in workspace.sections.at("a.md")}
    rows = {row["id"]: row for row in read(place).to_arrow().to_pylist()}
    names = ("heading", "depth", "content", "parent_id", "order", "is_dirty", "document_hash")
    assert {each: [row[name] for name in names] for each, row in rows.items()} == {
        each: [getattr(section, name) for name in names] for each, section in written.items()
    }
    assert rows["s2"]["created_at"].isoformat(timespec="milliseconds") == "2026-01-02T03:04:05.678"
    assert rows["s2"]["is_dirty"]


def test_a_mark_of_a_program_is_in_the_table(tmp_path: Path) -> None:
    """From the next search on, until the section is written again; nothing is embedded for it."""
    place = tmp_path / "sections"
    config = Config(store=StoreSettings(vectors=f"lancedb:{place}"))
    one = IndexedSection("s1", "a.md", "Tea", 1, "Green tea.", 3, None, 0, is_dirty=False, **HASH_AND_TIMES)

    def dirty() -> list[object]:
        assert workspace.search(SearchQuery("tea")).pending_chunks == 0
        return [row["is_dirty"] for row in read(place).to_arrow().to_pylist()]

    with open_workspace(config, database=tmp_path / "db.sqlite", embedder=HashingEmbedder()) as workspace:
        workspace.sections.add([one], wait_s=HANG_S)
        assert dirty() == [False]
        before = workspace.sections.at("a.md")
        assert workspace.sections.mark_dirty("a.md") == 1
        assert dirty() == [True]
        assert workspace.sections.at("a.md") == [replace(each, is_dirty=True) for each in before]
        workspace.sections.add([one], wait_s=HANG_S)
        assert dirty() == [False]


def test_a_second_space_has_tables_of_its_own(filled: Path) -> None:
    """The first space keeps the names that others know; a space that was dropped leaves them free."""
    index = open_index(filled)
    index.apply(SECOND, step(None, "1", [entry(1, queries(1, 16)[0])]))
    assert len(read(filled, "sections_2")) == 1
    assert len(read(filled)) == 100
    index.drop(TEXTS)
    index.apply(TEXTS, step(None, "1", [entry(1, queries(1)[0])]))
    assert len(read(filled)) == 1


def test_a_graph(tmp_path: Path) -> None:
    """From a size on a graph answers, as well as a look at everything; new rows are found at once."""
    index = open_index(tmp_path, flat_rows=500)
    vectors = queries(3_000)
    index.apply(TEXTS, step(None, "1", [entry(at + 1, each) for at, each in enumerate(vectors[:2_900])]))
    index.optimize()
    assert read(tmp_path).list_indices()[0].index_type == "IvfHnswSq"
    more = [entry(at + 1, each) for at, each in enumerate(vectors) if at >= 2_900]
    index.apply(TEXTS, step("1", "2", more, removed=list(range(1, 200))))
    assert index.nearest(TEXTS, vectors[2_950], 1, None)[0] == 2_951
    assert unindexed(tmp_path) == 100
    index.optimize()
    assert unindexed(tmp_path) == 0
    same = 0
    for query in vectors[200:250]:
        expected = {200 + at for at in np.argsort(-(vectors[199:] @ query))[:10].tolist()}
        found = index.nearest(TEXTS, query, 42, None)[:10]
        same += len(expected & set(found))
    assert same / 500 >= 0.98
    assert len(index.nearest(TEXTS, vectors[0], 4_000, None)) == 2_801


def test_a_graph_that_cannot_be_completed_is_built_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever keeps Lance from adding to a graph, no row stays outside of it."""
    from lancedb.table import LanceTable

    def fail(*_: object, **__: object) -> None:
        msg = "lance error: merge failed"
        raise RuntimeError(msg)

    index = open_index(tmp_path, flat_rows=200)
    vectors = queries(400)
    index.apply(TEXTS, step(None, "1", [entry(at + 1, each) for at, each in enumerate(vectors[:300])]))
    index.optimize()
    index.apply(TEXTS, step("1", "2", [entry(at + 301, each) for at, each in enumerate(vectors[300:])]))
    assert unindexed(tmp_path) == 100
    monkeypatch.setattr(LanceTable, "optimize", fail)
    index.optimize()
    assert unindexed(tmp_path) == 0


def test_old_versions_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every write makes a version; there are never many more than are kept."""
    from mdvec.stores.vectors import lancedb

    monkeypatch.setattr(lancedb, "_MIN_AGE", timedelta(milliseconds=1))
    index = open_index(tmp_path)
    since = None
    for number in range(30):
        index.apply(TEXTS, step(since, str(number), [entry(number + 1, queries(1)[0])]))
        since = str(number)
        index.optimize()
    assert len(read(tmp_path).list_versions()) <= 22
    assert len(index.nearest(TEXTS, queries(1)[0], 99, None)) == 30


def spoil(path: Path) -> None:
    for each in path.iterdir():
        each.write_bytes(random.Random(1).randbytes(each.stat().st_size))


def shorten(path: Path) -> None:
    for each in path.iterdir():
        each.write_bytes(each.read_bytes()[: each.stat().st_size // 2])


def newest_version(path: Path) -> Path:
    """Return the file of the newest version of a table: Lance counts their names down."""
    return min((path / "_versions").glob("*.manifest"))


def overwrite_length(path: Path) -> None:
    file = newest_version(path)
    raw = file.read_bytes()
    start = int.from_bytes(raw[-16:-8], "little")
    file.write_bytes(raw[:start] + b"\xef" * 4 + raw[start + 4 :])


DAMAGES: dict[str, Callable[[Path], object]] = {
    "folder deleted": shutil.rmtree,
    "table deleted": lambda path: shutil.rmtree(path / "sections.lance"),
    "rows deleted": lambda path: shutil.rmtree(path / "sections.lance" / "data"),
    "rows spoiled": lambda path: spoil(path / "sections.lance" / "data"),
    "rows shortened": lambda path: shorten(path / "sections.lance" / "data"),
    "versions spoiled": lambda path: spoil(path / "sections.lance" / "_versions"),
    "newest version deleted": lambda path: newest_version(path / "sections.lance").unlink(),
    "length spoiled": lambda path: overwrite_length(path / "sections.lance"),
}


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("damage", [*DAMAGES])
def test_damage(filled: Path, damage: str, *, is_open: bool) -> None:
    """What is gone or damaged is noticed at once or by an error, and can then be filled again."""
    index = open_index(filled)
    if is_open:
        assert index.applied(TEXTS) == "1"
    DAMAGES[damage](filled)
    for _ in range(2):
        try:
            found = index.nearest(TEXTS, queries(1)[0], 5, None)
        except StoreError as error:
            assert "cannot be used" in str(error)  # noqa: PT017 - one of two outcomes
        else:
            assert len(found) in (0, 5)
    if index.applied(TEXTS) is None:
        assert index.apply(TEXTS, step(None, "1", [entry(1, queries(1)[0])]))
    assert index.nearest(TEXTS, queries(1)[0], 1, None)[0] == 1


def test_a_table_of_another_version_is_made_again(filled: Path) -> None:
    """It says of no space that it is its table; in a folder of ours its name is free."""
    import lancedb

    lancedb.connect(str(filled)).create_table("sections", [{"id": "1", "vector": [1.0]}], mode="overwrite")
    index = open_index(filled)
    assert index.applied(TEXTS) is None
    assert index.nearest(TEXTS, queries(1)[0], 1, None) == []
    assert index.apply(TEXTS, step(None, "2", [entry(7, queries(1)[0])]))
    assert len(read(filled)) == 1
    assert index.nearest(TEXTS, queries(1)[0], 5, None) == [7]


def test_folders_of_others_are_not_touched(tmp_path: Path) -> None:
    """A folder with tables or files of others is refused."""
    import lancedb

    lancedb.connect(str(tmp_path / "theirs")).create_table("sections", [{"id": "1"}])
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("# A\n")
    for name in ("theirs", "notes", "notes/a.md"):
        with pytest.raises(StoreError, match="is not a vector index of mdvec"):
            open_index(tmp_path / name)
    assert len(read(tmp_path / "theirs")) == 1


def test_a_folder_that_another_process_writes(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Meanwhile it can be read; what would change it is not done, and a space that stays is an error."""
    from mdvec.stores.vectors import lancedb

    monkeypatch.setattr(lancedb, "_LOCK_WAIT_S", 0)
    index = open_index(filled)
    with locked(filled / "mdvec.lock", wait_s=0):
        assert not index.apply(TEXTS, step("1", "2", removed=[1]))
        index.optimize()
        with pytest.raises(StoreError, match="another process writes"):
            index.drop(TEXTS)
        assert index.nearest(TEXTS, queries(1)[0], 1, None)[0] == 1
    assert index.apply(TEXTS, step("1", "2", removed=[1]))


def _write_steps(place: str, worker: int) -> None:
    """Apply what is next, again and again, as two processes that follow one store do."""
    index = open_index(place)
    vectors = queries(40)
    for _ in range(200):
        try:
            mark = index.applied(TEXTS)
            at = 0 if mark is None else int(mark) + 1
            if at == len(vectors):
                return
            index.apply(
                TEXTS,
                step(mark, str(at), [entry(at + 1, vectors[at])], [at] if at % 3 == 0 else []),
            )
        except StoreError:
            continue


def test_two_processes(tmp_path: Path) -> None:
    """Two that apply the same changes at once leave each entry once, and the last mark."""
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write_steps, args=(str(tmp_path), each)) for each in range(2)]
    for each in writers:
        each.start()
    for each in writers:
        each.join(120)
    assert [each.exitcode for each in writers] == [0, 0]
    index = open_index(tmp_path)
    assert index.applied(TEXTS) == "39"
    found = sorted(index.nearest(TEXTS, queries(1)[0], 999, None))
    assert found == [key for key in range(1, 41) if key % 3]


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An S3 bucket on this machine; yields the address of its server."""
    import boto3
    from moto.server import ThreadedMotoServer

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    boto3.client("s3", endpoint_url=address, region_name="us-east-1").create_bucket(Bucket="vectors")
    yield address
    server.stop()


@pytest.mark.filterwarnings("ignore")
def test_s3(bucket: str) -> None:
    """The same in a bucket: marks, rows, removal, and a second reader that sees a write at once."""
    settings = {"region": "us-east-1", "endpoint": bucket}
    index, reader = (open_index("s3://vectors/index", **settings) for _ in range(2))
    vectors = queries(50)
    assert index.applied(TEXTS) is None
    assert index.apply(TEXTS, step(None, "1", [entry(at + 1, each) for at, each in enumerate(vectors)]))
    assert reader.applied(TEXTS) == "1"
    assert reader.nearest(TEXTS, vectors[7], 3, None)[0] == 8
    assert not reader.apply(TEXTS, step(None, "1", [entry(1, vectors[0])]))
    assert index.apply(TEXTS, step("1", "2", [entry(60, vectors[7])], removed=[8]))
    assert reader.nearest(TEXTS, vectors[7], 1, None)[0] == 60
    assert len(reader.nearest(TEXTS, vectors[7], 99, None)) == 50
    index.optimize()
    reader.drop(TEXTS)
    assert index.applied(TEXTS) is None
    assert index.location == "s3://vectors/index"


@pytest.mark.filterwarnings("ignore")
def test_two_writers_to_a_bucket(bucket: str) -> None:
    """Without a lock, two that apply the same changes at once leave each row once."""
    from mdvec.stores.vectors import lancedb

    settings = {"region": "us-east-1", "endpoint": bucket}
    first, second = (open_index("s3://vectors/shared", **settings) for _ in range(2))
    vectors = queries(30)
    changes = step(None, "1", [entry(at + 1, each) for at, each in enumerate(vectors)])
    outcomes = [first.apply(TEXTS, changes), second.apply(TEXTS, changes)]
    assert outcomes == [True, False]
    # Both have seen the mark when they begin to write.
    for index in (first, second):
        table = index._connect().open_table("sections")
        lancedb._write(table, step("1", "2", [entry(31, vectors[0])]), TEXTS.dimension)
    found = first.nearest(TEXTS, vectors[0], 99, None)
    assert sorted(found) == [*range(1, 32)]
    late = first._connect().open_table("sections")
    second.drop(TEXTS)
    assert second.apply(TEXTS, step(None, "9", [entry(40, vectors[1])]))
    for write in (
        lambda: lancedb._write(late, step("1", "2", [entry(31, vectors[0])]), TEXTS.dimension),
        lambda: late.update_field_metadata({"path": "id", "metadata": {"mdvec_mark": "2"}}),
    ):
        with pytest.raises(RuntimeError, match=r"incompatible with concurrent transaction|Not found"):
            write()
    assert first.applied(TEXTS) == "9"
    assert first.nearest(TEXTS, vectors[0], 99, None) == [40]


@pytest.mark.filterwarnings("ignore")
def test_tables_of_others_in_a_bucket(bucket: str) -> None:
    """They keep their names and their rows."""
    import lancedb

    settings = {"region": "us-east-1", "endpoint": bucket}
    options = {"aws_region": "us-east-1", "aws_endpoint": bucket, "allow_http": "true"}
    theirs = lancedb.connect("s3://vectors/theirs", storage_options=options)
    theirs.create_table("sections", [{"id": "1", "vector": [1.0]}])
    index = open_index("s3://vectors/theirs", **settings)
    assert index.applied(TEXTS) is None
    assert index.apply(TEXTS, step(None, "1", [entry(7, queries(1)[0])]))
    assert index.nearest(TEXTS, queries(1)[0], 9, None) == [7]
    index.drop(TEXTS)
    assert theirs.open_table("sections").to_arrow()["id"].to_pylist() == ["1"]


def test_an_unreachable_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no server the index cannot be used, and says so."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_MAX_RETRIES", "0")
    index = open_index("s3://nowhere/x", region="us-east-1", endpoint="http://127.0.0.1:9")  # asks nobody
    with pytest.raises(StoreError, match=r"s3://nowhere/x cannot be used") as caught:
        index.applied(TEXTS)
    assert ".rs:" not in str(caught.value)
