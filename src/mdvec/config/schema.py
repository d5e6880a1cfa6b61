"""Every setting, with its default and its limits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field
from msgspec.structs import asdict

from mdvec.run import LogLevel
from mdvec.settings import (
    LARGEST_NUMBER,
    PRIVATE,
    TRUSTING,
    ChunkTokens,
    Count,
    Levels,
    Minutes,
    Name,
    Overlap,
    OwnFolder,
    Seconds,
    SettingsSection,
    StoreLocation,
    VectorIndexLocation,
    set_only,
    settings_kind,
)
from mdvec.types.query import MIN_SCORE, Expansion, SearchMode

Limit = Annotated[int, Meta(ge=1, le=1000, description="a whole number from 1 to 1000")]
Milliseconds = Annotated[int, Meta(ge=0, le=60_000, description="a whole number from 0 to 60000")]
LogFile = Annotated[Path, Meta(description="a path", extra={TRUSTING: "it is written to"})]
Megabytes = Annotated[float, Meta(gt=0, le=LARGEST_NUMBER, description="a number above 0")]
Share = Annotated[float, Meta(ge=0, le=1, description="a number from 0 to 1")]
Similarity = Annotated[float, Meta(ge=-1, le=1, description="a number from -1 to 1")]
Day = Annotated[str, Meta(pattern=r"^\d{4}-\d{2}-\d{2}$", description="a day such as '2026-05-01'")]
Prices = Annotated[
    dict[str, Annotated[float, Meta(ge=0)]], Meta(description="a table of models and numbers of at least 0")
]
Patterns = Annotated[
    tuple[Annotated[str, Meta(min_length=1)], ...], Meta(description="a list of patterns such as 'drafts/'")
]
LinkPaths = Annotated[
    tuple[Annotated[str, Meta(min_length=1)], ...],
    Meta(
        description="a list of paths of links, such as 'shared'",
        extra={TRUSTING: "reads files outside the folder"},
    ),
]
AnswerTokens = Annotated[int, Meta(ge=500, description="a whole number of at least 500")]
FolderNames = Annotated[
    tuple[Annotated[str, Meta(pattern=r"^[^/]+/?$")], ...], Meta(description="a list of folder names")
]
RerankerSpec = Annotated[
    str,
    Meta(
        pattern=r"^[a-z][a-z0-9_-]*(:.+)?$",
        description="PROVIDER or PROVIDER:MODEL of a reranker, such as 'voyage:rerank-2.5'",
        extra={TRUSTING: "queries and passages are sent there"},
    ),
]
Reranked = Annotated[int, Meta(ge=2, le=100, description="a whole number from 2 to 100")]
YesOrNo = Annotated[bool, Meta(description="true or false")]
Extensions = Annotated[
    tuple[Annotated[str, Meta(pattern=r"^\.?[^./\\]+$")], ...],
    Meta(description="a list of file extensions such as '.md'"),
]

EditorAddress = Annotated[
    str,
    Meta(
        pattern=r"^[a-z][a-z0-9+.-]*:[^\x00-\x20\x7f]*\{file\}[^\x00-\x20\x7f]*$",
        description="an address such as 'vscode://file{file}:{line}'",
        extra={TRUSTING: "a click on a hit opens it"},
    ),
]


class AccessToken(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[[access.tokens]]``: a token for the server over HTTP that may read some collections.

    Attributes:
        hash: SHA-256 of the token, in hexadecimal; the token itself is not stored.
        collections: Names of the collections.
    """

    hash: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]
    collections: Annotated[tuple[Annotated[str, Meta(min_length=1)], ...], Meta(min_length=1)]


AccessTokens = Annotated[
    tuple[AccessToken, ...],
    Meta(
        description="a list of tables with hash (64 digits 0-9 and a-f) and collections (a list of names), as"
        " 'mdvec token new' prints them",
        extra={TRUSTING: "it lets others read your documents", PRIVATE: True},
    ),
]

EXTENDED_SECTIONS = {
    "store": ("stores", "vector_indexes"),
    "sources": ("sources",),
    "chunking": ("chunking",),
    "embedding": ("embedding",),
    "rerank": ("rerankers",),
}
"""Sections that have a table for each extension (``[embedding.NAME]``), and the stages these belong to."""

NO_SETTINGS = frozenset({"extension_sections", "from_environment", "warnings"})
"""Fields of :class:`Config` that are neither a section nor a setting."""


class StoreSettings(SettingsSection, frozen=True, kw_only=True):
    """``[store]``.

    Attributes:
        location: The index: a file, or the address of a database; None for the user's data directory.
        vectors: Where vectors are searched instead, ``NAME[:PLACE]``; None for the store itself.
    """

    location: StoreLocation | None = None
    vectors: VectorIndexLocation | None = None


