"""Asks for several things at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextvars import ContextVar, copy_context
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

_ending: ContextVar[threading.Event | None] = ContextVar("mdvec_requests_ending", default=None)


def in_order(function: Callable[[T], R], items: Sequence[T], *, at_once: int) -> list[R]:
    """Call a function for each item, a few at a time.

    Each call sees the context variables of the caller, so that what listens in its thread hears of all.

    Args:
        function: May be called in another thread. Where it waits for long, it should ask :func:`is_ending`.
        items: What it is called with.
        at_once: Most calls at the same time.

    Returns:
        The results, in the order of the items. The first call that fails ends the others, and its error
        is raised.
    """
    if min(at_once, len(items)) < 2:
        return [function(item) for item in items]
    ending = threading.Event()
    token = _ending.set(ending)
    pool = ThreadPoolExecutor(min(at_once, len(items)), thread_name_prefix="mdvec-ask")
    try:
        futures = [pool.submit(copy_context().run, function, item) for item in items]
        for future in wait(futures, return_when=FIRST_EXCEPTION).done:
            future.result()
        return [future.result() for future in futures]
    finally:
        ending.set()
        pool.shutdown(cancel_futures=True)  # what is on its way is waited for
        _ending.reset(token)


def is_ending() -> bool:
    """Tell a function that :func:`in_order` called whether its result is of no use any more."""
    ending = _ending.get()
    return ending is not None and ending.is_set()
