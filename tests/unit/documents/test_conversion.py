"""The process that converts files: what one of them does to it is told, and the next one is converted."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from tests import files

from mdvec.documents import conversion
from mdvec.documents.conversion import convert, place_at
from mdvec.errors import UnreadableFileError
from mdvec.text.links import CONVERTERS, converter_of
from mdvec.types.document import Comment

NOTEBOOK = files.ipynb([{"cell_type": "markdown", "source": "text"}])
CONVERTED = "<!-- place: cell 1 -->\ntext"


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """A process of its own for each test."""
    conversion.end()
    yield
    conversion.end()


def test_a_file_is_converted_by_one_process_after_another() -> None:
    """It is started once."""
    assert [convert("a.ipynb", NOTEBOOK) for _ in range(3)] == [CONVERTED] * 3
    assert len(conversion._processes) == 1


def test_the_reason_is_told() -> None:
    """What the converter says, and for whatever else goes wrong the kind of error."""
    with pytest.raises(UnreadableFileError, match=r"^is no Jupyter notebook$"):
        convert("a.ipynb", b"x")
    with pytest.raises(UnreadableFileError, match="damaged"):
        convert("a.docx", files.archive({"word/document.xml": "<"}))
    assert convert("a.ipynb", NOTEBOOK) == CONVERTED


def test_a_crash_is_the_crash_of_one_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one is converted by another process."""
    assert convert("a.ipynb", NOTEBOOK) == CONVERTED
    [process] = conversion._processes
    process.kill()
    process._process.wait()
    with monkeypatch.context() as patch:
        patch.setattr(conversion._Process, "has_ended", False)  # it was alive when it was looked at
        with pytest.raises(UnreadableFileError, match="crashed"):
            convert("a.ipynb", NOTEBOOK)
    assert convert("a.ipynb", NOTEBOOK) == CONVERTED


def test_a_file_that_takes_too_long_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process is killed; here, one that was stopped."""
    assert convert("a.ipynb", NOTEBOOK) == CONVERTED
    [process] = conversion._processes
    os.kill(process._process.pid, signal.SIGSTOP)
    monkeypatch.setattr(conversion, "_TIMEOUT_S", 0.1)
    with pytest.raises(UnreadableFileError, match="too long"):
        convert("a.ipynb", NOTEBOOK)
    monkeypatch.undo()
    assert convert("a.ipynb", NOTEBOOK) == CONVERTED


def test_too_much_text_is_left() -> None:
    """Whatever it was packed into."""
    cell = {"cell_type": "markdown", "source": "x" * 60_000_000}
    with pytest.raises(UnreadableFileError, match="more than 50 MB of text"):
        convert("a.ipynb", files.ipynb([cell]))


def test_the_place_of_a_character() -> None:
    """The last one that began before it; other comments are none."""
    comments = (
        Comment(0, "<!-- place: page 1 -->"),
        Comment(50, "<!-- a note -->"),
        Comment(90, "<!-- place: page 2 -->"),
    )
    assert [place_at(comments, at) for at in (0, 60, 89, 90, 1000)] == [
        *("page 1", "page 1", "page 1", "page 2", "page 2")
    ]
    assert place_at((), 5) == ""
    assert place_at(comments[2:], 5) == ""


def test_converters_by_name() -> None:
    """Whatever the case; other files are read as they are."""
    assert converter_of("a/B.PDF") == "pdf"
    assert converter_of("a.xlsx") == converter_of("a.ods") == "spreadsheet"
    assert not any(map(converter_of, ("a.md", "pdf", "a.pdf.md", "")))
    assert {*CONVERTERS.values()} == {
        "pdf",
        "docx",
        "pptx",
        "spreadsheet",
        "html",
        "epub",
        "ipynb",
        "org",
        "rst",
        "adoc",
    }
