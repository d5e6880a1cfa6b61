"""How the vectors of a memory store are read: every similarity is computed anew."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from mdvec.stores.matrix import decode
from mdvec.stores.records import ChunkPlace, PendingText
from mdvec.testing.contents import Contents, HeldChunk, HeldDocument, inside, place_of
from mdvec.types.ids import ChunkId, CollectionId, DocumentId, SpaceId, TextHash
from mdvec.types.query import Where
from mdvec.types.space import EmbeddingSpace, UnrelatedTexts

Owner = TypeVar("Owner", ChunkId, DocumentId)

_DIGITS = 6  # of a similarity; the stored float16 holds less


class VectorView:
    """The part of a snapshot that reads vectors; see :class:`mdvec.testing.views.MemoryView`.

    Args:
        contents: The state that is shown; it does not change while the snapshot is open.
    """

    def __init__(self, contents: Contents) -> None:
        self._contents = contents

    def spaces(self) -> dict[SpaceId, EmbeddingSpace]:
        """Return every space that was opened."""
        return dict(sorted(self._contents.spaces.items()))

    def find_space(self, space: EmbeddingSpace) -> SpaceId | None:
        """Return the id of a space that is known already."""
        return next((key for key, each in self._contents.spaces.items() if each.key == space.key), None)

    def unrelated(self, space_id: SpaceId) -> UnrelatedTexts | None:
        """Return how similar unrelated texts are in a space; None until it was measured."""
        return self._contents.unrelated.get(space_id)

    def nearest_chunks(
        self, space_id: SpaceId, query: NDArray[np.float32], where: Where, limit: int
    ) -> list[tuple[ChunkId, float]]:
        """Return the chunks whose texts are nearest to a query."""
        allowed = [chunk.id for document, chunk in self._chunks() if inside(document, chunk, where)]
        return _best_first(allowed, self.chunk_similarities(space_id, query[np.newaxis], allowed), limit)

    def nearest_documents(
        self, space_id: SpaceId, query: NDArray[np.float32], where: Where, limit: int
    ) -> list[tuple[DocumentId, float]]:
        """Return the documents whose names are nearest to a query."""
        allowed = sorted(
            {document.id for document, chunk in self._chunks() if inside(document, chunk, where)}
        )
        return _best_first(allowed, self.name_similarities(space_id, query[np.newaxis], allowed), limit)

    def chunk_similarities(
        self, space_id: SpaceId, queries: NDArray[np.float32], ids: Sequence[ChunkId]
    ) -> NDArray[np.float64]:
        """Return the cosine similarities of the chunks' texts."""
        texts = {chunk.id: [chunk.text_hash] for _, chunk in self._chunks()}
        return self._similarities(space_id, queries, [texts.get(each, []) for each in ids])

    def chunk_vectors(self, space_id: SpaceId, ids: Sequence[ChunkId]) -> NDArray[np.float32]:
        """Return the vectors of the chunks' texts."""
        found = np.full((len(ids), self._contents.spaces[space_id].dimension), np.nan, np.float32)
        texts = {chunk.id: chunk.text_hash for _, chunk in self._chunks()}
        for row, each in enumerate(ids):
            if each in texts and self._has_vector(space_id, texts[each]):
                found[row] = decode([self._contents.vectors[space_id, texts[each]]], found.shape[1])[0]
        return found

    def name_similarities(
        self, space_id: SpaceId, queries: NDArray[np.float32], documents: Sequence[DocumentId]
    ) -> NDArray[np.float64]:
        """Return the cosine similarities of the nearest of each document's names."""
        names = {each.id: [*each.names] for each in self._documents()}
        return self._similarities(space_id, queries, [names.get(each, []) for each in documents])

    def sampled_chunks(self, space_id: SpaceId, count: int) -> list[ChunkPlace]:
        """Return one chunk for each of the texts with the smallest hashes."""
        first: dict[TextHash, ChunkPlace] = {}
        for document, chunk in self._chunks():
            if self._has_vector(space_id, chunk.text_hash):
                place = place_of(document, chunk)
                first[chunk.text_hash] = min(place, first.get(chunk.text_hash, place))
        return sorted(first[text] for text in sorted(first)[:count])

    def vectors(
        self, space_id: SpaceId, *, after: bytes, limit: int
    ) -> tuple[list[TextHash], NDArray[np.float32]]:
        """Return vectors as they are stored, in order of hash."""
        hashes = sorted(key for space, key in self._contents.vectors if space == space_id and key > after)
        stored = [self._contents.vectors[space_id, key] for key in hashes[:limit]]
        return hashes[:limit], decode(stored, self._contents.spaces[space_id].dimension)

    def vector_count(self, space_id: SpaceId) -> int:
        """Return the number of stored vectors of a space, used or not."""
        return sum(space == space_id for space, _ in self._contents.vectors)

    def cached(self, space_id: SpaceId, hashes: Sequence[TextHash]) -> set[TextHash]:
        """Return those of the hashes that have a vector."""
        return {each for each in hashes if self._has_vector(space_id, each)}

    def pending(self, collection_id: CollectionId, space_id: SpaceId, limit: int) -> list[PendingText]:
        """Return chunk texts without a vector in the space, oldest chunk first, each hash once."""
        found: dict[TextHash, PendingText] = {}
        for document in self._embedded_documents(collection_id):
            title = document.record.document.title
            for each in document.chunks:
                if not self._has_vector(space_id, each.text_hash):
                    text = each.chunk.embedded_text
                    start = len(text) - len(each.chunk.text)
                    found.setdefault(each.text_hash, PendingText(each.text_hash, text, title, start))
        return list(found.values())[:limit]

    def pending_names(self, collection_id: CollectionId, space_id: SpaceId, limit: int) -> list[PendingText]:
        """Return names without a vector in the space, oldest first, each hash once."""
        return self._pending_names(collection_id, space_id)[:limit]

    def count_pending_names(self, collection_id: CollectionId, space_id: SpaceId) -> int:
        """Return how many names :meth:`pending_names` would return without a limit."""
        return len(self._pending_names(collection_id, space_id))

    def _pending_names(self, collection_id: CollectionId, space_id: SpaceId) -> list[PendingText]:
        documents = self._embedded_documents(collection_id)
        names = {key: name for each in documents for key, name in each.names.items()}
        return [PendingText(key, name) for key, name in names.items() if not self._has_vector(space_id, key)]

    def _documents(self) -> list[HeldDocument]:
        return list(self._contents.documents.values())

    def _documents_of(self, collection_id: CollectionId) -> list[HeldDocument]:
        return [each for each in self._documents() if each.collection_id == collection_id]

    def _embedded_documents(self, collection_id: CollectionId) -> list[HeldDocument]:
        superseded = self._contents.superseded
        return [each for each in self._documents_of(collection_id) if each.id not in superseded]

    def _chunks(self) -> Iterator[tuple[HeldDocument, HeldChunk]]:
        return ((document, chunk) for document in self._documents() for chunk in document.chunks)

    def _has_vector(self, space_id: SpaceId | None, key: TextHash) -> bool:
        return space_id is not None and (space_id, key) in self._contents.vectors

    def _similarities(
        self, space_id: SpaceId, queries: NDArray[np.float32], texts: Sequence[Sequence[TextHash]]
    ) -> NDArray[np.float64]:
        """Return the largest similarity of each group of texts, shape (queries, groups)."""
        found = np.full((len(queries), len(texts)), np.nan)
        for at, group in enumerate(texts):
            for key in group:
                if self._has_vector(space_id, key):
                    vector = np.frombuffer(self._contents.vectors[space_id, key], np.float16)
                    products = queries.astype(np.float64) @ vector.astype(np.float64)
                    found[:, at] = np.fmax(found[:, at], np.round(products, _DIGITS).clip(-1.0, 1.0))
        return found


def _best_first(
    owners: Sequence[Owner], similarities: NDArray[np.float64], limit: int
) -> list[tuple[Owner, float]]:
    """Return owners with their similarities to the one query, but for those without a vector."""
    pairs = zip(owners, similarities[0].tolist(), strict=True)
    found = [pair for pair in pairs if not math.isnan(pair[1])]
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))[: max(limit, 0)]
