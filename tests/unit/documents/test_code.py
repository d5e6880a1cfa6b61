"""Code in colours: whatever stands in it, it is shown whole and within a bounded time."""

from __future__ import annotations

import html
import itertools
import re
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mdvec.documents.code import LEXERS, MAX_HIGHLIGHTED_CHARS, MAX_LINE_CHARS, MAX_SECONDS, Highlighter

# What lexers look for: repeated, it is what made those of Pygments slow.
# fmt: off
PIECES = [
    "(", "[", "{", "<", '"', "'", "\\", "a", " ", "\n", "/*", "//", "#", "a:", "a.", "{{", "<a", '"\\', "a ",
    "=", "@", "$", "1", "-", "a,", "`", "  \n", "::", "<!--", "a(", "%", "\t", "\n@", ".a", "0.", "~", "ab: ",
    "&", ")", "]", "}", ">", "*", "|", "'''", '"""', "${", "<<", "<<A\n", 'r#"', "end", "def ", "class ",
    "function ", "a=b", "--", "+", "^", "?", ";", "_", "あ", "/", "=>", "->", "<?", "<%", "/a", "q(", "s/",
    "\\\n", "0x", "1_", "|-\n", "- ", "a<b>", "new ", "public ", "type ",
]
# fmt: on
# Many times what it needs: the deadline, and one more look for a part.
_MAX_CPU_S = 20 * MAX_SECONDS


def shown(highlighted: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", highlighted))


def repeated(pieces: list[str]) -> str:
    """Return code of the greatest length that is highlighted, of pieces again and again."""
    text = "".join(pieces)
    code = text * (MAX_HIGHLIGHTED_CHARS // len(text))
    lines = code.split("\n")
    wrapped = "\n".join(
        "\n".join(line[at : at + MAX_LINE_CHARS] for at in range(0, len(line), MAX_LINE_CHARS))
        for line in lines
    )
    return wrapped[: MAX_HIGHLIGHTED_CHARS - 2] + "!\n"


@pytest.mark.parametrize("lexer", LEXERS)
@example(["def "]).via("Java: each word begins a search to the end")
@example(['"\\']).via("TypeScript and Go")
@example(["a"]).via("Turtle, AspectJ and others, which are not in the list")
@given(pieces=st.lists(st.sampled_from(PIECES), min_size=1, max_size=4))
@settings(max_examples=5)
@pytest.mark.harness
def test_hostile_code_is_shown_within_the_time(lexer: str, pieces: list[str]) -> None:
    """The parts are no more than the characters, none takes long, and no character is lost or repeated."""
    code = repeated(pieces)
    looks = itertools.count()

    def clock() -> float:
        next(looks)
        return time.thread_time()

    begun_s = time.thread_time()
    highlighted = Highlighter(clock)(code, lexer)
    assert time.thread_time() - begun_s < _MAX_CPU_S
    assert shown(highlighted) in (code, "")
    assert next(looks) <= 2 * len(code)


def test_a_lexer_that_repeats_text_is_not_shown() -> None:
    """The code itself matters more than its colours."""
    assert Highlighter()("<<A\n" * 100 + "<<!\n", "terraform") == ""


def test_what_is_left_at_the_deadline_is_plain() -> None:
    """The first parts have colours; all that follows, in other code of the document, too, is plain text."""
    ticks = itertools.count()
    highlighter = Highlighter(lambda: next(ticks) * MAX_SECONDS / 10)
    code = "def f(): return 1\n" * 100
    first = highlighter(code, "python")
    assert first.startswith('<span class="k">def</span>')
    assert first.count("<span") < 12
    assert shown(first) == code
    assert highlighter("def", "python") == ""


@pytest.mark.parametrize(
    "language", ["turtle", "aspectj", "autohotkey", "rebol", "mako", "html+myghty", "nothing", ""]
)
def test_other_languages_are_plain(language: str) -> None:
    """A lexer that nobody has tried is not run: that of Turtle takes more than a minute for one word."""
    assert Highlighter()("a\n", language) == ""


@pytest.mark.parametrize("code", ["a" * (MAX_LINE_CHARS + 1), "a\n" * MAX_HIGHLIGHTED_CHARS])
def test_long_code_is_plain(code: str) -> None:
    """Lines and texts that nobody reads are not coloured."""
    assert Highlighter()(code, "python") == ""


@pytest.mark.parametrize("language", ["PY", "c++", "yml", "sh", "ts", "c#"])
def test_languages_have_several_names(language: str) -> None:
    """All that Pygments knows of a lexer, in any case."""
    assert "<span" in Highlighter()('x: "1" # 1\n', language)
