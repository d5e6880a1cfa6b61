"""Rows that contradict each other: no error of the server, but of a program that wrote them."""

# ruff: noqa: S608 - the SQL is put together from constants

from __future__ import annotations

from mdvec.stores.postgres.connection import Connection
from mdvec.stores.postgres.postings import ENTRIES, ENTRY_BYTES

_LENGTH_TOLERANCE = 0.02  # of a length; float16 rounds by far less

_CHECKS = {
    "{} chunks are missing from the word index": """SELECT count(*) FROM chunks c
        WHERE NOT EXISTS(SELECT 1 FROM chunk_terms w WHERE w.chunk_id = c.id)""",
    "{} entries of the word index belong to no chunk": f"""SELECT count(*) FROM ({ENTRIES}) e
        WHERE NOT EXISTS(SELECT 1 FROM chunk_terms w
            WHERE w.chunk_id = e.chunk_id AND e.term_id = ANY(w.term_ids))""",
    "{} chunks lack entries of the word index": f"""SELECT count(*) FROM chunk_terms w
        LEFT JOIN (SELECT chunk_id, count(*) AS terms FROM ({ENTRIES}) e GROUP BY chunk_id) e
            ON e.chunk_id = w.chunk_id
        WHERE cardinality(w.term_ids) <> coalesce(e.terms, 0)""",
    "{} words are counted wrongly": f"""SELECT count(*) FROM terms t
        LEFT JOIN (SELECT term_id, sum(octet_length(entries)) / {ENTRY_BYTES} AS chunks
            FROM postings GROUP BY term_id) p ON p.term_id = t.id
        WHERE t.chunks <> coalesce(p.chunks, 0)""",
    "the chunks of {} collections are counted wrongly": """SELECT count(*) FROM collections k
        WHERE (k.chunks, k.terms) <> (SELECT count(*), coalesce(sum(w.length), 0)
            FROM chunks c JOIN chunk_terms w ON w.chunk_id = c.id WHERE c.collection_id = k.id)""",
    "{} vectors are damaged": f"""SELECT count(*) FROM vectors v JOIN spaces s ON s.id = v.space_id
        WHERE vector_dims(v.vector) <> s.dimension
        OR l2_norm(v.vector) <> 0 AND abs(l2_norm(v.vector) - 1) > {_LENGTH_TOLERANCE}""",
}


def find_problems(connection: Connection) -> list[str]:
    """Return what is wrong, for people; empty when all is well."""
    counts = ((message, connection.execute(sql).fetchall()[0][0]) for message, sql in _CHECKS.items())
    return [message.format(count) for message, count in counts if count]
