"""What can be known of other systems without having them: Windows is pretended, and never run."""

from __future__ import annotations

import json
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.windows import windows_path

from mdvec.sources.folder import FolderSource

_ROOT = Path(__file__).resolve().parents[2]

_IMPORTS = """
import importlib
from tests.fakes.windows import module_names, pretend
names = module_names()
pretend()
for name in names:
    importlib.import_module(name)
result = len(names)
"""

_COMMANDS = """
import contextlib, io, os
from tests.fakes.windows import pretend
pretend()
from mdvec.interfaces.cli.commands import run_command
result = []
for args in given:
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        code = run_command(args, env=os.environ)
    result.append((code, out.getvalue(), errors.getvalue()))
"""

_FILES = """
import os, threading
from tests.fakes.windows import pretend
pretend()
from pathlib import Path
from mdvec.files import remove_folder, write_whole
folder = Path(given)
(folder / "settings").write_text("old")
reader = open(folder / "settings")
threading.Timer(0.2, reader.close).start()
write_whole(folder / "settings", b"new")
(folder / "clone" / "objects").mkdir(parents=True)
(folder / "clone" / "objects" / "pack").touch(mode=0o444)
remove_folder(folder / "clone")
result = [(folder / "SETTINGS").read_text(), os.listdir(folder)]
"""


def pretended(script: str, given: object = None, *, home: Path | None = None) -> Any:
    """Run a script in a process on a pretended Windows, and return its result."""
    lines = ["import json, sys", "given = json.load(sys.stdin)", script, "print(json.dumps(result))"]
    place = windows_path(str(home or _ROOT))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", "\n".join(lines)],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
        cwd=_ROOT,
        env={"PATH": "", "USERPROFILE": place, "LOCALAPPDATA": place, "APPDATA": place},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_module_is_imported_where_posix_is_missing() -> None:
    """No module needs a part of the standard library that Windows lacks before it is used."""
    assert pretended(_IMPORTS) > 200


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Commands of a person on a pretended Windows, and what each printed."""
    work = tmp_path_factory.mktemp("windows")
    notes = work / "Notes"
    (notes / "旅行").mkdir(parents=True)
    (notes / "tap.md").write_text("# Kitchen\n\nThe faucet drips: close the valve.\n", encoding="utf-8")
    trip = "# Trip\n\nWe stayed in Kyoto, see [the tap](../Tap.md).\n"
    (notes / "旅行" / "Kyoto.md").write_text(trip, encoding="utf-8")
    folder = windows_path(str(notes))
    file = f"{folder}\\旅行\\Kyoto.md"
    commands = {
        "add": ["tool", "add", "-n", "notes", "-d", "Notes", "-s", folder],
        "import": ["import", "-n", "notes", "--no-embed"],
        "context": ["tool", "context", "-n", "notes", f"{folder}\\旅行", "Journeys"],
        "search": ["search", "faucet", "--mode", "lexical", "--format", "paths"],
        "relative": ["get", "旅行\\Kyoto.md"],
        "absolute": ["get", file],
        "slashes": ["get", file.replace("\\", "/")],
        "address": ["get", f"file:///{file.replace(chr(92), '/')}"],
        "contexts": ["tool", "context", "-n", "notes"],
    }
    found = pretended(_COMMANDS, list(commands.values()), home=work)
    return dict(zip(commands, found, strict=True))


def test_a_folder_is_read_and_searched_on_windows(answers: dict[str, Any]) -> None:
    """Files below a folder with a drive are inside it: they are read and found."""
    assert answers["import"][1].startswith("notes: 2 added"), answers["import"]
    assert answers["search"][1].endswith("\\Notes\\tap.md\n"), answers["search"]


@pytest.mark.parametrize("spelling", ["relative", "absolute", "slashes", "address"])
def test_a_document_is_named_as_on_windows(answers: dict[str, Any], spelling: str) -> None:
    """Backslashes, drives and addresses of files lead to the document."""
    assert answers[spelling][1].startswith("# Trip"), answers[spelling]


def test_a_folder_is_named_as_on_windows(answers: dict[str, Any]) -> None:
    """The context of a folder that is given by its absolute path is that of the folder in the collection."""
    assert "\n旅行    Journeys " in answers["contexts"][1], answers["contexts"]


def test_events_that_spell_the_folder_otherwise(tmp_path: Path) -> None:
    """macOS reports a folder as its disk spells it: in another case or in NFD. It is the same folder."""
    folder = tmp_path / unicodedata.normalize("NFC", "Notizbücher")
    folder.mkdir()
    reported = unicodedata.normalize("NFD", f"{tmp_path}/notizbücher/Tür.md")
    source = FolderSource(location=str(folder))
    assert source.concerned(reported) == [unicodedata.normalize("NFC", "Tür.md"), "Tür.md/"]


def test_files_in_use_and_read_only_files(tmp_path: Path) -> None:
    """A file is replaced once its reader has closed it, and read-only files of git are removed."""
    assert pretended(_FILES, windows_path(str(tmp_path))) == ["new", ["settings"]]
