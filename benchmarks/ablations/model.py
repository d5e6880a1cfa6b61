"""What a variant of the search is, and what it may change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum

from benchmarks.ablations.index import Index, Vector
from mdvec.config.schema import ChunkingSettings
from mdvec.search import fusion
from mdvec.search.fusion import DenseEvidence, LexicalEvidence
from mdvec.types.ids import ChunkId
from mdvec.types.query import Scope


class Stage(StrEnum):
    """The first stage that a variant changes; it is done again, and so is all that follows."""

    INDEXING = "indexing"
    FINDING = "finding"
    FUSING = "fusing"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What both sides know of one question; ``dense`` has the similarities of all candidates."""

    lexical: LexicalEvidence
    dense: DenseEvidence


@dataclass(frozen=True, slots=True)
class Asked:
    """A question on its way.

    Attributes:
        text: What is asked.
        vector: With what the nearest chunks were looked for.
        scope: Where to look.
        index: What is asked.
    """

    text: str
    vector: Vector
    scope: Scope
    index: Index


@dataclass(frozen=True, slots=True)
class Patch:
    """Another value for a name of the real code, for as long as :func:`applied` lasts.

    Attributes:
        owner: A module or class.
        name: A name that it has.
        value: What stands for it.
    """

    owner: object
    name: str
    value: object


def as_found(evidence: Evidence, _asked: Asked) -> Evidence:
    """Return what was found as it is."""
    return evidence


def as_asked(asked: Asked) -> Vector:
    """Return the vector of the question as it is."""
    return asked.vector


def as_shipped(evidence: Evidence, _asked: Asked) -> list[ChunkId]:
    """Rank by the real fusion."""
    return [each.id for each in fusion.fuse(evidence.lexical, evidence.dense)]


@dataclass(frozen=True, slots=True)
class Variant:
    """The search with one thing changed.

    Attributes:
        name: What it is called in tables.
        change: What is changed, in a line.
        stage: The first stage that is changed.
        slow: Whether it embeds all documents again, which takes minutes to hours.
        patches: Values of the real code that are replaced.
        chunking: Settings with which documents are cut.
        aim: Says with which vector the nearest chunks are looked for.
        revise: Changes what both sides found.
        rank: Orders chunks in hybrid mode.
    """

    name: str
    change: str
    stage: Stage
    slow: bool = False
    patches: tuple[Patch, ...] = ()
    chunking: ChunkingSettings = field(default_factory=ChunkingSettings)
    aim: Callable[[Asked], Vector] = as_asked
    revise: Callable[[Evidence, Asked], Evidence] = as_found
    rank: Callable[[Evidence, Asked], Sequence[ChunkId]] = as_shipped


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
