"""Reads settings by their schema, and lists what is wrong with each: of the configuration and of presets."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import FieldInfo, fields

from mdvec import registry
from mdvec.config.paths import absolute_location
from mdvec.config.schema import EXTENDED_SECTIONS, NO_SETTINGS, Config, section_of
from mdvec.config.syntax import ConfigFile, KeyPath
from mdvec.errors import ConfigError, meant_or_known, sentences
from mdvec.files import expanded
from mdvec.settings import PLACE, PRIVATE, SettingsSection, settings_kind
from mdvec.text.addresses import without_password

# Other names of sections and settings: those of token windows, of the options of the command line, and those
# by which the configuration and presets call the same thing. One counts where its setting exists.
_SECTION_SYNONYMS = {"database": "store", "model": "embedding"}
_SYNONYMS = {
    ("store", "path"): "location",
    ("chunking", "size"): "max_tokens",
    ("chunking", "chunk_size"): "max_tokens",
    ("chunking", "overlap"): "overlap_tokens",
    ("chunking", "chunk_overlap"): "overlap_tokens",
    ("chunking", "chunker"): "strategy",
    ("search", "k"): "limit",
    ("search", "limit"): "k",
}
# Names that people give to the key of a service, and the setting that names the variable which holds it.
_KEYS = {"api_key", "apikey", "key", "token"}
_KEY_VARIABLE = "api_key_env"
# Sections that have a table for each service.
_SERVICES = ("embedding", "rerank")
_MAX_SHOWN_CHARS = 60
# The place in a message of msgspec's.
_ENTRY = re.compile(r"(?:required field `(.+)`|unknown field `(.+)`)? - at `\$\[(\d+)\](?:\.(\w+))?")
# More than that are one mistake, such as another kind of file.
_MAX_PROBLEMS = 50

Made = TypeVar("Made", bound=Struct)


class Setting(Struct, frozen=True):
    """A value that was set.

    Attributes:
        value: As written.
        origin: Where it was written, for people.
        directory: What a relative path in it is relative to.
        is_text: Whether it was written as text whatever it is, as in a variable.
    """

    value: object
    origin: str
    directory: Path
    is_text: bool = False


class Schema:
    """The sections and settings that there are.

    The configuration has sections of extensions, too. They join when they are named: only then an extension
    is loaded.

    Attributes:
        sections: The type of each section, by its name; empty for the keys above all sections.
        settings: The type and the default of each setting, by its dotted name.

    Args:
        kind: The type that holds all sections.
    """

    def __init__(self, kind: type[Struct]) -> None:
        self._has_extensions = kind is Config
        self.sections: dict[str, type[Struct]] = {}
        self.settings: dict[str, FieldInfo] = {}
        self._add("", kind)
        if self._has_extensions:
            self.sections["sources"] = SettingsSection

    def _add(self, section: str, kind: type[Struct]) -> None:
        self.sections[section] = kind
        for item in fields(kind):
            if _is_section(item.type):
                self._add(dotted(section, item.encode_name), item.type)
            elif item.encode_name not in NO_SETTINGS:
                self.settings[dotted(section, item.encode_name)] = item

    def find(self, name: str) -> str | None:
        """Return the listed name of a section; None when there is none.

        Raises:
            ConfigError: If it is that of an extension which cannot be loaded.
        """
        name = _SECTION_SYNONYMS.get(name, name)
        if name in self.sections:
            return name
        above, _, last = name.rpartition(".")
        if not self._has_extensions or "." in above:
            return None
        for stage in EXTENDED_SECTIONS.get(above or "sources", ()):
            if registry.has(stage, last):
                listed = section_of(stage, last)
                if listed not in self.sections:
                    self._add(listed, settings_kind(registry.load(stage, last)))
                return listed
        return None

    def keys(self, section: str) -> list[str]:
        """Return the names of a section's own settings; none for an unknown section."""
        places = (name.rpartition(".") for name in self.settings)
        return [key for above, _, key in places if above == section]

    def names(self, names_of: Callable[[str], list[str]]) -> list[str]:
        """Return the names of all sections, other spellings included, without loading an extension."""
        found = [*self.sections, *_SECTION_SYNONYMS]
        if self._has_extensions:
            for section, stages in EXTENDED_SECTIONS.items():
                names = [name for stage in stages for name in names_of(stage)]
                found += [f"{section}.{name}" for name in names] + (names if section == "sources" else [])
        return found

    def add_builtins(self) -> None:
        """Add the sections of all extensions that come with mdvec."""
        for name in self.names(registry.builtin_names):
            self.find(name)

    def setting(self, section: str, key: str) -> str:
        """Return the dotted name of a setting of a section, which may be called by another one."""
        name = dotted(section, key)
        synonym = dotted(section, _SYNONYMS.get((section, key), key))
        return name if name in self.settings else synonym if synonym in self.settings else name

    def named(self, name: str) -> str | None:
        """Return the listed name of a setting that is named with its section; None when there is none."""
        above, _, key = name.rpartition(".")
        try:
            section = self.find(above)
        except ConfigError:
            return None
        found = None if section is None else self.setting(section, key)
        return found if found in self.settings else None

    def key_hint(self, section: str, key: str) -> str:
        """Return where a service's key goes, for those who write it here; empty for another key."""
        has_services = section in _SERVICES
        service = f"{section}.PROVIDER" if has_services else section
        has_keys = has_services or f"{section}.{_KEY_VARIABLE}" in self.settings
        if key.lower() not in _KEYS or not has_keys:
            return ""
        return f"keys are not kept in settings; {service}.{_KEY_VARIABLE} names the variable that holds it"

    def unknown(self, section: str, name: str, value: object) -> str:
        """Return what is wrong with a name that is not known in a section, or above all sections."""
        is_section = isinstance(value, dict) and not section
        unknown = f"unknown section [{name}]" if is_section else f"unknown setting {dotted(section, name)}"
        if hint := self.key_hint(section, name):
            return f"{unknown}; {hint}"
        if home := self._home(name):
            return f"{unknown}; {f'the setting {name}' if is_section else 'it'} belongs {home}"
        known = {} if is_section else {key: dotted(section, key) for key in self.keys(section)}
        if section:
            tables = [each for each in self.names(registry.names) if each.rpartition(".")[0] == section]
            known |= {each.rpartition(".")[2]: each for each in tables}
        else:
            known |= {each: f"[{each}]" for each in self.sections if self.keys(each) and each}
        return f"{unknown}; " + (meant_or_known(name, known) if known else f"[{section}] has no settings")

    def _home(self, key: str) -> str:
        """Return where a setting belongs, under whichever of its names; empty when there is none."""
        self.add_builtins()
        for section in self.sections:
            if self.setting(section, key) in self.settings:
                return f"in [{section}]" if section else "at the top, before the first [section]"
        return ""


