"""Rounding matrices."""

from __future__ import annotations

import numpy as np

from conversion.graph import quantise_rows


def test_quantised_rows_are_near() -> None:
    """A restored weight is within half a step of the original, and no integer needs the eighth bit."""
    matrix = np.random.default_rng(1).normal(size=(40, 64)).astype(np.float32) * np.arange(40)[:, None]
    integers, scales = quantise_rows(matrix)
    assert np.abs(integers).max() <= 63
    assert np.all(np.abs(integers * scales[:, None] - matrix) <= scales[:, None] * 0.501)


def test_zero_row() -> None:
    """A row of zeros stays one."""
    integers, scales = quantise_rows(np.zeros((2, 32), dtype=np.float32))
    assert not integers.any()
    assert np.isfinite(scales).all()
