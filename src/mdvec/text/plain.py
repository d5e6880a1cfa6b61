"""Markdown as its reader sees it: without marks, tags, addresses and headings."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

# All of these take time in proportion to the text, whatever it is: hence the possessive quantifiers.
_FENCED = re.compile(
    r"^([ \t>]*+)(?P<marks>`{3,}+|~{3,}+)[^\n]*+\n(?P<code>.*?)(?:^[ \t>]*+(?P=marks)[^\n]*+$|\Z)",
    re.MULTILINE | re.DOTALL,
)
# Headings, rules, the line below a table's head, directives of two kinds, badges, inclusions, empty items of
# lists, imports of components.
_DROPPED_LINE = re.compile(
    r"^(?:[-=*_|: \t]{3,}+"
    r"|[ \t]*+(?:#{1,6}(?:[ \t].*)?|:{3}.*|/{3,}(?:[ \t].*)?|(?:>[ \t]*+)*+\[!.*|\{[*%].*[*%]\}[ \t]*+"
    r"|[-*+][ \t]++\[.\][ \t]*+)"
    r"|import[ \t][^\n'\"]*+['\"][^\n'\"]*+['\"];?[ \t]*+|export[ \t]++(?:const|default|function)\b.*)$",
    re.MULTILINE,
)
# The times at which a task of Logseq or Org was worked on.
_LOGBOOK = re.compile(
    r"^[ \t]*+:LOGBOOK:[ \t]*+(?:\n(?![ \t]*+:END:).*+){0,99}+\n[ \t]*+:END:[ \t]*+$", re.MULTILINE
)
_CALLOUT = re.compile(r"^(?:[ \t]*+>)++[ \t]*+\[![\w|-]++\][+-]?[ \t]*+", re.MULTILINE)
_UNDERLINED = re.compile(r"(?:\A|(?<=\n\n))(?=\S)[^\n]++\n {0,3}(?:={2,}+|-{2,}+)[ \t]*+$", re.MULTILINE)
# An item of a list that is nothing but a link leads away from here.
_LINK_ITEM = re.compile(
    r"^[ \t]*+(?:[-*+]|\d++[.)])[ \t]++"
    r"(?=(?:!?\[\[[^\[\]\n]++\]\]|\[[^\[\]\n]++\]\([^()\n]*+\)|<?https?://\S++)[ \t]*+$)",
    re.MULTILINE,
)
_BULLET = re.compile(r"^[ \t]*+[-*+][ \t]++", re.MULTILINE)
_TABLE_ROW = re.compile(r"^[ \t]*+\|(.*)\|[ \t]*+$", re.MULTILINE)
_ADDRESS_LINE = re.compile(r"^[ \t]*+(?:[-*+•→][ \t]++)?<?https?://\S++[ \t]*+$", re.MULTILINE)
_TAG = re.compile(
    r"</?[A-Za-z]"
    r"(?:\{(?:[^{}]|\{[^{}]{0,400}+\}){0,400}+\}|\"[^\"]{0,400}+\"|'[^'\n]{0,400}+'|[^<>{}\"']){0,400}+>"
)
_BREAK = re.compile(r"<br[ \t]*+/?>", re.IGNORECASE)
_CODE = re.compile(r"(?<!`)(?P<ticks>`++)(?P<code>[^`\n]++)(?P=ticks)")
# Whichever begins first holds the other.
_COMMENT_OR_CODE = re.compile(
    rf"(?<!\\)(?:<!--.*?(?:-->|\Z)|\{{/\*.{{0,2000}}?\*/\}})|{_CODE.pattern}", re.DOTALL
)
_INLINE = re.compile(
    r"(?P<image>!\[\[[^\[\]\n]*\.(?:png|jpe?g|gif|svg|webp|avif|bmp|mp4|pdf)[^\[\]\n]*+\]\]"
    r"|!\[(?P<alternative>[^\[\]\n]*+)\](?:\([^()\n]*+(?:\([^()\n]*+\)[^()\n]*+)?\)|\[[^\[\]\n]*+\]))"
    r"|!?\[\[(?:[^\[\]\n|]*+\|)?(?P<note>[^\[\]\n|]++)\]\]"
    r"|\[(?P<label>[^\[\]\n]*+)\](?:\([^()\n]*+(?:\([^()\n]*+\)[^()\n]*+)?\)|\[[^\[\]\n]*+\])"
    r"|(?P<footnote>\[\^[^\[\]\n]++\]:?|｜(?=[^《\n]{1,20}《)|《[ぁ-ヶー]++》)"  # or a reading (Aozora Bunko)
    r"|<?(?P<address>https?://[^\s<>\"'`)\]}、。]++)>?"
    rf"|(?P<tag>{_TAG.pattern})"
    r"|(?P<attributes>[ \t]?\{:?[ \t]*+[#.][^{}\n]*+\})"
)
# Of signs that mark something; a path of Windows may have a backslash before others.
_CODE_OR_ESCAPE = re.compile(rf"{_CODE.pattern}|\\(?P<sign>[*_`\[\]()#|~<>!+{{}}%&=$:^\\-]|(?<=\d\\)\.)")
_CELL_END = re.compile(r"(?<!\\)\|")
_PLACE = re.compile(r"\0(\d++)\0")
_EMPHASIS = re.compile(r"(?<![\w*_])([*_])(?=\S)([^*_\n]++)(?<=\S)\1(?![\w*_])")
_MARKS = re.compile(r"\*\*|__|==|~~|^[ \t]*+(?:>[ \t]?)++|(?<=\s)\^[\w-]++$", re.MULTILINE)
# A piece of a long address or of encoded data: longer than any word.
_UNBROKEN = re.compile(r"[A-Za-z0-9+/=_%&.-]{100,}+")
_BLANKS = re.compile(r"(?<=\S)[ \t]{2,}+(?=\S)")


def plain_text(text: str) -> str:
    """Return the prose and the code of a Markdown text, for an excerpt of a few lines.

    Headings are left out: they stand above an excerpt. Fences stay, because words in code count less; so does
    ``→`` before an item that is nothing but a link. An address in a sentence becomes the name of its host.
    """
    parts: list[str] = []
    position = 0
    for found in _FENCED.finditer(text):
        parts += [_prose(text[position : found.start()]), f"```\n{found['code']}```"]
        position = found.end()
    return "".join([*parts, _prose(text[position:])])


def without_addresses(text: str) -> str:
    """Return a Markdown text with links and images as their labels."""
    text, code = _without_code(_BREAK.sub(" ", text))
    return _with_code(_INLINE.sub(lambda found: found["alternative"] or _label(found), text), code)


def _prose(text: str) -> str:
    text = _COMMENT_OR_CODE.sub(lambda found: found[0] if found["code"] else "", text)
    for pattern in (_LOGBOOK, _UNDERLINED, _CALLOUT, _DROPPED_LINE, _ADDRESS_LINE):
        text = pattern.sub("", text)
    text = _TABLE_ROW.sub(_row, text)
    text = _BULLET.sub("• ", _LINK_ITEM.sub("→ ", text))
    text, code = _without_code(text)
    text = _MARKS.sub("", _INLINE.sub(_label, _BREAK.sub(" ", text)))
    text = _UNBROKEN.sub("…", html.unescape(_EMPHASIS.sub(r"\2", text)))
    return _BLANKS.sub(" ", _with_code(text, code))


def _row(found: re.Match[str]) -> str:
    """Return a row of a table. Empty cells before others stay, so that each is below its head."""
    return " · ".join(each.strip().replace(r"\|", "|") or "–" for each in _CELL_END.split(found[1])).rstrip(
        " ·–"
    )


def _without_code(text: str) -> tuple[str, list[str]]:
    """Set inline code and escaped signs aside: return a text with places for them, and their texts."""
    code: list[str] = []

    def place(found: re.Match[str]) -> str:
        code.append(found["sign"] or found["code"].strip())
        return f"\0{len(code) - 1}\0"

    return _CODE_OR_ESCAPE.sub(place, text.replace("\0", " ")), code


def _with_code(text: str, code: Sequence[str]) -> str:
    return _PLACE.sub(lambda found: code[int(found[1])], text)


def _label(found: re.Match[str]) -> str:
    """Return what stands for a link or an address; nothing for an image, a footnote or HTML."""
    if found["address"] is not None:
        return re.split("[/?#]", found["address"])[2]
    # The text of a link may hold HTML; it holds no other link.
    return found["note"] or _TAG.sub("", found["label"] or "")
