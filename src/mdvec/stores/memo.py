"""Remembers values that were computed from one version of a store, until the version changes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

_MAX_MEMORIZED = 50_000

T = TypeVar("T")

Known = dict[Hashable, object]

Readable = frozenset[str] | None
"""The names of the collections that a snapshot shows; None for all."""


class Memo:
    """The values of the newest version. Safe for several threads."""

    def __init__(self) -> None:
        self._of_version: tuple[int, dict[Readable, Known]] = (-1, {})

    def values(self, version: int, readable: Readable = None) -> Known:
        """Return the values of a version, as some collections show them: a dict to add to."""
        known, of_readable = self._of_version
        if known != version:
            of_readable = {}
            if version >= known:  # an older snapshot must not replace newer values
                self._of_version = version, of_readable
        values = of_readable.setdefault(readable, {})
        if len(values) > _MAX_MEMORIZED:
            values = of_readable[readable] = {}
        return values


class Memorizing:
    """Computes a value once for a version.

    Args:
        known: From :meth:`Memo.values`; None inside a writing transaction, which may be rolled back.
    """

    def __init__(self, known: Known | None) -> None:
        self._known = known

    def memorized(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the value for this version; compute it if it is not known."""
        if self._known is None:
            return compute()
        if key not in self._known:
            self._known[key] = compute()
        value: T = self._known[key]  # type: ignore[assignment] # keys are used with one type each
        return value
