"""Candidates by meaning: texts and names near the query, with what stands before and after them.

A chunk is as near as its text, and nearer when its document is called what the query asks for. With ``s`` the
cosine similarity of query and text, and ``t`` the largest one of query and any name of the document, it is
``u = max(s, (1 - NAME_SHARE) * s + NAME_SHARE * t)`` (docs/decisions/0009-names-as-vectors.md).
Its neighbours count a little: with ``v`` the mean ``u`` of the chunks right before and after it, it is
``(u + NEIGHBOUR_SHARE * v) / (1 + NEIGHBOUR_SHARE)`` (docs/decisions/0017-neighbours.md).
Of what a text in the other writing is as near to as to any question, a part is taken off
(docs/decisions/0051-less-of-the-ordinary.md).

Stores find by plain similarity of texts and of names; the candidates that gives are scored here exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import compress, repeat
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from mdvec import run
from mdvec.search.fusion import DenseEvidence
from mdvec.stores.interface import View
from mdvec.stores.records import ChunkPlace
from mdvec.types.ids import ChunkId, CollectionId, DocumentId, SpaceId
from mdvec.types.query import Where
from mdvec.types.space import Unrelated, UnrelatedTexts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NAME_SHARE = 0.5
"""How much the name of a document says of a chunk, where it says more than the chunk's text."""

NEIGHBOUR_SHARE = 0.2
"""How much the chunks before and after say of a chunk, next to what it says itself."""

ORDINARY_SHARE = 0.3
"""How much of its similarity to unrelated passages a text in the other writing loses."""

# As many candidates as are ranked have the nearest texts, and up to as many are of the documents with the
# nearest names, of which there is one for so many. With these the best stay the same (decision 24).
_RANKS_PER_NAME = 4

# The mean and spread of similarities in a space are those of so many chunks.
_SAMPLE_CHUNKS = 512

# Of fewer in the query's own writing, nothing is known; then all count.
_LEAST_SAMPLE = 16

# Beside another space, the background of n chunks is known from them by n parts, and from unrelated texts of
# the model by so many: the one good hit among five notes is a fifth of their background.
_PRIOR_CHUNKS = 30


class QuerySpace(Struct, frozen=True):
    """A space and the query in it.

    Attributes:
        id: The space.
        collections: The collections that are searched in it.
        vector: The query, shape (dim,), unit length: what similarities are shown of, and judged by.
        ranked_by: The vector that ranks, where it is another one (see :mod:`mdvec.search.forms`).
        measured: The similarity of unrelated texts in its model; None where that was not measured yet.
        chunks: How many chunks these collections hold.
        unspaced: Whether the query is written in a script without spaces.
    """

    id: SpaceId
    collections: tuple[CollectionId, ...]
    vector: NDArray[np.float32]
    measured: UnrelatedTexts | None
    chunks: int
    unspaced: bool
    ranked_by: NDArray[np.float32] | None = None

    @property
    def aim(self) -> NDArray[np.float32]:
        """The vector whose nearest chunks are searched."""
        return self.vector if self.ranked_by is None else self.ranked_by

    @property
    def unrelated(self) -> Unrelated | None:
        """The similarity of texts that are unrelated to such a query; None where it was not measured."""
        return None if self.measured is None else self.measured.written(unspaced=self.unspaced)

    def ordinary(self) -> float:
        """Return how similar the query is to passages in the other writing that have nothing to do with it.

        Raises:
            ValueError: If nothing was measured.
        """
        if self.measured is None:
            msg = f"unrelated texts of space {self.id} are not measured"
            raise ValueError(msg)
        passages = _mean_passage(self.measured.written(unspaced=not self.unspaced))
        if passages is None:
            return self.measured.written(unspaced=self.unspaced).mean
        return float(passages @ self.vector)


class Nearest(Struct, frozen=True):
    """The chunks and names that a store finds near a query, by plain similarity.

    Attributes:
        candidates: Chunks that may be among the nearest.
        texts: Similarities of chunks' texts that are known already.
        names: Similarities of documents' names that are known already.
    """

    candidates: Sequence[ChunkId]
    texts: Mapping[ChunkId, float]
    names: Mapping[DocumentId, float]


_UNKNOWN = Nearest((), {}, {})


