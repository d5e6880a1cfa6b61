"""The prose of a Markdown text: the text without code, addresses and markup."""

from __future__ import annotations

import functools
import html
import re
from collections.abc import Iterable, Sequence
from html.entities import html5
from typing import NamedTuple

from mdvec.text.folding import beyond_ascii, fold_name, normalise
from mdvec.text.joined import PART, CharacterKinds, codes_of, in_batches, join_texts, text_of
from mdvec.text.scripts import UNSPACED, compiled, holds_unspaced, is_unspaced
from mdvec.text.terms import indexed_spellings

FENCE = re.compile(r"^([ \t>]*)(`{3,}|~{3,}).*?(?:^[ \t>]*\2[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
# A scheme of any length would take quadratic time in "a-a-a-a".
_MAX_SCHEME_CHARS = 41
_SCHEME = rf"\b[A-Za-z][A-Za-z0-9+.-]{{0,{_MAX_SCHEME_CHARS - 1}}}+"
_ADDRESS = re.compile(rf"{_SCHEME}://[^\s<>\"'`)\]}}]+")
_SCHEME_AT_END = re.compile(rf"{_SCHEME}\Z")
_TARGET = re.compile(r"[^()\s]+(?=[)\s])")
# Rare in texts; each is part of every address, or right before the target of a link.
_ADDRESS_SIGN = re.compile(r"://|\]\(")

# What is for browsers and style sheets, in tags and after the target of a link; code stays as it is.
_STYLED = re.compile(
    r"(?P<code>`[^`\n]*`)|(?P<tag><[A-Za-z][^<>\n]{0,1000}>)"
    r"|(?<=\S) +\"[a-z0-9]+(?:[-_][a-z0-9]+)+\"(?=\))"
)
_STYLE = re.compile(r"(?<=[\s\"'])(?:class|className|id|style|rel|target)=(?:\"[^\"\n]*\"|'[^'\n]*'|[\w-]+)")
_STYLE_SIGN = re.compile(  # quickly found
    r"=(?:(?<=class=)|(?<=className=)|(?<=id=)|(?<=style=)|(?<=rel=)|(?<=target=))|\"\)"
)

# Markup that no reader sees inside a word: readings above kanji, inline tags, emphasis, links in scripts
# without spaces, and character references.
_INLINE = r"</?(?:ruby|rb|b|i|u|s|em|strong|span|mark|sub|sup|small|font|wbr)\b"
_MARK_IN_WORD = re.compile(r"[<&]|\]\]|\]\(|\*\*|~~|==|\w\*\w|\w[~^]\d")
# In ASCII alone, few tags are inline, and links part words as readers see them. Each branch begins with a
# rare character, so that the rest of a text is skipped quickly.
_MARK_IN_ASCII_WORD = re.compile(
    rf"<r[tp]\b|{_INLINE}|&[#A-Za-z]\w*;"
    r"|\*(?<=\w\*)(?=\**\w)|~(?<=\w~)(?=~?\w)|=(?<=\w=)(?==\w)|\^(?<=\w\^)(?=\d)"
)
_INSIDE_WORDS = (
    r"(?=[<&*~=\[^])(?:"  # what they begin with: looked at before each of them is tried
    r"<r[tp]\b[^<>\n]*>[^<>\n]*</r[tp]>"
    rf"|{_INLINE}[^<>\n]*>"
    rf"|(?<=[{UNSPACED}])(?:\*{{1,3}}|~~|==)(?=[{UNSPACED}])"
    r"|(?<=[^\W\d_])(?P<sign>\*\*|~~|==)(?P<inside>[^\W\d_]+)(?P=sign)"
    r"|(?<![\w*~=])(?P<opening>\*\*?|~~|==)(?P<start>[^\W\d_]+)(?P=opening)(?=[^\W\d_])"
    rf"|(?<=[{UNSPACED}])\[(?:\[(?:[^\[\]|\n]+\|)?)?(?P<after>[^\[\]|\n]+)\](?:\]|\([^()\n]*\))"
    rf"|\[(?:\[(?:[^\[\]|\n]+\|)?)?(?P<before>[^\[\]|\n]+)\](?:\]|\([^()\n]*\))(?=\[*[{UNSPACED}])"
    r"|(?<=[^\W_])(?P<shift>[~^])(?P<number>\d{1,3})(?P=shift)"
    r"|(?P<reference>&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});))"
)

_BEFORE_BAR = re.compile(r"\[\[([^\[\]|\n]+)\|")

# Of templates of Obsidian, Templater and Logseq.
_PLACEHOLDER = re.compile(r"\{\{[^{}\n]{1,80}\}\}|<%[^\n]{1,200}?%>")
_HEADING_LINE = re.compile(r"[ \t>]*#{1,6}(?:[ \t]|$)")
_EMPTY_FIELD = re.compile(
    r"[ \t>]*(?:(?:[-*+]|\d+[.)])(?:[ \t]+\[[ x]\])?)?[ \t]*(?:\**[^\n:：|]{1,40}[:：]{1,2}\**)?[ \t]*"
    r"|[ \t]*\|[ \t:|-]+"
)

# Neither spans lines, so neither spans joined texts.
_WIKILINK = re.compile(r"!?\[\[[^\[\]\n]*\]\]")
_TAG = re.compile(r"</?[A-Za-z][^<>\n]*>")
_NUMBER = re.compile(r"\d+")
# The characters of a skeleton, and the separator between texts.
_LETTERS = re.compile(rf"[^\W\d_]|{PART}")
_ASCII_LETTERS = {code: " " for code in range(128) if not _LETTERS.match(chr(code))}
_SPACE = 0x20
_LETTER, _OTHER = 1, 2

# A document can be megabytes long; its beginning shows what it is written in.
_SAMPLE_CHARS = 50_000


def is_unspaced_prose(title: str, body: str) -> bool:
    """Return True if the prose of a document is mostly in scripts without spaces, such as Japanese.

    Code and addresses are in English everywhere, so they do not count. The title is part of the prose.
    """
    sample = body[:_SAMPLE_CHARS]
    if not holds_unspaced(beyond_ascii(title + sample)):
        return False
    prose, _ = part_addresses(_CODE.sub(" ", FENCE.sub(" ", sample)))
    return is_unspaced(f"{title}\n{_TAG.sub(' ', prose).strip()}")


def is_form(text: str) -> bool:
    """Return True if a Markdown text is a blank form: headings, and fields without values.

    A note made of a template is one until something is written in it, and so is the template, which may have
    examples of what to write next to its placeholders.
    """
    bare = _PLACEHOLDER.sub("", text) if "{{" in text or "<%" in text else text
    lines = (line for line in bare.split("\n") if line.strip() and not _HEADING_LINE.match(line))
    blank = (_EMPTY_FIELD.fullmatch(line) is not None for line in lines)
    if bare == text:  # nearly always, and mostly the first line tells
        return next(blank, False) and all(blank)
    found = [*blank]
    return len(found) <= 2 * sum(found)


class Prose(NamedTuple):
    """A text as its reader sees its words.

    Attributes:
        text: The text, with a space in place of each address and link target.
        addresses: Words that find it without being words of it: the addresses and link targets, in order, and
            other spellings of its Japanese words, whose bigrams are parts of more words than one.
        spellings: Other spellings of its other words, such as "email" for "e-mail".
    """

    text: str
    addresses: Sequence[str]
    spellings: Sequence[str] = ()


def without_styles(text: str) -> str:
    """Return a text without what is for style sheets: classes in tags, link titles such as "edit-note"."""
    if _STYLE_SIGN.search(text) is None:
        return text
    parts: list[str] = []
    start = 0
    for fence in FENCE.finditer(text):
        parts += _STYLED.sub(_bare, text[start : fence.start()]), fence[0]
        start = fence.end()
    return "".join((*parts, _STYLED.sub(_bare, text[start:])))


def _bare(found: re.Match[str]) -> str:
    return _STYLE.sub("", found["tag"]) if found["tag"] else found["code"] or ""


def prose_of(text: str) -> Prose:
    """Return a text as its reader sees its words, and what else finds it."""
    seen, addresses = part_addresses(text)
    spellings = indexed_spellings(seen)
    addresses += filter(holds_unspaced, spellings)
    return Prose(seen, addresses, [each for each in spellings if not holds_unspaced(each)])


def part_addresses(text: str) -> tuple[str, list[str]]:
    """Return a text with a space in place of each address and link target, and these."""
    text = without_styles(text)
    parts: list[str] = []
    addresses: list[str] = []
    start = 0
    for sign in _ADDRESS_SIGN.finditer(text):
        first, last = sign.span()
        if first < start:
            continue
        if text[first] == "]":
            found = _ADDRESS.match(text, last) or _TARGET.match(text, last)
        else:
            scheme = _SCHEME_AT_END.search(text, max(start, first - _MAX_SCHEME_CHARS), first)
            found = _ADDRESS.match(text, scheme.start()) if scheme else None
        if found is not None:
            parts += text[start : found.start()], " "
            addresses.append(found[0])
            start = found.end()
    text = "".join((*parts, text[start:]))
    seen = without_marks(text)
    if "|" in text and seen is not text:
        shown = {*_BEFORE_BAR.findall(seen)}
        addresses += (each for each in _BEFORE_BAR.findall(text) if each not in shown)
    return seen, addresses


def without_marks(text: str) -> str:
    """Return a text without the markup that no reader sees inside a word: ``東**京**都`` is ``東京都``."""
    mark = _MARK_IN_ASCII_WORD if text.isascii() else _MARK_IN_WORD
    return text if mark.search(text) is None else compiled(_INSIDE_WORDS).sub(_seen, text)


def _seen(found: re.Match[str]) -> str:
    """Return the part of some markup that readers see."""
    reference = found["reference"] or ""
    # The standard also reads the beginning of a longer name as one, such as "&not" in "&nothing;".
    if reference[1:2] == "#" or reference[1:] in html5:
        return html.unescape(reference).replace("\n", " ")  # lines stay lines
    shown = ("after", "before", "inside", "start", "number")
    return next(filter(None, map(found.__getitem__, shown)), reference)


def skeletons(texts: Sequence[str], names: Iterable[str]) -> list[str]:
    """Return the skeletons of texts: the words that do not differ between repetitions.

    A footer that links to its page, or a template that contains the name of its note, is the same text in
    every document: addresses, wikilinks, markup, numbers and the names of the document are left out.

    Args:
        texts: The texts, without addresses.
        names: The names of their document.

    Returns:
        For each text, folded words separated by single spaces; empty if nothing is left.
    """
    folded = [_NUMBER.sub(" ", fold_name(name.replace(PART, " "))) for name in names]
    longest_first = sorted(filter(_LETTERS.search, folded), key=len, reverse=True)
    return in_batches(lambda batch: _skeletons(batch, longest_first), texts)


def _skeletons(texts: Sequence[str], names: Iterable[str]) -> list[str]:
    bare = join_texts(texts)
    for sign, pattern in (("[[", _WIKILINK), ("<", _TAG)):
        if sign in bare:
            bare = pattern.sub(" ", bare)
    words = f" {' '.join(_letters(bare).split())} "
    for name in names:
        words = words.replace(f" {name} ", " ")
    return [" ".join(each.split()) for each in words.split(PART)]


def _letters(text: str) -> str:
    """Return a text folded, with a space for everything that is not a letter."""
    if text.isascii():
        return text.lower().translate(_ASCII_LETTERS)
    import numpy as np

    codes = codes_of(normalise(text))
    return text_of(np.where(_kinds()(codes) == _LETTER, codes, np.uint32(_SPACE)))


@functools.cache
def _kinds() -> CharacterKinds:
    return CharacterKinds(lambda character: _LETTER if _LETTERS.match(character) else _OTHER)
