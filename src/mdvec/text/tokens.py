"""An estimate of the tokens of a text, without a tokenizer."""

from __future__ import annotations

import re

from mdvec.text.scripts import UNSPACED, compiled

# Multilingual subword tokenizers take about two Japanese characters or five Latin letters a token.
_TOKEN = rf"[{UNSPACED}]{{1,2}}|[^\W{UNSPACED}]{{1,5}}|[^\w\s]"
_ASCII_TOKEN = re.compile(r"\w{1,5}|[^\w\s]")


def estimate_token_ends(text: str) -> list[int]:
    """Estimate where tokens end.

    Returns:
        Character offsets one past the end of each estimated token, ascending.
    """
    pattern = _ASCII_TOKEN if text.isascii() else compiled(_TOKEN)
    return [match.end() for match in pattern.finditer(text)]


def estimate_token_count(text: str) -> int:
    """Return an estimate of the number of tokens."""
    return len(estimate_token_ends(text))
