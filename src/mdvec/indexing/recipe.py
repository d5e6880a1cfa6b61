"""How documents are prepared: parser, chunker, and the fingerprint of both."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from mdvec.chunking.interface import Chunker
from mdvec.text.terms import TERMS_VERSION
from mdvec.types.document import Document

BINARY_RULE = "binary"
"""The rule under which files without text are excluded."""

POINTER_RULE = "Git LFS pointer"
"""The rule under which files are excluded that only name a file that ``git lfs pull`` would fetch."""


class Recipe(Struct, frozen=True):
    """The parser and the chunker that prepare documents, with their versions.

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
        """Identifies everything that decides the record of a file; a new one means preparing it again."""
        return f"p{self.parser_version}/t{TERMS_VERSION}/{self.chunker.fingerprint}"
