"""The models of a workspace: which there are, what one would cost, and the change to another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any

from mdvec import run
from mdvec.config.schema import PriceSettings
from mdvec.types.collection import EmbeddingSpec
from mdvec.types.model_report import ImportEstimate, ListedModel, ModelChange
from mdvec.types.report import ImportOptions, ImportStage, Progress
from mdvec.workspace.database import Database
from mdvec.workspace.estimating import estimate
from mdvec.workspace.model_list import checked, list_models
from mdvec.workspace.switching import cancel_change, change_model
from mdvec.workspace.wiring import Parts


def from_run() -> Progress:
    """Report to the run that is bound: a temporary bridge."""
    current = run.current()

    def report(stage: ImportStage, done: int, total: int) -> None:
        current.check()
        current.report(run.Stage(stage.value), done, total)

    return report


class Models:
    """What can be asked about models, and done with them. A part of :class:`mdvec.workspace.Workspace`.

    Args:
        database: Whose collections they are.
        parts: Makes them.
        prices: The configuration's own prices.
        listening: Tells somebody how far a call is, and ends it when the workspace is closed.
    """

    def __init__(
        self,
        database: Database,
        parts: Parts,
        prices: PriceSettings,
        *,
        listening: Callable[[Progress | None], AbstractContextManager[Progress]],
    ) -> None:
        self._database = database
        self._parts = parts
        self._prices = prices
        self._listening = listening

    def known(self) -> list[ListedModel]:
        """Return the models that are known, and those that collections use besides."""
        everything = self._database.collections(include_disabled=True)
        return list_models(everything, self._parts, self._prices)

    def estimate(
        self,
        name: str,
        options: ImportOptions = ImportOptions(),  # noqa: B008 - frozen
        *,
        progress: Progress | None = None,
        **fields: Any,
    ) -> ImportEstimate:
        """Say what an import would embed, and what that would cost. A temporary bridge.

        Args:
            name: The collection.
            options: Of the import.
            progress: Is told how far it is.
            fields: Of the options.
        """
        options = replace(options, **fields)
        with self._listening(progress or from_run()) as listener:
            return estimate(
                self._database.collection(name),
                store=self._database.store(),
                parts=self._parts,
                prices=self._prices,
                mode=options.mode,
                allow_empty=options.allow_empty,
                max_tokens=options.max_tokens,
                overlap_tokens=options.overlap_tokens,
                progress=listener,
            )

    def use(
        self,
        spec: EmbeddingSpec,
        names: Sequence[str] = (),
        *,
        wait_s: float = 60.0,
        progress: Progress | None = None,
    ) -> Iterator[ModelChange]:
        """Change the model of collections, one after the other.

        The new vectors are made beside the old ones, which are searched until all are there. What ends it
        too early loses nothing: this, or the next import, goes on with it.

        Args:
            spec: The model; it is tried before anything is changed.
            names: The collections; all of them when empty.
            wait_s: How long to wait for another writer, in seconds.
            progress: Is told how far it is; what it raises ends it.

        Yields:
            What was done with each collection.

        Raises:
            CollectionNotFoundError: If one of them does not exist.
            ConfigError: If there is no such provider, or it does not offer this.
            EmbeddingError: If the model cannot be used here; the hint says how to mend it.
            WriterBusyError: If another process writes for longer than ``wait_s``.
            ImportStoppedError: If the workspace is closed meanwhile.
        """
        chosen = self._database.chosen(names, include_disabled=True)
        with self._listening(progress or from_run()) as listener:
            wanted = checked(spec, self._parts)
            for each in chosen:
                yield change_model(
                    wanted,
                    partial(self._database.collection, each.name),
                    store=self._database.store(),
                    parts=self._parts,
                    wait_s=wait_s,
                    progress=listener,
                )

    def cancel(self, names: Sequence[str] = ()) -> list[ModelChange]:
        """Forget the change to another model, and what was made for it.

        Who is at work on it, in whatever process, stops after a batch.

        Args:
            names: The collections; all of them when empty.

        Raises:
            CollectionNotFoundError: If one of them does not exist.
        """
        store = self._database.store()
        chosen = self._database.chosen(names, include_disabled=True)
        return [cancel_change(each, store=store, parts=self._parts) for each in chosen]
