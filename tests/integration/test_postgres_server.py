"""A server that is not as one would wish: away, restarted, without its extension; and processes that end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import psycopg
import pytest
from msgspec.structs import replace
from tests.contract.store_world import (
    SPACE,
    add_collection,
    make_document,
    put,
    searched_in,
    unit_vectors,
    vectors_in,
)
from tests.postgres_server import new_schema, open_postgres, shared_server

from mdvec.errors import (
    ConfigError,
    DatabaseFullError,
    MdvecError,
    OtherVersionError,
    StoreError,
    StoreUnavailableError,
    WriterBusyError,
)
from mdvec.search.search import find
from mdvec.stores.postgres import opening
from mdvec.stores.postgres import vectors as postgres_vectors
from mdvec.stores.postgres.postings import ENTRY_BYTES
from mdvec.stores.records import VectorKind
from mdvec.text.hashing import text_hash
from mdvec.types.query import SearchQuery, Where

pytestmark = pytest.mark.postgres

ROUNDS = 15
# Writes documents of which each has a word and a vector of its own, and says which are committed.
WRITER = """
import sys
from tests.contract.store_world import SPACE, make_document, put, unit_vectors
from mdvec.stores.postgres.store import PostgresStore
from mdvec.text.hashing import text_hash
address, schema, first = sys.argv[1], sys.argv[2], int(sys.argv[3])
store = PostgresStore(address, schema=schema)
with store.read() as view:
    (notes,) = view.collections.all()
with store.claim(notes, "importing", wait_s=60) as claim:
    for number in range(first, first + 1000):
        with store.write(claim) as writer:
            text = f"word{number} all"
            put(writer, notes.id, *make_document(f"{number % 40}.md", [text, f"{text} more"]))
            writer.vectors.put(writer.spaces.open(SPACE), [text_hash(text)], unit_vectors(1, seed=number))
        print(number, flush=True)
