"""Finds the configuration, checks it, and remembers where each value came from."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from mdvec import registry
from mdvec.config.paths import default_cache_dir, expanded, find_config, own_config
from mdvec.config.schema import Config
from mdvec.config.syntax import ConfigFile, read_config
from mdvec.config.validation import (
    Place,
    Schema,
    Setting,
    dotted,
    extra_of,
    make,
    make_section,
    members,
    nearest,
    settings_in,
    suggestion,
    usable,
)
from mdvec.errors import ConfigError
from mdvec.settings import PLACE, TRUSTING
from mdvec.text.addresses import scheme_of

DEFAULT_ORIGIN = "default"
"""Origin of a value that is not set."""

_ENV_PREFIX = "MDVEC_"
_ENV_CONFIG = "MDVEC_CONFIG"
# What listens there was started on this machine: no key leaves it.
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """The settings in force, and where they came from.

    Attributes:
        config: The settings.
        path: The file that was read; None when there is none.
        origins: ``path:line`` or the name of a variable, by dotted key, of all that is set.
    """

    config: Config
    path: Path | None = None
    origins: Mapping[str, str] = field(default_factory=dict)


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
    schema = Schema(Config, has_extensions=True)
    problems: list[str] = []
    found: dict[Place, Setting] = {}
    file = _read_file(path, cwd, env)
    if file is not None:
        is_own = path is not None or bool(env.get(_ENV_CONFIG)) or file.path.parent == own_config().parent
        in_file = settings_in(file, schema, problems)
        found.update({place: replace(setting, is_own=is_own) for place, setting in in_file.items()})
    found.update(_from_env(env, cwd, schema, problems))
    values = usable(found, schema, problems)
    problems.extend(_untrusted(found, values, schema))
    if problems:
        raise ConfigError("\n".join(problems))
    core = Schema(Config).sections
    extensions = {
        name: make_section(kind, values[name])
        for name, kind in schema.sections.items()
        if name not in core and schema.keys(name)
    }
    origins = {dotted(*place): setting.origin for place, setting in found.items()}
    return LoadedConfig(
        make(Config, values, extension_sections=extensions), file.path if file else None, origins
    )


def every_setting(loaded: LoadedConfig) -> Iterator[tuple[str, object, str]]:
    """Yield the dotted name of every setting, its value, and its origin.

    Those of the extensions that come with mdvec are among them, and those of other extensions that are set.
    """
    schema = Schema(Config, has_extensions=True).with_builtins()
    for name in loaded.config.extension_sections:
        schema.find(name)
    for section, kind in schema.sections.items():
        made = (
            getattr(loaded.config, section, None) or loaded.config.extension_sections.get(section) or kind()
        )
        for item in msgspec.structs.fields(kind):
            if item.encode_name in schema.keys(section):
                key = dotted(section, item.encode_name)
                yield key, getattr(made, item.name), loaded.origins.get(key, DEFAULT_ORIGIN)


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


def _from_env(
    env: Mapping[str, str], cwd: Path, schema: Schema, problems: list[str]
) -> Iterator[tuple[Place, Setting]]:
    variable_of: dict[Place, str] = {}
    for variable, value in sorted(env.items()):
        if not value or variable == _ENV_CONFIG or not variable.upper().startswith(_ENV_PREFIX):
            continue
        try:
            place = _place_of(variable.upper(), schema)
        except ConfigError as error:
            problems.append(f"{variable}: {error}. {error.hint}")
            continue
        if place is None:
            continue
        section, key = place
        if first := variable_of.get(place):
            problems.append(f"{variable} sets the same as {first}; give one of them")
        elif key in schema.keys(section):
            variable_of[place] = variable
            is_list = _is_list(schema.keys(section)[key])
            parts = [part.strip() for part in value.split(",") if part.strip()]
            yield place, Setting(parts if is_list else value, variable, cwd, is_text=True)
        else:
            problems.append(f"unknown variable {variable}; {_variable_hint(section, key, schema)}")


def _place_of(variable: str, schema: Schema) -> Place | None:
    """Return the section and the key that a variable is for; the longest section that fits is meant.

    Names of other packages' extensions are only looked up where ours do not fit.
    """
    place = None
    for names_of in (registry.builtin_names, registry.names):
        for name in sorted(schema.names(names_of), key=len, reverse=True):
            start = _variable(name, "")
            if name and variable.startswith(start) and schema.keys(section := schema.find(name) or ""):
                key = variable.removeprefix(start).lower()
                place = (section, schema.key_called(key, section)) if key else None
                break
        if place is not None and place[1] in schema.keys(place[0]):
            break
    return place


def _variable_hint(section: str, key: str, schema: Schema) -> str:
    if hint := schema.key_hint(key, section):
        return hint
    keys = schema.keys(section)
    near = nearest(key, keys)
    return suggestion([_variable(section, name) for name in near or keys], close=bool(near))


def _variable(section: str, key: str) -> str:
    return f"{_ENV_PREFIX}{re.sub('[.-]', '_', section)}_{key}".upper()


def _is_list(kind: Any) -> bool:
    return any(typing.get_origin(getattr(member, "__origin__", member)) is tuple for member in members(kind))


def _untrusted(
    found: Mapping[Place, Setting], values: Mapping[str, Mapping[str, object]], schema: Schema
) -> Iterator[str]:
    """Yield what is set in a file of others that only the user may set."""
    for (section, key), setting in found.items():
        if setting.is_own or key not in values[section]:
            continue
        value = values[section][key]
        kind = schema.keys(section)[key]
        danger = extra_of(kind, TRUSTING)
        if danger and value != schema.default(section, key) and not _is_harmless(value, kind):
            yield (
                f"{setting.origin}: {dotted(section, key)} is not taken from a file that was found on the "
                f"way: {danger}; set it in {own_config()}, or name the file with --config or {_ENV_CONFIG}"
            )


def _is_harmless(value: object, kind: Any) -> bool:
    """Return True for a file as a store, a service on this machine, and the usual cache folder."""
    if not isinstance(value, str):
        return value == default_cache_dir()
    match extra_of(kind, PLACE):
        case "store":
            return not scheme_of(value)
        case "vectors":
            return not scheme_of(value.partition(":")[2])
        case _:
            return urlsplit(value).hostname in _LOOPBACK
