"""How similar a model finds texts that have nothing to do with each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mdvec.embedding.interface import Role
from mdvec.embedding.unrelated import PASSAGES, QUESTIONS, measure_unrelated
from mdvec.testing.embedder import HashingEmbedder
from mdvec.text.scripts import is_unspaced

if TYPE_CHECKING:
    from mdvec.embedding.interface import Parts

HALF = len(QUESTIONS) // 2
SPACED, UNSPACED = slice(0, HALF), slice(HALF, None)


class Table(HashingEmbedder):
    """An embedder whose question and passage have the cosine similarity that a table says.

    Attributes:
        calls: How many texts it was given, each time.
    """

    def __init__(self, similarities: NDArray[np.float64]) -> None:
        """Take a row for each question and a column for each passage."""
        super().__init__(dimension=len(similarities))
        self._similarities = similarities
        self.calls: list[int] = []

    def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT, titles: Sequence[str] = ()) -> Parts:
        """Yield the unit vectors of the axes for the questions, and the columns for the passages."""
        self.calls.append(len(texts))
        assert (tuple(texts), titles) == (QUESTIONS if role is Role.QUERY else PASSAGES, ())
        rows = np.eye(len(texts)) if role is Role.QUERY else self._similarities.T
        yield range(len(texts)), np.asarray(rows, np.float32)


def test_texts_are_of_two_kinds() -> None:
    """The first half is written with spaces and the second without; no text occurs twice."""
    for texts in (QUESTIONS, PASSAGES):
        assert [is_unspaced(text) for text in texts] == [False] * HALF + [True] * HALF
    assert len({*QUESTIONS, *PASSAGES}) == len(QUESTIONS) + len(PASSAGES) == 4 * HALF


def test_mean_and_spread_of_other_subjects() -> None:
    """A question is compared with every passage of its language but its own, in one call for each side."""
    similarities = np.full((2 * HALF, 2 * HALF), 0.99)  # between the languages: must not count
    similarities[SPACED, SPACED] = 0.1
    similarities[: HALF // 2, SPACED] = 0.3
    similarities[UNSPACED, UNSPACED] = 0.5
    np.fill_diagonal(similarities, 0.9)
    model = Table(similarities)
    measured = measure_unrelated(model)
    assert (measured.spaced.mean, measured.spaced.spread) == pytest.approx((0.2, 0.1))
    assert measured.unspaced.mean == pytest.approx(0.5)
    assert model.calls == [2 * HALF, 2 * HALF]


def test_a_model_that_finds_all_texts_alike_still_has_a_spread() -> None:
    """Nothing is divided by zero."""
    measured = measure_unrelated(Table(np.ones((2 * HALF, 2 * HALF))))
    for unrelated in (measured.spaced, measured.unspaced):
        assert (unrelated.mean, unrelated.spread) == (1.0, 0.005)


@given(st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_figures_are_those_of_cosines(seed: int, common: float) -> None:
    """Whatever they are, the mean is between the least and the largest, and the spread positive."""
    similarities = np.random.default_rng(seed).uniform(-1, 1, (2 * HALF, 2 * HALF)) * (1 - common) + common
    measured = measure_unrelated(Table(similarities))
    for unrelated, part in ((measured.spaced, SPACED), (measured.unspaced, UNSPACED)):
        inside = similarities[part, part]
        assert inside.min() - 1e-6 <= unrelated.mean <= inside.max() + 1e-6
        assert 0.005 <= unrelated.spread <= 1.0
