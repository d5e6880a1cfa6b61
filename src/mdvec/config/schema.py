"""Every setting, with its default and its limits."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct, field

from mdvec.model.query import Expansion, SearchMode

# The description is what an error message says is allowed.
Count = Annotated[int, Meta(ge=1, description="a whole number of at least 1")]
Overlap = Annotated[int, Meta(ge=0, description="a whole number of at least 0")]
Limit = Annotated[int, Meta(ge=1, le=1000, description="a whole number from 1 to 1000")]
# Under 8 tokens a chunk is a few characters of Japanese: no unit of meaning.
ChunkTokens = Annotated[int, Meta(ge=8, description="a whole number of at least 8")]
Minutes = Annotated[float, Meta(ge=0, description="a number of at least 0")]
Megabytes = Annotated[float, Meta(gt=0, description="a number above 0")]
Similarity = Annotated[float, Meta(ge=-1, le=1, description="a number from -1 to 1")]
Name = Annotated[str, Meta(min_length=1, description="a name")]
FolderNames = Annotated[
    tuple[Annotated[str, Meta(pattern=r"^[^/]+/?$")], ...], Meta(description="a list of folder names")
]
Extensions = Annotated[
    tuple[Annotated[str, Meta(pattern=r"^\.?[^./\\]+$")], ...],
    Meta(description="a list of file extensions such as '.md'"),
]


class DisplayFormat(StrEnum):
    """How results are printed when a command is not told.

    ``text`` and ``table`` are the same: what people read. ``jsonl``, ``md`` and ``paths`` are formats
    of ``search``; other commands print for people then.
    """

    TEXT = "text"
    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"
    MD = "md"
    PATHS = "paths"


class Color(StrEnum):
    """When matched words are coloured."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class Section(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the configuration."""


class DatabaseSettings(Section, frozen=True, kw_only=True):
    """``[database]``.

    Attributes:
        path: The index; None for the user's data directory.
    """

    path: Path | None = None


class ChunkingSettings(Section, frozen=True, kw_only=True):
    """``[chunking]``: how documents are cut when a collection does not say.

    Attributes:
        strategy: Name of the chunker.
        max_tokens: Largest chunk, in tokens of the embedder; None for the chunker's own limit.
        min_tokens: Smaller neighbours are merged; None for the chunker's own limit.
        overlap_tokens: Tokens repeated between the parts of one large section; None for the
            chunker's own number.
    """

    strategy: Name = "sections"
    max_tokens: ChunkTokens | None = None
    min_tokens: Overlap | None = None
    overlap_tokens: Overlap | None = None


class EmbeddingSettings(Section, frozen=True, kw_only=True):
    """``[embedding]``: which model makes the vectors.

    Attributes:
        provider: Name of the embedder.
        threads: Processor threads it may use; None for all cores available.
        batch_tokens: Tokens in one batch of a thread; more takes more memory and is no faster.
        cache_dir: Where the built model is kept; None for the user's cache directory.
        auto_unload_minutes: A server frees the memory of a model that was not used for so long, and loads it
            again when it is needed; 0 for never.
    """

    provider: Name = "builtin"
    threads: Count | None = None
    batch_tokens: Count = 128
    cache_dir: Path | None = None
    auto_unload_minutes: Minutes = 10.0


class SearchSettings(Section, frozen=True, kw_only=True):
    """``[search]``: what a search does when it is not told.

    Attributes:
        k: Most hits.
        mode: How hits are found.
        per_document: Most hits of one document.
        expand: How much text is returned around a hit.
        max_tokens: Most tokens of text in all hits together; None for no limit.
        threshold: Smallest cosine similarity of a hit; None for no limit.
    """

    k: Limit = 5
    mode: SearchMode = SearchMode.HYBRID
    per_document: Count = 1
    expand: Expansion = Expansion.CHUNK
    max_tokens: Count | None = None
    threshold: Similarity | None = None


class ScannerSettings(Section, frozen=True, kw_only=True):
    """``[scanner]``: which files of a folder are documents.

    Attributes:
        extensions: Extensions that are indexed, instead of the usual ones; None for those.
        exclude_dirs: Names of folders that are left out, instead of the usual ones; None for those.
        max_file_mb: Larger files are left out, in megabytes of 1,000,000 bytes.
    """

    extensions: Extensions | None = None
    exclude_dirs: FolderNames | None = None
    max_file_mb: Megabytes = 10.0


class DisplaySettings(Section, frozen=True, kw_only=True):
    """``[display]``: how results are printed.

    Attributes:
        default_format: Format of a command that is not given one.
        color: When matched words are coloured.
    """

    default_format: DisplayFormat = DisplayFormat.TEXT
    color: Color = Color.AUTO


class McpSettings(Section, frozen=True, kw_only=True):
    """``[mcp]``: what agents see.

    Attributes:
        collection_tools: Whether each collection is a tool of its own.
    """

    collection_tools: bool = True


class Config(Section, frozen=True, kw_only=True):
    """All settings. ``Config()`` is what holds when nothing is configured.

    Attributes:
        database: Where the index is.
        chunking: How documents are cut.
        embedding: Which model makes the vectors.
        search: What a search does when it is not told.
        scanner: Which files are documents.
        display: How results are printed.
        mcp: What agents see.
    """

    database: DatabaseSettings = field(default_factory=DatabaseSettings)
    chunking: ChunkingSettings = field(default_factory=ChunkingSettings)
    embedding: EmbeddingSettings = field(default_factory=EmbeddingSettings)
    search: SearchSettings = field(default_factory=SearchSettings)
    scanner: ScannerSettings = field(default_factory=ScannerSettings)
    display: DisplaySettings = field(default_factory=DisplaySettings)
    mcp: McpSettings = field(default_factory=McpSettings)
