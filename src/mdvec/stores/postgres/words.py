"""BM25 over terms that are made elsewhere: the server has the postings, and they are scored here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial, reduce
from itertools import islice

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from mdvec.stores.postgres.connection import stored_text
from mdvec.stores.postgres.postings import (
    CHUNKS_A_BLOCK,
    Key,
    Postings,
    WeighedTerm,
    best_first,
    held_by,
    packed,
    scored,
    unpacked,
    without,
)
from mdvec.stores.records import BM25_K1, ChunkTerms, Groups
from mdvec.stores.tables import Sql, Tables, any_of, memorized, starts_with
from mdvec.stores.where_tables import covers_whole_collections
from mdvec.stores.word_tables import Ranking, WordTables
from mdvec.types.ids import ChunkId, CollectionId
from mdvec.types.query import Where

_MAX_REPEATS = 32_767  # of a term in a field: what two bytes hold, and far more than counts
_BATCH = 5_000  # chunks that the server is asked of at once

# OFFSET 0 keeps the two together: each term is looked up in the index, however common it seems to be.
_POSTINGS = """SELECT u.position, p.block, p.entries
    FROM unnest(?::text[]) WITH ORDINALITY u(term, position)
    JOIN terms t ON t.term = u.term AND t.collection_id = ANY(?::bigint[]),
    LATERAL (SELECT p.block, p.entries FROM postings p WHERE p.term_id = t.id OFFSET 0) p"""
_HOLDING = """SELECT t.term, p.block, p.entries FROM terms t,
    LATERAL (SELECT p.block, p.entries FROM postings p WHERE p.term_id = t.id OFFSET 0) p
    WHERE t.collection_id = ANY(?::bigint[]) AND {condition}"""

_MEAN_LENGTH = "SELECT sum(terms)::float8 / nullif(sum(chunks), 0) FROM collections"

_NEW_TERMS = """INSERT INTO terms(collection_id, term)
    SELECT ?, u.term FROM unnest(?::text[]) u(term)
    WHERE NOT EXISTS(SELECT 1 FROM terms t WHERE t.collection_id = ? AND t.term = u.term)"""
_COUNT_TERMS = """UPDATE terms t SET chunks = t.chunks + u.chunks
    FROM unnest(?::bigint[], ?::bigint[]) u(id, chunks) WHERE t.id = u.id"""
_COUNT_CHUNKS = "UPDATE collections SET chunks = chunks + ?, terms = terms + ? WHERE id = ?"
_ADD_ENTRIES = """INSERT INTO postings(term_id, block, entries)
    SELECT * FROM unnest(?::bigint[], ?::bigint[], ?::bytea[])
    ON CONFLICT (term_id, block) DO UPDATE SET entries = postings.entries || excluded.entries"""
_TERMS_OF_DOCUMENTS = """SELECT w.chunk_id, w.length, w.term_ids
    FROM chunks c JOIN chunk_terms w ON w.chunk_id = c.id WHERE c.document_id = ANY(?::bigint[])"""
_BLOCKS = """SELECT u.term_id, u.block, p.entries FROM unnest(?::bigint[], ?::bigint[]) u(term_id, block),
    LATERAL (SELECT p.entries FROM postings p
        WHERE p.term_id = u.term_id AND p.block = u.block OFFSET 0) p"""
_CHANGE_ENTRIES = """INSERT INTO postings(term_id, block, entries)
    SELECT * FROM unnest(?::bigint[], ?::bigint[], ?::bytea[])
    ON CONFLICT (term_id, block) DO UPDATE SET entries = excluded.entries"""
_REMOVE_BLOCKS = """DELETE FROM postings p USING unnest(?::bigint[], ?::bigint[]) u(term_id, block)
    WHERE p.term_id = u.term_id AND p.block = u.block"""


def put_terms(
    tables: Tables, collection_id: CollectionId, chunks: Sequence[int], terms: Sequence[ChunkTerms]
) -> None:
    """Add the terms of new chunks."""
    rows = [(chunk, *_counted(each)) for chunk, each in zip(chunks, terms, strict=True)]
    held = Counter(term for _, _, counts in rows for term in counts)
    tables.rows(_NEW_TERMS, collection_id, list(held), collection_id)
    found = tables.rows(
        "SELECT term, id FROM terms WHERE collection_id = ? AND term = ANY(?)", collection_id, list(held)
    )
    ids: dict[str, int] = dict(found)
    blocks = packed(
        (ids[term], chunk, length, counts[term]) for chunk, length, counts in rows for term in counts
    )
    _execute_for(tables, _ADD_ENTRIES, blocks)
    tables.rows(_COUNT_TERMS, [ids[term] for term in held], list(held.values()))
    terms_of = (
        (chunk, length, "{" + ",".join(str(ids[term]) for term in counts) + "}")
        for chunk, length, counts in rows
    )
    # An array of arrays would be one array: those of the terms are sent as texts.
    tables.rows(
        """INSERT INTO chunk_terms(chunk_id, length, term_ids)
        SELECT u.chunk_id, u.length, u.term_ids::bigint[]
        FROM unnest(?::bigint[], ?::integer[], ?::text[]) u(chunk_id, length, term_ids)""",
        *map(list, zip(*terms_of, strict=True)),
    )
    tables.rows(_COUNT_CHUNKS, len(rows), sum(row[1] for row in rows), collection_id)


def remove_terms(tables: Tables, collection_id: CollectionId, documents: Sequence[int]) -> None:
    """Remove the terms of the chunks of some documents, before those are removed."""
    rows = tables.rows(_TERMS_OF_DOCUMENTS, list(documents))
    if not rows:
        return
    gone: dict[Key, list[int]] = {}
    for chunk, _, terms in rows:
        for term in terms:
            gone.setdefault((term, chunk // CHUNKS_A_BLOCK), []).append(chunk)
    found = tables.rows(_BLOCKS, *_columns(gone))
    left = {(term, block): without(block, entries, gone[term, block]) for term, block, entries in found}
    _execute_for(tables, _CHANGE_ENTRIES, {key: entries for key, entries in left.items() if entries})
    tables.rows(_REMOVE_BLOCKS, *_columns([key for key in left if not left[key]]))
    held = Counter(term for _, _, terms in rows for term in terms)
    tables.rows(_COUNT_TERMS, [*held], [-count for count in held.values()])
    tables.rows(_COUNT_CHUNKS, -len(rows), -sum(row[1] for row in rows), collection_id)


class PostgresWords(WordTables):
    """Finds chunks by words; idf counts the chunks of all collections, whatever the filter."""

    def _count_chunks_with(self, terms: Sequence[str]) -> dict[str, int]:
        rows = self.tables.rows(
            "SELECT term, sum(chunks)::bigint FROM terms WHERE term = ANY(?) GROUP BY term", list(terms)
        )
        found: dict[str, int] = dict(rows)
        return {term: found.get(stored_text(term), 0) for term in terms}

    def _best(self, terms: Sequence[str], where: Where, limit: int, must: Sequence[str]) -> Ranking:
        frequencies = self.frequencies(terms)
        repeats = Counter(term for term in terms if term in frequencies.of_term)
        if not repeats:
            return []
        required = set(must or terms)
        held = self._postings([*repeats], self._where.readable(where.collections))
        weighed = [
            WeighedTerm(repeats[term] * frequencies.idf(term) * (BM25_K1 + 1), term in required, postings)
            for term, postings in zip(repeats, held, strict=True)
        ]
        # The terms of a collection are its own, so leaving out others costs nothing.
        if covers_whole_collections(where):
            return best_first(*scored(weighed, self._mean_length()), limit)
        few = self._where.few_inside(where)
        if few is not None:
            inside = np.fromiter(few[0], np.int64, len(few[0]))
            return best_first(*scored(weighed, self._mean_length(), inside), limit)
        every = scored(weighed, self._mean_length())
        return self._best_inside(lambda start, stop: best_first(*every, stop)[start:], where, limit)

    def holding(
        self, wanted: Sequence[Groups], where: Where, *, limit: int | None = None
    ) -> list[list[ChunkId]]:
        groups = [group for each in wanted for group in each]
        held = iter(self._holding_each(groups, self._where.readable(where.collections)))
        allowed = [] if where.chunks is None else [np.array(sorted(where.chunks), np.int64)]
        where = replace(where, chunks=None)
        keep = set if covers_whole_collections(where) else self._where.chunk_filter(where)
        return [_inside([*islice(held, len(each)), *allowed], keep, limit) for each in wanted]

    def _postings(self, terms: Sequence[str], collections: Sequence[CollectionId]) -> list[Postings]:
        """Return where each of the terms is."""
        blocks: list[list[tuple[int, bytes]]] = [[] for _ in terms]
        for position, block, entries in self.tables.rows(_POSTINGS, list(terms), list(collections)):
            blocks[position - 1].append((block, entries))
        return list(map(unpacked, blocks))

    def _holding_each(self, groups: Groups, collections: Sequence[CollectionId]) -> list[NDArray[np.int64]]:
        """Return the chunks that hold one of the terms of each group, ascending."""
        terms = [[stored_text(term) for term in group] for group in groups]
        whole = [term for group in terms for term in group if not term.endswith("*")]
        begun = [starts_with("t.term", term[:-1]) for group in terms for term in group if term.endswith("*")]
        wanted = any_of([Sql("t.term = ANY(?)", (whole,)), *begun])
        sql = _HOLDING.format(condition=wanted.text)
        blocks: dict[str, list[tuple[int, bytes]]] = {}
        for term, block, entries in self.tables.rows(sql, list(collections), *wanted.arguments):
            blocks.setdefault(term, []).append((block, entries))
        held = {term: unpacked(each) for term, each in blocks.items()}
        return [held_by(map(held.__getitem__, _matching(group, held))) for group in terms]

    @memorized
    def _mean_length(self) -> float:
        ((length,),) = self.tables.rows(_MEAN_LENGTH)
        return float(length or 1.0)


def _inside(
    held: Sequence[NDArray[np.int64]], keep: Callable[[Sequence[int]], AbstractSet[int]], limit: int | None
) -> list[ChunkId]:
    """Return the first chunks that are in all of some arrays, and that a filter lets through."""
    ids: list[int] = reduce(partial(np.intersect1d, assume_unique=True), held).tolist()
    found: list[int] = []
    for at in range(0, len(ids), _BATCH):
        batch = ids[at : at + _BATCH]
        inside = keep(batch)
        found += [each for each in batch if each in inside]
        if limit is not None and len(found) >= limit:
            break
    return [ChunkId(each) for each in found[:limit]]


def _matching(group: Sequence[str], held: Mapping[str, Postings]) -> Sequence[str]:
    """Return the terms that are in a group, or begin with what one in it has before its star."""
    begun = tuple(each[:-1] for each in group if each.endswith("*"))
    if begun:
        return [term for term in held if term in group or term.startswith(begun)]
    return [term for term in dict.fromkeys(group) if term in held]


def _columns(keys: Iterable[Key]) -> tuple[list[int], list[int]]:
    """Return the terms and the blocks of some keys."""
    known = list(keys)
    return [term for term, _ in known], [block for _, block in known]


def _execute_for(tables: Tables, sql: str, blocks: Mapping[Key, bytes]) -> None:
    """Run a statement for blocks with their entries."""
    if blocks:
        tables.rows(sql, *_columns(blocks), list(blocks.values()))


def _counted(terms: ChunkTerms) -> tuple[int, dict[str, list[int]]]:
    """Return the length of a chunk, and how often each field has each term."""
    fields = [each.split() for each in (terms.main, terms.minor)]
    counts: dict[str, list[int]] = {}
    for at, field in enumerate(fields):
        for term, count in Counter(map(stored_text, field)).items():
            counts.setdefault(term, [0] * len(fields))[at] = min(count, _MAX_REPEATS)
    return sum(map(len, fields)), counts
