"""Candidates by meaning: chunks whose text, names or neighbours are near the query.

The name of a document lifts its chunks. With ``s`` the cosine similarity of query and text, and ``t`` the
largest one of the query and a name of the document, a chunk has
``u = max(s, (1 - NAME_SHARE) * s + NAME_SHARE * t)`` (docs/decisions/0009-names-as-vectors.md).
Neighbours count a little: with ``v`` the mean ``u`` of the chunks right before and after it, its nearness is
``(u + NEIGHBOUR_SHARE * v) / (1 + NEIGHBOUR_SHARE)`` (docs/decisions/0017-neighbours.md).
An other-language chunk loses a share of its similarity to unrelated passages
(docs/decisions/0051-less-of-the-ordinary.md).

Stores find candidates by plain similarity of texts and of names; this module scores them exactly.
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
"""The weight of the nearest name of a document, if it is nearer than the chunk's text."""

NEIGHBOUR_SHARE = 0.2
"""The weight of the chunks before and after a chunk, relative to its own."""

ORDINARY_SHARE = 0.3
"""The share of its similarity to unrelated passages that an other-language chunk loses."""

# The candidates are the ``depth`` chunks with the nearest texts, and up to ``depth`` chunks of the documents
# with the nearest names: one document for so many of them. More would not change the best (decision 24).
_RANKS_PER_NAME = 4

# The mean and spread of similarities in a space are those of a sample of so many chunks.
_SAMPLE_CHUNKS = 512

# If fewer chunks of the sample are in the query's script, all of it counts.
_MIN_SAMPLE = 16

# If several spaces are searched, unrelated texts of the model count as so many more chunks of the background:
# in a collection of five notes, the one good hit would be a fifth of it.
_PRIOR_CHUNKS = 30


class QuerySpace(Struct, frozen=True):
    """A space and the query in it.

    Attributes:
        id: The space.
        collections: The collections that are searched in it.
        vector: The query, shape (dim,), unit length; similarities and confidence are computed from it.
        ranked_by: The vector that ranks chunks in the query's script, if it is another one (see
            :mod:`mdvec.search.forms`).
        measured: The similarity of unrelated texts in its model; None if it was not measured yet.
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
        """The similarity of unrelated texts to queries in this script; None if it was not measured."""
        return None if self.measured is None else self.measured.written(unspaced=self.unspaced)

    def ordinary(self) -> float:
        """Return the similarity of the query to unrelated passages in the other kind of script.

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
        others: Chunks that were found by words; those of other spaces are left out.
        places: The places of all these chunks.
        view: The snapshot.
        depth: How many chunks to rank.
        alone: Whether this is the only space; otherwise its figures must be comparable with another's.
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
    """Return the nearness of chunks to a query, and its parts.

    Returns:
        Four rows, shape (4, n), NaN for a chunk without a vector: nearness, less a share of ``ordinary``;
        nearness to the question form of the query; plain similarity to that form; and ``ordinary``, the
        similarity of an other-language chunk to unrelated passages in the query's script, otherwise NaN.
    """
    import numpy as np

    if not places:
        return np.empty((4, 0))
    ids, documents, _, _, unspaced, _, before, after = zip(*places, strict=True)
    forms = [space.aim] if space.ranked_by is None else [space.aim, space.vector]
    passages = None if space.unrelated is None else _mean_passage(space.unrelated)
    queries = np.stack(forms if passages is None else [*forms, passages])
    texts = view.chunk_similarities(space.id, queries, [*ids, *before, *after])
    texts = texts.reshape(len(queries), 3, len(ids))
    names = view.name_similarities(space.id, queries[: len(forms)], documents)
    nearness = _nearness(texts[: len(forms)], names)
    near, plain, ordinary = nearness[0], nearness[-1], np.full(len(ids), np.nan)
    is_other = np.array(unspaced, np.bool_) != space.unspaced
    other = is_other & ~np.isnan(near)
    if space.ranked_by is not None and other.any():
        # The passage form ranks passages in its own language better, and those in another one worse. What it
        # changes on average in the former is added to the latter, so that both stay comparable.
        changes = (near - plain)[~(is_other | np.isnan(near))]
        near = np.where(other, plain + (changes.mean() if len(changes) else 0.0), near)
    if passages is not None and other.any():
        # Some other-language texts, such as short lists of names, are near to every question. Only the
        # difference from the mean is subtracted, so that other-language chunks are on average as near as
        # before: chunks in the query's script are compared with them.
        around = np.where(other, texts[-1], np.nan)
        once = np.unique((ids, before, after), return_index=True)[1]
        ordinary = around[0]
        near = np.where(other, near - ORDINARY_SHARE * (ordinary - np.nanmean(around.ravel()[once])), near)
    elif space.unrelated is not None:  # measured by an older version
        ordinary[other] = space.unrelated.mean
    return np.stack([near, plain, texts[len(forms) - 1, 0], ordinary])


def _nearness(texts: NDArray[np.float64], names: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearness of chunks, with names and neighbours counted in, shape (k, n).

    Args:
        texts: Similarities of the chunks' texts, and of those of the chunks before and after each, shape
            (k, 3, n); NaN where there is none.
        names: Similarities of the nearest names of their documents, shape (k, n); NaN where there is none.
    """
    import numpy as np

    lifted = np.fmax(texts, (1 - NAME_SHARE) * texts + NAME_SHARE * names[:, np.newaxis])
    own, beside = lifted[:, 0], lifted[:, 1:]
    count = np.count_nonzero(~np.isnan(beside), axis=1)
    # A chunk without neighbours keeps its own value.
    mean = np.divide(np.nansum(beside, axis=1), count, out=own.copy(), where=count > 0)
    near: NDArray[np.float64] = (own + NEIGHBOUR_SHARE * mean) / (1 + NEIGHBOUR_SHARE)
    return near


def _mean_passage(measured: Unrelated) -> NDArray[np.float32] | None:
    """Return the mean vector of unrelated passages, shape (dim,); None if an older version measured them."""
    import numpy as np

    return np.frombuffer(measured.passages, "<f4").astype(np.float32) if measured.passages else None


def _background(space: QuerySpace, view: View) -> tuple[float, float]:
    """Return mean and spread of the similarity of the query and the chunks in its script.

    Other-language chunks are further from the query, whatever they are about. If they counted, the spread
    would be larger and every deviation smaller.
    """
    import numpy as np

    sample = view.sampled_chunks(space.id, _SAMPLE_CHUNKS)
    alike = [place.id for place in sample if place.unspaced == space.unspaced]
    ids = alike if len(alike) >= _MIN_SAMPLE else [place.id for place in sample]
    near = view.chunk_similarities(space.id, space.aim[np.newaxis], ids)[0]
    near = near[~np.isnan(near)]
    return (float(near.mean()), float(near.std())) if len(near) else (0.0, 0.0)


def neighbourhood(ids: Sequence[ChunkId], view: View) -> dict[ChunkId, ChunkPlace]:
    """Return the places of chunks, by chunk."""
    with run.current().step("places", chunks=len(ids)):
        return {place.id: place for place in view.places(ids)}
