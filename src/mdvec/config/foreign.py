"""Configurations of other programs: what each of their settings is called here, or why there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from mdvec.config.paths import SEARCH_DOCS_NAMES, folder_of
from mdvec.config.syntax import ConfigFile, KeyPath, read_config
from mdvec.config.validation import Place, Setting, dotted
from mdvec.errors import ConfigError

SHARED_NAMES = ("config.yaml", "config.toml")
"""Files whose contents have to say whether they are for documents: other programs have such names, too."""

_MS_PER_S = 1000


class Renamed(Struct, frozen=True):
    """A setting that mdvec has, too.

    Attributes:
        section: Its section here.
        key: Its name here.
        convert: Makes its value here.
        also: Further settings that it implies.
    """

    section: str
    key: str
    convert: Callable[[object], object] = lambda value: value
    also: Mapping[Place, object] | None = None


class Translated(Struct, frozen=True):
    """A setting of another program, and what it becomes here.

    Attributes:
        name: Its dotted name in the file.
        value: As written.
        origin: Where it was written.
        place: Section and key here; None when it has none.
        set_to: Its value here.
        reason: Why it has none; empty when it is not known.
    """

    name: str
    value: object
    origin: str
    place: Place | None = None
    set_to: object = None
    reason: str = ""

    def __str__(self) -> str:
        if self.place is not None:
            return f"{self.name} is {dotted(*self.place)} = {self.set_to!r}"
        return f"{self.name} is left out: {self.reason}" if self.reason else f"unknown setting {self.name}"


def _seconds(value: object) -> object:
    return value / _MS_PER_S if isinstance(value, int | float) and not isinstance(value, bool) else value


def _levels(value: object) -> object:
    return [*range(1, value + 1)] if isinstance(value, int) and 1 <= value <= len("######") else value


def _not(value: object) -> object:
    return not value if isinstance(value, bool) else value


def _and_first(value: object) -> object:
    return value + 1 if isinstance(value, int) and not isinstance(value, bool) else value


_HNSW = 'vectors are searched exactly; with [store] vectors = "chroma" it goes into [store.chroma]'
_HEADINGS: Mapping[Place, object] = {("chunking", "strategy"): "headings"}
_SECTIONS: Mapping[Place, object] = {("chunking", "strategy"): "sections"}
_WINDOWS: Mapping[Place, object] = {("chunking", "strategy"): "windows"}

_LOCAL_RAG: dict[str, Renamed | str] = {
    "embedding.model": Renamed("embedding", "model", also={("embedding", "provider"): "gemini"}),
    "embedding.output_dimensionality": Renamed("embedding", "dimension"),
    "embedding.batch_size": "mdvec sends as many texts at once as the service takes",
    "embedding.task_type_document": "mdvec tells the service itself what is a document",
    "embedding.task_type_query": "mdvec tells the service itself what is a query",
    "chunker.max_chunk_chars": Renamed("chunking", "max_chars", also=_HEADINGS),
    "chunker.min_chunk_chars": Renamed("chunking", "min_chars", also=_HEADINGS),
    "chunker.heading_levels": Renamed("chunking", "levels", also=_HEADINGS),
    "chromadb.collection_name": _HNSW,
    "chromadb.hnsw_space": _HNSW,
    "chromadb.hnsw_construction_ef": _HNSW,
    "chromadb.hnsw_search_ef": _HNSW,
    "chromadb.hnsw_M": _HNSW,
    "search.default_top_k": Renamed("search", "k"),
    "retry.max_retries": Renamed("embedding.gemini", "attempts", _and_first),
    "retry.base_delay": "mdvec waits as long as the service requests",
    "retry.backoff_factor": "mdvec waits as long as the service requests",
    "scanner.file_extensions": Renamed("scanner", "extensions"),
    "scanner.exclude_dirs": Renamed("scanner", "exclude_dirs"),
}
_VECTOR_DB: dict[str, Renamed | str] = {
    "database.path": Renamed("store", "location"),
    "chunking.size": Renamed("chunking", "max_tokens", also=_WINDOWS),
    "chunking.overlap": Renamed("chunking", "overlap_tokens", also=_WINDOWS),
    "display.default_format": Renamed("display", "default_format"),
    "search.k": Renamed("search", "k"),
    "model.auto_unload_minutes": Renamed("embedding", "auto_unload_minutes"),
    "model.memory_threshold": Renamed("embedding", "memory_threshold"),
}
_SEARCH_DOCS: dict[str, Renamed | str] = {
    "version": "it numbers the format of that file",
    "files.include": Renamed("scanner", "include"),
    "files.exclude": Renamed("scanner", "exclude"),
    "files.ignoreGitignore": Renamed("scanner", "gitignore", _not),
    "indexing.maxTokensPerSection": Renamed("chunking", "max_tokens", also=_SECTIONS),
    "indexing.minTokensForSplit": Renamed("chunking", "min_tokens", also=_SECTIONS),
    "indexing.maxDepth": Renamed("chunking", "levels", _levels, also=_SECTIONS),
    "indexing.vectorDimension": Renamed("embedding", "dimension"),
    "indexing.embeddingModel": Renamed(
        "embedding", "model", also={("embedding", "provider"): "sentence-transformers"}
    ),
    "server.maxConcurrentIndexing": Renamed("watch", "concurrency"),
    "server.dirtyCheckInterval": Renamed("watch", "interval_s", _seconds),
}
# Each with the sections that no other program's file has.
_KINDS = (
    (_LOCAL_RAG, {"chunker", "chromadb"}),
    (_VECTOR_DB, {"database", "model"}),
    (_SEARCH_DOCS, {"files", "indexing"}),
)


def find_in_folder(folder: Path) -> Path | None:
    """Return the file of another program in a folder that holds settings for its documents."""
    for name in SEARCH_DOCS_NAMES:
        if (folder / name).is_file():
            return folder / name
    for name in SHARED_NAMES:
        with suppress(ConfigError):  # what cannot be read is not for documents
            if (folder / name).is_file() and is_foreign(read_config(folder / name)):
                return folder / name
    return None


def is_foreign(file: ConfigFile) -> bool:
    """Return True if a file is written for another program, and for documents."""
    return _table_of(file) is not None


def translated(file: ConfigFile) -> Iterator[Translated]:
    """Yield what becomes of each setting of another program's file."""
    table = _table_of(file) or {}
    for path, value in _leaves(file.values, table):
        name, origin = ".".join(path), file.place(*path)
        match table.get(name):
            case Renamed(section, key, convert):
                yield Translated(name, value, origin, (section, key), convert(value))
            case str(reason):
                yield Translated(name, value, origin, reason=reason)
            case None:
                yield Translated(name, value, origin)


