"""Examines a whole database for damage."""

from __future__ import annotations

from mdvec.stores.sqlite.connection import Connection

_MOST_PROBLEMS = 20


def problems(connection: Connection) -> list[str]:
    """Return what is wrong; empty when all is well.

    Looks at the file's structure, at references between rows, and whether every chunk has its words;
    documents without a fingerprint were brought over from an older version, and get theirs when imported.
    """
    found = [row[0] for row in connection.execute(f"PRAGMA integrity_check({_MOST_PROBLEMS})")]
    found = [message for message in found if message != "ok"]
    found += [
        f"a row of {row[0]} refers to a missing row of {row[2]}"
        for row in connection.execute("PRAGMA foreign_key_check")
    ][:_MOST_PROBLEMS]
    wordless, ownerless = connection.execute(
        """SELECT (SELECT count(*) FROM chunks c CROSS JOIN documents d ON d.id = c.document_id
            WHERE c.id NOT IN (SELECT id FROM chunks_fts_docsize) AND d.fingerprint != ''),
        (SELECT count(*) FROM chunks_fts_docsize WHERE id NOT IN (SELECT id FROM chunks))"""
    ).get
    if wordless:
        found.append(f"{wordless} chunks are missing from the word index")
    if ownerless:
        found.append(f"{ownerless} entries of the word index belong to no chunk")
    return found


def examine_words(connection: Connection) -> None:
    """Let the word index examine its own structure; an error of SQLite tells of damage.

    Args:
        connection: One that may write: the command is an INSERT, though it changes nothing.
    """
    connection.execute("INSERT INTO chunks_fts(chunks_fts, rank) VALUES ('integrity-check', 0)")