"""


@pytest.fixture
def sql() -> Iterator[Any]:
    import psycopg

    with psycopg.connect(shared_server(), autocommit=True) as connection:
        yield connection


def end_connections(sql: Any) -> None:
    """End all connections of mdvec, as a restart of the server does."""
    sql.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'mdvec'"
    )


def test_connections_that_were_lost_while_idle_are_replaced(sql: Any) -> None:
    """After a restart of the server the next transaction works, and nobody is told."""
    store = open_postgres()
    notes = add_collection(store)
    with store.read(), store.read():  # two connections
        pass
    end_connections(sql)
    with store.write() as writer:
        put(writer, notes.id, *make_document("a.md", ["text"]))
    with store.read() as view:
        assert view.collections.counts(notes.id, None).documents == 1
    store.close()


def test_a_connection_that_is_lost_in_a_batch_takes_only_the_batch(sql: Any) -> None:
    """The error says that trying again helps; what was committed is there, and the next batch works."""
    store = open_postgres()
    notes = add_collection(store)
    with store.claim(notes, "importing", wait_s=0) as claim:
        with store.write(claim) as writer:
            put(writer, notes.id, *make_document("a.md", ["text"]))

        def lose() -> None:
            with store.write(claim) as writer:
                put(writer, notes.id, *make_document("b.md", ["text"]))
                end_connections(sql)
                put(writer, notes.id, *make_document("c.md", ["text"]))

        with pytest.raises(StoreUnavailableError, match="was lost") as caught:
            lose()
        assert caught.value.retry
        with store.write(claim) as writer:
            assert list(writer.documents.known(notes.id)) == ["a.md"]
            put(writer, notes.id, *make_document("b.md", ["text"]))
    assert store.check() == []
    store.close()


def test_a_full_disk_of_the_server_takes_only_the_batch(sql: Any) -> None:
    """The error says so; nothing of the batch is kept, and the next one works when there is room again."""
    schema = new_schema()
    store = open_postgres(schema=schema)
    notes = add_collection(store)
    with store.write() as writer:
        put(writer, notes.id, *make_document("a.md", ["text"]))
    sql.execute(
        f"""CREATE FUNCTION {schema}.full() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
        CREATE TRIGGER full_disk BEFORE INSERT ON {schema}.postings EXECUTE FUNCTION {schema}.full()"""
    )
    with pytest.raises(DatabaseFullError, match="the disk is full"), store.write() as writer:
        put(writer, notes.id, *make_document("b.md", ["text"]))
    with store.read() as view:
        assert list(view.documents.known(notes.id)) == ["a.md"]
    sql.execute(f"DROP TRIGGER full_disk ON {schema}.postings")
    with store.write() as writer:
        put(writer, notes.id, *make_document("b.md", ["text"]))
    assert store.check() == []
    store.close()


def test_killed_writers_leave_whole_batches() -> None:
    """kill -9, 15 times: what was reported is there, nothing is there by halves, and the next resumes."""
    schema = new_schema()
    store = open_postgres(schema=schema)
    notes = add_collection(store)
    everything = Where((notes.id,))
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    first = 0
    for round_number in range(ROUNDS):
        arguments = [sys.executable, "-P", "-c", WRITER, shared_server(), schema, str(first)]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=env) as process:
            assert process.stdout is not None
            reported = [int(process.stdout.readline()) for _ in range(1 + round_number % 5)]
            process.send_signal(signal.SIGKILL)
            reported += [int(line) for line in process.stdout]
        assert reported[0] == first  # the claim of the one that was killed is no obstacle
        with store.read() as view:
            chunks = view.collections.counts(notes.id, None).chunks
            assert chunks == 2 * len(view.documents.known(notes.id))
            assert len(view.words.bm25(["all"], everything, 999)) == chunks
            space_id = view.spaces.find(SPACE)
            assert space_id is not None
            for number in reported[-20:]:
                assert len(view.words.bm25([f"word{number}"], everything, 9)) == 2
                assert view.vectors.known(space_id, [text_hash(f"word{number} all")])
        first = reported[-1] + 2
    assert store.check() == []
    store.close()


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:s3cr/et@h/db?sslkey=hidden",
        "postgresql://me:s3cr%2Fet@127.0.0.1:1/db",
        "postgresql://me:s3cr:et@127.0.0.1:1/db?sslpassword=hidden",
        "postgresql://me:s3cret@127.0.0.1:1/db?unknown=1",
        "postgresql://me@127.0.0.1:1/db?password=s3cret",
        "postgresql://me:s3cr@et@no-such-host.invalid/db",
    ],
)
def test_no_message_shows_a_password(address: str) -> None:
    """Nor a part of it, however the address is misread; the place is named."""
    with pytest.raises(MdvecError) as caught:
        open_store(address)
    shown = f"{caught.value} {caught.value.hint}"
    for secret in ("s3cr", "hidden", "et@"):
        assert secret not in shown
    assert "postgresql://" in shown
    assert caught.value.__cause__ is None


def open_store(address: str, **settings: Any) -> Any:
    from mdvec.stores.postgres.store import PostgresStore

    return PostgresStore(address, **settings)


def test_the_location_shows_no_password() -> None:
    """The user stays; what libpq takes from the environment is not in it at all."""
    address = shared_server().replace("postgres:@", "postgres:s3cret@")
    store = open_store(address, schema=new_schema())
    assert "s3cret" not in store.location
    assert store.location.startswith("postgresql://postgres:***@/postgres")
    store.close()


def test_a_password_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, sql: Any) -> None:
    """As for every program that uses libpq."""
    monkeypatch.setenv("PGUSER", "postgres")
    monkeypatch.setenv("PGPASSWORD", "s3cret")
    store = open_store(shared_server().replace("postgres:@", ""), schema=new_schema())
    assert store.check() == []
    store.close()


def test_a_missing_extension_is_named(sql: Any) -> None:
    """With the command that makes it; nothing is made in the database."""
    sql.execute("DROP DATABASE IF EXISTS plain")
    sql.execute("CREATE DATABASE plain TEMPLATE template0")
    with pytest.raises(ConfigError, match="plain has no extension") as caught:
        open_store(shared_server().replace("/postgres?", "/plain?"))
    assert "CREATE EXTENSION vector;" in caught.value.hint


@pytest.mark.parametrize(
    ("version", "warned"), [("0.8.3", True), ("0.7", True), ("0.8.4", False), ("0.10.0", False)]
)
def test_doctor_warns_of_an_old_extension(sql: Any, version: str, warned: bool) -> None:
    """It may damage indexes: doctor names the version and what to run; nothing else is refused."""
    import psycopg

    from mdvec import open_workspace
    from mdvec.testing.embedder import HashingEmbedder

    sql.execute("DROP DATABASE IF EXISTS older")
    sql.execute("CREATE DATABASE older TEMPLATE template0")
    address = shared_server().replace("/postgres?", "/older?")
    with psycopg.connect(address) as older:
        older.execute("CREATE EXTENSION vector")
        older.execute("UPDATE pg_extension SET extversion = %s WHERE extname = 'vector'", (version,))
    with open_workspace(database=address, embedder=HashingEmbedder(dimension=16)) as workspace:
        told = [
            f"{each.severity} {each.message}" for each in workspace.doctor() if "pgvector" in each.message
        ]
    assert len(told) == warned
    for each in told:
        assert each.startswith(f"note pgvector {version} may damage")
        assert "ALTER EXTENSION vector UPDATE;" in each


def test_a_database_in_another_encoding_is_refused(sql: Any) -> None:
    """It could not hold every text."""
    sql.execute("DROP DATABASE IF EXISTS latin")
    sql.execute("CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
    with pytest.raises(ConfigError, match="encoding LATIN1"):
        open_store(shared_server().replace("/postgres?", "/latin?"))


def test_the_encoding_of_the_client_does_not_matter(sql: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of a Japanese Windows set another one; texts are sent as UTF-8 all the same."""
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    store = open_postgres()
    notes = add_collection(store)
    with store.write() as writer:
        put(writer, notes.id, *make_document("メモ.md", ["学力"]))
    with store.read() as view:
        assert [*view.documents.known(notes.id)] == ["メモ.md"]
    store.close()
    sql.execute("DROP DATABASE IF EXISTS plain")
    sql.execute("CREATE DATABASE plain TEMPLATE template0 ENCODING 'SQL_ASCII'")
    with pytest.raises(ConfigError, match="database plain has the encoding SQL_ASCII"):
        open_store(shared_server().replace("/postgres?", "/plain?"))


