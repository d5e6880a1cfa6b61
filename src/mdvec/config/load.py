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
from msgspec.structs import FieldInfo

from mdvec import registry
from mdvec.config.paths import (
    CONFIG_NAME,
    FOREIGN_NAMES,
    default_cache_dir,
    default_database,
    folder_of,
    own_config,
)
from mdvec.config.schema import Config
from mdvec.config.syntax import read_config
from mdvec.config.trust import is_trusted
from mdvec.config.validation import Schema, Setting, dotted, extra_of, make, members, settings_in, usable
from mdvec.errors import ConfigError, UntrustedConfigError, meant_or_known, sentences
from mdvec.files import expanded
from mdvec.settings import TRUSTING

if TYPE_CHECKING:
    from mdvec.config.foreign import Translation

DEFAULT_ORIGIN = "default"
"""Origin of a value that is not set."""

_ENV_PREFIX = "MDVEC_"
_ENV_CONFIG = "MDVEC_CONFIG"
# The sections that a file which came with a folder may set: how documents are cut, filtered and shown. The
# others could read, send, run or write something.
_HARMLESS = frozenset({"chunking", "search", "scanner", "display", "mcp"})
_MAX_NAMED_KEYS = 10


class LoadedConfig(Struct, frozen=True):
    """The settings in force, and where they came from.

    Attributes:
        config: The settings.
        path: The file that was read; None when there is none.
        origins: ``path:line`` or the name of a variable, by dotted key, of all that is set.
    """

    config: Config
    path: Path | None = None
    origins: Mapping[str, str] = field(default_factory=dict)


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
    schema = Schema(Config)
    problems: list[str] = []
    found: dict[str, Setting] = {}
    foreign: Translation | None = None
    if file := _file(path, cwd, env, docs_dir):
        from mdvec.config.foreign import shown_names, translated  # most people have no file

        foreign = translated(file)
        found = settings_in(read_config(file), schema, problems) if foreign is None else {**foreign.settings}
    warnings = [*foreign.warnings(file)] if file and foreign else []
    in_environment = _from_env(env, cwd, schema, problems)
    if foreign is not None:
        in_use = (found | in_environment).get("store.vectors")
        index = "" if in_use is None else str(in_use.value).partition(":")[0]
        warnings += _unused_left_out(found, index, schema)
    found |= in_environment
    values = usable(found, schema, problems)
    if problems:
        raise ConfigError("\n".join(problems))
    is_own = file is None or path is not None or bool(env.get(_ENV_CONFIG)) or is_users_own(file)
    in_file = {} if is_own else {name: value for name, value in values.items() if name not in in_environment}
    untrusted = [name for name, value in in_file.items() if _needs_trust(name, value, schema)]
    if file is not None and untrusted:
        if foreign is None:
            raise _untrusted_error(file, untrusted, found, schema)
        # Its user did not write it for mdvec: the rest counts.
        warnings.append(
            f"{file}: ignored {shown_names(untrusted)}, because mdvec found the file by itself; "
            f"to allow them, run 'mdvec trust {shlex.quote(str(folder_of(file)))}'"
        )
        for name in untrusted:
            del found[name], values[name]
    extensions = {
        name: make(kind, values, name)
        for name, kind in schema.sections.items()
        if name not in Config.__struct_fields__ and schema.keys(name)
    }
    return LoadedConfig(
        make(
            Config,
            values,
            extension_sections=extensions,
            from_environment=frozenset(in_environment),
            warnings=tuple(warnings),
        ),
        file,
        {name: setting.origin for name, setting in found.items()},
    )


def every_setting(loaded: LoadedConfig) -> Iterator[tuple[str, object, str]]:
    """Yield the dotted name of every setting, its value, and its origin.

    Those of the extensions that come with mdvec are among them, and those of other extensions that are set.
    """
    schema = Schema(Config)
    schema.add_builtins()
    for name in loaded.config.extension_sections:
        schema.find(name)
    order = [*schema.sections]
    # Each extension behind the section that it extends.
    for section in sorted(order, key=lambda name: order.index(name.partition(".")[0])):
        values = getattr(loaded.config, section, None) or loaded.config.extension_sections.get(section)
        for key in schema.keys(section):
            name = dotted(section, key)
            item = schema.settings[name]
            value = _default(item) if values is None else getattr(values, item.name)
            yield name, value, loaded.origins.get(name, DEFAULT_ORIGIN)


def _unused_left_out(found: dict[str, Setting], in_use: str, schema: Schema) -> Iterator[str]:
    """Leave out settings of vector indexes not in use, and yield why: their libraries may be missing.

    The sections of all other settings are added to the schema.
    """
    unused: dict[tuple[str, str], list[str]] = {}
    for name, setting in [*found.items()]:
        section, _, _ = name.rpartition(".")
        index = section.removeprefix("store.")
        if index in (section, in_use) or not registry.has("vector_indexes", index):
            schema.find(section)
        else:
            del found[name]
            file, colon, place = setting.origin.rpartition(": ")
            unused.setdefault((index, file + colon), []).append(place)
    for (index, file), places in unused.items():
        from mdvec.config.foreign import without_effect  # few people have such settings

        yield f'{file}{without_effect(places)} without [store] vectors = "{index}"'


