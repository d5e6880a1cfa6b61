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


def other_form(text: str) -> tuple[str, Role, float]:
    """Return the other form of a question, its role, and what it weighs.

    An English question without its function words is what a passage about it says. Anything else is embedded
    as if it were a passage itself.
    """
    if not holds_unspaced(text):
        content = " ".join(
            word for word in text.split() if word.strip(punctuation).casefold() not in STOP_WORDS
        )
        if content not in ("", " ".join(text.split())):
            return content, Role.QUERY, _CONTENT_WEIGHT
    return text, Role.DOCUMENT, _PASSAGE_WEIGHT


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

    form, role, weight = other_form(text)
    if embedder.requests_for([form]):
        return None
    moved = vector + weight * embed_all(embedder, [form], role)[0]
    return np.asarray(moved / np.linalg.norm(moved), np.float32)
