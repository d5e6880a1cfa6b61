"""A client's file: reading and writing it, and adding mdvec to its text or removing it.

JSON is written anew in the layout it had; a file that would lose something, such as comments, is refused. In
TOML only the lines of the entry change. Every result is read again and compared before it may be written.
"""

from __future__ import annotations

import codecs
import contextlib
import difflib
import itertools
import json
import os
import re
import secrets
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomlkit
from msgspec import Struct
from msgspec.structs import replace
from tomlkit.exceptions import TOMLKitError

from mdvec import files
from mdvec.errors import ClientFileBusyError, ClientFileError
from mdvec.interfaces.clients.catalogue import Client


class ClientFile(Struct, frozen=True):
    """A file as it was read.

    Attributes:
        path: The file itself, behind symbolic links.
        data: Its bytes; None when there is no such file.
        text: Its characters, without a byte order mark, with its own line ends.
    """

    path: Path
    data: bytes | None
    text: str = ""


def read_file(path: Path) -> ClientFile:
    """Read a file that may not exist.

    Args:
        path: Absolute path; a link is followed, so that replacing the file leaves the link in place.

    Raises:
        ClientFileError: If it is not text in UTF-8.
        OSError: If it cannot be read.
    """
    target = Path(os.path.realpath(path))
    data = _bytes(target)
    try:
        return ClientFile(target, data, (data or b"").decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        msg = f"{target}: line {line} is not text in UTF-8"
        raise ClientFileError(msg) from error


def replace_file(file: ClientFile, text: str | None) -> Path | None:
    """Replace a file atomically, or remove it, after making a copy. Only its owner can read a new one.

    Args:
        file: The file as it was read.
        text: Its new characters; None to remove it.

    Returns:
        The copy of the old content; None when there was none.

    Raises:
        ClientFileError: If it is write-protected.
        ClientFileBusyError: If it changed since it was read; nothing was written then.
        OSError: If it cannot be written; it is as it was then.
    """
    _check_unchanged(file)
    # A rename needs no right to write the file, and its owner took that right away on purpose.
    if file.data is not None and not file.path.stat().st_mode & 0o222:
        msg = f"{file.path} is write-protected"
        raise ClientFileError(msg, hint="Nothing was written. Make it writable, or edit its origin.")
    backup = None if file.data is None else _back_up(file.path, file.data)
    fresh = file.path.with_name(f".{file.path.name}.{secrets.token_hex(4)}.tmp")
    try:
        if text is not None:
            file.path.parent.mkdir(parents=True, exist_ok=True)
            mark = codecs.BOM_UTF8 if file.data and file.data.startswith(codecs.BOM_UTF8) else b""
            _write_new(fresh, mark + text.encode(), like=file.path)
        # No lock is shared with the clients: the instant before the next statement remains.
        _check_unchanged(file)
        if text is None:
            file.path.unlink(missing_ok=True)
        else:
            files.replace(fresh, file.path)
    except OSError as error:
        error.filename = str(file.path)  # not the temporary file, which means nothing to the user
        raise
    finally:
        fresh.unlink(missing_ok=True)
    return backup


def backup_path(path: Path, number: int = 1) -> Path:
    """Return the path of a copy of a file; the first one is the oldest."""
    return path.with_name(f"{path.name}.mdvec-backup" + (f".{number}" if number > 1 else ""))


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _check_unchanged(file: ClientFile) -> None:
    if _bytes(file.path) != file.data:
        msg = f"{file.path} changed while it was edited"
        raise ClientFileBusyError(msg)


def _back_up(path: Path, data: bytes) -> Path:
    """Copy a file next to it, unless there is a copy with this content; no copy is overwritten."""
    for number in itertools.count(1):
        backup = backup_path(path, number)
        existing = _bytes(backup)
        if existing is None:
            _write_new(backup, data, like=path)
        if existing is None or existing == data:
            break
    return backup


def _write_new(path: Path, data: bytes, *, like: Path) -> None:
    """Write a file that must not exist, with mode and owner of another one if that exists."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        if like.exists():
            state = like.stat()
            if hasattr(os, "fchown") and (state.st_uid, state.st_gid) != (os.getuid(), os.getgid()):
                with contextlib.suppress(PermissionError):
                    os.fchown(descriptor, state.st_uid, state.st_gid)
            path.chmod(state.st_mode & 0o7777)
        stream.write(data)
        stream.flush()
        os.fsync(descriptor)


def difference(file: ClientFile, text: str | None) -> str:
    """Return the unified diff from a file to a text in its place; None means no file."""
    before = file.text.splitlines(keepends=True)
    after = (text or "").splitlines(keepends=True)
    old = "/dev/null" if file.data is None else str(file.path)
    new = "/dev/null" if text is None else str(file.path)
    lines = difflib.unified_diff(before, after, old, new)
    return "".join(
        each if each.endswith("\n") else f"{each}\n\\ No newline at end of file\n" for each in lines
    )


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
    """Return the text of a file with an entry for mdvec; additions of the user to the entry stay.

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
    """Return an entry as it is in an otherwise empty file."""
    data = {client.servers_key: {name: dict(entry)}}
    return tomlkit.dumps(data) if client.is_toml else _json_text(data, "")


def _load(file: ClientFile, client: Client) -> tuple[_JsonObject, _JsonObject]:
    """Return the data of a file, and the servers in it by name."""
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
    """Check that every number would be written as it is; another way may be another number.

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
