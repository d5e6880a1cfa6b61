"""Chooses what torch computes on, and gives its memory back."""

from __future__ import annotations

import gc

import torch

from mdvec.embedding.memory import give_memory_back
from mdvec.errors import EmbedderUnavailableError

AUTO = "auto"


def choose_device(wanted: str, *, provider: str) -> torch.device:
    """Choose where a model runs.

    Args:
        wanted: ``cpu``, ``cuda``, ``cuda:1``, ``mps``, or ``auto`` for the fastest there is.
        provider: Whose setting it is, for what the user is told.

    Raises:
        EmbedderUnavailableError: If it is not there.
    """
    here = ["cpu"]
    if torch.backends.mps.is_available():
        here.insert(0, "mps")
    if torch.cuda.is_available():
        here.insert(0, "cuda")
    if wanted == AUTO:
        return torch.device(here[0])
    try:
        device = torch.device(wanted)
    except RuntimeError:
        device = None
    if device is not None and device.type in here:
        return device
    msg = f"torch finds no device {wanted!r} here"
    raise EmbedderUnavailableError(
        msg, hint=f"Set [embedding.{provider}] device to one of {', '.join([AUTO, *here])}."
    )


def use_threads(threads: int | None) -> None:
    """Limit the threads of this process; None leaves it to torch."""
    if threads is not None:
        torch.set_num_threads(threads)


def free_device(device: torch.device) -> None:
    """Give back what models that are gone have left."""
    gc.collect()  # modules refer to each other in circles
    if device.type == "cuda":
        torch.cuda.empty_cache()
    elif device.type == "mps":
        torch.mps.empty_cache()
    give_memory_back()
