"""Files of other programs as Markdown."""

from __future__ import annotations

import base64
import html
import re
from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import files
from tests.growth import assert_grows_linearly

from mdvec.documents.converters import NotConvertedError, plain, table
from mdvec.documents.converters.latex import convert_latex
from mdvec.documents.converters.mail import convert_mail, convert_mailbox
from mdvec.documents.converters.markup import convert_adoc, convert_org, convert_rst
from mdvec.documents.converters.notebook import convert_notebook
from mdvec.documents.converters.office import (
    convert_csv,
    convert_docx,
    convert_pptx,
    convert_rtf,
    convert_spreadsheet,
)
from mdvec.documents.converters.opendocument import convert_opendocument
from mdvec.documents.converters.pdf import convert_pdf
from mdvec.documents.converters.pdf_layout import Line, Rule, arranged
from mdvec.documents.converters.web import convert_enex, convert_epub, convert_html
from mdvec.documents.parse import parse_document
from mdvec.text.plain import plain_text

SENTENCE = "The harbour crane must be inspected every spring, before the first ships arrive from the north. "
JAPANESE = (
    "港のクレーンは毎年春に点検しなければならない。点検の結果は港長の帳簿に記録され、五年間保存される。"
)


def lines_of(text: str) -> list[str]:
    """Return the lines that are not blank, below the frontmatter."""
    body = text.split("---\n")[-1] if text.startswith("---") else text
    return [line for line in body.split("\n") if line and not line.startswith("<!--")]


# --- PDF -----------------------------------------------------------------------------------------------


def test_a_pdf_is_headings_and_paragraphs() -> None:
    """By the size of letters; a paragraph is one line, however it was broken."""
    raw = files.pdf([("Title", "On cranes"), ("Heading2", "Inspection"), ("BodyText", SENTENCE * 4)])
    assert lines_of(convert_pdf(raw)) == ["# On cranes", "## Inspection", (SENTENCE * 4).strip()]


def test_columns_are_read_one_after_the_other() -> None:
    """And a paragraph that goes on in the next column is one."""
    parts = [("BodyText", f"Part {number}. {SENTENCE * 5}") for number in range(12)]
    found = lines_of(convert_pdf(files.pdf(parts, columns=2)))
    assert [line.replace("<!-- place: page 2 -->", "") for line in found] == [
        f"Part {number}. {SENTENCE * 5}".strip() for number in range(12)
    ]


def test_what_is_on_every_page_is_no_text() -> None:
    """Running heads and numbers of pages."""
    parts = [("BodyText", f"Part {number}. {SENTENCE * 6}") for number in range(40)]
    text = convert_pdf(files.pdf(parts, head="Journal of Harbours 3 (2024)"))
    assert "Journal" not in text
    assert "<!-- place: page 3 -->" in text
    assert len(lines_of(text)) == 40


def test_a_numbered_title_on_every_page_is_text() -> None:
    """It is larger than the text; and lines that pages also have in their middle are no running head."""
    page = [("BodyText", f"Berth {number} is free from noon.") for number in range(9)]
    parts = [part for number in range(4) for part in (("Title", f"Day {number}"), *page, ("break", ""))]
    text = convert_pdf(files.pdf(parts, head="Journal of Harbours 3 (2024)"))
    assert "Journal" not in text
    assert re.findall(r"# Day \d", text) == [f"# Day {number}" for number in range(4)]
    assert text.count("is free") == 36


def test_a_page_of_text_among_scanned_ones_is_read() -> None:
    """As a letter before what it was sent with."""
    text = convert_pdf(files.pdf([("BodyText", SENTENCE), *[("break", ""), ("BodyText", ".")] * 30]))
    assert SENTENCE.strip() in text


def test_a_paragraph_over_two_pages_is_one() -> None:
    """The mark of the page is inside it."""
    parts = [("BodyText", SENTENCE * 90), ("BodyText", "The end.")]
    found = lines_of(convert_pdf(files.pdf(parts)))
    assert len(found) == 2
    assert "<!-- place: page 2 -->" in found[0]
    assert found[0].replace("<!-- place: page 2 -->", "") == (SENTENCE * 90).strip()


def test_a_page_of_short_lines_does_not_go_on_in_the_next() -> None:
    """As of slides: a paragraph that goes on ends with a full line."""
    first = [("BodyText", "The tides of the northern harbour"), ("BodyText", "at noon")]
    text = convert_pdf(files.pdf([*first, ("break", ""), ("BodyText", "The cranes")]))
    assert "noon\n\n<!-- place: page 2 -->\nThe cranes\n" in text


def test_what_is_above_all_others_is_read_first() -> None:
    """As the title of a slide, which is often drawn last; a higher column is not read before the left one."""
    texts = [(60, 600, 12, "Cranes are inspected."), (60, 580, 12, "Every spring."), (500, 40, 8, "7 of 9")]
    title = (60, 700, 24, "Inspection")
    slide = lines_of(convert_pdf(files.drawn_pdf([*texts[:2], title, texts[2]])))
    assert slide[:2] == ["# Inspection", "Cranes are inspected. Every spring."]
    columns = [(60, 600 - 14 * at, 12, f"Left {at}.") for at in range(4)]
    columns += [(320, 700 - 14 * at, 12, f"Right {at}.") for at in range(4)]
    found = " ".join(lines_of(convert_pdf(files.drawn_pdf(columns))))
    assert found.index("Left 3.") < found.index("Right 0.")


def test_japanese_lines_meet_without_spaces() -> None:
    """As a reader sees them."""
    found = lines_of(convert_pdf(files.pdf([("ja", JAPANESE * 3), ("ja", JAPANESE)])))
    assert found == [JAPANESE * 3, JAPANESE]


def test_a_hyphen_at_the_end_of_a_line_is_none() -> None:
    """The word is whole."""
    raw = files.pdf([("BodyText", "It was the inspec-<br/>tion of the well-<br/>Known crane.")])
    assert lines_of(convert_pdf(raw)) == ["It was the inspection of the well-Known crane."]


def test_lists_stay_lists() -> None:
    """Each item is its own line."""
    raw = files.pdf([("BodyText", "• first thing"), ("BodyText", "• second thing"), ("BodyText", "1. third")])
    assert lines_of(convert_pdf(raw)) == ["- first thing", "- second thing", "1. third"]


def test_signs_that_are_set_apart_begin_items() -> None:
    """They are no column of a table."""
    texts = [(x, 700 - 14 * at, 10, text) for at in range(4) for x, text in ((50, "•"), (80, f"item {at}"))]
    assert lines_of(convert_pdf(files.drawn_pdf(texts))) == [f"- item {at}" for at in range(4)]


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_a_turned_page_is_read_as_any_other(degrees: int) -> None:
    """As a wide table in a report; a stamp across it is a line."""
    texts = [(60, 300, 10, SENTENCE.strip()), (60, 284, 10, "The end of the page.")]
    texts += [(60 + 150 * at, 200 - 14 * row, 10, f"cell {row} {at}") for row in range(3) for at in range(2)]
    found = lines_of(convert_pdf(files.drawn_pdf(texts, degrees=degrees, across="A stamp in the margin")))
    found.remove("A stamp in the margin")
    assert found == [
        f"{SENTENCE.strip()} The end of the page.",
        *("| cell 0 0 | cell 0 1 |", "|---|---|", "| cell 1 0 | cell 1 1 |", "| cell 2 0 | cell 2 1 |"),
    ]