def test_a_role_that_is_not_there_is_named(sql: Any) -> None:
    """In the configuration, or dropped while it is used."""
    with (
        pytest.raises(ConfigError, match="there is no role 'nobody' in postgresql://"),
        open_postgres(role="nobody").read(),
    ):
        pass


def test_problems_of_the_word_index_are_found(sql: Any) -> None:
    """A block that is gone, and one that is there without its chunk."""
    schema = new_schema()
    store = open_postgres(schema=schema)
    notes = add_collection(store)
    with store.write() as writer:
        put(writer, notes.id, *make_document("a.md", ["one two", "two"]))
    assert store.check() == []
    sql.execute(f"UPDATE {schema}.postings SET block = 9 WHERE octet_length(entries) = {ENTRY_BYTES}")
    assert [str(each) for each in store.check()] == [
        "1 entries of the word index belong to no chunk",
        "1 chunks lack entries of the word index",
    ]
    store.close()


def test_neighbours_are_found_whatever_ids_they_have(sql: Any) -> None:
    """Two imports at once draw ids in turns, so those of a document do not follow each other."""
    schema = new_schema()
    store = open_postgres(schema=schema)
    notes = add_collection(store)
    sql.execute(f"ALTER SEQUENCE {schema}.chunks_id_seq INCREMENT BY 2")
    with store.write() as writer:
        put(writer, notes.id, *make_document("a.md", ["one", "two", "three", "four"]))
        put(writer, notes.id, *make_document("b.md", ["one"]))
    with store.read() as view:
        where = Where((notes.id,))
        first, second, third = (view.words.bm25([word], where, 9)[0][0] for word in ("one", "two", "three"))
        [place] = view.chunks.places([second])
    assert (place.ordinal, place.before, place.after) == (1, first, third)
    store.close()


