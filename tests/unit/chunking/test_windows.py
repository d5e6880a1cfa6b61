"""Chunks of a fixed number of tokens."""

from __future__ import annotations

import itertools
import re

import pytest

from mdvec.chunking.windows import WindowChunker
from mdvec.documents.parse import parse_document
from mdvec.errors import ConfigError
from mdvec.types.chunk import Chunk


def _characters(text: str) -> list[int]:
    """One token a character."""
    return list(range(1, len(text) + 1))


def _words(text: str) -> list[int]:
    """Each word is a token, white space goes with the word after it."""
    return [match.end() for match in re.finditer(r"\S+", text)]


def _chunks(text: str, *, max_tokens: int = 1024, overlap_tokens: int = 64) -> tuple[Chunk, ...]:
    chunker = WindowChunker(token_ends=_words, max_tokens=max_tokens, overlap_tokens=overlap_tokens)
    return chunker.chunk(parse_document("x.md", text)).chunks


def test_three_thousand_tokens_are_four_windows() -> None:
    """With the defaults: three of 1,024 tokens that share 64 with the one before, and the last 120."""
    text = "".join(chr(0x4E00 + number) for number in range(3000))
    chunks = WindowChunker(token_ends=_characters).chunk(parse_document("x.md", text)).chunks
    assert [chunk.token_count for chunk in chunks] == [1024, 1024, 1024, 120]
    assert [chunk.start for chunk in chunks] == [0, 960, 1920, 2880]
    assert [chunk.end for chunk in chunks] == [1024, 1984, 2944, 3000]
    assert [chunk.text for chunk in chunks] == [text[chunk.start : chunk.end] for chunk in chunks]


@pytest.mark.parametrize(("tokens", "counts"), [(1, [1]), (1024, [1024]), (1025, [1024, 65])])
def test_a_text_that_fits_is_one_window(tokens: int, counts: list[int]) -> None:
    """There is no second window that the first one holds already."""
    assert [chunk.token_count for chunk in _chunks("w " * tokens)] == counts


def test_windows_begin_at_words_and_keep_positions() -> None:
    """White space between words is in neither end of a chunk; frontmatter is left out."""
    text = "---\ntags: [a]\n---\n" + "\n".join(f"w{number}" for number in range(1000))
    chunks = _chunks(text, max_tokens=600, overlap_tokens=100)
    assert [(c.text.split()[0], c.text.split()[-1]) for c in chunks] == [("w0", "w599"), ("w500", "w999")]
    assert [(c.start_line, c.end_line) for c in chunks] == [(4, 603), (504, 1003)]
    assert all(text[c.start : c.end] == c.text for c in chunks)
    assert {c.context for c in chunks} == {"x #a"}


def test_a_window_is_named_after_the_heading_it_begins_under() -> None:
    """Headings neither cut nor make parents."""
    text = f"In.\n\n# A\n\n{'w ' * 600}\n\n#### B\n\n{'w ' * 600}"
    chunks = _chunks(text, max_tokens=700, overlap_tokens=0)
    assert [(c.heading_path, c.depth, c.parent) for c in chunks] == [((), 0, None), (("A", "B"), 3, None)]
    assert _chunks("# A\n\ntext")[0].heading_path == ("A",)


def test_what_the_tokenizer_skips_is_kept() -> None:
    """Text before the first and after the last token, or without any, is not lost."""
    chunker = WindowChunker(token_ends=lambda text: [match.end() for match in re.finditer("w", text)])
    assert [c.text for c in chunker.chunk(parse_document("x.md", "…w w…")).chunks] == ["…w w…"]
    assert [c.text for c in chunker.chunk(parse_document("x.md", "…")).chunks] == ["…"]
    assert chunker.chunk(parse_document("x.md", " \n")).chunks == ()


def test_a_character_of_several_tokens_is_not_parted() -> None:
    """A window ends before it, and the next one begins with it."""

    def bytes_of(text: str) -> list[int]:
        return [end for end, char in enumerate(text, 1) for _ in char.encode()]

    text = "あ" * 1000
    chunks = WindowChunker(token_ends=bytes_of, overlap_tokens=0).chunk(parse_document("x.md", text)).chunks
    assert [chunk.token_count for chunk in chunks] == [1023, 1023, 954]
    assert "".join(chunk.text for chunk in chunks) == text


def test_windows_of_white_space_alone_are_left_out() -> None:
    """Where white space is tokens, a long gap gives no blank chunk, and none inside another."""
    text = "a" + " " * 3000 + "b" + "\n" * 3000
    chunks = WindowChunker(token_ends=_characters).chunk(parse_document("x.md", text)).chunks
    assert [chunk.text for chunk in chunks] == ["a", "b"]


# --- settings ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_tokens", [0, 511, 4097])
def test_sizes_out_of_range_are_refused(max_tokens: int) -> None:
    """The error names the setting, its hint the range and the option."""
    with pytest.raises(ConfigError, match=f"max_tokens is {max_tokens}") as caught:
        WindowChunker(token_ends=_words, max_tokens=max_tokens)
    assert "512 to 4096" in caught.value.hint
    assert "--chunk-size" in caught.value.hint


@pytest.mark.parametrize("max_tokens", [512, 4096])
def test_the_ends_of_the_range_are_allowed(max_tokens: int) -> None:
    """The largest and the smallest window work."""
    chunks = _chunks("w " * 5000, max_tokens=max_tokens)
    assert {chunk.token_count for chunk in chunks[:-1]} == {max_tokens}


@pytest.mark.parametrize("overlap_tokens", [-1, 512, 1024])
def test_an_overlap_is_less_than_half_a_window(overlap_tokens: int) -> None:
    """The hint says how much is possible."""
    with pytest.raises(ConfigError, match=f"overlap_tokens is {overlap_tokens}") as caught:
        WindowChunker(token_ends=_words, overlap_tokens=overlap_tokens)
    assert "0 to 511" in caught.value.hint


def test_the_fingerprint_names_all_that_moves_a_cut() -> None:
    """Each setting is in it."""
    makes = [
        WindowChunker(token_ends=_words),
        WindowChunker(token_ends=_words, max_tokens=2048),
        WindowChunker(token_ends=_words, overlap_tokens=0),
        WindowChunker(token_ends=_words, tokenizer_name="e5"),
    ]
    assert makes[0].fingerprint == "windows/1:max=1024:overlap=64:"
    assert all(one.fingerprint != other.fingerprint for one, other in itertools.combinations(makes, 2))
