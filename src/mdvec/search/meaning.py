"""Candidates by meaning, and the nearness of every candidate to the query.

The name of a document lifts its chunks. With ``s`` the cosine similarity of query and text, and ``t`` the
largest one of the query and a name of the document, a chunk has
``u = max(s, (1 - NAME_SHARE) * s + NAME_SHARE * t)``. Neighbours count a little: with ``v`` the mean ``u`` of
the chunks right before and after it, its nearness is ``(u + NEIGHBOUR_SHARE * v) / (1 + NEIGHBOUR_SHARE)``.
An other-language chunk loses a share of its similarity to unrelated passages, since some texts, such as lists
of names, are near to every question.

Stores find candidates by plain similarity of texts and of names; this module scores them exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from mdvec import run
from mdvec.search.words import SAMPLE_CHUNKS, UNRELATED_CHUNKS
from mdvec.stores.interface import View
from mdvec.stores.records import ChunkPlace, VectorKind
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

# The candidates are the ``depth`` chunks with the nearest texts, and chunks of the documents with the nearest
# names: one document for so many of the depth, and on average so many chunks of each. More find nothing that
# texts and words have not found.
_DEPTH_PER_NAME = 16
_CHUNKS_PER_NAME = 4

# If fewer chunks of the sample are in the query's language, those in any language count; if fewer of them are
# in the collections that are searched, all of the sample.
_MIN_SAMPLE = 16

# The spread of the background is at least this share of that of unrelated texts. The parts of a template are
# so alike that small differences would count as many deviations.
_LEAST_SPREAD = 0.75

# With a smaller spread all vectors are equal (a collection of one text), and deviations have no meaning.
_MIN_SPREAD = 1e-6


class QuerySpace(Struct, frozen=True):
    """A space and the query in it.

    Attributes:
        id: The space.
        collections: The collections that are searched in it.
        vector: The query, shape (dim,), unit length.
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

    @property
    def unrelated(self) -> Unrelated | None:
        """The similarity of unrelated texts to queries in this script; None if it was not measured."""
        if self.measured is None:
            return None
        return self.measured.unspaced if self.unspaced else self.measured.spaced


class Meaning(Struct, frozen=True):
    """The evidence of vectors about some chunks; see :class:`mdvec.search.candidates.Candidates`.

    All arrays have shape (n,) and are NaN for a chunk without a vector.
    """

    similarity: NDArray[np.float64]
    nearness: NDArray[np.float64]
    deviations: NDArray[np.float64]
    above_unrelated: NDArray[np.float64]
    commonness: NDArray[np.float64]


def find_by_meaning(
    spaces: Sequence[QuerySpace], view: View, *, where: Where, depth: int
) -> list[list[ChunkId]]:
    """Return for each space the chunks that may be among its ``depth`` nearest."""
    found: list[list[ChunkId]] = []
    for space in spaces:
        is_everywhere = set(space.collections) == set(where.collections)
        inside = where if is_everywhere else replace(where, collections=space.collections)
        with run.current().step("dense") as details:
            texts = view.vectors.nearest(VectorKind.TEXT, space.id, space.vector, inside, depth)
            most = depth // _DEPTH_PER_NAME
            names = view.vectors.nearest(VectorKind.NAME, space.id, space.vector, inside, most)
            documents = [document for document, _ in names]
            named = view.chunks.places_in(documents, inside, _CHUNKS_PER_NAME * most)
            details.update(texts=len(texts), named=len(named))
        found.append([*dict.fromkeys([*(chunk for chunk, _ in texts), *(place.id for place in named)])])
    return found


def measure_meaning(spaces: Sequence[QuerySpace], places: Sequence[ChunkPlace], view: View) -> Meaning:
    """Return how near chunks are to the query, each in the space of its collection.

    Args:
        spaces: The query in each space.
        places: The chunks.
        view: The snapshot.
    """
    import numpy as np

    found = Meaning(*(np.full(len(places), np.nan) for _ in Meaning.__struct_fields__))
    for space in spaces:
        own = [at for at, place in enumerate(places) if place.collection_id in space.collections]
        if own:
            with run.current().step("rescore", chunks=len(own)):
                here = _measure_in(space, [places[at] for at in own], view)
            for name in Meaning.__struct_fields__:
                getattr(found, name)[own] = getattr(here, name)
    return found


