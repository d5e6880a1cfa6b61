"""Values that were computed from one version of a store, until there is another."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

_MOST_MEMORIZED = 50_000

T = TypeVar("T")

Known = dict[Hashable, object]


class Memo:
    """What is known of the newest version. Safe for several threads."""

    def __init__(self) -> None:
        self._of_version: tuple[int, Known] = (-1, {})

    def values(self, version: int) -> Known:
        """Return what is known of a version; to be added to."""
        known, values = self._of_version
        if known != version or len(values) > _MOST_MEMORIZED:
            values = {}
            if version >= known:  # a snapshot that began earlier does not push out what is newer
                self._of_version = version, values
        return values


class Memorizing:
    """Computes a value once for a version.

    Args:
        known: What is known of it; None where what is read may yet be undone.
    """

    def __init__(self, known: Known | None) -> None:
        self._known = known

    def memorized(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return what was computed for this version, or compute it now."""
        if self._known is None:
            return compute()
        if key not in self._known:
            self._known[key] = compute()
        value: T = self._known[key]  # type: ignore[assignment] # keys are used with one type each
        return value
