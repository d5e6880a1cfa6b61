"""Presets: how a collection is cut, embedded and searched, by name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import resources
from pathlib import Path

import msgspec

from mdvec.config.schema import ChunkingSettings, Count, Limit, Name, Section, Similarity
from mdvec.config.syntax import ConfigFile, read_config
from mdvec.errors import ConfigError
from mdvec.model.collection import ChunkingSpec, EmbeddingSpec, SearchDefaults

DEFAULT_PRESET = "folder"

_SUFFIX = ".toml"


class _Embedding(Section, frozen=True, kw_only=True):
    provider: Name
    model: str = ""
    dimension: Count | None = None


class _Source(Section, frozen=True, kw_only=True):
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


class _Search(Section, frozen=True, kw_only=True):
    limit: Limit | None = None
    threshold: Similarity | None = None


class _File(Section, frozen=True, kw_only=True):
    description: str = ""
    chunking: ChunkingSettings = msgspec.field(default_factory=ChunkingSettings)
    embedding: _Embedding | None = None
    source: _Source = msgspec.field(default_factory=_Source)
    search: _Search = msgspec.field(default_factory=_Search)


@dataclass(frozen=True, slots=True)
class Preset:
    """What a new collection is made with, where its owner says nothing else.

    Attributes:
        name: As it is asked for.
        description: For people.
        chunking: How documents are cut.
        embedding: What makes the vectors; None for the model that is configured.
        include: Globs of files to take; all when empty.
        exclude: Globs of files to leave out.
        search: What a search of the collection alone does when it is not told.
        text: The file itself.
    """

    name: str
    description: str
    chunking: ChunkingSpec
    embedding: EmbeddingSpec | None
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    search: SearchDefaults
    text: str


def preset_names() -> list[str]:
    """Return the presets that come with mdvec, the default first."""
    names = [file.name.removesuffix(_SUFFIX) for file in _folder().iterdir() if file.name.endswith(_SUFFIX)]
    return sorted(names, key=lambda name: (name != DEFAULT_PRESET, name))


def load_preset(name: str, *, cwd: Path) -> Preset:
    """Read a preset.

    Args:
        name: One of :func:`preset_names`, or the path of a TOML file of your own.
        cwd: What a relative path is relative to.

    Raises:
        ConfigError: If there is no such preset, or something in it cannot be used.
    """
    if name.endswith(_SUFFIX):
        path = cwd / Path(name).expanduser()
        if not path.is_file():
            msg = f"there is no preset file {name}"
            raise ConfigError(msg, hint="'mdvec preset show folder' prints one to start from.")
        return _read(path, name)
    if name not in preset_names():
        msg = f"there is no preset {name!r}"
        near = get_close_matches(name, preset_names(), n=1, cutoff=0.5)
        known = f"Did you mean {near[0]}?" if near else f"Known: {', '.join(preset_names())}."
        raise ConfigError(msg, hint=f"{known} A preset of your own is the path of a {_SUFFIX} file.")
    with resources.as_file(_folder() / f"{name}{_SUFFIX}") as path:
        return _read(path, name)


def _folder() -> resources.abc.Traversable:
    return resources.files(__name__)


def _read(path: Path, name: str) -> Preset:
    written = read_config(path)
    try:
        file = msgspec.convert(written.values, _File)
    except msgspec.ValidationError as error:
        msg = _problem(str(error), written)
        raise ConfigError(msg, hint="'mdvec preset show folder' shows one that can be used.") from error
    return Preset(
        name=name,
        description=file.description,
        chunking=ChunkingSpec(**msgspec.structs.asdict(file.chunking)),
        embedding=EmbeddingSpec(**msgspec.structs.asdict(file.embedding)) if file.embedding else None,
        include=file.source.include,
        exclude=file.source.exclude,
        search=SearchDefaults(**msgspec.structs.asdict(file.search)),
        text=path.read_text(encoding="utf-8"),
    )


def _problem(said: str, written: ConfigFile) -> str:
    """Turn what msgspec says (problem, `` - at ``, place) into ``FILE:LINE: KEY: PROBLEM``."""
    what, _, where = said.partition(" - at `$")
    key = [*re.findall(r"[a-z_]+", where), *re.findall(r"unknown field `(.*)`", what)]
    return f"{written.place(*key)}: {'.'.join(key) or 'the preset'}: {what}"
