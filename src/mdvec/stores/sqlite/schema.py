"""The tables of the database."""

from __future__ import annotations

import secrets

from mdvec.stores.columns import tables_sql
from mdvec.stores.sqlite.connection import Connection
from mdvec.stores.vectors.journal import MAX_REMOVALS
from mdvec.stores.vectors.journal import TABLES as OWNERS

APPLICATION_ID = 0x6D647663
"""``mdvc`` in ASCII: what the file's header says when the file is ours."""

VERSION = 1
"""The ``PRAGMA user_version`` of these tables."""

UNRELEASED = 7
"""The version before the first release that is rebuilt; the one after 1 is 8."""

# FTS5 is given terms separated by spaces. The ascii tokenizer keeps every character above U+007F
# (so combining marks and emoji stay whole), and these characters too. It is only needed for terms
# with punctuation inside, and costs nothing for the others.
_TERM_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
_TOKENCHARS = _TERM_PUNCTUATION.replace('"', '""').replace("'", "''")

_CHECKSUM = ", checksum INTEGER NOT NULL"

# checksum: see checksums.py; that of a document is written after its chunks and names.
_COMMON = tables_sql(
    id="INTEGER PRIMARY KEY AUTOINCREMENT",
    int="INTEGER",
    small="INTEGER",
    bool="INTEGER",
    real="REAL",
    text="TEXT",
    code="TEXT",
    bytes="BLOB",
    vector="BLOB",
    end=" STRICT",
    keyed=" STRICT, WITHOUT ROWID",
    of_collections="",
    of_documents=f"{_CHECKSUM} DEFAULT -1",
    of_contents=_CHECKSUM,
    of_vectors=_CHECKSUM,
)
TABLES = f"""{_COMMON}
-- detail must stay 'full': with less, a contentless table ranks wrongly without saying so.
CREATE VIRTUAL TABLE chunks_fts USING fts5(
  main, minor,
  content='', contentless_delete=1, detail=full,
  tokenize="ascii tokenchars '{_TOKENCHARS}'"
);

-- No data of its own: how many chunks hold a term.
CREATE VIRTUAL TABLE chunks_terms USING fts5vocab('chunks_fts', 'row');
CREATE TRIGGER chunks_deleted AFTER DELETE ON chunks BEGIN
  DELETE FROM chunks_fts WHERE rowid = old.id;
END;
"""  # noqa: S608 - constants
"""SQL that makes them in an empty file."""

_TRIGGER = """CREATE TRIGGER IF NOT EXISTS {table}_removed AFTER DELETE ON {table} BEGIN
  INSERT INTO removed_owners(kind, owner_id) VALUES ('{kind}', old.id);
  DELETE FROM removed_owners WHERE id <= last_insert_rowid() - {most};
END"""


def attach(connection: Connection) -> None:
    """Write down removals for a vector index from now on, inside a transaction."""
    connection.execute("INSERT OR IGNORE INTO meta VALUES ('vector_index', ?)", (secrets.randbits(62),))
    for kind, table in OWNERS.items():
        connection.execute(_TRIGGER.format(table=table, kind=kind.value, most=MAX_REMOVALS))
