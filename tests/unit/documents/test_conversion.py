"""The process that converts files: what one of them does to it is told, and the next one is converted."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from tests import files

from mdvec import registry
from mdvec.documents import conversion
from mdvec.documents.conversion import convert
from mdvec.documents.encodings import Decoded
from mdvec.errors import UnreadableFileError
from mdvec.search.hits import place_with_words
from mdvec.text.links import CONVERTERS, converter_of
from mdvec.types.document import Comment, parts_of_places

NOTEBOOK = files.ipynb([{"cell_type": "markdown", "source": "text"}])
CONVERTED = Decoded("<!-- place: cell 1 -->\ntext", "utf-8")


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
    assert convert("a.ipynb", b"x") == Decoded("", "utf-8", "is no Jupyter notebook")
    broken = convert("a.docx", files.archive({"word/document.xml": "<"}))
    assert (broken.text, broken.warning[:10]) == ("", "is damaged")
    assert convert("a.ipynb", NOTEBOOK) == CONVERTED


def test_what_a_library_prints_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it prints in Python or in C."""
    run = subprocess.Popen

    def start(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        assert command[-1] == "mdvec.documents.conversion"
        code = (
            "import os; from mdvec.documents import conversion\n"
            "real = conversion._text_or_reason\n"
            "def noisy(*given):\n    print('x', flush=True); os.write(1, b'y\\n'); return real(*given)\n"
            "conversion._text_or_reason = noisy; conversion.serve()"
        )
        return run([command[0], "-c", code], **options)

    monkeypatch.setattr(subprocess, "Popen", start)
    assert convert("a.ipynb", NOTEBOOK) == CONVERTED


def test_a_process_that_has_ended_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that ends, because nothing came, in the moment in which it is asked."""
    assert convert("a.ipynb", NOTEBOOK) == CONVERTED
    [process] = conversion._processes
    process._process.kill()
    process._process.wait()
    alive = iter([False])
    monkeypatch.setattr(conversion._Process, "has_ended", property(lambda _: next(alive, True)))
    assert convert("a.ipynb", NOTEBOOK) == CONVERTED


def test_half_an_answer_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that dies while it answers has converted nothing; it is tried once more, and no more."""
    code = 'import sys; sys.stdin.buffer.readline(); print(\'{"bytes": 9, "is_text": true}\\nhalf\')'
    started: list[int] = []
    run = subprocess.Popen

    def start(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        process = run([command[0], "-c", code], **options)
        started.append(process.pid)
        return process

    monkeypatch.setattr(subprocess, "Popen", start)
    for _ in range(2):
        with pytest.raises(UnreadableFileError, match="ends its converter"):
            convert("a.ipynb", NOTEBOOK)
    assert len(started) == 2


def test_a_file_that_takes_too_long_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process is killed; here, one that was stopped."""
    assert convert("a.ipynb", NOTEBOOK) == CONVERTED
    [process] = conversion._processes
    os.kill(process._process.pid, signal.SIGSTOP)
    monkeypatch.setattr(conversion, "_TIMEOUT_S", 0.1)
    for _ in range(2):  # the second time it is not even tried
        with pytest.raises(UnreadableFileError, match="too long"):
            convert("a.ipynb", NOTEBOOK)
    monkeypatch.undo()
    other = files.ipynb([{"cell_type": "markdown", "source": "other"}])
    assert "other" in convert("a.ipynb", other).text


def test_too_much_text_is_left() -> None:
    """Whatever it was packed into."""
    cell = {"cell_type": "markdown", "source": "x" * 60_000_000}
    assert convert("a.ipynb", files.ipynb([cell])).warning == "holds more than 50 MB of text"


def test_the_places_of_a_part() -> None:
    """The last one that began before it, and those that begin in it; other comments are none."""
    text = (
        "calm\n<!-- place: page 1 --> tides <!-- a note --><!-- place: page 2 --><!-- place: page 3 --> moon"
    )
    comments = tuple(Comment(found.start(), found[0]) for found in re.finditer("<!--.*?-->", text))
    seen = re.sub("<!--.*?-->", lambda found: " " * len(found[0]), text)
    assert [*parts_of_places(comments, 0, seen)] == [("", "calm"), ("page 1", "tides"), ("page 3", "moon")]
    assert [*parts_of_places(comments, 28, seen[28:34])] == [("page 1", "tides")]
    assert [*parts_of_places(comments[1:2], 0, seen)] == []


def test_the_place_with_most_words_of_a_query() -> None:
    """The first one if several have as many; text before the first mark has none."""
    text = "calm\n<!-- place: page 1 --> tides\n<!-- place: page 2 --> tides and moon\n"
    comments = tuple(Comment(found.start(), found[0]) for found in re.finditer("<!--.*?-->", text))
    places = {
        query: place_with_words(query, comments, 0, text) for query in ("moon", "calm", "tides", "storm")
    }
    assert places == {"moon": "page 2", "calm": "", "tides": "page 1", "storm": ""}
    assert place_with_words("calm", comments, 28, text[28:]) == "page 1"


def test_converters_by_name() -> None:
    """Whatever the case; other files are read as they are."""
    assert converter_of("a/B.PDF") == "pdf"
    assert converter_of("a.xlsx") == converter_of("a.ods") == "spreadsheet"
    assert not any(map(converter_of, ("a.md", "pdf", "a.pdf.md", "")))
    assert {*CONVERTERS.values()} == {*registry.names("converters")}
