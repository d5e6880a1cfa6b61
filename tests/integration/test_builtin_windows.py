"""Windows of the builtin model's own tokens."""

from __future__ import annotations

from pathlib import Path

import pytest

from mdvec.chunking.windows import WindowChunker
from mdvec.documents.parse import parse_document
from mdvec.embedding.builtin.embedder import available
from mdvec.embedding.builtin.model import checked_model
from mdvec.embedding.builtin.tokenizer import open_tokenizer

pytestmark = pytest.mark.skipif(not available(), reason="the builtin model is not installed here")

_SENTENCES = (
    "検索は単語と意味の両方で行う。 Every window begins where a token ends. 👨‍👩‍👧‍👦 ½ cup of sugar.\n\n"
)


def test_three_thousand_tokens_are_four_windows(model_cache: Path) -> None:
    """Exactly 1,024, 1,024, 1,024 and 120 tokens of the model, at positions that rebuild the text."""
    model = checked_model(model_cache)
    numbers = model.manifest
    tokenizer = open_tokenizer(model.folder, unknown=numbers.unknown, longest=numbers.longest)

    def token_ends(text: str) -> list[int]:
        return [int(end) for end in tokenizer.encode(text).ends]

    long = _SENTENCES * 100
    text = long[: token_ends(long)[2999]]
    ends = token_ends(text)
    assert len(ends) == 3000
    chunks = WindowChunker(token_ends=token_ends).chunk(parse_document("x.txt", text)).chunks
    assert [chunk.token_count for chunk in chunks] == [1024, 1024, 1024, 120]
    assert [chunk.end for chunk in chunks] == [ends[last - 1] for last in (1024, 1984, 2944, 3000)]
    assert [
        text[ends[first - 1] : chunk.start].strip()
        for first, chunk in zip((960, 1920, 2880), chunks[1:], strict=True)
    ] == ["", "", ""]
    assert all(text[chunk.start : chunk.end] == chunk.text for chunk in chunks)
