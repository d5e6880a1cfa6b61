"""Variants of the search: the parts of it that they may change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum

from msgspec import Struct, field
from msgspec.structs import replace

from benchmarks.ablations.index import Index, Vector
from mdvec.config.schema import ChunkingSettings
from mdvec.search import fusion
from mdvec.search.fusion import DenseEvidence, LexicalEvidence
from mdvec.search.proximity import QuerySpace
from mdvec.text.scripts import is_unspaced_query
from mdvec.types.ids import ChunkId
from mdvec.types.query import Where


class Stage(StrEnum):
    """The first stage that a variant changes; it is done again, and so is all that follows."""

    INDEXING = "indexing"
    FINDING = "finding"
    FUSING = "fusing"


class Evidence(Struct, frozen=True):
    """The evidence of both sides for one question, and what the real fusion is told beside it.

    Attributes:
        lexical: Of words.
        dense: Of vectors.
        repetitions: How often each candidate's text is repeated.
        revise: Adds what candidates say of each other.
    """

    lexical: LexicalEvidence
    dense: DenseEvidence
    repetitions: Mapping[ChunkId, int] = field(default_factory=dict)
    revise: Callable[[fusion.Evidence], fusion.Evidence] = fusion.as_fused


class Query(Struct, frozen=True):
    """A question to be searched.

    Attributes:
        text: Its text.
        vector: The vector whose nearest chunks are searched.
        where: The chunks that count.
        index: The index to search.
    """

    text: str
    vector: Vector
    where: Where
    index: Index

    @property
    def space(self) -> QuerySpace:
        """The question in the one space of the index."""
        index = self.index
        return QuerySpace(
            id=index.space_id,
            collections=self.where.collections,
            vector=index.embed(self.text),
            measured=index.unrelated,
            chunks=len(index.chunks),
            unspaced=is_unspaced_query(self.text),
            ranked_by=self.vector,
        )


class Patch(Struct, frozen=True):
    """Another value for a name of the real code, for as long as :func:`applied` lasts.

    Attributes:
        owner: A module or class.
        name: A name that it has.
        value: Its replacement.
    """

    owner: object
    name: str
    value: object


def as_found(evidence: Evidence, _query: Query) -> Evidence:
    """Return the evidence unchanged."""
    return evidence


def as_embedded(query: Query) -> Vector:
    """Return the vector of the question unchanged."""
    return query.vector


def in_one_form(query: Query) -> Vector:
    """Return the vector of the question alone."""
    return query.index.embed(query.text)


def as_shipped(evidence: Evidence, _query: Query) -> list[ChunkId]:
    """Rank by the real fusion."""
    fused = fusion.fuse(
        evidence.lexical, evidence.dense, repetitions=evidence.repetitions, revise=evidence.revise
    )
    return [each.id for each in fused]


def without_likeness(evidence: Evidence, query: Query) -> Sequence[ChunkId]:
    """Rank by the real fusion, but candidates say nothing of each other."""
    return as_shipped(replace(evidence, revise=fusion.as_fused), query)


class Variant(Struct, frozen=True):
    """The search with one thing changed.

    Attributes:
        name: Its name in tables.
        change: The change, in a line.
        stage: The first stage that is changed.
        slow: Whether it embeds all documents again, which takes minutes to hours.
        patches: Values of the real code that are replaced.
        chunking: Settings that documents are cut with.
        aim: Returns the vector whose nearest chunks are searched.
        revise: Changes the evidence of both sides.
        rank: Orders chunks in hybrid mode.
    """

    name: str
    change: str
    stage: Stage
    slow: bool = False
    patches: tuple[Patch, ...] = ()
    chunking: ChunkingSettings = field(default_factory=ChunkingSettings)
    aim: Callable[[Query], Vector] = as_embedded
    revise: Callable[[Evidence, Query], Evidence] = as_found
    rank: Callable[[Evidence, Query], Sequence[ChunkId]] = as_shipped


SHIPPED = Variant("shipped", "the search as it is", Stage.FINDING)


@contextmanager
def applied(patches: Sequence[Patch]) -> Iterator[None]:
    """Replace values and put the old ones back afterwards.

    Raises:
        AttributeError: If an owner does not have the name: the code has moved on, and the variant has to.
    """
    old = [(patch, getattr(patch.owner, patch.name)) for patch in patches]
    try:
        for patch in patches:
            setattr(patch.owner, patch.name, patch.value)
        yield
    finally:
        for patch, value in old:
            setattr(patch.owner, patch.name, value)
