"""Chunks along headings, measured in characters: what is cut, where, and what is joined."""

from __future__ import annotations

import itertools
import re

import pytest

from mdvec.chunking.headings import HeadingChunker
from mdvec.documents.parse import parse_document
from mdvec.errors import ConfigError
from mdvec.types.chunk import Chunk


def _words(text: str) -> list[int]:
    return [match.end() for match in re.finditer(r"\S+", text)]


def _chunks(text: str, *, max_chars: int = 3000, min_chars: int = 0, path: str = "x.md") -> list[Chunk]:
    chunker = HeadingChunker(token_ends=_words, max_chars=max_chars, min_chars=min_chars)
    return list(chunker.chunk(parse_document(path, text)).chunks)


def _texts(text: str, *, max_chars: int = 3000, min_chars: int = 0, path: str = "x.md") -> list[str]:
    return [chunk.text for chunk in _chunks(text, max_chars=max_chars, min_chars=min_chars, path=path)]


# --- where the headings are ----------------------------------------------------------------------------


def test_headings_of_three_levels_start_a_chunk() -> None:
    """The heading stands at the chunk's head, the preface is a chunk, a fourth level stays inside."""
    text = "In.\n\n# A\n\nText a.\n\n## B\n\nText b.\n\n### C\n\nText c.\n\n#### D\n\nText d.\n"
    chunks = _chunks(text)
    assert [(c.text, "".join(c.heading_path[-1:]), c.depth, c.parent) for c in chunks] == [
        ("In.", "", 0, None),
        ("# A\n\nText a.", "A", 1, 0),
        ("## B\n\nText b.", "B", 2, 1),
        ("### C\n\nText c.\n\n#### D\n\nText d.", "C", 3, 2),
    ]
    assert [c.context for c in chunks] == ["A", "A", "A › B", "A › B › C"]
    assert chunks[3].token_count == 8


def test_the_levels_can_be_chosen() -> None:
    """Only headings of the given levels are cut at."""
    chunker = HeadingChunker(token_ends=_words, min_chars=0, levels=(4,))
    cut = chunker.chunk(parse_document("x.md", "# A\n\na\n\n## B\n\nb\n\n#### D\n\nd\n"))
    assert [chunk.text for chunk in cut.chunks] == ["# A\n\na\n\n## B\n\nb", "#### D\n\nd"]


def test_a_heading_in_a_fence_is_code() -> None:
    """A comment of a shell script is not a heading."""
    assert len(_chunks("# A\n\n```sh\n# not a heading\n```\n")) == 1


@pytest.mark.parametrize("text", ["", "\n \n", "---\ntitle: T\n---\n"])
def test_a_document_without_text_has_no_chunk(text: str) -> None:
    """There is nothing to embed."""
    assert _chunks(text, min_chars=50) == []


def test_a_document_of_headings_alone_is_kept() -> None:
    """They are small, so they share a chunk, and none is lost."""
    assert _texts("# A\n\n## B\n\n# C\n", min_chars=50) == ["# A\n\n## B\n\n# C"]


