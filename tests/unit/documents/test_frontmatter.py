"""Frontmatter, well-formed, odd and hostile."""

from __future__ import annotations

import json
import re
import time
import tracemalloc
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.growth import assert_grows_linearly

from mdvec.documents.frontmatter import MAX_CHARS, read_frontmatter
from mdvec.documents.parse import parse_document


def test_yaml_is_read_and_the_content_starts_after_it() -> None:
    """A mapping between two lines of dashes is frontmatter."""
    text = "---\ntitle: A\nn: 1\nlist: [a, b]\n---\nText\n"
    front = read_frontmatter(text)
    assert front.values == {"title": "A", "n": 1, "list": ["a", "b"]}
    assert text[front.content_start :] == "Text\n"
    assert front.warnings == ()


def test_toml_is_read_between_plus_signs() -> None:
    """TOML frontmatter gives the same kinds of values."""
    text = '+++\ntitle = "A"\ndate = 2024-01-02\ntags = ["x"]\nat = 10:30:00\n+++\nText'
    front = read_frontmatter(text)
    assert front.values == {"title": "A", "date": "2024-01-02", "tags": ["x"], "at": "10:30:00"}
    assert text[front.content_start :] == "Text"


def test_values_fit_json() -> None:
    """Dates become ISO text, keys become text, and what JSON cannot say becomes text."""
    front = read_frontmatter(
        "---\nday: 2024-01-02\nat: 2024-01-02 03:04:05\n2024: year\nnull: x\nnan: .nan\nbig: 0x"
        + "f" * 300
        + "\nset: !!set {a, b}\nbytes: !!binary aGVsbG8=\n---\n"
    )
    assert front.values["day"] == "2024-01-02"
    assert front.values["at"] == "2024-01-02T03:04:05"
    assert front.values["2024"] == "year"
    assert front.values["null"] == "x"
    assert front.values["bytes"] == "aGVsbG8="
    assert json.loads(json.dumps(front.values, allow_nan=False)) == front.values


def test_words_of_yaml_1_1_stay_text() -> None:
    """``no``, ``on``, a time of day and an impossible date are what their author wrote."""
    front = read_frontmatter("---\na: no\nb: on\nc: 12:30\nd: 2024-13-45\ne: 007\n---\n")
    assert front.values == {"a": "no", "b": "on", "c": "12:30", "d": "2024-13-45", "e": "007"}


def test_a_zero_at_the_end_of_a_version_stays() -> None:
    """``3.10`` is another version than ``3.1``; other numbers are numbers."""
    front = read_frontmatter("---\na: [3.10, 3.1, 1.0, 4.50]\nb: -.5\nc: 1e3\nd: 2.\n---\n")
    assert front.values == {"a": ["3.10", 3.1, 1.0, "4.50"], "b": -0.5, "c": 1000.0, "d": 2.0}


def test_an_empty_block_is_frontmatter_without_values() -> None:
    """Two fences with nothing between them are left out of the content."""
    front = read_frontmatter("---\n---\nText")
    assert (dict(front.values), front.content_start) == ({}, 8)


