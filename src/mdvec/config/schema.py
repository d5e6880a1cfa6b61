"""Every setting, with its default and its limits."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct, field

from mdvec.types.query import Expansion, SearchMode

# The description is what an error message says is allowed.
Count = Annotated[int, Meta(ge=1, description="a whole number of at least 1")]
Overlap = Annotated[int, Meta(ge=0, description="a whole number of at least 0")]
Limit = Annotated[int, Meta(ge=1, le=1000, description="a whole number from 1 to 1000")]
# Under 8 tokens a chunk is a few characters of Japanese: no unit of meaning.
ChunkTokens = Annotated[int, Meta(ge=8, description="a whole number of at least 8")]
Levels = Annotated[
    tuple[Annotated[int, Meta(ge=1, le=6)], ...],
    Meta(min_length=1, description="a list of levels of headings, from 1 to 6"),
]
Minutes = Annotated[float, Meta(ge=0, description="a number of at least 0")]
Megabytes = Annotated[float, Meta(gt=0, description="a number above 0")]
Share = Annotated[float, Meta(ge=0, le=1, description="a number from 0 to 1")]
Similarity = Annotated[float, Meta(ge=-1, le=1, description="a number from -1 to 1")]
Seconds = Annotated[float, Meta(gt=0, description="a number above 0")]
Name = Annotated[str, Meta(min_length=1, description="a name")]
Text = Annotated[str, Meta(description="a text")]
# Lower case is refused, so that a key written here by mistake is.
VariableName = Annotated[
    str,
    Meta(
        pattern=r"^[A-Z_][A-Z0-9_]*$",
        description="the name of an environment variable, in capitals (the key itself is not kept here)",
    ),
]
# Whoever sets these gets the user's keys, or runs code as the user: they are not taken from any file that
# lies around (see load).
TRUSTING = "trusting"
# Credentials do not belong into an address: it is shown.
Address = Annotated[
    str,
    Meta(
        pattern=r"^https?://[^\s/@?#]+(/[^\s@?#]*)?$",
        description="an address such as 'http://localhost:11434/v1', without user name, password or query",
        extra={TRUSTING: "whoever is there gets your key or token"},
    ),
]
Permission = Annotated[
    bool, Meta(description="true or false", extra={TRUSTING: "it lets code of others run as you"})
]
Day = Annotated[str, Meta(pattern=r"^\d{4}-\d{2}-\d{2}$", description="a day such as '2026-05-01'")]
Prices = Annotated[
    dict[str, Annotated[float, Meta(ge=0)]],
    Meta(description="a table of models and numbers of at least 0"),
]
Patterns = Annotated[
    tuple[Annotated[str, Meta(min_length=1)], ...], Meta(description="a list of patterns such as 'drafts/'")
]
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


class ServiceSettings(Section, frozen=True, kw_only=True):
    """What is set for every service that embeds; None leaves it to the provider.

    Attributes:
        api_key_env: The variable that holds the key.
        base_url: Where the service is.
        requests_at_once: Most requests under way at the same time.
        timeout_s: How long the service may be silent, in seconds.
        attempts: Most times a request is sent.
    """

    api_key_env: VariableName | None = None
    base_url: Address | None = None
    requests_at_once: Count = 4
    timeout_s: Seconds = 60.0
    attempts: Count = 6


class GeminiSettings(ServiceSettings, frozen=True, kw_only=True):
    """``[embedding.gemini]``: Google's Gemini API."""


class VoyageSettings(ServiceSettings, frozen=True, kw_only=True):
    """``[embedding.voyage]``: Voyage AI.

    Attributes:
        query_model: The model of questions, when it is another one than that of documents.
    """

    query_model: Name | None = None


class OpenAiSettings(ServiceSettings, frozen=True, kw_only=True):
    """``[embedding.openai]``: OpenAI and servers that speak its protocol.

    Attributes:
        timeout_s: As for the others, but a model may have to be loaded first.
        query_prefix: Put before questions.
        document_prefix: Put before passages.
        query_input_type: Sent as ``input_type`` with questions.
        document_input_type: Sent as ``input_type`` with passages.
        max_tokens: Most tokens of a text that the model reads; None for what is known of it.
        batch_size: Most texts of a request.
        batch_tokens: Most tokens of a request.
        send_dimensions: Whether the server is told the dimension; None for only if it has to be.
    """

    timeout_s: Seconds = 120.0
    query_prefix: Text = ""
    document_prefix: Text = ""
    query_input_type: Text = ""
    document_input_type: Text = ""
    max_tokens: Count | None = None
    batch_size: Count = 64
    batch_tokens: Count = 8192
    send_dimensions: bool | None = None


