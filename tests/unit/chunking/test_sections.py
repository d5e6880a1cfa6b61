"""Chunks along the section tree: what is joined, what is cut, and where."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

import pytest

from mdvec.chunking.outline import ALL_LEVELS
from mdvec.chunking.sections import SectionChunker
from mdvec.documents.parse import parse_document
from mdvec.errors import ConfigError
from mdvec.types.chunk import Chunk


def _words(text: str) -> list[int]:
    """One token a word: sizes in these tests can be counted by eye."""
    return [match.end() for match in re.finditer(r"\S+", text)]


def _characters(text: str) -> list[int]:
    return [match.end() for match in re.finditer(r"\S", text)]


def _chunks(
    text: str,
    *,
    max_tokens: int = 20,
    min_tokens: int = 0,
    overlap: int = 0,
    levels: Sequence[int] = ALL_LEVELS,
    path: str = "x.md",
) -> list[Chunk]:
    chunker = SectionChunker(
        token_ends=_words,
        max_tokens=max_tokens,
        min_tokens=min_tokens,
        overlap_tokens=overlap,
        levels=levels,
    )
    return list(chunker.chunk(parse_document(path, text)).chunks)


def _texts(text: str, *, max_tokens: int = 20, min_tokens: int = 0, path: str = "x.md") -> list[str]:
    return [chunk.text for chunk in _chunks(text, max_tokens=max_tokens, min_tokens=min_tokens, path=path)]


def _by_character(text: str, max_tokens: int) -> list[str]:
    chunker = SectionChunker(token_ends=_characters, max_tokens=max_tokens, min_tokens=0)
    return [chunk.text for chunk in chunker.chunk(parse_document("x.md", text)).chunks]


# --- one section, one chunk ----------------------------------------------------------------------------


def test_one_chunk_per_section_with_its_place_in_the_tree() -> None:
    """Each section is a chunk that knows parent, depth, path, positions and lines."""
    text = "---\nt: 1\n---\nIn.\n\n# A\n\nText a.\n\n## B\n\nText b.\n\n##### C\n\nText c.\n\n# D\n\nText d."
    chunks = _chunks(text)
    assert [(c.depth, c.heading_path, c.parent) for c in chunks] == [
        (0, (), None),
        (1, ("A",), 0),
        (2, ("A", "B"), 1),
        (3, ("A", "B", "C"), 2),
        (1, ("D",), 0),
    ]
    assert [c.text for c in chunks][:2] == ["In.", "# A\n\nText a."]
    assert [(c.start_line, c.end_line) for c in chunks] == [(4, 4), (6, 8), (10, 12), (14, 16), (18, 20)]
    assert all(text[c.start : c.end] == c.text for c in chunks)
    assert [c.token_count for c in chunks] == [1, 4, 4, 4, 4]
    assert [c.ordinal for c in chunks] == [0, 1, 2, 3, 4]
    assert chunks[2].context == "A › B"


@pytest.mark.parametrize("text", ["", "\n \n\u3000\n", "---\na: 1\n---\n", "---\na: 1\n---\n  \n"])
def test_a_document_without_text_has_no_chunk(text: str) -> None:
    """There is nothing to find in frontmatter and white space."""
    assert _chunks(text) == []


def test_a_heading_alone_goes_with_the_first_section_below_it() -> None:
    """Such a chunk is named after the section that has text; its siblings' parent is that chunk."""
    chunks = _chunks("# A\n\n## B\n\nText b.\n\n## C\n\nText c.\n")
    assert [c.text for c in chunks] == ["# A\n\n## B\n\nText b.", "## C\n\nText c."]
    assert [(c.heading_path, c.depth, c.parent) for c in chunks] == [
        (("A", "B"), 2, None),
        (("A", "C"), 2, 0),
    ]


def test_a_document_of_headings_alone_is_kept() -> None:
    """Headings without any text are still found."""
    assert _texts("# A\n\n## B\n\n# C\n") == ["# A\n\n## B", "# C"]


# --- levels --------------------------------------------------------------------------------------------


def test_headings_of_other_levels_stay_with_the_section_above() -> None:
    """Only the levels that are asked for make chunks; parents are the nearest chunks above that are left."""
    text = (
        "In.\n\n# A\n\nText a.\n\n## B\n\nText b.\n\n### C\n\nText c.\n\n#### D\n\nText d.\n\n# E\n\nText e."
    )
    chunks = _chunks(text, levels=(1, 3))
    assert [(c.text.split("\n")[0], c.depth, c.heading_path, c.parent) for c in chunks] == [
        ("In.", 0, (), None),
        ("# A", 1, ("A",), 0),
        ("### C", 3, ("A", "B", "C"), 1),
        ("# E", 1, ("E",), 0),
    ]
    assert chunks[1].text == "# A\n\nText a.\n\n## B\n\nText b."
    assert chunks[2].text == "### C\n\nText c.\n\n#### D\n\nText d."


