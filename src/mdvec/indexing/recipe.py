"""How documents are prepared, as far as deciding whether they have to be needs to know."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from mdvec.chunking.interface import Chunker
from mdvec.text.terms import TERMS_VERSION
from mdvec.types.document import Document

BINARY_RULE = "binary"
"""The rule under which files without text are excluded."""


class Recipe(Struct, frozen=True):
    """How documents are prepared.

    Attributes:
        parse: Makes a document of a path and its text.
        parser_version: Raised when the same text gives another document.
        chunker: Cuts it.
    """

    parse: Callable[[str, str], Document]
    parser_version: str
    chunker: Chunker

    @property
    def fingerprint(self) -> str:
        """All that decides what is written for the same bytes; a new one means preparing anew."""
        return f"p{self.parser_version}/t{TERMS_VERSION}/{self.chunker.fingerprint}"
