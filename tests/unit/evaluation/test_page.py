"""The HTML page of a report."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from msgspec.structs import replace
from tests.unit.evaluation.reports import PASSAGE, QUESTIONS, report, value

from mdvec.evaluation.page import render

VOID = {"meta", "input", "br", "rect", "line"}


class Reader(HTMLParser):
    """Reads a page the way a browser does, strictly.

    Attributes:
        elements: Every element's name and attributes, in order.
        texts: The text of each element, by name, in order; without the texts of elements inside it.
        said: All text outside of styles and scripts.
    """

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: dict[str, list[str]] = {}
        self.said = ""
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self._open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self._open:
            return
        self.texts[self._open[-1]][-1] += data
        if self._open[-1] not in {"style", "script"}:
            self.said += data


@pytest.fixture(scope="module")
def page() -> str:
    """The page of the report made by hand."""
    return render(report())


@pytest.fixture(scope="module")
def read(page: str) -> Reader:
    """The same, as a browser reads it."""
    return Reader(page)


def test_texts_are_shown_and_never_markup(read: Reader) -> None:
    """Questions, passages, paths, names and warnings may hold tags: the page shows them, letter by letter."""
    assert QUESTIONS[0].text in read.texts["span"]
    assert PASSAGE in read.texts["div"]
    assert "one <document> is missing" in read.texts["p"]
    assert "notes & <tags>" in read.texts["h2"]
    assert "<en>" in read.texts["th"]
    assert len(read.texts["script"]) == 1  # the page's own
    assert not {"tags", "en", "document"} & {name for name, _ in read.elements}


def test_nothing_is_loaded(page: str, read: Reader) -> None:
    """No element names another resource, and the page forbids itself to load any."""
    for name, attributes in read.elements:
        assert not {"src", "srcset", "data", "action", "style"} & attributes.keys(), name
        assert attributes.get("href", "#").startswith("#"), name
        assert not any(key.startswith("on") for key in attributes), name
    assert "url(" not in page
    assert "@import" not in page
    assert "http" not in re.sub(r'http-equiv="Content-Security-Policy"', "", page)
    assert "default-src 'none'" in page


def test_links_lead_to_sections(read: Reader) -> None:
    """Every link inside the page has its target, and no id occurs twice."""
    ids = [attributes["id"] for _, attributes in read.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    targets = {attributes["href"] for name, attributes in read.elements if name == "a"}
    assert targets
    assert targets <= {f"#{each}" for each in ids}


def test_plots_are_named(read: Reader) -> None:
    """Each plot is an image with a name, a title and a description that hold its figures."""
    plots = [attributes for name, attributes in read.elements if name == "svg"]
    assert len(plots) == 4  # bars, latencies, against lexical, against dense
    assert all(each["role"] == "img" and each["aria-label"] for each in plots)
    assert len(read.texts["desc"]) == len(plots)
    assert any("1 better, 1 equal, 1 worse" in text for text in read.texts["desc"])


def test_japanese_is_marked(read: Reader) -> None:
    """Texts with Japanese characters say so, since Chinese and Japanese share codes but not shapes."""
    languages = dict(zip(
        (data for data in read.texts["span"]),
        (attributes.get("lang") for name, attributes in read.elements if name == "span"),
        strict=True,
    ))  # fmt: skip
    assert languages[QUESTIONS[1].text] == "ja"
    assert languages[QUESTIONS[2].text] == "en"


def test_every_figure_of_the_summary_is_there(read: Reader) -> None:
    """Each system has its means, intervals, latencies and tokens; the best value is bold."""
    cells = " ".join(read.said.split())
    for system in ("lexical", "dense", "hybrid", "grep"):
        mean = sum(value(system, number) for number in range(3)) / 3
        assert f"{mean:.3f}" in cells
        assert f"{mean / 2:.3f} – {(mean + 1) / 2:.3f}" in cells
    for figure in ("4.0", "81.4", "1,200 documents", "3,400 chunks", "builtin model"):
        assert figure in cells
    bold = [attributes for _, attributes in read.elements if "best" in attributes.get("class", "").split()]
    assert len(bold) >= 5


def test_comparisons_have_their_test(read: Reader) -> None:
    """Difference, interval, p-value and counts are given for each pair; a tiny p-value is not called zero."""
    said = " ".join(read.said.split())
    for other in ("lexical", "dense", "grep"):
        assert f"hybrid against {other}" in said
    for figure in ("+0.125", "\N{MINUS SIGN}0.050 to +0.300", "< 0.001"):
        assert figure in said


def test_gains_and_losses_have_their_texts(read: Reader) -> None:
    """A question where hybrid lost to dense is shown with both answers and the relevant documents."""
    said = " ".join(read.said.split())
    loss = value("hybrid", 1) - value("dense", 1)
    shown = said[said.rindex("Largest losses of hybrid") :]
    assert f"{loss:+.3f}".replace("-", "\N{MINUS SIGN}") in shown
    assert QUESTIONS[1].text in shown
    assert "first relevant at rank 2" in shown
    assert "relevant: ja/reset.md" in shown


def test_every_answer_names_its_system(read: Reader) -> None:
    """A narrow screen shows answers below each other, without the head of the table."""
    named = [attributes["data-system"] for _, attributes in read.elements if "data-system" in attributes]
    assert set(named) == {"hybrid", "lexical", "dense"}
    assert len(named) >= read.said.count("no relevant document in 10")


def test_what_was_not_found_is_listed(read: Reader) -> None:
    """The questions without a relevant document among the ten best are counted and shown."""
    said = " ".join(read.said.split())
    missed = said[said.index("Not found by hybrid") :]
    assert "1 of 3 questions" in missed
    assert QUESTIONS[2].text in missed
    assert QUESTIONS[0].text not in missed


def test_fewer_failures_can_be_shown() -> None:
    """The number of failed questions is there even if none of them is shown."""
    said = " ".join(Reader(render(report(), max_failures=0)).said.split())
    missed = said[said.index("Not found by hybrid") :]
    assert "1 of 3 questions" in missed
    assert QUESTIONS[2].text not in missed


def test_confidence_is_held_against_results(read: Reader) -> None:
    """How often the first document is relevant is given for each confidence that was said."""
    said = " ".join(read.said.split())
    assert "high 3 33 %" in said[said.index("Confidence of hybrid") :]


def test_documents_marked_bad_are_counted(read: Reader) -> None:
    """Each system is told how many documents that people marked as bad it still shows."""
    said = " ".join(read.said.split())
    assert "Of 2 documents marked as bad" in said
    assert "1 with lexical, 1 with dense, 1 with hybrid, 0 with grep." in said


@pytest.mark.parametrize("systems", [("lexical",), ("dense", "grep"), ("grep",), ("hybrid", "grep")])
def test_any_choice_of_systems_makes_a_page(systems: tuple[str, ...]) -> None:
    """Modes may be missing; baselines are compared in full only when there is no other mode."""
    read = Reader(render(report(systems, min_grade=2)))
    assert "from grade 2" in read.said
    assert all(system in read.said for system in systems)


def test_sets_of_one_name_in_other_places_stay_apart() -> None:
    """Anchors count sets, so that names need not be fit for them."""
    once = report()
    read = Reader(render(replace(once, sets=once.sets * 2)))
    ids = [attributes["id"] for _, attributes in read.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
