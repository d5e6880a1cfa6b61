"""Markdown without its marks, for excerpts."""

from __future__ import annotations

import time

import pytest

from mdvec.text.plain import plain_text, without_addresses


@pytest.mark.parametrize(
    ("markdown", "read"),
    [
        ("### Options { #options }\n\nText.", "Text."),
        ("Title\n====\n\nText.", "Text."),
        (r"Set foo\_bar to 5\*3, \*not bold\*", "Set foo_bar to 5*3, *not bold*"),
        ("| a \\| b | both |", "a | b · both"),
        ("Some text {#emits} here", "Some text here"),
        ('<div class="a">\n\nText.\n\n</div>', "Text."),
        ('since <sup class="vt-badge" data-text="3.5+" /> now', "since now"),
        ("<Code lang={a > b ? {x: 1} : y} />Text", "Text"),
        ("Use the `<Image />` component and `**kwargs`", "Use the <Image /> component and **kwargs"),
        ("<!-- figma url -->Text", "Text"),
        (
            "Write `<!-- later -->` or `{/* so */}`<!-- `not` shown --> here",
            "Write <!-- later --> or {/* so */} here",
        ),
        ("Read https://example.org/a/b?c=d first", "Read example.org first"),
        ("Open http://[::1]:8080/x first.", "Open [::1]:8080/x first."),
        ("https://example.org/alone\nText", "Text"),
        ("See [the guide](a_(b).md), [[note|that]] and [[other]][^1].", "See the guide, that and other."),
        ("import X from '../x.astro';\nText", "Text"),
        (":::tip[Note]\nText\n:::", "Text"),
        ("- [Setup](setup.md)\n- do this", "→ Setup\n• do this"),
        ("2 * 3 * 4 < 5 and a_b_c", "2 * 3 * 4 < 5 and a_b_c"),
        ("Tom &amp; Jerry", "Tom & Jerry"),
        ("See [<button id=HH>Open</button>](obsidian://a?b=c) now", "See Open now"),
        ("![CI](https://a/b(c).svg) ![CI][ci] Text", "Text"),
        ("{* ../src/a.py hl[18,21] *}\n{% include b %}\nText", "Text"),
        (f"{'SiedefSaPZ0mn/HFG5' * 9}) Text.", "…) Text."),
        ("> [!tip] Outer\n> text\n>\n> > [!warning]- *Inner*\n> > more", "Outer\ntext\n\nInner\nmore"),
        ("> [!note]\n> text\n\n[![passing](badge.svg)](ci)", "text"),
        ("Wrapped by [`<KeepAlive>`](a.md) and [`__init__`](b.md)", "Wrapped by <KeepAlive> and __init__"),
        ("See ![`x`](a.png) `one`, [the `two`](c) and `[x](y)`", "See one, the two and [x](y)"),
        ("/// details | More\n\nText\n\n///", "Text"),
        ("First line<br>Second line", "First line Second line"),
        (
            "- DONE service\n  :LOGBOOK:\n  CLOCK: [2025-03-01 Sat]\n  :END:\n  - 980",
            "• DONE service\n\n• 980",
        ),
        ("**太字**と`コード`の説明です。", "太字とコードの説明です。"),
    ],
)
def test_marks_are_left_out(markdown: str, read: str) -> None:
    """What a reader sees stays, in order."""
    assert plain_text(markdown).strip() == read


def test_a_text_of_nothing_but_links_and_images_is_their_labels() -> None:
    """A badge says what it is; its address says nothing."""
    assert plain_text("![Downloads](https://a/b.svg)\n").strip() == ""
    assert (
        without_addresses("# Badges\n![Downloads](https://a/b.svg) [CI](c)\n") == "# Badges\nDownloads CI\n"
    )


def test_code_stays_as_it_is() -> None:
    """With fences, which say that it is code."""
    assert plain_text("Before\n\n~~~sh title\n# no heading\n<b>\n~~~\nAfter") == (
        "Before\n\n```\n# no heading\n<b>\n```\nAfter"
    )


@pytest.mark.parametrize(
    "piece", ["x", " ", "`", "<a{", '<a"', "- ", "| ", "<!--", "[a](", "*a ", "> ", "![[", ":LOGBOOK:\n"]
)
def test_hostile_text_takes_time_in_proportion(piece: str) -> None:
    """Of any text of 100,000 characters."""
    started = time.process_time()
    plain_text(piece * (100_000 // len(piece)) + "x")
    assert time.process_time() - started < 10
