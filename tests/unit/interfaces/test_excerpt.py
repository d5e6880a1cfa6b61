"""Choosing and laying out the lines that are shown of a hit."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.unit.interfaces.fake_workspace import HIT

from mdvec.interfaces.excerpt import excerpt_of
from mdvec.interfaces.printing import printable, without_gaps, wrap
from mdvec.text.cells import cell_width
from mdvec.types.hit import SearchHit

TEXTS = st.text(alphabet=st.sampled_from("ab  \n。日本ｶﾞ\u3099é👨\u200d\t\x1b"), max_size=200)


def hit_of(text: str, *, title: str = "", path: str = "", heading: str = "", around: str = "") -> SearchHit:
    """Return a hit with this best chunk, of a document that has no name unless one is given."""
    return replace(HIT, chunk_text=text, text=around, title=title, path=path, heading=heading)


def shown(query: str, text: str, *, width: int = 40, lines: int = 2) -> list[str]:
    return [
        "".join(segment.text for segment in line)
        for line in excerpt_of(query, hit_of(text), width=width, lines=lines)
    ]


def test_the_lines_with_most_different_words_are_chosen() -> None:
    """Two words once each beat one word many times."""
    text = "apple apple apple\n\nnothing\n\nnothing\n\nan apple and\n\na pear here\n\nnothing"
    assert shown("apple pear", text) == ["an apple and", "a pear here"]


def test_without_a_match_the_text_starts_at_its_beginning() -> None:
    """A hit found by meaning alone shows its first lines."""
    assert shown("zebra", "one\n\ntwo\n\nthree") == ["one", "two"]


@pytest.mark.parametrize(
    ("query", "lines"),
    [
        ("豚汁の材料", ["• 醤油", "• 豚肉"]),
        ("豚汁の作り方", ["1. 切る", "2. 煮る"]),
        ("作り方 醤油", ["• 醤油", "• 豚肉"]),
        ("豚汁", ["› 材料", "• 醤油"]),
    ],
)
def test_a_heading_that_is_asked_for_shows_its_lines(query: str, lines: list[str]) -> None:
    """Where no line below it has a word of the query; the first heading names the whole text."""
    text = "# 豚汁\n\n## 材料\n\n- 醤油\n- 豚肉\n\n## 作り方\n\n1. 切る\n2. 煮る\n\n## メモ\n\n特になし。\n"
    assert shown(query, text) == lines


@pytest.mark.parametrize(
    ("query", "heading", "lines"),
    [
        ("default timeout", "Changed", ["• Default timeout is 30 s"]),
        ("security", "Security", ["• Fixed an upload"]),
        ("uploads", "Log", ["• Fixed an upload", "› Changed"]),
    ],
)
def test_lines_are_below_the_heading_that_is_shown(query: str, heading: str, lines: list[str]) -> None:
    """What is above it belongs to another; a comment in code is no heading."""
    text = "# Log\n\n```sh\n# Changed\n```\n\n## Security\n- Fixed an upload\n## Changed ##\n"
    text += "- Default timeout is 30 s\n"
    found = excerpt_of(query, hit_of(text, heading=heading), width=40, lines=2)
    assert ["".join(segment.text for segment in line) for line in found] == lines


@pytest.mark.parametrize(
    ("query", "lines"),
    [
        ("8月の光熱費", ["月 · 食費 · 光熱費", "8月 · 808 · 188"]),
        ("光熱費", ["月 · 食費 · 光熱費", "1月 · 801 · 181"]),
        ("2月", ["月 · 食費 · 光熱費", "2月 · 802 · 182"]),
        ("メモ", ["10月 · 810 · 190", "メモは以上。"]),
    ],
)
def test_a_row_of_a_table_is_shown_below_its_head(query: str, lines: list[str]) -> None:
    """The head has a word of nearly every question."""
    rows = "".join(f"|{month}月|{800 + month}|{180 + month}|\n" for month in range(1, 11))
    assert shown(query, f"|月|食費|光熱費|\n|--|--|--|\n{rows}\nメモは以上。\n") == lines


@pytest.mark.parametrize("piece", ["a · ", "# ", "# a ", "#  ", "\n", "a · b\n\n", "```\n", "› "])
def test_hostile_text_takes_time_in_proportion(piece: str) -> None:
    """Of any text of 100,000 characters."""
    started = time.process_time()
    shown("b", f"# {piece * (100_000 // len(piece))}x", width=80)
    assert time.process_time() - started < 10


RULES = (
    "# Work rules\n\n## Article 1\nThese rules are the rules of work.\n\n"
    "## Article 2\nPay day is the 25th.\n\n## Article 3\nArticle 2 does not apply to the work of guests.\n"
)


@pytest.mark.parametrize(
    ("query", "heading", "lines"),
    [
        ("Article 2", "Article 2", ["Pay day is the 25th."]),  # not the text of the next one, which names it
        ("work rules article 2", "Article 2", ["Pay day is the 25th."]),  # not the article on the rules
        ("work rules pay day", "Article 2", ["Pay day is the 25th.", "› Article 3"]),
        ("work rules", "Work rules", ["These rules are the rules of work.", "› Article 2"]),
    ],
)
def test_lines_are_those_of_the_section_that_is_asked_for(query: str, heading: str, lines: list[str]) -> None:
    """A heading with all words tells the section; words of the document's name tell no line."""
    hit = hit_of(RULES, title="Work rules", path="rules.md", heading=heading)
    found = excerpt_of(query, hit, width=50, lines=2)
    assert ["".join(segment.text for segment in line) for line in found] == lines


