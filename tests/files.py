"""Files of other programs, made on the spot."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

from reportlab.lib.pagesizes import A4
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.styles import ParagraphStyle, getSampleStyleSheet
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import BaseDocTemplate, Flowable, Frame, PageBreak, PageTemplate, Paragraph

JAPANESE = "HeiseiMin-W3"
_STYLES = getSampleStyleSheet()


def pdf(
    parts: Sequence[tuple[str, str]],
    *,
    columns: int = 1,
    head: str = "",
    password: str = "",
    **metadata: str,
) -> bytes:
    """Return a PDF file.

    Args:
        parts: A style (``Title``, ``Heading2``, ``BodyText``, or ``ja`` for Japanese), and a text; ``break``
            begins a page.
        columns: Columns of a page.
        head: What is at the top of each page; its number is at the bottom.
        password: Encrypts it.
        metadata: Title and author.
    """
    pdfmetrics.registerFont(UnicodeCIDFont(JAPANESE))
    japanese = ParagraphStyle("ja", fontName=JAPANESE, fontSize=11, leading=18, wordWrap="CJK")

    def around(canvas: Canvas, _: object) -> None:
        canvas.setFont("Helvetica", 8)
        if head:
            canvas.drawString(60, 820, head)
            canvas.drawString(290, 20, str(canvas.getPageNumber()))

    written = BytesIO()
    width = (A4[0] - 100) / columns
    frames = [Frame(50 + at * width, 50, width - 20, 740) for at in range(columns)]
    document = BaseDocTemplate(
        written, pagesize=A4, encrypt=StandardEncryption(password) if password else None, **metadata
    )
    document.addPageTemplates(PageTemplate(frames=frames, onPage=around))
    flowables: list[Flowable] = [
        PageBreak() if style == "break" else Paragraph(text, japanese if style == "ja" else _STYLES[style])
        for style, text in parts
    ]
    document.build(flowables)
    return written.getvalue()


def drawn_pdf(
    texts: Sequence[tuple[float, float, float, str]],
    *,
    lines: Sequence[tuple[float, float, float, float]] = (),
    degrees: int = 0,
    across: str = "",
) -> bytes:
    """Return a PDF page with texts in this order: left, baseline, size and text of each; and with lines.

    Args:
        texts: The texts.
        lines: The ends of each line.
        degrees: How far all of it is turned.
        across: A text that is turned a quarter further.
    """
    pdfmetrics.registerFont(UnicodeCIDFont(JAPANESE))
    written = BytesIO()
    canvas = Canvas(written, pagesize=(800, 800))
    canvas.translate(400, 400)
    canvas.rotate(degrees)
    canvas.translate(-400, -400)
    for left, baseline, size, text in texts:
        canvas.setFont("Helvetica" if text.isascii() else JAPANESE, size)
        canvas.drawString(left, baseline, text)
    canvas.lines(lines)
    canvas.rotate(90)
    canvas.drawString(300, -20, across)
    canvas.save()
    return written.getvalue()


def scanned_pdf(pages: int = 2) -> bytes:
    """Return a PDF file of pages without text."""
    written = BytesIO()
    canvas = Canvas(written)
    for _ in range(pages):
        canvas.rect(50, 50, 400, 600, fill=1)
        canvas.showPage()
    canvas.save()
    return written.getvalue()


def docx() -> bytes:
    """Return a Word document with headings, a table, a list and a link."""
    import docx as word

    document = word.Document()
    document.core_properties.title = "Minutes of March"
    document.core_properties.author = "Mia Keel"
    document.add_heading("Minutes of the board", 1)
    document.add_paragraph("We decided to paint the crane green.")
    document.add_heading("Budget", 2)
    table = document.add_table(2, 2)
    for at, text in enumerate(("item", "cost", "paint", "300")):
        table.cell(at // 2, at % 2).text = text
    document.add_paragraph("order the paint", style="List Bullet")
    written = BytesIO()
    document.save(written)
    return written.getvalue()


def pptx() -> bytes:
    """Return two slides with texts, a table and notes."""
    from pptx import Presentation
    from pptx.util import Inches

    slides = Presentation()
    first = slides.slides.add_slide(slides.slide_layouts[1])
    first.shapes.title.text = "Plan of the harbour"
    first.placeholders[1].text = "Paint the crane"
    first.notes_slide.notes_text_frame.text = "Ask Mia about the colour."
    second = slides.slides.add_slide(slides.slide_layouts[6])
    shape = second.shapes.add_table(2, 2, Inches(1), Inches(1), Inches(4), Inches(1))
    for at, text in enumerate(("month", "ships", "May", "12")):
        shape.table.cell(at // 2, at % 2).text = text
    written = BytesIO()
    slides.save(written)
    return written.getvalue()


def xlsx(sheets: Mapping[str, Sequence[Sequence[object]]]) -> bytes:
    """Return a spreadsheet."""
    from openpyxl import Workbook  # type: ignore[import-untyped]

    workbook = Workbook()
    workbook.remove(workbook.active)
    for name, rows in sheets.items():
        sheet = workbook.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    written = BytesIO()
    workbook.save(written)
    return written.getvalue()


def epub(chapters: Sequence[str], **metadata: str) -> bytes:
    """Return a book of chapters in HTML."""
    described = "".join(f"<dc:{name}>{value}</dc:{name}>" for name, value in metadata.items())
    items = "".join(f'<item id="c{at}" href="c{at}.xhtml"/>' for at in range(len(chapters)))
    spine = "".join(f'<itemref idref="c{at}"/>' for at in range(len(chapters)))
    return archive(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
            '<rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>',
            "OPS/book.opf": '<package xmlns="http://www.idpf.org/2007/opf" '
            'xmlns:dc="http://purl.org/dc/elements/1.1/">'
            f"<metadata>{described}</metadata><manifest>{items}</manifest><spine>{spine}</spine></package>",
            **{
                f"OPS/c{at}.xhtml": f"<html><body>{chapter}</body></html>"
                for at, chapter in enumerate(chapters)
            },
        }
    )


def archive(members: Mapping[str, str | bytes]) -> bytes:
    """Return a zip file."""
    written = BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members.items():
            made.writestr(name, content)
    return written.getvalue()


def ipynb(cells: Sequence[Mapping[str, Any]]) -> bytes:
    """Return a notebook."""
    return json.dumps({"nbformat": 4, "metadata": {}, "cells": cells}).encode()
