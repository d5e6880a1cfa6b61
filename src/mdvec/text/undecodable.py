r"""Bytes that are not UTF-8, in names and arguments: Python holds each as a lone surrogate."""

from __future__ import annotations


def spelled(text: str) -> str:
    r"""Return a text with escapes for bytes that are not UTF-8, so that it can be stored, shown and sent.

    Args:
        text: A text as from :func:`os.fsdecode`.

    Returns:
        The text with ``\xNN`` for each byte that is not UTF-8, and ``\uNNNN`` for any other surrogate.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join(map(_spelled_character, text))
    return text


def _spelled_character(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # where os.fsdecode puts bytes 0x80-0xFF
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}" if 0xD800 <= code <= 0xDFFF else character