def test_the_tree_of_sections_has_four_depths() -> None:
    """With levels 1-3 depth 0 is the text above the headings, and deeper headings add no depth."""
    text = "In.\n\n" + "".join(f"{'#' * level} L{level}\n\ntext\n\n" for level in (1, 2, 3, 4, 5))
    chunks = _chunks(text, levels=(1, 2, 3))
    assert [(c.depth, c.parent, c.ordinal) for c in chunks] == [(0, None, 0), (1, 0, 1), (2, 1, 2), (3, 2, 3)]
    assert chunks[3].text.endswith("##### L5\n\ntext")


@pytest.mark.parametrize("levels", [(), (0, 1), (1, 7)])
def test_levels_that_headings_do_not_have_are_refused(levels: tuple[int, ...]) -> None:
    """The error names the setting and an example."""
    with pytest.raises(ConfigError, match="levels") as caught:
        SectionChunker(token_ends=_words, levels=levels)
    assert "[1, 2, 3]" in caught.value.hint


# --- small sections ------------------------------------------------------------------------------------


def test_small_siblings_share_a_chunk_until_it_is_no_longer_small() -> None:
    """They are collected in order, and a small rest joins the chunk before it."""
    text = "# T\n\n" + "word " * 10 + "\n\n" + "".join(f"## S{n}\n\none two\n\n" for n in range(5))
    chunks = _chunks(text, min_tokens=8)
    assert [re.findall(r"S\d", c.text) for c in chunks] == [[], ["S0", "S1"], ["S2", "S3", "S4"]]
    assert [("".join(c.heading_path[-1:]), c.depth, c.parent) for c in chunks[1:]] == [
        ("S0", 2, 0),
        ("S2", 2, 0),
    ]
    # The headings are in the text itself: above it stands what they share.
    assert chunks[1].context == "T"


def _soft(text: str) -> list[str]:
    """Return the first lines of the chunks that a chunker without a smallest size makes."""
    chunks = SectionChunker(token_ends=_words, max_tokens=200).chunk(parse_document("x.md", text)).chunks
    return [chunk.text.partition("\n")[0] for chunk in chunks]


def test_without_a_smallest_size_only_small_siblings_are_joined() -> None:
    """A section of good size keeps what it is about, and a child is no sibling."""
    text = f"# A\n\nx\n\n## A1\n\nx\n\n# B\n\n{'word ' * 90}\n\n# C\n\nx\n\n# D\n\nx\n"
    assert _soft(text) == ["# A", "## A1", "# B", "# C"]


def test_a_smallest_size_holds_where_a_neighbour_has_room() -> None:
    """It joins the section above, one right below, or a sibling; the larger one gives its name."""
    text = f"# A\n\nx\n\n## A1\n\n{'word ' * 12}\n\n# B\n\n{'word ' * 12}\n\n## B1\n\nx\n"
    chunks = _chunks(text, min_tokens=8)
    assert [re.findall("# ([AB]1?)", c.text) for c in chunks] == [["A", "A1"], ["B", "B1"]]
    assert [(c.depth, c.heading_path) for c in chunks] == [(2, ("A", "A1")), (1, ("B",))]
    full = f"# A\n\n{'word ' * 18}\n\n# B\n\nx\n"
    assert [c.token_count for c in _chunks(full, min_tokens=8)] == [20, 3]


def test_a_small_section_after_the_children_of_its_sibling_joins_the_last_of_them() -> None:
    """Its neighbour is under another heading, and still the only one."""
    text = f"# T\n\n{'word ' * 9}\n\n## A\n\n{'word ' * 9}\n\n### A1\n\n{'word ' * 9}\n\n## B\n\nx\n"
    chunks = _chunks(text, min_tokens=8)
    assert ["".join(c.heading_path[-1:]) for c in chunks] == ["T", "A", "A1"]
    assert chunks[-1].text.endswith("## B\n\nx")


