"""What a hit says of its passage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdvec.search.hits import _asked_chunk, _found_at, _own_text
from mdvec.stores.records import StoredChunk
from mdvec.text.boilerplate import shared_lines

SECTIONS = """## Install

Use pip for this.

### On `Windows` {#win}

Run the *wizard* first.

```bash
# uninstall completely
pip uninstall mdvec
```

## Remove

Delete the folder of the index.
"""


def chunk(text: str, *headings: str, path: str = "note.md", number: int = 0) -> StoredChunk:
    """Return a chunk with these headings."""
    facts = {**dict.fromkeys(StoredChunk.__struct_fields__, 0), "id": number, "path": path}
    return StoredChunk(**{**facts, "text": text, "end": len(text), "heading_path": headings})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("use pip", ("Guide", "Install")),
        ("run the wizard", ("Guide", "Install", "On Windows")),
        ("windows", ("Guide", "Install", "On Windows")),
        ("uninstall mdvec", ("Guide", "Install", "On Windows")),  # not the comment above it
        ("which folder to delete", ("Guide", "Remove")),
        ("delete the index", ("Guide", "Remove")),
        ("folders for wizards", ("Guide", "Install", "On Windows")),  # Remove has one of the words twice
    ],
)
@pytest.mark.parametrize("own", [("Guide", "Install"), ("Guide",), ("Guide", "Remove")])
def test_the_heading_of_a_hit_is_that_of_its_best_line(
    query: str, path: tuple[str, ...], own: tuple[str, ...]
) -> None:
    """Of several small sections in one chunk, named after the first, their parent, or another."""
    assert _found_at(query, chunk(SECTIONS, *own), SECTIONS)[1] == path


@pytest.mark.parametrize("own", [(), ("Top",), ("Top", "Part"), ("Top", "Part", "Small")])
def test_without_a_heading_above_it_the_chunk_is_named_as_it_is(own: tuple[str, ...]) -> None:
    """Also where no word of the query occurs, as in what is found by meaning."""
    for text in ("Plain words of a note.", "Plain words of a note.\n\n## Other\n\nText.\n"):
        assert _found_at("words", chunk(text, *own), text)[1] == own
    assert _found_at("zeppelin", chunk(SECTIONS, *own), SECTIONS)[1] == own


def test_a_title_above_a_larger_section_is_no_part_of_it() -> None:
    """The chunk is named after the larger section, and the title is above that already."""
    text = "# Title\n\nIntroduction.\n\n## Larger\n\nWords of the section.\n"
    for query, path in (("introduction", ("Title",)), ("section", ("Title", "Larger"))):
        assert _found_at(query, chunk(text, "Title", "Larger"), text)[1] == path


HEADING = st.tuples(st.integers(1, 6), st.sampled_from(["alpha", "beta", "gamma"]))


def test_the_heading_of_a_hit_in_a_log_is_the_day_of_its_best_line() -> None:
    """Lines that are nothing but a day are headings there, and text in Markdown."""
    log = "2024/03/15(金)\n10:15\tAnna\tsee you\n\n2024/03/16(土)\n08:50\tBen\trunning late\n"
    of_day = chunk(log, "2024/03/15(金)", path="log.txt")
    found = _found_at("who was late", of_day, log)
    assert found == (log.index("08:50"), ("2024/03/16(土)",))
    assert _found_at("3月16日", of_day, log)[1] == ("2024/03/16(土)",)
    assert _found_at("who was late", chunk(log, "Diary"), log)[1] == ("Diary",)
    diary = "## 2024-03-15\n\nRain.\n\n## 2024-03-16\n\nBen was late.\n"
    assert _found_at("who was late", chunk(diary, "2024-03-15"), diary)[1] == ("2024-03-16",)


def test_the_chunk_of_a_passage_that_was_asked_for() -> None:
    """The one with the day, not others of its month; a translation counts if no chunk has the word itself."""
    days = [
        chunk(f"2021年{day}\n早く寝る。\n", number=at)
        for at, day in enumerate(("3月1日", "2月3日", "2月2日"))
    ]
    assert _asked_chunk("2021年2月3日", days[0], days) is days[1]
    tax = [chunk("Due: March, money", number=0), chunk("還付は4月に入金された。", number=1)]
    assert _asked_chunk("還付金はいくら", tax[0], tax) is tax[1]
    assert _asked_chunk("還付金はいくら", tax[1], [tax[0], chunk("口座", number=2)]) is tax[0]
    assert _asked_chunk("zeppelin", tax[1], tax) is tax[1]


def test_the_heading_of_a_hit_in_records_or_articles_is_that_of_its_best_line() -> None:
    """Also below a chapter that is not in the passage, and in one that begins with the first record."""
    rule = f"\n{'=' * 10}\n"
    text = rule.join(
        ("Walden (Thoreau)\n- page 5\n\nSimplify.", "Emma (Austen)\n- page 9\n\nHandsome, clever.")
    )
    for query, name in (("simplify", "Walden (Thoreau)"), ("clever", "Emma (Austen)")):
        assert _found_at(query, chunk(text, "Walden (Thoreau)", path="a.txt"), text)[1] == (name,)
    text = "第4条（報酬）\n月額とする。\n第5条　支払は翌月とする。\n"
    found = _found_at("翌月", chunk(text, "第2章 契約", "第4条（報酬）", path="a.txt"), text)
    assert found == (text.index("第5条"), ("第2章 契約", "第5条"))


@given(st.lists(HEADING, min_size=1, max_size=6), st.lists(st.sampled_from(["one", "beta"]), max_size=3))
def test_a_path_ends_with_the_heading_above(headings: list[tuple[int, str]], own: list[str]) -> None:
    """Whatever the levels are, and whatever the chunk is named after."""
    text = "".join(f"{'#' * level} {name}\n\nword{at}\n\n" for at, (level, name) in enumerate(headings))
    for at, (_, name) in enumerate(headings):
        path = _found_at(f"word{at}", chunk(text, *own), text)[1]
        assert path[-1] == name
        assert len(path) <= len(own) + len(headings)


RECIPE = (
    "# {name}\n\n## Ingredients\n\n- soy sauce\n- {name}\n\n## Preparation\n\n- Stir well.\n- Serve hot.\n"
)


@pytest.mark.parametrize(
    ("query", "is_whole"),
    [("tofu ingredients", True), ("preparation of tofu", True), ("tofu with soy", True), ("tofu", False)],
)
def test_lines_that_were_asked_for_are_shown_though_many_documents_share_them(
    query: str, is_whole: bool
) -> None:
    """By a word in them, or by the heading above them; a query for the document leaves them out."""
    names = ["tofu", "rice", "leek", "kale", "beans", "corn", "plum", "pear", "peach", "fig"]
    shared = tuple(shared_lines(RECIPE.format(name=name) for name in names))
    text = _own_text(query, RECIPE.format(name="tofu"), "tofu", shared)
    assert "- tofu" in text
    whole = ["soy sauce", "Stir well", "Serve hot"]
    assert [each for each in whole if each in text] == (whole if is_whole else [])
