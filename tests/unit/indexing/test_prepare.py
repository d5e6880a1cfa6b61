"""From bytes to what is written about a document."""

from __future__ import annotations

from dataclasses import dataclass

from mdvec.chunking.sections import SectionChunker
from mdvec.indexing.prepare import prepare
from mdvec.indexing.work import Recipe
from mdvec.stores.records import DocumentRecord
from mdvec.text.tokens import estimate_token_ends
from mdvec.types.change import SourceEntry
from mdvec.types.chunk import CutDocument
from mdvec.types.document import Document


@dataclass
class _WarningChunker:
    """Finds something to say about every document."""

    fingerprint: str = "warning/1"

    def chunk(self, document: Document) -> CutDocument:
        return CutDocument((), (f"{len(document.body)} characters are too many",))


def test_what_a_chunker_warns_of_is_told_after_what_the_parser_did() -> None:
    """All warnings about a document come together."""
    recipe = Recipe(_WarningChunker())
    prepared = prepare(SourceEntry("a.md", "a.md", 1, 1), b"---\na: b: c\n---\n", recipe)
    assert isinstance(prepared, DocumentRecord)
    assert len(prepared.document.warnings) == 2
    assert "frontmatter" in prepared.document.warnings[0]
    assert prepared.document.warnings[1] == "16 characters are too many"


def test_names_that_are_indexed_with_each_chunk_are_bounded() -> None:
    """The first 32 names and their first 200 characters count; those of ordinary documents are complete."""
    recipe = Recipe(SectionChunker(token_ends=estimate_token_ends))

    def terms_of_names(aliases: list[str]) -> int:
        raw = f"---\naliases: {aliases}\n---\n# T\n\ntext\n".encode()
        prepared = prepare(SourceEntry("note.md", "note.md", 1, len(raw)), raw, recipe)
        assert isinstance(prepared, DocumentRecord)
        return sum(term.startswith(("name", "long")) for term in prepared.terms[0].main.split())

    assert terms_of_names([f"name{number}" for number in range(30)]) == 30
    assert terms_of_names([f"name{number}" for number in range(3_000)]) == 30  # title and file are names, too
    assert terms_of_names(["long " * 10_000]) == 40


def test_the_names_of_its_folders_find_a_document() -> None:
    """A folder says what its notes are about; many notes do not repeat it."""
    recipe = Recipe(SectionChunker(token_ends=estimate_token_ends))
    prepared = prepare(SourceEntry("economics/案件/l1.md", "l1.md", 1, 9), b"# One\n\ntext\n", recipe)
    assert isinstance(prepared, DocumentRecord)
    assert {"econom", "案件"} <= {*prepared.terms[0].main.split()}
