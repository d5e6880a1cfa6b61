"""Reads TOML, YAML and JSON into plain values, with the line of every key; and writes values as TOML."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from mdvec.errors import ConfigError

if TYPE_CHECKING:
    import yaml

KeyPath = tuple[str, ...]

# Sections, tables in them, and settings: all the levels that a configuration has.
_LEVELS = 3
_MAX_BYTES = 250_000
# n aliases expand to at most about e^(n/e) values.
_MAX_ALIASES = 20
# The time to read YAML grows with the square of its depth.
_MAX_DOTS = 1_000
_MAX_DEPTH = 50
_TOML_MULTILINE = re.compile(r'"""(?:[^\\]|\\.)*?"""|\'\'\'.*?\'\'\'', re.DOTALL)
_TOML_TABLE = re.compile(r"\s*\[\[?([^\[\]]+)\]\]?\s*(?:#.*)?$")
_TOML_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}:,\[\]]')


class ConfigFile(Struct, frozen=True):
    """A configuration file as it is written.

    Attributes:
        path: Where it was read from.
        values: Its top-level table, not checked.
        lines: 1-based line of each key, by its path from the top.
    """

    path: Path
    values: dict[str, object]
    lines: dict[KeyPath, int]

    def place(self, *key: str) -> str:
        """Return ``path:line`` of a key, or of the nearest key above it."""
        for length in range(len(key), 0, -1):
            if key[:length] in self.lines:
                return f"{self.path}:{self.lines[key[:length]]}"
        return str(self.path)


def read_config(path: Path) -> ConfigFile:
    """Read a configuration file; its suffix says how it is written.

    Raises:
        ConfigError: If it cannot be read, or is not well-formed; the message names path and line.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(_MAX_BYTES + 1)
        text = raw.decode("utf-8-sig")
    except OSError as error:
        msg = f"{path}: {error.strerror}"
        raise ConfigError(msg) from error
    except UnicodeDecodeError as error:
        msg = f"{path}: not UTF-8 (byte {error.start})"
        raise ConfigError(msg) from error
    if len(raw) > _MAX_BYTES:
        msg = f"{path}: a configuration file has at most {_MAX_BYTES:,} bytes"
        raise ConfigError(msg)
    parse = _PARSERS.get(path.suffix.lower())
    if parse is None:
        msg = f"{path}: a configuration file ends in .toml, .yaml, .yml or .json"
        raise ConfigError(msg)
    try:
        values, lines = parse(path, text.replace("\r\n", "\n"))
    except RecursionError as error:
        raise _broken(path, 1, "tables or lists are nested too deeply") from error
    if values is None:  # an empty YAML file
        values = {}
    if not isinstance(values, dict):
        msg = f"{path}: expected sections such as [search], found {type(values).__name__}"
        raise ConfigError(msg)
    return ConfigFile(path, {str(key): value for key, value in values.items()}, lines)