def test_letters_without_a_meaning_move_no_others() -> None:
    """PDFium leaves them out of the text of a page, and counts them."""
    drawn = rb"BT /F 9 Tf 50 700 Td (\000\000\000 first) Tj 0 -40 Td (second) Tj 250 0 Td (third) Tj ET"
    raw = (
        b"%PDF-1.4\n1 0 obj<</Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj "
        b"3 0 obj<</Type/Page/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>endobj "
        b"4 0 obj<</Length 100>>stream\n" + drawn + b"\nendstream endobj "
        b"5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj trailer<</Root 1 0 R>>"
    )
    assert lines_of(convert_pdf(raw)) == ["first", "second third"]


def test_short_lines_stay_lines() -> None:
    """Of an address or a form, which no sentence ends."""
    raw = files.pdf([("BodyText", SENTENCE * 4), ("BodyText", "Harbour master<br/>Quay 3<br/>Oslo")])
    assert lines_of(convert_pdf(raw))[1:] == ["Harbour master", "Quay 3", "Oslo"]


def test_columns_that_the_file_has_line_by_line_are_read_one_after_the_other() -> None:
    """As forms of tax offices have them."""
    left = [f"The left column has its line {number} here" for number in range(6)]
    right = [f"and the right one its line {number} there." for number in range(6)]
    texts = [(x, 700 - 14 * at, 10, lines[at]) for at in range(6) for x, lines in ((50, left), (320, right))]
    assert " ".join(lines_of(convert_pdf(files.drawn_pdf(texts)))) == " ".join((*left, *right))


def test_rows_of_a_table_keep_their_cells() -> None:
    """Columns are between gutters; a word that stands alone is the rest of its cell, or a row of its own."""
    rows = [
        ("Port", "Tide", "Depth"),
        ("Kobe", "1.4 m", "12 m"),
        ("Sakai", "", "9 m"),
        ("Bari", "0.3 m", "11 m"),
    ]
    texts = [
        (x, 700 - 14 * at, 10, cell)
        for at, row in enumerate(rows)
        for x, cell in zip((50, 200, 300), row, strict=True)
        if cell
    ]
    assert lines_of(convert_pdf(files.drawn_pdf(texts))) == [
        *("| Port | Tide | Depth |", "|---|---|---|", "| Kobe | 1.4 m | 12 m |"),
        *("| Sakai |  | 9 m |", "| Bari | 0.3 m | 11 m |"),
    ]


def test_rules_say_what_a_cell_is() -> None:
    """Lines without a rule between them are one; a short cell over several rows is said in each."""
    texts = [
        *((60, 685, 10, "Town"), (160, 685, 10, "School")),
        *((60, 665, 10, "Harbour Road"), (60, 653, 10, "and Quay"), (160, 645, 10, "North")),
        (60, 625, 10, "Hill"),
    ]
    level = [(50, y, 250, y) for y in (700, 680, 620)] + [(50, 640, 150, 640)]
    upright = [(x, 620, x, 700) for x in (50, 150, 250)]
    assert lines_of(convert_pdf(files.drawn_pdf(texts, lines=[*level, *upright]))) == [
        *("| Town | School |", "|---|---|", "| Harbour Road and Quay | North |", "| Hill | North |"),
    ]


def test_a_frame_around_text_is_no_table() -> None:
    """Whatever is in it stays lines."""
    texts = [(60, 690 - 14 * at, 10, f"Framed sentence number {at} of the harbour.") for at in range(3)]
    lines = [(50, y, 400, y) for y in (710, 640)] + [(x, 640, x, 710) for x in (50, 400)]
    assert "|" not in convert_pdf(files.drawn_pdf(texts, lines=lines))


def test_ruby_is_no_text() -> None:
    """The words that it explains are found; small kana elsewhere are text."""
    texts = [(100, 700, 12, "山路"), (100, 712, 6, "やまみち"), (124, 700, 12, "を登りながら、こう考えた。")]
    text = convert_pdf(files.drawn_pdf([*texts, (100, 600, 6, "ちゅう")]))
    assert lines_of(text) == ["山路を登りながら、こう考えた。", "ちゅう"]


def test_vertical_text_is_read_from_the_right() -> None:
    """From the top down, whatever the order of the file; a horizontal running head is not in it."""
    columns = ["山路を登りながらこう考えた。", "智に働けば角が立つ。", "情に棹させば流される。"]
    texts = [
        # pdfium leaves out a text without any extent, such as a letter whose font the machine lacks.
        (400 - 20 * at, 700 - 12 * down, 12, f"{letter} ")
        for at, column in reversed([*enumerate(columns)])
        for down, letter in enumerate(column)
    ]
    text = convert_pdf(files.drawn_pdf([(60, 760, 9, "The three-cornered world"), *texts]))
    head, *rest = lines_of(text)
    assert (head, "".join(rest)) == ("The three-cornered world", "".join(columns))


def test_letters_that_are_set_apart_are_a_word() -> None:
    """As in titles and in cells of Japanese tables; also without spaces around signs."""
    text = convert_pdf(
        files.drawn_pdf([(100, 700, 12, "氏　名"), (100, 600, 12, "直進（ 右折） し、 止まる")])
    )
    assert lines_of(text) == ["氏名", "直進（右折）し、止まる"]


@given(
    st.lists(
        st.builds(
            Line,
            text=st.text("ab 山やまみち", min_size=1).filter(str.strip),
            size=st.sampled_from([5.0, 10.0, 14.0]),  # the smallest alone is small enough for ruby
            left=st.integers(0, 30).map(lambda step: 20.0 * step),
            baseline=st.integers(0, 30).map(lambda step: 20.0 * step),
            right=st.just(0.0),
            last_baseline=st.just(0.0),
        ),
        max_size=12,
    ),
    st.lists(
        st.builds(
            Rule,
            is_level=st.booleans(),
            at=st.integers(0, 30).map(lambda step: 20.0 * step + 5),
            start=st.sampled_from([0.0, 100.0, 300.0]),
            end=st.sampled_from([100.0, 300.0, 600.0]),
        ),
        max_size=12,
    ),
)
def test_no_layout_loses_a_letter(pieces: list[Line], rules: list[Rule]) -> None:
    """However they are placed, all letters are in the lines; but for ruby, which is small and kana alone."""
    placed = [
        piece._replace(right=piece.left + 10 * len(piece.text), last_baseline=piece.baseline)
        for piece in pieces
    ]
    text = "".join(line.text for line in arranged(placed, rules))
    kept = "".join(piece.text for piece in placed if piece.size > 5)
    assert Counter(kept.replace(" ", "")) - Counter(text) == Counter()


