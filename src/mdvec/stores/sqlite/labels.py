"""How labels and paths are compared: folding, and ranges of what starts alike."""

from __future__ import annotations

import re
import unicodedata
from enum import StrEnum

_SURROGATES = re.compile("[\ud800-\udfff]")


class LabelKind(StrEnum):
    """What a row of the labels table is."""

    TAG = "tag"
    ALIAS = "alias"


def fold(label: str) -> str:
    """Return what two labels share that differ only in case or in how accents are encoded."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", label).casefold())


def prefix_end(prefix: str) -> str | None:
    """Return the first string after all that start with a prefix, in order of code points.

    Returns:
        None when there is no such string: the range is open.
    """
    for length in range(len(prefix), 0, -1):
        following = ord(prefix[length - 1]) + 1
        if following > 0x10FFFF:
            continue
        return prefix[: length - 1] + chr(0xE000 if 0xD800 <= following <= 0xDFFF else following)
    return None


def storable(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot hold; an escape in YAML can make one."""
    return _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text)