def test_plain_text_is_shown_as_it_is() -> None:
    """Signs of Markdown mean nothing in a program; the heading above is not repeated."""
    code = "# a comment\ndef __init__(self):\n    self.a_b = 1 * 2 * 3\n"
    shown_lines = excerpt_of("init", hit_of(code, path="a.py"), width=40, lines=2)
    assert ["".join(segment.text for segment in line) for line in shown_lines] == [
        "def __init__(self):",
        "    self.a_b = 1 * 2 * 3",
    ]
    log = "2024-03-15\n10:15 Anna: late\n"
    hit = hit_of(log, path="a.log", heading="2024-03-15")
    [line] = excerpt_of("March 15", hit, width=40, lines=2)
    assert "".join(segment.text for segment in line) == "10:15 Anna: late"
    rules = "第4条（報酬）\n月額とする。\n第5条　翌月に支払う。\n"
    hit = hit_of(rules, path="a.txt", heading="第4条（報酬）")
    lines = excerpt_of("月額を翌月に", hit, width=40, lines=3)
    assert ["".join(segment.text for segment in line) for line in lines] == [
        "月額とする。",
        "› 第5条",
        "第5条　翌月に支払う。",
    ]


def test_matched_words_are_marked() -> None:
    """Segments join to the line, and only the words of the query are marked."""
    [line] = excerpt_of("京都 宿", hit_of("秋の京都で宿を探す。"), width=40, lines=2)
    assert [segment.text for segment in line if segment.matched] == ["京都", "宿"]
    assert "".join(segment.text for segment in line) == "秋の京都で宿を探す。"


def test_a_word_is_marked_on_both_sides_of_a_line_end() -> None:
    """A match that is cut by the width stays marked in both lines."""
    lines = excerpt_of("日本語", hit_of("日本語"), width=4, lines=2)
    assert [[(segment.text, segment.matched) for segment in line] for line in lines] == [
        [("日本", True)],
        [("語", True)],
    ]


GAP = "\u00a0" * 9


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (f"before {GAP} after", "before after"),
        (f"京都{GAP}の宿", "京都の宿"),
        (f"before {GAP} {GAP}after", "before after"),
        (f"  - {GAP} item {GAP}\nnext", "  - item\nnext"),
        (f"{GAP}first", "first"),
        (f"  {GAP}code", "  code"),
        ("one\n             \ntwo", "one\n\ntwo"),
        (f"one\n  {GAP} \ntwo", "one\n\ntwo"),
        ("wide   spaces, 10\u00a0km", "wide   spaces, 10\u00a0km"),
        ("    indented\n  ", "    indented\n  "),
    ],
)
def test_gaps_of_comments_are_closed(text: str, read: str) -> None:
    """What the author hid leaves no hole, and what he wrote stays: spaces, indentation, lines."""
    assert without_gaps(text) == read
    assert shown("zebra", text) == shown("zebra", read)


@given(st.text(alphabet=st.sampled_from(" \t\n\u00a0aあ"), max_size=60))
def test_closing_gaps_keeps_lines_and_words(text: str) -> None:
    """For any text: as many lines as before, the same characters that are not blank, and nothing to close."""
    read = without_gaps(text)
    assert read.count("\n") == text.count("\n")
    assert "".join(read.split()) == "".join(text.split())
    assert without_gaps(read) == read


def test_many_blanks_are_closed_quickly() -> None:
    """A line of a million blanks takes no longer than any other."""
    started = time.process_time()
    without_gaps(" " * 1_000_000 + "x" + "\u00a0 " * 100_000 + "\u00a0\u00a0\u00a0\u00a0 " * 100_000)
    assert time.process_time() - started < 30


