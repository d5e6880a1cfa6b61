"""The two forms of a question."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from mdvec.embedding.interface import Role, embed_all
from mdvec.search.forms import other_form, with_other_form
from mdvec.testing.embedder import HashingEmbedder


@pytest.mark.parametrize(
    ("question", "form"),
    [
        ("How do I change the folder?", ("change folder?", Role.QUERY)),
        ("sync  history", None),
        ("what is it", None),
        ("the 設定 of sync", ("the 設定 of sync", Role.DOCUMENT)),
        ("バックアップの方法は？", ("バックアップの方法は？", Role.DOCUMENT)),
    ],
)
def test_the_other_form_is_the_content_or_a_passage(question: str, form: tuple[str, Role] | None) -> None:
    """An English question loses its function words, a Japanese one is a passage, keywords stay alone."""
    found = other_form(question)
    assert (found and found[:2]) == form


def test_the_vector_lies_between_both_forms() -> None:
    """It is of unit length, nearest to the question, and nearer to the other form than the question is."""
    embedder = HashingEmbedder()
    text = "How do I change the folder of attachments?"
    plain = embedder.embed_query(text)
    [content] = embed_all(embedder, ["change folder attachments?"], Role.QUERY)
    moved = with_other_form(text, plain, embedder)
    assert moved is not None
    assert np.linalg.norm(moved) == pytest.approx(1, abs=1e-6)
    assert moved @ plain > moved @ content > plain @ content


def test_no_service_is_paid_for_it() -> None:
    """Where a text costs a request, the question alone ranks, and nothing is sent."""

    class Service(HashingEmbedder):
        def requests_for(self, texts: Sequence[str], titles: Sequence[str] = ()) -> int:
            return len(texts)

    embedder = Service()
    assert with_other_form("検索の方法", embedder.embed_query("検索の方法"), embedder) is None
    assert embedder.embedded == []