class ChunkingSettings(SettingsSection, frozen=True, kw_only=True):
    """``[chunking]``: how documents are cut when a collection does not say.

    Attributes:
        strategy: Name of the chunker.
        max_tokens: Largest chunk, in tokens of the embedder; None for the chunker's own limit.
        min_tokens: Smaller neighbours are merged; None for the chunker's own limit.
        overlap_tokens: Tokens repeated between the parts of one large section; None for the
            chunker's own number.
        max_chars: Largest chunk, in characters; None for the chunker's own limit.
        min_chars: Smaller neighbours are merged; None for the chunker's own limit.
        levels: Levels of headings to split at; None for the chunker's own choice.
    """

    strategy: Name = "sections"
    max_tokens: ChunkTokens | None = None
    min_tokens: Overlap | None = None
    overlap_tokens: Overlap | None = None
    max_chars: Count | None = None
    min_chars: Overlap | None = None
    levels: Levels | None = None


class EmbeddingSettings(SettingsSection, frozen=True, kw_only=True):
    """``[embedding]``: which model makes the vectors.

    Attributes:
        provider: Name of the embedder.
        model: Name, hub id or folder of the model; None for the provider's own choice.
        dimension: Length of the vectors; None for the model's own.
        threads: Processor threads it may use; None for all cores available.
        batch_tokens: Tokens in one batch of a thread; more takes more memory and is no faster.
        cache_dir: Where files are that can be made again; None for the user's cache directory.
        auto_unload_minutes: A server frees the memory of a model that was not used for so long, and loads it
            again when it is needed; 0 for never.
        memory_threshold: When more than this share of the machine's memory is in use, a minute is long
            enough; 1 for never.
    """

    provider: Name = "builtin"
    model: Name | None = None
    dimension: Count | None = None
    threads: Count | None = None
    batch_tokens: Count = 128
    cache_dir: OwnFolder | None = None
    auto_unload_minutes: Minutes = 10.0
    memory_threshold: Share = 0.8


class SearchSettings(SettingsSection, frozen=True, kw_only=True):
    """``[search]``: the defaults of a search.

    Attributes:
        k: Most hits.
        mode: How hits are found.
        per_document: Most hits of one document; None for any number, where other documents come first.
        expand: How much text is returned around a hit.
        expand_tokens: Most tokens of text in all hits together that `expand` returns; it cuts no passage.
        max_tokens: Most tokens of text in all hits together; None for no limit.
        threshold: Smallest cosine similarity of a hit; None for no limit.
        min_score: Smallest score of a hit, 0 to 1; 0 for no limit.
        rerank: The model that orders the first passages again, ``PROVIDER[:MODEL]``; None for none.
        sync_budget_ms: How long a search may look for changed files and read them before it answers, in
            milliseconds, where nothing watches the folder; 0 to answer from the index as it is.
    """

    k: Limit = 5
    mode: SearchMode = SearchMode.HYBRID
    per_document: Count | None = None
    expand: Expansion = Expansion.PASSAGE
    expand_tokens: Count = 10_000
    max_tokens: Count | None = None
    threshold: Similarity | None = None
    min_score: Share = MIN_SCORE
    rerank: RerankerSpec | None = None
    sync_budget_ms: Milliseconds = 500


class RerankSettings(SettingsSection, frozen=True, kw_only=True):
    """``[rerank]``: how ``[search] rerank`` is used.

    Attributes:
        passages: How many passages it reads; a search sends no others.
        timeout_s: How long it may take, in seconds; then the hits stay as they are.
    """

    passages: Reranked = 30
    timeout_s: Seconds = 5.0


class WatchSettings(SettingsSection, frozen=True, kw_only=True):
    """``[watch]``: how a server keeps the index up to date.

    Attributes:
        enabled: Whether a server watches the sources of its collections.
        interval_s: How often a folder is looked at in which changes raise no file events, in seconds.
        repository_interval_s: How often a repository is looked at.
        concurrency: Most collections that are brought up to date at the same time.
    """

    enabled: bool = True
    interval_s: Seconds = 5.0
    repository_interval_s: Seconds = 300.0
    concurrency: Count = 3


class LogSettings(SettingsSection, frozen=True, kw_only=True):
    """``[log]``: what a server writes down.

    Attributes:
        level: The least that is worth a line; None for ``info`` in a server, and for nothing elsewhere.
        file: The file, which is rotated; None for standard error.
        format: How a line is written.
        queries: Whether queries are written down as they are, instead of their length and a hash.
    """

    level: LogLevel | None = None
    file: LogFile | None = None
    format: Literal["text", "json"] = "text"
    queries: bool = False


class DocumentSettings(SettingsSection, frozen=True, kw_only=True):
    """``[documents]``: how files are read.

    Attributes:
        versions: Whether ``previous`` in frontmatter names older versions, which are left out of results,
            with every chunker; False for ``vault`` alone.
        follow: Paths of symbolic links that are followed although they lead out of their folder.
    """

    versions: bool = False
    follow: LinkPaths = ()


