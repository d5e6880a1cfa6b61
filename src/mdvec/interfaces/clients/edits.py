"""Adding mdvec to the text of a client's file, and removing it.

JSON is written anew in the layout it had; what Python's parser would lose, such as comments, is refused. In
TOML only the lines of the entry change. Every result is read again and compared before it may be written.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from mdvec.errors import ClientFileError
from mdvec.interfaces.clients.catalogue import Client
from mdvec.interfaces.clients.files import ClientFile, backup_path

_JsonObject = dict[str, Any]

LAUNCH_KEYS = {
    "type",
    "command",
    "args",
    "env",
    "url",
    "httpUrl",
    "headers",
    "bearer_token_env_var",
    "env_vars",
}
"""The members of an entry that lead to a server. All others belong to the user."""

_JSON_INDENT = re.compile(r'^([ \t]+)"', re.MULTILINE)
_JSON_LIST = re.compile(r'\[\n(?:"(?:[^"\\]|\\.)*"|[^"\[\]{}])*\]')
_TOML_BLANK = r"(?:[ \t]*(?:\#[^\n]*)?\r?\n)*"
# One table of an entry, without the blank lines and comments that follow. A text in which this matches
# something else, such as a part of a string, does not pass the comparison.
_TOML_TABLE = (
    r"[ \t]*\[[ \t]*{key}[ \t]*\.[ \t]*[\"']?{name}[\"']?[ \t]*(?:\.[^\n]*)?\][^\n]*\n"
    rf"(?:[^\n]*\n)*?(?={_TOML_BLANK}(?:[ \t]*\[|\Z))"
)


def installed(file: ClientFile, client: Client, name: str, entry: Mapping[str, Any]) -> str:
    """Return the text of a file with an entry for mdvec; what the user added to the entry stays.

    Returns:
        The text; the same one when there is nothing to change.

    Raises:
        ClientFileError: If the file cannot be edited without loss.
    """
    data, servers = _load(file, client)
    old = servers.get(name)
    new = _merged(old if isinstance(old, dict) else {}, entry)
    if old == new:
        return file.text
    expected = {**data, client.servers_key: {**servers, name: new}}
    if client.is_toml:
        text = _toml_with(file.text, client, name, new, exists=name in servers)
    else:
        text = _json_text(expected, file.text)
    return _checked(file, client, text, expected)


def uninstalled(file: ClientFile, client: Client, name: str) -> str | None:
    """Return the text of a file without the entry for mdvec.

    Returns:
        The text; the same one when there is no entry. None when the file was made for the entry alone.

    Raises:
        ClientFileError: If the file cannot be edited without loss.
    """
    data, servers = _load(file, client)
    if name not in servers:
        return file.text
    rest = {key: value for key, value in servers.items() if key != name}
    expected = {**data, client.servers_key: rest}
    text = _toml_without(file.text, client, name) if client.is_toml else _json_text(expected, file.text)
    text = _checked(file, client, text, expected)
    is_empty = not _filled(expected, client) and "#" not in text
    return None if is_empty and _is_made_by_install(file, client, name) else text


def _is_made_by_install(file: ClientFile, client: Client, name: str) -> bool:
    """Return True if a file began with an entry as ``mdvec install`` writes it, and nothing else."""
    if file.path.is_symlink():
        return False
    oldest = backup_path(file.path)  # as the file was before its first change
    try:
        text = oldest.read_text(encoding="utf-8") if oldest.exists() else file.text
        data, servers = _load(replace(file, text=text), client)
    except (OSError, ValueError, ClientFileError):
        return False
    entry = servers.get(name)
    if not isinstance(entry, dict) or not entry.keys() <= LAUNCH_KEYS:
        return False
    rest = {key: value for key, value in servers.items() if key != name}
    is_alone = not _filled({**data, client.servers_key: rest}, client)
    return is_alone and ("command" not in entry or "mdvec" in entry.get("args", ()))


def snippet(client: Client, name: str, entry: Mapping[str, Any]) -> str:
    """Return an entry as it stands in an otherwise empty file."""
    data = {client.servers_key: {name: dict(entry)}}
    return tomlkit.dumps(data) if client.is_toml else _json_text(data, "")


def _load(file: ClientFile, client: Client) -> tuple[_JsonObject, _JsonObject]:
    """Return what a file holds, and the servers in it by name."""
    try:
        if client.is_toml:
            data: Any = tomllib.loads(file.text)
        else:
            text = file.text if file.text.strip() else "{}"
            data = json.loads(text, object_pairs_hook=_unique, parse_constant=_refused)
            _check_numbers(text, data)
    except (ValueError, RecursionError) as error:
        form = "TOML" if client.is_toml else "JSON without comments and trailing commas"
        msg = f"{file.path}: mdvec edits {form} without loss, which is not possible here: {error}"
        raise ClientFileError(msg) from error
    servers = data.get(client.servers_key, {}) if isinstance(data, dict) else None
    if not isinstance(servers, dict):
        msg = f"{file.path}: an object {client.servers_key!r} is expected to hold the servers by name"
        raise ClientFileError(msg)
    return data, servers


def _unique(pairs: list[tuple[str, Any]]) -> _JsonObject:
    data = dict(pairs)
    if len(data) < len(pairs):
        msg = "an object has a key twice"
        raise ValueError(msg)
    return data


def _refused(constant: str) -> None:
    msg = f"{constant} is no JSON"
    raise ValueError(msg)


def _check_numbers(text: str, data: object) -> None:
    """Raise if a number would be written in another way than it is, which may be another number.

    Raises:
        ValueError: If one would.
    """

    def as_written(text: str) -> object:
        return json.loads(text, parse_int=str, parse_float=str)

    if as_written(text) != as_written(json.dumps(data)):
        msg = "a number in it would be written in another way"
        raise ValueError(msg)


def _merged(old: _JsonObject, entry: Mapping[str, Any]) -> _JsonObject:
    new = {key: value for key, value in old.items() if key not in LAUNCH_KEYS} | dict(entry)
    # A running server has its own environment, and Codex refuses an entry with both.
    if "command" in entry and isinstance(old.get("env"), dict):
        new["env"] = old["env"] | entry.get("env", {})
    if "command" in entry and isinstance(old.get("env_vars"), list):
        new["env_vars"] = list(dict.fromkeys([*old["env_vars"], *entry.get("env_vars", [])]))
    return {key: new[key] for key in (*old, *new) if key in new}


def _checked(file: ClientFile, client: Client, text: str, expected: _JsonObject) -> str:
    try:
        after, _ = _load(replace(file, text=text.encode().decode()), client)
    except (ClientFileError, UnicodeEncodeError):
        after = {}
    if _filled(after, client) == _filled(expected, client):
        return text
    msg = f"{file.path}: {client.servers_key!r} is written in a way that cannot be edited safely"
    raise ClientFileError(msg)


def _filled(data: _JsonObject, client: Client) -> _JsonObject:
    """Return the data without an empty table of servers, which TOML drops."""
    return {key: value for key, value in data.items() if value or key != client.servers_key}


def _json_text(data: _JsonObject, like: str) -> str:
    """Return JSON with the indent, the lists on one line and the line ends of another text."""
    indent = _JSON_INDENT.search(like)
    text = json.dumps(data, ensure_ascii=False, indent=indent[1] if indent else 2)

    def as_before(found: re.Match[str]) -> str:
        line = json.dumps(json.loads(found[0]), ensure_ascii=False)
        return line if line in like else found[0]

    text = _JSON_LIST.sub(as_before, text) + ("\n" if like.endswith("\n") or not like else "")
    return text.replace("\n", _newline(like))


def _toml_parts(text: str, client: Client, name: str) -> tuple[str, str, str]:
    """Return the text before the tables of an entry, these tables, and the text after them."""
    text = text if not text or text.endswith("\n") else text + _newline(text)
    table = _TOML_TABLE.format(key=client.servers_key, name=name)
    found = re.search(rf"^{table}(?:{_TOML_BLANK}{table})*", text, re.MULTILINE)
    return (text[: found.start()], found[0], text[found.end() :]) if found else (text, "", "")


def _toml_with(text: str, client: Client, name: str, new: _JsonObject, *, exists: bool) -> str:
    if not exists:
        gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        return text + (gap + snippet(client, name, new)).replace("\n", _newline(text))
    before, table, after = _toml_parts(text, client, name)
    try:
        document: Any = tomlkit.parse(table.replace("\r\n", "\n"))
        entry = document[client.servers_key][name]
    except TOMLKitError:
        return text  # which does not pass the comparison
    for key in [key for key in entry if key not in new]:
        del entry[key]
    for key, value in new.items():
        if key in entry and isinstance(value, dict):
            entry[key].update(value)
        elif entry.get(key) != value:
            entry[key] = value
    changed: str = document.as_string()
    return before + changed.replace("\n", _newline(text)) + after


def _toml_without(text: str, client: Client, name: str) -> str:
    before, table, after = _toml_parts(text, client, name)
    if not table:
        return text
    before, after, newline = before.rstrip("\r\n"), after.lstrip("\r\n"), _newline(text)
    return before + (newline if before else "") + (newline if before and after else "") + after


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
