"""Postings in blocks: a term in up to 512 chunks whose ids follow each other, as bytes of one row.

A common term is in tens of thousands of chunks. The server hands them over as some hundred rows, which is
quicker than to score them there one by one, and they take a third of the room.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from mdvec.stores.records import BM25_B, BM25_K1, FIELD_WEIGHTS
from mdvec.types.ids import ChunkId

CHUNKS_A_BLOCK = 512
"""So many, since their bytes always take less than a page of the server."""

# Where in its block a chunk is, how long it is, and how often each field has the term.
_ENTRY = struct.Struct(">Hi2h")
_FIELDS = np.dtype([("chunk", ">u2"), ("length", ">i4"), ("counts", ">i2", (len(FIELD_WEIGHTS),))])
_WEIGHTS = np.array(FIELD_WEIGHTS)

ENTRY_BYTES = _ENTRY.size
"""The size of an entry."""

ENTRIES = f"""SELECT p.term_id,
    p.block * {CHUNKS_A_BLOCK} + get_byte(p.entries, at) * 256 + get_byte(p.entries, at + 1) AS chunk_id
    FROM postings p CROSS JOIN generate_series(0, octet_length(p.entries) - 1, {ENTRY_BYTES}) at"""  # noqa: S608
"""The term and the chunk of each entry, as a query."""

Key = tuple[int, int]
"""A term and the number of a block."""


class Postings(Struct, frozen=True):
    """A term in some chunks.

    Attributes:
        chunks: int64, shape (n,), in any order, each once.
        entries: What is known of each, a structured array of shape (n,).
    """

    chunks: NDArray[np.int64]
    entries: NDArray[np.void]


class WeighedTerm(Struct, frozen=True):
    """A term of a query.

    Attributes:
        weight: What BM25 multiplies: ``times * idf * (k1 + 1)``.
        required: Whether it finds chunks; others only count in those.
        postings: Where it is.
    """

    weight: float
    required: bool
    postings: Postings


def packed(rows: Iterable[tuple[int, int, int, Sequence[int]]]) -> dict[Key, bytes]:
    """Return the entries of each block.

    Args:
        rows: Term, chunk, length of the chunk, and counts by field.
    """
    blocks: dict[Key, bytearray] = {}
    for term, chunk, length, counts in rows:
        block, at = divmod(chunk, CHUNKS_A_BLOCK)
        blocks.setdefault((term, block), bytearray()).extend(_ENTRY.pack(at, length, *counts))
    return {key: bytes(entries) for key, entries in sorted(blocks.items())}


def without(block: int, entries: bytes, chunks: Iterable[int]) -> bytes:
    """Return the entries of a block but for those of some chunks."""
    found = np.frombuffer(entries, _FIELDS)
    gone = np.isin(found["chunk"] + block * CHUNKS_A_BLOCK, np.fromiter(chunks, np.int64))
    return found[~gone].tobytes()


def unpacked(blocks: Sequence[tuple[int, bytes]]) -> Postings:
    """Return what is in blocks of a term: their numbers, and their bytes."""
    entries = np.frombuffer(b"".join(each for _, each in blocks), _FIELDS)
    counts = [len(each) // ENTRY_BYTES for _, each in blocks]
    first = np.repeat(np.array([block * CHUNKS_A_BLOCK for block, _ in blocks], np.int64), counts)
    return Postings(first + entries["chunk"], entries)


def scored(
    terms: Sequence[WeighedTerm], mean_length: float, inside: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the chunks that hold a required term, ascending, and their BM25 scores.

    Args:
        terms: In the order of the query, so that chunks with the same words get the same sum.
        mean_length: Of all chunks.
        inside: The only chunks that may be found, each once; None for all.
    """
    chunks = held_by(each.postings for each in terms if each.required)
    if inside is not None:
        chunks = np.intersect1d(chunks, inside, assume_unique=True)
    scores = np.zeros(len(chunks))
    for each in terms if len(chunks) else ():
        at = np.searchsorted(chunks, each.postings.chunks)
        found = chunks.take(at, mode="clip") == each.postings.chunks
        entries = each.postings.entries[found]
        count = entries["counts"] @ _WEIGHTS
        damped = BM25_K1 * (1 - BM25_B + BM25_B * entries["length"] / mean_length)
        scores[at[found]] += each.weight * count / (count + damped)
    return chunks, scores


def held_by(postings: Iterable[Postings]) -> NDArray[np.int64]:
    """Return the chunks that hold any of some terms, ascending, each once."""
    parts = [each.chunks for each in postings]
    return np.unique(np.concatenate(parts)) if parts else np.empty(0, np.int64)


def best_first(
    chunks: NDArray[np.int64], scores: NDArray[np.float64], count: int
) -> list[tuple[ChunkId, float]]:
    """Return the best ``count`` chunks with their scores; ties in order of id."""
    if count < len(scores):
        among = scores >= np.partition(scores, len(scores) - count)[len(scores) - count]
        chunks, scores = chunks[among], scores[among]
    order = np.lexsort((chunks, -scores))[:count]
    return list(zip(map(ChunkId, chunks[order].tolist()), scores[order].tolist(), strict=True))
