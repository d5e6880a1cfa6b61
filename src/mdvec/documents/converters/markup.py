"""Org, reStructuredText and AsciiDoc: headings, code, links and metadata as Markdown; the rest as it is.

Their lists, tables and emphasis are much like those of Markdown; what would hide text is text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from textwrap import dedent

from mdvec.documents.converters import HIDING_SIGN, fenced, frontmatter, text_of
from mdvec.text.cells import cell_width

_MAX_LEVEL = 6
# Code and addresses, which mean the same in Markdown, or a sign that would hide text.
_LITERAL_OR_SIGN = re.compile(
    rf"(`[^`\n]+`|\]\(<[^<>\n]*>\)|<https?://[^<>\s]+>)|{HIDING_SIGN}|(?<!\S)#(?=#*\s)|~(?=~~)"
)

_ORG_HEADING = re.compile(r"(\*+)[ \t]+(.*?)(?:[ \t]+:([\w@#%:]+):)?[ \t]*$")
_ORG_KEYWORD = re.compile(r"#\+(title|author|date|filetags):[ \t]*(.*)", re.IGNORECASE)
_ORG_BEGIN = re.compile(r"[ \t]*#\+begin_(?:src[ \t]*(\S*)|example|quote|verse|comment).*", re.IGNORECASE)
_ORG_END = re.compile(r"[ \t]*#\+end_\w+[ \t]*", re.IGNORECASE)
_ORG_SETTING = re.compile(  # or a comment
    r"[ \t]*#(?:[ \t]|$)|[ \t]*#\+(?:startup|options|property|setupfile|(?:seq_)?todo|(?:latex|html)\w*):",
    re.IGNORECASE,
)
_ORG_DRAWER = r":[ \t]*\n((?:(?!\*|[ \t]*:(?:END|PROPERTIES|LOGBOOK):).*\n)*+)[ \t]*:END:[ \t]*\n?"
_ORG_PROPERTIES = re.compile(rf"^[ \t]*:PROPERTIES{_ORG_DRAWER}", re.MULTILINE | re.IGNORECASE)
_ORG_LOG = re.compile(rf"^[ \t]*(?::LOGBOOK{_ORG_DRAWER}|(?:CLOCK|:ID):.*\n?)", re.MULTILINE | re.IGNORECASE)
_ORG_PROPERTY = re.compile(r"^[ \t]*:(\w[\w+-]*):[ \t]+(\S.*?)[ \t]*$", re.MULTILINE)
_ORG_RULE = re.compile(r"[ \t]*\|-[-+]*\|?[ \t]*")
_ORG_LINK = re.compile(r"\[\[(?:file:)?([^\]\[]+)\](?:\[([^\]\[]+)\])?\]")
_ORG_PLACE = re.compile(r"(?<=\.org)::.*")

_RST_UNDERLINE = re.compile(r"([=\-`:.'\"~^_*+#<>])\1+[ \t]*")
_SHORTEST = 2
_RST_CODE = re.compile(r"\.\. (?:code-block|code|sourcecode)::[ \t]*(\S*)")
_RST_COMMENT = re.compile(r"\.\.(?:[ \t]+(?![\[_|]|[\w:.+-]+::).*)?")
_RST_OPTION = re.compile(r"[ \t]+:[\w-]+:")
_RST_LINK = re.compile(r"`([^`<>]+?)\s*<([^`<>]+)>`__?")
_RST_DOC = re.compile(r":doc:`(?:([^`<>]+)<)?/?([^`<>]+)>?`")
_RST_ROLE = re.compile(r"(?<![\w:+-]):[\w:+-]+:`([^`]+)`")

_ADOC_HEADING = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*?)(?:[ \t]+=+)?[ \t]*")
_ADOC_ATTRIBUTE = re.compile(r":(author|revdate|keywords|description):[ \t]*(.*)")
_ADOC_SOURCE = re.compile(r"\[(?:source|listing)\b[^\],]*(?:,[ \t]*(\w*))?[^\]]*\]")
_ADOC_TITLE = re.compile(r"(?:\A|(?<=\n\n))([^\s\[.|/=][^\n]*)\n(([=~^+-])\3{2,})[ \t]*$", re.MULTILINE)
# Comments, and the lines around a block of anything but code.
_ADOC_HIDDEN = re.compile(r"//|(?:={4,}|\*{4,}|_{4,}|\+{4,}|--)[ \t]*$")
_ADOC_FENCE = re.compile(r"(-{4,}|\.{4,}|/{4,}|`{3,})(\w*)[ \t]*")
_ADOC_LITERAL = re.compile(r"[ \t]+(?![*.-]+[ \t]|\d+\.[ \t])\S")
_ADOC_LINK = re.compile(r"(?:link:|xref:)?((?:https?://|(?<=link:)|(?<=xref:))[^\s\[\]]+)\[([^\]\n]*)\]")


def convert_org(raw: bytes) -> str:
    """Return the Markdown of an Org file; the properties of a heading are lines."""
    top, star, below = f"\n{_ORG_LOG.sub('', text_of(raw))}".partition("\n*")
    values: dict[str, object] = dict(_ORG_PROPERTY.findall("".join(_ORG_PROPERTIES.findall(top))))
    below = _ORG_PROPERTIES.sub(lambda drawer: _ORG_PROPERTY.sub(r"\1: \2  ", drawer[1]), below)
    lines = list(_org_lines(f"{_ORG_PROPERTIES.sub('', top)}{star}{below}"[1:].split("\n"), values))
    return frontmatter(values) + "\n".join(lines)


def _org_lines(lines: Sequence[str], values: dict[str, object]) -> Iterator[str]:
    rest = iter(lines)
    above = 0  # lines of the table above; Markdown has one rule, below the first
    for line in rest:
        if is_rule := _ORG_RULE.fullmatch(line) is not None:
            if above == 1:
                yield line.replace("+", "|")
        elif (begun := _ORG_BEGIN.fullmatch(line)) and "quote" not in line.lower():
            text = _until(_ORG_END.fullmatch, rest)
            yield _comment(text) if "_comment" in line.lower() else fenced(text, begun[1] or "")
        elif keyword := _ORG_KEYWORD.fullmatch(line):
            name, value = keyword[1].lower(), keyword[2].strip()
            tags = [each for each in re.split(r"[:\s]+", value) if each]
            values |= {"tags": tags} if name == "filetags" else {name: value.strip("<>[]")}
        elif heading := _ORG_HEADING.fullmatch(line):
            tags = [f" #{each}" for each in (heading[3] or "").split(":") if each]
            yield f"{'#' * min(len(heading[1]), _MAX_LEVEL)} {_linked(_ORG_LINK, heading[2])}{''.join(tags)}"
        elif not (_ORG_SETTING.match(line) or _ORG_BEGIN.fullmatch(line) or _ORG_END.fullmatch(line)):
            yield _linked(_ORG_LINK, line)
        above = above + 1 if line.lstrip().startswith("|") and (above or not is_rule) else 0


def convert_rst(raw: bytes) -> str:
    """Return the Markdown of a reStructuredText file. Its marks of headings have the order of their use."""
    lines = text_of(raw).split("\n")
    marks: list[str] = []
    found: list[str] = []
    at = 0
    while at < len(lines):
        line, below = lines[at], lines[at + 1] if at + 1 < len(lines) else ""
        if code := _RST_CODE.fullmatch(line.strip()):
            at, block = _indented(lines, at + 1)
            found.append(fenced("\n".join(block), code[1]))
        elif _RST_COMMENT.fullmatch(line):
            at, _ = _indented(lines, at + 1)
        elif line.strip() == ".. toctree::":
            at, pages = _indented(lines, at + 1)
            found += [_rst_inline(f"- :doc:`{each.strip()}`") for each in pages if each.strip()]
        elif line.strip() and _is_underline(below, line) and not line.startswith((" ", "\t")):
            is_between = (
                at > 0 and found[-1:] == [_rst_inline(lines[at - 1])] and _is_underline(lines[at - 1], line)
            )
            mark = below[0] * (2 if is_between else 1)
            if is_between:
                found.pop()
            if mark not in marks:
                marks.append(mark)
            found.append(f"{'#' * min(marks.index(mark) + 1, _MAX_LEVEL)} {_rst_inline(line.strip())}")
            at += 2
        elif line.rstrip().endswith("::") and not line.lstrip().startswith(("..", ":::")):
            text = line.rstrip()[:-1]
            at, block = _indented(lines, at + 1)
            found.append(_rst_inline(text if text[-2:-1].strip() else text[:-1].rstrip()))
            found += ["", fenced("\n".join(block)), ""] if any(block) else []
        else:
            found.append(_rst_inline(line))
            at += 1
    return "\n".join(found)


def _is_underline(line: str, text: str) -> bool:
    if not _RST_UNDERLINE.fullmatch(line):
        return False
    signs, width = len(line.rstrip()), cell_width(text.rstrip())
    # Two signs may be code or a comment; a title of two columns needs no more.
    return signs >= len(text.rstrip()) // 2 and (signs > _SHORTEST or width == _SHORTEST)


def _indented(lines: Sequence[str], at: int) -> tuple[int, list[str]]:
    """Return where a block indented as its first line ends, and its lines without indent and options."""
    block: list[str] = []
    least = max(1, next((_indent(lines[each]) for each in range(at, len(lines)) if lines[each].strip()), 1))
    while at < len(lines) and (not lines[at].strip() or _indent(lines[at]) >= least):
        if block or not _RST_OPTION.match(lines[at]):
            block.append(lines[at])
        at += 1
    indent = min((_indent(each) for each in block if each.strip()), default=0)
    return at, "\n".join(each[indent:] for each in block).strip("\n").split("\n")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _rst_inline(line: str) -> str:
    line = _RST_DOC.sub(lambda found: f"[{(found[1] or found[2]).strip()}](<{found[2]}.rst>)", line)
    return _escaped(_RST_ROLE.sub(r"`\1`", _RST_LINK.sub(r"[\1](<\2>)", line)).replace("``", "`"))


def convert_adoc(raw: bytes) -> str:
    """Return the Markdown of an AsciiDoc file."""
    values: dict[str, object] = {}
    lines = list(_adoc_lines(_ADOC_TITLE.sub(_adoc_title, text_of(raw)).split("\n"), values))
    return frontmatter(values) + "\n".join(lines)


def _adoc_title(found: re.Match[str]) -> str:
    """Return a title that is underlined as one that begins with a sign; a line above a block as it is."""
    level = "=-~^+".index(found[3]) + 1
    return f"{'=' * level} {found[1]}" if abs(len(found[1]) - len(found[2])) < len("===") else found[0]


def _adoc_lines(lines: Sequence[str], values: dict[str, object]) -> Iterator[str]:
    language = before = ""
    rest = iter(lines)
    for line in rest:
        if opened := _ADOC_FENCE.fullmatch(line):
            text = _until(re.compile(rf"{re.escape(opened[1])}\s*").fullmatch, rest)
            yield _comment(text) if line[0] == "/" else fenced(text, opened[2] or language)
            language = ""
        elif not before.strip() and _ADOC_LITERAL.match(line):
            yield fenced(dedent("\n".join((line, *takewhile(str.strip, rest)))))
            yield ""
        elif source := _ADOC_SOURCE.fullmatch(line.strip()):
            language = source[1] or ""
        elif attribute := _ADOC_ATTRIBUTE.fullmatch(line):
            values[attribute[1].replace("revdate", "date")] = attribute[2].strip()
        elif heading := _ADOC_HEADING.fullmatch(line):
            yield f"{'#' * len(heading[1])} {_linked(_ADOC_LINK, heading[2])}"
        elif not _ADOC_HIDDEN.match(line):
            yield _linked(_ADOC_LINK, line)
        before = line


def _until(ends: Callable[[str], object], lines: Iterator[str]) -> str:
    """Take lines up to one that ends them, and return those before."""
    return "\n".join(takewhile(lambda line: not ends(line), lines))


def _comment(text: str) -> str:
    return f"<!--\n{text.replace('-->', '')}\n-->"


def _linked(links: re.Pattern[str], line: str) -> str:
    line = links.sub(lambda found: f"[{found[2] or found[1]}](<{_ORG_PLACE.sub('', found[1])}>)", line)
    return _escaped(line)


def _escaped(line: str) -> str:
    return _LITERAL_OR_SIGN.sub(lambda found: found[1] or f"\\{found[0]}", line)