def test_a_long_text_is_reduced_to_its_best_stretch() -> None:
    """The match in the middle of a long text is found, and quickly."""
    text = "埋め草です。\n" * 20_000 + "ここに京都がある。\n" + "埋め草です。\n" * 20_000
    assert "ここに京都がある。" in shown("京都", text)


def test_prose_is_preferred_to_code_and_links() -> None:
    """Words in a sentence beat the same words before it in a fence, a link's target or a list of links."""
    sentence = "Choose a theme with CSS."
    for aside in (
        "```\ntheme css\n```",
        "See [this](https://example.org/theme/css).",
        "- [Theme](a.md)\n- [[css]]",
    ):
        assert shown("css theme", f"{aside}\n\nmore\n\nand more\n\n{sentence}", lines=1) == [sentence]


def test_a_sentence_after_a_label_is_no_aside() -> None:
    """Japanese has no spaces in it."""
    text = "持ち物: 弁当\n\nおやつは三百円まで。\n\n日時: 五月十七日の金曜日、雨天の場合は二十一日に行う\n"
    assert shown("雨天の場合は", text, width=60, lines=1)[0].startswith("日時")


def test_of_equal_stretches_the_one_that_starts_with_the_answer_is_chosen() -> None:
    """A label with one word, or a line with one of the words, is no start while a whole sentence follows."""
    sentence = "It syncs the notes of your vault with git."
    for before in ("Plugin ID: sync-vault-git", "Open in a vault"):
        assert shown("sync vault git", f"{before}\n\n{sentence}", width=60, lines=1)[0] == sentence


def test_a_name_is_explained_before_it_is_used() -> None:
    """Where the heading is the name, its code and its references are no start."""
    code = "```js\nimport { onMounted }\n```"
    text = f"## onMounted()\n\n{code}\n\nIt runs when it is there.\n\n- See onMounted.\n"
    assert shown("onMounted", text, width=40, lines=1) == ["It runs when it is there."]
    assert shown("mounted import", text, width=40, lines=1) == ["import { onMounted }"]


def test_a_heading_alone_is_no_excerpt() -> None:
    """What follows in the passage is shown; without anything else the heading is."""
    heading, around = "# Computed\n\n<Video href='a'/>", "# Computed\n\n<Video href='a'/>\n\nIt is cached."
    for text, shown_line in ((around, "It is cached."), ("", "# Computed")):
        [line] = excerpt_of("cached", hit_of(heading, around=text), width=40, lines=1)
        assert "".join(segment.text for segment in line) == shown_line


def test_the_passage_starts_with_a_sentence() -> None:
    """Of a long line the sentence with the match is shown from its start, in both languages."""
    text = "これは最初の文であり、ずっと続く。宿は四条にあった。"
    assert shown("宿", text, width=20, lines=1) == ["宿は四条にあった。"]
    assert shown("inn", "It rained all day long. We found an inn.", width=40, lines=1) == ["We found an inn."]


def test_a_long_sentence_is_entered_between_words() -> None:
    """Where the start of the sentence is too far away the passage starts at a whole word."""
    [line] = shown("target", "word " * 40 + "target ends", width=30, lines=1)
    assert line.startswith("word ")
    assert line.endswith("target ends")
    assert shown("目", "あ" * 100 + "目で見る", width=20, lines=1) == ["あああああ目で見る"]


def test_a_line_that_goes_on_is_marked() -> None:
    """The last line ends with … when its line of the text goes on, and still fits."""
    [line] = shown("one", "one two three four five", width=12, lines=1)
    assert line == "one two…"
    assert shown("one", "one two\n\nthree", width=12, lines=1) == ["one two"]


def test_a_long_text_with_matches_everywhere_takes_no_long_time() -> None:
    """Work does not grow with the product of matches and length: a text of 2 MB is laid out in seconds."""
    started = time.process_time()
    assert shown("lorem", "lorem ipsum\n\n" * 80_000) == ["lorem ipsum", "lorem ipsum"]
    assert shown("lorem", "lorem ipsum\n" * 80_000, width=12, lines=2) == ["lorem ipsum", "lorem ipsum"]
    assert time.process_time() - started < 30


def test_japanese_punctuation_does_not_start_a_line() -> None:
    """A line may be shorter so that 。 stays with its sentence."""
    text = "あいうえお。かき"
    assert [text[start:end] for start, end in wrap(text, 10)] == ["あいうえ", "お。かき"]


def test_latin_words_stay_whole() -> None:
    """Lines end between words; only a word longer than the line is cut."""
    text = "one two three incomprehensible"
    assert [text[start:end] for start, end in wrap(text, 8)] == ["one two", "three", "incompre", "hensible"]


