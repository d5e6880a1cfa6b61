"""Claims: the exclusive right of one process to bring a collection, or the whole store, up to date."""

from __future__ import annotations

import os
import platform
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from msgspec.structs import replace

from mdvec import run
from mdvec.clock import now_ms
from mdvec.errors import CollectionNotFoundError, WriterBusyError
from mdvec.types.collection import Collection
from mdvec.types.report import Activity

H = TypeVar("H")

_POLL_S = 0.1
_MOMENT_S = 1.0  # the least wait for a transaction, which is short, even if no wait for a claim is wanted


class Claim:
    """A claim of this process. It holds while a lock does that ends with the process.

    Attributes:
        collection_id: The collection; None for the lease on the store.
        activity: The work, for people who wait.
        wait_s: How long to wait for transactions of other processes, in seconds.
    """

    def __init__(self, collection: Collection | None, purpose: str, wait_s: float) -> None:
        name = "" if collection is None else collection.name
        self.collection_id = None if collection is None else collection.id
        self.activity = Activity(name, purpose, os.getpid(), platform.node(), now_ms())
        self.wait_s = max(wait_s, _MOMENT_S)
        self._shown: Activity | None = None

    def due(self) -> Activity | None:
        """Return the work that others have to be shown now; None if they know it."""
        if self._shown is self.activity:
            return None
        self._shown = self.activity
        return self._shown

    def report(self, stage: str, done: int, total: int) -> None:
        """Set the progress of the work; the next transaction shows it to processes that wait."""
        self.activity = replace(self.activity, stage=stage, done=done, total=total)

    def deleted(self) -> CollectionNotFoundError:
        """Return the error for a collection that was deleted, say by the process that was waited for."""
        return CollectionNotFoundError(f"the collection {self.activity.collection!r} was deleted")

    def lost(self) -> WriterBusyError:
        """Return the error of a writer whose claim does not hold any more."""
        return WriterBusyError(f"the claim was lost while {self.activity.purpose}")


class Claims(ABC, Generic[H]):
    """The claims of this process on a store."""

    def __init__(self) -> None:
        self._held: dict[Claim, H] = {}

    @abstractmethod
    def _take(self, claim: Claim) -> Activity | None:
        """Take a claim and return None, or return the work of its holder."""

    @abstractmethod
    def _release(self, claim: Claim) -> None:
        """Release a claim, if it is held."""

    @contextmanager
    def hold(self, collection: Collection | None, purpose: str, *, wait_s: float) -> Iterator[Claim]:
        """Wait for a claim and hold it for as long as the context lasts; see ``Store.claim``.

        Raises:
            WriterBusyError: If it is still claimed then; the message names who, since when and how far.
            ImportStoppedError: If the run is cancelled meanwhile.
        """
        claim = Claim(collection, purpose, wait_s)
        deadline = time.monotonic() + wait_s
        while (activity := self._take(claim)) is not None:
            left_s = deadline - time.monotonic()
            message = str(activity)
            if left_s <= 0:
                raise WriterBusyError(message)
            run.current().report(run.Stage.WAIT, 0, 0, message)
            run.current().sleep(min(_POLL_S, left_s))
        try:
            yield claim
        finally:
            self._release(claim)

    def release_all(self) -> None:
        """Release all claims."""
        for claim in list(self._held):
            self._release(claim)
