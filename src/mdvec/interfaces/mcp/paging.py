"""Hands out long documents in parts that a client can show; ``lines`` says which part."""

from __future__ import annotations

import re
from dataclasses import replace

from mdvec.errors import UsageError
from mdvec.interfaces.arguments import LineRange, parse_lines
from mdvec.text.tokens import estimate_token_ends
from mdvec.types.report import Passage

MOST_TOKENS = 20_000
"""Clients cut longer answers, some without saying so; a document goes on with the next call."""

# The first line may say how many of its characters were read before: "12+60000:40".
_PART = re.compile(r"(?P<line>\d+)\+(?P<read>\d{1,12})(?P<rest>:\d*)?")


def parse_part(text: str) -> tuple[LineRange, int]:
    """Read ``lines`` as :func:`mdvec.interfaces.arguments.parse_lines` does, or as a part left out says it.

    Returns:
        The lines, and how many characters of the first one are left out.

    Raises:
        UsageError: If it is neither.
    """
    found = _PART.fullmatch(text.strip())
    if found is None:
        return parse_lines(text), 0
    return parse_lines(found["line"] + (found["rest"] or "")), int(found["read"])


def first_part(passage: Passage, *, read_chars: int = 0) -> tuple[Passage, str | None]:
    """Cut a passage after as many whole lines as a client can show; a line that is too long, inside.

    Args:
        passage: The passage.
        read_chars: How many characters of its first line are left out.

    Returns:
        The part, and what is left out after it as ``get_doc`` takes it; None when that is nothing.

    Raises:
        UsageError: If the first line has no more characters than are left out.
    """
    line, _, _ = passage.text.partition("\n")
    if read_chars and read_chars >= len(line):
        msg = f"line {passage.start_line} of {passage.path} has {len(line):,} characters"
        raise UsageError(msg, hint=f"Ask for it from its start: lines={str(passage.start_line)!r}.")
    text = passage.text[read_chars:]
    ends = estimate_token_ends(text) if len(text) > MOST_TOKENS else []
    if len(ends) <= MOST_TOKENS:
        return replace(passage, text=text), None
    most = ends[MOST_TOKENS - 1]
    whole = text.rfind("\n", 0, most + 1) + 1
    start, end = passage.start_line, passage.end_line
    if not whole:
        return replace(passage, text=text[:most], end_line=start), f"{start}+{read_chars + most}:{end}"
    after = start + text.count("\n", 0, whole)
    return replace(passage, text=text[:whole], end_line=after - 1), f"{after}:{end}" if after <= end else None
