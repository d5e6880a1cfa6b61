"""BM25 in SQL, over postings of terms that are made elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from mdvec.stores.postgres.connection import Connection, insert_rows, stored_text
from mdvec.stores.postgres.where import (
    Sql,
    WhereReader,
    any_of,
    asks_for_collections_alone,
    starts_with,
)
from mdvec.stores.records import BM25_B, BM25_K1, FIELD_WEIGHTS, ChunkTerms, DocumentFrequencies
from mdvec.types.ids import ChunkId, CollectionId
from mdvec.types.query import Where

_MOST_COUNTED_TERMS = 50_000
_MOST_REPEATS = 32_767  # of a term in a field: what a smallint holds, and far more than counts

_COUNT = " + ".join(
    f"{weight!r}::float8 * p.{field}"
    for weight, field in zip(FIELD_WEIGHTS, ("title", "heading", "body", "minor"), strict=True)
)
# OFFSET 0 keeps the two together: each term is looked up in the index, however common it seems to be. In
# order of the query, so that chunks with the same words get the same sum.
_RANKING = f"""WITH wanted AS MATERIALIZED (
    SELECT t.id, u.weight, u.required
    FROM unnest(%s::text[], %s::float8[], %s::boolean[]) WITH ORDINALITY u(term, weight, required, position)
    JOIN terms t ON t.term = u.term AND t.collection_id = ANY(%s::bigint[])
    ORDER BY u.position
) SELECT p.chunk_id,
    sum(w.weight * p.count
        / (p.count + {BM25_K1} * ({1 - BM25_B} + {BM25_B} * p.length / %s::float8))) AS score