def _default(item: FieldInfo) -> object:
    return item.default if item.default_factory is msgspec.NODEFAULT else item.default_factory()


def _file(path: Path | None, cwd: Path, env: Mapping[str, str], docs_dir: Path | None) -> Path | None:
    """Return the file to read; None when there is none."""
    if path is not None:
        return cwd / expanded(path)
    if named := env.get(_ENV_CONFIG):
        if not (cwd / expanded(named)).exists():
            msg = f"{_ENV_CONFIG}: {cwd / expanded(named)}: No such file or directory"
            raise ConfigError(msg)
        return cwd / expanded(named)
    for folder in (*([] if docs_dir is None else [docs_dir]), cwd, *cwd.parents):
        if (folder / CONFIG_NAME).is_file():
            return folder / CONFIG_NAME
        if any((folder / name).is_file() for name in FOREIGN_NAMES):
            from mdvec.config.foreign import find_in_folder  # few people have one

            if found := find_in_folder(folder):
                return found
    return own_config() if own_config().is_file() else None


def _from_env(env: Mapping[str, str], cwd: Path, schema: Schema, problems: list[str]) -> dict[str, Setting]:
    found: dict[str, Setting] = {}
    for variable, value in sorted(env.items()):
        if not value or variable == _ENV_CONFIG or not variable.upper().startswith(_ENV_PREFIX):
            continue
        try:
            section, key = _place_of(variable.upper(), schema)
        except ConfigError as error:
            problems.append(f"{variable}: {sentences(error, error.hint)}")
            continue
        name = schema.setting(section, key)
        if name in found:
            problems.append(f"{variable} sets the same as {found[name].origin}; give one of them")
        elif name in schema.settings:
            parts = [part.strip() for part in value.split(",") if part.strip()]
            is_list = _is_list(schema.settings[name].type)
            found[name] = Setting(parts if is_list else value, variable, cwd, is_text=True)
        elif key:
            near = {each: _variable(section, each) for each in schema.keys(section)}
            hint = schema.key_hint(section, key) or meant_or_known(key, near)
            problems.append(f"unknown variable {variable}; {hint}")
    return found


def _place_of(variable: str, schema: Schema) -> tuple[str, str]:
    """Return the section and the key that a variable is for; the longest section that fits is meant.

    Names of other packages' extensions are only looked up where ours do not fit. Both are empty for a
    variable of something else.
    """
    place = ("", "")
    for names_of in (registry.builtin_names, registry.names):
        for name in sorted(schema.names(names_of), key=len, reverse=True):
            start = _variable(name, "")
            if name and variable.startswith(start) and schema.keys(section := schema.find(name) or ""):
                key = variable.removeprefix(start).lower()
                place = (section, key)
                break
        if schema.setting(*place) in schema.settings:
            break
    return place


def _variable(section: str, key: str) -> str:
    return f"{_ENV_PREFIX}{re.sub('[.-]', '_', section)}_{key}".upper()


def _is_list(kind: Any) -> bool:
    return any(typing.get_origin(getattr(member, "__origin__", member)) is tuple for member in members(kind))


def is_users_own(file: Path) -> bool:
    """Return True if a file that was found is the user's: theirs by its place, or in a folder they trust."""
    return file.parent == own_config().parent or is_trusted(folder_of(file))


def _needs_trust(name: str, value: object, schema: Schema) -> bool:
    """Return True if only the user may set a setting to a value."""
    item = schema.settings[name]
    if name.partition(".")[0] in _HARMLESS and not extra_of(item.type, TRUSTING):
        return False
    # Defaults change nothing; 'mdvec config show' prints these places for them.
    return value not in (_default(item), default_cache_dir(), str(default_database()))


def _untrusted_error(
    file: Path, untrusted: Sequence[str], found: Mapping[str, Setting], schema: Schema
) -> UntrustedConfigError:
    names = ""
    for name in untrusted[:_MAX_NAMED_KEYS]:
        danger = extra_of(schema.settings[name].type, TRUSTING)
        names += f"\n  {found[name].origin}: {name}" + (f" ({danger})" if danger else "")
    if more := len(untrusted[_MAX_NAMED_KEYS:]):
        names += f"\n  and {more} more"
    msg = f"mdvec found {file} by itself, and it sets more than how documents are cut and shown:{names}"
    hint = (
        f"If you trust its author, run 'mdvec trust {shlex.quote(str(file.parent))}', or name the file with "
        f"--config or {_ENV_CONFIG}. Otherwise set what you need in {own_config()}."
    )
    return UntrustedConfigError(msg, hint=hint, folder=str(file.parent))
