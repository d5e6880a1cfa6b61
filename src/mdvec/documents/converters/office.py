"""Word documents, rich text, slides and spreadsheets."""

from __future__ import annotations

import csv
import re
import zipfile
from collections.abc import Iterator, Sequence
from io import BytesIO, StringIO
from itertools import pairwise, zip_longest
from typing import Any

from mdvec.documents.converters import NotConvertedError, frontmatter, place_mark, plain, table, text_of
from mdvec.documents.converters.archives import refuse_entities, unpacked, xml_of

_CORE = "docProps/core.xml"
_CORE_NAMES = {"d": "http://purl.org/dc/elements/1.1/", "t": "http://purl.org/dc/terms/"}
_MAX_UNPACKED_BYTES = 500_000_000
_XML_SUFFIXES = (".xml", ".rels")
_PROLOGUE_BYTES = 2_000  # entities are defined at the beginning
_STYLES = "p[style-name='Title'] => h1:fresh"
_TEXTS_OF_WORD = re.compile(r"word/(?:document|footnotes|endnotes)\d*\.xml")
_RUBY = re.compile(rb"<w:ruby>.*?<w:rubyBase>(.*?)</w:rubyBase>\s*</w:ruby>", re.DOTALL)
_PICTURES_OF_WORD = "word/media/"
_MAX_REPEATED_CHARS = 100  # of a cell that is repeated in each of its rows
_FIRST_LINES = 20
_OF_MAC, _MAC = b"\\ansicpg10000", "mac_roman"
_DIGIT = re.compile(r"\d")
_RTF = b"{\\rtf"
_BLANK_LINES = re.compile(r"\n{3,}")
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

    no_image = mammoth.images.img_element(lambda _: {"alt": ""})  # which programs write
    html: str = mammoth.convert_to_html(
        _without_readings(raw), convert_image=no_image, style_map=_STYLES
    ).value
    return frontmatter(values) + markdown_of(BeautifulSoup(html, "html.parser"))


def _without_readings(raw: bytes) -> BytesIO:
    """Return a Word document in which words with readings (ruby) are plain words; mammoth leaves both out."""
    written = BytesIO()
    with zipfile.ZipFile(BytesIO(raw)) as archive:
        texts = {name: archive.read(name) for name in archive.namelist() if _TEXTS_OF_WORD.fullmatch(name)}
        if not any(b"<w:ruby>" in text for text in texts.values()):
            return BytesIO(raw)
        with zipfile.ZipFile(written, "w") as plain_one:
            for name in {*archive.namelist()}:
                if not name.startswith(_PICTURES_OF_WORD):
                    text = texts.get(name)
                    plain_one.writestr(name, archive.read(name) if text is None else _RUBY.sub(rb"\1", text))
    written.seek(0)
    return written


def convert_rtf(raw: bytes) -> str:
    """Return the text of a rich text file as Markdown, without its formatting.

    Raises:
        NotConvertedError: If it is none.
    """
    if not raw.lstrip().startswith(_RTF):
        msg = "is no rich text"
        raise NotConvertedError(msg)
    from striprtf.striprtf import rtf_to_text

    # The library looks for the end of a link in all of its line; a line end means nothing in rich text.
    lines = raw.replace(b"{\\field", b"\n{\\field").replace(_OF_MAC, b"")
    text = rtf_to_text(lines.decode("latin-1"), _MAC if _OF_MAC in raw else "cp1252", errors="replace")
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # RTF writes surrogate pairs
    return plain(_BLANK_LINES.sub("\n\n", whole.replace("\r", ""))).strip() + "\n"


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
        parts = [_sheet(workbook.get_sheet_by_name(name)) for name in workbook.sheet_names]
    except CalamineError as error:
        msg = "is no spreadsheet, encrypted, or damaged"
        raise NotConvertedError(msg) from error
    return frontmatter(values) + "\n\n".join(filter(None, parts)) + "\n"


def _sheet(sheet: Any) -> str:
    shown = [[_cell(value) for value in row] for row in sheet.to_python()]
    above, before = sheet.start or (0, 0)
    for (top, left), (bottom, _) in sheet.merged_cell_ranges or ():
        own, at = shown[max(0, top - above) : max(0, bottom + 1 - above)], left - before
        text = own[0][at] if own and 0 <= at < len(own[0]) else ""
        if 0 < len(text) <= _MAX_REPEATED_CHARS:
            for row in own:
                row[at] = text
    body = _grid(shown)
    return f"{place_mark(f'sheet {sheet.name}')}\n## {plain(sheet.name)}\n\n{body}" if body else ""


def convert_csv(raw: bytes) -> str:
    """Return the Markdown of rows of values between commas, semicolons or tabs: a table.

    Raises:
        NotConvertedError: If they are no text.
    """
    text = text_of(raw)
    csv.field_size_limit(len(raw) + 1)
    first = text.split("\n", _FIRST_LINES)[:_FIRST_LINES]
    # Numbers may have commas, and titles above the rows may have nothing.
    separator = max("\t;,", key=lambda each: sum(each in line for line in first))
    rows = csv.reader(StringIO(text, newline=""), delimiter=separator)
    return f"{_grid([*rows])}\n"


