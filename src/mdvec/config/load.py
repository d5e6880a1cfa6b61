"""Finds the configuration, checks it, and remembers where each value came from."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from enum import StrEnum
from functools import reduce
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from mdvec.config.paths import expanded, find_config, own_config
from mdvec.config.schema import TRUSTING, ChunkingSettings, Config, Section
from mdvec.config.syntax import ConfigFile, read_config
from mdvec.errors import ConfigError

DEFAULT_ORIGIN = "default"
"""Origin of a value that nobody set."""

_ENV_PREFIX = "MDVEC_"
_ENV_CONFIG = "MDVEC_CONFIG"
# Other names for the same setting, as users of token windows know them.
_SYNONYMS = {("chunking", "size"): "max_tokens", ("chunking", "overlap"): "overlap_tokens"}
# What people call the key of a service, and the setting that says where it is.
_KEYS = {"api_key", "apikey", "key", "token"}
_KEY_VARIABLE = "api_key_env"
_CREDENTIALS = re.compile(r"(?<=//)[^/@]+@")
# What listens there was started on this machine: no key leaves it.
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}

S = TypeVar("S", bound=Section)


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """The settings in force, and where they came from.

    Attributes:
        config: The settings.
        path: The file that was read; None when there is none.
        origins: For each dotted key, ``default``, ``path:line`` or the name of a variable.
    """

    config: Config
    path: Path | None = None
    origins: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Given:
    """A value that somebody set.

    Attributes:
        value: As written.
        origin: Where it was written, for people.
        directory: What a relative path in it is relative to.
        is_own: Whether the user wrote it, or named the file; False in a file that was found on the way up
            from the working directory, which may have come with somebody else's notes.
    """

    value: object
    origin: str
    directory: Path
    is_own: bool = True


def load_config(path: Path | None = None, *, cwd: Path, env: Mapping[str, str]) -> LoadedConfig:
    """Load the settings: defaults, then one file, then environment variables.

    Args:
        path: The file to read; None to take the one ``MDVEC_CONFIG`` names, or else to look upward
            from ``cwd`` and then in the user's configuration directory.
        cwd: Absolute path of the working directory.
        env: Environment variables; ``MDVEC_<SECTION>_<KEY>`` sets a key, an empty one sets nothing.

    Raises:
        ConfigError: If anything in it cannot be used, or would give a key away or run code without the user
            having named the file; the message has one line for each problem.
    """
    sections = dict(_sections(Config))
    problems: list[str] = []
    given: dict[tuple[str, str], _Given] = {}
    file = _read_file(path, cwd, env)
    if file is not None:
        is_own = path is not None or bool(env.get(_ENV_CONFIG)) or file.path.parent == own_config().parent
        in_file = _from_file(file, sections, problems)
        given.update((place, replace(setting, is_own=is_own)) for place, setting in in_file)
    given.update(_from_env(env, cwd, sections, problems))

    values: dict[str, dict[str, object]] = {name: {} for name in sections}
    for (section, key), setting in given.items():
        kind = sections[section][key]
        try:
            values[section][key] = _convert(setting, kind, lenient=setting.origin.startswith(_ENV_PREFIX))
        except msgspec.ValidationError:
            # Who took the one for the other has written the key itself there.
            found = "" if key == _KEY_VARIABLE else f", not {_shown(setting.value)}"
            problems.append(f"{setting.origin}: {section}.{key} must be {_allowed(kind)}{found}")
            continue
        if not setting.is_own and (danger := _danger(section, key, values[section][key], kind)):
            problems.append(
                f"{setting.origin}: {section}.{key} is not taken from a file that was found on the way: "
                f"{danger}; set it in {own_config()}, or name the file with --config or {_ENV_CONFIG}"
            )
    if problems:
        raise ConfigError("\n".join(problems))
    config = _made(Config, values)
    _check_chunking(config.chunking, given)
    origins = {
        f"{section}.{key}": given[section, key].origin if (section, key) in given else DEFAULT_ORIGIN
        for section, keys in sections.items()
        for key in keys
    }
    return LoadedConfig(config, file.path if file else None, origins)


def _sections(kind: type[Section], above: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the sections below one, with the type of each of their keys; tables in a section are dotted."""
    for name, inner in _field_types(kind).items():
        if _is_section(inner):
            keys = {key: type_ for key, type_ in _field_types(inner).items() if not _is_section(type_)}
            yield f"{above}{name}", keys
            yield from _sections(inner, f"{above}{name}.")


