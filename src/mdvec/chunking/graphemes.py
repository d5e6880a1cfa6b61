"""Grapheme clusters (the characters that readers see), as far as cutting needs them."""

from __future__ import annotations

import unicodedata

_ZERO_WIDTH_JOINER = "\u200d"
# Flags are pairs of these letters; a longer row of flags than this is cut anywhere between letters.
_MAX_FLAG_LETTERS = 64


def is_inside_cluster(text: str, position: int) -> bool:
    """Return True if a cut here would split a character that readers see as one; at the ends it never does.

    Covers combining marks, variation selectors, skin tones, joined emoji, flags, Hangul jamo,
    half-width voicing marks, and the two halves of a surrogate pair; a subset of the rules of UAX 29
    that needs no tables.
    """
    if not 0 < position < len(text):
        return False
    before, after = text[position - 1], text[position]
    if before < "\u0300" and after < "\u0300":
        return False
    return (
        before == _ZERO_WIDTH_JOINER
        or _extends(after)
        or ("\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff")
        or (_is_flag_letter(after) and _flag_letters_before(text, position) % 2 == 1)
    )


def _extends(character: str) -> bool:
    return (
        character == _ZERO_WIDTH_JOINER
        or unicodedata.category(character) in {"Mn", "Mc", "Me"}
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= character <= "\U000e007f"  # tags, as in the flag of Scotland
        or "\u1160" <= character <= "\u11ff"  # Hangul vowels and finals
        or character in "\uff9e\uff9f"  # half-width voicing marks
    )


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _flag_letters_before(text: str, position: int) -> int:
    first = max(0, position - _MAX_FLAG_LETTERS)
    start = position
    while start > first and _is_flag_letter(text[start - 1]):
        start -= 1
    return position - start