FROM wanted w CROSS JOIN LATERAL (
    SELECT p.chunk_id, p.length, {_COUNT} AS count FROM postings p
    WHERE p.term_id = w.id{{inside}} OFFSET 0
) p GROUP BY p.chunk_id HAVING bool_or(w.required) ORDER BY score DESC, p.chunk_id"""  # noqa: S608
_INSIDE = " AND p.chunk_id = ANY(%s::bigint[])"
# The ranking is walked down until enough of it is inside.
_FILTERED = """SELECT r.chunk_id, r.score FROM ({ranking}) r CROSS JOIN LATERAL (
    SELECT 1 FROM chunks c JOIN documents d ON d.id = c.document_id
    WHERE c.id = r.chunk_id AND {condition} OFFSET 0
) inside ORDER BY r.score DESC, r.chunk_id LIMIT %s"""

_MEAN_LENGTH = "SELECT sum(terms)::float8 / nullif(sum(chunks), 0) FROM collections"

_NEW_TERMS = """INSERT INTO terms(collection_id, term)
    SELECT %s, u.term FROM unnest(%s::text[]) u(term)
    WHERE NOT EXISTS(SELECT 1 FROM terms t WHERE t.collection_id = %s AND t.term = u.term)"""
_COUNT_TERMS = """UPDATE terms t SET chunks = t.chunks + u.chunks
    FROM unnest(%s::bigint[], %s::bigint[]) u(id, chunks) WHERE t.id = u.id"""
_COUNT_CHUNKS = "UPDATE collections SET chunks = chunks + %s, terms = terms + %s WHERE id = %s"
_REMOVE = """WITH gone AS MATERIALIZED (
    SELECT w.chunk_id, w.length, w.term_ids FROM chunks c JOIN chunk_terms w ON w.chunk_id = c.id
    WHERE c.document_id = ANY(%s::bigint[])
), removed AS (
    DELETE FROM postings p USING (SELECT chunk_id, unnest(term_ids) AS term_id FROM gone) g
    WHERE p.term_id = g.term_id AND p.chunk_id = g.chunk_id RETURNING p.term_id
), counted AS (
    UPDATE terms t SET chunks = t.chunks - r.chunks
    FROM (SELECT term_id, count(*) AS chunks FROM removed GROUP BY term_id) r WHERE t.id = r.term_id
) SELECT count(*), coalesce(sum(length), 0) FROM gone"""


def put_terms(
    connection: Connection, collection_id: CollectionId, chunks: Sequence[tuple[ChunkId, ChunkTerms]]
) -> None:
    """Add the terms of new chunks."""
    rows = [(chunk_id, *_counted(terms)) for chunk_id, terms in chunks]
    held = Counter(term for _, _, counts in rows for term in counts)
    connection.execute(_NEW_TERMS, (collection_id, list(held), collection_id))
    found = connection.execute(
        "SELECT term, id FROM terms WHERE collection_id = %s AND term = ANY(%s)", (collection_id, list(held))
    )
    ids: dict[str, int] = dict(found.fetchall())
    insert_rows(
        connection,
        "postings",
        {"term_id": "bigint", "chunk_id": "bigint", "length": "integer"}
        | dict.fromkeys(("title", "heading", "body", "minor"), "smallint"),
        ((ids[term], chunk, length, *counts[term]) for chunk, length, counts in rows for term in counts),
    )
    connection.execute(_COUNT_TERMS, ([ids[term] for term in held], list(held.values())))
    terms_of = (
        (chunk, length, "{" + ",".join(str(ids[term]) for term in counts) + "}")
        for chunk, length, counts in rows
    )
    # An array of arrays would be one array: those of the terms are sent as texts.
    connection.execute(
        """INSERT INTO chunk_terms(chunk_id, length, term_ids)
        SELECT u.chunk_id, u.length, u.term_ids::bigint[]
        FROM unnest(%s::bigint[], %s::integer[], %s::text[]) u(chunk_id, length, term_ids)""",
        [list(column) for column in zip(*terms_of, strict=True)] or [[], [], []],
    )
    connection.execute(_COUNT_CHUNKS, (len(rows), sum(row[1] for row in rows), collection_id))


def remove_terms(connection: Connection, collection_id: CollectionId, documents: Sequence[int]) -> None:
    """Remove the terms of the chunks of some documents, before those are removed."""
    row = connection.execute(_REMOVE, (list(documents),)).fetchone()
    if row is not None and row[0]:
        connection.execute(_COUNT_CHUNKS, (-row[0], -row[1], collection_id))


class WordReader(WhereReader):
    """Finds chunks by words; idf counts the chunks of all collections, whatever the filter."""

    def document_frequencies(self, terms: Sequence[str]) -> DocumentFrequencies:
        """Return how many chunks hold each of the terms."""
        counted: dict[str, int] = self.memorized("document frequencies", dict)
        if len(counted) > _MOST_COUNTED_TERMS:
            counted.clear()
        missing = [term for term in terms if term not in counted]
        if missing:
            rows = self.connection.execute(
                "SELECT term, sum(chunks)::bigint FROM terms WHERE term = ANY(%s) GROUP BY term", (missing,)
            )
            found: dict[str, int] = dict(rows.fetchall())
            counted.update((term, found.get(stored_text(term), 0)) for term in missing)
        return DocumentFrequencies(
            self.all_chunks(), {term: counted[term] for term in terms if counted[term]}
        )

    def bm25(
        self, terms: Sequence[str], where: Where, limit: int, *, must: Sequence[str] = ()
    ) -> list[tuple[ChunkId, float]]:
        """Rank the chunks that hold any of the terms by BM25."""
        if limit <= 0 or not where.collections:
            return []
        frequencies = self.document_frequencies(terms)
        repeats = Counter(term for term in terms if term in frequencies.of_term)
        required = set(must or terms)
        if not repeats:
            return []
        arguments = (
            list(repeats),
            [repeats[term] * frequencies.idf(term) * (BM25_K1 + 1) for term in repeats],
            [term in required for term in repeats],
            list(where.collections),
            self._mean_length(),
        )
        sql = self._narrowed(where, arguments, limit)
        rows = self.connection.execute(sql.text, sql.arguments)
        return [(ChunkId(chunk_id), score) for chunk_id, score in rows]

    def holding(
        self, groups: Sequence[Sequence[str]], where: Where, *, limit: int | None = None
    ) -> list[ChunkId]:
        """Return the chunks inside ``where`` that hold a term of every group, in order of id."""
        parts = [self.chunk_condition(where), *(_holds_one(group, where.collections) for group in groups)]
        sql = f"""SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document_id
            WHERE {" AND ".join(part.text for part in parts)} ORDER BY c.id LIMIT %s"""  # noqa: S608 - ours
        arguments = [argument for part in parts for argument in part.arguments]
        return [ChunkId(row[0]) for row in self.connection.execute(sql, (*arguments, limit))]

    def _narrowed(self, where: Where, arguments: tuple[object, ...], limit: int) -> Sql:
        ranking = _RANKING.format(inside="")
        # The terms of a collection are its own, so leaving out others costs nothing.
        if asks_for_collections_alone(where):
            return Sql(f"{ranking} LIMIT %s", (*arguments, limit))
        few = self.few_inside(where)
        if few is not None:
            return Sql(f"{_RANKING.format(inside=_INSIDE)} LIMIT %s", (*arguments, list(few[0]), limit))
        condition = self.chunk_condition(where)
        sql = _FILTERED.format(ranking=ranking, condition=condition.text)
        return Sql(sql, (*arguments, *condition.arguments, limit))

    def _mean_length(self) -> float:
        def read() -> float:
            row = self.connection.execute(_MEAN_LENGTH).fetchone()
            return float(row[0]) if row is not None and row[0] else 1.0

        return self.memorized("mean length", read)


def _holds_one(terms: Sequence[str], collections: Sequence[CollectionId]) -> Sql:
    """Return the condition that a chunk ``c`` holds one of the terms."""
    whole = [stored_text(term) for term in terms if not term.endswith("*")]
    begun = [starts_with("t.term", stored_text(term[:-1])) for term in terms if term.endswith("*")]
    wanted = any_of([Sql("t.term = ANY(%s)", (whole,)), *begun])
    text = f"""c.id IN (SELECT p.chunk_id FROM terms t JOIN postings p ON p.term_id = t.id
        WHERE t.collection_id = ANY(%s::bigint[]) AND {wanted.text})"""  # noqa: S608 - ours
    return Sql(text, (list(collections), *wanted.arguments))


def _counted(terms: ChunkTerms) -> tuple[int, dict[str, list[int]]]:
    """Return the length of a chunk, and how often each field has each term."""
    fields = [each.split() for each in (terms.title, terms.heading, terms.body, terms.minor)]
    counts: dict[str, list[int]] = {}
    for at, field in enumerate(fields):
        for term, count in Counter(map(stored_text, field)).items():
            counts.setdefault(term, [0] * len(fields))[at] = min(count, _MOST_REPEATS)
    return sum(map(len, fields)), counts
