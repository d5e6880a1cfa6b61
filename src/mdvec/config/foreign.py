"""Configurations of other programs: what each of their settings is called here, or why there is none."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from mdvec.config.paths import SEARCH_DOCS_NAMES, folder_of
from mdvec.config.syntax import TOO_DEEP, load_toml, parsed, read_text
from mdvec.config.validation import Setting
from mdvec.errors import ConfigError

_SHARED_NAMES = ("config.yaml", "config.toml")
"""Files whose contents have to say whether they are for documents: other programs have such names, too."""

_MS_PER_S = 1000
# n aliases expand to at most about e^(n/e) values.
_MAX_ALIASES = 20
# The time to read YAML grows with the square of its depth.
_MAX_DEPTH = 50


class Translation(Struct, frozen=True):
    """What becomes of another program's file.

    Attributes:
        settings: By dotted name here; the origin is the file and the name there.
        left_out: Why a setting has no counterpart, by its name there.
        unknown: Names that the other program does not have, either.
    """

    settings: Mapping[str, Setting]
    left_out: Mapping[str, str]
    unknown: tuple[str, ...]


class _Renamed(Struct, frozen=True):
    """A setting that mdvec has, too.

    Attributes:
        key: Its dotted name here.
        convert: Makes its value here.
        implied: Names and values of further settings here.
    """

    key: str
    convert: Callable[[object], object] = lambda value: value
    implied: Mapping[str, str] = {}


def _seconds(value: object) -> object:
    return value / _MS_PER_S if isinstance(value, int | float) and not isinstance(value, bool) else value


def _levels(value: object) -> object:
    return [*range(1, value + 1)] if isinstance(value, int) and 1 <= value <= len("######") else value


def _not(value: object) -> object:
    return not value if isinstance(value, bool) else value


def _and_first(value: object) -> object:
    return value + 1 if isinstance(value, int) and not isinstance(value, bool) else value


_HNSW = 'vectors are searched exactly; with [store] vectors = "chroma" it goes into [store.chroma]'
_ITSELF = "mdvec tells the service itself what is a "
_WAITS = "mdvec waits as long as the service requests"
_HEADINGS = {"chunking.strategy": "headings"}
_SECTIONS = {"chunking.strategy": "sections"}
_WINDOWS = {"chunking.strategy": "windows"}
_GEMINI = {"embedding.provider": "gemini"}
_HUB = {"embedding.provider": "sentence-transformers"}

_LOCAL_RAG: dict[str, _Renamed | str] = {
    "embedding.model": _Renamed("embedding.model", implied=_GEMINI),
    "embedding.output_dimensionality": _Renamed("embedding.dimension", implied=_GEMINI),
    "embedding.batch_size": "mdvec sends as many texts at once as the service takes",
    "embedding.task_type_document": f"{_ITSELF}document",
    "embedding.task_type_query": f"{_ITSELF}query",
    "chunker.max_chunk_chars": _Renamed("chunking.max_chars", implied=_HEADINGS),
    "chunker.min_chunk_chars": _Renamed("chunking.min_chars", implied=_HEADINGS),
    "chunker.heading_levels": _Renamed("chunking.levels", implied=_HEADINGS),
    "chromadb.collection_name": _HNSW,
    "chromadb.hnsw_space": _HNSW,
    "chromadb.hnsw_construction_ef": _HNSW,
    "chromadb.hnsw_search_ef": _HNSW,
    "chromadb.hnsw_M": _HNSW,
    "search.default_top_k": _Renamed("search.k"),
    "retry.max_retries": _Renamed("embedding.gemini.attempts", _and_first),
    "retry.base_delay": _WAITS,
    "retry.backoff_factor": _WAITS,
    "scanner.file_extensions": _Renamed("scanner.extensions"),
    "scanner.exclude_dirs": _Renamed("scanner.exclude_dirs"),
}
_VECTOR_DB: dict[str, _Renamed | str] = {
    "database.path": _Renamed("store.location"),
    "chunking.size": _Renamed("chunking.max_tokens", implied=_WINDOWS),
    "chunking.overlap": _Renamed("chunking.overlap_tokens", implied=_WINDOWS),
    "display.default_format": _Renamed("display.default_format"),
    "search.k": _Renamed("search.k"),
    "model.auto_unload_minutes": _Renamed("embedding.auto_unload_minutes"),
    "model.memory_threshold": _Renamed("embedding.memory_threshold"),
}
# Sections that no other program's file has.
_LOCAL_RAG_OWN = {"chunker", "chromadb"}
_VECTOR_DB_OWN = {"database", "model"}
_SEARCH_DOCS: dict[str, _Renamed | str] = {
    "version": "it numbers the format of that file",
    "files.include": _Renamed("scanner.include"),
    "files.exclude": _Renamed("scanner.exclude"),
    "files.ignoreGitignore": _Renamed("scanner.gitignore", _not),
    "indexing.maxTokensPerSection": _Renamed("chunking.max_tokens", implied=_SECTIONS),
    "indexing.minTokensForSplit": _Renamed("chunking.min_tokens", implied=_SECTIONS),
    "indexing.maxDepth": _Renamed("chunking.levels", _levels, _SECTIONS),
    "indexing.vectorDimension": _Renamed("embedding.dimension"),
    "indexing.embeddingModel": _Renamed("embedding.model", implied=_HUB),
    "server.maxConcurrentIndexing": _Renamed("watch.concurrency"),
    "server.dirtyCheckInterval": _Renamed("watch.interval_s", _seconds),
}


def find_in_folder(folder: Path) -> Path | None:
    """Return the file of another program in a folder that holds settings for its documents."""
    for name in (*SEARCH_DOCS_NAMES, *_SHARED_NAMES):
        if (folder / name).is_file():
            if name in SEARCH_DOCS_NAMES:
                return folder / name
            with suppress(ConfigError):  # what cannot be read is not for documents
                if translated(folder / name):
                    return folder / name
    return None


def translated(path: Path) -> Translation | None:
    """Read the file of another program; None when it is ours, or of no program we know.

    Raises:
        ConfigError: If it cannot be read, or is not well-formed.
    """
    if path.name == SEARCH_DOCS_NAMES[0] or path.parent.name == ".search-docs":
        return _translation(path, parsed(path, read_text(path), json.loads), _SEARCH_DOCS)
    if path.name not in _SHARED_NAMES:
        return None
    load = load_toml if path.suffix == ".toml" else _load_yaml
    table, own = (_VECTOR_DB, _VECTOR_DB_OWN) if load is load_toml else (_LOCAL_RAG, _LOCAL_RAG_OWN)
    values = parsed(path, read_text(path), load)
    if not isinstance(values, dict) or not values:
        return None
    sections = {str(name) for name, value in values.items() if isinstance(value, dict)}
    found = _translation(path, values, table)
    # Our own settings are in TOML, and may have the same names.
    is_known = path.suffix != ".toml" and not found.unknown
    is_theirs = sections <= {name.partition(".")[0] for name in table} and (sections & own or is_known)
    return found if is_theirs else None


def _translation(path: Path, values: object, table: Mapping[str, _Renamed | str]) -> Translation:
    if not isinstance(values, dict):
        msg = f"{path}: expected settings by section, found {type(values).__name__}"
        raise ConfigError(msg)
    settings: dict[str, Setting] = {}
    implied: dict[str, Setting] = {}
    left_out: dict[str, str] = {}
    unknown = []
    for name, value in _leaves(values, table):
        match table.get(name):
            case _Renamed() as to:
                origin, folder = f"{path}: {name}", folder_of(path)
                settings[to.key] = Setting(to.convert(value), origin, folder)
                implied = {key: Setting(each, origin, folder) for key, each in to.implied.items()} | implied
            case str(reason):
                left_out[name] = reason
            case None:
                unknown.append(name)
    return Translation(implied | settings, left_out, tuple(unknown))


def _leaves(values: Mapping[object, object], table: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield the settings of a file by dotted name: those at the top, and those one level below."""
    for name, value in values.items():
        if isinstance(value, dict) and name not in table:
            yield from ((f"{name}.{key}", each) for key, each in value.items())
        else:
            yield str(name), value


def _load_yaml(text: str) -> object:
    import yaml  # few files need it

    try:
        _check_yaml(text)
        return yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        msg = f"{error.problem} (at line {mark.line + 1 if mark else 1})"
        raise ValueError(msg) from error
    except yaml.YAMLError as error:
        raise ValueError(str(error).splitlines()[0]) from error


def _check_yaml(text: str) -> None:
    """Refuse what would take long, or all of the memory, before it is read."""
    import yaml

    depth = aliases = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        aliases += isinstance(event, yaml.AliasEvent)
        if aliases > _MAX_ALIASES or depth > _MAX_DEPTH:
            problem = TOO_DEEP if depth > _MAX_DEPTH else f"more than {_MAX_ALIASES} aliases"
            msg = f"{problem} (at line {event.start_mark.line + 1 if event.start_mark else 1})"
            raise ValueError(msg)
