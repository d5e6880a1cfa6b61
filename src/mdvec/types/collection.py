"""A collection: a named source of documents, and how they are cut and embedded."""

from __future__ import annotations

import re

from msgspec import Struct, field

from mdvec.errors import InvalidNameError, UsageError
from mdvec.types.folder_context import FolderContext
from mdvec.types.ids import CollectionId

DEFAULT_SOURCE = "folder"
"""The source of a location that names no other."""

DOCS_COLLECTION = "docs"
"""Name of the one collection of a folder that is used without registering it."""

RESERVED_NAMES = frozenset(
    {"search", "search_docs", "get_doc", "list_docs", "get_outline", "list_tags", "reindex", "status"}
)
"""Tools that every MCP client sees; a collection's own tool is named like the collection."""

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")
# Names of models hold colons (tags), slashes (hub ids, paths) and at signs; only digits at the very end are
# a dimension.
_SPEC = re.compile(r"(?P<provider>[^\s:@/]+)(?::(?P<model>\S(?:.*?\S)??))?(?:@(?P<dimension>[1-9]\d{0,5}))?")


class SourceSpec(Struct, frozen=True):
    """The source of a collection's documents.

    Attributes:
        kind: Name of the source adapter, such as ``folder``.
        location: What the adapter opens, as its ``parse`` returned it; of a folder, the absolute path. It
            holds no password.
        include: Globs; when set, only files matching one of them are taken.
        exclude: Globs; files matching one of them are left out.
    """

    kind: str
    location: str
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the place as users write it for ``mdvec tool add -s``.

        An address, which has a colon before its first slash, is joined to the source's name with ``+``.
        """
        if self.kind == DEFAULT_SOURCE:
            return self.location
        joint = "+" if ":" in self.location.partition("/")[0] else ":"
        return f"{self.kind}{joint}{self.location}"


class ChunkingSpec(Struct, frozen=True):
    """The settings by which a collection's documents are cut.

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


class EmbeddingSpec(Struct, frozen=True):
    """The model that makes a collection's vectors, written ``PROVIDER[:MODEL][@DIMENSION]``.

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


class SearchDefaults(Struct, frozen=True):
    """Defaults for searches of one collection alone; None leaves them to the configuration.

    Attributes:
        limit: Most hits.
        threshold: Minimum cosine similarity of a hit.
        per_document: Most hits of one document.
    """

    limit: int | None = None
    threshold: float | None = None
    per_document: int | None = None


class Boilerplate(Struct, frozen=True):
    """The lines that documents of a collection repeat, by their keys (see :mod:`mdvec.text.boilerplate`).

    Attributes:
        documents: How many documents there were when they were learned.
        lines: Those of most documents, which are not embedded.
        frequent: Those of many documents, which no excerpt shows if it has anything else.
    """

    documents: int = 0
    lines: tuple[str, ...] = ()
    frequent: tuple[str, ...] = ()


class Collection(Struct, frozen=True):
    """A named, searchable set of documents.

    Attributes:
        id: Row of the catalog.
        name: Unique; ``[a-z][a-z0-9_-]{0,63}``.
        description: Written for the language model that chooses where to search.
        source: Where the documents come from.
        chunking: How they are cut.
        preset: Name of the preset it was made from.
        embedding: The model of its vectors; None until it is first embedded, by the model configured then.
        next_embedding: The model that replaces ``embedding`` once all its vectors are made.
        search: Defaults for searches of it alone.
        folder_contexts: What its folders hold, as far as it was set or they say it.
        boilerplate: The lines that its documents repeat.
        revision: Revision last imported, where the source has revisions, such as a commit; else empty.
        checked_up_to: The last file that the last import looked at though it looked unchanged.
        enabled: Disabled collections stay but are not searched unless named.
        last_indexed_ms: When an import last had all documents up to date (vectors may still have been
            pending), in milliseconds since 1970; None before that.
        created_ms: When it was registered, likewise; None if that is not known.
        updated_ms: When what is registered last changed, likewise.
        app_version: The version of mdvec that registered it, or last changed that; empty if not known.
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
    folder_contexts: tuple[FolderContext, ...] = ()
    boilerplate: Boilerplate = field(default_factory=Boilerplate)
    revision: str = ""
    checked_up_to: str = ""
    enabled: bool = True
    last_indexed_ms: int | None = None
    created_ms: int | None = None
    updated_ms: int | None = None
    app_version: str = ""


def parse_embedding_spec(text: str) -> EmbeddingSpec:
    """Read ``PROVIDER[:MODEL][@DIMENSION]``, such as ``gemini``, ``openai:bge-m3:latest`` or ``voyage@512``.

    Raises:
        UsageError: If it is not of that form. The model need not exist.
    """
    found = _SPEC.fullmatch(text.strip())
    if found is None:
        msg = f"not a model: {text!r}"
        raise UsageError(
            msg, hint="Write PROVIDER[:MODEL][@DIMENSION], such as gemini or voyage:voyage-4-lite@512."
        )
    dimension = found["dimension"]
    return EmbeddingSpec(found["provider"], found["model"] or "", int(dimension) if dimension else None)


def check_collection_name(name: str) -> None:
    """Raise if a text cannot be the name of a collection (and of an MCP tool).

    Raises:
        InvalidNameError: If it is not one, or that of a general tool; the message repeats the name.
    """
    if not _NAME.fullmatch(name):
        msg = f"{name!r} cannot be a name: it starts with a-z and holds only a-z, 0-9, - and _ (64 at most)"
        raise InvalidNameError(msg)
    if name in RESERVED_NAMES:
        msg = f"{name!r} cannot be a name: agents have a tool of that name already"
        raise InvalidNameError(msg, hint=f"Choose another name, such as 'my-{name.replace('_', '-')}'.")
