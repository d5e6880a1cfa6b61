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
        "---\n\nA quotation, with colon: yes: and brackets [\n\n---\n",
        "---\njust words\n---\n",
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
        ("title: 'It's here'\ntags: [a]", {"title": "It's here", "tags": ["a"]}),
        ("tags:a\ntitle: T", {"tags": "a", "title": "T"}),
        ("title： 全角\ntags： a\nx: 1", {"title": "全角", "tags": "a", "x": 1}),
        ("title: T\n\ttags: [a]", {"title": "T", "tags": ["a"]}),
        ("tags:\n- a\n-b\nx: 1", {"tags": ["a", "b"], "x": 1}),
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


@given(st.text(alphabet="ab:-#[]\"'{}*&!@%\t \n", max_size=60))
def test_no_word_of_a_block_is_lost(block: str) -> None:
    """Whatever is wrong with it, its words are values, or text of the note; comments are none, as in YAML."""
    text = f"---\nn: x\n{block}\n---\nText"
    front = read_frontmatter(text)
    read = re.sub(r"(?<=\s)#.*", "", text[: text.rfind("---") if front.content_start else 0])
    words = Counter(re.findall("[ab]+", read))
    if front.warnings and "twice" not in front.warnings[0]:
        assert words.keys() <= set(re.findall("[ab]+", json.dumps(front.values)))


def test_toml_that_is_none_is_found_as_text() -> None:
    """Its lines are values."""
    front = read_frontmatter("+++\ntitle = \n+++\nText")
    assert (front.values, front.content_start) == ({"frontmatter": ["title ="]}, 17)
    assert front.warnings[0].startswith("frontmatter is read as text: ")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('{\n  "title": "A",\n  "tags": ["b"]\n}\nText', {"title": "A", "tags": ["b"]}),
        ("title:: A\ntags:: b, [[c d]]\n\nText", {"title": "A", "tags": "b, [[c d]]"}),
        ('---json\n{"title": "A"}\n---\nText', {"title": "A"}),
        ("\n  \n---\ntitle: A\n---\nText", {"title": "A"}),
        ("---\ntitle:A\ntags：b、c\n---\nText", {"title": "A", "tags": "b、c"}),
        ("---\ntitle: Part #2 of #3\n---\nText", {"title": "Part #2 of #3"}),
        ("---\ntitle: Part # two\nn: 1 #x\n---\nText", {"title": "Part", "n": 1}),
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
        "::\n",
    ],
)
def test_other_texts_that_begin_likewise_are_content(text: str) -> None:
    """None of these is written by the programs meant."""
    assert read_frontmatter(text).content_start == 0


def test_the_warning_names_the_line_of_the_file() -> None:
    """A reader can go to the place that does not parse."""
    assert "(line 3)" in read_frontmatter("---\na: 1\nb: c: d\n---\n").warnings[0]


def test_a_key_given_twice_is_reported() -> None:
    """The last value counts, with a warning."""
    front = read_frontmatter("---\na: 1\nb: 2\na: 3\na: 4\n---\n")
    assert front.values == {"a": 4, "b": 2}
    assert front.warnings == ("frontmatter has the key 'a' twice; the last one counts",)


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


def test_repeated_keys_take_linear_time_and_a_few_warnings() -> None:
    """Some are named, the others are counted."""
    front = read_frontmatter("---\n" + "".join(f"k{number}: 1\n" for number in range(100)) * 2 + "---\n")
    assert len(front.warnings) == 9
    assert front.warnings[-1] == "frontmatter has 92 more keys twice"

    def twice(size: int) -> str:
        return "---\n" + "".join(f"k{number}:\n" for number in range(size // 12)) * 2 + "---\n"

    assert_grows_linearly(twice, read_frontmatter, 22_000)
