"""The port of stage 4."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from mdvec.errors import EmbedderUnavailableError
from mdvec.model.space import EmbeddingSpace, Unrelated

if TYPE_CHECKING:  # numpy stays unloaded until a vector is made
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]
    """Shape (dim,), unit length."""
    Matrix = NDArray[np.float32]
    """Shape (n, dim), rows of unit length."""


class Embedder(Protocol):
    """Turns texts into unit vectors. Making one is cheap; the model loads on first need."""

    @property
    def space(self) -> EmbeddingSpace:
        """The space of its vectors; known without loading the model."""
        ...

    @property
    def unrelated(self) -> Unrelated:
        """The similarity of unrelated texts in this model: what a similarity has to be seen against."""
        ...

    @property
    def max_tokens(self) -> int:
        """Most tokens of a text that the model sees at once, prefixes and markers already taken off.

        Longer texts are embedded in windows whose mean is taken: nothing is cut off.
        """
        ...

    @property
    def problem(self) -> EmbedderUnavailableError | None:
        """Why it cannot be used here, found without loading the model; None when it can."""
        ...

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the user should know about how the model runs here; complete once it is loaded."""
        ...

    def token_ends(self, text: str) -> Sequence[int]:
        """Tokenise without markers; see :data:`mdvec.chunking.interface.TokenEnds`."""
        ...

    def embed_query(self, text: str) -> Vector:
        """Embed a question.

        Returns:
            float32, shape (dim,), unit length, finite.

        Raises:
            EmbedderUnavailableError: If the model cannot be loaded here.
        """
        ...

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Embed passages; any number, in any order of length.

        Returns:
            float32, shape (len(texts), dim), rows of unit length in the order given, finite.

        Raises:
            EmbedderUnavailableError: If the model cannot be loaded here.
        """
        ...

    def unload(self, *, idle_s: float) -> bool:
        """Free the memory of a model that was not used for so long; the next use loads it again.

        Args:
            idle_s: Seconds since its last use.

        Returns:
            Whether there was anything to free.
        """
        ...
