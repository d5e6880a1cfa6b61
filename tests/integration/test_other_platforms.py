"""What can be known of other systems without having them: Windows is pretended, and never run."""

from __future__ import annotations

import json
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.commands import run_here
from tests.fakes.windows import windows_path
from tests.waiting import wait_until

from mdvec.files import system_path
from mdvec.sources.folder import FolderSource

_ROOT = Path(__file__).resolve().parents[2]
# Made by other systems that share the disk: Windows takes them only if it is asked not to change names.
_UNUSUAL = ("aux.md", "nul/COM1.md", "Dots./tap.md", "/".join(["long name " * 9 + "end"] * 4) + ".md")

# One process for all of it: libraries take longer to load than what is done with them.
_SCRIPT = """
import contextlib, importlib, io, json, os, sys, threading
from tests.fakes.windows import module_names, pretend
given = json.load(sys.stdin)
names = module_names()
pretend()
for name in names:
    importlib.import_module(name)

from mdvec.interfaces.cli.commands import run_command
answers = {}
for name, args in given["commands"].items():
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        code = run_command(args, env=os.environ)
    answers[name] = (code, out.getvalue(), errors.getvalue())

from pathlib import Path
from mdvec.files import remove_folder, write_whole
folder = Path(given["folder"])
(folder / "settings").write_text("old")
reader = open(folder / "settings")
threading.Timer(0.2, reader.close).start()
write_whole(folder / "settings", b"new")
(folder / "clone" / "objects").mkdir(parents=True)
(folder / "clone" / "objects" / "pack").touch(mode=0o444)
remove_folder(folder / "clone")
files = [(folder / "SETTINGS").read_text(), os.listdir(folder)]
print(json.dumps({"modules": len(names), "answers": answers, "files": files}))
"""


@pytest.fixture(scope="module")
def windows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a process on a pretended Windows has loaded, answered a person, and made of files."""
    work = tmp_path_factory.mktemp("windows")
    notes = work / "Notes"
    (notes / "旅行").mkdir(parents=True)
    (work / "Files").mkdir()
    (notes / "tap.md").write_text("# Kitchen\n\nThe faucet drips: close the valve.\n", encoding="utf-8")
    trip = "# Trip\n\nWe stayed in Kyoto, see [the tap](../Tap.md).\n"
    (notes / "旅行" / "Kyoto.md").write_text(trip, encoding="utf-8")
    folder = windows_path(str(notes))
    for number, name in enumerate(_UNUSUAL):
        (notes / name).parent.mkdir(parents=True, exist_ok=True)
        (notes / name).write_text(f"# Unusual\n\nNote {number} of another system.\n", encoding="utf-8")
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
        "case": ["get", file.replace("Kyoto", "KYOTO")],
        "related": ["related", "旅行\\Kyoto.md", "--format", "paths"],
        **{name: ["get", name] for name in _UNUSUAL},
        "again": ["import", "-n", "notes", "--no-embed"],
    }
    place = windows_path(str(work))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _SCRIPT],
        input=json.dumps({"commands": commands, "folder": windows_path(str(work / "Files"))}),
        capture_output=True,
        text=True,
        check=False,
        cwd=_ROOT,
        env={"PATH": "", "USERPROFILE": place, "LOCALAPPDATA": place, "APPDATA": place},
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def answers(windows: dict[str, Any]) -> dict[str, Any]:
    """Exit code, output and errors of each command."""
    found: dict[str, Any] = windows["answers"]
    return found


def test_every_module_is_imported_where_posix_is_missing(windows: dict[str, Any]) -> None:
    """No module needs a part of the standard library that Windows lacks before it is used."""
    assert windows["modules"] > 200


def test_a_folder_is_read_and_searched_on_windows(answers: dict[str, Any]) -> None:
    """Files below a folder with a drive are inside it: they are read and found."""
    assert answers["import"][1].startswith(f"notes: {2 + len(_UNUSUAL)} added"), answers["import"]
    assert answers["search"][1].endswith("\\Notes\\tap.md\n"), answers["search"]


@pytest.mark.parametrize("spelling", ["relative", "absolute", "slashes", "address"])
def test_a_document_is_named_as_on_windows(answers: dict[str, Any], spelling: str) -> None:
    """Backslashes, drives and addresses of files lead to the document."""
    assert answers[spelling][1].startswith("# Trip"), answers[spelling]


@pytest.mark.parametrize("name", _UNUSUAL, ids=["device", "devices", "dots", "long"])
def test_names_that_windows_would_change(answers: dict[str, Any], name: str) -> None:
    """Names of devices, dots at the end and paths of more than 259 characters are read as they are."""
    assert f"Note {_UNUSUAL.index(name)} of" in answers[name][1], answers[name]
    assert "failed" not in answers["again"][1], answers["again"]


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


def test_files_in_use_and_read_only_files(windows: dict[str, Any]) -> None:
    """A file is replaced once its reader has closed it, and read-only files of git are removed."""
    assert windows["files"] == ["new", ["settings"]]


def test_paths_for_calls_of_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A drive, a folder of a server, and a path that is already spelled so; elsewhere nothing changes."""
    assert system_path("/a/b") == "/a/b"
    monkeypatch.setattr(sys, "platform", "win32")
    assert system_path("C:\\a/b. ") == "\\\\?\\C:\\a\\b. "
    assert system_path("\\\\server\\share/b") == "\\\\?\\UNC\\server\\share\\b"
    assert system_path("\\\\?\\C:\\a") == "\\\\?\\C:\\a"


