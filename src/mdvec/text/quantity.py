"""Numbers with their nouns."""

from __future__ import annotations


def quantity(number: int, noun: str) -> str:
    """Return a number with its regular noun: ``1 document``, ``2,000 documents``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