def test_metadata_of_a_pdf() -> None:
    """A title counts if it is on the first page: many are names of files."""
    parts = [("Title", "On cranes"), ("BodyText", SENTENCE)]
    assert '---\ntitle: "On cranes"\nauthor: "M. Keel"' in convert_pdf(
        files.pdf(parts, title="On Cranes".capitalize(), author="M. Keel")
    )
    assert "Microsoft" not in convert_pdf(files.pdf(parts, title="Microsoft Word - v3.doc"))


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (files.pdf([("BodyText", SENTENCE)], password="secret"), "encrypted"),
        (files.scanned_pdf(), "ocrmypdf"),
        (b"%PDF-1.7 nonsense", "damaged"),
        (b"", "damaged"),
    ],
)
def test_a_pdf_without_text_says_why(raw: bytes, reason: str) -> None:
    """And what to do about it."""
    with pytest.raises(NotConvertedError, match=reason):
        convert_pdf(raw)


# --- Office ----------------------------------------------------------------------------------------------


def test_word() -> None:
    """Headings, a table and a list; title and author are properties."""
    text = convert_docx(files.docx())
    assert text.startswith('---\ntitle: "Minutes of March"\nauthor: "Mia Keel"\n')
    found = lines_of(text)
    assert found[:2] == ["# Minutes of the board", "We decided to paint the crane green."]
    assert "## Budget" in found
    assert "| item | cost |" in found
    assert "| paint | 300 |" in found
    assert found[-1] == "- order the paint"


def test_words_with_readings_in_word() -> None:
    """The readings are left out, as in web pages, and not the words; a merged cell is said in each row."""
    ruby = (
        "<w:ruby><w:rubyPr/><w:rt><w:r><w:t>てんけん</w:t></w:r></w:rt>"
        "<w:rubyBase><w:r><w:t>点検</w:t></w:r></w:rubyBase></w:ruby>"
    )
    text = convert_docx(files.docx(run=ruby))
    assert "paint the crane green.点検" in text
    assert "てんけん" not in text
    assert "| order | brush |" in text


def test_texts_of_opendocument() -> None:
    """Headings, lists, tables, links and notes; readings, comments and deleted text are left out."""
    raw = files.opendocument(
        """<office:text><text:tracked-changes><text:p>gone</text:p></text:tracked-changes>
        <text:h text:outline-level="9">Budget</text:h>
        <text:p>毎年<text:ruby><text:ruby-base>点検</text:ruby-base><text:ruby-text>てんけん</text:ruby-text>
        </text:ruby>&lt;b&gt;<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>In
        May.</text:p></text:note-body></text:note><office:annotation><text:p>why?</text:p></office:annotation></text:p>
        <text:list><text:list-item><text:p>see <text:a xlink:href="a?b&amp;c">moon</text:a></text:p>
        </text:list-item></text:list><table:table><table:table-row>
        <table:table-cell table:number-rows-spanned="2"><text:p>paint</text:p></table:table-cell>
        <table:table-cell><text:p>red</text:p></table:table-cell></table:table-row><table:table-row>
        <table:covered-table-cell/><table:table-cell><text:p>green</text:p></table:table-cell>
        </table:table-row></table:table></office:text>"""
    )
    text = convert_opendocument(raw)
    assert text.startswith('---\ntitle: "Minutes"\n---\n')
    assert lines_of(text) == [
        *("###### Budget", "毎年点検 \\<b> (In May.)", "- see [moon](a?b&c)"),
        *("| paint | red |", "| --- | --- |", "| paint | green |"),
    ]


def test_slides_of_opendocument() -> None:
    """Each has its number, its title, its texts and its notes."""
    frame = "<draw:frame{}><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>"
    first = frame.format("", "Paint it.") + frame.format(' presentation:class="title"', "Plan")
    notes = f"<presentation:notes>{frame.format('', 'Ask Mia.')}</presentation:notes>"
    slides = f"<draw:page>{first}{notes}</draw:page><draw:page/>"
    text = convert_opendocument(files.opendocument(f"<office:presentation>{slides}</office:presentation>"))
    assert lines_of(text) == ["## Plan", "Paint it.", "Ask Mia.", "## Slide 2"]
    assert "<!-- place: slide 2 -->" in text


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (files.opendocument("", encrypted=True), "encrypted"),
        (b"PK", "damaged"),
        (
            files.archive({"META-INF/manifest.xml": "", "content.xml": "<!DOCTYPE a [<!ENTITY b 'c'>]><a/>"}),
            "entities",
        ),
    ],
)
def test_opendocument_that_cannot_be_read_says_why(raw: bytes, reason: str) -> None:
    """As of any other file."""
    with pytest.raises(NotConvertedError, match=reason):
        convert_opendocument(raw)


def test_charts_of_slides() -> None:
    """A chart is the numbers that it shows."""
    found = lines_of(convert_pptx(files.pptx(chart={"ships": (3, None)})))
    assert found[-5:] == ["Arrivals", "|  | ships |", "|---|---|", "| May | 3 |", "| June |  |"]


def test_slides() -> None:
    """Each has its number, its title, its texts and tables, and its notes."""
    text = convert_pptx(files.pptx())
    assert lines_of(text) == [
        *("## Plan of the harbour", "- Paint the crane", "Ask Mia about the colour."),
        *("## Slide 2", "| month | ships |", "|---|---|", "| May | 12 |"),
    ]
    assert "<!-- place: slide 2 -->\n## Slide 2" in text


def test_spreadsheets() -> None:
    """A table for each sheet, without empty rows and columns; whole numbers have no fraction."""
    raw = files.xlsx(
        {"Stock": [["part", None, "count"], [], ["bolt|nut", None, 12.0]], "Empty": [], "2": [["x"]]}
    )
    text = convert_spreadsheet(raw)
    assert lines_of(text) == [
        *("## Stock", "| part | count |", "|---|---|", "| bolt\\|nut | 12 |"),
        *("## 2", "| x |", "|---|"),
    ]
    assert "<!-- place: sheet Stock -->" in text


@pytest.mark.parametrize("title", [["Stock in May"], [None, "Stock in May"]])
def test_titles_and_merged_cells_of_a_spreadsheet(title: list[str | None]) -> None:
    """Rows of one text above a table are no names of columns; a merged cell is said in each of its rows."""
    rows = [title, [None, "place", "part"], [None, "north", "bolt"], [None, None, "nut"]]
    text = convert_spreadsheet(files.xlsx({"A": rows}, merged=("B3:B4", "E9:E10")))
    assert lines_of(text) == [
        *("## A", "Stock in May", "| place | part |", "|---|---|", "| north | bolt |", "| north | nut |"),
    ]