def foreign_settings(file: ConfigFile) -> dict[Place, Setting]:
    """Return what another program's file sets here."""
    table = _table_of(file) or {}
    found: dict[Place, Setting] = {}
    directory = folder_of(file.path)
    for each in translated(file):
        if each.place is None:
            continue
        found[each.place] = Setting(each.set_to, each.origin, directory)
        renamed = table[each.name]
        if isinstance(renamed, Renamed):
            for place, value in (renamed.also or {}).items():
                found.setdefault(place, Setting(value, each.origin, directory))
    return found


def _table_of(file: ConfigFile) -> dict[str, Renamed | str] | None:
    """Return the names of the program that a file is for; None when it is ours, or of no program we know."""
    if file.path.name == SEARCH_DOCS_NAMES[0] or file.path.parent.name == ".search-docs":
        return _SEARCH_DOCS
    sections = {name for name, value in file.values.items() if isinstance(value, dict)}
    for table, own in _KINDS:
        known = {name.partition(".")[0] for name in table}
        if file.path.name in SHARED_NAMES and sections & own and sections <= known:
            return table
    return None


def _leaves(values: Mapping[str, object], table: Mapping[str, object]) -> Iterator[tuple[KeyPath, object]]:
    """Yield the settings of a file: keys at the top, and those one level below."""
    for name, value in values.items():
        if isinstance(value, dict) and name not in table:
            yield from (((name, str(key)), each) for key, each in value.items())
        else:
            yield (name,), value
