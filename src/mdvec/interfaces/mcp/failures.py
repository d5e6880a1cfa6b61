"""Errors as a client receives them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from mdvec.interfaces.errors import Failure, OnBug, shortened, translate_for_client
from mdvec.interfaces.printing import one_line
from mdvec.interfaces.steps import hint_for_client

MAX_LINE_CHARS = 1_000
"""Longest line of an error: a sentence with a cut input or two."""


def failure_for_client(error: Exception, on_bug: OnBug, received: Iterable[object] = ()) -> Failure:
    """Return an exception as a client receives it.

    Args:
        error: Any exception.
        on_bug: Receives it when it is a bug.
        received: What the client sent; long texts among it are not repeated in full.
    """
    failure = translate_for_client(error, on_bug)
    texts = [each for each in received if isinstance(each, str)]
    message = "\n".join(
        one_line(line, MAX_LINE_CHARS) for line in shortened(failure.message, texts).splitlines()
    )
    hint = one_line(shortened(hint_for_client(failure.hint), texts), MAX_LINE_CHARS)
    return replace(failure, message=message, hint=hint)
