"""Finds the configuration, checks it, and remembers where each value came from."""

from __future__ import annotations

import re
import shlex
import typing
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from mdvec import registry
from mdvec.config.paths import (
    config_in,
    default_cache_dir,
    default_database,
    find_config,
    folder_of,
    own_config,
)
from mdvec.config.schema import Config
from mdvec.config.trust import is_trusted
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
from mdvec.errors import ConfigError, UntrustedConfigError, sentences
from mdvec.files import expanded
from mdvec.settings import TRUSTING

if TYPE_CHECKING:
    from mdvec.config.syntax import ConfigFile

DEFAULT_ORIGIN = "default"
"""Origin of a value that is not set."""

_ENV_PREFIX = "MDVEC_"
_ENV_CONFIG = "MDVEC_CONFIG"
# What a file that came with a folder may set: how documents are cut, filtered and shown. All else could
# read, send, run or write something.
_HARMLESS = frozenset({"chunking", "search", "scanner", "display", "mcp"})
_MAX_NAMED_KEYS = 10


class LoadedConfig(Struct, frozen=True):
    """The settings in force, and where they came from.

    Attributes:
        config: The settings.
        path: The file that was read; None when there is none.
        origins: ``path:line`` or the name of a variable, by dotted key, of all that is set.
        warnings: What another program's file sets and mdvec does not take over.
    """

    config: Config
    path: Path | None = None
    origins: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def load_config(
    path: Path | None = None, *, cwd: Path, env: Mapping[str, str], docs_dir: Path | None = None
) -> LoadedConfig:
    """Load the settings: defaults, then one file, then environment variables.

    Args:
        path: The file to read; None to take the one ``MDVEC_CONFIG`` names, or else to look in
            ``docs_dir``, upward from ``cwd``, and in the user's configuration directory.
        cwd: Absolute path of the working directory.
        env: Environment variables; ``MDVEC_<SECTION>_<KEY>`` sets a key, an empty one sets nothing.
        docs_dir: A folder that is used without registering it.

    Raises:
        ConfigError: If anything in it cannot be used; the message has one line for each problem.
        UntrustedConfigError: If a file that was only found sets more than how documents are cut and shown,
            and the user does not trust its folder.
    """
    schema = Schema(Config, has_extensions=True)
    problems: list[str] = []
    found: dict[Place, Setting] = {}
    file = _read_file(path, cwd, env, docs_dir)
    warnings: list[str] = []
    if file is not None:
        is_own = path is not None or bool(env.get(_ENV_CONFIG)) or is_users_own(file.path)
        from mdvec.config.foreign import is_foreign

        if is_foreign(file):
            in_file = _foreign_settings(file, schema, warnings, is_own=is_own)
        else:
            in_file = settings_in(file, schema, problems)
        found.update({place: replace(setting, is_own=is_own) for place, setting in in_file.items()})
    in_environment = dict(_from_env(env, cwd, schema, problems))
    found.update(in_environment)
    values = usable(found, schema, problems)
    if problems:
        raise ConfigError("\n".join(problems))
    untrusted = list(_untrusted(found, values, schema))
    if file is not None and untrusted:
        raise _untrusted_error(file.path, untrusted)
    core = Schema(Config).sections
    extensions = {
        name: make_section(kind, values[name])
        for name, kind in schema.sections.items()
        if name not in core and schema.keys(name)
    }
    origins = {dotted(*place): setting.origin for place, setting in found.items()}
    return LoadedConfig(
        make(
            Config,
            values,
            extension_sections=extensions,
            from_environment=frozenset(dotted(*place) for place in in_environment),
        ),
        file.path if file else None,
        origins,
        tuple(warnings),
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


def _foreign_settings(
    file: ConfigFile, schema: Schema, warnings: list[str], *, is_own: bool
) -> dict[Place, Setting]:
    """Return what another program's file sets; what cannot be taken over is added to the warnings.

    That program's user did not write it for mdvec: where a file of ours would be refused, the rest counts.
    """
    from mdvec.config.foreign import foreign_settings, translated

    warnings += [
        f"{each.origin}: {each}" for each in translated(file) if each.place is None and not each.reason
    ]
    found = foreign_settings(file)
    for section, _ in found:
        schema.find(section)
    if is_own:
        return found
    harmless = {place: each for place, each in found.items() if _is_harmless(*place, schema)}
    others = [
        dotted(*place)
        for place, each in found.items()
        if place not in harmless and each.value != schema.default(*place)
    ]
    if others:
        folder = shlex.quote(str(folder_of(file.path)))
        warnings.append(
            f"{file.path}: ignored {', '.join(others)}, because mdvec found the file by itself; "
            f"to allow them, run 'mdvec trust {folder}'"
        )
    return harmless


def _is_harmless(section: str, key: str, schema: Schema) -> bool:
    danger = extra_of(schema.keys(section)[key], TRUSTING)
    return section.partition(".")[0] in _HARMLESS and not danger


def _read_file(
    path: Path | None, cwd: Path, env: Mapping[str, str], docs_dir: Path | None
) -> ConfigFile | None:
    if path is None and (named := env.get(_ENV_CONFIG)):
        try:
            return _read(cwd / expanded(named))
        except ConfigError as error:
            msg = f"{_ENV_CONFIG}: {error}"
            raise ConfigError(msg, hint=error.hint) from error
    if path is not None:
        return _read(cwd / expanded(path))
    found = None
    if docs_dir is not None:
        from mdvec.config.foreign import find_in_folder

        found = config_in(docs_dir) or find_in_folder(docs_dir)
    found = found or find_config(cwd)
    return _read(found) if found else None


def _read(path: Path) -> ConfigFile:
    from mdvec.config.syntax import read_config  # most people have no file

    return read_config(path)


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
            problems.append(f"{variable}: {sentences(error, error.hint)}")
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


def is_users_own(file: Path) -> bool:
    """Return True if a file that was found is the user's: theirs by its place, or in a folder they trust."""
    return file.parent == own_config().parent or is_trusted(folder_of(file))


def _untrusted(
    found: Mapping[Place, Setting], values: Mapping[str, Mapping[str, object]], schema: Schema
) -> Iterator[str]:
    """Yield what a file of others sets that only the user may set."""
    for (section, key), setting in found.items():
        if setting.is_own or key not in values[section]:
            continue
        danger = extra_of(schema.keys(section)[key], TRUSTING)
        # As 'mdvec config show' prints them, and what holds without a file.
        defaults = (schema.default(section, key), default_cache_dir(), str(default_database()))
        if not _is_harmless(section, key, schema) and values[section][key] not in defaults:
            yield f"{setting.origin}: {dotted(section, key)}" + (f" ({danger})" if danger else "")


def _untrusted_error(file: Path, untrusted: Sequence[str]) -> UntrustedConfigError:
    shown = list(untrusted[:_MAX_NAMED_KEYS])
    if len(untrusted) > len(shown):
        shown.append(f"and {len(untrusted) - len(shown)} more")
    names = "\n".join(f"  {each}" for each in shown)
    msg = f"mdvec found {file} by itself, and it sets more than how documents are cut and shown:\n{names}"
    hint = (
        f"If you trust its author, run 'mdvec trust {shlex.quote(str(file.parent))}', or name the file with "
        f"--config or {_ENV_CONFIG}. Otherwise set what you need in {own_config()}."
    )
    return UntrustedConfigError(msg, hint=hint, folder=str(file.parent))
