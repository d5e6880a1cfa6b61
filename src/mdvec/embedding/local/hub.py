"""Asks the Hugging Face hub."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from mdvec.embedding.local.loading import prepare_libraries
from mdvec.errors import EmbedderUnavailableError

prepare_libraries()

from huggingface_hub import constants  # noqa: E402 - it reads the environment when it is imported

_BAR_OF_BYTES = "huggingface_hub.snapshot_download"  # there is another one, of what comes over the network


def default_cache() -> Path:
    """Return the folder of models that all programs of this user share."""
    return Path(constants.HF_HUB_CACHE)


def forbidden() -> bool:
    """Tell whether the user's environment says that nothing is to be fetched."""
    return bool(constants.HF_HUB_OFFLINE)


def download(
    hub_id: str,
    *,
    revision: str,
    cache: Path,
    patterns: Sequence[str],
    ignored: Sequence[str],
    on_progress: Callable[[int], None],
) -> Path:
    """Fetch files of a model into the cache.

    Args:
        hub_id: ``owner/name``.
        revision: A branch, a tag or a commit.
        cache: The folder of models.
        patterns: Which files.
        ignored: Which of them not.
        on_progress: Told the finished per cent, 0 to 100.

    Returns:
        The snapshot; its name is the commit.

    Raises:
        EmbedderUnavailableError: If the hub cannot be reached, or does not give them.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        EntryNotFoundError,
        GatedRepoError,
        HfHubHTTPError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    # Its bases are the errors of the HTTP library, of whichever one this version uses.
    refused = cast("tuple[type[Exception], ...]", HfHubHTTPError.__bases__)
    try:
        folder = snapshot_download(
            hub_id,
            revision=revision,
            cache_dir=cache,
            allow_patterns=list(patterns),
            ignore_patterns=list(ignored),
            tqdm_class=_reporting_to(on_progress),
            library_name="mdvec",
        )
    except GatedRepoError as error:
        msg = f"the hub gives {hub_id} only to those who have accepted its terms"
        raise EmbedderUnavailableError(
            msg, hint=f"Accept them at {constants.ENDPOINT}/{hub_id}, then run 'hf auth login'."
        ) from error
    except RepositoryNotFoundError as error:
        msg = f"there is no model {hub_id}, neither as a folder here nor on the hub"
        raise EmbedderUnavailableError(
            msg, hint="Check its name; for one that is private run 'hf auth login'."
        ) from error
    except RevisionNotFoundError as error:
        msg = f"the model {hub_id} has no revision {revision!r}"
        raise EmbedderUnavailableError(
            msg, hint="Name a branch, a tag or a commit, or leave it out."
        ) from error
    except (*refused, EntryNotFoundError, OSError, ValueError) as error:
        msg = f"the model {hub_id} cannot be fetched from {constants.ENDPOINT}: {_first_line(error)}"
        raise EmbedderUnavailableError(
            msg, hint=f"Try again with a network, or run 'hf download {hub_id}' yourself."
        ) from error
    return Path(folder)


def _reporting_to(on_progress: Callable[[int], None]) -> type[Any]:
    """Make a progress bar that draws nothing, and reports the bytes that are written."""
    from huggingface_hub.utils import tqdm

    context = contextvars.copy_context()  # files come in threads; who listens is known to this one

    class Reporting(tqdm):  # type: ignore[misc]
        def __init__(self, *args: Any, **options: Any) -> None:
            self.reports = options.get("name") == _BAR_OF_BYTES
            self.percent = 0
            super().__init__(*args, **{**options, "disable": True})

        def update(self, n: float | None = 1) -> bool | None:
            self.n += n or 0  # a bar that is not drawn does not count by itself
            percent = min(100, int(100 * self.n / self.total)) if self.reports and self.total else 0
            if percent > self.percent:
                self.percent = percent
                context.copy().run(on_progress, percent)
            return None

    return Reporting


def _first_line(error: Exception) -> str:
    return (str(error).strip().removeprefix("Got: ").splitlines() or [type(error).__name__])[0]
