"""An estimate of a large import is quick: it reads a sample, and embeds a few texts to measure the model."""

from __future__ import annotations

from pathlib import Path

import pytest

from mdvec import Workspace, open_workspace
from mdvec.indexing import estimate as estimates
from mdvec.sources.folder import FolderSource
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.change import SourceEntry
from mdvec.types.report import ImportOptions

_DOCUMENTS = 420
_UPDATE = ImportOptions()


def unread_notes(folder: Path, embedder: HashingEmbedder) -> Workspace:
    """Return one with a collection of documents of very different sizes, not imported yet."""
    docs = folder / "docs"
    docs.mkdir()
    for number in range(_DOCUMENTS):
        sections = (f"## Part {part}\n\n{f'Word{number} {part} ' * 20}\n" for part in range(number % 7 + 1))
        (docs / f"{number}.md").write_text(f"# Note {number}\n\n" + "\n".join(sections), encoding="utf-8")
    workspace = open_workspace(database=folder / "i.sqlite", embedder=embedder)
    workspace.add_collection("docs", "", str(docs))
    return workspace


def test_a_sample_is_read_and_scaled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it says is near to what the import does, and so it is for what an interrupted one has left."""
    embedder = HashingEmbedder()
    read: list[str] = []
    really_read = FolderSource.read

    def count(self: FolderSource, entry: SourceEntry) -> bytes:
        read.append(entry.path)
        return really_read(self, entry)

    monkeypatch.setattr(FolderSource, "read", count)
    with unread_notes(tmp_path, embedder) as workspace:
        found = workspace.models.estimate("docs", _UPDATE)
        assert len(set(read)) <= estimates._MAX_DOCUMENTS
        assert len(embedder.embedded) <= estimates._FIRST_TEXTS + estimates._MORE_TEXTS
        assert found.seconds is not None
        assert (found.documents, found.exact, found.requests) == (_DOCUMENTS, False, 0)
        workspace.import_collection("docs", ImportOptions(embed=False))
        left = workspace.models.estimate("docs", _UPDATE)
        assert left.documents == 0
        embedder.forget()
        report = workspace.import_collection("docs", _UPDATE)
        tokens = sum(len(embedder.tokens.ends(text)) for text in embedder.embedded)
        for each in (found, left):
            assert each.chunks == pytest.approx(report.embedded_chunks, rel=0.05)
            assert each.chunks + each.names == pytest.approx(len(embedder.embedded), rel=0.05)
            assert each.tokens == pytest.approx(tokens, rel=0.05)
        nothing = workspace.models.estimate("docs", _UPDATE)
        assert (nothing.documents, nothing.chunks, nothing.tokens, nothing.seconds) == (0, 0, 0, None)


def test_what_a_changed_document_was_called_is_not_estimated(tmp_path: Path) -> None:
    """The last part of an alias that looks like a path is a name, too."""
    with unread_notes(tmp_path, HashingEmbedder()) as workspace:
        note = tmp_path / "docs" / "0.md"
        note.write_text("---\naliases: [How to/Import data]\n---\n# Old\n\nold text\n", encoding="utf-8")
        workspace.import_collection("docs", ImportOptions(embed=False))
        note.write_text("# New\n\nnew text\n", encoding="utf-8")
        found = workspace.models.estimate("docs", _UPDATE)
        report = workspace.import_collection("docs", _UPDATE)
        assert (found.chunks, found.names) == (report.embedded_chunks, report.embedded_names)
