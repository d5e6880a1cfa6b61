"""Terminals that cannot show all of Unicode, as the console of a Japanese Windows in its old encoding."""

from __future__ import annotations

import ast
import json
import os
import pty
import sys
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_NAME = "旅行😀/京都é\u202f.md"
_TEXT = "# 京都 😀\n\nTemple 寺を見た。 ½ – ü 한국 👨\u200d👩 髙﨑\n"
_SEARCH = ("search", "temple 😀", "--mode", "lexical")
_COMMANDS = {
    "search": _SEARCH,
    "colour": (*_SEARCH, "--color", "always"),
    "json": (*_SEARCH, "--format", "json"),
    "paths": (*_SEARCH, "--format", "paths"),
    "get": ("get", _NAME),
    "missing": ("get", "無い😀.md"),
    "ls": ("ls",),
    "tags": ("tags",),
    "related": ("related", _NAME),
    "status": ("status",),
    "import": ("import", "--no-embed"),
    "option": ("search", "--無い😀"),
    "no command": ("探す😀",),
    "help": ("search", "--help"),
}
_SCRIPT = """
import json, os, sys
from mdvec.interfaces.cli import screen
from mdvec.interfaces.cli.commands import run_command
screen.set_encodings()
for name, args in json.loads(os.environ["COMMANDS"]).items():
    print(f"@@{name}@@", flush=True)
    code = run_command([args[0], "--docs-dir", os.getcwd(), *args[1:]], env=os.environ)
    print(f"@@{code}@@", flush=True)
"""


@pytest.fixture(scope="module", params=["cp932", "cp437", "cp1252", "utf-8"])
def shown(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a terminal in an encoding shows of each command, and its exit code."""
    work = tmp_path_factory.mktemp("console")
    file = work / "notes" / _NAME
    file.parent.mkdir(parents=True)
    file.write_text(_TEXT, encoding="utf-8")
    home = {name: str(work) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME")}
    env = {**home, "PATH": os.environ["PATH"], "PYTHONIOENCODING": request.param, "TERM": "xterm"}
    # Those of a terminal as wide as nothing is wrapped.
    env |= {"COMMANDS": json.dumps(_COMMANDS), "COLUMNS": "1000", "PYTHONUTF8": "1"}
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(file.parent.parent)
        os.execve(sys.executable, [sys.executable, "-P", "-c", _SCRIPT], env)
    written = b""
    while part := _read(terminal):
        written += part
    os.close(terminal)
    os.waitpid(child, 0)
    _, *parts = written.decode(request.param).replace("\r\n", "\n").split("@@")
    results = zip(parts[::4], parts[1::4], parts[2::4], strict=True)
    return {"encoding": request.param, **{name: (int(code), text.strip()) for name, text, code in results}}


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the process has ended
        return b""


def _can_show(encoding: str, character: str) -> bool:
    return bool(character.encode(encoding, "ignore"))


def test_no_character_ends_a_command(shown: dict[str, Any]) -> None:
    """Names, texts, words of a query and options that the terminal cannot show are no reason to fail."""
    codes = {name: shown[name][0] for name in _COMMANDS}
    failing = {"missing": 1, "option": 2, "no command": 2}
    assert codes == {name: failing.get(name, 0) for name in _COMMANDS}
    assert not [name for name in _COMMANDS if "Traceback" in shown[name][1]]


def test_what_can_be_shown_is_shown(shown: dict[str, Any]) -> None:
    """The rest is escaped as in JSON, and nothing is left out."""
    text = shown["get"][1]
    assert [each for each in "京寺髙﨑ü½한" if (each in text) != _can_show(shown["encoding"], each)] == []
    assert ast.literal_eval(f'"""{text}"""').encode("utf-16", "surrogatepass").decode("utf-16") == (
        _TEXT.strip().replace("\u200d", " ")
    )


def test_json_stays_json(shown: dict[str, Any]) -> None:
    """What a person copies from the terminal can be parsed, and has the right characters."""
    [hit] = json.loads(shown["json"][1].splitlines()[-1])["hits"]
    assert hit["path"] == _NAME
    assert "髙﨑" in hit["text"]