def test_no_small_chunk_has_a_neighbour_with_room() -> None:
    """A part of a section that was cut counts, too, and a joined chunk is named after the larger."""
    text = f"# T\n\n## A\n\n{'a ' * 30}\n\n{'b ' * 30}\n\n{'c ' * 6}\n\n## B\n\n{'d ' * 12}\n"
    chunks = _chunks(text, max_tokens=34, min_tokens=10)
    counts = [c.token_count for c in chunks]
    for before, after in itertools.pairwise(counts):
        assert min(before, after) >= 10 or before + after > 34
    assert chunks[-1].heading_path == ("T", "B")


def test_joined_sections_stay_within_the_limit() -> None:
    """Joining never makes a chunk that would have to be cut."""
    text = "".join(f"# S{n}\n\n{'w ' * 7}\n\n" for n in range(4))
    assert [c.token_count for c in _chunks(text, max_tokens=12, min_tokens=12)] == [9, 9, 9, 9]


# --- large sections ------------------------------------------------------------------------------------


def test_large_sections_are_cut_between_paragraphs() -> None:
    """Parts keep the name of their section and get about the same size."""
    paragraphs = [f"{'word ' * 6}end{n}." for n in range(6)]
    chunks = _chunks("# H\n\n" + "\n\n".join(paragraphs), max_tokens=40)
    assert [re.findall(r"end\d", c.text) for c in chunks] == [
        ["end0", "end1", "end2"],
        ["end3", "end4", "end5"],
    ]
    assert {c.heading_path for c in chunks} == {("H",)}
    assert {c.parent for c in chunks} == {None}
    assert [c.context for c in chunks] == ["H", "H"]


def test_pages_with_enough_text_have_chunks_of_their_own() -> None:
    """Of a file that was converted; a page with less text shares one, since little is found by meaning."""
    pages = ["one two three four five", "six", "seven eight nine ten eleven", "twelve"]
    text = "\n\n".join(f"<!-- place: page {at} -->\n{page}" for at, page in enumerate(pages, 1))
    found = [" ".join(each.split()) for each in _texts(text, max_tokens=90, min_tokens=3, path="x.pdf")]
    assert found == ["one two three four five", "six seven eight nine ten eleven twelve"]
    assert len(_texts(re.sub("<!--.*?-->", "", text), max_tokens=90, min_tokens=3)) == 1


def test_paragraphs_are_cut_at_sentences() -> None:
    """A paragraph too long for one chunk ends parts where sentences end, not where lines do."""
    text = "One two three four\nfive six. Seven eight nine\nten. Eleven twelve."
    assert _texts(text, max_tokens=8) == [
        "One two three four\nfive six.",
        "Seven eight nine\nten. Eleven twelve.",
    ]


def test_japanese_is_cut_at_sentences() -> None:
    """The Japanese full stop ends a sentence without a space; a quotation stays whole."""
    text = "今日は晴れでした。「とても良い。」と彼は言った。明日も晴れる。"
    assert _by_character(text, 20) == [
        "今日は晴れでした。",
        "「とても良い。」と彼は言った。",
        "明日も晴れる。",
    ]


def test_lists_and_tables_are_cut_between_items_and_rows() -> None:
    """Lines are the units there, though sentences end inside them."""
    assert _texts("- a b. c d\n- e f. g h\n- i j. k l\n- m n. o p", max_tokens=10) == [
        "- a b. c d\n- e f. g h",
        "- i j. k l\n- m n. o p",
    ]
    table = "| a. b | c |\n|---|---|\n| d. e | f |\n| g. h | i |"
    assert all(part.startswith("|") and part.endswith("|") for part in _texts(table, max_tokens=13))


def test_a_long_list_item_is_cut_at_sentences() -> None:
    """An item of several sentences on one line is no worse off than a paragraph."""
    assert _texts("- One two three. Four five six. Seven eight nine.", max_tokens=7) == [
        "- One two three. Four five six.",
        "Seven eight nine.",
    ]


def test_text_without_sentences_is_cut_at_lines_then_at_spaces() -> None:
    """A poem ends parts at lines, a row of words at spaces."""
    assert _texts("a b c\nd e f\ng h i\nj k l", max_tokens=7) == ["a b c\nd e f", "g h i\nj k l"]
    assert _texts("a b c d e f g h", max_tokens=3) == ["a b c", "d e f", "g h"]


def test_one_long_word_is_cut_into_even_parts() -> None:
    """Where there is no place at all the limit decides, and no tiny rest is left."""
    assert [len(part) for part in _by_character("あ" * 100, 30)] == [25, 25, 25, 25]


