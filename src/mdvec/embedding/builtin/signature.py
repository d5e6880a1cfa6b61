"""Names of the graph's input and output, for the module that writes it and the one that runs it."""

from __future__ import annotations

from typing import Final

WORDS: Final = "words"
"""Input: vectors of the words, shape (texts, tokens, hidden), float32; texts of one length."""
MEANS: Final = "means"
"""Output: mean over the tokens of each text, shape (texts, hidden), float32; not of unit length."""
