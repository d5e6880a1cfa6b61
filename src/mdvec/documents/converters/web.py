"""Web pages, books in EPUB and notes of Evernote: their text without what surrounds it."""

from __future__ import annotations

import codecs
import copy
import html
import posixpath
import re
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import unquote
from xml.etree import ElementTree

from bs4 import BeautifulSoup, Tag
from bs4.dammit import EncodingDetector
from markdownify import MarkdownConverter

from mdvec.documents.converters import BLOCK_SIGN, NotConvertedError, fenced, frontmatter, inline, place_mark
from mdvec.documents.converters.archives import member, refuse_entities, unpacked, xml_of
from mdvec.documents.encodings import decode

# Elements around the text of a page, and those that are no text.
_AROUND = (
    *("head", "title", "script", "style", "noscript", "template", "svg", "form"),
    *("button", "nav", "aside", "iframe"),
    "ix:header",  # of reports to a stock exchange: values for programs
)
_READINGS = ("rt", "rp")  # of Japanese words, in the middle of which they would be
_AROUND_A_BODY = ("header", "footer")
_SECTIONS = ("section", "article", "div")
_BLOCKS = ("summary", "address", "legend", "option")  # which markdownify takes for words of a line
_CELLS = ("td", "th")
_TABLE_TAGS = ("table", "thead", "tbody", "tfoot", "tr", *_CELLS)
_MAX_SPAN = 1000  # as in HTML, of columns
_MAX_REPEATED_CHARS = 100  # of a cell that is repeated in each of its rows
_XML_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*>")
_WIDE_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_NO_BLOCKS = ("table", "li")  # a comment in them would be a part of a line
_ID = re.compile(r"[^\s<>]+?(?<!-)")
_PERMALINK = re.compile(r"^\s*[¶§#🔗]\s*$")  # at the end of a heading
_MARK = "\ue000"
_MARKED = re.compile(rf"{_MARK}(.*?){_MARK}\n?")
# Marks a sign that is markup only at the start of a line. Where lines start is known when all are written.
_LITERAL = "\ue001"
_BLOCK = re.compile(rf"^([ \t]*)({BLOCK_SIGN}|[-+*](?=\s|$))|^([ \t]*\d{{0,9}})([.)](?=\s|$))", re.MULTILINE)
_LITERAL_BLOCK = re.compile(rf"^((?:[ >]|- |\d+\. )*\d*){_LITERAL}", re.MULTILINE)
_EMBEDDED = ("data:", "cid:")
_BLANK_LINES = re.compile(r"\n{3,}")
_HEADING = re.compile(r"^h[1-6]$")
_EVERNOTE_CODE = re.compile("-en-codeblock: *true")
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")  # which XML does not allow
_TAG = re.compile(r"(?!\d+$)[\w/-]+")
_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d).*")

_CONTAINER = "META-INF/container.xml"
_NAMES = {
    "c": "urn:oasis:names:tc:opendocument:xmlns:container",
    "o": "http://www.idpf.org/2007/opf",
    "d": "http://purl.org/dc/elements/1.1/",
}


def convert_html(raw: bytes) -> str:
    """Return the Markdown of a web page."""
    soup = _parsed(raw)
    title = soup.title.get_text(" ", strip=True) if soup.title else ""
    for heading in soup.find_all(_HEADING):
        if heading.find_parent(_NO_BLOCKS) is None and (anchor := _anchor(heading)):
            mark = soup.new_tag("p")
            mark.string = f"{_MARK}{anchor}{_MARK}"
            heading.insert_before(mark)
    return frontmatter({"title": title}) + _MARKED.sub(_place_of_mark, markdown_of(soup, has_pictures=True))


def _parsed(raw: bytes) -> BeautifulSoup:
    """Parse a page in the encoding that it names, if its bytes are in that, or else in the one it reads as.

    The parser of lxml ends what authors leave open, such as cells and items.
    """
    named = EncodingDetector.find_declared_encoding(raw, is_html=True) or ""
    text = None
    # A page that names its encoding in letters of one byte is not in UTF-16, whatever it says.
    if named and not named.lower().startswith("utf-16") and not raw.startswith(_WIDE_MARKS):
        with suppress(LookupError, UnicodeDecodeError):
            text = raw.decode(named)
    if text is None and (found := decode(raw)):
        text = found.text
    return BeautifulSoup(_XML_DECLARATION.sub("", text or ""), "lxml")


