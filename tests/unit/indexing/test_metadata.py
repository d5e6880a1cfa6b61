"""The chunk of a document that is frontmatter alone."""

from __future__ import annotations

import pytest

from mdvec.documents.parse import parse_document
from mdvec.indexing.prepare import metadata_chunk


@pytest.mark.parametrize("inside", ["status: done\nowner: Ann", "status: done", ""])
def test_frontmatter_is_shown_and_counts_as_no_text(inside: str) -> None:
    """Its tokens are none, so that it ranks as the stub that it is; its names and tags find it."""
    document = parse_document("plans/Garden.md", f"---\n{inside}\ntags: [soil]\n---\n")
    chunk = metadata_chunk(document)
    assert chunk.token_count == 0
    assert chunk.text == f"{inside}\ntags: [soil]".strip()
    assert document.body[chunk.start : chunk.end] == chunk.text
    assert "Garden" in chunk.context
    assert "#soil" in chunk.context
