"""The models of a workspace: which there are, what one would cost, and the change to another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial

from mdvec.config.schema import PriceSettings
from mdvec.types.collection import EmbeddingSpec
from mdvec.types.model_report import ImportEstimate, ListedModel, ModelChange
from mdvec.types.report import ImportMode, Progress
from mdvec.workspace.database import Database
from mdvec.workspace.estimating import estimate
from mdvec.workspace.model_list import checked, list_models
from mdvec.workspace.switching import cancel_change, change_model
from mdvec.workspace.wiring import Parts


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
        *,
        mode: ImportMode = ImportMode.UPDATE,
        allow_empty: bool = False,
        max_tokens: int | None = None,
        overlap_tokens: int | None = None,
        progress: Progress | None = None,
    ) -> ImportEstimate:
        """Say what an import would embed, and what that would cost; nothing is written.

        Args:
            name: The collection.
            mode: As for an import; ``new`` is like ``update``.
            allow_empty: Believe a source that is missing or holds nothing.
            max_tokens: Largest chunk, instead of what the collection says.
            overlap_tokens: Overlap of chunks, likewise.
            progress: Is told how far it is; what it raises ends it.

        Raises:
            CollectionNotFoundError: If there is no such collection.
            SourceError: If its source cannot be read.
            ConfigError: If the collection or the configuration names a model that there is not.
        """
        with self._listening(progress) as listener:
            return estimate(
                self._database.collection(name),
                store=self._database.store(),
                parts=self._parts,
                prices=self._prices,
                mode=mode,
                allow_empty=allow_empty,
                max_tokens=max_tokens,
                overlap_tokens=overlap_tokens,
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
        with self._listening(progress) as listener:
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
