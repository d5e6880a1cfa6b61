"""BM25 by FTS5, over terms that are made elsewhere."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from itertools import chain, islice

from mdvec.stores.records import FIELD_WEIGHTS, Groups
from mdvec.stores.sqlite.database import SqliteTables
from mdvec.stores.word_tables import Ranking, WordTables
from mdvec.types.ids import ChunkId
from mdvec.types.query import Where

# FTS5's bm25 has k1 1.2, b .75 and our idf built in; it is negative so that the best comes first.
_MATCHING = """SELECT rowid, -bm25(chunks_fts, ?, ?) AS score
    FROM chunks_fts WHERE chunks_fts MATCH ?"""
_HOLDING = "SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?"
_HOLDING_INSIDE = f"""SELECT c.id FROM ({_HOLDING}) f CROSS JOIN chunks c ON c.id = f.rowid
    CROSS JOIN documents d ON d.id = c.document_id WHERE {{condition}} ORDER BY c.id LIMIT ?"""  # noqa: S608
_BEST_FIRST = "ORDER BY score DESC, rowid"
# A match of (required) NOT (optional) would walk the optional terms once more, which are the common ones.
_SPLIT = """WITH with_optional(id, score) AS MATERIALIZED ({matching})
    SELECT id, score FROM with_optional
    UNION ALL {matching} AND +rowid NOT IN (SELECT id FROM with_optional)
    ORDER BY score DESC, id"""

# The plus keeps FTS5 from running the whole MATCH once for every id of the list.
_INSIDE = "AND +rowid IN (SELECT value FROM json_each(?))"

_FREQUENCIES = "SELECT t.term, t.doc FROM json_each(?) j CROSS JOIN chunks_terms t ON t.term = j.value"

# The most parts of one statement.
_MAX_UNITED = 100


class SqliteWords(WordTables):
    """Finds chunks by the words of all collections in one FTS5 table: idf is the same for every filter."""

    tables: SqliteTables

    def _count_chunks_with(self, terms: Sequence[str]) -> dict[str, int]:
        rows = self.tables.connection.execute(_FREQUENCIES, (json.dumps(terms),))
        return {term: count for term, count in rows}  # noqa: C416 - its rows are not typed

    def _best(self, terms: Sequence[str], where: Where, limit: int, must: Sequence[str]) -> Ranking:
        few = self._where.few_inside(where)
        if few is not None:
            # Chunks outside get no score, which is what costs time.
            sql, arguments = _ranking(terms, must, json.dumps(list(few[0])))
            return self.tables.rows(f"{sql} LIMIT ?", *arguments, limit)
        sql, arguments = _ranking(terms, must)
        if self._where.covers_everything(where) and not (where.hidden or where.hidden_chunks):
            return self.tables.rows(f"{sql} LIMIT ?", *arguments, limit)
        with closing(self.tables.connection.execute(sql, arguments)) as ranking:
            return self._best_inside(lambda start, stop: [*islice(ranking, stop - start)], where, limit)

    def holding(
        self, wanted: Sequence[Groups], where: Where, *, limit: int | None = None
    ) -> list[list[ChunkId]]:
        few = self._where.few_inside(where)
        if few is not None:
            one = f"{_HOLDING} {_INSIDE} ORDER BY rowid LIMIT ?"
            inside: Sequence[str | int | float] = (json.dumps(list(few[0])),)
        else:
            condition = self._where.chunks(where)
            one, inside = _HOLDING_INSIDE.format(condition=condition.text), condition.arguments
        found: list[list[ChunkId]] = [[] for _ in wanted]
        for start in range(0, len(wanted), _MAX_UNITED):
            part = wanted[start : start + _MAX_UNITED]
            every = (f"SELECT {start + at}, * FROM ({one})" for at in range(len(part)))  # noqa: S608
            matches = (" AND ".join(f"({_any_of(group, begun=True)})" for group in each) for each in part)
            arguments = [(match, *inside, -1 if limit is None else limit) for match in matches]
            sql = " UNION ALL ".join(every)
            for at, chunk in self.tables.connection.execute(sql, [*chain(*arguments)]):
                found[at].append(ChunkId(chunk))
        return found


def _ranking(
    terms: Sequence[str], must: Sequence[str], inside: str | None = None
) -> tuple[str, tuple[str | float, ...]]:
    """Return SQL for all chunks, best first, with its arguments.

    To score a chunk costs many times as much as to find it. Chunks that hold both kinds of terms and chunks
    that hold required ones alone are two sets, so each is scored once, by the terms it can hold.

    Args:
        terms: The query terms.
        must: Those of which a chunk has to hold one.
        inside: A JSON list of chunks; None for all.
    """
    required = [term for term in terms if term in set(must)]
    optional = [term for term in terms if term not in set(must)]
    matching = _MATCHING if inside is None else f"{_MATCHING} {_INSIDE}"
    limits = () if inside is None else (inside,)
    if not (required and optional):
        return f"{matching} {_BEST_FIRST}", (*FIELD_WEIGHTS, _any_of(terms), *limits)
    both = f"({_any_of(required)}) AND ({_any_of(optional)})"
    return (
        _SPLIT.format(matching=matching),
        (*FIELD_WEIGHTS, both, *limits, *FIELD_WEIGHTS, _any_of(required), *limits),
    )


def _any_of(terms: Sequence[str], *, begun: bool = False) -> str:
    """Return a query of FTS5; if ``begun``, a term that ends in a star finds what begins so."""
    quoted = ['"' + term.replace('"', '""') + '"' for term in terms]
    if begun:
        quoted = [f'{each[:-2]}"*' if each.endswith('*"') else each for each in quoted]
    return " OR ".join(quoted)
