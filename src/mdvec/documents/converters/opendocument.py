"""Texts and slides of OpenDocument, as LibreOffice writes them."""

from __future__ import annotations

import re
from html import escape
from xml.etree import ElementTree

from bs4 import BeautifulSoup

from mdvec.documents.converters import NotConvertedError, frontmatter, place_mark, plain
from mdvec.documents.converters.archives import unpacked, xml_of
from mdvec.documents.converters.web import markdown_of

_OASIS = "urn:oasis:names:tc:opendocument:xmlns:"
_OFFICE, _TEXT, _TABLE, _DRAW, _META = (
    f"{{{_OASIS}{name}:1.0}}" for name in ("office", "text", "table", "drawing", "meta")
)
_PRESENTATION = f"{{{_OASIS}presentation:1.0}}"
_HREF = "{http://www.w3.org/1999/xlink}href"
_DUBLIN_CORE = "{http://purl.org/dc/elements/1.1/}"
_MAX_LEVEL = 6
_SPACES = re.compile(r"\s+")
_MANIFEST = "META-INF/manifest.xml"

# Elements that a reader does not see in their place: readings of words, deleted text, comments.
_LEFT_OUT = {f"{_TEXT}ruby-text", f"{_TEXT}tracked-changes", f"{_OFFICE}annotation"}
_TAGS = {
    f"{_TEXT}p": "p",
    f"{_TEXT}list": "ul",
    f"{_TEXT}list-item": "li",
    f"{_TABLE}table": "table",
    f"{_TABLE}table-row": "tr",
    f"{_TABLE}table-cell": "td",
}
_SIGNS = {f"{_TEXT}s": " ", f"{_TEXT}tab": " ", f"{_TEXT}line-break": "<br>"}


def convert_opendocument(raw: bytes) -> str:
    """Return the Markdown of a text, or of slides: headings, lists, tables, links and notes.

    Raises:
        NotConvertedError: If it is neither, or encrypted.
    """
    with unpacked(raw, "an OpenDocument file") as archive:
        if b"encryption-data" in archive.read(_MANIFEST):
            msg = "is encrypted; save it anew without a password"
            raise NotConvertedError(msg)
        body = xml_of(archive, "content.xml").find(f"{_OFFICE}body")
        said = xml_of(archive, "meta.xml") if "meta.xml" in archive.namelist() else None
    slides = [] if body is None else [*body.iter(f"{_DRAW}page")]
    parts = [_slide(number, slide) for number, slide in enumerate(slides, 1)]
    if body is not None and not slides:
        parts.append(_markdown(body))
    return frontmatter({} if said is None else _metadata(said)) + "\n".join(parts)


def _metadata(said: ElementTree.Element) -> dict[str, object]:
    names = {
        "title": f"{_DUBLIN_CORE}title",
        "author": f"{_META}initial-creator",
        "created": f"{_META}creation-date",
        "updated": f"{_DUBLIN_CORE}date",
    }
    return {key: said.findtext(f".//{name}", "").strip() for key, name in names.items()}


def _slide(number: int, slide: ElementTree.Element) -> str:
    titles = [each for each in slide if each.get(f"{_PRESENTATION}class") == "title"]
    title = " ".join("".join(each for part in titles for each in part.itertext()).split())
    text = _markdown(*(each for each in slide if each not in titles))
    return f"{place_mark(f'slide {number}')}\n## {plain(title) or f'Slide {number}'}\n\n{text}"


def _markdown(*elements: ElementTree.Element) -> str:
    return markdown_of(BeautifulSoup("".join(map(_html, elements)), "lxml"))


def _html(element: ElementTree.Element) -> str:
    """Return an element as HTML; what is only a place for others is no tag."""
    if element.tag in _LEFT_OUT:
        return ""
    if element.tag in _SIGNS:
        return _SIGNS[element.tag]
    inner = _words(element.text) + "".join(_html(each) + _words(each.tail) for each in element)
    if element.tag == f"{_TEXT}h":
        level = min(int(element.get(f"{_TEXT}outline-level", 1)), _MAX_LEVEL)
        return f"<h{level}>{inner}</h{level}>"
    if element.tag == f"{_TEXT}a":
        return f'<a href="{escape(element.get(_HREF, ""))}">{inner}</a>'
    if element.tag == f"{_TEXT}note":
        said = element.find(f"{_TEXT}note-body")
        return "" if said is None else f" ({escape(' '.join(''.join(said.itertext()).split()))})"
    if tag := _TAGS.get(element.tag):
        spans = (
            f'{side}span="{element.get(f"{_TABLE}number-{side}{end}-spanned", 1)}"'
            for side, end in (("col", "umns"), ("row", "s"))
        )
        return f"<{tag} {' '.join(spans) if tag == 'td' else ''}>{inner}</{tag}>"
    return inner


def _words(text: str | None) -> str:
    return escape(_SPACES.sub(" ", text or ""))
