"""A collection: a named source with how to cut and embed it (seed C calls it a tool)."""

from __future__ import annotations

from dataclasses import dataclass, field

from mdvec.types.ids import CollectionId

DEFAULT_SOURCE = "folder"
"""The source of a location that names no other."""


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """Where a collection's documents come from.

    Attributes:
        kind: Name of the source adapter, such as ``folder``.
        location: What the adapter opens, as its ``parse`` returned it; of a folder, the absolute path. It
            holds no password.
        include: Globs; when given, only files matching one of them are taken.
        exclude: Globs; files matching one of them are left out.
    """

    kind: str
    location: str
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Write the place as a user gives it to ``mdvec tool add -s``.

        An address, which has a colon before its first slash, is joined to the source's name with ``+``.
        """
        if self.kind == DEFAULT_SOURCE:
            return self.location
        joint = "+" if ":" in self.location.partition("/")[0] else ":"
        return f"{self.kind}{joint}{self.location}"


@dataclass(frozen=True, slots=True)
class ChunkingSpec:
    """How a collection's documents are cut.

    Attributes:
        strategy: Name of the chunker, such as ``sections``.
        max_tokens: Largest chunk, in tokens of the embedder.
        min_tokens: Smaller neighbours are merged.
        overlap_tokens: Tokens that neighbouring chunks share.
        max_chars: Largest chunk, in characters.
        min_chars: Smaller neighbours are merged.
        levels: Levels of headings to split at.

    None leaves a setting to the configuration, then to the chunker. A chunker refuses those it does not know.
    """

    strategy: str = "sections"
    max_tokens: int | None = None
    min_tokens: int | None = None
    overlap_tokens: int | None = None
    max_chars: int | None = None
    min_chars: int | None = None
    levels: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class EmbeddingSpec:
    """Which model makes a collection's vectors, written ``PROVIDER[:MODEL][@DIMENSION]``.

    Attributes:
        provider: Name of the embedder, such as ``builtin``.
        model: Name, hub id or folder of the model; empty for the provider's own choice.
        dimension: Length of the vectors; None for the model's own.
    """

    provider: str = "builtin"
    model: str = ""
    dimension: int | None = None

    def __str__(self) -> str:
        model = f":{self.model}" if self.model else ""
        return f"{self.provider}{model}" + (f"@{self.dimension}" if self.dimension else "")


@dataclass(frozen=True, slots=True)
class SearchDefaults:
    """What a search of one collection alone does when it is not told; None leaves it to the configuration.

    Attributes:
        limit: Most hits.
        threshold: Smallest cosine similarity of a hit.
    """

    limit: int | None = None
    threshold: float | None = None


@dataclass(frozen=True, slots=True)
class Collection:
    """A named, searchable set of documents.

    Attributes:
        id: Row of the catalog.
        name: Unique; ``[a-z][a-z0-9_-]{0,63}``.
        description: Written for the language model that chooses where to search.
        source: Where the documents come from.
        chunking: How they are cut.
        preset: Name of the preset it was made from.
        embedding: What makes its vectors; None until it is first embedded, by what is configured then.
        next_embedding: What is to make them once all are made; ``embedding`` is searched until then.
        search: What a search of it does when it is not told.
        revision: What was last imported, where the source has revisions, such as a commit; else empty.
        enabled: Disabled collections are kept but not searched unless named.
        last_indexed_ms: When an import last had all documents up to date (vectors may still have been
            pending), in milliseconds since 1970; None before that.
    """

    id: CollectionId
    name: str
    description: str
    source: SourceSpec
    chunking: ChunkingSpec = field(default_factory=ChunkingSpec)
    preset: str = ""
    embedding: EmbeddingSpec | None = None
    next_embedding: EmbeddingSpec | None = None
    search: SearchDefaults = field(default_factory=SearchDefaults)
    revision: str = ""
    enabled: bool = True
    last_indexed_ms: int | None = None