@pytest.mark.parametrize(
    "raw",
    [
        b'part,price,note\nbolt,"1,50","a\nb"\n',
        "\ufeffStock in May\n\npart;price;note\nbolt;1,50;a  b\n;;\n".encode("utf-16"),
        b"part\tprice\tnote\r\nbolt\t1,50\ta b\r\n",
    ],
    ids=["commas", "semicolons", "tabs"],
)
def test_rows_of_values(raw: bytes) -> None:
    """A table, whatever is between the values, and in any encoding."""
    shown = [line for line in lines_of(convert_csv(raw)) if line != "Stock in May"]
    assert shown == ["| part | price | note |", "|---|---|---|", "| bolt | 1,50 | a b |"]


def test_tables_below_each_other() -> None:
    """As banks write the account above its bookings; an empty row between groups of a table ends none."""
    raw = (
        b"Account;DE 12\nOwner;Mia\n\nBookings\nDay;Text;Amount\n1 May;Rent;-900\n\n2 May;;5\n\nTotal;;-895\n"
    )
    assert lines_of(convert_csv(raw)) == [
        *("| Account | DE 12 |", "|---|---|", "| Owner | Mia |", "Bookings"),
        *("| Day | Text | Amount |", "|---|---|---|", "| 1 May | Rent | -900 |", "| 2 May |  | 5 |"),
        "| Total |  | -895 |",
    ]
    remarked = lines_of(convert_csv(b"Name;Phone\nAda;12\n\nBob;;moved away\nCy;34\n\nthe end\n"))
    assert remarked[2:] == [
        "| Ada | 12 |  |",
        "| Bob |  | moved away |",
        "| Cy | 34 |  |",
        "| the end |  |  |",
    ]


def test_odd_rows_of_values() -> None:
    """A long value, rows of other lengths, and no rows; what is no text says so."""
    assert convert_csv("住所録\n名前,電話\n山田,03-1234,\n".encode("cp932")).split("\n\n")[0] == "住所録"
    assert "x" * 200_000 in convert_csv(b"a,b,c\n" + b"x" * 200_000 + b"\n")
    assert convert_csv(b"").strip() == ""
    with pytest.raises(NotConvertedError, match="is no text"):
        convert_csv(bytes(range(256)) * 9)


@pytest.mark.parametrize("convert", [convert_docx, convert_pptx, convert_spreadsheet])
@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 600, "encrypted"),
        (
            bytes.fromhex("d0cf11e0a1b11ae1") + "EncryptedPackage".encode("utf-16-le"),
            "save it anew without a password",
        ),
        (b"PK\x03\x04 nonsense", "damaged"),
    ],
)
def test_office_files_that_cannot_be_read_say_why(convert: object, raw: bytes, reason: str) -> None:
    """Encrypted ones are of the old format."""
    assert callable(convert)
    with pytest.raises(NotConvertedError, match=reason):
        convert(raw)


def test_a_bomb_is_not_unpacked() -> None:
    """An archive that would unpack to too much says so, in each format of Office."""
    raw = files.archive({"big": b"\0" * 600_000_000})
    for convert in (convert_docx, convert_pptx, convert_spreadsheet):
        with pytest.raises(NotConvertedError, match="unpacks to more than"):
            convert(raw)


# --- web pages, books, notebooks -------------------------------------------------------------------------


def test_web_pages() -> None:
    """The main part alone, without menus and scripts."""
    raw = b"""<html><head><title>Tides</title><script>x()</script></head><body><nav>menu</nav>
    <main><h1>Tides</h1><p>High at <b>noon</b>, see <a href="moon.html">moon</a>.</p>
    <img src="data:image/png;base64,AAAA" alt="x"><form>search</form></main>
    <footer>imprint</footer></body></html>"""
    assert convert_html(raw) == (
        '---\ntitle: "Tides"\n---\n\n# Tides\n\nHigh at **noon**, see [moon](moon.html).\n\nx\n'
    )


def test_sections_of_a_web_page_have_their_anchors() -> None:
    """The id of a heading, of the section that it begins, or of a target in it; none in a table."""
    raw = b"""<title>T</title><h1>T</h1><section id="tides"><h2>A</h2></section><h2 id="waves">B</h2>
    <h3><a name="wind_1*2">C</a></h3><h3>D</h3><table><tr><td><h4 id="cell">E</h4></table>"""
    assert re.findall(r"place: (\S+) -->\n#+ (\w)", convert_html(raw)) == [
        *(("#tides", "A"), ("#waves", "B"), ("#wind_1*2", "C")),
    ]


def test_links_of_headings_to_themselves_are_no_text() -> None:
    """Sphinx and MkDocs write them."""
    raw = '<h1>Tides<a class="headerlink" href="#t"> ¶ </a></h1><p><a href="x">#1</a></p>'.encode()
    assert convert_html(raw).endswith("# Tides\n\n[#1](x)\n")


def test_ruby_of_a_web_page_is_no_text() -> None:
    """It would be in the middle of words."""
    assert "智に働けば" in convert_html("<p><ruby>智<rp>(<rt>ち<rp>)</ruby>に働けば".encode())


@pytest.mark.parametrize(
    ("charset", "encoding"),
    [
        ("shift_jis", "cp932"),
        ("iso-2022-jp", "iso2022_jp"),
        ("utf-16", "utf-16"),
        ("utf-16", "utf-8"),
        ("utf-8", "cp932"),
        ("no-such", "utf-8"),
        ("", "cp932"),
        ("", "euc_jp"),
        ("windows-1251", "cp1251"),
    ],
)
def test_a_web_page_in_any_encoding(charset: str, encoding: str) -> None:
    """In the one that it names, unless its bytes are in another."""
    sentence = "Краны проверяют каждую весну." if encoding == "cp1251" else JAPANESE
    meta = f'<meta charset="{charset}">' if charset else ""
    assert sentence in convert_html(f"<head>{meta}</head><p>{sentence}</p>".encode(encoding))


def test_tables_of_a_web_page() -> None:
    """A caption is above, a cell of several rows is said in each of them, and a layout is no table."""
    raw = """<table><tr><td><table><caption>Berths</caption>
    <tr><th>quay<th>berth<th>free</tr><tr><td rowspan=2>north<td>1<td rowspan=3>noon</tr><tr><td>2</tr>
    <tr><td>south<td>3</tr></table></td></tr></table>"""
    assert lines_of(convert_html(raw.encode())) == [
        *("Berths", "| quay | berth | free |", "| --- | --- | --- |"),
        *("| north | 1 | noon |", "| north | 2 | noon |", "| south | 3 | noon |"),
    ]


def test_a_long_cell_of_several_rows_is_said_once() -> None:
    """It would fill the passages of all of them."""
    raw = f"<table><tr><td rowspan=2>{SENTENCE * 2}<td>1</tr><tr><td>2</tr></table>"
    assert convert_html(raw.encode()).count("harbour") == 2