def nearest_in(space: QuerySpace, view: View, *, where: Where, depth: int) -> Nearest:
    """Return the chunks that may be among the ``depth`` nearest of a space."""
    inside = replace(where, collections=space.collections)
    if set(space.collections) == set(where.collections):
        inside = where
    with run.current().step("dense") as details:
        texts = dict(view.nearest_chunks(space.id, space.aim, inside, depth))
        names = dict(view.nearest_documents(space.id, space.aim, inside, depth // _RANKS_PER_NAME))
        named = view.places_in(list(names), inside, depth)
        details.update(texts=len(texts), named=len(named))
    return Nearest(list(dict.fromkeys([*texts, *(place.id for place in named)])), texts, names)


def evidence_in(
    space: QuerySpace,
    found: Nearest,
    others: Iterable[ChunkId],
    places: Mapping[ChunkId, ChunkPlace],
    view: View,
    *,
    depth: int,
    alone: bool,
) -> DenseEvidence:
    """Score the candidates of a space exactly.

    Args:
        space: The space.
        found: From :func:`nearest_in`; the best ``depth`` of its candidates are ranked.
        others: Chunks that were found in another way; those of other spaces are left out.
        places: The places of all of them and of their neighbours.
        view: The snapshot.
        depth: How many chunks to rank.
        alone: Whether this is the only space; else its figures have to be comparable with another's.
    """
    own = [place for place in places.values() if place.collection_id in space.collections]
    with run.current().step("rescore", chunks=len(own)):
        texts, near = _nearness(space.id, space.aim, found, own, view)
        plain_texts, plain = texts, near
        if space.ranked_by is not None:
            plain_texts, plain = _nearness(space.id, space.vector, _UNKNOWN, own, view)
        ordinary = _ordinary_similarities(space, [each for each in own if each.id in near], view)
        near = _above_ordinary(near, ordinary)
        ranked = sorted((key for key in found.candidates if key in near), key=lambda key: (-near[key], key))
        ranked = ranked[:depth]
        wanted = [key for key in dict.fromkeys((*ranked, *others)) if key in near]
        mean, spread = _background(space, view)
    if not alone and space.unrelated is not None:
        known = space.chunks / (space.chunks + _PRIOR_CHUNKS)
        mean = known * mean + (1 - known) * space.unrelated.mean
        spread = known * spread + (1 - known) * space.unrelated.spread
    return DenseEvidence(
        ranking=ranked,
        nearness={key: near[key] for key in wanted},
        plain_nearness={key: plain[key] for key in wanted},
        similarities={key: plain_texts[key] for key in wanted},
        mean=mean,
        spread=spread,
        unrelated=space.unrelated,
        ordinary=ordinary,
    )


def _nearness(
    space_id: SpaceId, query: NDArray[np.float32], found: Nearest, places: Sequence[ChunkPlace], view: View
) -> tuple[Mapping[ChunkId, float], dict[ChunkId, float]]:
    """Return plain similarities, and how near chunks are, for those that have a vector.

    Args:
        space_id: The space.
        query: Shape (dim,).
        found: Similarities that are known already.
        places: Chunks and their neighbours, in order of document and ordinal.
        view: The snapshot.
    """
    import numpy as np

    if not places:
        return {}, {}
    ids, documents, _, ordinals, _ = zip(*places, strict=True)
    unknown = [key for key in ids if key not in found.texts]
    unnamed = [each for each in dict.fromkeys(documents) if each not in found.names]
    texts = {**found.texts, **view.chunk_similarities(space_id, query, unknown)}
    names = {**found.names, **view.name_similarities(space_id, query, unnamed)}
    of_texts = np.fromiter(map(texts.get, ids, repeat(np.nan)), np.float64, len(ids))
    of_names = np.fromiter(map(names.get, documents, repeat(-1.0)), np.float64, len(ids))
    lifted = np.maximum(of_texts, (1 - NAME_SHARE) * of_texts + NAME_SHARE * of_names)
    known = ~np.isnan(lifted)
    follows = np.zeros(len(places) + 1, np.bool_)  # whether each is the next chunk of the one before it
    follows[1:-1] = (np.diff(documents) == 0) & (np.diff(ordinals) == 1) & known[1:] & known[:-1]
    before, after = follows[:-1], follows[1:]
    beside = np.where(before, np.roll(lifted, 1), 0.0) + np.where(after, np.roll(lifted, -1), 0.0)
    count = before.astype(np.intp) + after
    mean = np.divide(beside, count, out=lifted.copy(), where=count > 0)  # without neighbours, its own
    near = (lifted + NEIGHBOUR_SHARE * mean) / (1 + NEIGHBOUR_SHARE)
    return texts, dict(zip(compress(ids, known), near[known].tolist(), strict=True))


def _ordinary_similarities(
    space: QuerySpace, places: Sequence[ChunkPlace], view: View
) -> dict[ChunkId, float]:
    """Return how similar texts in the other writing are to unrelated passages in the query's writing.

    A text in another language is as near to one question as to another: a short one, such as a list of
    names, is near to all of them. Where an older version measured, what is usual in the model is returned.
    """
    measured = space.unrelated
    others = [place.id for place in places if place.unspaced != space.unspaced]
    if measured is None or not others:
        return {}
    passages = _mean_passage(measured)
    if passages is None:
        return dict.fromkeys(others, measured.mean)
    return view.chunk_similarities(space.id, passages, others)


def _above_ordinary(near: dict[ChunkId, float], ordinary: Mapping[ChunkId, float]) -> dict[ChunkId, float]:
    """Return what is near, less a part of what is ordinary: among texts in the other writing only.

    On average they are as near as before, since texts in the query's writing are compared with them.
    """
    if not ordinary:
        return near
    mean = sum(ordinary.values()) / len(ordinary)
    return near | {key: near[key] - ORDINARY_SHARE * (value - mean) for key, value in ordinary.items()}


def _mean_passage(measured: Unrelated) -> NDArray[np.float32] | None:
    """Return the mean vector of unrelated passages, shape (dim,); None where an older version measured."""
    import numpy as np

    return np.frombuffer(measured.passages, "<f4").astype(np.float32) if measured.passages else None


def _background(space: QuerySpace, view: View) -> tuple[float, float]:
    """Return mean and spread of the similarity of the query and any text in its writing.

    Texts in the other writing are further from the query, whatever they are about. Counted in, they would
    widen the spread, and make every nearness look smaller than it is.
    """
    import numpy as np

    sample = view.sampled_chunks(space.id, _SAMPLE_CHUNKS)
    alike = [place.id for place in sample if place.unspaced == space.unspaced]
    ids = alike if len(alike) >= _LEAST_SAMPLE else [place.id for place in sample]
    near = np.array([*view.chunk_similarities(space.id, space.aim, ids).values()])
    return (float(near.mean()), float(near.std())) if len(near) else (0.0, 0.0)


def neighbourhood(ids: Sequence[ChunkId], view: View) -> dict[ChunkId, ChunkPlace]:
    """Return the places of chunks and of their neighbours, by chunk."""
    with run.current().step("places", chunks=len(ids)):
        return {place.id: place for place in view.places(ids)}
