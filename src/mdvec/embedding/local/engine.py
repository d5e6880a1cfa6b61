"""What runs a loaded model, and in what role it sees a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Role(StrEnum):
    """What a text is to the model."""

    QUERY = "query"
    PASSAGE = "passage"


@dataclass(frozen=True, slots=True)
class Prompts:
    """What stands before a text of each role."""

    query: str = ""
    passage: str = ""

    def of(self, role: Role) -> str:
        """Return the one of a role."""
        return self.query if role is Role.QUERY else self.passage


class Engine(Protocol):
    """A model in memory. Used by one thread at a time."""

    def encode(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """Run one batch.

        Args:
            texts: At least one, all short enough to be seen whole.
            role: What they are.

        Returns:
            float32, shape (len(texts), n), as the model gives it: of any length.

        Raises:
            EmbeddingError: If the model cannot be run.
        """
        ...

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text as the model sees it, without prefix and markers."""
        ...

    def free(self) -> None:
        """Give the memory back; the engine is not used again."""
        ...
