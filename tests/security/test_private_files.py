"""What mdvec writes is its owner's alone, and what is deleted is gone."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.security.conftest import Mdvec

SECRET = "password-hint-is-banana"


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    """By default everybody may read what a program makes."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(place: Path) -> dict[str, str]:
    """Return the permissions of all that lies in a folder, and of the folder."""
    return {
        str(each.relative_to(place)): f"{stat.S_IMODE(each.lstat().st_mode):o}"
        for each in (place, *place.rglob("*"))
    }


def add_notes(mdvec: Mdvec, folder: Path) -> None:
    assert mdvec("tool", "add", "-n", "notes", "-d", "x", "-s", folder).code == 0
    assert mdvec("import", "-n", "notes").code == 0


def test_the_database_of_the_user_is_private(mdvec: Mdvec, home: Path, folder: Path) -> None:
    """Database and judgements are 0600 in folders of 0700."""
    add_notes(mdvec, folder)
    assert mdvec("feedback", "install", "--good", "a.md").code == 0
    found = modes(home / "data" / "mdvec")
    assert {"mdvec.sqlite", "questions.jsonl"} <= found.keys()
    assert {name: mode for name, mode in found.items() if mode not in ("600", "700")} == {}


def test_the_index_of_a_folder_is_private(mdvec: Mdvec, folder: Path) -> None:
    """So is an index among documents."""
    assert mdvec("import", "--docs-dir", folder).code == 0
    found = modes(folder / ".mdvec")
    assert {name: mode for name, mode in found.items() if mode not in ("600", "700")} == {}


def test_what_older_versions_left_open_is_closed(mdvec: Mdvec, home: Path, folder: Path) -> None:
    """A database that everybody could read is closed when its owner uses it."""
    add_notes(mdvec, folder)
    place = home / "data" / "mdvec"
    place.chmod(0o755)
    (place / "mdvec.sqlite").chmod(0o644)
    assert mdvec("status").code == 0
    assert (modes(place)["."], modes(place)["mdvec.sqlite"]) == ("700", "600")


def test_what_is_shared_with_a_group_stays_shared(mdvec: Mdvec, tmp_path: Path, folder: Path) -> None:
    """A named database that its owner opened to a group alone is not a mistake."""
    place = tmp_path / "team"
    place.mkdir(mode=0o750)
    index = place / "team.sqlite"
    assert mdvec("tool", "add", "-n", "notes", "-d", "x", "-s", folder, "--database", index).code == 0
    assert modes(place) == {".": "750", "team.sqlite": "600"}
    index.chmod(0o640)
    assert mdvec("import", "-n", "notes", "--database", index).code == 0
    assert modes(place) == {".": "750", "team.sqlite": "640", "team.sqlite-claim-1": "640"}


def test_the_text_of_a_deleted_note_is_gone(mdvec: Mdvec, home: Path, folder: Path) -> None:
    """After the import that deletes it, no file of the database holds its text."""
    (folder / "secret.md").write_text(f"# Bank\n\nThe {SECRET} of mine.\n" * 50, encoding="utf-8")
    add_notes(mdvec, folder)
    assert holding(home, f"The {SECRET} of mine")
    (folder / "secret.md").unlink()
    assert mdvec("import", "-n", "notes", "-m", "update").code == 0
    assert holding(home, f"The {SECRET} of mine") == []


def test_a_deleted_collection_is_gone(mdvec: Mdvec, home: Path, folder: Path) -> None:
    """So it is after a whole collection was deleted; compacting takes the words and the space, too."""
    (folder / "secret.md").write_text(f"# Bank\n\nThe {SECRET} of mine.\n" * 500, encoding="utf-8")
    add_notes(mdvec, folder)
    assert mdvec("tool", "delete", "-n", "notes", "--yes").code == 0
    assert holding(home, f"The {SECRET} of mine") == []
    outcome = mdvec("compact", "--format", "json")
    assert outcome.code == 0, outcome.err
    sizes = json.loads(outcome.out)
    assert sizes["bytes_after"] < sizes["bytes_before"]
    assert sizes["bytes_after"] == (home / "data" / "mdvec" / "mdvec.sqlite").stat().st_size
    assert holding(home, "banana") == []
    connection = sqlite3.connect(home / "data" / "mdvec" / "mdvec.sqlite")
    assert connection.execute("SELECT count(*) FROM vectors").fetchone() == (0,)
    connection.close()
    assert mdvec("doctor").code == 0


def holding(home: Path, text: str) -> list[str]:
    """Return the files of the user's data that hold a text."""
    return [
        each.name
        for each in (home / "data").rglob("*")
        if each.is_file() and text.encode() in each.read_bytes()
    ]
