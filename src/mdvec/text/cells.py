"""The width of a text in columns of a terminal: characters of Chinese, Japanese and Korean take two."""

from __future__ import annotations

import unicodedata


def cell_width(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    return len(text) if text.isascii() else sum(map(char_width, text))


def char_width(char: str) -> int:
    """Return how many columns a character takes: 0, 1 or 2."""
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1
