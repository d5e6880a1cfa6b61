"""The files of a model: in a user's folder, in the hub's cache, or on the hub."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, cast

from msgspec import Struct

from mdvec import run
from mdvec.embedding.local.layout import OTHER_FOLDERS, SETTINGS, WEIGHTS, has_weights, identity
from mdvec.embedding.local.model_settings import LocalModelSettings
from mdvec.errors import EmbedderUnavailableError
from mdvec.files import expanded

_HUB_ID = re.compile(r"(?:[A-Za-z0-9][\w.-]*/)?[A-Za-z0-9][\w.-]*")
_MAIN = "main"
_COMMIT_DIGITS = 12
_DOWNLOAD_SHARE = 90  # per cent of a download and loading
_BAR_OF_BYTES = "huggingface_hub.snapshot_download"  # there is another one, of what comes over the network


class FolderFiles(Struct, frozen=True):
    """A model in a user's folder.

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
        """The error that the folder has no model; None if it has one."""
        if not self.folder.is_dir():
            msg = f"there is no folder {self.folder} with a model"
        else:
            try:
                if has_weights(self.folder):
                    return None
            except EmbedderUnavailableError as error:
                return error
            msg = f"there are no weights of a model in {self.folder}"
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

    def fetch_weights(self, folder: Path) -> None:
        """Do nothing: without weights, the model has a :attr:`problem`."""


class HubFiles(Struct, frozen=True):
    """A model of the Hugging Face hub.

    Cached files are used as they are; only missing files are requested from the hub.

    Attributes:
        hub_id: ``owner/name``.
        hub_dir: The cache; None for the one that all programs of this user share.
        revision: A branch, a tag or a commit.
        offline: Whether nothing is fetched.
        section: Its settings, for errors.
    """

    hub_id: str
    hub_dir: Path | None
    revision: str
    offline: bool
    section: str
    folder: ClassVar[None] = None  # the cache may be anywhere

    @property
    def name(self) -> str:
        """The id."""
        return self.hub_id

    @property
    def problem(self) -> EmbedderUnavailableError | None:
        """The error that the model is not in the cache and nothing may be fetched; None otherwise."""
        from huggingface_hub import constants

        folder = self._snapshot()
        if not (self.offline or constants.HF_HUB_OFFLINE) or (folder is not None and has_weights(folder)):
            return None
        msg = f"the model {self.hub_id} is not on this machine, and downloads are off"
        return EmbedderUnavailableError(
            msg,
            hint=f"Run 'hf download {self.hub_id}' where there is a network, "
            f"or leave out HF_HUB_OFFLINE and [{self.section}] offline.",
        )

    def settings(self) -> Path:
        """Return a folder with all but the weights; missing small files are fetched.

        Raises:
            EmbedderUnavailableError: If they cannot be fetched.
        """
        folder = self._snapshot()
        # Weights come last: without them, an earlier download may be incomplete.
        return folder if folder is not None and has_weights(folder) else self._fetch(SETTINGS, self.revision)

    def identity(self) -> str:
        """Return the commit, which is the name of the snapshot."""
        return self.settings().name[:_COMMIT_DIGITS]

    def fetch_weights(self, folder: Path) -> None:
        """Fetch missing weights, and report the progress.

        Raises:
            EmbedderUnavailableError: If they cannot be fetched.
        """
        for suffix in WEIGHTS:
            if not has_weights(folder):
                self._fetch((*SETTINGS, suffix), folder.name, reports=True)
        if not has_weights(folder):
            msg = f"{self.hub_id} has no weights that can be loaded"
            raise EmbedderUnavailableError(msg, hint="Choose another model.")

    def _fetch(self, suffixes: Sequence[str], revision: str, *, reports: bool = False) -> Path:
        """Fetch files into the cache, and return the snapshot; its name is the commit."""
        if (problem := self.problem) is not None:
            raise problem
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError

        # Its bases are the errors of the HTTP library, of whichever one this version uses.
        http_errors = cast("tuple[type[Exception], ...]", HfHubHTTPError.__bases__)
        try:
            folder = snapshot_download(
                self.hub_id,
                revision=revision,
                cache_dir=self._cache(),
                allow_patterns=[f"*{suffix}" for suffix in suffixes],
                ignore_patterns=[f"{folder}/*" for folder in OTHER_FOLDERS],
                tqdm_class=_progress_bar(reports=reports),
                library_name="mdvec",
            )
        except (*http_errors, EntryNotFoundError, OSError, ValueError) as error:
            raise _fetch_error(self.hub_id, revision, error) from error
        return Path(folder)

    def _snapshot(self) -> Path | None:
        """Return the folder of the revision in the cache, if it is there."""
        repository = self._cache() / f"models--{self.hub_id.replace('/', '--')}"
        try:
            commit = (repository / "refs" / self.revision).read_text().strip()
        except OSError:
            commit = self.revision
        snapshot = repository / "snapshots" / commit
        return snapshot if snapshot.is_dir() else None

    def _cache(self) -> Path:
        from huggingface_hub import constants

        return self.hub_dir or Path(constants.HF_HUB_CACHE)


