"""What holds for the chunks of any text."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.property.markdown import markdown_texts

from mdvec.chunking.headings import HeadingChunker
from mdvec.chunking.interface import Chunker, TokenEnds
from mdvec.chunking.sections import SectionChunker
from mdvec.chunking.vault import VaultChunker
from mdvec.chunking.windows import MIN_MAX_TOKENS, WindowChunker, windows
from mdvec.documents.parse import parse_document
from mdvec.text.tokens import estimate_token_ends
from mdvec.types.chunk import Chunk
from mdvec.types.document import Block, BlockKind


def _every_character(text: str) -> list[int]:
    """White space counts too, and every third character is three tokens: byte tokenizers do this."""
    return [end for end in range(1, len(text) + 1) for _ in range(3 if end % 3 == 0 else 1)]


def _many_for_a_character(text: str) -> list[int]:
    """So many tokens that a short text fills several windows."""
    return [end for end in range(1, len(text) + 1) for _ in range(50)]


@dataclass(frozen=True)
class Case:
    """A chunker, and what its chunks keep to."""

    chunker: Chunker
    fits: Callable[[Chunk], bool]
    overlaps: bool = False
    skips_headings_alone: bool = False


_TOKENIZERS = st.sampled_from([estimate_token_ends, _every_character])
_LEVELS = st.sets(st.integers(1, 6), min_size=1).map(tuple)


def _sections(
    max_tokens: int, min_tokens: int, overlap_tokens: int, levels: tuple[int, ...], token_ends: TokenEnds
) -> Case:
    chunker = SectionChunker(
        token_ends=token_ends,
        max_tokens=max_tokens,
        min_tokens=min_tokens,
        overlap_tokens=overlap_tokens,
        levels=levels,
    )
    return Case(chunker, lambda chunk: chunk.token_count <= max_tokens, overlaps=overlap_tokens > 0)


def _headings(max_chars: int, min_chars: int, levels: tuple[int, ...], token_ends: TokenEnds) -> Case:
    chunker = HeadingChunker(
        token_ends=token_ends, max_chars=max_chars, min_chars=min(min_chars, max_chars), levels=levels
    )
    return Case(chunker, lambda chunk: len(chunk.text) <= max_chars)


def _vault(token_limit: int | None, token_ends: TokenEnds) -> Case:
    chunker = VaultChunker(token_ends=token_ends, token_limit=token_limit)
    return Case(chunker, lambda _chunk: True, skips_headings_alone=True)


def _windows(overlap_tokens: int, token_ends: TokenEnds) -> Case:
    chunker = WindowChunker(token_ends=token_ends, max_tokens=MIN_MAX_TOKENS, overlap_tokens=overlap_tokens)
    return Case(chunker, lambda chunk: chunk.token_count <= MIN_MAX_TOKENS, overlaps=True)


_CASES = st.one_of(
    st.builds(_sections, st.integers(3, 40), st.integers(0, 40), st.integers(0, 15), _LEVELS, _TOKENIZERS),
    st.builds(_sections, st.integers(3, 40), st.integers(0, 40), st.just(0), st.just((1, 2, 3)), _TOKENIZERS),
    st.builds(_headings, st.integers(1, 120), st.integers(0, 60), _LEVELS, _TOKENIZERS),
    st.builds(_vault, st.one_of(st.none(), st.integers(1, 80)), _TOKENIZERS),
    st.builds(_windows, st.integers(0, 255), st.one_of(_TOKENIZERS, st.just(_many_for_a_character))),
)


def _is_heading_line(block: Block, text: str) -> bool:
    return block.kind is BlockKind.HEADING and "\n" not in text[block.start : block.end]


@settings(max_examples=600, deadline=None)
@given(text=markdown_texts(), path=st.sampled_from(["a.md", "b.txt"]), case=_CASES)
def test_chunks_keep_their_promises(text: str, path: str, case: Case) -> None:
    """Positions rebuild the text, all of it is covered in order, and the limit holds, in any setting."""
    document = parse_document(path, text)
    text = document.body  # with white space for comments
    cut = case.chunker.chunk(document)
    assert cut == case.chunker.chunk(document)
    if case.skips_headings_alone and all(_is_heading_line(block, text) for block in document.blocks):
        assert cut.chunks == ()
        return
    covered = document.content_start
    previous_start = -1
    for ordinal, chunk in enumerate(cut.chunks):
        assert chunk.ordinal == ordinal
        assert chunk.start > previous_start
        assert chunk.end > covered
        assert not text[covered : max(covered, chunk.start)].strip()
        assert case.overlaps or chunk.start >= covered
        assert text[chunk.start : chunk.end] == chunk.text
        assert chunk.text.split("\n")[0].strip()
        assert chunk.text == chunk.text.rstrip()
        assert chunk.start_line == text.count("\n", 0, chunk.start) + 1
        assert chunk.end_line == text.count("\n", 0, chunk.end - 1) + 1
        assert case.fits(chunk)
        assert chunk.parent is None or chunk.parent < ordinal
        previous_start, covered = chunk.start, chunk.end
    assert not text[covered:].strip()


@settings(max_examples=200, deadline=None)
@given(text=markdown_texts(), folder=st.sampled_from(["dir", "deep/er"]), case=_CASES)
def test_a_moved_document_embeds_nothing_new(text: str, folder: str, case: Case) -> None:
    """The embedded texts do not depend on the folder."""
    here, there = (case.chunker.chunk(parse_document(path, text)) for path in ("a.md", f"{folder}/a.md"))
    assert [chunk.embedded_text for chunk in here.chunks] == [chunk.embedded_text for chunk in there.chunks]


_LENGTHS = st.integers(0, 45) | st.integers(0, 300)


@settings(max_examples=150, deadline=None)
@given(
    parts=st.lists(st.tuples(st.integers(1, 3), _LENGTHS, st.floats(0.8, 1.25)), min_size=1, max_size=12),
    min_tokens=st.none() | st.just(30),
)
def test_an_estimate_moves_no_chunk(parts: list[tuple[int, int, float]], min_tokens: int | None) -> None:
    """Chunks of sections that are estimated too low or too high are those of sections that are counted."""
    texts = [f"{'#' * level} h\n\n{'word ' * words}\n\n" for level, words, _ in parts]
    steps = itertools.chain.from_iterable(
        [error * (character.isspace() and not before.isspace()) for before, character in pairwise(f" {text}")]
        for text, (_, _, error) in zip(texts, parts, strict=True)
    )
    totals = [0.0, *itertools.accumulate(steps)]
    document = parse_document("x.md", "".join(texts))
    counted, estimated = (
        SectionChunker(
            token_ends=lambda text: [match.end() for match in re.finditer(r"\S+", text)],
            max_tokens=150,
            min_tokens=min_tokens,
            token_estimate=estimate,
        ).chunk(document)
        for estimate in (None, lambda _: totals)
    )
    places = [[(each.start, each.end, each.context) for each in cut.chunks] for cut in (counted, estimated)]
    assert places[0] == places[1]


@settings(max_examples=300, deadline=None)
@given(
    steps=st.lists(st.integers(0, 2), max_size=60),
    size=st.integers(1, 12),
    share=st.floats(0, 0.99),
)
def test_windows_go_over_all_tokens(steps: list[int], size: int, share: float) -> None:
    """Each begins inside the one before or right after it, and none parts a character of several tokens."""
    ends = list(itertools.accumulate([1, *steps]))
    spans = list(windows(ends, size=size, overlap=int(size * share)))
    assert spans[0][0] == 0
    assert spans[-1][1] == len(ends)
    for (first, last), (next_first, next_last) in pairwise(spans):
        assert first < next_first <= last < next_last
    for first, last in spans:
        assert first == 0 or ends[first - 1] < ends[first]
        assert last == len(ends) or ends[last - 1] < ends[last]
        # One character alone may be more tokens than a window holds.
        assert last - first <= size or ends[first] == ends[last - 1]
