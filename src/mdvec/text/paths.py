"""Names of files as links spell them."""

from __future__ import annotations

import unicodedata

# Links leave these out.
_SUFFIXES = (".md", ".markdown", ".mdx", ".txt")


def file_key(path: str) -> str:
    """Return what the name of a file and the links to it have in common.

    Args:
        path: A path, or the target of a link; only what follows the last ``/`` counts.

    Returns:
        The name without the suffix of a document, in NFC and case folded.
    """
    name = unicodedata.normalize("NFC", path.rpartition("/")[2])
    folded = unicodedata.normalize("NFC", name.casefold()).strip()
    suffix = next((suffix for suffix in _SUFFIXES if folded.endswith(suffix)), "")
    return folded[: len(folded) - len(suffix)] or folded
