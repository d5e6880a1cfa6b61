"""The two forms of a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest

from mdvec.embedding.interface import Role
from mdvec.search.forms import embed_forms
from mdvec.testing.embedder import HashingEmbedder

if TYPE_CHECKING:
    from mdvec.embedding.interface import Parts

QUESTION = "添付ファイルの保存先を変える方法"


class TwoRoles(HashingEmbedder):
    """Embeds a passage in another way than a question."""

    def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT, titles: Sequence[str] = ()) -> Parts:
        """Put a word before passages."""
        yield from super().embed([f"passage {text}" for text in texts], role, titles)


class Service(HashingEmbedder):
    """Sends a request for each text."""

    def requests_for(self, texts: Sequence[str], titles: Sequence[str] = ()) -> int:
        """Return one for each text."""
        return len(texts)


def test_the_vector_lies_between_both_forms() -> None:
    """It is of unit length, nearest to the question, and nearer to the passage than the question is."""
    embedder = TwoRoles()
    passage = embedder.embed_query(f"passage {QUESTION}")
    plain, moved = embed_forms(QUESTION, embedder)
    assert moved is not None
    assert plain.tobytes() == embedder.embed_query(QUESTION).tobytes()
    assert np.linalg.norm(moved) == pytest.approx(1, abs=1e-6)
    assert moved @ plain > moved @ passage > plain @ passage


@pytest.mark.parametrize(
    ("question", "embedder"),
    [
        ("How do I change it?", HashingEmbedder()),
        ("How do I type 々 here?", HashingEmbedder()),
        (QUESTION, Service()),
    ],
)
def test_nothing_else_is_embedded(question: str, embedder: HashingEmbedder) -> None:
    """English questions, and those to a service that is paid, rank in one form; nothing is sent."""
    _, moved = embed_forms(question, embedder)
    assert moved is None
    assert embedder.embedded == []
