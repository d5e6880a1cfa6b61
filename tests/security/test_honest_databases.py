"""What is wrong with a database is named as what it is."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.security.conftest import Mdvec

from mdvec import MdvecError
from mdvec.errors import DatabaseFullError
from mdvec.stores.sqlite.database import SqliteDatabase
from mdvec.stores.sqlite.store import SqliteStore


def about_database(mdvec: Mdvec, index: Path) -> dict[str, Any]:
    """Return what ``mdvec doctor`` finds about a database."""
    findings = json.loads(mdvec("doctor", "--database", index, "--format", "json").out)
    (found,) = (each for each in findings if each["subject"] == "database" and each["severity"] != "note")
    return dict(found)


def test_a_full_disk_is_no_damage(mdvec: Mdvec, index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``doctor`` does not advise to remove an index because there is no space to examine it."""
    writing = SqliteDatabase.writing

    @contextmanager
    def without_space(self: SqliteDatabase) -> Iterator[apsw.Connection]:
        with writing(self) as connection:
            yield connection
            msg = f"the disk is full: {self.path} cannot grow"
            raise DatabaseFullError(msg)

    monkeypatch.setattr(SqliteDatabase, "writing", without_space)
    found = about_database(mdvec, index)
    assert found["severity"] == "problem"
    assert "the disk is full" in found["message"]
    assert "Free some space" in found["hint"]
    assert "away" not in found["hint"]
    assert "remove" not in found["hint"].lower()


def test_damage_is_damage(mdvec: Mdvec, index: Path) -> None:
    """A database that fails its check is moved away by the advice, not removed."""
    raw = bytearray(index.read_bytes())
    size = int.from_bytes(raw[16:18], "big")
    raw[size * 3 : size * 12] = bytes(size * 9)
    index.write_bytes(raw)
    found = about_database(mdvec, index)
    assert found["severity"] == "problem"
    assert "Move it away" in found["hint"]


@pytest.mark.parametrize(
    ("statement", "command"),
    [
        ("DELETE FROM meta", ("status",)),
        ("PRAGMA user_version = 0", ("status",)),
        ("UPDATE collections SET source = '{'", ("status",)),
        ("UPDATE collections SET settings = '{\"embedding\": 3}'", ("status",)),
        ("UPDATE collections SET chunking = '{\"strategy\": 3}'", ("search", "install")),
    ],
)
def test_a_damaged_text_is_named_as_damage(
    mdvec: Mdvec, index: Path, statement: str, command: tuple[str, ...]
) -> None:
    """A column that cannot be decoded is damage, not a bug."""
    connection = sqlite3.connect(index)
    connection.execute(statement)
    connection.commit()
    connection.close()
    outcome = mdvec(*command, "--database", index)
    assert outcome.code == 1
    assert "is damaged" in outcome.err
    assert "Move it away" in outcome.err
    assert "bug" not in outcome.err


def test_a_bug_is_still_a_bug(tmp_path: Path) -> None:
    """An error that an intact database does not explain passes unchanged."""
    store = SqliteStore(tmp_path / "x.sqlite")
    with pytest.raises(KeyError) as caught, store.read():
        raise KeyError
    assert not isinstance(caught.value, MdvecError)
    store.close()


def test_a_copy_without_its_log_says_so(mdvec: Mdvec, index: Path, tmp_path: Path) -> None:
    """A read-only copy whose log is not read: search, status and doctor say that changes are missing."""
    writer = sqlite3.connect(index)
    writer.execute("PRAGMA journal_mode = wal")
    writer.execute("UPDATE documents SET title = 'New'")
    writer.commit()
    copy = tmp_path / "copy"
    copy.mkdir()
    for end in ("", "-wal"):
        shutil.copy(f"{index}{end}", copy)
    writer.close()
    file = copy / "index.sqlite"
    with read_only(copy):
        for command in (("search", "install"), ("status",), ("doctor",)):
            outcome = mdvec(*command, "--database", file)
            assert "latest changes" in outcome.out + outcome.err, command
    assert "latest changes" not in mdvec("status", "--database", index).err


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Make SQLite find that nothing can be written in a folder, also for root."""
    original = apsw.Connection

    class Refusing(original):  # type: ignore[misc, valid-type]  # a subclass for the time of a test
        def __init__(self, name: str, *args: Any, **more: Any) -> None:
            if str(folder) in name and "immutable" not in name:
                raise apsw.CantOpenError
            super().__init__(name, *args, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(apsw, "Connection", Refusing)
        yield


@pytest.mark.parametrize("vector", [b"\x00\x7e", b"\x00\x3c"])
def test_damaged_vectors_are_found(mdvec: Mdvec, index: Path, vector: bytes) -> None:
    """Vectors that have lost their length are named by ``doctor``, though SQLite finds nothing wrong."""
    connection = sqlite3.connect(index)
    size = connection.execute("SELECT length(vector) FROM vectors").fetchone()[0]
    connection.execute("UPDATE vectors SET vector = ?", (vector * (size // 2),))
    connection.commit()
    connection.close()
    found = about_database(mdvec, index)
    assert found["severity"] == "problem"
    assert "vectors are damaged" in found["message"]


def test_lost_pages_of_the_word_index_are_found(mdvec: Mdvec, index: Path) -> None:
    """A segment whose list of terms is gone finds other words, and FTS5's own check passes it."""
    connection = sqlite3.connect(index)
    connection.execute("DELETE FROM chunks_fts_idx")
    connection.commit()
    connection.close()
    assert "word index cannot be reached" in about_database(mdvec, index)["message"]