def test_blocks_of_a_web_page_are_words_apart() -> None:
    """Also those that end where the next one begins, as authors leave them."""
    raw = "<details><summary>Tides?</summary>At noon.</details><address>Pier 3</address><ul><li>a<li>b</ul>"
    assert lines_of(convert_html(raw.encode())) == ["Tides?", "At noon.", "Pier 3", "- a", "- b"]


def test_a_book_that_lists_what_it_lacks() -> None:
    """The rest is read, also from outside of the folder of its list."""
    book = files.epub(["<p>Begin.</p>"], gone='<itemref idref="gone"/><itemref idref="out"/>')
    assert lines_of(convert_epub(book)) == ["Begin.", "End."]


def test_books() -> None:
    """Chapters in the order of reading, with title and author."""
    raw = files.epub(
        ["<h1>One</h1><p>Begin.</p>", "<h1>Two</h1><p>End.</p>"], title="Ships", creator="M. Keel"
    )
    assert convert_epub(raw) == (
        '---\ntitle: "Ships"\nauthor: "M. Keel"\n---\n\n\n'
        "<!-- place: part 1 -->\n# One\n\nBegin.\n\n<!-- place: part 2 -->\n# Two\n\nEnd.\n"
    )


@pytest.mark.parametrize(
    "raw",
    [
        b"PK\x03\x04",
        files.archive({"a": "b"}),
        files.archive({"META-INF/container.xml": "<!DOCTYPE a [<!ENTITY b 'c'>]><a/>"}),
        files.archive({"META-INF/container.xml": "<a/>"}),
        files.archive({"META-INF/container.xml": b"x" * 30_000_000}),
        files.archive({"META-INF/encryption.xml": "", "META-INF/rights.xml": ""}),
    ],
)
def test_what_is_no_book_says_so(raw: bytes) -> None:
    """Also one that defines entities, is too large inside, or is protected."""
    with pytest.raises(NotConvertedError):
        convert_epub(raw)


def test_a_note_of_evernote() -> None:
    """Is a document with its day and tags; what is encrypted is no text, and code is code."""
    code = '<div style="--en-codeblock:true;-en-codeblock: true"><div>a:</div><div>  # b</div></div>'
    raw = files.enex(
        f'<h1>Aloft</h1><en-todo checked="true"/>Shackles{code}<en-crypt>U2FsdA==</en-crypt>',
        title="Rig & sails",
        tags=["boat work"],
    )
    text = convert_enex(raw)
    assert text.startswith(
        '---\ntitle: "Rig & sails"\ncreated: "2024-03-02 09:15"\ntags: ["boat-work"]\n---\n'
    )
    assert lines_of(text) == ["# Aloft", "☑ Shackles", "```", "a:", "  # b", "```"]


def test_several_notes_of_evernote() -> None:
    """Each has a heading above its own, and a place."""
    first = files.enex("<h1>Aloft</h1>", title="Rig\x0b", tags=["a", "[[b]]"])
    second = files.enex("Gulls.", title="#birds")
    raw = first.replace(b"</en-export>", second[second.index(b"<note>") :])
    assert convert_enex(raw) == (
        "<!-- place: note 1 -->\n## Rig\n\n2024-03-02 09:15 #a \\[\\[b]]\n\n### Aloft\n\n\n"
        "<!-- place: note 2 -->\n## \\#birds\n\n2024-03-02 09:15\n\nGulls.\n"
    )


@pytest.mark.parametrize(
    "raw", [b"", b"<en-export/>", b"<en-export><note>", b'<!DOCTYPE a [<!ENTITY b "c">]><a/>']
)
def test_what_is_no_export_of_evernote_says_so(raw: bytes) -> None:
    """Also if it defines entities, which may expand to anything."""
    with pytest.raises(NotConvertedError, match=r"no notes of Evernote|XML entities"):
        convert_enex(raw)


def test_rich_text() -> None:
    """Its letters in any of its forms, and rows of a table in a line each; fonts and pictures are no text."""
    raw = (
        rb"{\rtf1\ansi\ansicpg932{\fonttbl\f0\fnil\fcharset128 HiraginoSans-W3;}{\pict 00ff}\f0\fs24 "
        rb"\'8d\'60 \u28526?{\b bold}\par\par\par\par\u-10179?\u-8704? {\*\hidden x}# a"
        rb"\par a\cell b\cell\row}"
    )
    assert convert_rtf(raw) == "港 潮bold\n\n😀 # a\na|b|\n"
    assert convert_rtf(rb"{\rtf1\mac\ansicpg10000 Caf\'8e}") == "Café\n"
    with pytest.raises(NotConvertedError, match="no rich text"):
        convert_rtf(b"{}")


