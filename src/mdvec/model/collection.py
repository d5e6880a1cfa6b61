"""A collection: a named source with how to cut and embed it (seed C calls it a tool)."""

from __future__ import annotations

from dataclasses import dataclass, field

from mdvec.model.ids import CollectionId


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """Where a collection's documents come from.

    Attributes:
        kind: Name of the source adapter, such as ``folder``.
        location: What the adapter opens; an absolute path for ``folder``.
        include: Globs; when given, only files matching one of them are taken.
        exclude: Globs; files matching one of them are left out.
    """

    kind: str
    location: str
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChunkingSpec:
    """How a collection's documents are cut.

    Attributes:
        strategy: Name of the chunker, such as ``sections``.
        max_tokens: Largest chunk, in tokens of the embedder; None for the default.
        overlap_tokens: Tokens repeated between the parts of one large section; None for the default.
    """

    strategy: str = "sections"
    max_tokens: int | None = None
    overlap_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Collection:
    """A named, searchable set of documents.

    Attributes:
        id: Row of the catalog.
        name: Unique; ``[a-z][a-z0-9_-]{0,63}``.
        description: Written for the language model that chooses where to search.
        source: Where the documents come from.
        chunking: How they are cut.
        enabled: Disabled collections are kept but not searched unless named.
        last_indexed_ms: When an import last had all documents up to date (vectors may still have been
            pending), in milliseconds since 1970; None before that.
    """

    id: CollectionId
    name: str
    description: str
    source: SourceSpec
    chunking: ChunkingSpec = field(default_factory=ChunkingSpec)
    enabled: bool = True
    last_indexed_ms: int | None = None