def _made(kind: type[S], values: Mapping[str, Mapping[str, object]], place: str = "") -> S:
    """Make a section from the values of its keys and of those of the tables in it."""
    inner = {
        name.replace("-", "_"): _made(type_, values, f"{place}.{name}".removeprefix("."))
        for name, type_ in _field_types(kind).items()
        if _is_section(type_)
    }
    return kind(**values.get(place, {}), **inner)


def _field_types(kind: type[Section]) -> dict[str, Any]:
    return {item.encode_name: item.type for item in msgspec.structs.fields(kind)}


def _is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Section)


def _read_file(path: Path | None, cwd: Path, env: Mapping[str, str]) -> ConfigFile | None:
    if path is None and (named := env.get(_ENV_CONFIG)):
        try:
            return read_config(cwd / expanded(named))
        except ConfigError as error:
            msg = f"{_ENV_CONFIG}: {error}"
            raise ConfigError(msg, hint=error.hint) from error
    if path is not None:
        return read_config(cwd / expanded(path))
    found = find_config(cwd)
    return read_config(found) if found else None


def _from_file(
    file: ConfigFile, sections: Mapping[str, Mapping[str, Any]], problems: list[str]
) -> Iterator[tuple[tuple[str, str], _Given]]:
    for section, table in file.values.items():
        if section not in sections:
            hint = _nearest_section(section, sections)
            problems.append(f"{file.place(section)}: unknown section [{section}]; {hint}")
        else:
            yield from _from_table(file, section, table, sections, problems)


def _from_table(
    file: ConfigFile,
    section: str,
    table: object,
    sections: Mapping[str, Mapping[str, Any]],
    problems: list[str],
) -> Iterator[tuple[tuple[str, str], _Given]]:
    if not isinstance(table, dict):
        problems.append(f"{file.place(*section.split('.'))}: [{section}] must be a table of settings")
        return
    for key, value in table.items():
        name = _SYNONYMS.get((section, str(key)), str(key))
        place = file.place(*section.split("."), str(key))
        if name in sections[section]:
            yield (section, name), _Given(value, place, file.path.parent)
        elif f"{section}.{name}" in sections:
            yield from _from_table(file, f"{section}.{name}", value, sections, problems)
        else:
            hint = _nearest_key(str(key), section, sections)
            problems.append(f"{place}: unknown setting {section}.{key}; {hint}")


def _from_env(
    env: Mapping[str, str], cwd: Path, sections: Mapping[str, Mapping[str, Any]], problems: list[str]
) -> Iterator[tuple[tuple[str, str], _Given]]:
    for variable, value in sorted(env.items()):
        section, key = _home(variable, sections)
        if not (section and key and value):
            continue
        key = _SYNONYMS.get((section, key), key)
        if key in sections[section]:
            is_list = _is_list(sections[section][key])
            parts = [part.strip() for part in value.split(",") if part.strip()]
            yield (section, key), _Given(parts if is_list else value, variable, cwd)
        elif hint := _key_hint(key, section, sections):
            problems.append(f"unknown variable {variable}; {hint}")
        else:
            near = _nearest(key, sections[section])
            names = [_variable(section, name) for name in near or sections[section]]
            problems.append(f"unknown variable {variable}; {_suggestion(names, close=bool(near))}")


def _home(variable: str, sections: Mapping[str, object]) -> tuple[str, str]:
    """Split the name of a variable into section and key; the longest section that fits is meant."""
    for section in sorted(sections, key=len, reverse=True):
        start = _variable(section, "")
        if variable.upper().startswith(start):
            return section, variable[len(start) :].lower()
    return "", ""


