"""Presets: how a collection is cut, embedded and searched, by name."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import msgspec
from msgspec import Struct

from mdvec.config.schema import ChunkingSettings, Limit, Patterns, Similarity
from mdvec.config.syntax import ConfigFile, read_config
from mdvec.config.validation import read_settings
from mdvec.errors import ConfigError, meant_or_known, sentences
from mdvec.files import expanded
from mdvec.settings import Count, Name, SettingsSection, Text
from mdvec.types.collection import ChunkingSpec, EmbeddingSpec, SearchDefaults

DEFAULT_PRESET = "folder"

_SUFFIX = ".toml"
_EXAMPLE = "'mdvec preset show folder' shows one that can be used."


class _Embedding(SettingsSection, frozen=True, kw_only=True):
    provider: Name | None = None
    model: Text = ""
    dimension: Count | None = None


class _Source(SettingsSection, frozen=True, kw_only=True):
    include: Patterns = ()
    exclude: Patterns = ()


class _Search(SettingsSection, frozen=True, kw_only=True):
    limit: Limit | None = None
    threshold: Similarity | None = None
    per_document: Count | None = None


class _File(SettingsSection, frozen=True, kw_only=True):
    description: Text = ""
    chunking: ChunkingSettings = msgspec.field(default_factory=ChunkingSettings)
    embedding: _Embedding = msgspec.field(default_factory=_Embedding)
    source: _Source = msgspec.field(default_factory=_Source)
    search: _Search = msgspec.field(default_factory=_Search)


class Preset(Struct, frozen=True):
    """The settings of a new collection, where its owner gives no others.

    Attributes:
        name: As users write it.
        description: For people.
        chunking: How documents are cut.
        embedding: What makes the vectors; None for the model that is configured.
        include: Globs of files to take; all when empty.
        exclude: Globs of files to leave out.
        search: Defaults of a search of the collection alone.
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
        path = cwd / expanded(name)
        if not path.is_file():
            msg = f"there is no preset file {name}"
            raise ConfigError(msg, hint="'mdvec preset show folder' prints one to start from.")
        return _read(path, name)
    if name not in preset_names():
        msg = f"there is no preset {name!r}"
        known = meant_or_known(name, {each: each for each in preset_names()})
        hint = f"For a preset of your own, give the path of a {_SUFFIX} file."
        raise ConfigError(msg, hint=sentences(known[0].upper() + known[1:], hint))
    with resources.as_file(_folder() / f"{name}{_SUFFIX}") as path:
        return _read(path, name)


def _folder() -> resources.abc.Traversable:
    return resources.files(__name__)


def _read(path: Path, name: str) -> Preset:
    written = read_config(path)
    file = read_settings(written, _File, hint=_EXAMPLE)
    return Preset(
        name=name,
        description=file.description,
        chunking=ChunkingSpec(**msgspec.structs.asdict(file.chunking)),
        embedding=_model(file.embedding, written),
        include=file.source.include,
        exclude=file.source.exclude,
        search=SearchDefaults(**msgspec.structs.asdict(file.search)),
        text=path.read_text(encoding="utf-8"),
    )


def _model(settings: _Embedding, written: ConfigFile) -> EmbeddingSpec | None:
    if settings.provider is not None:
        return EmbeddingSpec(settings.provider, settings.model, settings.dimension)
    if settings == _Embedding():
        return None
    msg = f"{written.place('embedding')}: embedding.provider is missing: a model needs its provider"
    raise ConfigError(msg, hint="Name it, such as provider = \"openai\"; 'mdvec model ls' lists them.")
