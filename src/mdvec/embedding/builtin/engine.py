"""What runs the model: the port, with two implementations."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from mdvec.embedding.interface import Matrix


class Prefix(StrEnum):
    """What the model was trained to see in front of a text."""

    QUERY = "query: "
    PASSAGE = "passage: "


class Engine(Protocol):
    """Turns texts into vectors; may be used by several threads."""

    def embed(self, texts: Sequence[str], prefix: Prefix) -> Matrix:
        """Embed texts of any length.

        A text longer than the model's window is embedded in windows whose mean, weighted by their
        tokens, is taken.

        Args:
            texts: Any strings.
            prefix: Put in front of each.

        Returns:
            float32, shape (len(texts), dim), rows of unit length in the order given, finite.
        """
        ...