def _variable(section: str, key: str) -> str:
    return f"{_ENV_PREFIX}{re.sub('[.-]', '_', section)}_{key}".upper()


def _convert(setting: _Given, kind: Any, *, lenient: bool) -> object:
    def to_path(_: type, written: object) -> Path:
        if not isinstance(written, str) or not written:
            raise TypeError
        return setting.directory / expanded(written)

    return msgspec.convert(setting.value, kind, strict=not lenient, dec_hook=to_path)


def _check_chunking(chunking: ChunkingSettings, given: Mapping[tuple[str, str], _Given]) -> None:
    for key in ("overlap_tokens", "min_tokens"):
        tokens = getattr(chunking, key)
        if tokens is not None and chunking.max_tokens is not None and tokens >= chunking.max_tokens:
            origin = given["chunking", key].origin
            msg = f"{origin}: chunking.{key} must be less than chunking.max_tokens ({chunking.max_tokens})"
            raise ConfigError(msg)


def _danger(section: str, key: str, value: object, kind: Any) -> str:
    """Say what a value would let the one who set it do; empty when that is nothing."""
    default = getattr(reduce(getattr, section.replace("-", "_").split("."), Config()), key)
    if value == default or (isinstance(value, str) and urlsplit(value).hostname in _LOOPBACK):
        return ""
    metas = [meta for member in _members(kind) for meta in getattr(member, "__metadata__", ())]
    return next((meta.extra[TRUSTING] for meta in metas if TRUSTING in (meta.extra or {})), "")


def _members(kind: Any) -> Iterator[Any]:
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        yield from (member for member in typing.get_args(kind) if member is not types.NoneType)
    else:
        yield kind


def _is_list(kind: Any) -> bool:
    return any(typing.get_origin(getattr(member, "__origin__", member)) is tuple for member in _members(kind))


def _allowed(kind: Any) -> str:
    member = next(_members(kind))
    if isinstance(member, type) and issubclass(member, StrEnum):
        return "one of " + ", ".join(member)
    if member is Path:
        return "a path"
    if member is bool:
        return "true or false"
    return str(member.__metadata__[0].description)


def _shown(value: object) -> str:
    shown = _CREDENTIALS.sub("***@", repr(value))
    return shown if len(shown) <= 60 else f"{shown[:57]}…"


def _nearest(name: str, valid: Sequence[str] | Mapping[str, object]) -> list[str]:
    return get_close_matches(name.lower(), list(valid), n=1, cutoff=0.5)


def _nearest_key(key: str, section: str, sections: Mapping[str, Mapping[str, Any]]) -> str:
    if hint := _key_hint(key, section, sections):
        return hint
    homes = [home for home, keys in sections.items() if key in keys]
    if homes:
        return f"it belongs in [{homes[0]}]"
    tables = [name.rpartition(".")[2] for name in sections if name.rpartition(".")[0] == section]
    known = [*sections[section], *tables]
    near = _nearest(key, known)
    return _suggestion([f"{section}.{name}" for name in near or known], close=bool(near))


def _key_hint(key: str, section: str, sections: Mapping[str, Mapping[str, Any]]) -> str:
    """Say where a service's key goes, to who writes it here; empty when it is about something else."""
    if key.lower() not in _KEYS or _KEY_VARIABLE not in sections[section]:
        return ""
    return f"keys are not kept in settings; {section}.{_KEY_VARIABLE} names the variable that holds it"


def _nearest_section(name: str, sections: Mapping[str, Mapping[str, Any]]) -> str:
    homes = [home for home, keys in sections.items() if name in keys]
    if homes:
        return f"the setting {name} belongs in [{homes[0]}]"
    near = _nearest(name, sections)
    return _suggestion([f"[{section}]" for section in near or sections], close=bool(near))


def _suggestion(names: Sequence[str], *, close: bool) -> str:
    return f"did you mean {names[0]}?" if close else f"known: {', '.join(names)}"
