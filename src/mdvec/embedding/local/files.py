"""Finds the files of a model: in a folder of the user's, in the hub's cache, or on the hub."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from mdvec.embedding.local.layout import OTHER_FOLDERS, SETTINGS, WEIGHTS, has_weights, identity
from mdvec.errors import EmbedderUnavailableError

_HUB_ID = re.compile(r"(?:[A-Za-z0-9][\w.-]*/)?[A-Za-z0-9][\w.-]*")
_MAIN = "main"
_DIGITS_OF_A_COMMIT = 12


class ModelFiles(Protocol):
    """The files of one model, wherever they come from."""

    @property
    def name(self) -> str:
        """What the model is called in its space."""
        ...

    @property
    def folder(self) -> Path | None:
        """The user's folder, absolute; None on the hub."""
        ...

    @property
    def problem(self) -> EmbedderUnavailableError | None:
        """Why there are none and will be none; found without a network."""
        ...

    def settings(self) -> Path:
        """Return a folder with all but the weights.

        Raises:
            EmbedderUnavailableError: If they are not here and cannot be fetched.
        """
        ...

    def identity(self) -> str:
        """Return what tells this version of the model from others; may fetch the settings."""
        ...

    def fetch_weights(self, folder: Path, on_progress: Callable[[int], None]) -> None:
        """Have the weights beside the settings.

        Args:
            folder: Where the settings are.
            on_progress: Told the finished per cent, 0 to 100, of what has to be fetched.

        Raises:
            EmbedderUnavailableError: If they are not here and cannot be fetched.
        """
        ...


def locate(
    model: str, *, hub_dir: Path | None, revision: str | None, offline: bool, provider: str
) -> ModelFiles:
    """Tell folders from names on the hub.

    Args:
        model: A folder, or ``owner/name``.
        hub_dir: The hub's cache; None for the one that all programs of this user share.
        revision: A branch, a tag or a commit on the hub; None for ``main``.
        offline: Whether nothing is fetched.
        provider: Whose settings they are, for what the user is told.
    """
    path = Path(model).expanduser()
    if model.startswith((".", "~")) or path.is_absolute() or path.is_dir() or not _HUB_ID.fullmatch(model):
        return FolderFiles(path.absolute())
    return HubFiles(model, hub_dir, revision or _MAIN, offline=offline, provider=provider)


@dataclass(frozen=True, slots=True)
class FolderFiles:
    """A model in a folder of the user's; see :class:`ModelFiles`.

    Attributes:
        folder: Its absolute path.
    """

    folder: Path

    @property
    def name(self) -> str:
        """The folder's own name: a copy elsewhere is the same model."""
        return self.folder.name

    @property
    def problem(self) -> EmbedderUnavailableError | None:
        """What the folder lacks."""
        if not self.folder.is_dir():
            msg = f"there is no folder {self.folder} with a model"
        elif not has_weights(self.folder):
            msg = f"there are no weights of a model in {self.folder}"
        else:
            return None
        return EmbedderUnavailableError(
            msg, hint="Name a folder that has config.json and model.safetensors, or a model of the hub."
        )

    def settings(self) -> Path:
        """Return the folder."""
        if (problem := self.problem) is not None:
            raise problem
        return self.folder

    def identity(self) -> str:
        """Return a digest of the files."""
        return identity(self.settings())

    def fetch_weights(self, folder: Path, on_progress: Callable[[int], None]) -> None:
        """Do nothing: they are there, or the model has a problem."""


@dataclass(frozen=True, slots=True)
class HubFiles:
    """A model of the Hugging Face hub; see :class:`ModelFiles`.

    What is in the cache is used as it is: the hub is asked only for what is not there.

    Attributes:
        hub_id: ``owner/name``.
        hub_dir: The cache; None for the one that all programs of this user share.
        revision: A branch, a tag or a commit.
        offline: Whether nothing is fetched.
        provider: Whose settings these are.
    """

    hub_id: str
    hub_dir: Path | None
    revision: str
    offline: bool
    provider: str

    @property
    def name(self) -> str:
        """The id."""
        return self.hub_id

    @property
    def folder(self) -> None:
        """None: the cache may be anywhere."""

    @property
    def problem(self) -> EmbedderUnavailableError | None:
        """That it is not in the cache, where nothing may be fetched."""
        folder = self._snapshot()
        if not self._is_offline() or (folder is not None and has_weights(folder)):
            return None
        msg = f"the model {self.hub_id} is not on this machine, and nothing is to be downloaded"
        return EmbedderUnavailableError(
            msg,
            hint=f"Run 'hf download {self.hub_id}' where there is a network, "
            f"or leave out HF_HUB_OFFLINE and [embedding.{self.provider}] offline.",
        )

    def settings(self) -> Path:
        """Return the snapshot, fetching some small files when they are not here, or not all of them."""
        folder = self._snapshot()
        # Weights come last: without them an earlier download may have been stopped anywhere.
        return folder if folder is not None and has_weights(folder) else self._fetch(SETTINGS, _ignore)

    def identity(self) -> str:
        """Return the commit, which is the name of the snapshot."""
        return self.settings().name[:_DIGITS_OF_A_COMMIT]

    def fetch_weights(self, folder: Path, on_progress: Callable[[int], None]) -> None:
        """Fetch what is missing of the snapshot; safetensors where there are any."""
        for suffix in WEIGHTS:
            if not has_weights(folder):
                self._fetch((*SETTINGS, suffix), on_progress, commit=folder.name)
        if not has_weights(folder):
            msg = f"{self.hub_id} has no weights that can be loaded"
            raise EmbedderUnavailableError(msg, hint="Choose another model.")

    def _fetch(
        self, suffixes: Sequence[str], on_progress: Callable[[int], None], commit: str | None = None
    ) -> Path:
        if (problem := self.problem) is not None:
            raise problem
        from mdvec.embedding.local.hub import download

        return download(
            self.hub_id,
            revision=commit or self.revision,
            cache=self._cache(),
            patterns=[f"*{suffix}" for suffix in suffixes],
            ignored=[f"{folder}/*" for folder in OTHER_FOLDERS],
            on_progress=on_progress,
        )

    def _snapshot(self) -> Path | None:
        """Return where the revision is in the cache, if it is."""
        repository = self._cache() / f"models--{self.hub_id.replace('/', '--')}"
        try:
            commit = (repository / "refs" / self.revision).read_text().strip()
        except OSError:
            commit = self.revision
        snapshot = repository / "snapshots" / commit
        return snapshot if snapshot.is_dir() else None

    def _cache(self) -> Path:
        from mdvec.embedding.local.hub import default_cache

        return self.hub_dir or default_cache()

    def _is_offline(self) -> bool:
        from mdvec.embedding.local.hub import forbidden

        return self.offline or forbidden()


def _ignore(_percent: int) -> None:
    pass