class ScannerSettings(SettingsSection, frozen=True, kw_only=True):
    """``[scanner]``: which files of a folder are documents.

    Attributes:
        extensions: Extensions that are indexed, instead of the usual ones; None for those.
        exclude_dirs: Names of folders that are left out, instead of the usual ones; None for those.
        max_file_mb: Larger files are left out, in megabytes of 1,000,000 bytes.
        include: Globs of files to take, in collections that name none; all when empty.
        exclude: Globs of files to leave out, in addition to those of a collection.
        gitignore: Whether what ``.gitignore`` names is left out.
    """

    extensions: Extensions | None = None
    exclude_dirs: FolderNames | None = None
    max_file_mb: Megabytes = 10.0
    include: Patterns = ()
    exclude: Patterns = ()
    gitignore: YesOrNo = True


class PriceSettings(SettingsSection, frozen=True, kw_only=True):
    """``[prices]``: the prices of services, where they differ from what mdvec knows.

    Attributes:
        as_of: The day the prices below were looked up.
        usd_per_million_tokens: In US dollars, by ``PROVIDER:MODEL`` or ``MODEL``.
    """

    as_of: Day | None = None
    usd_per_million_tokens: Prices = field(default_factory=dict)


class DisplaySettings(SettingsSection, frozen=True, kw_only=True):
    """``[display]``: how results are printed.

    Attributes:
        default_format: Format of a command that is not given one.
        color: When matched words are coloured.
        editor: The address behind a hit on a terminal, with ``{file}`` and ``{line}``.
    """

    default_format: Literal["text", "table", "json", "jsonl", "md", "paths"] = "text"
    color: Literal["auto", "always", "never"] = "auto"
    editor: EditorAddress = "file://{file}"


class McpSettings(SettingsSection, frozen=True, kw_only=True):
    """``[mcp]``: what agents see.

    Attributes:
        collection_tools: Whether each collection is a tool of its own.
        max_tokens: Most tokens of an answer; clients cut longer ones, some without a word.
    """

    collection_tools: bool = True
    max_tokens: AnswerTokens = 10_000


class ServeSettings(SettingsSection, frozen=True, kw_only=True):
    """``[serve]``: how a server over HTTP works.

    Attributes:
        processes: Most searches that are answered at a time, each in a process; 1 for all in the server, None
            for as many as there are cores, up to four.
    """

    processes: Count | None = None


class AccessSettings(SettingsSection, frozen=True, kw_only=True):
    """``[access]``: who may read what over HTTP.

    Attributes:
        tokens: Tokens that may read some collections; the server's own token may do everything.
    """

    tokens: AccessTokens = ()


class Config(SettingsSection, frozen=True, kw_only=True):
    """All settings. ``Config()`` is what holds when nothing is configured.

    Attributes:
        store: Where the index is.
        chunking: How documents are cut.
        embedding: Which model makes the vectors.
        search: The defaults of a search.
        rerank: How a reranker is used.
        watch: How a server keeps the index up to date.
        log: What a server writes down.
        scanner: Which files are documents.
        documents: How files are read.
        prices: The prices of services.
        display: How results are printed.
        mcp: What agents see.
        serve: How a server over HTTP works.
        access: Who may read what over HTTP.
        extension_sections: The sections of extensions that are set, by name (see :func:`section_of`).
        from_environment: Dotted names of what environment variables set: it also beats what a collection
            was registered with.
        warnings: What another program's file sets to no effect; answers repeat them.
    """

    store: StoreSettings = field(default_factory=StoreSettings)
    chunking: ChunkingSettings = field(default_factory=ChunkingSettings)
    embedding: EmbeddingSettings = field(default_factory=EmbeddingSettings)
    search: SearchSettings = field(default_factory=SearchSettings)
    rerank: RerankSettings = field(default_factory=RerankSettings)
    watch: WatchSettings = field(default_factory=WatchSettings)
    log: LogSettings = field(default_factory=LogSettings)
    scanner: ScannerSettings = field(default_factory=ScannerSettings)
    documents: DocumentSettings = field(default_factory=DocumentSettings)
    prices: PriceSettings = field(default_factory=PriceSettings)
    display: DisplaySettings = field(default_factory=DisplaySettings)
    mcp: McpSettings = field(default_factory=McpSettings)
    serve: ServeSettings = field(default_factory=ServeSettings)
    access: AccessSettings = field(default_factory=AccessSettings)
    extension_sections: Mapping[str, Struct] = field(default_factory=dict)
    from_environment: frozenset[str] = frozenset()
    warnings: tuple[str, ...] = ()

    def arguments(self, stage: str, name: str, factory: object) -> dict[str, Any]:
        """Return the settings that the factory of an extension declares, as its keyword arguments."""
        section = self.extension_sections.get(section_of(stage, name))
        return set_only(**asdict(settings_kind(factory)() if section is None else section))


def section_of(stage: str, name: str) -> str:
    """Return the section of an extension, such as ``embedding.openai``, ``store.postgres`` or ``github``."""
    if stage == "sources" and name not in Config.__struct_fields__:
        return name
    return f"{next(section for section, stages in EXTENDED_SECTIONS.items() if stage in stages)}.{name}"