@pytest.fixture
def mdvec(tmp_path: Path) -> Callable[..., Any]:
    """Start mdvec on a pretended Windows, with a folder of one note in its index."""
    (tmp_path / "Notes").mkdir()
    (tmp_path / "Notes" / "tap.md").write_text("The faucet drips.\n", encoding="utf-8")
    place = windows_path(str(tmp_path))

    def start(*args: str, folder: str = "Notes") -> subprocess.Popen[str]:
        return subprocess.Popen(
            [
                sys.executable,
                "-W",
                "ignore",
                "-m",
                "tests.fakes.windows",
                *args,
                "--docs-dir",
                f"{place}\\{folder}",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            cwd=_ROOT,
            env={"PATH": "", "USERPROFILE": place, "LOCALAPPDATA": place, "APPDATA": place},
        )

    imported = start("import", "--no-embed")
    assert "1 added" in imported.communicate()[0]
    return start


def test_a_daemon_without_unix_sockets(mdvec: Callable[..., Any], tmp_path: Path) -> None:
    """Commands find it by its file and reach it at its port; once it is killed, they do the work."""
    search = ("search", "faucet", "--mode", "lexical", "--format", "paths")
    with _daemon(mdvec, tmp_path) as first:
        assert f"process: {first.pid}" in mdvec("daemon", "status", folder="NOTES").communicate()[0]
    with _daemon(mdvec, tmp_path):  # begins where the first one was killed, as Windows ends a process
        assert mdvec(*search).communicate()[0].endswith("\\Notes\\tap.md\n")
        [log] = tmp_path.rglob("daemon.log")
        assert "INFO search" in log.read_text(encoding="utf-8")
    assert "the daemon is not running" in mdvec("daemon", "status").communicate()[0]
    assert mdvec(*search).communicate()[0].endswith("\\Notes\\tap.md\n")


@contextmanager
def _daemon(mdvec: Callable[..., Any], root: Path) -> Iterator[subprocess.Popen[str]]:
    daemon = mdvec("daemon", "run", "--http", "127.0.0.1:0")
    try:
        wait_until(partial(_is_described, root, daemon.pid))
        yield daemon
    finally:
        daemon.kill()
        daemon.communicate()


def _is_described(root: Path, pid: int) -> bool:
    described = [json.loads(path.read_text(encoding="utf-8")) for path in root.rglob("daemon.json")]
    return any(each["pid"] == pid and each["socket"] == "" for each in described)


@pytest.mark.parametrize("door", ["serve", "rpc"])
def test_an_agent_without_signals(mdvec: Callable[..., Any], door: str) -> None:
    """The end of standard input ends a server, which needs no signal that Windows lacks."""
    begin = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    search = {"name": "search", "arguments": {"query": "faucet"}}
    requests_of: dict[str, list[dict[str, Any]]] = {
        "serve": [
            {"id": 1, "method": "initialize", "params": begin},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": search},
        ],
        "rpc": [{"id": 2, "method": "search", "params": search["arguments"]}],
    }
    server = mdvec(door)
    server.stdin.write("".join(json.dumps({"jsonrpc": "2.0", **each}) + "\n" for each in requests_of[door]))
    server.stdin.flush()
    answer = next(line for line in server.stdout if '"id":2' in line)
    assert "tap.md" in json.dumps(json.loads(answer)["result"])
    server.communicate()  # which closes standard input
    assert server.returncode == 0


def test_names_as_macos_spells_them(tmp_path: Path) -> None:
    """Names in NFC and NFD are one document: found, filtered and linked in either form."""
    composed = {
        "ガイド/プラグ.md": "# Plug\n\nA socket. [tap](../Büro/Tür.md)\n",
        "Büro/Tür.md": "# Door\n\nA hinge.\n",
    }
    for name, text in composed.items():
        file = tmp_path / unicodedata.normalize("NFD", name)
        file.parent.mkdir()
        file.write_text(text, encoding="utf-8")
    env = {name: str(tmp_path) for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")}

    def shown(*args: str) -> str:
        done = run_here([*args, "--docs-dir", str(tmp_path)], cwd=tmp_path, env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "2 documents" in shown("import", "--no-embed")
    for form in ("NFC", "NFD"):
        plug, door = (unicodedata.normalize(form, name) for name in composed)
        assert "A socket" in shown("get", plug)
        assert "Door" in shown("get", str(tmp_path / door))
        narrowed = ("search", "socket hinge", "--mode", "lexical", "--format", "json", "--path")
        [hit] = json.loads(shown(*narrowed, f"{plug[:2]}*/**"))["hits"]
        assert hit["path"] == "ガイド/プラグ.md"
        assert "Door" in shown("related", plug)
