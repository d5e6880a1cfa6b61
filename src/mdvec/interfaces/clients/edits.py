"""Puts mdvec into the text of a client's file, and takes it out again."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from mdvec.errors import ClientFileError
from mdvec.interfaces.clients.catalogue import ENTRY_KEYS, Client
from mdvec.interfaces.clients.files import TextFile, backups_of, read_file
from mdvec.interfaces.clients.jsonc import SyntaxProblem, first_extension


def installed(file: TextFile, client: Client, name: str, entry: Mapping[str, object]) -> str:
    """Return the text of a file with an entry for mdvec.

    What the user added to an entry that is there already stays.

    Args:
        file: The client's file; it may not exist.
        client: The client.
        name: Of the entry.
        entry: The way to mdvec.

    Returns:
        The text; the same one when there is nothing to change.

    Raises:
        ClientFileError: If the file cannot be read as the client would, or not be edited safely.
    """
    before = _load(file, client)
    old = _servers(file, client, before).get(name)
    text = file.text
    expected: dict[str, Any] = copy.deepcopy(before)
    if isinstance(old, dict):
        kept = {key: value for key, value in old.items() if key not in ENTRY_KEYS}
        expected[client.servers_key][name] = {**kept, **entry}
        for key in old:
            if key in ENTRY_KEYS and key not in entry:
                text = _edit(file, client.syntax.remove_member, text, (client.servers_key, name, key))
        for key, value in entry.items():
            if old.get(key) != value:
                text = _edit(file, client.syntax.set_member, text, (client.servers_key, name, key), value)
    else:
        expected.setdefault(client.servers_key, {})[name] = dict(entry)
        text = _edit(file, client.syntax.set_member, text, (client.servers_key, name), dict(entry))
    return _verified(file, client, text, expected)


def uninstalled(file: TextFile, client: Client, name: str) -> str | None:
    """Return the text of a file without the entry for mdvec.

    Returns:
        The text; the same one when there is no entry. None when nothing but us was ever in the file.

    Raises:
        ClientFileError: If the file cannot be read as the client would, or not be edited safely.
    """
    before = _load(file, client)
    if name not in _servers(file, client, before):
        return file.text
    expected: dict[str, Any] = copy.deepcopy(before)
    del expected[client.servers_key][name]
    text = _edit(file, client.syntax.remove_member, file.text, (client.servers_key, name))
    text = _verified(file, client, text, expected)
    return None if _is_ours_alone(file, client, name, text) else text


def _load(file: TextFile, client: Client) -> dict[str, Any]:
    """Read a file as its client would."""
    try:
        value = client.syntax.load(file.text)
    except SyntaxProblem as problem:
        raise _failure(file, problem) from problem
    if client.plain and (line := first_extension(file.text)) is not None:
        msg = f"{file.path}:{line}: {client.title} reads JSON without comments and trailing commas alone"
        raise ClientFileError(msg)
    if not isinstance(value, dict):
        msg = f"{file.path}:1: an object is expected here"
        raise ClientFileError(msg)
    return value


def _servers(file: TextFile, client: Client, data: Mapping[str, Any]) -> Mapping[str, Any]:
    servers = data.get(client.servers_key, {})
    if not isinstance(servers, dict):
        msg = f"{file.path}: {client.servers_key!r} is expected to hold the servers by name"
        raise ClientFileError(msg)
    return servers


def _edit(file: TextFile, edit: Any, *args: object) -> str:
    try:
        text: str = edit(*args)
    except SyntaxProblem as problem:
        raise _failure(file, problem) from problem
    return text


def _failure(file: TextFile, problem: SyntaxProblem) -> ClientFileError:
    return ClientFileError(f"{file.path}:{problem.line}: {problem}")


def _verified(file: TextFile, client: Client, text: str, expected: dict[str, Any]) -> str:
    """Check that an edit did what it was to do, and nothing else, before anything is written."""
    try:
        after = client.syntax.load(text)
    except SyntaxProblem:
        after = None
    # Where the servers were one value of one line, TOML drops the empty rest of them.
    if after == expected or (
        not expected.get(client.servers_key) and after == _without_servers(expected, client)
    ):
        return text
    msg = f"{file.path}: {client.servers_key!r} is written in a way that cannot be edited safely"
    raise ClientFileError(msg, hint="Nothing was written. Edit the file by hand.")


def _without_servers(data: Mapping[str, Any], client: Client) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key != client.servers_key}


def _is_ours_alone(file: TextFile, client: Client, name: str, text: str) -> bool:
    """Whether the file was made for us: nothing is left in it, and no older copy was without us.

    A file that existed before us was copied when we came, and that copy does not name us.
    """
    left = client.syntax.load(text)
    if any(value for value in left.values()) or set(left) - {client.servers_key} or _has_remarks(text):
        return False
    for backup in backups_of(file.path):
        try:
            if name not in _servers(file, client, client.syntax.load(read_file(backup).text)):
                return False
        except (ClientFileError, SyntaxProblem):
            return False
    return True


def _has_remarks(text: str) -> bool:
    return "//" in text or "/*" in text or "#" in text
