"""Reads TOML into plain values, with the line of every key; and writes values as TOML."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from mdvec.errors import ConfigError

KeyPath = tuple[str, ...]

_MAX_BYTES = 250_000
TOO_DEEP = "tables or lists are nested too deeply"
# The time that a key takes grows with the square of its parts.
_MAX_DOTS = 1_000
_MULTILINE = re.compile(r'"""(?:[^\\]|\\.)*?"""|\'\'\'.*?\'\'\'', re.DOTALL)
_TABLE = re.compile(r"\s*\[\[?([^\[\]]+)\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")


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
    """Read a TOML file.

    Raises:
        ConfigError: If it cannot be read, or is not well-formed; the message names path and line.
    """
    if path.suffix.lower() != ".toml":
        msg = f"{path}: a configuration file of mdvec ends in .toml"
        raise ConfigError(msg, hint="'mdvec config import FILE' translates the file of another program.")
    text = read_text(path)
    return ConfigFile(path, parsed(path, text, load_toml), dict(_lines(text)))


def read_text(path: Path) -> str:
    """Return the text of a configuration file, without carriage returns.

    Raises:
        ConfigError: If it cannot be read.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(_MAX_BYTES + 1)
        text = raw.decode("utf-8-sig")
    except OSError as error:
        msg = f"{path}: {error.strerror}"
        raise ConfigError(msg, hint="Check its path and its rights.") from error
    except UnicodeDecodeError as error:
        msg = f"{path}: not UTF-8 (byte {error.start})"
        raise ConfigError(msg) from error
    if len(raw) > _MAX_BYTES:
        msg = f"{path}: a configuration file has at most {_MAX_BYTES:,} bytes"
        raise ConfigError(msg)
    return text.replace("\r\n", "\n")


def parsed(path: Path, text: str, load: Callable[[str], Any]) -> Any:
    """Return the values of a text.

    Args:
        path: Of the file; its suffix names the language.
        text: The whole of it.
        load: Raises ValueError for a malformed text, with the line if it is known.

    Raises:
        ConfigError: If it is not well-formed; the message names path and line.
    """
    try:
        return load(text)
    except (ValueError, RecursionError) as error:
        found = re.search(r"line (\d+)|end of document", str(error))
        line = 1 if found is None else int(found[1] or text.count("\n") + 1)
        # The place in Python's messages, which is in ours already.
        problem = re.split(r" \(at |: line \d", str(error))[0]
        if isinstance(error, RecursionError):
            problem = TOO_DEEP
        language = {".toml": "TOML", ".json": "JSON"}.get(path.suffix.lower(), "YAML")
        msg = f"{path}:{line}: not {language}: {problem}"
        raise ConfigError(msg, hint="Correct the file and run again.") from error


def load_toml(text: str) -> dict[str, object]:
    """Return the values of a text in TOML.

    Raises:
        ValueError: If it is not well-formed.
    """
    for number, row in enumerate(text.splitlines(), start=1):
        if row.count(".") > _MAX_DOTS:
            msg = f"{TOO_DEEP} (at line {number})"
            raise ValueError(msg)
    return tomllib.loads(text)


def toml_value(value: object) -> str:
    """Write a value as TOML has it, on one line."""
    match value:
        case dict():
            inner = ", ".join(f"{json.dumps(str(key))} = {toml_value(each)}" for key, each in value.items())
            return f"{{{inner}}}"
        case list() | tuple():
            return f"[{', '.join(map(toml_value, value))}]"
        case _:  # JSON's strings, numbers and truth values are TOML's, but for one character
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _lines(text: str) -> Iterator[tuple[KeyPath, int]]:
    """Yield the line of each table and key that begins a line, by its path from the top."""
    # Text between triple quotes may look like keys.
    masked = _MULTILINE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    table: KeyPath = ()
    for number, line in enumerate(masked.splitlines(), 1):
        if header := _TABLE.match(line):
            table = _key(header[1])
            yield table, number
        elif key := _KEY.match(line):
            yield table + _key(key[1]), number


def _key(written: str) -> KeyPath:
    return tuple(part.strip().strip("\"'") for part in written.split("."))