ModelFiles = FolderFiles | HubFiles
"""The files of one model, wherever they come from."""


def locate(model: str, settings: LocalModelSettings, section: str) -> ModelFiles:
    """Return the files of a model, given a folder or an id on the hub.

    Args:
        model: A folder, or ``owner/name``.
        settings: The hub's cache, the revision, and whether anything is fetched.
        section: The section of the settings, for errors.
    """
    path = expanded(model)
    if model.startswith((".", "~")) or path.is_absolute() or path.is_dir() or not _HUB_ID.fullmatch(model):
        return FolderFiles(path.absolute())
    return HubFiles(
        model, settings.hub_dir, settings.revision or _MAIN, offline=settings.offline, section=section
    )


def _fetch_error(hub_id: str, revision: str, error: Exception) -> EmbedderUnavailableError:
    from huggingface_hub import constants
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

    if isinstance(error, GatedRepoError):
        msg = f"{hub_id} is only available to people who have accepted its terms on the hub"
        hint = f"Accept them at {constants.ENDPOINT}/{hub_id}, then run 'hf auth login'."
    elif isinstance(error, RepositoryNotFoundError):
        msg = f"there is no model {hub_id}, neither as a folder here nor on the hub"
        hint = "Check its name; for one that is private run 'hf auth login'."
    elif isinstance(error, RevisionNotFoundError):
        msg = f"the model {hub_id} has no revision {revision!r}"
        hint = "Name a branch, a tag or a commit, or leave it out."
    else:
        reason = (str(error).strip().removeprefix("Got: ").splitlines() or [type(error).__name__])[0]
        msg = f"the model {hub_id} cannot be fetched from {constants.ENDPOINT}: {reason}"
        hint = f"Try again with a network, or run 'hf download {hub_id}' yourself."
    return EmbedderUnavailableError(msg, hint=hint)


def _progress_bar(*, reports: bool) -> type[Any]:
    """Return a progress bar that draws nothing, but reports the bytes written to the current run."""
    from huggingface_hub.utils import tqdm

    current = run.current()  # files come in threads

    class Reporting(tqdm):  # type: ignore[misc]
        def __init__(self, *args: Any, **options: Any) -> None:
            self.reports = reports and options.get("name") == _BAR_OF_BYTES
            self.percent = 0
            super().__init__(*args, **{**options, "disable": True})

        def update(self, n: float | None = 1) -> bool | None:
            self.n += n or 0  # a bar that is not drawn does not count by itself
            percent = min(_DOWNLOAD_SHARE, int(_DOWNLOAD_SHARE * self.n / self.total)) if self.total else 0
            if self.reports and percent > self.percent:
                self.percent = percent
                current.report(run.Stage.MODEL, percent, 100)
            return None

    return Reporting
