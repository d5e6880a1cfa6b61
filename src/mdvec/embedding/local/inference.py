"""A model in memory, and the batches in which it reads texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from mdvec.embedding.interface import Role

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


Prompts = Mapping[Role, str]
"""The prefixes of texts."""


class Engine(Protocol):
    """A model in memory. Used by one thread at a time."""

    def encode(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """Run one batch.

        Args:
            texts: At least one, all short enough to be seen whole.
            role: Their role.

        Returns:
            float32, shape (len(texts), n), as the model gives it: of any length.

        Raises:
            EmbeddingError: If the model cannot be run.
        """

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text as the model sees it, without prefix and markers."""

    def free(self) -> None:
        """Give the memory back; the engine is not used again."""


def batches_by_length(lengths: Sequence[int], *, max_texts: int, max_tokens: int) -> Iterator[list[int]]:
    """Pack texts of like length together, so that little is padded.

    Args:
        lengths: Tokens of each text.
        max_texts: Most texts in a batch.
        max_tokens: Most tokens in a batch, padding included; a longer text is alone.

    Yields:
        Positions of the texts of a batch, each once; the longest first, so that a lack of memory shows soon.
    """
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if batch and (len(batch) == max_texts or lengths[batch[0]] * (len(batch) + 1) > max_tokens):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
