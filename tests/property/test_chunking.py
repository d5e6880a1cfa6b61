"""What holds for the chunks of any text."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.property.markdown import markdown_texts

from mdvec.chunking.sections import SectionChunker
from mdvec.documents.parse import parse_document
from mdvec.text.tokens import estimate_token_ends


def _every_character(text: str) -> list[int]:
    """White space counts too, and every third character is three tokens: byte tokenizers do this."""
    return [end for end in range(1, len(text) + 1) for _ in range(3 if end % 3 == 0 else 1)]


@settings(max_examples=300, deadline=None)
@given(
    text=markdown_texts(),
    path=st.sampled_from(["a.md", "b.txt"]),
    max_tokens=st.integers(3, 40),
    min_tokens=st.integers(0, 40),
    overlap_tokens=st.integers(0, 15),
    token_ends=st.sampled_from([estimate_token_ends, _every_character]),
)
def test_chunks_keep_their_promises(
    text: str,
    path: str,
    max_tokens: int,
    min_tokens: int,
    overlap_tokens: int,
    token_ends: object,
) -> None:
    """Positions rebuild the text, all of it is covered in order, and the limit holds, in any setting."""
    assert callable(token_ends)
    chunker = SectionChunker(
        token_ends=token_ends, max_tokens=max_tokens, min_tokens=min_tokens, overlap_tokens=overlap_tokens
    )
    document = parse_document(path, text)
    chunks = chunker.chunk(document)
    assert chunks == chunker.chunk(document)
    covered = document.content_start
    previous_start = -1
    for ordinal, chunk in enumerate(chunks):
        assert chunk.ordinal == ordinal
        assert chunk.start > previous_start
        assert chunk.end > covered
        assert not text[covered : max(covered, chunk.start)].strip()
        assert overlap_tokens or chunk.start >= covered
        assert text[chunk.start : chunk.end] == chunk.text
        assert chunk.text.split("\n")[0].strip()
        assert chunk.text == chunk.text.rstrip()
        assert chunk.start_line == text.count("\n", 0, chunk.start) + 1
        assert chunk.end_line == text.count("\n", 0, chunk.end - 1) + 1
        assert chunk.token_count <= max_tokens
        assert chunk.parent is None or chunk.parent < ordinal
        previous_start, covered = chunk.start, chunk.end
    assert not text[covered:].strip()


@settings(max_examples=100, deadline=None)
@given(text=markdown_texts(), folder=st.sampled_from(["dir", "deep/er"]))
def test_a_moved_document_embeds_nothing_new(text: str, folder: str) -> None:
    """The embedded texts do not depend on the folder."""
    chunker = SectionChunker(token_ends=estimate_token_ends)
    here, there = (chunker.chunk(parse_document(path, text)) for path in ("a.md", f"{folder}/a.md"))
    assert [chunk.embedded_text for chunk in here] == [chunk.embedded_text for chunk in there]
