"""The work on one collection: where it writes, under which claim, and how it reports."""

from __future__ import annotations

from contextlib import AbstractContextManager

from msgspec import Struct

from mdvec import run
from mdvec.stores.interface import Claim, Store, Writer
from mdvec.types.collection import Collection


class Work(Struct, frozen=True):
    """An import or a change of model that is under way.

    Attributes:
        collection: What is worked on, as it was when the work began.
        store: What holds it.
        claim: The right to work on it.
    """

    collection: Collection
    store: Store
    claim: Claim

    def write(self) -> AbstractContextManager[Writer]:
        """Open a transaction under the claim."""
        return self.store.write(self.claim)

    def report(self, stage: run.Stage, done: int, total: int) -> None:
        """Report progress to the caller and to waiting processes; stop if the run is cancelled.

        Raises:
            ImportStoppedError: If the run was cancelled.
        """
        self.claim.report(stage, done, total)
        run.current().report(stage, done, total)
        run.current().check()
