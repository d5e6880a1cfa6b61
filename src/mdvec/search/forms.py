"""A Japanese question in two forms: as a question, and as a passage that could be its answer."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from mdvec.embedding.interface import Embedder, embed_all
from mdvec.text.language import is_unspaced_query

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = tuple[NDArray[np.float32], NDArray[np.float32] | None]
    """The vector of a question alone, and the one by which chunks are ranked where that is another."""

# What the form of a passage weighs beside the question itself (docs/decisions/0039-two-forms.md).
_PASSAGE_WEIGHT = 0.3


def embed_forms(text: str, embedder: Embedder) -> Vectors:
    """Embed a question, and move a copy of its vector towards its other form, where it has one.

    In English the other form loses on some sets what it gains on others. A service would be paid for another
    text, and waited for again.

    Args:
        text: The question.
        embedder: The model.

    Returns:
        The vector of the question alone, and the one by which chunks are ranked, None where that is the same;
        both float32, shape (dim,), unit length.

    Raises:
        EmbeddingError: If the model does not answer.
    """
    import numpy as np

    if not is_unspaced_query(text) or embedder.requests_for([text]):
        return embedder.embed_query(text), None
    # Each form keeps one core busy.
    with ThreadPoolExecutor(1, thread_name_prefix="mdvec-embed") as pool:
        other = pool.submit(embed_all, embedder, [text])
        vector = embedder.embed_query(text)
        moved = vector + _PASSAGE_WEIGHT * other.result()[0]
    return vector, np.asarray(moved / np.linalg.norm(moved), np.float32)
