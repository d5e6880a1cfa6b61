"""Plain text: paragraphs between blank lines."""

from __future__ import annotations

import re

from mdvec.types.document import Block, BlockKind

# From the first character of a line that is not blank to the end of the last such line in a row.
_PARAGRAPH = re.compile(r"^[^\S\n]*\S.*(?:\n[^\S\n]*\S.*)*", re.MULTILINE)


def paragraphs(text: str) -> tuple[Block, ...]:
    """Find the paragraphs of a plain text.

    Returns:
        Blocks in order; they cover all of the text that is not blank.
    """
    return tuple(Block(BlockKind.PARAGRAPH, *match.span()) for match in _PARAGRAPH.finditer(text))