@pytest.mark.parametrize(
    "text",
    [
        "Text\n---\na: b\n---\n",
        "---\n\n# Title\n\nno closing fence\n",
        "----------\n\n# Title\n---\n",
        "---\n\n# Title\n\n---\n",
        "---\nNote: prose below a rule.\n\nMore.",
        '{{< include "a" >}}\n\nWords: a: b\n\n}\n',
        '{"a": b: c,\n}\nText',
        "---\n\nA quotation, with colon: yes: and brackets [\n\n---\n",
        "---\njust words\n---\n",
        "---\n\tif x:\n\t\tdo: y\n---\n",  # code
        "---\n- a list\n---\n",
        "---\n" + "a: b\n" * (MAX_CHARS // 4) + "---\n",
        "",
        "---",
        "+++",
    ],
)
def test_what_is_no_mapping_at_the_top_stays_content(text: str) -> None:
    """Unclosed fences, thematic breaks and prose between them lose no text to search."""
    front = read_frontmatter(text)
    assert (dict(front.values), front.content_start, front.warnings) == ({}, 0, ())


@pytest.mark.parametrize(
    ("block", "values"),
    [
        ("title: Governance: Rollout\ntags: [ops]", {"title": "Governance: Rollout", "tags": ["ops"]}),
        ("title: @home\nn: 1", {"title": "@home", "n": 1}),
        ("title: *Important* plan\nn: 1", {"title": "*Important* plan", "n": 1}),
        ("title: [draft] Plan\nn: 1", {"title": "[draft] Plan", "n": 1}),
        ('title: "unclosed\nn: 1', {"title": "unclosed", "n": 1}),
        ("tags:\n\t- a\n\t- b", {"tags": ["a", "b"]}),
        ("title: A\n tags: [b]\nn: 1", {"title": "A", "tags": ["b"], "n": 1}),
        ("tags: [#a, #b]\nn: 1", {"tags": ["#a", "#b"], "n": 1}),
        ("n: 1\nnames:\n  - @a\n  - b", {"n": 1, "names": ["@a", "b"]}),
        ("% no key\nn: 1", {"frontmatter": ["% no key"], "n": 1}),
        ("outer:\n  a: 1\n  b: [x\nn: 1", {"outer": "a: 1 b: [x", "n": 1}),
        ("題名: 会議: 議事録\nn: 1", {"題名": "会議: 議事録", "n": 1}),
        ("previous: [[A]], [[B]]", {"previous": ["[[A]]", "[[B]]"]}),
        ("key: [Name](https://example.org)", {"key": "[Name](https://example.org)"}),
        ("a: \x07bell", {"a": "\x07bell"}),
        (
            "a: !!python/object/apply:os.system ['true']",
            {"a": "!!python/object/apply:os.system ['true']"},
        ),
        ("title: 'A' and 'B'\nn: 1", {"title": "'A' and 'B'", "n": 1}),
        ('title: "Say "hi" twice"\nn: 1', {"title": 'Say "hi" twice', "n": 1}),
        ("title: 'It's here'\ntags: [a]", {"title": "It's here", "tags": ["a"]}),
        ("tags:a\ntitle: T", {"tags": "a", "title": "T"}),
        ("title： 全角\ntags： a\nx: 1", {"title": "全角", "tags": "a", "x": 1}),
        ("title: T\n\ttags: [a]", {"title": "T", "tags": ["a"]}),
        ("\towner: x\ntags: [a]", {"owner": "x", "tags": ["a"]}),
        ("\ttitle: T\n\ttags: [a]", {"title": "T", "tags": ["a"]}),
        ("tags:\n- a\n-b\nx: 1", {"tags": ["a", "b"], "x": 1}),
        (
            "<<<<<<< HEAD\ntitle: A\ntags: [a]\n=======\ntags: [b]\n>>>>>>> main",
            {"title": "A", "tags": ["b"]},
        ),
        ("url: https://x.y: z\nx: 1", {"url": "https://x.y: z", "x": 1}),
    ],
)
def test_a_broken_block_is_repaired_property_by_property(block: str, values: dict[str, object]) -> None:
    """Each property is as its author wrote it, and the warning says so."""
    front = read_frontmatter(f"---\n{block}\n---\nText")
    assert dict(front.values) == values
    assert front.content_start == len(block) + 9
    [warning] = front.warnings
    assert warning.startswith("frontmatter is repaired: ")


@pytest.mark.parametrize(
    ("block", "line"),
    [
        ('title: "unclosed\ntags: [a, b]\nauthor: Ann', 2),
        ("title: ok\ntags: [a, b\nauthor: Ann", 3),
        ("title: ok\nauthor: Ann: Bo", 3),
    ],
)
def test_the_warning_names_the_line_that_is_wrong(block: str, line: int) -> None:
    """What is never closed is wrong where it begins."""
    [warning] = read_frontmatter(f"---\n{block}\n---\nText").warnings
    assert f"line {line} is not valid YAML" in warning


@given(st.text(alphabet="ab:-#[]\"'{}*&!@%\t \n", max_size=60))
def test_no_word_of_a_block_is_lost(block: str) -> None:
    """Whatever is wrong with it, its words are values, or text of the note; comments are none, as in YAML."""
    text = f"---\nn: x\n{block}\n---\nText"
    front = read_frontmatter(text)
    read = re.sub(r"(?<=\s)#.*", "", text[: text.rfind("---") if front.content_start else 0])
    words = Counter(re.findall("[ab]+", read))
    if front.warnings and "twice" not in front.warnings[0]:
        assert words.keys() <= set(re.findall("[ab]+", json.dumps(front.values)))


@pytest.mark.parametrize(
    ("block", "values"),
    [
        (
            'title = “A"\ndate = "2024-08-03"\ntags = ["a", "b"]',
            {"title": "A", "date": "2024-08-03", "tags": ["a", "b"]},
        ),
        ("title = A\n[taxonomies]\ntags = ['a']", {"title": "A", "tags": ["a"]}),
        ('title = "A"\ndate: 2020-01-02', {"title": "A", "date": "2020-01-02"}),
        ("title = \n% no key", {"title": "% no key"}),
        ("title = Re: the plan\nn = 1", {"title": "Re: the plan", "n": 1}),
    ],
)
def test_broken_toml_is_repaired_property_by_property(block: str, values: dict[str, object]) -> None:
    """A curly quotation mark or a line of YAML costs no other property."""
    front = read_frontmatter(f"+++\n{block}\n+++\nText")
    assert (dict(front.values), front.content_start) == (values, len(block) + 9)
    assert front.warnings[0].startswith("frontmatter is repaired: ")


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("---\ntitle: A\ntags: [b]\n--\nText", "Text"),
        ("---\ntitle: A\ntags: [b]\n—\nText", "Text"),
        ("----\ntitle: A\ntags: [b]\n-----\nText", "Text"),
        ("---\ntitle: A\ntags: [b]\n\nText", "Text"),
        ('---toml\ntitle = "A"\ntags = ["b"]\n---\nText', "Text"),
        ('{\n  "title": "A",\n\t"tags": ["b",],\n}\nText', "Text"),
        ("---\npermalink: p/a\n---\n\n---\npermalink: p/a\ntitle: A\ntags: [b]\n---\nText", "Text"),
        ("---\ntitle: A\ntags: [b]\n---\n\n---\nn: 1\n---\nText", "\n---\nn: 1\n---\nText"),
    ],
)
def test_fences_are_read_as_people_and_programs_leave_them(text: str, content: str) -> None:
    """A wrong number of dashes, no second fence, another language, and a block before the block."""
    front = read_frontmatter(text)
    assert {key: front.values[key] for key in ("title", "tags")} == {"title": "A", "tags": ["b"]}
    assert text[front.content_start :] == content
    assert (front.warnings == ()) == ("\n\nText" not in text)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('{\n  "title": "A",\n  "tags": ["b"]\n}\nText', {"title": "A", "tags": ["b"]}),
        ("title:: A\ntags:: b, [[c d]]\n\nText", {"title": "A", "tags": "b, [[c d]]"}),
        ("n:: a\nm:: b\nn:: c\n\nText", {"n": ["a", "c"], "m": "b"}),
        ("---\ntitle： A\n作者： B\n---\nText", {"title": "A", "作者": "B"}),
        ("---\ntitle:: A\ntags:\n\u00a0 - b\n---\nText", {"title": "A", "tags": ["b"]}),
        ("---\n\u200btitle: A\ntags:\u3000b\n---\nText", {"title": "A", "tags": "b"}),
        ("---\ntitle: &copy now\nn: 1\n---\nText", {"title": "&copy now", "n": 1}),
        ('---json\n{"title": "A"}\n---\nText', {"title": "A"}),
        ("\n  \n---\ntitle: A\n---\nText", {"title": "A"}),
        ("---\ntitle:A\ntags：b、c\n---\nText", {"title": "A", "tags": "b、c"}),
        ("---\ntitle: Part #2 of #3\n---\nText", {"title": "Part #2 of #3"}),
        ('---\ntitle:  "A #1"\n---\nText', {"title": "A #1"}),
        ("---\ntitle: Part # two\nn: 1 #x\n---\nText", {"title": "Part", "n": 1}),
        (
            "Title: A\nTags: b, c\n  d\nDate: 2024-01-02\n\nText",
            {"Title": "A", "Tags": "b, c d", "Date": "2024-01-02"},
        ),
        ("% A\n% B\n% 2024-01-02\n\nText", {"title": "A", "author": "B", "date": "2024-01-02"}),
        ("% A\n%\n\nText", {"title": "A"}),
    ],
)
def test_other_programs_write_frontmatter_in_other_ways(text: str, values: object) -> None:
    """JSON, lines of properties, blank lines before, no space after a colon, numbers in titles."""
    front = read_frontmatter(text)
    assert front.values == values
    assert text[front.content_start :] == "Text"


