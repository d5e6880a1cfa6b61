"""Configurations of other programs: what each of their settings is called here, or why there is none."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from mdvec.config.paths import FOREIGN_NAMES, SHARED_NAMES, folder_of, is_of_search_docs
from mdvec.config.schema import Config
from mdvec.config.syntax import TOO_DEEP, load_toml, parsed, read_text
from mdvec.config.validation import Schema, Setting
from mdvec.errors import ConfigError, nearest_names

_MS_PER_S = 1000
_MAX_NAMED = 10
# n aliases expand to at most about e^(n/e) values.
_MAX_ALIASES = 20
# The time to read YAML grows with the square of its depth.
_MAX_DEPTH = 50


class Translation(Struct, frozen=True):
    """The settings of another program's file, as they are here.

    Attributes:
        settings: By dotted name here; the origin is the file and the name there.
        left_out: Why a setting has no counterpart, by its name there.
        chosen: Those of ``left_out`` whose value is not the other program's default.
        unknown: Names that neither the other program nor mdvec has, and which name of it is meant, or empty.
        is_recognised: Whether the contents show that it is a file of that program.
    """

    settings: Mapping[str, Setting]
    left_out: Mapping[str, str]
    chosen: tuple[str, ...]
    unknown: Mapping[str, str]
    is_recognised: bool = True

    def warnings(self, file: Path) -> Iterator[str]:
        """Yield what the file sets to no effect, one line a reason."""
        if self.unknown:
            names = [
                f"{name} (did you mean {near}?)" if near else name for name, near in self.unknown.items()
            ]
            yield f"{file}: unknown: {shown_names(names)}"
        reasons = dict.fromkeys(self.left_out[name] for name in self.chosen)
        for reason in reasons:
            names = [name for name in self.chosen if self.left_out[name] == reason]
            yield f"{file}: {without_effect(names)}: {reason}"


class _LeftOut(Struct, frozen=True):
    """A setting that mdvec does not have.

    Attributes:
        reason: Why.
        usual: The other program's default; who wrote that has chosen nothing. None: any value.
    """

    reason: str
    usual: object = None


class _Renamed(Struct, frozen=True):
    """A setting that mdvec has, too.

    Attributes:
        key: Its dotted name here.
        convert: Makes its value here.
        implied: Names and values of further settings here.
        usual: The default of both programs; who wrote that has chosen nothing. None: any value.
    """

    key: str
    convert: Callable[[object], object] = lambda value: value
    implied: Mapping[str, str] = {}
    usual: object = None


def _seconds(value: object) -> object:
    return value / _MS_PER_S if isinstance(value, int | float) and not isinstance(value, bool) else value


def _levels(value: object) -> object:
    return [*range(1, value + 1)] if isinstance(value, int) and 1 <= value <= len("######") else value


def _not(value: object) -> object:
    return not value if isinstance(value, bool) else value


def _and_first(value: object) -> object:
    return value + 1 if isinstance(value, int) and not isinstance(value, bool) else value


_ITSELF = "mdvec tells the service itself what is a "
_WAITS = "mdvec waits as long as the service requests"
_HEADINGS = {"chunking.strategy": "headings"}
_SECTIONS = {"chunking.strategy": "sections"}
_WINDOWS = {"chunking.strategy": "windows"}
_GEMINI = {"embedding.provider": "gemini"}
_HUB = {"embedding.provider": "sentence-transformers"}

_Table = Mapping[str, _Renamed | _LeftOut]

_LOCAL_RAG: _Table = {
    "embedding.model": _Renamed("embedding.model", implied=_GEMINI),
    "embedding.output_dimensionality": _Renamed("embedding.dimension", implied=_GEMINI),
    "embedding.batch_size": _LeftOut("mdvec sends as many texts at once as the service takes", 100),
    "embedding.task_type_document": _LeftOut(f"{_ITSELF}document", "RETRIEVAL_DOCUMENT"),
    "embedding.task_type_query": _LeftOut(f"{_ITSELF}query", "RETRIEVAL_QUERY"),
    "chunker.max_chunk_chars": _Renamed("chunking.max_chars", implied=_HEADINGS),
    "chunker.min_chunk_chars": _Renamed("chunking.min_chars", implied=_HEADINGS),
    "chunker.heading_levels": _Renamed("chunking.levels", implied=_HEADINGS),
    "chromadb.collection_name": _Renamed("store.chroma.collection_name", usual="documents"),
    "chromadb.hnsw_space": _Renamed("store.chroma.hnsw_space", usual="cosine"),
    "chromadb.hnsw_construction_ef": _Renamed("store.chroma.hnsw_construction_ef", usual=200),
    "chromadb.hnsw_search_ef": _Renamed("store.chroma.hnsw_search_ef", usual=100),
    "chromadb.hnsw_M": _Renamed("store.chroma.hnsw_M", usual=16),
    "search.default_top_k": _Renamed("search.k"),
    "retry.max_retries": _Renamed("embedding.gemini.attempts", _and_first),
    "retry.base_delay": _LeftOut(_WAITS, 1.0),
    "retry.backoff_factor": _LeftOut(_WAITS, 2.0),
    "scanner.file_extensions": _Renamed("scanner.extensions"),
    "scanner.exclude_dirs": _Renamed("scanner.exclude_dirs"),
}
_VECTOR_DB: _Table = {
    "database.path": _Renamed("store.location"),
    "chunking.size": _Renamed("chunking.max_tokens", implied=_WINDOWS),
    "chunking.overlap": _Renamed("chunking.overlap_tokens", implied=_WINDOWS),
    "display.default_format": _Renamed("display.default_format"),
    "search.k": _Renamed("search.k"),
    "model.auto_unload_minutes": _Renamed("embedding.auto_unload_minutes"),
    "model.memory_threshold": _Renamed("embedding.memory_threshold"),
}
_ADDED = "store.vectors"
# Keys that files of many programs have, in whatever section.
_COMMON_KEYS = {
    *("model", "batch_size", "collection_name", "max_retries", "base_delay", "backoff_factor"),
    *("file_extensions", "exclude_dirs", "path", "size", "overlap", "k"),
}
_SEARCH_DOCS: _Table = {
    "version": _LeftOut("it numbers the format of that file"),
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
    """Return the file of another program in a folder that holds settings for its documents.

    Raises:
        ConfigError: If a file that is for documents by its words is not well-formed.
    """
    for name in FOREIGN_NAMES:
        file = folder / name
        if file.is_file():
            if name not in SHARED_NAMES:
                return file
            try:
                found = translated(file)
            except ConfigError:
                if _names_own_key(file):
                    raise
                continue
            if found and found.is_recognised:
                return file
    return None


def translated(path: Path) -> Translation | None:
    """Read the file of another program; None when it is ours, or of no program we know.

    Raises:
        ConfigError: If it cannot be read, or is not well-formed.
    """
    if is_of_search_docs(path):
        return _translation(path, parsed(path, read_text(path), json.loads), _SEARCH_DOCS)
    table = _table_of(path)
    if table is None:
        return None
    values = parsed(path, read_text(path), load_toml if table is _VECTOR_DB else _load_yaml)
    if not isinstance(values, dict) or not values:
        return None
    found = _translation(path, values, table)
    # Our own settings are in TOML, and may have the same names.
    is_named_so = path.name == SHARED_NAMES[0] and bool(found.settings or found.left_out)
    return found if found.is_recognised or is_named_so else None


def shown_names(names: Sequence[str]) -> str:
    """Return names in a row, the first ten of them."""
    more = len(names) - _MAX_NAMED
    return ", ".join(names[:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


def without_effect(names: Sequence[str]) -> str:
    """Return a sentence about settings that have no effect."""
    return f"{shown_names(names)} {'has' if len(names) == 1 else 'have'} no effect"


def _table_of(path: Path) -> _Table | None:
    if path.suffix.lower() in (".yaml", ".yml"):
        return _LOCAL_RAG
    return _VECTOR_DB if path.name in SHARED_NAMES else None


def _own_keys(table: _Table) -> set[str]:
    """Return the keys by which a file is known to be of the program of a table."""
    return {name.rpartition(".")[2] for name in table} - _COMMON_KEYS


def _names_own_key(path: Path) -> bool:
    try:
        text = read_text(path)
    except ConfigError:
        return False
    return any(re.search(rf"\b{key}\s*[:=]", text) for key in _own_keys(_table_of(path) or {}))


def _translation(path: Path, values: object, table: _Table) -> Translation:
    if not isinstance(values, dict):
        msg = f"{path}: expected settings by section, found {type(values).__name__}"
        raise ConfigError(msg)
    schema = Schema(Config)
    settings: dict[str, Setting] = {}
    implied: dict[str, Setting] = {}
    left_out: dict[str, str] = {}
    chosen = []
    unknown = {}
    own_keys = _own_keys(table)
    folder = folder_of(path)
    leaves = [*_leaves(values, table)]
    for name, value in leaves:
        origin = f"{path}: {name}"
        match table.get(name):
            case _Renamed(usual=usual) if usual is not None and value == usual:
                left_out[name] = "mdvec has the same default"
            case _Renamed() as to:
                settings[to.key] = Setting(to.convert(value), origin, folder)
                implied = {key: Setting(each, origin, folder) for key, each in to.implied.items()} | implied
            case _LeftOut() as lacking:
                left_out[name] = lacking.reason
                if lacking.usual is not None and value != lacking.usual:
                    chosen.append(name)
            case None if ours := schema.named(name):
                settings.setdefault(ours, Setting(value, origin, folder))
            case None:
                unknown[name] = next(iter(nearest_names(name, table)), "")
    names = {name for name, _ in leaves}
    sections = {name.partition(".")[0] for name in names & {*table}}
    # Pages ask users to add our setting to such a file, however little else is in it.
    has_own_key = _ADDED in names or any(name.rpartition(".")[2] in own_keys for name in names)
    is_recognised = has_own_key or len(sections) > 1 or names <= {*table}
    return Translation(implied | settings, left_out, tuple(chosen), unknown, is_recognised)


def _leaves(
    values: Mapping[object, object], table: Mapping[str, object], above: str = ""
) -> Iterator[tuple[str, object]]:
    """Yield the settings of a file by dotted name; one of the table may be a table itself."""
    for key, value in values.items():
        name = f"{above}.{key}" if above else str(key)
        if isinstance(value, dict) and name not in table:
            yield from _leaves(value, table, name)
        else:
            yield name, value


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
