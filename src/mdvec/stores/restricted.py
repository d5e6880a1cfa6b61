"""A store for someone who may read some of its collections, and change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from mdvec import run
from mdvec.errors import NotAllowedError, StoreError
from mdvec.stores.interface import Store, Team, View
from mdvec.stores.tables import Readable
from mdvec.types.store_report import PublishedVersion

_OWNER_HINT = "Its owner can run 'mdvec doctor'."


def refuse(*_: Any, **__: Any) -> NoReturn:
    """Refuse what would change something.

    Raises:
        NotAllowedError: Always.
    """
    raise NotAllowedError


class RestrictedStore:
    """A store whose snapshots show some of its collections; it stays open when this one is closed.

    Args:
        store: The whole store.
        names: The collections that may be read.
    """

    published: PublishedVersion | None = None
    team: Team | None = None
    size_bytes = 0
    """How much the other collections take is not shown."""

    write = staticmethod(refuse)
    claim = staticmethod(refuse)
    compact = staticmethod(refuse)
    write_copy = staticmethod(refuse)
    make_vector_indexes = staticmethod(refuse)

    def __init__(self, store: Store, names: frozenset[str]) -> None:
        self._store = store
        self._names = names

    @property
    def location(self) -> str:
        """Where it is."""
        return self._store.location

    @property
    def warnings(self) -> tuple[str, ...]:
        """That its answers may not be right, without a word on where it is."""
        return ("answers may lack something",)[: len(self._store.warnings)]

    @contextmanager
    def read(self, readable: Readable = None) -> Iterator[View]:
        """Open a snapshot of what may be read."""
        names = self._names if readable is None else self._names & readable
        with unplaced_errors(), self._store.read(names) as view:
            yield view

    def wait_for_change(self, version: int, *, timeout_s: float) -> int:
        """Return the version of the whole store as soon as it is not this one, or when time is over."""
        with unplaced_errors():
            return self._store.wait_for_change(version, timeout_s=timeout_s)

    def check(self) -> list[StoreError]:
        """Return that the store is damaged, without a word on what of it."""
        found = self._store.check()
        return [StoreError("a part of it cannot be read", hint=_OWNER_HINT)][: len(found)]

    def close(self) -> None:
        """Do nothing: the whole store stays open."""


@contextmanager
def unplaced_errors() -> Iterator[None]:
    """Replace errors of a store, which name its file or its server, by ones of the same kind that do not.

    What they say is in the log of the server.

    Raises:
        StoreError: In place of the error.
    """
    try:
        yield
    except StoreError as error:
        run.log_failure(error)
        shown = type(error)(hint=_OWNER_HINT)
        shown.is_logged = True
        raise shown from error
