"""A connection to the server, and PostgreSQL's errors in our own words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

import psycopg
from psycopg import errors
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.types.string import StrDumper

from mdvec.errors import (
    ConfigError,
    DamagedDatabaseError,
    DatabaseFullError,
    ReadOnlyDatabaseError,
    StoreError,
    StoreUnavailableError,
    WriterBusyError,
)
from mdvec.stores.tables import storable
from mdvec.text.addresses import without_password

Connection = psycopg.Connection[tuple[Any, ...]]
"""A connection; to be used by one thread at a time."""

_CONNECT_TIMEOUT_S = 10
_APPLICATION = "mdvec"
_NUL = "\0"

_DAMAGE_HINT = (
    "Restore a backup. Or choose another schema ([store.postgres] schema), register your folders again with "
    "'mdvec tool add', and run 'mdvec import'. Your documents are not touched."
)

_CREDENTIALS = re.compile(r"(?<=://)(\S*)@")
_SECRET_PARAMETERS = re.compile(r"[?&][^=&\s]*(?:pass|key|token|secret)[^=&\s]*=([^&\s]+)", re.IGNORECASE)
_SEPARATORS = re.compile(r"[:/@?#\[\]]")


def stored_text(text: str) -> str:
    """Return a text as the database keeps it.

    What it cannot hold, NUL and lone surrogates, is replaced character by character: spans stay true, and
    words stay apart.
    """
    return storable(text).replace(_NUL, "\N{REPLACEMENT CHARACTER}")


def ids_text(ids: Iterable[int]) -> str:
    """Return ids as the text of an array; a list would be looked at number by number."""
    return "{" + ",".join(map(str, ids)) + "}"


class Binary(bytes):
    """A value as the server sends it in its binary format; a cast in the SQL names the type."""


class _TextDumper(StrDumper):
    def dump(self, obj: str) -> Any:
        return super().dump(stored_text(obj))


class _BinaryDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Binary) -> Binary:
        return obj


def connect(address: str, *, prepared_statements: bool) -> Connection:
    """Open a connection that leaves nothing on the server outside a transaction.

    Args:
        address: As libpq takes it; the rest comes from ``PG*`` variables, ``~/.pgpass`` and services.
        prepared_statements: Whether statements may be prepared, which a transaction pooler may not allow.

    Raises:
        ConfigError: If the address cannot be read.
        StoreUnavailableError: If the server cannot be reached.
    """
    try:
        known = psycopg.conninfo.conninfo_to_dict(address)
    except psycopg.ProgrammingError:
        msg = f"{without_password(address)} is not an address of PostgreSQL"
        hint = "Write postgresql://USER@HOST/DATABASE, special characters of a password as %XX."
        raise ConfigError(msg, hint=hint) from None  # the error repeats what it does not understand
    defaults: dict[str, Any] = {"connect_timeout": _CONNECT_TIMEOUT_S, "application_name": _APPLICATION}
    try:
        connection = psycopg.connect(
            address,
            autocommit=True,
            prepare_threshold=5 if prepared_statements else None,
            client_encoding="utf8",  # whatever PGCLIENTENCODING or the role says
            **{name: value for name, value in defaults.items() if name not in known},
        )
    except psycopg.OperationalError as error:
        msg = f"{without_password(address)} cannot be reached: {_reason(error, address)}"
        hint = f"Check the address, the user and the password. {StoreUnavailableError.default_hint}"
        raise StoreUnavailableError(msg, hint=hint) from None  # it may repeat a piece of the password
    connection.adapters.register_dumper(str, _TextDumper)
    connection.adapters.register_dumper(Binary, _BinaryDumper)
    return connection


@contextmanager
def translated(address: str) -> Iterator[None]:
    """Turn PostgreSQL's errors about the database into ours.

    Errors in our SQL and other bugs pass unchanged.

    Args:
        address: The address, of which the messages show no secret.

    Raises:
        StoreError: In place of the error.
    """
    try:
        yield
    except psycopg.Error as error:
        translation = _translation(error, address)
        if translation is None:
            raise
        raise translation from error


def without_secrets(message: str, address: str) -> str:
    """Take everything out of a message that is secret in an address, also in parts.

    libpq reads an address with an unescaped sign in its password in another way than its author, and repeats
    a piece of the password as a port or a host that cannot be used.
    """
    found = _CREDENTIALS.search(address)
    credentials = found[1] if found else ""
    secrets = {credentials.partition(":")[2], *_SECRET_PARAMETERS.findall(address)}
    if _SEPARATORS.search(credentials.partition(":")[2]):
        secrets.add(credentials)
    pieces = {part for secret in secrets for part in (secret, *_SEPARATORS.split(secret))}
    for piece in sorted({*pieces, *map(unquote, pieces)} - {""}, key=len, reverse=True):
        message = message.replace(piece, "***")
    return without_password(message)


def _translation(error: psycopg.Error, address: str) -> StoreError | None:
    place = without_password(address)
    match error:
        case errors.LockNotAvailable() | errors.QueryCanceled() | errors.DeadlockDetected():
            return WriterBusyError(f"{place} has been locked by another process for too long")
        case errors.InsufficientPrivilege() | errors.ReadOnlySqlTransaction():
            msg = f"{place} cannot be read or written with these rights: {_reason(error, address)}"
            return ReadOnlyDatabaseError(msg, hint="Use another role, or ask its owner for rights.")
        case errors.DiskFull():
            return DatabaseFullError(f"the disk is full: {place} cannot grow")
        case errors.DataCorrupted() | errors.IndexCorrupted():
            return DamagedDatabaseError(f"{place} is damaged: {_reason(error, address)}", hint=_DAMAGE_HINT)
        case errors.InternalError_():  # such as a type that is not known, of a damaged row
            msg = f"{place} failed: {_reason(error, address)}"
            return StoreError(msg, hint="Its log may say more. If it is damaged: run 'mdvec doctor'.")
        case errors.InsufficientResources():
            return StoreUnavailableError(f"{place} has no room for this: {_reason(error, address)}")
        case errors.UndefinedTable() | errors.InvalidSchemaName():  # while a backup is restored, for example
            return StoreUnavailableError(f"tables of {place} are missing: {_reason(error, address)}")
        case psycopg.OperationalError() | psycopg.InterfaceError():
            return StoreUnavailableError(f"the connection to {place} was lost: {_reason(error, address)}")
        case _:
            return None


def _reason(error: psycopg.Error, address: str) -> str:
    lines = str(error).strip().splitlines()
    return without_secrets(lines[0] if lines else type(error).__name__, address)
