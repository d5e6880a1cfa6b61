"""A document that is prepared from the store is the one that is prepared from its file."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.property.markdown import markdown_texts

from mdvec.chunking.sections import SectionChunker
from mdvec.indexing.prepare import prepare
from mdvec.indexing.work import Recipe
from mdvec.stores.records import DocumentRecord
from mdvec.stores.tables import storable
from mdvec.text.tokens import estimate_token_ends
from mdvec.types.change import SourceEntry
from mdvec.types.document import with_comments

_RECIPE = Recipe(SectionChunker(token_ends=estimate_token_ends, tokenizer_name="estimate", max_tokens=40))
_COMMENTED = st.lists(
    st.sampled_from(
        ["%%", "%%x%%", "\n", "\r\n", "# H\n", "`%%`", "```\n", "text ", "\ufeff", "\0", "日本語。", "- "]
    ),
    max_size=20,
).map("".join)


@given(
    st.sampled_from(["a.md", "a.txt"]),
    st.one_of(markdown_texts().map(str.encode), _COMMENTED.map(str.encode), st.binary(max_size=200)),
)
@settings(max_examples=400, deadline=None)
def test_the_stored_text_gives_the_same_document(path: str, raw: bytes) -> None:
    """Line ends, marks, comments and all: neither cutting anew nor moving needs the file."""
    entry = SourceEntry(path, path, 0, len(raw), b"blob")
    first = prepare(entry, raw, _RECIPE)
    if not isinstance(first, DocumentRecord):
        return
    stored = [replace(each, text=storable(each.text)) for each in first.document.comments]
    text = with_comments(storable(first.document.body), stored)
    again = prepare(entry, text, _RECIPE)
    assert isinstance(again, DocumentRecord)
    document = replace(again.document, warnings=first.document.warnings)
    again = replace(again, document=document)
    assert again == first