def test_links_of_rich_text_take_linear_time() -> None:
    """Also if they are never closed."""
    part = r'{\field{\*\fldinst{HYPERLINK "a'
    assert_grows_linearly(lambda size: (r"{\rtf1 " + part * (size // len(part))).encode(), convert_rtf, 6_000)


def test_mail() -> None:
    """Subject, sender and date are properties; of text and HTML that say the same, the text is read."""
    raw = files.mail([("text/plain", "Yes.\n> At noon?\n# no heading\n"), ("text/html", "<p>Yes, HTML")])
    assert convert_mail(raw) == (
        '---\ntitle: "Tides"\nauthor: "三浦 <mia@example.com>"\ncreated: "2026-03-02T10:00:00+09:00"\n---\n\n'
        "Yes.\n> At noon?\n\\# no heading\n"
    )


def test_what_is_attached_to_a_mail() -> None:
    """Files of each kind have their names and, where one can be read, their text; so have messages."""
    attached: list[tuple[str, str | bytes]] = [
        *(("text/plain", "See below."), ("港.xlsx", files.xlsx({"Stock": [["part", "count"], ["bolt", 2]]}))),
        *(("broken.pdf", b"%PDF-"), ("list.csv", "a;b"), ("message", files.mail([("text/plain", "Old.")]))),
    ]
    text = convert_mail(files.mail(attached))
    assert [line.strip() for line in lines_of(text)] == [
        *("See below.", "## 港.xlsx", "## Stock", "| part | count |", "|---|---|", "| bolt | 2 |"),
        *("## broken.pdf", "## list.csv", "| a | b |", "|---|---|", "## Tides"),
        *("三浦 \\<mia@example.com> 2026-03-02T10:00:00+09:00", "Old."),
    ]
    assert re.findall(r"place: (.*) -->", text) == [
        *("attachment 港.xlsx", "attachment broken.pdf", "attachment list.csv"),
    ]


@pytest.mark.parametrize(
    ("charset", "encoding"),
    [
        ("iso-2022-jp", "iso2022_jp"),
        ("shift_jis", "cp932"),
        ("us-ascii", "cp932"),
        ("x-unknown", "euc_jp"),
        ("utf-8", "iso2022_jp"),
    ],
)
@pytest.mark.parametrize("kind", ["plain", "html"])
def test_a_mail_in_any_encoding(charset: str, encoding: str, kind: str) -> None:
    """Header and text, whatever they say of their encoding."""
    raw = JAPANESE.encode(encoding)
    word = base64.b64encode(raw).decode()
    head = f"Subject: =?{charset}?B?{word}?=\nContent-Type: text/{kind}; charset={charset}\n\n"
    assert convert_mail(head.encode() + raw).count(JAPANESE) == 2
    assert convert_mail(b"Subject: " + raw + b"\n\n" + raw).count(JAPANESE) == 2


def test_the_encoding_of_a_page_in_a_mail_is_that_of_the_mail() -> None:
    """Programs convert a page and leave what it says of its encoding."""
    head = "Subject: Tides\nContent-Type: text/html; charset=utf-8\n\n"
    assert JAPANESE in convert_mail(f"{head}<meta charset=iso-8859-1><p>{JAPANESE}".encode())


def test_mailboxes() -> None:
    """Each message has a heading and a place; lines of a text that begin as a message does are escaped."""
    first = files.mail([("text/plain", "Yes.\n\nFrom now on, at noon.\n>From: Mia\n")])
    second = files.mail([("text/plain", "See below."), ("list.csv", "a;b")], subject="# 港")
    text = convert_mailbox(files.mailbox(first, second))
    assert text == (
        "<!-- place: message 1 -->\n\n## Tides\n\n三浦 \\<mia@example.com> 2026-03-02T10:00:00+09:00\n\n"
        "Yes.\n\nFrom now on, at noon.\n>From: Mia\n\n"
        "<!-- place: message 2 -->\n\n## \\# 港\n\n三浦 \\<mia@example.com> 2026-03-02T10:00:00+09:00\n\n"
        "See below.\n\n<!-- place: attachment list.csv -->\n## list.csv\n\n| a | b |\n|---|---|\n"
    )
    assert convert_mailbox(files.mailbox(first, second).replace(b"\n", b"\r\n")) == text
    with pytest.raises(NotConvertedError, match="no mailbox"):
        convert_mailbox(first)


def test_mailboxes_take_linear_time() -> None:
    """Also of lines that only begin as a message does."""
    first = b"From a\nSubject: b\n\n"
    assert_grows_linearly(lambda size: first + b"From a\n\n" * size, convert_mailbox, 20_000)
    assert_grows_linearly(lambda size: first + b"\nFrom a\na" + b"a" * size, convert_mailbox, 20_000)


@pytest.mark.parametrize("raw", [b"", b"A text.\n", b"Note: this is a text.\n\nIt goes on."])
def test_what_is_no_mail_says_so(raw: bytes) -> None:
    """A message has one of the headers that each has."""
    with pytest.raises(NotConvertedError, match="no e-mail"):
        convert_mail(raw)


def test_notebooks() -> None:
    """Text, code in fences, what it printed, and errors; pictures are left out."""
    raw = files.ipynb(
        [
            {"cell_type": "markdown", "source": ["# Tides\n", "high"]},
            {
                "cell_type": "code",
                "source": "print('```')",
                "outputs": [
                    {"text": ["```\n"]},
                    {"data": {"image/png": "AAAA", "text/plain": "<Figure>"}},
                    {"ename": "TideError", "evalue": "too low", "traceback": ["\x1b[31m"]},
                ],
            },
            {"cell_type": "code", "source": ""},
        ]
    )
    assert convert_notebook(raw) == (
        "<!-- place: cell 1 -->\n# Tides\nhigh\n\n"
        "<!-- place: cell 2 -->\n````python\nprint('```')\n````\n\n````text\n```\n````\n\n"
        "```text\nTideError: too low\n```"
    )


@pytest.mark.parametrize("raw", [b"", b"[]", b"{}", b'{"cells": [1]}', b'{"cells": [{"source": ""}]}'])
def test_what_is_no_notebook_says_so(raw: bytes) -> None:
    """Whatever is wrong with it."""
    with pytest.raises(NotConvertedError):
        convert_notebook(raw)


def test_org() -> None:
    """Headings with their tags, code, links and keywords; an id is left out."""
    raw = b"""#+TITLE: Harbour plan
#+FILETAGS: :sea:work:
#+STARTUP: overview
#+CAPTION: A crane
* TODO Inspect the crane :urgent:2024:
:PROPERTIES:
:ID: 1234
:END:
See [[file:tides.org::*Ebb][tides]] and [[https://a.example]].
# hidden
#+begin_comment
hidden, too
#+end_comment
** Code
#+BEGIN_SRC python
* no heading
#+END_SRC
#+begin_quote
Calm.
#+end_quote
"""
    assert (
        convert_org(raw)
        == """---
title: "Harbour plan"
tags: ["sea", "work"]
---

#+CAPTION: A crane
# TODO Inspect the crane #urgent #2024
See [tides](<tides.org>) and [https://a.example](<https://a.example>).
<!--
hidden, too
-->
## Code
```python
* no heading
```
Calm.
"""
    )


def test_properties_and_tables_of_org() -> None:
    """Properties of the file are metadata, those of a heading lines; a rule is that of a table."""
    raw = b""":PROPERTIES:
:ID: 1234
:ROAM_REFS: https://a.example
:END:
#+TITLE: Life
* TODO Renew
  DEADLINE: <2025-06-30 Mon>
  :PROPERTIES:
  :ID: 1f2e
  :INSURER: Allianz <b>
  :END:
  :LOGBOOK:
  - State "DONE"
  :END:
  CLOCK: [2025-06-30 Mon 10:00]
  Policy.
  |------+-------|
  | part | price |
  |------+-------|
  | pads | 9.90  |
  |------+-------|
  | sum  | 9.90  |
:PROPERTIES:
:OPEN: yes
"""
    assert (
        convert_org(raw)
        == """---
ROAM_REFS: "https://a.example"
title: "Life"
---

# TODO Renew
  DEADLINE: <2025-06-30 Mon>
INSURER: Allianz \\<b>\u0020\u0020
  Policy.
  | part | price |
  |------|-------|
  | pads | 9.90  |
  | sum  | 9.90  |
:PROPERTIES:
:OPEN: yes
"""
    )


def test_restructured_text() -> None:
    """Headings in the order of their marks, code without options, links and roles."""
    raw = b"""=====
Title
=====

See `the page <https://a.example>`_ and :ref:`tides`, :doc:`/sub/a` and :doc:`b <b>`.

.. hidden
   here, too

.. _shown:
.. toctree::
   :maxdepth: 2

   intro
   The end <end>

Section
-------

.. code-block:: python
   :linenos:

   print(1)

   x = 2

Sub
~~~

Text ``code``.

Next
----
=== ===
a   b
"""
    assert (
        convert_rst(raw)
        == """# Title

See [the page](<https://a.example>) and `tides`, [sub/a](<sub/a.rst>) and [b](<b.rst>).

.. _shown:
- [intro](<intro.rst>)
- [The end](<end.rst>)
## Section

```python
print(1)

x = 2
```
### Sub

Text `code`.

## Next
=== ===
a   b
"""
    )


def test_asciidoc() -> None:
    """Headings, code with its language, links and attributes."""
    raw = b"""= Harbour
:author: Mia Keel

Tides
-----
See https://a.example[the page], link:b.adoc[b] and xref:c.adoc[].

// hidden
////
hidden, too
////
[TIP]
====
inside
====

----
Tides, no heading
----

[source,python]
----
== no heading
// shown
----
....
plain
....
"""
    assert (
        convert_adoc(raw)
        == """---
author: "Mia Keel"
---

# Harbour

## Tides
See [the page](<https://a.example>), [b](<b.adoc>) and [c.adoc](<c.adoc>).

<!--
hidden, too
-->
[TIP]
inside

```
Tides, no heading
```

```python
== no heading
// shown
```
```
plain
```
"""
    )


def test_latex() -> None:
    """What a reader sees is text; what comes before the document is metadata, and no macro is run."""
    raw = rb"""\documentclass[a4paper]{article}
\newcommand{\boat}[1]{\textbf{#1}}
\title{On \emph{Harbours} and T\'{\i}des} \author{Ann \& Bob}
\begin{document}
\maketitle % a remark with $ and \section{x}
\section{Inspection of $x^{2}$
  cranes}\label{sec:a}
The crane\footnote{A \textbf{big} one.} --- 50\% of ``it'' --- is inspected~\cite{knuth84}.\index{crane!big}
Na\"ive \boat{barges}. \textcolor{red}{Attention}.\\[2pt] \# tides \vspace{1em}
\begin{itemize}[label=--]
    \item first
    \item[second] term
\end{itemize}
\subsection*{Code}
\begin{lstlisting}[language=Python]
def f(x):  # \section{no}
    return {x: "$a$"}
\end{lstlisting}
\begin{tabular}{ll} \hline
Berth & Depth \\ \hline
North & 12 m \\
\end{tabular}
\[ E = mc^2 \]
\begin{figure}[!htb]\centering\includegraphics[width=1cm]{a.png}\caption{The pier}\end{figure}
See \verb|a_b|, \href{https://a.b}{the site} and \LaTeX{}.
\end{document}
after the end
"""
    text = convert_latex(raw)
    assert text.startswith('---\ntitle: "On Harbours and Tídes"\nauthor: "Ann & Bob"\n---\n')
    assert lines_of(text) == [
        "## Inspection of $x^{2}$ cranes",
        "The crane (A big one.) — 50% of “it” — is inspected [knuth84].",
        *("Naïve barges. Attention.", "\\# tides", "- first", "- second term", "### Code"),
        *("```python", "def f(x):  # \\section{no}", '    return {x: "$a$"}', "```"),
        *("Berth | Depth", "North | 12 m", "$$E = mc^2$$", "The pier"),
        "See `a_b`, the site and LaTeX.",
    ]


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (
            r"\url{https://a.b/~x%20y--z} and \href{https://a.b/x%20y}{a site}",
            "https://a.b/~x%20y--z and a site",
        ),
        (r"\title{The $\lambda$-calculus\\of today}x", "x"),
        (r"\section{G{\"o}del and TCP{/}IP}", "## Gödel and TCP/IP"),
        (r"Stra\ss e, \AE sir\hfill 2010\par\'{\i}", "Straße, Æsir  2010\n\ní"),
        ("\\lstinline{$HOME}, \\mintinline{sh}{$A}, $5\n\n\\section{B}", "`$HOME`, `$A`, $5\n\n## B"),
        (r"\[a \\[4pt] b~c\]", r"$$a \\[4pt] b~c$$"),
        (r"\begin{tabular}{@{}l|p{3cm}}a & b \\ \cmidrule(lr){1-2} c & d\end{tabular}", "a | b\nc | d"),
        (r"\begin{theorem}[Euler]\textit{a}[1]\begin{enumerate}[noitemsep]\item b", "[Euler]a[1]\n- b"),
        (r"\newcommand{\boat}[1]{\textbf{#1}}\input{b}\foreignlanguage{german}{Wort}", "Wort"),
        ("one % c\n\ntwo % d\n  three", "one\n\ntwo three"),
    ],
)
def test_what_a_reader_of_latex_sees(raw: str, text: str) -> None:
    """Addresses as they are, letters and spaces of any name, and no settings."""
    assert convert_latex(raw.encode()).split("---\n")[-1].strip() == text


def test_slides_in_latex() -> None:
    """Have their titles, however these are given; what is commented out is no text."""
    raw = rb"""\begin{document}\begin{comment}\section{x}\end{comment}
\begin{frame}[fragile]{Spring tides}High water.\end{frame}
\begin{frame}[t]\frametitle{Neap \emph{tides}}Low water.\end{frame}
\begin{frame}No title.\end{frame}
\end{document}"""
    assert lines_of(convert_latex(raw)) == [
        *("### Spring tides", "High water.", "### Neap tides", "Low water.", "No title."),
    ]


def test_a_part_of_a_document_in_latex() -> None:
    """Without its beginning; signs of Markdown and letters for private use are text."""
    raw = "\\chapter{潮}\n# a <script> [[b]]\n%% c\n\\begin{quote}\n    \\# d\ue0000\ue001\n\\end{quote}\n"
    assert lines_of(convert_latex(raw.encode())) == ["# 潮", "\\# a \\<script> \\[\\[b]]", "\\# d0"]


@pytest.mark.parametrize("convert", [convert_org, convert_rst, convert_adoc, convert_latex])
def test_markup_in_any_encoding(convert: Callable[[bytes], str]) -> None:
    """As notes are read; what is no text says so."""
    assert "港" in convert("港のクレーンを毎年春に点検する。\n".encode("shift_jis"))
    with pytest.raises(NotConvertedError, match="no text"):
        convert(bytes(range(256)) * 40)


def test_addresses_and_lines_to_write_on_stay() -> None:
    """No backslash is in what a reader copies."""
    assert plain("Name: ____ https://a.b/_c/~~d#e?f") == "Name: ____ https://a.b/_c/~~d#e?f"


def test_lists_in_plain_text_are_lists() -> None:
    """And nothing is code, however it is indented."""
    assert plain("Bye\n-- \nName\n- x\n1. # y\n\n    <b>") == ("Bye\n\\-- \nName\n- x\n1. \\# y\n\n   \\<b>")


TEXTS = [
    *("a <script> b", "see <!-- this", "50 %% of marten9 %% here", "a {/* b */}", "# systemctl restart"),
    *("#urgent and C# [[a|b]]", "[a](b.md) ![c](d.png)", "[1]: a", "---", "> said", "``` code", "~~~ code"),
    *(
        "**a** __b__ `c` ~~d~~ ==e==",
        r"C:\temp \<b>",
        "&amp; $a$ x^[y] z",
        "key:: value",
        "a snake_case 2 * 3",
    ),
]
ITEMS = ["- a", "+ b", "1. c", "2) d"]


def in_html(texts: Sequence[str]) -> str:
    return "".join(f"<p>{html.escape(text)}</p>" for text in texts)


@pytest.mark.parametrize(
    ("texts", "make"),
    [
        ([*TEXTS, *ITEMS], lambda texts: convert_html(in_html(texts).encode())),
        ([*TEXTS, *ITEMS], lambda texts: convert_epub(files.epub([in_html(texts)]))),
        ([*TEXTS, *ITEMS], lambda texts: convert_enex(files.enex(in_html(texts)))),
        ([*TEXTS, *ITEMS], lambda texts: convert_docx(files.docx(texts=texts))),
        (TEXTS, lambda texts: convert_rtf(files.rtf("\n\n".join(texts)))),
        (
            [*TEXTS, *ITEMS],
            lambda texts: convert_opendocument(
                files.opendocument(in_html(texts).replace("<p>", "<text:p>").replace("</p>", "</text:p>"))
            ),
        ),
        ([*TEXTS, *ITEMS], lambda texts: convert_pptx(files.pptx(text="\n".join(texts)))),
        ([*TEXTS, *ITEMS], lambda texts: convert_spreadsheet(files.xlsx({"A": [["x", t] for t in texts]}))),
        ([*TEXTS, *ITEMS], lambda texts: convert_csv("\n".join(f'x,"{t}"' for t in texts).encode())),
        (
            [each for each in TEXTS if each != "> said"],
            lambda texts: convert_mail(files.mail([("text/plain", "\n\n".join(texts))])),
        ),
        (
            TEXTS,
            lambda texts: convert_pdf(
                files.drawn_pdf([(50, 700 - 30 * at, 12, text) for at, text in enumerate(texts)])
            ),
        ),
    ],
    ids=["html", "epub", "enex", "docx", "rtf", "odt", "pptx", "xlsx", "csv", "mail", "pdf"],
)
def test_text_that_looks_like_markdown_stays_text(
    texts: Sequence[str], make: Callable[[Sequence[str]], str]
) -> None:
    """In every format: nothing of it is a heading, a tag, a link or a comment, and no word is lost."""
    text = make([*texts, "The end."])
    said = parse_document("a.md", text)
    found = {each.heading_path[-1] for each in said.sections if each.heading_path}
    assert found <= {"Minutes of the board", "Budget", "Plan of the harbour", "Slide 2", "A"}
    assert not [*said.tags, *said.links, *said.fields]
    assert all(each.text.startswith("<!-- place: ") for each in said.comments)
    shown = plain_text(text)
    for each in (*texts, "The end."):
        assert each in shown


def test_signs_of_markdown_in_headings_cells_and_items_are_text() -> None:
    """So are those in code, whose fence is longer, and in the description of a picture."""
    raw = """<h2>a <!-- {#b}</h2><ul><li># c<li>- d</ul><table><tr><td>e|&lt;f><td>- g</table>
    <b>h</b> - i<br>- j<pre>```\n# k\n</pre><img src="l.png" alt="m <n">""".replace("<!", "&lt;!")
    assert lines_of(convert_html(raw.encode())) == [
        *("## a \\<!-- \\{#b}", "- \\# c", "- \\- d", "| e\\|\\<f> | - g |", "| --- | --- |"),
        *("**h** - i  ", "\\- j", "````", "```", "# k", "````", "![m \\<n](l.png)"),
    ]


def test_pictures_of_archives_are_left_out() -> None:
    """What is said of them is text; the folder of the book may have other pictures of the same name."""
    assert lines_of(
        convert_epub(files.epub(['<p><img src="../a.png" alt="A crane"><img src="b.png"></p>']))
    ) == ["A crane"]


@pytest.mark.parametrize(
    ("convert", "raw"),
    [
        (convert_org, "#+BEGIN_EXAMPLE\n```\n# a\n#+END_EXAMPLE\n"),
        (convert_adoc, "....\n```\n# a\n....\n"),
        (convert_adoc, "\n ```\n # a\n\n"),
        (convert_rst, "Run::\n\n   ```\n   # a\n\n"),
        (convert_rst, ".. code-block::\n\n   ```\n   # a\n\n"),
    ],
)
def test_code_of_other_markup_is_code(convert: Callable[[bytes], str], raw: str) -> None:
    """Whatever is in it; and what comes after is text that hides nothing."""
    text = convert(f"{raw}A `<b>` <script> %% #b %%\n".encode())
    assert "````\n```\n# a\n````\n" in text
    assert text.endswith("A `<b>` \\<script> \\%% \\#b \\%%\n")


@pytest.mark.parametrize(
    "part",
    [
        *(":", "a::\n\n  b\n", " x\n", "....\n", "- ", "[[", "`", "\\", " ", "x", "港"),
        *(
            "$",
            "%",
            "{",
            "\\a{",
            "\\a[",
            "\\[",
            "\\(",
            "\\begin{verbatim}",
            "\\begin{align}",
            "\\verb|",
            "\\item [",
        ),
    ],
)
def test_text_of_signs_takes_linear_time(part: str) -> None:
    """In each markup, and in plain text."""

    def convert_all(text: str) -> None:
        plain(text)
        for convert in (convert_org, convert_rst, convert_adoc, convert_latex):
            convert(f"a{text}b".encode())

    assert_grows_linearly(lambda size: part * (size // len(part)), convert_all, 6_000)


@pytest.mark.parametrize("mark", "=~:#`<")
def test_titles_between_lines_of_any_sign(mark: str) -> None:
    """Of which some would hide text elsewhere."""
    assert convert_rst(f"{mark * 5}\nTides\n{mark * 5}\n".encode()) == "# Tides\n"


def test_a_title_of_two_columns_has_two_signs_below_it() -> None:
    """Elsewhere two signs begin a comment, or code."""
    assert convert_rst("節\n--\n\n本文\n".encode()) == "# 節\n\n本文\n"
    assert convert_rst(b"A note\n::\n\n  code\n").startswith("A note\n")


def test_literal_blocks_of_restructured_text() -> None:
    """End where the indent does; a paragraph that nothing follows stays one."""
    raw = b"- Do::\n\n     # a\n\n  then b\n\nc ::\n\n  d\n\n::\n\n  e\n\nf::\n"
    assert [line for line in convert_rst(raw).split("\n") if line] == [
        *("- Do:", "```", "# a", "```", "  then b", "c", "```", "d", "```", "```", "e", "```", "f:"),
    ]


def test_rows_of_a_table_have_one_length() -> None:
    """And one line each."""
    assert table([["a\nb", "c"], ["d"]]) == "| a b | c |\n|---|---|\n| d |  |"
    assert table([]) == ""