@pytest.mark.parametrize(
    "text",
    [
        "---\nDate：now\nand words\n---\n",
        "--- a: b\n---\n",
        "{{< include a >}}\n",
        "{a}\n",
        '{"a": 1} text\n',
        "[1]\n",
        "a::b\n",
        "Title: A\n\nText",
        "Title: A\nwords of a text\n\nText",
        "Title: A\nNote: b: c\n\nText",
        "Date: now\nNote: b\n\nText",
        "% A\nwords\n",
        "::\n",
    ],
)
def test_other_texts_that_begin_likewise_are_content(text: str) -> None:
    """None of these is written by the programs meant."""
    assert read_frontmatter(text).content_start == 0


@pytest.mark.parametrize(
    "text",
    [
        "---\nHeading\n-------\nNote: text.\n",
        "---\n\nNote: a heading\n-------\ntext\n",
        "---\ntitle: words\nof a poem\n--\nBob\n",
        "---\ntitle: a\n# Heading\n\nText\n",
        "---\nDate: Monday. Went to the doctor.\nHe said all is well.\nNote: no salt.\n\nMore.\n",
        "---\nDate: Monday\n- milk\n- eggs\n\nMore.\n",
        "---\nDate: Monday\n- milk\n--\nBob\n",
        "----------\nNote: text below a rule\n---\n",
    ],
)
def test_text_below_a_rule_is_content(text: str) -> None:
    """Lines below headings, signatures and blank lines end no block of anything but properties."""
    assert read_frontmatter(text).content_start == 0


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("---\ntitle: A\n\nHeading\n-------\ntext\n", "Heading\n-------\ntext\n"),
        ("---\ntitle: A\ntext: >\n  a\n\n  b\n---\n--\nBob", "--\nBob"),
        ("---\ntitle: A\n--\nText\n\n---\n\nMore", "Text\n\n---\n\nMore"),
        ("---\ntitle: A\n----\nText", "Text"),
        ("+++\ntitle = 'A'\ntext = '''\n---\nb: c\n'''\n+++\nText", "Text"),
        ("+++\ntitle = 'A'\n---\nText", "Text"),
    ],
)
def test_an_exact_fence_comes_before_others(text: str, content: str) -> None:
    """Unless the text between is no block, and that before another fence is one."""
    front = read_frontmatter(text)
    assert (front.values["title"], text[front.content_start :]) == ("A", content)


