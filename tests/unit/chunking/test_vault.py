"""Chunks of notes: sections of the second level, whole, under what leads to them."""

from __future__ import annotations

import re

import pytest

from mdvec.chunking.vault import VaultChunker
from mdvec.documents.parse import parse_document
from mdvec.types.chunk import Chunk, CutDocument


def _words(text: str) -> list[int]:
    return [match.end() for match in re.finditer(r"\S+", text)]


def _cut(text: str, *, token_limit: int | None = None, path: str = "x.md") -> CutDocument:
    return VaultChunker(token_ends=_words, token_limit=token_limit).chunk(parse_document(path, text))


def _chunks(text: str, *, token_limit: int | None = None, path: str = "x.md") -> tuple[Chunk, ...]:
    return _cut(text, token_limit=token_limit, path=path).chunks


def _embedded(text: str, *, path: str = "x.md") -> list[str]:
    return [chunk.embedded_text for chunk in _chunks(text, path=path)]


# --- where it is cut -----------------------------------------------------------------------------------


def test_sections_of_the_second_level_are_chunks() -> None:
    """Deeper headings stay inside; the text before the first section is a chunk of its own."""
    text = "# T\n\nIn.\n\n## A\n\nText a.\n\n### A1\n\nText.\n\n#### A2\n\nText.\n\n## B\n\nText b.\n"
    chunks = _chunks(text)
    assert [(c.text, "".join(c.heading_path[-1:]), c.depth, c.parent) for c in chunks] == [
        ("# T\n\nIn.", "T", 1, None),
        ("## A\n\nText a.\n\n### A1\n\nText.\n\n#### A2\n\nText.", "A", 2, 0),
        ("## B\n\nText b.", "B", 2, 0),
    ]


def test_long_text_is_not_cut_when_there_is_no_limit() -> None:
    """However long a section is, it is one chunk."""
    assert len(_chunks(f"## A\n\n{'word ' * 20_000}")) == 1


def test_a_first_level_heading_ends_a_section() -> None:
    """What is below the next title does not belong to the last section of the one before."""
    text = "## A\n\na\n\n# T\n\nt\n\n## B\n\nb\n"
    assert [c.text for c in _chunks(text)] == ["## A\n\na", "# T\n\nt", "## B\n\nb"]


def test_headings_without_text_go_with_what_is_below_them() -> None:
    """A title right above a section is in its chunk, and so not said again above it."""
    chunks = _chunks("# T\n\n## A\n\na\n\n## B\n\nb\n")
    assert [(c.text, "".join(c.heading_path[-1:]), c.parent) for c in chunks] == [
        ("# T\n\n## A\n\na", "A", None),
        ("## B\n\nb", "B", 0),
    ]
    assert [c.context for c in chunks] == ["title:T\n", "title:T\n\n[prev] a\n\n# T\n"]


def test_a_section_without_text_is_kept() -> None:
    """In a document that has text elsewhere no heading is lost."""
    assert [c.text for c in _chunks("## A\n\na\n\n## To do\n")] == ["## A\n\na", "## To do"]


@pytest.mark.parametrize("text", ["", "---\ntitle: T\n---\n", "---\ntitle: T\n---\n# T\n\n## A\n\n#### B\n"])
def test_a_document_without_body_has_no_chunk(text: str) -> None:
    """There is nothing to embed in frontmatter and headings; the document itself is listed all the same."""
    assert _cut(text) == CutDocument((), is_found=False)


def test_a_file_whose_text_cannot_be_read_is_found_by_its_name() -> None:
    """A scanned page is no note without text: somebody looks for it."""
    assert _cut("", path="scans/bill.pdf") == CutDocument((), is_found=True)


# --- the limit of the embedder -------------------------------------------------------------------------


def test_a_section_above_the_limit_is_cut_at_the_third_level() -> None:
    """The parts know the section they are from; the others stay whole."""
    text = f"## A\n\nLead.\n\n### A1\n\n{'one ' * 8}\n\n### A2\n\n{'two ' * 8}\n\n## B\n\n### B1\n\nb\n"
    cut = _cut(text, token_limit=25)
    assert [(c.heading_path, c.text.split("\n")[0], c.parent) for c in cut.chunks] == [
        (("A",), "## A", None),
        (("A", "A1"), "### A1", 0),
        (("A", "A2"), "### A2", 0),
        (("B",), "## B", None),
    ]
    assert cut.chunks[1].context == "title:x\n\n[prev] Lead.\n\n# x\n\n## A\n"
    assert cut.warnings == ()


def test_the_sentences_before_give_way_to_the_limit() -> None:
    """A section is not cut, nor called too long, for what stands above it."""
    text = "## A\n\none two three four five\n\n## B\n\nsix\n\n### B1\n\nseven\n"
    for limit, previous in ((15, "[prev] one two three four five\n\n"), (14, ""), (10, "")):
        cut = _cut(text, token_limit=limit)
        assert ["".join(c.heading_path[-1:]) for c in cut.chunks] == ["A", "B"]
        assert cut.chunks[1].context == f"title:x\n\n{previous}# x\n"
        assert cut.warnings == ()


def test_the_limit_counts_the_context_too() -> None:
    """What is embedded is text and context together."""
    text = "## A\n\none two\n\n### A1\n\nthree\n"
    whole = "title:x # x ## A one two ### A1 three"
    assert len(_chunks(text, token_limit=len(whole.split()))) == 1
    assert len(_chunks(text, token_limit=len(whole.split()) - 1)) == 2


