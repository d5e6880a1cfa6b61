"""What loading with Hugging Face's libraries takes: quiet ones, and errors that say what to do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mdvec.errors import EmbedderUnavailableError, EmbeddingError

# What torch and transformers raise when a model cannot be loaded or run: they have no class of their own.
_REFUSALS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)
_MOST_CHARACTERS = 300


def prepare_libraries() -> None:
    """Set what these libraries read when they are first imported. What the user has set stands."""
    for name, value in (
        ("HF_HUB_DISABLE_TELEMETRY", "1"),
        # Texts are tokenised one batch at a time: its threads gain little, and complain after a fork.
        ("TOKENIZERS_PARALLELISM", "false"),
    ):
        os.environ.setdefault(name, value)


def silence_transformers() -> None:
    """Keep warnings and progress bars of transformers off the terminal; errors are raised all the same."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()


@contextmanager
def cannot_load(folder: Path, *, provider: str) -> Iterator[None]:
    """Tell what kept a model from being loaded.

    Raises:
        EmbedderUnavailableError: Whatever it was.
    """
    from safetensors import SafetensorError

    try:
        yield
    except (*_REFUSALS, SafetensorError) as error:
        msg = f"the model in {folder} cannot be loaded: {_shown(error)}"
        raise EmbedderUnavailableError(msg, hint=_hint(error, provider)) from error


@contextmanager
def cannot_run(folder: Path, *, provider: str) -> Iterator[None]:
    """Tell what kept a model from being run.

    Raises:
        EmbeddingError: Whatever it was.
    """
    try:
        yield
    except _REFUSALS as error:
        msg = f"the model in {folder} cannot be run: {_shown(error)}"
        hint = f"If memory is short, lower [embedding.{provider}] batch_size, or set device to 'cpu'."
        raise EmbeddingError(msg, hint=hint) from error


def _hint(error: Exception, provider: str) -> str:
    if "trust_remote_code" in str(error):
        return (
            "It comes with Python code of its own. Read it; if you trust it, set "
            f"[embedding.{provider}] trust_remote_code = true."
        )
    if isinstance(error, ImportError) and error.name:
        return f"Run: pip install {error.name}"
    if isinstance(error, MemoryError) or "out of memory" in str(error):
        return f"Choose a smaller model, or set [embedding.{provider}] device to 'cpu'."
    return "Get its files again, or choose another model."


def _shown(error: Exception) -> str:
    """Return the first paragraph: what follows is advice about other programs."""
    text = " ".join(str(error).strip().partition("\n\n")[0].split()) or type(error).__name__
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 1]}…"