def _anchor(heading: Tag) -> str:
    """Return the anchor of a heading: its id, that of the section it begins, or of a target in it."""
    parent = heading.parent
    begins = parent is not None and parent.find(heading.name) is heading and parent.name in _SECTIONS
    inside = heading.find(id=True) or heading.find("a", attrs={"name": True})
    anchors = (heading.get("id"), parent.get("id") if begins and parent else "", _name_of(inside))
    return next((str(each) for each in anchors if each and _ID.fullmatch(str(each))), "")


def _name_of(tag: object) -> object:
    return (tag.get("id") or tag.get("name")) if isinstance(tag, Tag) else ""


def _place_of_mark(found: re.Match[str]) -> str:
    return place_mark(f"#{html.unescape(found[1])}".replace("\\", ""))


class _Converter(MarkdownConverter):
    """Writes text so that no sign in it is markup, code in fences that hold it, and cells in one line."""

    def escape(self, text: str, *_: object) -> str:
        return _BLOCK.sub(rf"\1\3{_LITERAL}\2\4", inline(text))

    def convert_pre(self, _el: Tag, text: str, **_: object) -> str:
        code = text.strip("\n").rstrip()
        return f"\n\n{fenced(code)}\n\n" if code else ""

    def convert_td(self, el: Tag, text: str, **_: object) -> str:
        cell = " ".join(text.split()).replace("|", "\\|")
        return f" {cell}{' |' * _span(el, 'colspan')}"

    convert_th = convert_td


def markdown_of(soup: BeautifulSoup, *, has_pictures: bool = False) -> str:
    """Return the Markdown of the text of a page; of its main part, where it says which one that is.

    Args:
        soup: The page.
        has_pictures: Whether its pictures are files of its folder. Otherwise their alternative text replaces
            them.
    """
    part = soup.find("main") or soup.find("article") or soup.body or soup
    for name in (*_AROUND, *_READINGS):
        for tag in part.find_all(name):
            tag.decompose()
    for tag in part.find_all(_AROUND_A_BODY, recursive=False):
        tag.decompose()
    for image in part.find_all("img"):
        said = str(image.get("alt", ""))
        image["alt"] = inline(said)
        if not has_pictures or str(image.get("src", "")).startswith(_EMBEDDED):
            image.replace_with(said)
    for link in part.find_all("a", string=_PERMALINK):
        link.decompose()
    for tag in part.find_all(_BLOCKS):
        tag.name = "p"
    for table in part.find_all("table"):
        _simplify(table)
    text: str = _Converter(heading_style="ATX", bullets="-", table_infer_header=True).convert_soup(part)
    text = _LITERAL_BLOCK.sub(r"\1\\", text).replace(_LITERAL, "")
    return _BLANK_LINES.sub("\n\n", text).strip() + "\n"


def _simplify(table: Tag) -> None:
    """Make a table one that Markdown can have.

    One that holds tables is no table but the layout of a page; a caption is text above; and a short cell of
    several rows is said in each of them.
    """
    if table.find("table") is not None:
        own = [tag for tag in table.find_all(_TABLE_TAGS) if tag.find_parent("table") is table]
        for tag in (table, *own):
            tag.name = "div"
        return
    for caption in table.find_all("caption"):
        caption.name = "p"
        table.insert_before(caption.extract())
    hanging: dict[int, tuple[int, Tag]] = {}
    for row in table.find_all("tr"):
        at, above, hanging = 0, hanging, {}
        cells = row.find_all(_CELLS)
        while cells or at in above:
            if at in above:
                rows, spanning = above[at]
                cell = _repeated(spanning)
                (row.append if not cells else cells[0].insert_before)(cell)
            else:
                cell = cells.pop(0)
                rows = _span(cell, "rowspan")
            if rows > 1:
                hanging[at] = rows - 1, cell
            at += _span(cell, "colspan")