def toml_value(value: object) -> str:
    """Write a value as TOML has it, on one line."""
    match value:
        case dict():
            inner = ", ".join(f"{json.dumps(str(key))} = {toml_value(each)}" for key, each in value.items())
            return f"{{{inner}}}"
        case list():
            return f"[{', '.join(map(toml_value, value))}]"
        case _:  # JSON's strings, numbers and truth values are TOML's, but for one character
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _parse_toml(path: Path, text: str) -> tuple[object, dict[KeyPath, int]]:
    for number, row in enumerate(text.splitlines(), start=1):
        if row.count(".") > _MAX_DOTS:  # the time that a key takes grows with the square of its parts
            raise _broken(path, number, "tables or lists are nested too deeply")
    try:
        return tomllib.loads(text), dict(_toml_lines(text))
    except tomllib.TOMLDecodeError as error:
        # Python 3.11 to 3.13 give the place in the message alone.
        found = re.search(r"line (\d+)", str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        raise _broken(path, line, str(error).partition(" (at ")[0]) from error
    except ValueError as error:  # a whole number of more digits than Python reads
        raise _broken(path, 1, str(error)) from error


def _parse_yaml(path: Path, text: str) -> tuple[object, dict[KeyPath, int]]:
    import yaml  # few files need it

    try:
        _check_yaml(path, text)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        return yaml.safe_load(text), _once(path, _yaml_lines(node))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _broken(path, mark.line + 1 if mark else 1, error.problem or "not YAML") from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: such as a date of month 13
        raise _broken(path, 1, str(error).splitlines()[0]) from error


def _check_yaml(path: Path, text: str) -> None:
    """Refuse what would take long, or all of the memory, before it is read."""
    import yaml

    depth = aliases = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        aliases += isinstance(event, yaml.AliasEvent)
        line = event.start_mark.line + 1 if event.start_mark else 1
        if aliases > _MAX_ALIASES:
            raise _broken(path, line, f"more than {_MAX_ALIASES} aliases")
        if depth > _MAX_DEPTH:
            raise _broken(path, line, "tables or lists are nested too deeply")


def _parse_json(path: Path, text: str) -> tuple[object, dict[KeyPath, int]]:
    try:
        return json.loads(text), _once(path, _json_lines(text))
    except json.JSONDecodeError as error:
        raise _broken(path, error.lineno, error.msg) from error
    except ValueError as error:  # a whole number of more digits than Python reads
        raise _broken(path, 1, str(error)) from error


_PARSERS = {".toml": _parse_toml, ".yaml": _parse_yaml, ".yml": _parse_yaml, ".json": _parse_json}


def _broken(path: Path, line: int, problem: str) -> ConfigError:
    kind = {".toml": "TOML", ".json": "JSON"}.get(path.suffix.lower(), "YAML")
    return ConfigError(f"{path}:{line}: not {kind}: {problem}", hint="Correct the file and run again.")


def _once(path: Path, lines: Iterator[tuple[KeyPath, int]]) -> dict[KeyPath, int]:
    """Refuse a section or setting that is set twice, as TOML does: one of them would be ignored."""
    known: dict[KeyPath, int] = {}
    for key, line in lines:
        if key in known and len(key) <= _LEVELS:
            raise _broken(path, line, f"{'.'.join(key)} is given twice, first in line {known[key]}")
        known[key] = line
    return known


def _toml_lines(text: str) -> Iterator[tuple[KeyPath, int]]:
    # Text between triple quotes may look like keys.
    masked = _TOML_MULTILINE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    table: KeyPath = ()
    for number, line in enumerate(masked.splitlines(), 1):
        if header := _TOML_TABLE.match(line):
            table = _toml_key(header[1])
            yield table, number
        elif key := _TOML_KEY.match(line):
            yield table + _toml_key(key[1]), number


def _toml_key(written: str) -> KeyPath:
    return tuple(part.strip().strip("\"'") for part in written.split("."))


def _yaml_lines(node: yaml.Node | None, above: KeyPath = ()) -> Iterator[tuple[KeyPath, int]]:
    import yaml

    # Deeper ones could loop through anchors.
    if isinstance(node, yaml.MappingNode) and len(above) < _LEVELS:
        for key, value in node.value:
            path = (*above, str(key.value))
            yield path, key.start_mark.line + 1
            yield from _yaml_lines(value, path)


def _json_lines(text: str) -> Iterator[tuple[KeyPath, int]]:
    path: list[str] = []
    previous: re.Match[str] | None = None
    key = ""
    line, counted = 1, 0
    for token in _JSON_TOKEN.finditer(text):
        match token[0]:
            case ":" if previous is not None:
                key = str(json.loads(previous[0]))
                line += text.count("\n", counted, previous.start())
                counted = previous.start()
                if len(path) <= _LEVELS:
                    yield (*path[1:], key), line
            case "{" | "[":
                path.append(key)
            case "}" | "]":
                path.pop()
        previous = token
