"""A text or vector that has changed in the file is noticed where it is used, and made anew."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.security.conftest import Mdvec
from tests.workspaces import workspace_of

from mdvec import open_workspace
from mdvec.errors import DamagedDatabaseError
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.report import ImportMode, ImportOptions
from mdvec.types.section import IndexedSection

UPDATE = ("import", "-n", "notes", "-m", "update")
CHECK = ("import", "-n", "notes", "--check")
# Damages of one row each: all of them pass SQLite's own check.
VECTOR = "UPDATE vectors SET vector = CAST(zeroblob(2) || substr(vector, 3) AS BLOB) WHERE id = 1"
TEXT = "UPDATE contents SET body = replace(body, 'make', 'fake')"
TITLE = "UPDATE documents SET title = 'Sotup'"
LINES = "UPDATE chunks SET start_line = start_line + 1"
CONTEXTS = "UPDATE chunks SET context = 'Sotup'"
UNDECODABLE = "UPDATE contents SET body = CAST(x'ff' AS TEXT)"


@pytest.fixture
def index(mdvec: Mdvec, folder: Path, tmp_path: Path) -> Path:
    """A database with two documents."""
    (folder / "b.md").write_text("# Other\n\nNothing of interest.\n", encoding="utf-8")
    file = tmp_path / "index" / "index.sqlite"
    assert mdvec("tool", "add", "-n", "notes", "-d", "x", "-s", folder, "--database", file).code == 0
    assert mdvec("import", "-n", "notes", "--database", file).code == 0
    return file


def damage(index: Path, *statements: str) -> None:
    """Change rows behind the back of mdvec."""
    connection = apsw.Connection(str(index))
    for statement in statements:
        connection.execute(statement)
        assert connection.changes()
    connection.close()


def contexts(index: Path) -> list[str]:
    """Return the contexts of all chunks, as they are written."""
    with closing(apsw.Connection(str(index))) as connection:
        return [context for (context,) in connection.execute("SELECT context FROM chunks ORDER BY context")]


def about_database(mdvec: Mdvec, index: Path) -> dict[str, Any]:
    """Return the finding of ``mdvec doctor`` about the database."""
    findings = json.loads(mdvec("doctor", "--database", index, "--format", "json").out)
    return dict(next(each for each in findings if each["subject"] == "database"))


@pytest.mark.parametrize(
    ("statement", "command", "what"),
    [
        (VECTOR, ("search", "install", "--mode", "dense"), "1 vectors are damaged"),
        (TEXT, ("search", "install"), "1 documents are damaged"),
        (TEXT, ("get", "a.md"), "1 documents are damaged"),
        (UNDECODABLE, ("search", "install"), "2 documents are damaged"),
        (TITLE, None, "2 documents are damaged"),
        (LINES, None, "2 documents are damaged"),
    ],
)
def test_damage_is_named_and_repaired(
    mdvec: Mdvec, index: Path, statement: str, command: Sequence[str] | None, what: str
) -> None:
    """An answer that would hold it fails, ``doctor`` counts it, and their advice brings everything back."""
    probe = command or ("get", "a.md")
    before = mdvec(*probe, "--database", index).out
    damage(index, statement)
    if command is not None:
        outcome = mdvec(*command, "--database", index)
        assert outcome.code == 1
        assert "damaged" in outcome.err
        assert "mdvec import --check" in outcome.err
    found = about_database(mdvec, index)
    assert what in found["message"]
    assert "mdvec import --check" in found["hint"]
    repaired = mdvec(*CHECK, "--database", index)
    assert repaired.code == 0
    assert "damaged in the index" in repaired.err
    assert about_database(mdvec, index)["severity"] == "ok"
    assert mdvec(*probe, "--database", index).out == before


def test_only_what_was_damaged_is_embedded_again(tmp_path: Path, folder: Path) -> None:
    """One vector of several is lost, and one is made; a damaged text embeds nothing."""
    (folder / "b.md").write_text("# Other\n\nNothing of interest.\n", encoding="utf-8")
    embedder = HashingEmbedder()
    file = tmp_path / "index.sqlite"
    check = ImportOptions(check=True)
    with workspace_of(file, {"notes": folder}, embedder=embedder) as workspace:
        pass
    for statement, embedded in ((VECTOR, 1), (TEXT, 0), (TITLE, 0)):
        damage(file, statement)
        with open_workspace(database=file, embedder=embedder) as workspace:
            before = len(embedder.embedded)
            workspace.import_collection("notes", check)
            assert len(embedder.embedded) - before == embedded


@pytest.mark.parametrize("statement", [TEXT, TITLE, CONTEXTS, UNDECODABLE])
def test_moving_a_document_mends_it(mdvec: Mdvec, index: Path, folder: Path, statement: str) -> None:
    """Its file is read again, and nothing damaged is written as if it were right."""
    before = contexts(index)
    damage(index, statement)
    (folder / "moved").mkdir()
    for name in ("a.md", "b.md"):
        (folder / name).rename(folder / "moved" / name)
    assert "2 moved" in mdvec(*UPDATE, "--database", index).out
    assert about_database(mdvec, index)["severity"] == "ok"
    assert "damaged" not in mdvec(*CHECK, "--database", index).err
    assert contexts(index) == before


def test_a_check_names_other_collections(tmp_path: Path, folder: Path) -> None:
    """It forgets documents of its own collection alone, and removes every damaged vector."""
    file, other = tmp_path / "index.sqlite", tmp_path / "other"
    other.mkdir()
    (other / "b.md").write_text("# Other\n\nNothing of interest.\n", encoding="utf-8")
    embedder = HashingEmbedder()
    check = ImportOptions(check=True)
    with open_workspace(database=file, embedder=embedder) as workspace:
        for name, place in (("first", folder), ("second", other)):
            workspace.add_collection(name, "", str(place))
            workspace.import_collection(name)
    damage(
        file, f"{TITLE} WHERE path = 'b.md'", VECTOR.replace("id = 1", "id = (SELECT max(id) FROM vectors)")
    )
    with open_workspace(database=file, embedder=embedder) as workspace:
        assert workspace.import_collection("first", check).warnings == (
            "1 vectors were damaged in the index; they are removed, and made anew",
            "other collections need 'mdvec import --check', too: second",
        )
        second = workspace.import_collection("second", check)
        assert second.warnings == ("b.md: damaged in the index, and read again",)
        assert second.pending_chunks == 0
        assert workspace.import_collection("first", check).warnings == ()


def section(name: str, path: str, content: str) -> IndexedSection:
    """Return a section as a client writes it."""
    return IndexedSection(
        id=name,
        document_path=path,
        heading="Heading",
        depth=1,
        content=content,
        token_count=0,
        parent_id=None,
        order=0,
        is_dirty=False,
        document_hash="",
        created_at_ms=0,
        updated_at_ms=0,
    )


SECTION = section("s1", "guide.md", "Run make.")
OTHER = section("s2", "other.md", "Nothing of interest.")


@pytest.fixture
def pushed(tmp_path: Path) -> Path:
    """A database with two documents that a client wrote."""
    file = tmp_path / "pushed.sqlite"
    with open_workspace(database=file, embedder=HashingEmbedder()) as workspace:
        workspace.sections.add([SECTION, OTHER])
        workspace.import_collection("pushed")
    return file


def test_a_damaged_document_of_a_client_is_made_anew_from_its_sections(pushed: Path) -> None:
    """Where its text is intact, nothing is lost; that it was damaged is said, since nobody can compare it."""
    damage(pushed, f"{TITLE} WHERE path = 'guide.md'")
    check = ImportOptions(check=True)
    with open_workspace(database=pushed, embedder=HashingEmbedder()) as workspace:
        before = workspace.sections.at("guide.md")
        (warning,) = workspace.import_collection("pushed", check).warnings
        assert warning.startswith("guide.md: damaged in the index")
        assert workspace.sections.at("guide.md") == before
        assert workspace.import_collection("pushed", check).warnings == ()
        assert workspace.doctor()


@pytest.mark.parametrize("mode", [ImportMode.UPDATE, ImportMode.REPLACE])
@pytest.mark.parametrize("statement", [TEXT, 'UPDATE contents SET frontmatter = \'{"mdvec-sections": "["}\''])
def test_a_document_of_a_client_that_cannot_be_read_stays(
    pushed: Path, statement: str, mode: ImportMode
) -> None:
    """It is named in each import until the client deletes and sends it again; the others are as before."""
    damage(pushed, f"{statement} WHERE document_id = (SELECT id FROM documents WHERE path = 'guide.md')")
    check = ImportOptions(mode=mode, check=True)
    with open_workspace(database=pushed, embedder=HashingEmbedder()) as workspace:
        for _ in range(2):
            (warning,) = workspace.import_collection("pushed", check).warnings
            assert warning.startswith("guide.md is damaged in the index, and only the program that wrote it")
        assert workspace.status().collections[0].counts.documents == 2
        assert [each.content for each in workspace.sections.at("other.md")] == [OTHER.content]
        assert workspace.sections.delete("guide.md") == 1
        workspace.sections.add([SECTION])
        assert workspace.import_collection("pushed", check).warnings == ()
        assert [each.content for each in workspace.sections.at("guide.md")] == [SECTION.content]


def test_a_document_of_a_client_that_cannot_be_embedded_is_named(pushed: Path) -> None:
    """Where its text is needed for a vector, the import fails with the same advice."""
    damage(pushed, TEXT, "DELETE FROM vectors")
    check = ImportOptions(check=True)
    with (
        open_workspace(database=pushed, embedder=HashingEmbedder()) as workspace,
        pytest.raises(DamagedDatabaseError, match=r"guide\.md is damaged") as caught,
    ):
        workspace.import_collection("pushed", check)
    assert "send them again" in caught.value.hint


def test_an_import_without_check_compares_no_checksum(tmp_path: Path, folder: Path) -> None:
    """Comparing all of them takes time, so only ``--check`` and ``doctor`` do it."""
    file = tmp_path / "index.sqlite"
    with workspace_of(file, {"notes": folder}) as workspace:
        pass
    damage(file, TEXT)
    with open_workspace(database=file, embedder=HashingEmbedder()) as workspace:
        report = workspace.import_collection("notes")
    assert (report.updated, report.warnings) == (0, ())


# --- files that look unchanged ---------------------------------------------------------------------


def rewrite(file: Path, text: str) -> None:
    """Give a file other content of the same size, and its old time."""
    state = file.stat()
    assert len(text.encode()) == state.st_size
    file.write_text(text, encoding="utf-8")
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))


@pytest.fixture
def many(mdvec: Mdvec, tmp_path: Path) -> tuple[Path, Path]:
    """A database and its folder of 120 files."""
    notes = tmp_path / "many"
    notes.mkdir()
    for number in range(120):
        (notes / f"n{number:03}.md").write_text(f"# Note {number:03}\n\nold text\n", encoding="utf-8")
    file = tmp_path / "many.sqlite"
    assert mdvec("tool", "add", "-n", "notes", "-d", "x", "-s", notes, "--database", file).code == 0
    assert mdvec("import", "-n", "notes", "--database", file).code == 0  # looks at the first 50
    return file, notes


def test_each_import_looks_at_other_files(mdvec: Mdvec, many: tuple[Path, Path]) -> None:
    """Of 120 files that look unchanged the second and third import read 50 and the last 20 (and 30 again)."""
    index, notes = many
    for number in (60, 110):
        rewrite(notes / f"n{number:03}.md", f"# Note {number:03}\n\nNEW text\n")
    for updated in (1, 1, 0):
        report = json.loads(mdvec(*UPDATE, "--format", "json", "--database", index).out)
        assert (report["updated"], report["unchanged"]) == (updated, 120 - updated)


def test_check_looks_at_all_files(mdvec: Mdvec, many: tuple[Path, Path]) -> None:
    """``status --check`` finds the change that time and size hide, and ``import --check`` brings it."""
    index, notes = many
    rewrite(notes / "n110.md", "# Note 110\n\nNEW text\n")
    outcome = mdvec("status", "-n", "notes", "--check", "--database", index)
    assert "n110.md" in outcome.out or "1 changed" in outcome.out
    report = json.loads(mdvec(*CHECK, "--format", "json", "--database", index).out)
    assert report["updated"] == 1
    assert "NEW text" in mdvec("get", "n110.md", "--database", index).out