def _measure_in(
    space: QuerySpace,
    places: Sequence[ChunkPlace],
    view: View,
) -> Meaning:
    """Return how near chunks of a space are to the query, compared with its background."""
    import numpy as np

    ids, documents, _, _, unspaced, _, _, before, after = zip(*places, strict=True)
    other = np.array(unspaced, np.bool_) != space.unspaced
    unrelated = space.unrelated
    # Also the mean vector of unrelated passages.
    means = [] if unrelated is None else [np.frombuffer(unrelated.passages, "<f4")]
    queries = np.stack([space.vector, *means]).astype(np.float32)
    texts = view.vectors.similarities(VectorKind.TEXT, space.id, queries, [*ids, *before, *after])
    texts = texts.reshape(len(queries), 3, len(ids))
    names = view.vectors.similarities(VectorKind.NAME, space.id, queries[:1], documents)[0]
    similarity, near = texts[0, 0], _nearness(texts[0], names)
    above = commonness = np.full(len(ids), np.nan)
    if unrelated is not None:
        above = (near - unrelated.mean) / unrelated.spread
        commonness = (texts[1, 0] - unrelated.mean) / unrelated.spread
        if (across := other & ~np.isnan(near)).any():
            # Only the difference from the mean is subtracted, so that other-language chunks are on average as
            # near as before: chunks in the query's language are compared with them.
            common = texts[1, 0, across]
            near[across] -= ORDINARY_SHARE * (common - common.mean())
    mean, spread = _background(space, view)
    deviations = (near - mean) / spread if spread > _MIN_SPREAD else np.where(np.isnan(near), np.nan, 0.0)
    return Meaning(similarity, near, deviations, above, commonness)


def _nearness(texts: NDArray[np.float64], names: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearness of chunks, with names and neighbours counted in, shape (n,).

    Args:
        texts: Similarities of the chunks' texts, and of those of the chunks before and after each, shape
            (3, n); NaN where there is none.
        names: Similarities of the nearest names of their documents, shape (n,); NaN where there is none.
    """
    import numpy as np

    own, *beside = np.fmax(texts, (1 - NAME_SHARE) * texts + NAME_SHARE * names)
    count = np.count_nonzero(~np.isnan(beside), axis=0)
    # A chunk without neighbours keeps its own value.
    mean = np.divide(np.nansum(beside, axis=0), count, out=own.copy(), where=count > 0)
    near: NDArray[np.float64] = (own + NEIGHBOUR_SHARE * mean) / (1 + NEIGHBOUR_SHARE)
    return near


def _background(space: QuerySpace, view: View) -> tuple[float, float]:
    """Return mean and spread of the similarity of the query and the chunks of a space in its language.

    The chunks of all collections count together: one on the subject of the query is near to it as a whole,
    and must not be measured by itself. Chunks in the other language are further away, whatever they are
    about: with them the spread would be larger, and every deviation smaller.

    Args:
        space: The space.
        view: The snapshot.
    """
    import numpy as np

    sample = view.vectors.sample(space.id, SAMPLE_CHUNKS)
    inside = [place for place in sample if place.collection_id in space.collections]
    alike = [place for place in inside if place.unspaced == space.unspaced]
    chosen = next((each for each in (alike, inside) if len(each) >= _MIN_SAMPLE), sample)
    ids = [place.id for place in chosen]
    near = view.vectors.similarities(VectorKind.TEXT, space.id, space.vector[np.newaxis], ids)[0]
    near = near[~np.isnan(near)]
    mean, spread = (float(near.mean()), float(near.std())) if len(near) else (0.0, 0.0)
    if space.unrelated is None:
        return mean, spread
    different = min(1.0, len(sample) / min(space.chunks, SAMPLE_CHUNKS))  # like texts count once
    known = different * space.chunks / (different * space.chunks + UNRELATED_CHUNKS)
    least = _LEAST_SPREAD * space.unrelated.spread
    return (
        known * mean + (1 - known) * space.unrelated.mean,
        max(least, known * spread + (1 - known) * space.unrelated.spread),
    )
