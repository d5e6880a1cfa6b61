"""A Japanese question in two forms: as a question, and as a passage that could be its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mdvec.embedding.interface import Embedder, embed_all
from mdvec.text.scripts import holds_unspaced

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# What the form of a passage weighs beside the question itself (docs/decisions/0039-two-forms.md).
_PASSAGE_WEIGHT = 0.3


def with_other_form(text: str, vector: NDArray[np.float32], embedder: Embedder) -> NDArray[np.float32] | None:
    """Return the vector by which chunks are ranked: that of a question, moved towards its other form.

    In English the other form loses on some sets what it gains on others. A service would be paid for another
    text, and waited for again.

    Args:
        text: The question.
        vector: Its vector, shape (dim,), unit length.
        embedder: Made the vector.

    Returns:
        float32, shape (dim,), unit length; None where the question alone ranks.

    Raises:
        EmbeddingError: If the model does not answer.
    """
    import numpy as np

    if not holds_unspaced(text) or embedder.requests_for([text]):
        return None
    moved = vector + _PASSAGE_WEIGHT * embed_all(embedder, [text])[0]
    return np.asarray(moved / np.linalg.norm(moved), np.float32)
