"""BM25 from its definition, over all chunks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from mdvec.stores.records import BM25_B, BM25_K1, FIELD_WEIGHTS, DocumentFrequencies
from mdvec.testing.contents import HeldChunk, HeldDocument, fields_of, holds_any, inside
from mdvec.types.ids import ChunkId
from mdvec.types.query import Where


def bm25_scores(
    chunks: Sequence[tuple[HeldDocument, HeldChunk]],
    frequencies: DocumentFrequencies,
    terms: Sequence[str],
    must: Sequence[str],
    where: Where,
) -> Iterator[tuple[ChunkId, float]]:
    """Yield the score of each chunk inside ``where`` that holds one of the terms in ``must``.

    Args:
        chunks: All chunks with their documents.
        frequencies: Of the terms.
        terms: The query terms.
        must: Some of them.
        where: Which chunks may be found.
    """
    rows = {chunk.id: [Counter(each) for each in fields_of(chunk)] for _, chunk in chunks}
    lengths = {key: sum(each.total() for each in row) for key, row in rows.items()}
    mean_length = sum(lengths.values()) / max(len(lengths), 1)
    for document, chunk in chunks:
        row = rows[chunk.id]
        if not (inside(document, chunk, where) and holds_any(row, must)):
            continue
        norm = BM25_K1 * (1 - BM25_B + BM25_B * lengths[chunk.id] / mean_length)
        score = 0.0
        for term in terms:
            count = sum(weight * each[term] for weight, each in zip(FIELD_WEIGHTS, row, strict=True))
            if count:
                score += frequencies.idf(term) * count * (BM25_K1 + 1) / (count + norm)
        if score:
            yield chunk.id, score
