"""Ends of sentences, in Japanese and English."""

from __future__ import annotations

import re

_CLOSERS = r"""[」』）)\]】〉》〕”’"'»*_]*"""
_END = re.compile(
    # A stop with the quotes and brackets that close after it.
    rf"(?P<stop>[。｡！？!?.．…‥]+){_CLOSERS}"
    # A Japanese quotation without a stop, when it ends its line or another one opens.
    r"|[」』](?=[ \t]*(?:\n|[「『]))"
    # A blank line, with all white space around it. Only tried after a solid character: time stays linear.
    r"|(?P<blank>(?<=\S)[^\S\n]*\n[^\S\n]*\n\s*)"
)
# Abbreviations: after these a full stop does not end the sentence; after the second kind, if a number
# follows.
_ABBREVIATIONS = frozenset(
    ["e.g", "i.e", "cf", "vs", "viz", "approx", "mr", "mrs", "ms", "dr", "prof", "jr", "sr", "u.s", "u.k"]
)
_NUMBERED = frozenset(["fig", "figs", "eq", "eqs", "sec", "no", "nos", "vol", "ch", "pp", "p"])
_LAST_WORD = re.compile(r"[^\s([{\"'“‘「『]*$")
# No abbreviation is longer; looking back further would find nothing.
_MAX_ABBREVIATION_CHARS = 8
# 「行こう。」と言った is one sentence.
_QUOTATION_CONTINUES = ("と", "っ", "、", "，", ",")


def sentence_ends(text: str) -> list[int]:
    """Find the ends of sentences.

    A sentence includes the quotes and brackets that close it; the white space after it belongs to the
    next one. Blank lines end sentences too. Abbreviations (``e.g.``), initials, decimals, list
    numbers and dots inside names (``a.md``) do not. Takes time in proportion to the text.

    Returns:
        Offsets one past each sentence, ascending; the last one is the end of the text without its
        trailing white space, so that the sentences cover all of the text that is not blank.
    """
    total = len(text.rstrip())
    ends: list[int] = []
    content_from = len(text) - len(text.lstrip())
    for match in _END.finditer(text, content_from, total):
        end = match.end() if match["blank"] is None else match.start()
        if ends and end <= ends[-1]:
            continue
        if match["stop"] is None or _ends_sentence(text, match):
            ends.append(end)
    if total and (not ends or ends[-1] < total):
        ends.append(total)
    return ends


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    stop, end = match["stop"], match.end()
    after = text[end : end + 1]
    if after in _QUOTATION_CONTINUES and match.end("stop") < end:
        return False
    if any(mark in "。｡！？" for mark in stop):
        return True
    if "．" in stop:
        return not after.isdigit()
    spaced = not after or after.isspace()
    if stop[0] in "…‥":
        return spaced or after in "「『"
    if "!" in stop or "?" in stop:
        # Japanese continues without a space after half-width marks.
        return spaced or after >= "\u3000"
    return spaced and not (stop == "." and _is_abbreviation(text, match.start()))


def _is_abbreviation(text: str, dot: int) -> bool:
    """Return True if the full stop belongs to the word before it."""
    found = _LAST_WORD.search(text, max(0, dot - _MAX_ABBREVIATION_CHARS), dot)
    word = found[0] if found else ""
    if word.lower() in _ABBREVIATIONS or (len(word) == 1 and word.isupper()):
        return True
    if word.lower() in _NUMBERED:
        return text[dot + 1 : dot + 3].strip().isdigit()
    # "1. First" at the start of a line is the number of a list item.
    first = dot - len(word)
    return word.isdigit() and (first == 0 or text[first - 1] == "\n")
