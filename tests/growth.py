"""Measures how processor time grows with the size of an input."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import pytest

T = TypeVar("T")

# Linear work grows as much as its input, quadratic work by the square of that. The limit lies between, far
# from both.
_TIMES = 8
_LIMIT = _TIMES**1.6
# Below this a measurement is mostly noise.
_NEGLIGIBLE_S = 0.02


def assert_grows_linearly(make: Callable[[int], T], work: Callable[[T], object], size: int) -> None:
    """Compare the processor time of two sizes.

    Args:
        make: Makes an input of a size.
        work: The work on it.
        size: The smaller size; the other one is eight times as large.
    """
    # Other processes and the garbage collector only add time, so one good measurement of four is enough.
    for _ in range(4):
        small, large = (_cpu_s(work, make(times * size)) for times in (1, _TIMES))
        if large <= max(small, _NEGLIGIBLE_S) * _LIMIT:
            return
    pytest.fail(f"{small:.3f} s, then {large:.3f} s")


def _cpu_s(work: Callable[[T], object], value: T) -> float:
    started = time.process_time()
    work(value)
    return time.process_time() - started