@pytest.mark.parametrize(
    "behind",
    [
        "---\ntitle: A\ntags: [c]\ndate: 2026-01-02\n---\nText",
        "---\nid: other\ntags: [c]\n---\nText",
        "---\ntags: [c]\n---\nText",
        "---\nlayout: center\n---\nText",
        "tags:: c\nid:: x\n\nText",
        '{"id": "x", "tags": ["c"]}\nText',
    ],
)
def test_a_block_that_may_be_of_something_else_stays_content(behind: str) -> None:
    """It is another slide, an example or lines of Logseq: it names no same note, or contradicts the first."""
    text = f"---\nid: x\ntitle: A\ntags: [b]\ndate: 2025-01-02\nlayout: cover\n---\n{behind}"
    front = read_frontmatter(text)
    assert front.values["tags"] == ["b"]
    assert text[front.content_start :] == behind


def test_two_blocks_of_one_note_lose_nothing() -> None:
    """Lists are joined, and each gives the keys that the other one lacks."""
    front = read_frontmatter(
        "---\nid: x\ntags: [b]\na:\nn: 1\n---\n---\nid: x\ntags: [c]\na: 2\nm: 3\n---\nText"
    )
    assert front.values == {"id": "x", "tags": ["b", "c"], "a": 2, "n": 1, "m": 3}


