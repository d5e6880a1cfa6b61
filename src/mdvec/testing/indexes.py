"""Reference indexes in plain Python: slow, obvious, and what the real ones are compared with."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mdvec.stores.interface import NAME_SHARE, NEIGHBOUR_SHARE, DenseMatches
from mdvec.stores.lexical import BM25_K1, FIELD_WEIGHTS, Holding, LexicalFields
from mdvec.text.globs import compile_glob
from mdvec.types.ids import ChunkId, CollectionId, DocumentId, SpaceId, TextHash
from mdvec.types.query import Filters, Scope, TagMatch
from mdvec.types.space import EmbeddingSpace, UnrelatedTexts

if TYPE_CHECKING:
    from numpy.typing import NDArray

_B = 0.75


@dataclass(frozen=True, slots=True)
class ChunkFacts:
    """What a filter may ask of a chunk, and what its vectors are those of.

    Attributes:
        collection_id: Its collection.
        document_id: Its document.
        depth: 0-3.
        text_hash: Identity of its embedded text.
        path: Path of its document.
        updated_ns: When its document was last updated.
        tags: Tags of its document.
        aliases: Aliases of its document.
        name_hashes: Identities of its document's names.
    """

    collection_id: CollectionId
    document_id: DocumentId
    depth: int
    text_hash: TextHash
    path: str
    updated_ns: int = 0
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    name_hashes: tuple[TextHash, ...] = ()


def inside(chunk: ChunkFacts, scope: Scope) -> bool:
    """Return whether a chunk may be found.

    Args:
        chunk: The chunk.
        scope: What is allowed.
    """
    filters = scope.filters
    return (
        chunk.collection_id in scope.collections
        and (scope.only is None or chunk.document_id in scope.only)
        and chunk.document_id not in scope.hidden
        and _tags_match(chunk, filters)
        and (filters.alias_prefix is None or _has_alias(chunk, filters.alias_prefix))
        and (filters.path is None or compile_glob(filters.path)(chunk.path))
        and (not filters.depths or chunk.depth in filters.depths)
        and (filters.updated_since_ns is None or chunk.updated_ns >= filters.updated_since_ns)
        and (filters.updated_until_ns is None or chunk.updated_ns < filters.updated_until_ns)
    )


def _tags_match(chunk: ChunkFacts, filters: Filters) -> bool:
    if not filters.tags:
        return True
    carried = [tag.casefold() for tag in chunk.tags]
    met = [
        any(tag == wanted or tag.startswith(f"{wanted}/") for tag in carried)
        for wanted in (tag.casefold() for tag in filters.tags)
    ]
    return any(met) if filters.tag_match is TagMatch.ANY else all(met)


def _has_alias(chunk: ChunkFacts, prefix: str) -> bool:
    return any(alias.casefold().startswith(prefix.casefold()) for alias in chunk.aliases)


class MemoryLexicalIndex:
    """BM25 computed from its definition, for every chunk and every query anew.

    Args:
        chunks: The chunks that exist, by id; others are forgotten. Kept, so changes show.
    """

    def __init__(self, chunks: Mapping[ChunkId, ChunkFacts]) -> None:
        self._chunks = chunks
        self._fields: dict[ChunkId, LexicalFields] = {}

    def put(self, ids: Sequence[ChunkId], fields: Sequence[LexicalFields]) -> None:
        """Add the terms of new chunks."""
        self._fields.update(zip(ids, fields, strict=True))

    def search(
        self, terms: Sequence[str], limit: int, scope: Scope, inessential: Sequence[str] = ()
    ) -> list[tuple[ChunkId, float]]:
        """Rank the chunks that hold any of the terms by BM25, ties in order of id; leaves none out."""
        if not terms:
            return []
        rows = self._rows()
        lengths = {chunk_id: sum(field.total() for field in row) for chunk_id, row in rows.items()}
        mean_length = sum(lengths.values()) / max(len(lengths), 1)
        scores: defaultdict[ChunkId, float] = defaultdict(float)
        for term, times in Counter((*terms, *inessential)).items():
            holders = [chunk_id for chunk_id, row in rows.items() if any(term in field for field in row)]
            idf = Holding(len(rows), {term: len(holders)}).idf(term)
            for chunk_id in holders:
                frequency = sum(
                    weight * field[term] for weight, field in zip(FIELD_WEIGHTS, rows[chunk_id], strict=True)
                )
                norm = BM25_K1 * (1 - _B + _B * lengths[chunk_id] / mean_length)
                scores[chunk_id] += times * idf * frequency * (BM25_K1 + 1) / (frequency + norm)
        found = [(key, score) for key, score in scores.items() if inside(self._chunks[key], scope)]
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:limit]

    def holding(self, terms: Sequence[str]) -> Holding:
        """Return how many chunks hold each of the terms."""
        rows = self._rows()
        held = {term: sum(any(term in field for field in row) for row in rows.values()) for term in terms}
        return Holding(len(rows), {term: chunks for term, chunks in held.items() if chunks})

    def _rows(self) -> dict[ChunkId, list[Counter[str]]]:
        """Count the terms of each chunk that still exists, field by field."""
        return {
            chunk_id: [Counter(field) for field in (each.title, each.heading, each.body, each.minor)]
            for chunk_id, each in self._fields.items()
            if chunk_id in self._chunks
        }


class MemoryVectorIndex:
    """Brute force over float32 vectors.

    Args:
        chunks: The chunks that exist, by id. Kept, so changes show.
    """

    def __init__(self, chunks: Mapping[ChunkId, ChunkFacts]) -> None:
        self._chunks = chunks
        self._spaces: dict[str, SpaceId] = {}
        self._vectors: dict[SpaceId, dict[TextHash, NDArray[np.float32]]] = {}
        self._unrelated: dict[SpaceId, UnrelatedTexts] = {}

    def find_space(self, space: EmbeddingSpace) -> SpaceId | None:
        """Return the id of a space that is known already."""
        return self._spaces.get(space.key)

    def open_space(self, space: EmbeddingSpace) -> SpaceId:
        """Return the id of a space, making it when it is new."""
        space_id = self._spaces.setdefault(space.key, SpaceId(len(self._spaces) + 1))
        self._vectors.setdefault(space_id, {})
        return space_id

    def unrelated(self, space_id: SpaceId) -> UnrelatedTexts | None:
        """Return how similar unrelated texts are in a space; None until it was measured."""
        return self._unrelated.get(space_id)

    def set_unrelated(self, space_id: SpaceId, measured: UnrelatedTexts) -> None:
        """Write down how similar unrelated texts are; what is there already is left as it is."""
        self._unrelated.setdefault(space_id, measured)

    def cached(self, space_id: SpaceId, hashes: Sequence[TextHash]) -> set[TextHash]:
        """Return those of the hashes that have a vector."""
        return self._vectors[space_id].keys() & set(hashes)

    def add(self, space_id: SpaceId, hashes: Sequence[TextHash], vectors: NDArray[np.float32]) -> None:
        """Add unit vectors; a hash that is there already is left as it is."""
        for each, vector in zip(hashes, vectors, strict=True):
            self._vectors[space_id].setdefault(each, np.array(vector, np.float32))

    def search(self, space_id: SpaceId, query: NDArray[np.float32], limit: int, scope: Scope) -> DenseMatches:
        """Return the exact nearest chunks inside the scope, ties in order of id."""
        allowed = [key for key, chunk in self._chunks.items() if inside(chunk, scope)]
        found = self.similarities(space_id, query, allowed)
        best = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]
        vectors = self._vectors[space_id]
        texts = [chunk.text_hash for chunk in self._chunks.values() if chunk.text_hash in vectors]
        everything = [float(vectors[each] @ query) for each in texts]
        return DenseMatches(
            tuple(key for key, _ in best),
            tuple(near for _, near in best),
            float(np.mean(everything)) if everything else 0.0,
            float(np.std(everything)) if everything else 0.0,
        )

    def similarities(
        self, space_id: SpaceId, query: NDArray[np.float32], ids: Iterable[ChunkId]
    ) -> dict[ChunkId, float]:
        """Return how near those of the chunks are that have a vector."""
        vectors = self._vectors[space_id]
        near = {
            key: self._near(chunk, vectors, query)
            for key, chunk in self._chunks.items()
            if chunk.text_hash in vectors
        }
        return {key: self._smoothed(key, near) for key in ids if key in near}

    def _near(
        self, chunk: ChunkFacts, vectors: Mapping[TextHash, NDArray[np.float32]], query: NDArray[np.float32]
    ) -> float:
        of_text = float(vectors[chunk.text_hash] @ query)
        of_names = [float(vectors[each] @ query) for each in chunk.name_hashes if each in vectors]
        return max([of_text, *((1 - NAME_SHARE) * of_text + NAME_SHARE * each for each in of_names)])

    def _smoothed(self, key: ChunkId, near: Mapping[ChunkId, float]) -> float:
        """Let the chunks before and after count; a document's chunks have ids that follow each other."""
        here = self._chunks[key]
        beside = [
            near[other]
            for other in (ChunkId(key - 1), ChunkId(key + 1))
            if other in near
            and (here.collection_id, here.path)
            == (self._chunks[other].collection_id, self._chunks[other].path)
        ]
        if not beside:
            return near[key]
        return (near[key] + NEIGHBOUR_SHARE * float(np.mean(beside))) / (1 + NEIGHBOUR_SHARE)

    def drop_space(self, space_id: SpaceId) -> int:
        """Remove all vectors of a space."""
        removed = len(self._vectors[space_id])
        self._vectors[space_id].clear()
        return removed

    def drop_unused(self, *, keep: int = 0) -> int:
        """Remove vectors of any space that no chunk and no name uses, except the newest ``keep``."""
        used = {each for chunk in self._chunks.values() for each in (chunk.text_hash, *chunk.name_hashes)}
        unused = [
            (space, each) for space, vectors in self._vectors.items() for each in vectors if each not in used
        ]
        removed = unused[: len(unused) - keep] if keep < len(unused) else []
        for space, each in removed:
            del self._vectors[space][each]
        return len(removed)