class LocalModelSettings(Section, frozen=True, kw_only=True):
    """What is set for every model that runs here; None leaves it to the provider.

    Attributes:
        device: What it runs on: ``auto``, ``cpu``, ``cuda``, ``cuda:1``, ``mps``.
        batch_size: Most texts in one batch.
        trust_remote_code: Whether Python code that comes with a model may run.
        revision: A branch, a tag or a commit of the model on the hub.
        hub_dir: Where models of the hub are kept; None for the cache that all programs of the user share.
        offline: Whether nothing is downloaded.
    """

    device: Name = "auto"
    batch_size: Count | None = None
    trust_remote_code: Permission = False
    revision: Name | None = None
    hub_dir: Path | None = None
    offline: bool = False


class SentenceTransformersSettings(LocalModelSettings, frozen=True, kw_only=True):
    """``[embedding.sentence-transformers]``: whatever that library loads, such as Ruri v3.

    Attributes:
        query_prefix: Put before questions; None for what the model wants.
        document_prefix: Put before passages; None for what the model wants.
    """

    query_prefix: Text | None = None
    document_prefix: Text | None = None


class PlamoSettings(LocalModelSettings, frozen=True, kw_only=True):
    """``[embedding.plamo]``: PLaMo-Embedding, which brings its own code."""


class EmbeddingSettings(
    Section, frozen=True, kw_only=True, rename={"sentence_transformers": "sentence-transformers"}
):
    """``[embedding]``: which model makes the vectors.

    Attributes:
        provider: Name of the embedder.
        model: Name, hub id or folder of the model; None for the provider's own choice.
        dimension: Length of the vectors; None for the model's own.
        threads: Processor threads it may use; None for all cores available.
        batch_tokens: Tokens in one batch of a thread; more takes more memory and is no faster.
        cache_dir: Where the built model is kept; None for the user's cache directory.
        auto_unload_minutes: A server frees the memory of a model that was not used for so long, and loads it
            again when it is needed; 0 for never.
        memory_threshold: When more than this share of the machine's memory is in use, a minute is long
            enough; 1 for never.
        gemini: For the provider ``gemini``.
        voyage: For the provider ``voyage``.
        openai: For the provider ``openai``.
        sentence_transformers: For the provider ``sentence-transformers``.
        plamo: For the provider ``plamo``.
    """

    provider: Name = "builtin"
    model: Name | None = None
    dimension: Count | None = None
    threads: Count | None = None
    batch_tokens: Count = 128
    cache_dir: Path | None = None
    auto_unload_minutes: Minutes = 10.0
    memory_threshold: Share = 0.8
    gemini: GeminiSettings = field(default_factory=GeminiSettings)
    voyage: VoyageSettings = field(default_factory=VoyageSettings)
    openai: OpenAiSettings = field(default_factory=OpenAiSettings)
    sentence_transformers: SentenceTransformersSettings = field(default_factory=SentenceTransformersSettings)
    plamo: PlamoSettings = field(default_factory=PlamoSettings)


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


class GithubSettings(Section, frozen=True, kw_only=True):
    """``[github]``: how repositories on GitHub are read.

    Attributes:
        base_url: Where the REST interface is.
        token_env: The variable that holds the token.
        max_wait_minutes: A rate limit that holds for longer ends the import.
    """

    base_url: Address = "https://api.github.com"
    token_env: VariableName = "GITHUB_TOKEN"  # noqa: S105 - the name of a variable
    max_wait_minutes: Minutes = 15.0


class PriceSettings(Section, frozen=True, kw_only=True):
    """``[prices]``: what services ask, where it is not what mdvec knows.

    Attributes:
        as_of: The day the prices below were looked up.
        usd_per_million_tokens: In US dollars, by ``PROVIDER:MODEL`` or ``MODEL``.
    """

    as_of: Day | None = None
    usd_per_million_tokens: Prices = {}


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
        github: How repositories on GitHub are read.
        prices: What services ask.
        display: How results are printed.
        mcp: What agents see.
    """

    database: DatabaseSettings = field(default_factory=DatabaseSettings)
    chunking: ChunkingSettings = field(default_factory=ChunkingSettings)
    embedding: EmbeddingSettings = field(default_factory=EmbeddingSettings)
    search: SearchSettings = field(default_factory=SearchSettings)
    scanner: ScannerSettings = field(default_factory=ScannerSettings)
    github: GithubSettings = field(default_factory=GithubSettings)
    prices: PriceSettings = field(default_factory=PriceSettings)
    display: DisplaySettings = field(default_factory=DisplaySettings)
    mcp: McpSettings = field(default_factory=McpSettings)
