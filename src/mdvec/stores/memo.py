"""Remembers values that were computed from one version of a store, until the version changes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

_MAX_MEMORIZED = 50_000

T = TypeVar("T")

Known = dict[Hashable, object]


class Memo:
    """The values of the newest version. Safe for several threads."""

    def __init__(self) -> None:
        self._of_version: tuple[int, Known] = (-1, {})

    def values(self, version: int) -> Known:
        """Return the values of a version, a dict to add to."""
        known, values = self._of_version
        if known != version or len(values) > _MAX_MEMORIZED:
            values = {}
            if version >= known:  # an older snapshot must not replace newer values
                self._of_version = version, values
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
