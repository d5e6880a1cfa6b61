"""What every chunker must do."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from mdvec.chunking.interface import Chunker
from mdvec.chunking.sections import SectionChunker
from mdvec.documents.parse import parse_document
from mdvec.model.chunk import Chunk
from mdvec.model.document import Document
from mdvec.text.tokens import estimate_token_ends

_MAX_TOKENS = 40

MakeChunker = Callable[[], Chunker]


@pytest.fixture(
    params=[
        pytest.param(
            lambda: SectionChunker(token_ends=estimate_token_ends, max_tokens=_MAX_TOKENS, min_tokens=10),
            id="sections",
        ),
        pytest.param(
            lambda: SectionChunker(
                token_ends=estimate_token_ends, max_tokens=_MAX_TOKENS, min_tokens=10, overlap_tokens=8
            ),
            id="sections with overlap",
        ),
    ]
)
def make_chunker(request: pytest.FixtureRequest) -> MakeChunker:
    """A way to make the chunker under test."""
    make: MakeChunker = request.param
    return make


_PROSE = "A sentence of some words. Another one follows it. 日本語の文もあります。短い。\n\n"
_DOCUMENTS = {
    "sections.md": "---\ntitle: T\ntags: [a]\n---\nIntro.\n\n# A\n\n"
    + _PROSE * 4
    + "## B\n\nx\n\n## C\n\ny\n",
    "fence.md": "# A\n\n```python\n" + "    value = call(argument)\n\n" * 30 + "```\n\n" + _PROSE,
    "list.md": "- item one. Two.\n  - nested 日本語。\n" * 40,
    "table.md": "| a | b |\n|---|---|\n" + "| cell | 値 |\n" * 50,
    "one line.md": "日本語の長い一行。" * 100,
    "one word.md": "x" * 5000,
    "emoji.md": "👨‍👩‍👧‍👦" * 100,
    "plain.txt": _PROSE * 20,
    "indented.md": "\n\n   \n    code\n    code\n",
    "blank.md": " \n\n",
    "empty.md": "",
}


@pytest.fixture(params=_DOCUMENTS)
def document(request: pytest.FixtureRequest) -> Document:
    """One document of each shape."""
    return parse_document(request.param, _DOCUMENTS[request.param])


def _without_space(text: str) -> str:
    return "".join(text.split())


def test_positions_rebuild_the_text(make_chunker: MakeChunker, document: Document) -> None:
    """A chunk is exactly the span of the body it names, and so are its lines."""
    lines = document.body.split("\n")
    for chunk in make_chunker().chunk(document):
        assert document.body[chunk.start : chunk.end] == chunk.text
        assert chunk.text in "\n".join(lines[chunk.start_line - 1 : chunk.end_line])
        assert len(chunk.text.split("\n")) == chunk.end_line - chunk.start_line + 1


def test_all_text_is_covered(make_chunker: MakeChunker, document: Document) -> None:
    """No character that is not white space is lost; frontmatter is left out."""
    covered: list[str] = []
    position = document.content_start
    for chunk in make_chunker().chunk(document):
        assert not document.body[position : max(position, chunk.start)].strip()
        covered.append(document.body[max(position, chunk.start) : chunk.end])
        position = chunk.end
    assert _without_space("".join(covered)) == _without_space(document.body[document.content_start :])


def test_chunks_are_in_order(make_chunker: MakeChunker, document: Document) -> None:
    """Ordinals count from 0, starts and ends ascend, parents come before their children."""
    chunks = make_chunker().chunk(document)
    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))
    for before, after in itertools.pairwise(chunks):
        assert before.start < after.start
        assert before.end < after.end
    assert all(chunk.parent is None or 0 <= chunk.parent < chunk.ordinal for chunk in chunks)


def test_chunks_say_something_and_fit(make_chunker: MakeChunker, document: Document) -> None:
    """No chunk is blank or has white space around it, and none is over the limit."""
    for chunk in make_chunker().chunk(document):
        assert chunk.text.strip()
        assert chunk.text == chunk.text.rstrip()
        assert chunk.text.split("\n")[0].strip()
        assert 0 < chunk.token_count <= _MAX_TOKENS
        assert 0 <= chunk.depth <= 3
        assert "\n" not in chunk.context


def test_chunking_is_a_function(make_chunker: MakeChunker, document: Document) -> None:
    """The same document gives the same chunks, by the same chunker and by another one like it."""
    first = make_chunker()
    once: list[Chunk] = first.chunk(document)
    assert first.chunk(document) == once
    assert make_chunker().chunk(document) == once
    assert make_chunker().fingerprint == first.fingerprint
