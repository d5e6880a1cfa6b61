"""Finds the configuration, checks it, and remembers where each value came from."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mdvec.config.paths import expanded, find_config, own_config
from mdvec.config.schema import TRUSTING, Config
from mdvec.config.settings import (
    Place,
    Sections,
    Setting,
    dotted,
    key_called,
    key_hint,
    made,
    members,
    nearest,
    sections_of,
    settings_in,
    suggestion,
    usable,
)
from mdvec.config.syntax import ConfigFile, read_config
from mdvec.errors import ConfigError

DEFAULT_ORIGIN = "default"
"""Origin of a value that nobody set."""

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
        origins: For each dotted key, ``default``, ``path:line`` or the name of a variable.
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
    sections = sections_of(Config)
    problems: list[str] = []
    given: dict[Place, Setting] = {}
    file = _read_file(path, cwd, env)
    if file is not None:
        is_own = path is not None or bool(env.get(_ENV_CONFIG)) or file.path.parent == own_config().parent
        in_file = settings_in(file, sections, problems)
        given.update({place: replace(setting, is_own=is_own) for place, setting in in_file.items()})
    given.update(_from_env(env, cwd, sections, problems))
    values = usable(given, sections, problems)
    problems.extend(_untrusted(given, values, sections))
    if problems:
        raise ConfigError("\n".join(problems))
    origins = {
        dotted(section, key): given[section, key].origin if (section, key) in given else DEFAULT_ORIGIN
        for section, keys in sections.items()
        for key in keys
    }
    return LoadedConfig(made(Config, values), file.path if file else None, origins)


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
    env: Mapping[str, str], cwd: Path, sections: Sections, problems: list[str]
) -> Iterator[tuple[Place, Setting]]:
    variable_of: dict[Place, str] = {}
    for variable, value in sorted(env.items()):
        section, key = _home(variable, sections)
        if not (section and key and value):
            continue
        key = key_called(key, section, sections)
        if first := variable_of.get((section, key)):
            problems.append(f"{variable} sets the same as {first}; give one of them")
        elif key in sections[section]:
            variable_of[section, key] = variable
            is_list = _is_list(sections[section][key])
            parts = [part.strip() for part in value.split(",") if part.strip()]
            yield (section, key), Setting(parts if is_list else value, variable, cwd, is_text=True)
        elif hint := key_hint(key, section, sections):
            problems.append(f"unknown variable {variable}; {hint}")
        else:
            near = nearest(key, sections[section])
            names = [_variable(section, name) for name in near or sections[section]]
            problems.append(f"unknown variable {variable}; {suggestion(names, close=bool(near))}")


def _home(variable: str, sections: Sections) -> tuple[str, str]:
    """Split the name of a variable into section and key; the longest section that fits is meant."""
    for section in sorted(sections, key=len, reverse=True):
        start = _variable(section, "")
        if variable.upper().startswith(start):
            return section, variable[len(start) :].lower()
    return "", ""


def _variable(section: str, key: str) -> str:
    return f"{_ENV_PREFIX}{re.sub('[.-]', '_', section)}_{key}".upper()


def _is_list(kind: Any) -> bool:
    return any(typing.get_origin(getattr(member, "__origin__", member)) is tuple for member in members(kind))


def _untrusted(
    given: Mapping[Place, Setting], values: Mapping[str, Mapping[str, object]], sections: Sections
) -> Iterator[str]:
    """Say what is set in a file of others that only the user may set."""
    for (section, key), setting in given.items():
        if setting.is_own or key not in values[section]:
            continue
        if danger := _danger(section, key, values[section][key], sections[section][key]):
            yield (
                f"{setting.origin}: {section}.{key} is not taken from a file that was found on the way: "
                f"{danger}; set it in {own_config()}, or name the file with --config or {_ENV_CONFIG}"
            )


def _danger(section: str, key: str, value: object, kind: Any) -> str:
    """Say what a value would let the one who set it do; empty when that is nothing."""
    default = getattr(reduce(getattr, section.replace("-", "_").split("."), Config()), key)
    if value == default or (isinstance(value, str) and urlsplit(value).hostname in _LOOPBACK):
        return ""
    metas = [meta for member in members(kind) for meta in getattr(member, "__metadata__", ())]
    return next((meta.extra[TRUSTING] for meta in metas if TRUSTING in (meta.extra or {})), "")