def read_settings(file: ConfigFile, kind: type[Made], *, hint: str | None = None) -> Made:
    """Read a file that sets what it holds and nothing else.

    Raises:
        ConfigError: If anything in it cannot be used; the message has one line for each problem, with the
            file, the line, the setting and what is allowed.
    """
    schema = Schema(kind)
    problems: list[str] = []
    found = settings_in(file, schema, problems)
    values = usable(found, schema, problems)
    if problems:
        raise ConfigError("\n".join(problems), hint=hint)
    return make(kind, values)


def settings_in(file: ConfigFile, schema: Schema, problems: list[str]) -> dict[str, Setting]:
    """Return what a file sets, by dotted name; what is not known is added to the problems."""
    found: dict[str, Setting] = {}

    def add(table: dict[str, object], section: str, above: KeyPath) -> None:
        for name, value in table.items():
            if len(problems) >= _MAX_PROBLEMS:
                return
            path = (*above, name)
            origin = file.place(*path)
            setting = schema.setting(section, name)
            try:
                inner = None if setting in schema.settings else schema.find(dotted(section, name))
            except ConfigError as error:
                problems.append(f"{origin}: [{'.'.join(path)}]: {sentences(error, error.hint)}")
                continue
            if inner is not None and isinstance(value, dict):
                add(value, inner, path)
            elif inner is not None and name not in _SECTION_SYNONYMS:
                problems.append(f"{origin}: [{'.'.join(path)}] must be a table of settings")
            elif setting not in schema.settings:
                problems.append(f"{origin}: {schema.unknown(section, name, value)}")
            elif setting in found:
                same = f"{dotted(section, name)} sets the same as {found[setting].origin}"
                problems.append(f"{origin}: {same}; give one of them")
            else:
                found[setting] = Setting(value, origin, file.path.parent)

    add(file.values, "", ())
    return found