@pytest.mark.parametrize("cluster", ["👨‍👩‍👧‍👦", "e\u0301\u0302", "👍🏽", "🇯🇵"])
def test_hard_cuts_spare_characters_of_many_code_points(cluster: str) -> None:
    """Joined emoji and marked letters come through whole."""
    parts = _by_character(cluster * 30, 19)
    assert len(parts) > 3
    assert all(part == cluster * (len(part) // len(cluster)) for part in parts)


def test_a_fence_that_fits_is_never_cut() -> None:
    """The part before it gets short instead."""
    fence = "```\n" + "code " * 14 + "\n\n" + "code " * 3 + "\n```"
    text = f"# H\n\n{'word ' * 7}\n\n{fence}\n\n{'tail ' * 15}"
    chunks = _texts(text)
    assert [chunk for chunk in chunks if "code" in chunk] == [fence]


def test_a_fence_in_a_list_is_spared_too() -> None:
    """Fences inside items count like those of the document."""
    fence = "  ```\n" + "  code code code\n\n" * 5 + "  ```"
    text = f"- item\n\n{fence}\n- {'word ' * 20}\n"
    assert [chunk.count("```") for chunk in _texts(text) if "code" in chunk] == [2]


def test_a_fence_that_is_too_long_is_cut_at_its_lines() -> None:
    """Inside a fence blank lines come first, then lines; indentation is kept."""
    text = "```\n" + "".join(f"    x{n} = {n} +\n" for n in range(12)) + "```"
    parts = _texts(text)
    assert all(part.startswith(("```\n    x", "    x")) for part in parts)
    assert "".join(part + "\n" for part in parts) == text + "\n"


def test_a_fence_is_left_alone_while_prose_can_be_cut() -> None:
    """A sentence's end before a long fence is better than a line inside it."""
    fence = "```\n" + "code code\n" * 30 + "```"
    first = _texts(f"One two three four. Five six seven eight nine.\n\n{fence}", max_tokens=15)[0]
    assert first == "One two three four. Five six seven eight nine."


def test_a_heading_is_not_left_alone_by_a_cut() -> None:
    """The cut falls in the text, not right below the heading."""
    assert _texts(f"# H\n\n{'word ' * 30}")[0].startswith("# H\n\nword word")


def test_plain_text_is_cut_at_blank_lines_and_sentences() -> None:
    """A text file without headings is one section: paragraphs first, then sentences."""
    text = f"{'a ' * 8}a.\n\n{'b ' * 8}b.\n\n{'c ' * 15}c. {'d ' * 15}d."
    assert [chunk.split()[0] for chunk in _texts(text, path="x.txt")] == ["a", "c", "d"]


def test_the_number_of_chunks_has_no_limit() -> None:
    """A long document is chunked to its end."""
    text = "".join(f"# S{n}\n\n{'word ' * 10}\n\n" for n in range(3000))
    assert len(_chunks(text)) == 3000


# --- overlap -------------------------------------------------------------------------------------------


def test_parts_overlap_from_the_start_of_a_sentence() -> None:
    """With an overlap a part begins with the last sentences of the one before; order is kept."""
    text = " ".join(f"S{n} two three four." for n in range(12))
    chunks = _chunks(text, overlap=5)
    assert len(chunks) > 2
    for before, after in itertools.pairwise(chunks):
        assert before.start < after.start < before.end < after.end
        assert after.text.startswith("S")
        assert text[after.start : before.end].count("S") == 1
    assert all(chunk.token_count <= 20 for chunk in chunks)


def test_overlap_works_without_sentences() -> None:
    """Words, or single characters, are repeated where there is no sentence."""
    words = _chunks("w " * 60, overlap=5)
    assert len(words) > 2
    assert all(before.end > after.start for before, after in itertools.pairwise(words))
    chunker = SectionChunker(token_ends=_characters, max_tokens=20, overlap_tokens=5)
    parts = chunker.chunk(parse_document("x.md", "あ" * 60)).chunks
    assert len(parts) > 2
    assert {before.end - after.start for before, after in itertools.pairwise(parts)} == {5}


def test_sections_do_not_overlap_each_other() -> None:
    """Only the parts of one section repeat text."""
    chunks = _chunks("# A\n\none two. three\n\n# B\n\nfour five", overlap=5)
    assert chunks[0].end < chunks[1].start


# --- settings ------------------------------------------------------------------------------------------


def test_the_fingerprint_names_all_that_moves_a_cut() -> None:
    """Another limit, overlap or tokenizer is another fingerprint."""
    chunker = SectionChunker(token_ends=_words, max_tokens=100, min_tokens=10, tokenizer_name="e5")
    assert chunker.fingerprint == "sections/2:max=100:min=10:overlap=0:joined=2:e5"
    some = SectionChunker(token_ends=_words, overlap_tokens=30, levels=(2, 1), tokenizer_name="e5")
    assert some.fingerprint == "sections/2:max=400:min=60:overlap=30:levels=1,2:e5"


@pytest.mark.parametrize(("max_tokens", "min_tokens", "overlap_tokens"), [(0, 0, 0), (9, -1, 0), (9, 0, -1)])
def test_impossible_settings_are_refused(max_tokens: int, min_tokens: int, overlap_tokens: int) -> None:
    """A limit below one token cannot be kept."""
    with pytest.raises(ConfigError):
        SectionChunker(
            token_ends=_words, max_tokens=max_tokens, min_tokens=min_tokens, overlap_tokens=overlap_tokens
        )


# --- estimates -----------------------------------------------------------------------------------------


def _rough(text: str) -> list[float]:
    """Estimate a quarter too many of the tokens that :func:`_words` counts."""
    starts = [0, *(1.25 * (a.isspace() and not b.isspace()) for a, b in itertools.pairwise(f" {text}"))]
    return list(itertools.accumulate(starts))


@pytest.mark.parametrize("words", [1, 4, 8, 12, 16, 40, 100, 160, 200, 400])
def test_an_estimate_changes_no_chunk(words: int) -> None:
    """Where a limit is near, tokens are counted, so that the chunks are those of the tokenizer."""
    text = "\n\n".join(f"## {number}\n\n{'word ' * (words + number)}" for number in range(6))
    counted: list[str] = []

    def token_ends(part: str) -> list[int]:
        counted.append(part)
        return _words(part)

    document = parse_document("x.md", text)
    exact = SectionChunker(token_ends=_words, max_tokens=150, min_tokens=30).chunk(document)
    chunker = SectionChunker(token_ends=token_ends, max_tokens=150, min_tokens=30, token_estimate=_rough)
    places = [[(chunk.start, chunk.end) for chunk in cut.chunks] for cut in (exact, chunker.chunk(document))]
    assert places[0] == places[1]
    assert len(counted) <= 1


def test_texts_far_from_the_limits_are_not_tokenised() -> None:
    """The estimate says that a section is neither small nor long."""

    def never(_: str) -> list[int]:
        pytest.fail("tokenised")

    document = parse_document("x.md", f"# A\n\n{'word ' * 80}\n\n# B\n\n{'word ' * 90}")
    chunks = SectionChunker(token_ends=never, max_tokens=400, min_tokens=30, token_estimate=_rough).chunk(
        document
    )
    assert [chunk.token_count for chunk in chunks.chunks] == [102, 115]


def test_rows_of_a_table_are_below_the_names_of_its_columns() -> None:
    """If it began in an earlier chunk; so words and meaning find a row by them, and a hit shows them."""
    rows = "".join(f"| Town{number} | {number} | yes |\n" for number in range(30))
    chunks = _chunks(
        f"# Prices\n\n| city | `rent` | pets |\n|---|--:|:-:|\n{rows}\nNo table.\n", max_tokens=60
    )
    first, *others = chunks
    assert first.heading_path == ("Prices",)
    below = [each for each in others if each.text.startswith("|")]
    assert len(below) > 1
    assert {each.heading_path for each in below} == {("Prices", "city · rent · pets")}
    assert {each.context for each in below} == {"Prices\ncity · rent · pets"}
    assert {each.heading_path for each in others if each not in below} <= {("Prices",)}


@pytest.mark.parametrize(
    ("before", "row"),
    [
        ("> [!note] Towns\n> | city | [[rent]] |\n> |---|---|\n", "> | Town | 1 |\n"),
        ("- Towns:\n\n  | city | **rent** |\n  |---|---|\n", "  | Town | 1 |\n"),
        ("<table>\n<tr><th>city</th><th class=x>rent</th></tr>\n", "<tr><td>Town</td><td>1</td></tr>\n"),
    ],
)
def test_so_are_rows_in_a_callout_in_a_list_and_in_html(before: str, row: str) -> None:
    """The names have no markup."""
    last = _chunks(f"# Prices\n\n{before}{row * 60}", max_tokens=60)[-1]
    assert last.heading_path == ("Prices", "city · rent")


@pytest.mark.parametrize("text", ["a | b\nc | d\n" * 40, "- a | b\n- --- | ---\n" * 40, "> a\n> ---\n" * 40])
def test_lines_that_are_no_table_have_no_columns(text: str) -> None:
    """The line below the names makes it one."""
    assert {each.heading_path for each in _chunks(f"# H\n\n{text}")} == {("H",)}
