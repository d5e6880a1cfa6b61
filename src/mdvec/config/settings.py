"""Reads settings by their schema, and says what is wrong with each: of the configuration and of presets."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from mdvec.config.paths import expanded
from mdvec.config.schema import Section
from mdvec.config.syntax import ConfigFile
from mdvec.errors import ConfigError

Place = tuple[str, str]
"""Section and key of a setting; the section is empty above all sections, and dotted for a table in one."""

Sections = Mapping[str, Mapping[str, Any]]
"""The sections there are, with the type of each of their keys."""

# Other names of settings: those of token windows, of the options of the command line, and those by which
# the configuration and presets call the same thing. One counts where its setting exists.
_SYNONYMS = {
    ("chunking", "size"): "max_tokens",
    ("chunking", "chunk_size"): "max_tokens",
    ("chunking", "overlap"): "overlap_tokens",
    ("chunking", "chunk_overlap"): "overlap_tokens",
    ("chunking", "chunker"): "strategy",
    ("search", "k"): "limit",
    ("search", "limit"): "k",
}
# What people call the key of a service, and the setting that says where it is.
_KEYS = {"api_key", "apikey", "key", "token"}
_KEY_VARIABLE = "api_key_env"
_CREDENTIALS = re.compile(r"(?<=//)[^/@]+@")
_MAX_SHOWN_CHARS = 60

S = TypeVar("S", bound=Section)


@dataclass(frozen=True, slots=True)
class Setting:
    """A value that somebody set.

    Attributes:
        value: As written.
        origin: Where it was written, for people.
        directory: What a relative path in it is relative to.
        is_own: Whether the user wrote it, or named the file; False in a file that was found on the way up
            from the working directory, which may have come with somebody else's notes.
        is_text: Whether it was written as text whatever it is, as in a variable.
    """

    value: object
    origin: str
    directory: Path
    is_own: bool = True
    is_text: bool = False


def read_settings(file: ConfigFile, kind: type[S], *, hint: str | None = None) -> S:
    """Read a file that sets what it holds and nothing else.

    Args:
        file: The file.
        kind: What can be set in it.
        hint: What to do when it cannot be used.

    Raises:
        ConfigError: If anything in it cannot be used; the message has one line for each problem, with the
            file, the line, the setting and what is allowed.
    """
    sections = sections_of(kind)
    problems: list[str] = []
    given = settings_in(file, sections, problems)
    values = usable(given, sections, problems)
    if problems:
        raise ConfigError("\n".join(problems), hint=hint)
    return made(kind, values)


def sections_of(kind: type[Section]) -> dict[str, dict[str, Any]]:
    """Return the sections of a schema, in its order; tables in a section are dotted."""
    own = _own_keys(kind)
    return ({"": own} if own else {}) | dict(_sections_below(kind, ""))


def settings_in(file: ConfigFile, sections: Sections, problems: list[str]) -> dict[Place, Setting]:
    """Return what a file sets; what is not known is added to the problems."""
    given: dict[Place, Setting] = {}
    for name, value in file.values.items():
        if name in sections:
            _read_table(file, name, value, sections, given, problems)
        elif name in sections.get("", ()):
            given["", name] = Setting(value, file.place(name), file.path.parent)
        else:
            problems.append(f"{file.place(name)}: {_unknown_name(name, value, sections)}")
    return given


def usable(
    given: Mapping[Place, Setting], sections: Sections, problems: list[str]
) -> dict[str, dict[str, object]]:
    """Return the values of what is set, as the schema wants them; what cannot be used joins the problems."""
    values: dict[str, dict[str, object]] = {name: {} for name in sections}
    for (section, key), setting in given.items():
        kind = sections[section][key]
        try:
            values[section][key] = _converted(setting, kind)
        except msgspec.ValidationError:
            # Who took the one for the other has written the key itself there.
            found = "" if key == _KEY_VARIABLE else f", not {_shown(setting.value)}"
            problems.append(f"{setting.origin}: {dotted(section, key)} must be {_allowed(kind)}{found}")
    problems.extend(_wrong_sizes(values.get("chunking", {}), given))
    return values


def made(kind: type[S], values: Mapping[str, Mapping[str, object]], place: str = "") -> S:
    """Make a section from the values of its keys and of those of the tables in it.

    Args:
        kind: The section.
        values: By section and key.
        place: The dotted name of the section; empty for all of them.
    """
    inner = {
        name.replace("-", "_"): made(type_, values, dotted(place, name))
        for name, type_ in _field_types(kind).items()
        if _is_section(type_)
    }
    return kind(**values.get(place, {}), **inner)


def dotted(section: str, key: str) -> str:
    """Return the name of a setting or a table, with the section in which it is."""
    return f"{section}.{key}" if section else key


def key_called(key: str, section: str, sections: Sections) -> str:
    """Return the name of a setting of a section, which may be called by another one."""
    known = sections[section]
    name = _SYNONYMS.get((section, key), key)
    return name if key not in known and name in known else key


def key_hint(key: str, section: str, sections: Sections) -> str:
    """Say where a service's key goes, to who writes it here; empty when it is about something else."""
    if key.lower() not in _KEYS or _KEY_VARIABLE not in sections[section]:
        return ""
    return f"keys are not kept in settings; {section}.{_KEY_VARIABLE} names the variable that holds it"


