"""BM25 by FTS5, over terms that are made elsewhere."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from mdvec.types.ids import ChunkId
from mdvec.types.query import Scope
from mdvec.stores.lexical import FIELD_WEIGHTS, Holding, LexicalFields
from mdvec.stores.sqlite.connection import Connection
from mdvec.stores.sqlite.database import Database, generation
from mdvec.stores.sqlite.scope import SMALL_SCOPE, chunks_inside, covers_everything, keep_inside

# FTS5's bm25 has k1 1.2, b .75 and our idf built in; it is negative so that the best comes first.
_MATCHING = """SELECT rowid, -bm25(chunks_fts, ?, ?, ?, ?) AS score
    FROM chunks_fts WHERE chunks_fts MATCH ?"""
_BEST_FIRST = "ORDER BY score DESC, rowid"

# The plus keeps FTS5 from running the whole MATCH once for every id of the list.
_INSIDE = "AND +rowid IN (SELECT value FROM json_each(?))"

_HOLDING = "SELECT t.term, t.doc FROM json_each(?) j CROSS JOIN chunks_terms t ON t.term = j.value"

_MOST_KNOWN_TERMS = 50_000

_FIRST_BATCH_FACTOR = 4
_BATCH_GROWTH = 4

_Ranking = list[tuple[ChunkId, float]]


@dataclass(frozen=True, slots=True)
class _Counted:
    """How many chunks hold a term, in one state of the database."""

    generation: int
    chunks: int
    of_term: dict[str, int]


class SqliteLexicalIndex:
    """The words of all collections in one FTS5 table, so that idf is the same for every filter."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._counted: _Counted | None = None

    def put(self, ids: Sequence[ChunkId], fields: Sequence[LexicalFields]) -> None:
        """Add the terms of new chunks."""
        with self._database.writing() as connection:
            connection.executemany(
                "INSERT INTO chunks_fts(rowid, title, heading, body, minor) VALUES (?, ?, ?, ?, ?)",
                [
                    (
                        chunk_id,
                        *(" ".join(field) for field in (each.title, each.heading, each.body, each.minor)),
                    )
                    for chunk_id, each in zip(ids, fields, strict=True)
                ],
            )

    def search(
        self, terms: Sequence[str], limit: int, scope: Scope, inessential: Sequence[str] = ()
    ) -> list[tuple[ChunkId, float]]:
        """Rank the chunks that hold any of the terms by BM25."""
        if not terms or limit <= 0 or not scope.collections:
            return []
        with self._database.reading() as connection:
            everywhere = covers_everything(connection, scope)
            few = None if everywhere else chunks_inside(connection, scope, SMALL_SCOPE)
            if few is not None:
                # Chunks outside get no score, which is what costs time.
                arguments = (*FIELD_WEIGHTS, _any_of(*terms, *inessential), json.dumps(few), limit)
                return _rows(connection, f"{_MATCHING} {_INSIDE} {_BEST_FIRST} LIMIT ?", arguments)
            search = _search_everything if everywhere and not scope.hidden else _search_large_scope
            found = search(connection, _Terms(terms, inessential), limit, scope)
            if inessential and len(found) < limit:
                found = search(connection, _Terms((*terms, *inessential)), limit, scope)
            return found

    def holding(self, terms: Sequence[str]) -> Holding:
        """Return how many chunks hold each of the terms; counted once for every state of the database."""
        with self._database.reading() as connection:
            counted = self._counted_now(connection)
            missing = [term for term in terms if term not in counted.of_term]
            found = dict(connection.execute(_HOLDING, (json.dumps(missing),))) if missing else {}
            counted.of_term.update((term, found.get(term, 0)) for term in missing)
            held = {term: counted.of_term[term] for term in terms}
        return Holding(counted.chunks, {term: chunks for term, chunks in held.items() if chunks})

    def _counted_now(self, connection: Connection) -> _Counted:
        now = generation(connection)
        known = self._counted
        if known and known.generation == now and len(known.of_term) < _MOST_KNOWN_TERMS:
            return known
        chunks: int = connection.execute("SELECT count(*) FROM chunks").get
        fresh = _Counted(now, chunks, {})
        if not self._database.in_transaction:  # what is counted there may yet be undone
            self._counted = fresh
        return fresh


@dataclass(frozen=True, slots=True)
class _Terms:
    """What is looked for.

    Attributes:
        essential: A chunk that is found holds one of these.
        inessential: What else counts in it.
    """

    essential: Sequence[str]
    inessential: Sequence[str] = ()

    def ranking(self) -> tuple[str, tuple[str | float, ...]]:
        """Return SQL for all chunks, best first, with its arguments.

        BM25 costs many times what finding a chunk does. Those that hold both kinds of terms and those that
        hold essential ones alone are two sets, so each is scored once, by the terms it can hold.
        """
        essential = _any_of(*self.essential)
        if not self.inessential:
            return f"{_MATCHING} {_BEST_FIRST}", (*FIELD_WEIGHTS, essential)
        others = _any_of(*self.inessential)
        both, alone = f"({essential}) AND ({others})", f"({essential}) NOT ({others})"
        return (
            f"{_MATCHING} UNION ALL {_MATCHING} {_BEST_FIRST}",
            (*FIELD_WEIGHTS, both, *FIELD_WEIGHTS, alone),
        )


def _any_of(*terms: str) -> str:
    """Return a query of FTS5."""
    return " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)


def _search_everything(connection: Connection, terms: _Terms, limit: int, _scope: Scope) -> _Ranking:
    sql, arguments = terms.ranking()
    return _rows(connection, f"{sql} LIMIT ?", (*arguments, limit))


def _search_large_scope(connection: Connection, terms: _Terms, limit: int, scope: Scope) -> _Ranking:
    """Walk down the whole ranking until enough of it is inside the scope."""
    ranking = connection.execute(*terms.ranking())
    found: _Ranking = []
    size = _FIRST_BATCH_FACTOR * limit
    with closing(ranking):
        while len(found) < limit:
            batch = list(itertools.islice(ranking, size))
            if not batch:
                break
            inside = keep_inside(connection, scope, [row[0] for row in batch])
            found += [(ChunkId(row[0]), row[1]) for row in batch if row[0] in inside]
            size *= _BATCH_GROWTH
    return found[:limit]


def _rows(connection: Connection, sql: str, arguments: tuple[str | float, ...]) -> _Ranking:
    return [(ChunkId(chunk_id), score) for chunk_id, score in connection.execute(sql, arguments)]