def _grid(cells: Sequence[Sequence[str]]) -> str:
    """Return rows as tables without empty rows and columns, each with its titles above it as text.

    Below an empty row, a row of names that fills a column empty in all rows above begins another table: the
    bookings, say, below the number of an account.
    """
    blocks: list[list[Sequence[str]]] = [[]]
    above: list[Sequence[str]] = []  # rows of one text below an empty one, maybe the titles of another table
    used: set[int] = set()
    is_apart = False
    for row, after in pairwise((*cells, ())):
        filled = _filled(row)
        if not filled or (is_apart and len(filled) == 1):
            is_apart = True
            above += [row] if filled else []
            continue
        new = filled - used if is_apart and len(used) > 1 and not _DIGIT.search("".join(row)) else set()
        if new and new <= _filled(after):
            blocks.append([])
            used = set()
        blocks[-1] += (*above, row)
        above, is_apart = [], False
        used |= filled
    blocks[-1] += above
    return "\n\n".join(filter(None, map(_titled_table, blocks)))


def _filled(row: Sequence[str]) -> set[int]:
    return {at for at, cell in enumerate(row) if cell}


def _titled_table(rows: Sequence[Sequence[str]]) -> str:
    titles = _titles(rows)
    columns = (column for column in zip_longest(*rows[len(titles) :], fillvalue="") if any(column))
    return "\n\n".join(filter(None, (*map(plain, titles), table([*zip(*columns, strict=True)]))))


def _titles(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return what is above a table: rows of one text, where the next row names several columns."""
    texts = [[cell for cell in row if cell] for row in rows]
    first = next((at for at, cells in enumerate(texts) if len(cells) > 1), 0)
    return [" ".join(cell.split()) for [cell] in texts[:first]]


def _cell(value: object) -> str:
    number = int(value) if isinstance(value, float) and value.is_integer() else value
    return "" if number is None else str(number)


def _slide(number: int, slide: Any) -> Iterator[str]:
    title = slide.shapes.title
    heading = " ".join(title.text_frame.text.split()) if title is not None else ""
    yield f"{place_mark(f'slide {number}')}\n## {plain(heading) or f'Slide {number}'}"
    for shape in _in_order(slide.shapes):
        if title is not None and shape.shape_id == title.shape_id:
            continue
        if getattr(shape, "has_table", False) and shape.has_table:
            yield table([[cell.text for cell in row.cells] for row in shape.table.rows])
        elif getattr(shape, "has_chart", False) and shape.has_chart:
            yield from _chart(shape.chart)
        elif shape.has_text_frame:
            lines = [_paragraph(each) for each in shape.text_frame.paragraphs if each.text.strip()]
            if lines:
                yield "\n".join(lines)
    if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame.text.strip()):
        yield plain(notes)


def _chart(chart: Any) -> Iterator[str]:
    """Yield the title of a chart, and the numbers that it shows as a table."""
    if chart.has_title and (title := " ".join(chart.chart_title.text_frame.text.split())):
        yield plain(title)
    for plot in chart.plots:
        names = ["", *(series.name for series in plot.series)]
        columns = [[*map(_cell, series.values)] for series in plot.series]
        yield table(
            [names, *([str(each), *row] for each, *row in zip(plot.categories, *columns, strict=False))]
        )


def _in_order(shapes: Any) -> list[Any]:
    """Return shapes as they are read: from the top, then from the left; those of groups, too."""
    found: list[Any] = []
    for shape in shapes:
        found += _in_order(shape.shapes) if hasattr(shape, "shapes") else [shape]
    return sorted(found, key=lambda shape: (shape.top or 0, shape.left or 0))


def _paragraph(paragraph: Any) -> str:
    text = " ".join(paragraph.text.split())
    return f"{'  ' * paragraph.level}- {plain(text)}"


def _checked(raw: bytes, kind: str) -> dict[str, object]:
    """Return the metadata of a file of Office.

    Raises:
        NotConvertedError: If it is no such file, encrypted, or would be unpacked to too much.
    """
    if raw.startswith(_OLE):
        msg = "is encrypted, or of an old version of Office; save it anew without a password"
        raise NotConvertedError(msg)
    with unpacked(raw, kind) as archive:
        if sum(each.file_size for each in archive.infolist()) > _MAX_UNPACKED_BYTES:
            msg = f"unpacks to more than {_MAX_UNPACKED_BYTES // 1_000_000} MB"
            raise NotConvertedError(msg)
        for part in archive.infolist():
            if part.filename.endswith(_XML_SUFFIXES):
                with archive.open(part) as opened:
                    refuse_entities(opened.read(_PROLOGUE_BYTES))
        return _metadata(archive) if _CORE in archive.namelist() else {}


def _metadata(archive: zipfile.ZipFile) -> dict[str, object]:
    core = xml_of(archive, _CORE)
    names = {"title": "d:title", "author": "d:creator", "created": "t:created", "updated": "t:modified"}
    return {key: core.findtext(name, "", _CORE_NAMES).strip() for key, name in names.items()}