# --- large texts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("sentence", ["これは長い節の文です。", "This is a sentence of it. "])
def test_a_long_section_is_cut_at_sentence_ends(sentence: str) -> None:
    """Every part is filled with whole sentences up to 3,000 characters."""
    parts = _texts("# H\n\n" + sentence * 700)
    assert len(parts) == -(-len("# H\n\n" + (sentence * 700).rstrip()) // 3000)
    assert all(3000 - len(sentence) < len(part) <= 3000 for part in parts[:-1])
    assert {part[-1] for part in parts} == {sentence.rstrip()[-1]}


def test_a_blank_line_is_a_better_place_than_a_sentence() -> None:
    """In the second half of a part the end of a paragraph comes first."""
    text = "One two. Three four. Five six.\n\nSeven eight. Nine ten. Eleven twelve."
    assert _texts(text, max_chars=45)[0] == "One two. Three four. Five six."


def test_text_without_any_place_is_cut_at_the_limit() -> None:
    """A row of letters gives full parts; characters of many code points come through whole."""
    assert [len(part) for part in _texts("あ" * 7000)] == [3000, 3000, 1000]
    family = "👨‍👩‍👧‍👦"
    assert all(part == family * (len(part) // len(family)) for part in _texts(family * 900))


def test_no_tiny_rest_is_left() -> None:
    """The cut before the last one leaves enough for the last part."""
    assert [len(part) for part in _texts("あ" * 3010, min_chars=50)] == [2960, 50]


def test_a_code_block_that_fits_is_not_cut() -> None:
    """The part before it ends early instead."""
    fence = "```\n" + "code\n\n" * 10 + "```"
    parts = _texts("Sentence one. " * 4 + f"\n\n{fence}\n\nEnd.", max_chars=80)
    assert [part for part in parts if "code" in part] == [fence + "\n\nEnd."]


# --- small texts ---------------------------------------------------------------------------------------

_LONG = "This text is long enough to stand by itself, with room to spare."


def test_a_small_section_joins_the_one_before() -> None:
    """Nothing is lost, and the chunk keeps the name of the section that took it in."""
    chunks = _chunks(f"# A\n\n{_LONG}\n\n# B\n\nx\n\n# C\n\n{_LONG}", min_chars=50)
    assert [("".join(c.heading_path[-1:]), c.text) for c in chunks] == [
        ("A", f"# A\n\n{_LONG}\n\n# B\n\nx"),
        ("C", f"# C\n\n{_LONG}"),
    ]


def test_a_small_section_joins_the_first_one_below_it() -> None:
    """A short introduction stays with what it introduces."""
    chunks = _chunks(f"# A\n\n{_LONG}\n\n# B\n\nx\n\n## C\n\n{_LONG}", min_chars=50)
    assert [("".join(c.heading_path[-1:]), c.text) for c in chunks] == [
        ("A", f"# A\n\n{_LONG}"),
        ("C", f"# B\n\nx\n\n## C\n\n{_LONG}"),
    ]


def test_a_small_preface_joins_the_first_section() -> None:
    """There is nothing before it."""
    assert _texts(f"In.\n\n# A\n\n{_LONG}", min_chars=50) == [f"In.\n\n# A\n\n{_LONG}"]


def test_small_neighbours_join_until_they_are_no_longer_small() -> None:
    """A list of short questions does not become one chunk, and the rest joins the last one."""
    text = "\n\n".join(f"## Q{n}\n\nAn answer of some words." for n in range(5))
    chunks = _chunks(text, min_chars=50)
    assert [re.findall(r"Q\d", c.text) for c in chunks] == [["Q0", "Q1"], ["Q2", "Q3", "Q4"]]
    assert ["".join(c.heading_path[-1:]) for c in chunks] == ["Q0", "Q2"]


def test_a_small_section_between_full_ones_stays() -> None:
    """It is kept by itself where no neighbour has room."""
    full = "x" * 94
    texts = _texts(f"# A\n\n{full}\n\n# B\n\nx\n\n# C\n\n{full}", max_chars=100, min_chars=50)
    assert texts == [f"# A\n\n{full}", "# B\n\nx", f"# C\n\n{full}"]


def test_joined_chunks_stay_within_the_limit() -> None:
    """Joining never makes what would have to be cut."""
    texts = _texts("\n\n".join(f"# S{n}\n\n{'w' * 40}" for n in range(6)), max_chars=60, min_chars=55)
    assert all(len(text) <= 60 for text in texts)
    assert len(texts) == 6


# --- plain text ----------------------------------------------------------------------------------------


def test_plain_text_is_cut_by_paragraph() -> None:
    """A paragraph is a chunk without heading; signs of Markdown mean nothing."""
    chunks = _chunks("# one\ntwo\n\n\n  three\n \nfour", path="x.txt")
    assert [c.text for c in chunks] == ["# one\ntwo", "  three", "four"]
    assert {("".join(c.heading_path[-1:]), c.depth, c.parent) for c in chunks} == {("", 0, None)}
    assert [(c.start_line, c.end_line) for c in chunks] == [(1, 2), (5, 5), (7, 7)]


def test_the_sizes_hold_for_paragraphs_too() -> None:
    """Short ones join a neighbour, long ones are cut at sentences."""
    texts = _texts(f"Title\n\n{_LONG}\n\nx\n\n{'文です。' * 1000}", min_chars=50, path="x.txt")
    assert texts[0] == f"Title\n\n{_LONG}\n\nx"
    assert [len(text) for text in texts[1:]] == [3000, 1000]


def test_markdown_without_headings_is_not_cut_by_paragraph() -> None:
    """It is one preface."""
    assert _texts("one\n\ntwo\n") == ["one\n\ntwo"]


# --- settings ------------------------------------------------------------------------------------------


def test_the_fingerprint_names_all_that_moves_a_cut() -> None:
    """Each setting is in it."""
    makes = [
        HeadingChunker(token_ends=_words),
        HeadingChunker(token_ends=_words, max_chars=2000),
        HeadingChunker(token_ends=_words, min_chars=0),
        HeadingChunker(token_ends=_words, levels=(1, 2)),
        HeadingChunker(token_ends=_words, tokenizer_name="e5"),
    ]
    assert makes[0].fingerprint == "headings/2:max=3000:min=50:levels=1,2,3:"
    assert all(one.fingerprint != other.fingerprint for one, other in itertools.combinations(makes, 2))


@pytest.mark.parametrize(("max_chars", "min_chars"), [(0, 0), (100, -1), (100, 101)])
def test_impossible_sizes_are_refused(max_chars: int, min_chars: int) -> None:
    """The error names the setting that is wrong."""
    with pytest.raises(ConfigError, match=r"(max|min)_chars is"):
        HeadingChunker(token_ends=_words, max_chars=max_chars, min_chars=min_chars)
