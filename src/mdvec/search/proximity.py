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

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from mdvec import run
from mdvec.search.fusion import DenseEvidence
from mdvec.stores.interface import View
from mdvec.stores.records import ChunkPlace
from mdvec.types.ids import ChunkId, CollectionId, SpaceId
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


def nearest_in(space: QuerySpace, view: View, *, where: Where, depth: int) -> list[ChunkId]:
    """Return the chunks that may be among the ``depth`` nearest of a space."""
    inside = replace(where, collections=space.collections)
    if set(space.collections) == set(where.collections):
        inside = where
    with run.current().step("dense") as details:
        texts = view.nearest_chunks(space.id, space.aim, inside, depth)
        names = view.nearest_documents(space.id, space.aim, inside, depth // _RANKS_PER_NAME)
        named = view.places_in([document for document, _ in names], inside, depth)
        details.update(texts=len(texts), named=len(named))
    return list(dict.fromkeys([*(chunk for chunk, _ in texts), *(place.id for place in named)]))


def evidence_in(
    space: QuerySpace,
    found: Iterable[ChunkId],
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
        found: From :func:`nearest_in`; the best ``depth`` of them are ranked.
        others: Chunks that were found in another way; those of other spaces are left out.
        places: The places of all of them.
        view: The snapshot.
        depth: How many chunks to rank.
        alone: Whether this is the only space; else its figures have to be comparable with another's.
    """
    import numpy as np

    own = [place for place in places.values() if place.collection_id in space.collections]
    with run.current().step("rescore", chunks=len(own)):
        keys = [place.id for place in own]
        near, plain, similar, ordinary = _scored(space, own, view)
        best = [keys[at] for at in np.lexsort((keys, -near))[: np.count_nonzero(~np.isnan(near))].tolist()]
        candidates = set(found)
        ranked = [key for key in best if key in candidates][:depth]
        wanted = set(ranked).union(others)
        mean, spread = _background(space, view)
    if not alone and space.unrelated is not None:
        known = space.chunks / (space.chunks + _PRIOR_CHUNKS)
        mean = known * mean + (1 - known) * space.unrelated.mean
        spread = known * spread + (1 - known) * space.unrelated.spread

    def of_wanted(values: NDArray[np.float64]) -> dict[ChunkId, float]:
        pairs = zip(keys, values.tolist(), strict=True)
        return {key: value for key, value in pairs if key in wanted and not math.isnan(value)}

    return DenseEvidence(
        ranking=ranked,
        nearness=of_wanted(near),
        plain_nearness=of_wanted(plain),
        similarities=of_wanted(similar),
        mean=mean,
        spread=spread,
        unrelated=space.unrelated,
        ordinary=of_wanted(ordinary),
    )


def _scored(space: QuerySpace, places: Sequence[ChunkPlace], view: View) -> NDArray[np.float64]:
    """Return how near chunks are to a query, and what that is made of.

    Returns:
        Shape (4, n), NaN for a chunk without a vector: how near each is, less a part of what is ordinary; how
        near it is to the question in its one plain form; its plain similarity to that; and the similarity of
        a text in the other writing to unrelated passages in the query's, NaN for one in the query's writing.
    """
    import numpy as np

    if not places:
        return np.empty((4, 0))
    ids, documents, _, _, unspaced, before, after = zip(*places, strict=True)
    forms = [space.aim] if space.ranked_by is None else [space.aim, space.vector]
    passages = None if space.unrelated is None else _mean_passage(space.unrelated)
    queries = np.stack(forms if passages is None else [*forms, passages])
    texts = view.chunk_similarities(space.id, queries, [*ids, *before, *after])
    texts = texts.reshape(len(queries), 3, len(ids))
    names = view.name_similarities(space.id, queries[: len(forms)], documents)
    nearness = _nearness(texts[: len(forms)], names)
    near, ordinary = nearness[0], np.full(len(ids), np.nan)
    other = (np.array(unspaced, np.bool_) != space.unspaced) & ~np.isnan(near)
    if passages is not None and other.any():
        # A text in another language is as near to one question as to another: a short one, such as a list of
        # names, is near to all of them. On average, with those beside them, they are as near as before: texts
        # in the query's writing are compared with them.
        around = np.where(other, texts[-1], np.nan)
        once = np.unique((ids, before, after), return_index=True)[1]
        ordinary = around[0]
        near = np.where(other, near - ORDINARY_SHARE * (ordinary - np.nanmean(around.ravel()[once])), near)
    elif space.unrelated is not None:  # an older version measured
        ordinary[other] = space.unrelated.mean
    return np.stack([near, nearness[-1], texts[len(forms) - 1, 0], ordinary])


def _nearness(texts: NDArray[np.float64], names: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how near chunks are, names and neighbours counted in, shape (k, n).

    Args:
        texts: Similarities of the chunks' texts, and of those of the chunks before and after each, shape
            (k, 3, n); NaN where there is none.
        names: Similarities of the nearest names of their documents, shape (k, n); NaN where there is none.
    """
    import numpy as np

    lifted = np.fmax(texts, (1 - NAME_SHARE) * texts + NAME_SHARE * names[:, np.newaxis])
    own, beside = lifted[:, 0], lifted[:, 1:]
    count = np.count_nonzero(~np.isnan(beside), axis=1)
    # Without neighbours, its own.
    mean = np.divide(np.nansum(beside, axis=1), count, out=own.copy(), where=count > 0)
    near: NDArray[np.float64] = (own + NEIGHBOUR_SHARE * mean) / (1 + NEIGHBOUR_SHARE)
    return near


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
    near = view.chunk_similarities(space.id, space.aim[np.newaxis], ids)[0]
    near = near[~np.isnan(near)]
    return (float(near.mean()), float(near.std())) if len(near) else (0.0, 0.0)


def neighbourhood(ids: Sequence[ChunkId], view: View) -> dict[ChunkId, ChunkPlace]:
    """Return the places of chunks, by chunk."""
    with run.current().step("places", chunks=len(ids)):
        return {place.id: place for place in view.places(ids)}
