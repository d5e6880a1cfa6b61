"""Files of other programs, made on the spot."""

from __future__ import annotations

import html
import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from email import message_from_bytes, policy
from email.message import EmailMessage
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


def docx(run: str = "", texts: Sequence[str] = ()) -> bytes:
    """Return a Word document with headings, tables and a list.

    Args:
        run: XML in the first paragraph.
        texts: Paragraphs at the end.
    """
    import docx as word
    from docx.oxml import parse_xml
    from docx.oxml.ns import nsdecls

    document = word.Document()
    document.core_properties.title = "Minutes of March"
    document.core_properties.author = "Mia Keel"
    document.add_heading("Minutes of the board", 1)
    paragraph = document.add_paragraph("We decided to paint the crane green.")
    paragraph._p.append(parse_xml(f"<w:r {nsdecls('w')}>{run}</w:r>"))
    document.add_heading("Budget", 2)
    table = document.add_table(2, 2)
    for at, text in enumerate(("item", "cost", "paint", "300")):
        table.cell(at // 2, at % 2).text = text
    table = document.add_table(2, 2)
    table.cell(0, 0).merge(table.cell(1, 0)).text = "order"
    table.cell(0, 1).text, table.cell(1, 1).text = "paint", "brush"
    document.add_paragraph("order the paint", style="List Bullet")
    for text in texts:
        document.add_paragraph(text)
    written = BytesIO()
    document.save(written)
    return written.getvalue()


def pptx(chart: Mapping[str, Sequence[float | None]] | None = None, text: str = "Paint the crane") -> bytes:
    """Return two slides with texts, a table and notes.

    Args:
        chart: Numbers of May and June by their name, for a chart on a third slide.
        text: That of the first slide.
    """
    from pptx import Presentation
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE
    from pptx.util import Inches

    slides = Presentation()
    first = slides.slides.add_slide(slides.slide_layouts[1])
    first.shapes.title.text = "Plan of the harbour"
    first.placeholders[1].text = text
    first.notes_slide.notes_text_frame.text = "Ask Mia about the colour."
    second = slides.slides.add_slide(slides.slide_layouts[6])
    shape = second.shapes.add_table(2, 2, Inches(1), Inches(1), Inches(4), Inches(1))
    for at, text in enumerate(("month", "ships", "May", "12")):
        shape.table.cell(at // 2, at % 2).text = text
    if chart:
        data = CategoryChartData()  # type: ignore[no-untyped-call]
        data.categories = ["May", "June"]
        for name, numbers in chart.items():
            data.add_series(name, numbers)  # type: ignore[no-untyped-call]
        third = slides.slides.add_slide(slides.slide_layouts[6])
        frame = third.shapes.add_chart(XL_CHART_TYPE.LINE, 0, 0, Inches(4), Inches(3), data)
        frame.chart.chart_title.text_frame.text = "Arrivals"
    written = BytesIO()
    slides.save(written)
    return written.getvalue()


def xlsx(sheets: Mapping[str, Sequence[Sequence[object]]], merged: Sequence[str] = ()) -> bytes:
    """Return a spreadsheet.

    Args:
        sheets: The rows of each sheet.
        merged: Ranges of cells in the last sheet, such as ``A1:A2``, that are one cell.
    """
    from openpyxl import Workbook  # type: ignore[import-untyped]

    workbook = Workbook()
    workbook.remove(workbook.active)
    for name, rows in sheets.items():
        sheet = workbook.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    for cells in merged:
        sheet.merge_cells(cells)
    written = BytesIO()
    workbook.save(written)
    return written.getvalue()


def epub(chapters: Sequence[str], gone: str = "", **metadata: str) -> bytes:
    """Return a book of chapters in HTML.

    Args:
        chapters: The chapters.
        gone: Further items in the order of reading; ``out`` is one outside of the folder, ``End.``.
        metadata: Title and creator.
    """
    described = "".join(f"<dc:{name}>{value}</dc:{name}>" for name, value in metadata.items())
    items = '<item id="out" href="../out.xhtml"/>' + "".join(
        f'<item id="c{at}" href="c{at}.xhtml"/>' for at in range(len(chapters))
    )
    spine = "".join(f'<itemref idref="c{at}"/>' for at in range(len(chapters)))
    return archive(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
            '<rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>',
            "OPS/book.opf": '<package xmlns="http://www.idpf.org/2007/opf" '
            'xmlns:dc="http://purl.org/dc/elements/1.1/">'
            f"<metadata>{described}</metadata><manifest>{items}</manifest><spine>{spine}{gone}</spine></package>",
            "out.xhtml": "<p>End.</p>",
            **{
                f"OPS/c{at}.xhtml": f"<html><body>{chapter}</body></html>"
                for at, chapter in enumerate(chapters)
            },
        }
    )


def opendocument(body: str, *, title: str = "Minutes", encrypted: bool = False) -> bytes:
    """Return a text or slides of OpenDocument.

    Args:
        body: XML of its text, with the prefixes that LibreOffice takes.
        title: Its title.
        encrypted: Whether its list of files says so.
    """
    oasis = "urn:oasis:names:tc:opendocument:xmlns:"
    names = ("office", "text", "table", "drawing", "presentation", "meta")
    spaces = " ".join(f'xmlns:{"draw" if name == "drawing" else name}="{oasis}{name}:1.0"' for name in names)
    other = 'xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:dc="http://purl.org/dc/elements/1.1/"'
    root = f"<office:document {spaces} {other}>"
    return archive(
        {
            "META-INF/manifest.xml": "<encryption-data/>" if encrypted else "<manifest/>",
            "content.xml": f"{root}<office:body>{body}</office:body></office:document>",
            "meta.xml": f"{root}<office:meta><dc:title>{title}</dc:title></office:meta></office:document>",
        }
    )


def enex(body: str, title: str = "A note", tags: Sequence[str] = ()) -> bytes:
    """Return a note as Evernote exports it, given its HTML."""
    named = f"<title>{html.escape(title)}</title><created>20240302T091500Z</created>"
    tagged = "".join(f"<tag>{html.escape(tag)}</tag>" for tag in tags)
    declared = '<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE en-note SYSTEM "http://a.b/enml2.dtd">'
    content = f"<content><![CDATA[{declared}<en-note>{body}</en-note>]]></content>"
    return f"<en-export><note>{named}{tagged}{content}</note></en-export>".encode()


def rtf(text: str) -> bytes:
    """Return lines of text as rich text."""
    escaped = re.sub(r"[\\{}]", r"\\\g<0>", text).replace("\n", "\\par\n")
    return f"{{\\rtf1\\ansi {escaped}}}".encode()


def mail(parts: Sequence[tuple[str, str | bytes]], *, subject: str = "Tides") -> bytes:
    """Return a message.

    Args:
        parts: Its text as ``text/plain`` or ``text/html``, or files by their names.
        subject: Its subject.
    """
    message = EmailMessage()
    message["Subject"] = subject
    message["From"] = "三浦 <mia@example.com>"
    message["Date"] = "Mon, 02 Mar 2026 10:00:00 +0900"
    for name, content in parts:
        raw = content.encode() if isinstance(content, str) else content
        if name == "text/plain":
            message.set_content(raw.decode())
        elif name == "text/html":
            message.add_alternative(raw.decode(), subtype="html")
        elif name == "message":
            message.add_attachment(message_from_bytes(raw, policy=policy.default))
        else:
            message.add_attachment(raw, "application", "octet-stream", filename=name)
    return message.as_bytes()


def mailbox(*messages: bytes) -> bytes:
    """Return messages as programs export them, in one file."""
    lines = (re.sub(rb"^(?=>*From )", b">", each, flags=re.MULTILINE) for each in messages)
    return b"\n".join(b"From 1@xxx Mon Mar 02 01:00:00 +0000 2026\n" + each + b"\n" for each in lines)


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