def _span(cell: Tag, name: str) -> int:
    number = str(cell.get(name, ""))
    return min(max(int(number), 1), _MAX_SPAN) if number.isdecimal() else 1


def _repeated(cell: Tag) -> Tag:
    """Return a cell again, for the next of its rows; empty if it has much text."""
    again = copy.copy(cell)
    if len(cell.get_text()) > _MAX_REPEATED_CHARS:
        again.clear()
    return again


def convert_epub(raw: bytes) -> str:
    """Return the Markdown of a book: its chapters in the order of reading.

    Raises:
        NotConvertedError: If it is no book, or protected.
    """
    with unpacked(raw, "an EPUB file") as book:
        if {"META-INF/encryption.xml", "META-INF/rights.xml"} <= {*book.namelist()}:
            msg = "is protected against copying (DRM)"
            raise NotConvertedError(msg)
        return "\n".join(_book(book))


def _book(book: zipfile.ZipFile) -> Iterator[str]:
    root = xml_of(book, _CONTAINER).find(".//c:rootfile", _NAMES)
    package = "" if root is None else root.attrib["full-path"]
    described = xml_of(book, package)
    values = {
        key: " · ".join(each.text or "" for each in described.iterfind(f".//d:{name}", _NAMES))
        for key, name in (("title", "title"), ("author", "creator"), ("date", "date"))
    }
    yield frontmatter(values)
    files = {each.attrib["id"]: each.attrib["href"] for each in described.iterfind(".//o:item", _NAMES)}
    held = {*book.namelist()}
    for number, each in enumerate(described.iterfind(".//o:itemref", _NAMES), 1):
        name = unquote(files.get(each.attrib["idref"], ""))
        path = posixpath.normpath(posixpath.join(posixpath.dirname(package), name))
        text = markdown_of(_parsed(member(book, path))) if path in held else ""
        if text.strip():
            yield f"{place_mark(f'part {number}')}\n{text}"


def convert_enex(raw: bytes) -> str:
    """Return the Markdown of an export of Evernote: a note, or a heading and a text for each of several.

    Raises:
        NotConvertedError: If it holds no note.
    """
    refuse_entities(raw)
    notes: list[ElementTree.Element] = []
    with suppress(ElementTree.ParseError):
        notes = ElementTree.fromstring(_CONTROL.sub(b"", raw)).findall("note")  # noqa: S314 - without entities
    if not notes:
        msg = "holds no notes of Evernote, or is damaged"
        raise NotConvertedError(msg)
    if len(notes) == 1:
        return "".join(_note(notes[0]))
    parts = (_note(each, level=2) for each in notes)
    return "\n\n".join(
        f"{place_mark(f'note {number}')}\n{''.join(part)}" for number, part in enumerate(parts, 1)
    )


def _note(note: ElementTree.Element, level: int = 0) -> Iterator[str]:
    """Yield a note: what is known of it, as a heading of a level or as frontmatter, and its text."""
    title, created = (" ".join(note.findtext(name, "").split()) for name in ("title", "created"))
    tags = ["-".join((each.text or "").split()) for each in note.iterfind("tag")]
    day = _TIME.sub(r"\1-\2-\3 \4:\5", created)
    if level:
        shown = (f"#{tag}" if _TAG.fullmatch(tag) else inline(tag) for tag in tags)
        yield f"{'#' * level} {inline(title) or 'Untitled'}\n\n{' '.join((day, *shown))}\n\n"
    else:
        yield frontmatter({"title": title, "created": day, "tags": tags})
    soup = _parsed(note.findtext("content", "").encode())
    for task in soup.find_all("en-todo"):
        task.insert_before("☑ " if task.get("checked") == "true" else "☐ ")
        task.unwrap()
    for hidden in soup.find_all("en-crypt"):
        hidden.decompose()
    for code in soup.find_all("div", style=_EVERNOTE_CODE):
        code.name = "pre"
        for end in code.find_all("br"):
            end.decompose()  # each is alone in its line
        for line in code.find_all("div"):
            line.insert_before("\n")
            line.unwrap()
    for heading in soup.find_all(_HEADING):
        heading.name = f"h{min(int(heading.name[1]) + level, 6)}"
    yield markdown_of(soup)