def usable(found: Mapping[str, Setting], schema: Schema, problems: list[str]) -> dict[str, object]:
    """Return the values of what is set, as the schema wants them; what cannot be used joins the problems."""
    values: dict[str, object] = {}
    for name, setting in found.items():
        kind = schema.settings[name].type
        try:
            values[name] = _converted(setting, kind)
        except msgspec.ValidationError as error:
            shown = _entry(error) if extra_of(kind, PRIVATE) else f", not {_shown(setting.value)}"
            problems.append(f"{setting.origin}: {name} must be {_allowed(kind)}{shown}")
    problems.extend(_wrong_sizes(values, found))
    return values


def make(kind: type[Made], values: Mapping[str, object], section: str = "", **more: Any) -> Made:
    """Make a section, and the sections in it, from the values of settings.

    Args:
        kind: The type of the section.
        values: By dotted name; those of other sections are left out.
        section: Its name; empty for what holds all sections.
        more: Further fields.
    """
    for item in fields(kind):
        name = dotted(section, item.encode_name)
        if _is_section(item.type):
            more[item.name] = make(item.type, values, name)
        elif name in values:
            more[item.name] = values[name]
    return kind(**more)


def dotted(section: str, key: str) -> str:
    """Return the name of a setting or a table, with the section in which it is."""
    return f"{section}.{key}" if section else key


def extra_of(kind: Any, name: str) -> Any:
    """Return an entry of the ``extra`` of a setting's type; None without one."""
    metas = (meta for member in members(kind) for meta in getattr(member, "__metadata__", ()))
    return next((meta.extra[name] for meta in metas if name in (meta.extra or {})), None)


def members(kind: Any) -> Iterator[Any]:
    """Yield the types a setting may have, without None."""
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        yield from (member for member in typing.get_args(kind) if member is not types.NoneType)
    else:
        yield kind


def _is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, SettingsSection)


def _converted(setting: Setting, kind: Any) -> object:
    def to_path(_: type, written: object) -> Path:
        if not isinstance(written, str) or not written:
            raise TypeError
        return setting.directory / expanded(written)

    value = msgspec.convert(setting.value, kind, strict=not setting.is_text, dec_hook=to_path)
    match extra_of(kind, PLACE):
        case "store":
            return absolute_location(str(value), setting.directory)
        case "vectors":
            name, colon, place = str(value).partition(":")
            return name + colon + (absolute_location(place, setting.directory) if place else "")
        case _:
            return value


def _wrong_sizes(values: Mapping[str, object], found: Mapping[str, Setting]) -> Iterator[str]:
    """Yield which sizes leave no room for anything new in a chunk, of all chunkers and of one."""
    for name, tokens in values.items():
        section, _, key = name.rpartition(".")
        if section.partition(".")[0] == "chunking" and key in ("overlap_tokens", "min_tokens"):
            largest = values.get(f"{section}.max_tokens")
            if isinstance(tokens, int) and isinstance(largest, int) and tokens >= largest:
                yield f"{found[name].origin}: {name} must be less than {section}.max_tokens ({largest})"


# Descriptions of types that have none, as other packages may declare them.
_PLAIN = {bool: "true or false", int: "a whole number", float: "a number", str: "a text", Path: "a path"}


def _allowed(kind: Any) -> str:
    member = next(members(kind))
    if isinstance(member, type) and issubclass(member, StrEnum):
        return "one of " + ", ".join(member)
    if typing.get_origin(member) is typing.Literal:
        return "one of " + ", ".join(typing.get_args(member))
    described = (meta.description for meta in getattr(member, "__metadata__", ()) if meta.description)
    return next(described, None) or _PLAIN.get(member, "of another type")


def _entry(error: msgspec.ValidationError) -> str:
    """Return which entry of a list is wrong, and what of it; empty when the setting itself is."""
    found = _ENTRY.search(str(error))
    if found is None:
        return ""
    missing, unknown, number, key = found.groups()
    what = f"has no {missing}" if missing else f"has an unknown key {unknown}" if unknown else "is wrong"
    return f"; entry {int(number) + 1} {what}{f' at {key}' if key else ''}"


def _shown(value: object) -> str:
    try:
        shown = without_password(repr(value))
    except ValueError:  # a whole number of more digits than Python writes
        return "a number of thousands of digits"
    return shown if len(shown) <= _MAX_SHOWN_CHARS else f"{shown[: _MAX_SHOWN_CHARS - 3]}…"