def test_what_cannot_be_cut_stays_whole_with_a_warning() -> None:
    """It names the headings and how much is too much, and nothing is lost."""
    long = "Word. " + "word " * 39
    text = f"{long}\n\n## A\n\n{long}\n\n## B\n\n### B1\n\n{long}\n\nEnd.\n\n### B2\n\nb\n"
    cut = _cut(text, token_limit=30)
    assert [c.token_count for c in cut.chunks] == [40, 42, 45, 3]
    (warning,) = cut.warnings
    assert "longer than 30 tokens" in warning
    assert "text without a heading (43 tokens), 'A' (86 tokens), 'B1' (89 tokens). " in warning
    assert "## or ###" in warning


def test_plain_text_is_not_told_to_have_headings() -> None:
    """They would be none: the advice is one that helps."""
    (warning,) = _cut("word " * 40, token_limit=30, path="x.txt").warnings
    assert "smaller files make hits more exact" in warning
    assert "##" not in warning


def test_a_warning_stays_readable() -> None:
    """Of many long sections three are named."""
    (warning,) = _cut("".join(f"## S{n}\n\n{'w ' * 40}\n\n" for n in range(9)), token_limit=30).warnings
    assert re.findall(r"S\d", warning) == ["S0", "S1", "S2"]
    assert ", 6 more. " in warning


def test_headings_without_text_are_not_cut_off_alone() -> None:
    """Above the limit too they stay with text."""
    text = f"# T\n\n## A\n\n### A1\n\n{'w ' * 20}\n\n### A2\n\n{'w ' * 20}\n\n### A3\n"
    assert [re.findall(r"^#+ (.*)", c.text, re.MULTILINE) for c in _chunks(text, token_limit=30)] == [
        ["T", "A", "A1"],
        ["A2", "A3"],
    ]


# --- what stands above a chunk -------------------------------------------------------------------------


def test_the_embedded_text_has_metadata_previous_text_and_parent_heading() -> None:
    """Line by line as the design of the personal knowledge base has it, with blank lines between."""
    text = (
        "---\ntitle: Personal Document System\ntags: [specification, system]\n---\n"
        "# Overview\n\nIntro.\n\n## A\n\n一つ目。二つ目。三つ目。\n\n## Embedding\n\n本文です。\n"
    )
    assert _embedded(text)[-1] == (
        "title:Personal Document System|tags:specification,system\n\n"
        "[prev] 二つ目。三つ目。\n\n"
        "# Overview\n\n"
        "## Embedding\n\n本文です。"
    )


def test_the_first_chunk_has_no_previous_text() -> None:
    """There is no section before it."""
    assert _embedded("---\ntitle: T\n---\n## A\n\na") == ["title:T\n\n# T\n\n## A\n\na"]


@pytest.mark.parametrize(
    ("text", "path", "parent"),
    [
        ("---\ntitle: Front\n---\n# One\n\nx\n\n## A\n\na", "n.md", "One"),
        ("---\ntitle: Front\n---\n# One\n\nx\n\n# Two\n\nx\n\n## A\n\na", "n.md", "Two"),
        ("---\ntitle: Front\n---\nx\n\n## A\n\na", "n.md", "Front"),
        ("---\ntitle: Front\n---\n#\n\nx\n\n## A\n\na", "n.md", "Front"),
        ("x\n\n## A\n\na", "notes/20251230_my-doc.md", "my-doc"),
        ("x\n\n## A\n\na", "20251230123456-my_doc.md", "my_doc"),
        ("x\n\n## A\n\na", "my_doc.md", "my_doc"),
        ("x\n\n## A\n\na", "2025_plan.md", "2025_plan"),
        ("x\n\n## A\n\na", "20251230.md", "20251230"),
        ("x\n\n## A\n\na", "20251230_.md", "20251230_"),
        ("x\n\n## A\n\na\n\n# Later\n\nx", "n.md", "n"),
    ],
)
def test_the_parent_heading_falls_back(text: str, path: str, parent: str) -> None:
    """It is the first level's above, else the frontmatter's title, else the file's name without its time."""
    chunk = next(chunk for chunk in _chunks(text, path=path) if chunk.heading_path[-1:] == ("A",))
    assert re.findall(r"^# (.*)$", chunk.context, re.MULTILINE) == [parent]


def test_metadata_is_one_short_line() -> None:
    """Without tags there is no word of them; long titles and many tags are shortened; times are no titles."""
    assert _chunks("a", path="20251230_my-doc.md")[0].context == "title:my-doc\n\n# my-doc\n"
    tags = ", ".join(f"tag{number}" for number in range(100))
    line = _chunks(f"---\ntitle: {'long ' * 100}\ntags: [{tags}]\n---\na")[0].context.split("\n")[0]
    assert re.fullmatch(r"title:.{80}\|tags:tag0(,tag\d+)+", line)
    assert len(line) <= 200


# --- settings ------------------------------------------------------------------------------------------


def test_the_fingerprint_names_all_that_moves_a_cut() -> None:
    """Another limit or tokenizer is another fingerprint."""
    assert VaultChunker(token_ends=_words).fingerprint == "vault/2:limit=None:"
    chunker = VaultChunker(token_ends=_words, token_limit=32_000, tokenizer_name="voyage")
    assert chunker.fingerprint == "vault/2:limit=32000:voyage"


@pytest.mark.parametrize("text", ["A thought of several words.\n---", "Two\nlines\n===\n\nMore.\n---\n"])
def test_paragraphs_above_rules_are_not_dropped(text: str) -> None:
    """CommonMark takes them for headings; they are all that the note says."""
    assert "".join(chunk.text for chunk in _chunks(text)).split() == text.split()
    assert _chunks("# Title\n\n## Section\n") == ()