def test_a_line_ends_after_a_space_beside_wide_characters() -> None:
    """No line begins with the space, and a space that is not shown moves no word to the next line."""
    text = "저는 학교에 갑니다"
    assert [text[start:end] for start, end in wrap(text, 11)] == ["저는 학교에", "갑니다"]


def test_widths() -> None:
    """Wide characters take two columns, combining marks none."""
    assert [cell_width(text) for text in ("abc", "日本", "ｶﾅ", "が", "か\u3099", "e\u0301", "")] == [
        3,
        4,
        2,
        2,
        2,
        1,
        0,
    ]


@given(TEXTS, st.integers(2, 30))
@example("aa a。", 2)
def test_lines_fit_and_lose_nothing(text: str, width: int) -> None:
    """For every text: lines are in order, fit, and hold every character that is not white space."""
    rows = list(wrap(text, width))
    lines = [text[start:end] for start, end in rows]
    assert all(cell_width(line) <= width for line in lines)
    assert all(before[1] <= after[0] for before, after in pairwise(rows))
    assert "".join("".join(lines).split()) == "".join(text.split())


@given(TEXTS, st.text(alphabet="ab日本", min_size=1, max_size=5))
def test_segments_join_to_printable_lines(text: str, query: str) -> None:
    """For every text and query: no control character is shown and no segment is empty."""
    for line in excerpt_of(query, hit_of(text), width=20, lines=3):
        assert all(segment.text for segment in line)
        assert printable("".join(segment.text for segment in line)) == "".join(
            segment.text for segment in line
        )


@given(st.text(max_size=50))
def test_printable_keeps_the_length(text: str) -> None:
    """Control characters become spaces one by one, so positions stay right."""
    assert len(printable(text)) == len(text)
    assert "\x1b" not in printable(text)


def test_paragraphs_wrapped_by_hand_are_laid_out_anew() -> None:
    """The terminal's width decides, not that of the author's editor; others and short ones stay apart."""
    text = (
        "A paragraph that somebody wrapped after forty\ncharacters.\n"
        "- a list\n- of two\n\n```\nsome\ncode\n```\n\n日本語の\n段落\n"
    )
    assert shown("paragraph", text, width=60, lines=20) == [
        "A paragraph that somebody wrapped after forty characters.",
        "• a list",
        "• of two",
        "some",
        "code",
        "日本語の",
        "段落",
    ]
    assert shown("error", "w32tm /resync\nUPS error E02", width=60, lines=2) == [
        "w32tm /resync",
        "UPS error E02",
    ]


def test_the_cells_of_a_table_stay_below_their_heads() -> None:
    """An empty cell is shown, and so is whether a task is done."""
    table = "| drug | morning | night |\n|---|---|---|\n| A | | 1 |\n| B | 1 | |\n"
    assert shown("drug", table, width=60, lines=9) == ["drug · morning · night", "A · – · 1", "B · 1"]
    tasks = "- [x] water\n- [ ] toilet\n- [ ]\n- [ ] \n"
    assert shown("water", tasks, width=60, lines=9) == ["• [x] water", "• [ ] toilet"]


def test_rows_of_a_table_and_properties_stay_on_lines_of_their_own() -> None:
    """They are no sentence that goes on."""
    table = "| film | rating |\n|---|---|\n| Alien | 7 |\n| Blade Runner | 8 |\n"
    assert shown("film", table, width=60, lines=9) == ["film · rating", "Alien · 7", "Blade Runner · 8"]
    properties = (
        'director:\n  - "[[Ridley Scott]]"\nrating: 7\ndate modified: 2026-05-01\ncover:\nyear: 1982\n'
    )
    assert shown("ridley", properties, width=60, lines=9)[-4:] == [
        "rating: 7",
        "date modified: 2026-05-01",
        "cover:",
        "year: 1982",
    ]


def test_a_hit_by_meaning_shows_its_first_whole_sentence() -> None:
    """Not the heading, a list of links or a fence above it."""
    text = "## Sync\n\n- [[Setup]]\n\n```\nnpm i\n```\n\nNotes travel between your devices.\n\nMore."
    assert shown("zebra", text, width=60, lines=1) == ["Notes travel between your devices."]
    assert shown("zebra", "## 同期\n\n- [[設定]]\n\nノートは端末間で共有されます。次です。", lines=1) == [
        "ノートは端末間で共有されます。次です。"
    ]


def test_a_japanese_sentence_ends_at_its_stop() -> None:
    """The excerpt starts with the sentence that holds the words, not with the one before it."""
    text = "最初の説明です。次も長い説明が続きます。「宿」は四条にあります。"
    assert shown("宿", text, width=60, lines=1) == ["「宿」は四条にあります。"]
