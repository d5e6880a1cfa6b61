"""Word documents, slides and spreadsheets."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import Any

from mdvec.documents.converters import NotConvertedError, frontmatter, place_mark, plain, table

_CORE = "docProps/core.xml"
_CORE_NAMES = {
    "d": "http://purl.org/dc/elements/1.1/",
    "t": "http://purl.org/dc/terms/",
}
_MAX_UNPACKED_BYTES = 500_000_000
_XML_SUFFIXES = (".xml", ".rels")
_PROLOGUE_BYTES = 2_000  # entities are defined at the beginning
_STYLES = "p[style-name='Title'] => h1:fresh"
_OLE = bytes.fromhex("d0cf11e0a1b11ae1")
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")


def convert_docx(raw: bytes) -> str:
    """Return the Markdown of a Word document: headings, lists, tables, links and notes.

    Raises:
        NotConvertedError: If it is none, or encrypted.
    """
    values = _checked(raw, "a Word document")
    import mammoth
    from bs4 import BeautifulSoup

    from mdvec.documents.converters.web import markdown_of

    no_image = mammoth.images.img_element(lambda _: {})
    html: str = mammoth.convert_to_html(BytesIO(raw), convert_image=no_image, style_map=_STYLES).value
    soup = BeautifulSoup(html, "html.parser")
    for image in soup.find_all("img"):
        image.decompose()
    return frontmatter(values) + markdown_of(soup)


def convert_pptx(raw: bytes) -> str:
    """Return the Markdown of slides: a heading for each one, its texts, tables and notes.

    Raises:
        NotConvertedError: If they are none, or encrypted.
    """
    values = _checked(raw, "a presentation")
    from pptx import Presentation

    slides = Presentation(BytesIO(raw)).slides
    parts = ["\n\n".join(_slide(number, slide)) for number, slide in enumerate(slides, 1)]
    return frontmatter(values) + "\n\n".join(parts) + "\n"


def convert_spreadsheet(raw: bytes) -> str:
    """Return the Markdown of a spreadsheet: a heading and a table for each sheet.

    Raises:
        NotConvertedError: If it is none, or encrypted.
    """
    from python_calamine import CalamineError, CalamineWorkbook

    is_old = raw.startswith(_OLE) and _ENCRYPTED not in raw
    values = {} if is_old else _checked(raw, "a spreadsheet")
    try:
        workbook = CalamineWorkbook.from_filelike(BytesIO(raw))
        parts = [_sheet(name, workbook.get_sheet_by_name(name).to_python()) for name in workbook.sheet_names]
    except CalamineError as error:
        msg = "is no spreadsheet, encrypted, or damaged"
        raise NotConvertedError(msg) from error
    return frontmatter(values) + "\n\n".join(filter(None, parts)) + "\n"


def _sheet(name: str, rows: list[list[Any]]) -> str:
    shown = [[_cell(value) for value in row] for row in rows]
    held = [row for row in shown if any(row)]
    if not held:
        return ""
    used = [at for at in range(max(map(len, held))) if any(row[at] for row in held if at < len(row))]
    body = table([[row[at] if at < len(row) else "" for at in used] for row in held])
    return f"{place_mark(f'sheet {name}')}\n## {plain(name)}\n\n{body}"


def _cell(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _slide(number: int, slide: Any) -> Iterator[str]:
    title = slide.shapes.title
    heading = " ".join(title.text_frame.text.split()) if title is not None else ""
    yield f"{place_mark(f'slide {number}')}\n## {plain(heading) or f'Slide {number}'}"
    for shape in _in_order(slide.shapes):
        if title is not None and shape.shape_id == title.shape_id:
            continue
        if getattr(shape, "has_table", False) and shape.has_table:
            yield table([[cell.text for cell in row.cells] for row in shape.table.rows])
        elif shape.has_text_frame:
            lines = [_paragraph(each) for each in shape.text_frame.paragraphs if each.text.strip()]
            if lines:
                yield "\n".join(lines)
    if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame.text.strip()):
        yield plain(notes)


def _in_order(shapes: Any) -> list[Any]:
    """Return shapes as they are read: from the top, then from the left; those of groups, too."""
    found: list[Any] = []
    for shape in shapes:
        found += _in_order(shape.shapes) if hasattr(shape, "shapes") else [shape]
    return sorted(found, key=lambda shape: (shape.top or 0, shape.left or 0))


def _paragraph(paragraph: Any) -> str:
    text = " ".join(paragraph.text.split())
    return f"{'  ' * paragraph.level}- {text}"


def _checked(raw: bytes, kind: str) -> dict[str, object]:
    """Return the metadata of a file of Office.

    Raises:
        NotConvertedError: If it is no such file, encrypted, or would be unpacked to too much.
    """
    if raw.startswith(_OLE):
        msg = "is encrypted, or of an old version of Office; save it anew without a password"
        raise NotConvertedError(msg)
    from mdvec.documents.converters.web import refuse_entities

    try:
        with zipfile.ZipFile(BytesIO(raw)) as archive:
            if sum(each.file_size for each in archive.infolist()) > _MAX_UNPACKED_BYTES:
                msg = f"unpacks to more than {_MAX_UNPACKED_BYTES // 1_000_000} MB"
                raise NotConvertedError(msg)
            for part in archive.infolist():
                if part.filename.endswith(_XML_SUFFIXES):
                    with archive.open(part) as opened:
                        refuse_entities(opened.read(_PROLOGUE_BYTES))
            return _metadata(archive) if _CORE in archive.namelist() else {}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, zlib.error) as error:
        msg = f"is not {kind}, or damaged"
        raise NotConvertedError(msg) from error


def _metadata(archive: zipfile.ZipFile) -> dict[str, object]:
    from mdvec.documents.converters.web import xml_of

    core = xml_of(archive, _CORE)
    names = {"title": "d:title", "author": "d:creator", "created": "t:created", "updated": "t:modified"}
    return {key: core.findtext(name, "", _CORE_NAMES).strip() for key, name in names.items()}
