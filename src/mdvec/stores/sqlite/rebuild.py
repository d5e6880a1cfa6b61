"""Rebuilds an index of another version: backs it up, and keeps what its sources cannot supply again."""

# ruff: noqa: S608 - the SQL is put together from constants

from __future__ import annotations

import contextlib
import itertools
from pathlib import Path

import apsw

from mdvec.errors import OtherVersionError
from mdvec.stores.pool import closed_on_error
from mdvec.stores.sqlite.connection import Access, Connection, connect
from mdvec.stores.sqlite.schema import TABLES, VERSION

_PUSHED = "SELECT id FROM collections WHERE json_extract(source, '$.kind') = 'push'"
_OF_DOCUMENT = f"document_id IN (SELECT id FROM documents WHERE collection_id IN ({_PUSHED}))"

# The rows that are carried over. Documents that clients pushed have no source; all others are read again. A
# vector index next to the file is filled again, because it is attached anew. AUTOINCREMENT goes on counting:
# an id is never used again.
_CARRIED = {
    "meta": "key != 'vector_index'",
    **dict.fromkeys(("collections", "spaces", "vectors"), "true"),
    "unrelated": "length(passages) > 0",
    "documents": f"collection_id IN ({_PUSHED})",
    **dict.fromkeys(("contents", "labels", "properties", "links", "names", "chunks"), _OF_DOCUMENT),
    "sqlite_sequence": "true",
}

# Virtual tables before the others: they drop tables of their own.
_OBJECTS = """SELECT type, name FROM sqlite_schema WHERE type IN ('trigger', 'view', 'table')
    AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
    ORDER BY type = 'table', sql NOT LIKE 'CREATE VIRTUAL%'"""

# The next import reads every document, and writes pushed ones again with their words. Numbers grow, so that
# nothing that is remembered of the old tables is used.
_READ_AGAIN = """
UPDATE collections SET last_indexed_ms = NULL,
  settings = json_set(settings, '$.revision', '', '$.checked_up_to', '');
UPDATE documents SET fingerprint = '';
UPDATE meta SET value = value + 1 WHERE key IN ('generation', 'vector_epoch');
"""


def rebuild(connection: Connection, path: Path, version: int, *, follow_links: bool) -> Path:
    """Write a copy of the file next to it, and make the tables of this version in the file.

    Args:
        connection: Inside a transaction that no other process writes in; references are not enforced.
        path: The file.
        version: The version of its tables.
        follow_links: Whether the path may hold symbolic links.

    Returns:
        The copy. If the transaction is rolled back, it is of no use.

    Raises:
        OtherVersionError: If no copy can be made, or what is carried over cannot be read. The transaction has
            to be rolled back.
    """
    unfinished = path.with_name(f"{path.name}.schema-{version}.unfinished")
    try:
        with contextlib.closing(_back_up(path, unfinished, follow_links)) as old:
            _carry_over(old, connection)
        backup = unfinished.with_suffix("")
        for number in itertools.count(2):
            if not backup.exists():
                break
            backup = unfinished.with_suffix(f".{number}")
        unfinished.rename(backup)
    except (apsw.SQLError, apsw.ConstraintError, OSError) as error:
        msg = f"{path} has format {version}, and cannot become format {VERSION}: {error}"
        raise OtherVersionError(msg) from error
    finally:
        unfinished.unlink(missing_ok=True)
    return backup


def _back_up(path: Path, target: Path, follow_links: bool) -> Connection:
    """Return a connection to a copy of the file, which is its owner's alone."""
    target.unlink(missing_ok=True)  # of a process that was killed
    target.touch(mode=0o600, exist_ok=False)
    copy = connect(target, Access.WRITE, follow_links=follow_links)
    with closed_on_error(copy):
        with (
            contextlib.closing(connect(path, Access.READ, follow_links=follow_links)) as source,
            copy.backup("main", source, "main") as backup,  # not from the connection that writes
        ):
            backup.step()
        copy.pragma("journal_mode", "delete")
    return copy


def _carry_over(old: Connection, new: Connection) -> None:
    for kind, name in [*new.execute(_OBJECTS)]:
        quoted = str(name).replace('"', '""')
        new.execute(f'DROP {kind} IF EXISTS "{quoted}"')
    new.execute(TABLES)
    # A file from elsewhere may have views in their place.
    tables = {name for (name,) in old.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if missing := _CARRIED.keys() - tables:
        msg = f"it has no table {min(missing)}"
        raise apsw.SQLError(msg)
    for table, condition in _CARRIED.items():
        known = {row[1] for row in old.execute(f"PRAGMA table_info({table})")}
        columns = ", ".join(row[1] for row in new.execute(f"PRAGMA table_info({table})") if row[1] in known)
        values = ", ".join("?" * (columns.count(",") + 1))
        if table == "sqlite_sequence":
            new.execute("DELETE FROM sqlite_sequence")
        rows = old.execute(f"SELECT {columns} FROM {table} WHERE {condition}")
        new.executemany(f"INSERT OR REPLACE INTO {table}({columns}) VALUES ({values})", rows)
    new.execute(_READ_AGAIN)
