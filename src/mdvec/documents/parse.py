"""From the text of a file to a document."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter

import msgspec
from msgspec.structs import replace

from mdvec.documents.comments import (
    DRAWING_SUFFIX,
    blank_out,
    drawing_comments,
    find_comments,
    has_comments,
    is_drawing,
)
from mdvec.documents.frontmatter import read_frontmatter
from mdvec.documents.links import text_first
from mdvec.documents.markdown import (
    MarkdownContent,
    build_sections,
    code_blocks,
    one_line,
    read_markdown,
)
from mdvec.documents.properties import dated_name, property_links, updated_ns
from mdvec.documents.tags import distinct_tags, field_tags, frontmatter_aliases, frontmatter_tags
from mdvec.text.folding import fold_name
from mdvec.text.links import CONVERTERS, MARKDOWN_SUFFIXES, without_codes
from mdvec.text.moments import scalars, unread_dates
from mdvec.text.plain_headings import plain_headings
from mdvec.types.document import Block, BlockKind, Comment, Document, Heading, TitleSource

_CANVAS_SUFFIX = ".canvas"  # of JSON Canvas, as Obsidian writes it

# Images, fonts and drawings as data, and long runs of data or minified code: only their beginning is text.
_DATA = re.compile(
    r"((?P<quote>[\"'])data:[\w.+-]+/[^\s\"'()<>,]{1,80}+,)(?:(?!(?P=quote))[^\n]){100,}+(?=(?P=quote))"
    r"|(data:[\w.+-]+/[^\s\"'()<>,]{1,80}+,)[^\s\"'()<>]{100,}+|(\b(?:d|points)=[\"'])(?=[Mm\d])[^\"'()<>]{100,}+"
)
_DATA_SIGN = re.compile(r"data:[\w.+-]+/|d=[\"'][Mm\d]|points=[\"'][Mm\d]")  # quickly found, and rare
# The shapes of a drawing, one after another.
_SHAPE = r"</?(?:path|rect|circle|ellipse|line|polyline|polygon|g|use|stop|tspan)\b[^<>]*+>"
_SHAPES = re.compile(rf"({_SHAPE})(?:\s*+{_SHAPE}){{8,}}+")
_NOTION_ID = re.compile(r"(?<=\S) [0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}(?:_all)?$")
# The properties of a page of a database, as Notion exports them.
_NOTION_PROPERTIES = re.compile(r"# [^\n]+\n\n((?:[^\s:#][^:\n]{0,60}:[ \t]+[^\n]+\n)+)(?:\n|\Z)")
# Encoded data in lines, as in mails and certificates; lists of hashes are no such data.
_WRAPPED = re.compile(
    r"^(?=[^\n]*[G-Z])(?=[^\n]*[g-z])([ \t>]{0,9}+[A-Za-z0-9+/]{60})[A-Za-z0-9+/]*\n{1,2}"
    r"(?:[ \t>]{0,9}+[A-Za-z0-9+/]{60,}\n{1,2}){8,}+"
    r"(?:[ \t>]{0,9}+(?:[A-Za-z0-9+/]{30,}=*|[A-Za-z0-9+/]*=+))?",
    re.MULTILINE,
)
_LONG = 1_000  # characters of a line
_UNBROKEN = re.compile(rf"(?<![!-~])([!-~]{{60}})[!-~]{{{_LONG - 60},}}+")
# Minified code has spaces, but long words between them, many semicolons and blocks of functions.
_LONG_LINE = re.compile(rf"(?<![\t -~])[\t -~]{{{_LONG},}}+")
_LONGEST_WORD, _MEAN_WORD, _MIN_CODE, _CHARS_FOR_A_SIGN = 18, 11, 900, 300
_BLOCK_OF_CODE = re.compile(r"\)\{|[\w\])]\{[a-z-]++:\S")  # of a function, or of a style sheet
# Parts of prose that may have such signs, too.
_SIGNS_OF_PROSE = re.compile(r"</?[A-Za-z][^<>]*+>|\]\([^()]*+\)|&#?\w{1,31};|`[^`]*+`|\$[^$]*+\$|\\.")
# Links, images and HTML, such as badges, and the imports of MDX.
_NO_PROSE = re.compile(
    r"!?\[(?:[^\[\]]|!?\[[^\[\]]*\](?:\([^()\n]*\))?){0,200}+\]\([^()\n]*\)|<[^<>]*>|^(?:import|export)\b.*$",
    re.MULTILINE,
)
_PLACEHOLDER = re.compile(r"\{\{|<%")  # of a template, which names no note
_ITEM_HEADING = re.compile(r"[ ]{0,3}(?:[-*+]|\d+[.)])[ \t]+#")
_LEAD_PARAGRAPHS, _LEAD_CHARS = 5, 1_000  # that are looked at above a heading
_MIN_PROSE = 40  # characters; less is a label
_NAMES_OF_ANY_NOTE = frozenset({"readme", "index", "home", "untitled", "無題"})
# The number and the time above each cue of a transcript (WebVTT, SubRip). Without them, cues are sentences.
_CUE = re.compile(
    # the header of WebVTT, and its blocks of style sheets and notes
    r"(?:\AWEBVTT\b|(?<=\n\n)(?:STYLE|REGION|NOTE)\b)[^\n]*(?:\n(?![^\n]* --> )[^\n]+)*"
    r"|^(?:[^\n]+\n)?[ \t]*(?:\d+:)?\d\d:\d\d[.,]\d{3} --> [^\n]*"
    # styles, readings, and times of words
    r"|</?(?:[biuc]|lang|font|ruby|rt)\b[^<>\n]*>|</?v(?:\.[\w.-]+)?>|<[\d:.]+>|\{\\[^{}\n]*\}",
    re.MULTILINE,
)
_BLANKED = "\u00a0"  # in the place of a comment inside a line
_VOICE = re.compile(rf"<v(?:\.[\w.-]+)?[ \t]+([^<>\n{_BLANKED}]+)>")
# Inline fields of Dataview, on a line of their own or in brackets.
_FIELD_KEY = r"[^\W\d_][\w /-]{0,60}?(?<=\w)"
_FIELD = re.compile(
    r"^[ \t>]*+(?:(?:[-*+]|\d+\.)[ \t]+(?:\[.\][ \t]+)?)?(?:[^\w\s\[(|*_]++[ \t]+)?"
    rf"[*_]*+(?P<key>{_FIELD_KEY})[*_]*+::[ \t]+(?P<value>\S[^\n]*)"
    rf"|[\[(][*_]*+(?P<name>{_FIELD_KEY}|[\u2190-\u2bff\U0001f000-\U0001faff]\ufe0f?)[*_]*+::(?!:)"
    r"[ \t]*(?P<text>(?:\[\[[^\[\]\n]+\]\]|[^\[\]()\n])+)[\])]",
    re.MULTILINE,
)
PARAGRAPH = re.compile(r"^[^\S\n]*\S.*(?:\n[^\S\n]*\S.*)*", re.MULTILINE)
"""A paragraph of plain text: lines that are not blank, without the last line end."""


def parse_document(path: str, text: str, *, versions: bool = False) -> Document:
    r"""Parse a file.

    Files are Markdown by the ends of their names, such as ``.md``, or converted to it. All others are plain
    text: paragraphs, and the file's name for a title; see
    :func:`~mdvec.text.plain_headings.plain_headings` for headings in them.

    Args:
        path: Relative to the source's root, with ``/``.
        text: The whole file, decoded, without byte order mark, line ends as ``\n``.
        versions: Whether ``previous`` in frontmatter names older versions; otherwise it holds links.

    Returns:
        The document. Every text gives one; its warnings name what was odd.
    """
    if _DATA_SIGN.search(text):
        text = _DATA.sub(_beginning, text)
    text = _WRAPPED.sub(_beginning, _SHAPES.sub(_beginning, text))
    if max(map(len, text.split("\n"))) >= _LONG:
        text = _LONG_LINE.sub(_without_code, _UNBROKEN.sub(_beginning_of_run, text))
    suffix = _stem_and_suffix(path)[1].lower()
    if suffix == _CANVAS_SUFFIX:
        text = _canvas_text(text)
    elif suffix not in MARKDOWN_SUFFIXES and suffix not in CONVERTERS:
        return _plain_document(path, text)
    front = read_frontmatter(text)
    if (found := _NOTION_PROPERTIES.match(text)) and _NOTION_ID.search(_stem_and_suffix(path)[0]):
        pairs = (line.partition(":") for line in found[1].splitlines())
        front = replace(front, values={key: value.strip() for key, _, value in pairs})
    start = front.content_start
    if is_drawing(front.values):
        comments = drawing_comments(text, start)
    elif has_comments(text):
        # Code is found by a parse of its own, since a comment may contain text that looks like markup.
        comments = find_comments(text, start, code_blocks(text, content_start=start))
    else:
        comments = ()
    body = blank_out(text, comments)
    content = read_markdown(body, content_start=start)
    links = content.links
    if "|" in body:
        links = tuple(text_first(link, path, front.values) for link in links)
    fields = _fields(body, content.blocks) if "::" in body else {}
    title, title_source = _title(path, front.values, _own_heading(path, body, content))
    return Document(
        path=path,
        title=title,
        title_source=title_source,
        body=body,
        content_start=start,
        frontmatter=front.values,
        tags=distinct_tags([*frontmatter_tags(front.values), *field_tags(fields), *content.tags]),
        aliases=frontmatter_aliases({**fields, **front.values}),
        links=(*property_links(path, text[:start], front.values, versions=versions), *links),
        sections=build_sections(content.headings, content_start=start, length=len(body)),
        blocks=content.blocks,
        warnings=(*front.warnings, *unread_dates(front.values)),
        updated_ns=updated_ns(path, front.values),
        comments=comments,
        fields=fields,
    )


def _fields(body: str, blocks: Sequence[Block]) -> dict[str, str | list[str]]:
    found: dict[str, list[str]] = {}
    for block in blocks:
        if block.kind is not BlockKind.FENCE:
            for field in _FIELD.finditer(body, block.start, block.end):
                values = found.setdefault(field["key"] or field["name"], [])
                values.append((field["value"] or field["text"]).strip())
    return {key: values if len(values) > 1 else values[0] for key, values in found.items()}


def _beginning(data: re.Match[str]) -> str:
    """Return the beginning of encoded data, with all of its line breaks."""
    return f"{data[data.lastindex or 0]}…" + "\n" * data[0].count("\n")


def _beginning_of_run(run: re.Match[str]) -> str:
    """Return the beginning of a run without white space; all of it if it is a table or mere signs."""
    is_text = run[0][0] == "|" or sum(map(str.isalnum, run[0])) * 2 < len(run[0])
    return run[0] if is_text else _beginning(run)


def _without_code(line: re.Match[str]) -> str:
    """Return a line with the beginning of its minified code alone; all of it if it has no such code."""
    words = line[0].split(" ")
    long = [at for at, word in enumerate(words) if len(word) > _LONGEST_WORD]
    code = words[long[0] : long[-1] + 1] if long else []
    chars = sum(map(len, code))
    if chars <= max(len(code) * _MEAN_WORD, _MIN_CODE):
        return line[0]
    bare = _SIGNS_OF_PROSE.sub("", " ".join(code))
    if len(bare) * 2 < chars or min(
        bare.count(";"), len(_BLOCK_OF_CODE.findall(bare))
    ) * _CHARS_FOR_A_SIGN < len(bare):
        return line[0]
    return " ".join((*words[: long[0]], f"{code[0][:60]}…", *words[long[-1] + 1 :]))


def _plain_document(path: str, text: str) -> Document:
    cues = [Comment(found.start(), found[0]) for found in _CUE.finditer(text)] if " --> " in text else []
    text = blank_out(text, cues)
    if cues:
        voices = [Comment(found.start(), found[0]) for found in _VOICE.finditer(text)]
        text = _VOICE.sub(lambda found: f"{found[1]}:{_BLANKED}".rjust(len(found[0])), text)
        repeated = [*_repeated_lines(text)]
        text = blank_out(text, repeated)
        cues = sorted([*cues, *voices, *repeated], key=attrgetter("start"))
    headings = plain_headings(text)
    return Document(
        path=path,
        title=_file_title(path),
        title_source=TitleSource.FILE_NAME,
        body=text,
        content_start=0,
        sections=build_sections(headings, content_start=0, length=len(text)),
        blocks=tuple(_plain_blocks(text, headings)),
        is_plain=True,
        updated_ns=updated_ns(path, {}),
        comments=tuple(cues),
    )


def _plain_blocks(text: str, headings: Sequence[Heading]) -> Iterator[Block]:
    """Yield the paragraphs of a plain text, and the lines that are headings."""
    starts = [0, *(each.start for each in headings), len(text)]
    ends = [0, *(each.end for each in headings)]
    for (start, end), below in zip(itertools.pairwise(starts), ends, strict=True):
        if below > start:
            yield Block(BlockKind.HEADING, start, below)
        for found in PARAGRAPH.finditer(text, below, end):
            yield Block(BlockKind.PARAGRAPH, *found.span())


def _repeated_lines(text: str) -> Iterator[Comment]:
    """Yield the lines of a transcript that repeat the line before: captions that roll show it twice."""
    before: list[str] = []
    start = 0
    for line in text.splitlines(keepends=True):
        said, words = line.strip(), line.split()
        if words and words == before and _BLANKED not in said:
            yield Comment(start + line.index(said), said)
        before, start = words or before, start + len(line)


def _title(path: str, frontmatter: Mapping[str, object], heading: str) -> tuple[str, TitleSource]:
    named = next((value for key, value in frontmatter.items() if key.strip().casefold() == "title"), None)
    if not isinstance(named, bool):
        title = one_line(", ".join(scalars(named)))  # to YAML, [Draft] is a list
        if title and not _PLACEHOLDER.search(title):
            return title, TitleSource.FRONTMATTER
    is_title = heading and not _PLACEHOLDER.search(heading)
    return (heading, TitleSource.HEADING) if is_title else (_file_title(path), TitleSource.FILE_NAME)


def _own_heading(path: str, body: str, content: MarkdownContent) -> str:
    """Return the first heading of level 1; below prose and in a list it is the name of a section alone.

    So is the first one of several, if the name of the file says something else.
    """
    first = next((each for each in content.headings if each.level == 1 and each.text), None)
    if first is None or _ITEM_HEADING.match(body, first.start) or _is_one_of_several(path, content):
        return ""  # it names a part
    above = (each for each in content.blocks if each.end <= first.start and each.kind is BlockKind.PARAGRAPH)
    lead = "\n".join(body[each.start : each.end] for each in itertools.islice(above, _LEAD_PARAGRAPHS))
    return first.text if len(_NO_PROSE.sub("", lead[:_LEAD_CHARS]).strip()) < _MIN_PROSE else ""


def _is_one_of_several(path: str, content: MarkdownContent) -> bool:
    """Return True if the first of several headings has no word of the note's name, which is no number."""
    first, *others = (each.text for each in content.headings if each.level == 1 and each.text)
    name, said = fold_name(_file_title(path)), fold_name(first)
    words = [word for word in name.split() if len(word) > 1 or not word.isascii()]
    is_name = any(not word.isdecimal() for word in words) or dated_name(path)
    suffix = _stem_and_suffix(path)[1].lower()
    is_own = suffix in (*MARKDOWN_SUFFIXES, ".pdf") and _NAMES_OF_ANY_NOTE.isdisjoint(words)
    is_alike = said in name or any(word in said for word in words)
    return bool(is_name and is_own and others and not is_alike)