def nearest(name: str, valid: Sequence[str] | Mapping[str, object]) -> list[str]:
    """Return the one name that somebody may have meant, or none."""
    return get_close_matches(name.lower(), list(valid), n=1, cutoff=0.5)


def suggestion(names: Sequence[str], *, close: bool) -> str:
    """Name what was meant, or else all there is."""
    return f"did you mean {names[0]}?" if close else f"known: {', '.join(names)}"


def members(kind: Any) -> Iterator[Any]:
    """Yield the types a setting may have, without None."""
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        yield from (member for member in typing.get_args(kind) if member is not types.NoneType)
    else:
        yield kind


def _read_table(
    file: ConfigFile,
    section: str,
    table: object,
    sections: Sections,
    given: dict[Place, Setting],
    problems: list[str],
) -> None:
    if not isinstance(table, dict):
        problems.append(f"{file.place(*section.split('.'))}: [{section}] must be a table of settings")
        return
    for key, value in table.items():
        name = key_called(str(key), section, sections)
        place = file.place(*section.split("."), str(key))
        if (section, name) in given:
            first = given[section, name].origin
            problems.append(f"{place}: {section}.{key} sets the same as {first}; give one of them")
        elif name in sections[section]:
            given[section, name] = Setting(value, place, file.path.parent)
        elif f"{section}.{name}" in sections:
            _read_table(file, f"{section}.{name}", value, sections, given, problems)
        else:
            hint = _nearest_key(str(key), section, sections)
            problems.append(f"{place}: unknown setting {section}.{key}; {hint}")


def _sections_below(kind: type[Section], above: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, inner in _field_types(kind).items():
        if _is_section(inner):
            yield dotted(above, name), _own_keys(inner)
            yield from _sections_below(inner, dotted(above, name))


def _own_keys(kind: type[Section]) -> dict[str, Any]:
    return {key: type_ for key, type_ in _field_types(kind).items() if not _is_section(type_)}


def _field_types(kind: type[Section]) -> dict[str, Any]:
    return {item.encode_name: item.type for item in msgspec.structs.fields(kind)}


def _is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Section)


def _converted(setting: Setting, kind: Any) -> object:
    def to_path(_: type, written: object) -> Path:
        if not isinstance(written, str) or not written:
            raise TypeError
        return setting.directory / expanded(written)

    return msgspec.convert(setting.value, kind, strict=not setting.is_text, dec_hook=to_path)


def _wrong_sizes(chunking: Mapping[str, object], given: Mapping[Place, Setting]) -> Iterator[str]:
    """Say which sizes leave no room for anything new in a chunk."""
    largest = chunking.get("max_tokens")
    for key in ("overlap_tokens", "min_tokens"):
        tokens = chunking.get(key)
        if isinstance(tokens, int) and isinstance(largest, int) and tokens >= largest:
            origin = given["chunking", key].origin
            yield f"{origin}: chunking.{key} must be less than chunking.max_tokens ({largest})"


def _allowed(kind: Any) -> str:
    member = next(members(kind))
    if isinstance(member, type) and issubclass(member, StrEnum):
        return "one of " + ", ".join(member)
    if member is Path:
        return "a path"
    if member is bool:
        return "true or false"
    return str(member.__metadata__[0].description)


def _shown(value: object) -> str:
    shown = _CREDENTIALS.sub("***@", repr(value))
    return shown if len(shown) <= _MAX_SHOWN_CHARS else f"{shown[: _MAX_SHOWN_CHARS - 3]}…"


def _nearest_key(key: str, section: str, sections: Sections) -> str:
    if hint := key_hint(key, section, sections):
        return hint
    if home := _home(key, sections):
        return f"it belongs {home}"
    tables = [name.rpartition(".")[2] for name in sections if name.rpartition(".")[0] == section]
    known = [*sections[section], *tables]
    near = nearest(key, known)
    return suggestion([f"{section}.{name}" for name in near or known], close=bool(near))


def _unknown_name(name: str, value: object, sections: Sections) -> str:
    """Say what is wrong with a name above all sections: that of a section, or of a setting without one."""
    is_table = isinstance(value, dict)
    unknown = f"unknown section [{name}]" if is_table else f"unknown setting {name}"
    if home := _home(name, sections):
        return f"{unknown}; {f'the setting {name}' if is_table else 'it'} belongs {home}"
    known = {} if is_table else {key: key for key in sections.get("", ())}
    known |= {section: f"[{section}]" for section in sections if section}
    near = nearest(name, known)
    return f"{unknown}; " + suggestion([known[each] for each in near or known], close=bool(near))


def _home(key: str, sections: Sections) -> str:
    """Say where a setting belongs, under whichever of its names; empty when there is none."""
    homes = [home for home, keys in sections.items() if key_called(key, home, sections) in keys]
    if not homes:
        return ""
    return f"in [{homes[0]}]" if homes[0] else "at the top, before the first [section]"