def test_tables_of_another_version_are_left_alone(sql: Any) -> None:
    """The error names the schema, both versions and the next step. So is a schema of another program."""
    schema = new_schema()
    open_postgres(schema=schema).close()
    sql.execute(f"UPDATE {schema}.meta SET value = 999 WHERE key = 'schema_version'")
    message = f"the schema '{schema}' of postgresql://.* has format 999, and this mdvec uses format 1"
    with pytest.raises(OtherVersionError, match=message) as caught:
        open_postgres(schema=schema)
    assert "Or choose another schema" in caught.value.hint
    sql.execute(f"DELETE FROM {schema}.meta")
    with pytest.raises(StoreError, match="belongs to another program"):
        open_postgres(schema=schema)


def test_processes_that_open_at_once_make_the_tables_once() -> None:
    """The first one makes them; the others wait and find them."""
    schema, errors = new_schema(), []

    def open_and_close() -> None:
        try:
            open_postgres(schema=schema).close()
        except BaseException as error:  # noqa: BLE001 - shown by the main thread
            errors.append(error)

    threads = [threading.Thread(target=open_and_close) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_nothing_is_left_on_a_connection(sql: Any) -> None:
    """A transaction pooler may give it to others: no setting, lock or prepared statement is left."""
    store = open_postgres(exact_up_to=1)
    notes = add_collection(store)
    with store.write() as writer:
        space_id = writer.spaces.open(SPACE)
        texts = [f"text {number}" for number in range(5)]
        put(writer, notes.id, *make_document("a.md", texts))
        writer.vectors.put(space_id, [text_hash(text) for text in texts], unit_vectors(5))
    for _ in range(8):
        with store.read() as view:
            view.vectors.nearest(VectorKind.TEXT, space_id, unit_vectors(1)[0], Where((notes.id,)), 3)
            view.words.bm25(["text"], Where((notes.id,)), 3)
    with store._database.outside_transactions() as connection:
        changed = connection.execute(
            "SELECT name FROM pg_settings WHERE source = 'session' AND name NOT IN ('DateStyle')"
        ).fetchall()
        prepared = connection.execute("SELECT count(*) FROM pg_prepared_statements").fetchone()
        locks = connection.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'").fetchone()
    assert (changed, prepared, locks) == ([], (0,), (0,))
    store.close()


def test_a_warm_search_is_one_transaction_and_few_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hybrid search through the index of the server takes at most 22 statements in its transaction."""
    import psycopg

    store = open_postgres(exact_up_to=1)
    notes = add_collection(store)
    own = (first + second for first in "abcdefgh" for second in "klmno")  # no text is like another
    texts = [f"word{number} {word} all" for number, word in enumerate(own)]
    with store.write() as writer:
        space_id = writer.spaces.open(SPACE)
        for number, text in enumerate(texts):
            put(writer, notes.id, *make_document(f"{number}.md", [text, f"{text} more"]))
        hashes = [text_hash(text) for text in [*texts, *(f"{text} more" for text in texts)]]
        hashes += [each.text_hash for each in writer.vectors.pending(VectorKind.NAME, notes.id, space_id, 99)]
        writer.vectors.put(space_id, hashes, unit_vectors(len(hashes)))
    seen: list[str] = []
    execute = psycopg.Cursor.execute

    def count(cursor: Any, sql: str, *arguments: Any, **options: Any) -> Any:
        seen.append(sql.split(maxsplit=1)[0])
        return execute(cursor, sql, *arguments, **options)

    monkeypatch.setattr(psycopg.Cursor, "execute", count)
    for vector in unit_vectors(3, seed=1):
        seen.clear()
        with store.read() as view:
            searched = searched_in(space_id, [notes], {"word7 all": vector}.__getitem__)
            found = find(SearchQuery("word7 all"), Where((notes.id,)), searched, view)
            assert found.shown.hits
    assert [seen.count(word) for word in ("BEGIN", "COMMIT", "SET")] == [1, 1, 1]
    assert 5 < len(seen) - 2 <= 22
    store.close()


def test_a_large_space_is_searched_by_its_index(monkeypatch: pytest.MonkeyPatch, sql: Any) -> None:
    """And not by sorting all of its vectors, which gives the same hits."""
    monkeypatch.setattr(postgres_vectors, "_MAX_PROPOSED", 40)
    monkeypatch.setattr(opening, "EF_SEARCH", 40)
    schema = new_schema()
    store = open_postgres(schema=schema, exact_up_to=1)
    notes = add_collection(store)
    vectors = unit_vectors(2_000, dimension=128)
    hashes = [text_hash(f"text {number}") for number in range(len(vectors))]
    with store.write() as writer:
        put(writer, notes.id, *make_document("a.md", [f"text {number}" for number in range(40)]))
        space_id = writer.spaces.open(replace(SPACE, dimension=128))
        writer.vectors.put(space_id, hashes, vectors)
    sql.execute(f"ANALYZE {schema}.vectors")
    with store.read() as view:
        (hit,) = view.vectors.nearest(VectorKind.TEXT, space_id, vectors[7], Where((notes.id,)), 1)
        index = f"vectors_text_{space_id}"
        used = vectors_in(view).tables.rows("SELECT pg_stat_get_xact_numscans(to_regclass(?))", index)
        assert used == [(1,)]
    store.close()
    assert hit[1] == pytest.approx(1, abs=1e-3)


def test_vectors_are_stored_as_they_are_rounded() -> None:
    """Every number of half precision is read as it was written, down to the sign of zero."""
    store = open_postgres()
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    vectors = halves[np.isfinite(halves)].reshape(-1, 64)
    hashes = sorted(text_hash(f"text {number}") for number in range(len(vectors)))
    with store.write() as writer:
        space_id = writer.spaces.open(replace(SPACE, dimension=64))
        writer.vectors.put(space_id, hashes, vectors.astype(np.float32))
        writer.vectors.put(space_id, [], np.zeros((0, 64), np.float32))
    with store.read() as view:
        [(found, stored)] = view.vectors.pages(space_id)
    assert found == hashes
    assert stored.astype(np.float16).tobytes() == vectors.tobytes()
    store.close()


def test_a_writer_that_waits_too_long_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process writes, and does not end."""
    monkeypatch.setattr("mdvec.stores.postgres.database.LOCK_TIMEOUT_S", 0.2)
    schema = new_schema()
    first, second = open_postgres(schema=schema), open_postgres(schema=schema)
    with first.write(), pytest.raises(WriterBusyError, match="locked by another process"), second.write():
        pass
    first.close()
    second.close()


def test_a_transaction_that_cannot_begin_leaves_no_connection_open() -> None:
    """A role that was removed is an error that no other connection would avoid."""
    role = "nobody_has_this_name"
    store = open_postgres()
    (idle,) = store._database._pool._idle
    store._database._set_local += f"; SET LOCAL ROLE {role}"
    with pytest.raises(psycopg.Error, match=role), store.read():
        pass
    assert idle.closed
    assert store._database._pool._idle == []
    store.close()


def test_nul_in_a_text_moves_nothing() -> None:
    """It is replaced by one character: words beside it stay apart, and spans stay true."""
    store = open_postgres()
    notes = add_collection(store)
    document, chunks = make_document("a.md", ["one\0two", "three"], tags=("t\0g",), aliases=("n\0",))
    with store.write() as writer:
        ids = put(writer, notes.id, document, chunks)
    with store.read() as view:
        found = view.chunks.get(ids)
        assert [found[each].text for each in ids] == ["one\ufffdtwo", "three"]
        assert view.words.bm25(["one\0two"], Where((notes.id,)), 3)[0][0] == ids[0]
        assert view.documents.find(notes.id, "a\0.md") is None
    store.close()
