"""Rewriting characters, and where they came from."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from conversion.tables import build_character_map

_REPLACEMENTS = {"½": "1⁄2", "\n": " ", "\x01": "", "㍿": "株式会社", "Ａ": "A", "¨": " \u0308"}
_MAP = build_character_map({ord(old): [ord(char) for char in new] for old, new in _REPLACEMENTS.items()})

_texts = st.text(st.sampled_from([*_REPLACEMENTS, " ", "a", "漢", "𠮷", "\ud800"]), max_size=40)


def _rewritten(text: str, block: int = 100) -> tuple[str, list[int]]:
    codes, origins = _MAP.rewrite(text, block=block)
    return "".join(map(chr, codes.tolist())), origins.tolist()


def _expected(text: str) -> str:
    """What str.translate and a regular expression make of it."""
    spaced = re.sub(" +", " ", text.translate({ord(old): new for old, new in _REPLACEMENTS.items()}))
    return (spaced if spaced.startswith(" ") else f" {spaced}").replace(" ", "▁")


@given(_texts, st.integers(1, 50))
@settings(max_examples=150, deadline=None)
def test_same_as_translate(text: str, block: int) -> None:
    """The result is that of str.translate, spaces merged and words marked; blocks change nothing."""
    assert _rewritten(text, block)[0] == _expected(text)


@given(_texts)
@settings(max_examples=150, deadline=None)
def test_origins(text: str) -> None:
    """Origins never go back, and each character is the replacement of the one it comes from."""
    rewritten, origins = _rewritten(text)
    assert origins == sorted(origins)
    for char, origin in list(zip(rewritten, origins, strict=True))[1:]:
        source = text[origin]
        assert char.replace("▁", " ") in _REPLACEMENTS.get(source, source)


def test_examples() -> None:
    """One character may become none, one or several; each remembers its source."""
    assert _rewritten("a½\x01Ａ") == ("▁a1⁄2A", [0, 0, 1, 1, 1, 3])


def test_spaces() -> None:
    """A run of spaces of any kind is one word mark, also in front."""
    assert _rewritten("  a \n b") == ("▁a▁b", [0, 2, 3, 6])


def test_nothing() -> None:
    """A text of which nothing remains is the word mark alone."""
    assert _rewritten("") == ("▁", [0])
    assert _rewritten("\x01\x01") == ("▁", [0])