def _file_title(path: str) -> str:
    stem = _NOTION_ID.sub("", _stem_and_suffix(path)[0].removesuffix(DRAWING_SUFFIX))
    return " ".join(without_codes(stem).split()) or path.rpartition("/")[2]


def _stem_and_suffix(path: str) -> tuple[str, str]:
    """Return the same as pathlib's ``stem`` and ``suffix``, in a tenth of the time."""
    name = path.rpartition("/")[2]
    dot = name.rfind(".")
    return (name[:dot], name[dot:]) if 0 < dot < len(name) - 1 else (name, "")


def _canvas_text(text: str) -> str:
    """Return the cards of a canvas as Markdown, in reading order: from the top, then from the left.

    A card with text becomes its text, a card with a file an embed of it, a web page its address, and a group
    its label. Below them are the labels of arrows.

    Args:
        text: The file, or the Markdown that this function returned for it.

    Returns:
        Cards separated by blank lines; a text that is not a canvas is returned unchanged.
    """
    try:
        canvas = msgspec.json.decode(text.encode("utf-8", "replace"))
    except msgspec.DecodeError:
        return text
    nodes = canvas.get("nodes", []) if isinstance(canvas, Mapping) else None
    if not isinstance(nodes, list):
        return text
    cards = sorted((node for node in nodes if isinstance(node, Mapping)), key=_place_on_board)
    arrows = canvas.get("edges")
    return "\n\n".join(_texts_of_cards([*cards, *(arrows if isinstance(arrows, list) else ())])) + "\n"


def _place_on_board(node: Mapping[str, object]) -> tuple[float, float]:
    y, x = (value if isinstance(value, (int, float)) else 0 for value in (node.get("y"), node.get("x")))
    return y, x


def _texts_of_cards(cards: list[Mapping[str, object]]) -> Iterator[str]:
    for card in cards:
        match card:
            case {"type": "text", "text": str(text)} if text.strip():
                yield text.strip("\n").replace("\r\n", "\n").replace("\r", "\n")
            case {"type": "file", "file": str(file)} if file.strip():
                yield f"![[{file}]]"
            case {"type": "link", "url": str(url)} if url.strip():
                yield f"<{url}>"
            case {"label": str(label)} if label.strip():
                yield label.strip()