def test_a_block_of_comments_is_no_title() -> None:
    """Its words are found as a value; a heading between two rules has blank lines around it."""
    document = parse_document("a.md", "---\n# aliases:\n# two words\n---\nText\n")
    assert (document.title, document.frontmatter) == ("a", {"frontmatter": ["# aliases:", "# two words"]})


def test_the_warning_names_the_line_of_the_file() -> None:
    """A reader can go to the place that does not parse."""
    assert "line 3 " in read_frontmatter("---\na: 1\nb: c: d\n---\n").warnings[0]


def test_a_key_given_twice_is_reported() -> None:
    """The last value counts, with a warning."""
    front = read_frontmatter("---\na: 1\nb: 2\na: 3\na: 4\n---\n")
    assert front.values == {"a": 4, "b": 2}
    assert front.warnings == ("frontmatter has 'a' twice; the last one counts",)


def test_a_few_aliases_and_merges_work() -> None:
    """Anchors are honoured as far as people use them."""
    front = read_frontmatter("---\nbase: &b {x: 1}\ncopy: *b\nmore:\n  <<: *b\n  y: 2\n---\n")
    assert front.values == {"base": {"x": 1}, "copy": {"x": 1}, "more": {"x": 1, "y": 2}}


def _laughs(width: int, levels: int) -> str:
    lines = ["a0: &a0 [" + ", ".join(["x"] * width) + "]"]
    for level in range(1, levels):
        lines.append(f"a{level}: &a{level} [" + ", ".join([f"*a{level - 1}"] * width) + "]")
    return "\n".join(lines)


@pytest.mark.parametrize(
    "source",
    [
        _laughs(9, 9),
        _laughs(3, 11),
        _laughs(2, 16),
        "a: &a [*a]",
        "a: " + "[" * 200_000,
        "a:\n  " + "- " * 90_000 + "x",
        "a: &a {k: v}\nb: &b {<<: [" + ", ".join(["*a"] * 40) + "]}",
    ],
)
def test_bombs_are_refused_quickly(source: str) -> None:
    """Aliases that expand without end and nesting without end cost neither time nor the process."""
    started = time.process_time()
    front = read_frontmatter(f"---\n{source[:150_000]}\n---\nText")
    assert time.process_time() - started < 30
    assert front.values.keys() in ({"frontmatter"}, {"a"})
    assert front.content_start > 0
    assert front.warnings


@pytest.mark.parametrize("source", ["a = " + "[" * 50_000, "a" + ".a" * 20_000 + " = 1"])
def test_toml_bombs_are_refused_quickly(source: str) -> None:
    """Deep arrays and endless dotted keys end in a warning."""
    started = time.process_time()
    front = read_frontmatter(f"+++\n{source}\n+++\nText")
    assert time.process_time() - started < 30
    assert front.warnings


def test_twenty_kilobytes_are_nothing_special() -> None:
    """Long frontmatter is read whole."""
    text = "---\nprompt: |\n" + "  A line of a long prompt.\n" * 800 + "last: yes\n---\nText"
    front = read_frontmatter(text)
    assert len(str(front.values["prompt"])) > 18_000
    assert front.values["last"] == "yes"


def test_merges_that_multiply_are_refused_before_they_are_built() -> None:
    """Each level of ``<<`` triples the one before: of five thousand keys there would be 300 million."""
    source = "a0: &a0 {" + ", ".join(f"k{number}: 1" for number in range(5_000)) + "}\n"
    for level in range(1, 11):
        source += f"a{level}: &a{level} {{<<: [{', '.join([f'*a{level - 1}'] * 3)}]}}\n"
    tracemalloc.start()
    front = read_frontmatter(f"---\n{source}\n---\nText")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert front.values.keys() == {"frontmatter"}
    assert "too many values" in front.warnings[0]
    assert most < 100_000_000


def test_repeated_keys_take_linear_time_and_one_warning() -> None:
    """Some are named, the others are counted."""
    front = read_frontmatter("---\n" + "".join(f"k{number}: 1\n" for number in range(100)) * 2 + "---\n")
    [warning] = front.warnings
    assert warning.endswith("'k6', 'k7' and 92 more twice; the last one counts")

    def twice(size: int) -> str:
        return "---\n" + "".join(f"k{number}:\n" for number in range(size // 12)) * 2 + "---\n"

    assert_grows_linearly(twice, read_frontmatter, 22_000)
