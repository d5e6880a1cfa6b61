"""A question in two forms: what is asked with all its words, and what it is about."""

from __future__ import annotations

from string import punctuation
from typing import TYPE_CHECKING

from mdvec.embedding.interface import Embedder, Role, embed_all
from mdvec.text.scripts import holds_unspaced
from mdvec.text.words import STOP_WORDS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# What the other form weighs beside the question itself (docs/decisions/0039-two-forms.md).
_CONTENT_WEIGHT = 0.7
_PASSAGE_WEIGHT = 0.43


def other_form(text: str) -> tuple[str, Role, float] | None:
    """Return the other form of a question, its role, and what it weighs; None for English keywords.

    An English question has one without its function words. A Japanese one cannot be taken apart so: it is
    embedded as if it were a passage.
    """
    if holds_unspaced(text):
        return text, Role.DOCUMENT, _PASSAGE_WEIGHT
    words = text.split()
    content = [word for word in words if word.strip(punctuation).casefold() not in STOP_WORDS]
    if not content or len(content) == len(words):
        return None
    return " ".join(content), Role.QUERY, _CONTENT_WEIGHT


def with_other_form(text: str, vector: NDArray[np.float32], embedder: Embedder) -> NDArray[np.float32] | None:
    """Return the vector by which chunks are ranked: that of a question, moved towards its other form.

    A service would be paid for another text, and waited for again: there is none then.

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

    form = other_form(text)
    if form is None or embedder.requests_for([form[0]]):
        return None
    content, role, weight = form
    moved = vector + weight * embed_all(embedder, [content], role)[0]
    return np.asarray(moved / np.linalg.norm(moved), np.float32)
