"""A Japanese question in two forms: as a question, and as a passage that could be its answer."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from mdvec.embedding.interface import Embedder, embed_all
from mdvec.text.scripts import is_unspaced_query

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = tuple[NDArray[np.float32], NDArray[np.float32] | None]
    """The vector of the question, and the vector that ranks chunks, None if it is the same."""

# The weight of the passage form relative to the question form (docs/decisions/0039-two-forms.md).
_PASSAGE_WEIGHT = 0.3


def embed_forms(text: str, embedder: Embedder) -> Vectors:
    """Embed a question; a Japanese one also as a passage, for the vector that ranks.

    For English, the passage form loses on some test sets what it gains on others. With a service, it would
    cost another request.

    Args:
        text: The question.
        embedder: The model.

    Returns:
        The vector of the question, and the vector that ranks chunks, None if it is the same; both float32,
        shape (dim,), unit length.

    Raises:
        EmbeddingError: If the model fails.
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
