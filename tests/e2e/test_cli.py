"""A day with the command line, with nothing faked."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.e2e.conftest import MDVEC, Shell
from tests.waiting import HANG_S

needs_model = pytest.mark.skipif(
    importlib.util.find_spec("mdvec_e5") is None, reason="the builtin model is not installed here"
)
needs_terminal = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")


def add_notes(shell: Shell) -> None:
    shell.run("tool", "add", "-n", "notes", "-d", "My notes", "-s", "notes")


def import_words(shell: Shell, *more: str) -> dict[str, object]:
    report: dict[str, object] = shell.json("import", "-n", "notes", "--no-embed", *more)
    return report


@needs_model
def test_the_main_job(shell: Shell) -> None:
    """Register, import, ask in Japanese and English, read, change, update, delete."""
    add_notes(shell)
    report = shell.json("import", "-n", "notes", process=True)
    assert (report["added"], report["failed"], report["pending_chunks"]) == (3, 0, 0)
    assert report["embedded_chunks"] > 0

    for question, path in [
        ("どこに泊まりましたか", "旅行/京都.md"),
        ("I forgot my login secret", "account.md"),
        ("water leak in the kitchen", "todo.txt"),
    ]:
        answer = shell.json("search", question, process=True)
        assert answer["mode"] == "hybrid"
        assert answer["hits"][0]["path"] == path
        assert answer["pending_chunks"] == 0

    (shell.cwd / "notes" / "todo.txt").rename(shell.cwd / "notes" / "done.txt")
    shell.write("notes/new.md", "# Garden\n\nTomatoes need sun.\n")
    (shell.cwd / "notes" / "account.md").unlink()
    [collection] = shell.json("status", "-n", "notes", "--check")["collections"]
    assert collection["check"] == {
        "in_sync": False,
        "new": ["new.md"],
        "changed": [],
        "moved": [{"from": "todo.txt", "to": "done.txt"}],
        "deleted": ["account.md"],
    }
    report = shell.json("import", "-n", "notes", "-m", "update")
    counts = {key: report[key] for key in ("added", "moved", "deleted", "unchanged", "embedded_chunks")}
    assert counts == {"added": 1, "moved": 1, "deleted": 1, "unchanged": 1, "embedded_chunks": 1}

    shell.run("tool", "delete", "-n", "notes", "-y")
    assert shell.json("tool", "ls", "--all") == []


@needs_model
def test_a_folder_is_searched_without_registering_it(shell: Shell) -> None:
    """The first search indexes the folder, the second only answers; the configured database is not used."""
    first = shell.json("search", "--docs-dir", "notes", "四条の旅館")
    assert first["hits"][0]["path"] == "旅行/京都.md"
    assert (shell.cwd / "notes" / ".mdvec" / "index.sqlite").exists()
    again = shell.run("search", "四条の旅館", "--docs-dir", "notes", "--verbose")
    assert "[embed]" not in again.stderr
    assert "[dense]" in again.stderr
    assert not Path(shell.env["MDVEC_DATABASE_PATH"]).exists()


@needs_model
def test_ctrl_c_leaves_what_was_done(shell: Shell) -> None:
    """After Ctrl-C the text is searchable, the message says what is pending, the next run goes on."""
    for number in range(120):
        words = " ".join(f"word{number}x{position}" for position in range(20))
        shell.write(f"notes/many/{number}.md", f"# Note {number}\n\n{words}\n")
    add_notes(shell)
    process = shell.start(
        "import", "-n", "notes", "--verbose", stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("[embed]"):
            process.send_signal(signal.SIGINT)
            break
    out, err = process.communicate(timeout=HANG_S)
    assert (process.returncode, out) == (130, "")
    assert "interrupted: everything written so far stays" in err
    assert "chunks pending" in err
    assert "Traceback" not in err
    answer = shell.json("search", "word37x3", "--mode", "lexical")
    assert answer["hits"][0]["path"] == "many/37.md"
    assert answer["pending_chunks"] > 0
    report = shell.json("import", "-n", "notes", "-m", "update")
    assert (report["pending_chunks"], report["added"]) == (0, 0)


def test_status_says_what_every_file_is(shell: Shell) -> None:
    """Each file of the folder is in one state, with the reason when it is left out."""
    (shell.cwd / "notes" / "binary.md").write_bytes(bytes(range(256)) * 64)
    add_notes(shell)
    assert import_words(shell)["excluded"] == 2
    [collection] = shell.json("status", "-n", "notes")["collections"]
    states = {each["path"]: (each["state"], bool(each["reason"])) for each in collection["files"]}
    assert states == {
        "account.md": ("pending", False),
        "binary.md": ("excluded", True),
        "picture.png": ("excluded", True),
        "todo.txt": ("pending", False),
        "旅行/京都.md": ("pending", False),
    }


def test_an_empty_index_hints(shell: Shell) -> None:
    """Searching before anything is indexed names the next step; without an index at all it is an error."""
    missing = shell.run("search", "x", "--mode", "lexical", code=1)
    assert missing.stdout == ""
    assert "mdvec tool add" in missing.stderr
    add_notes(shell)
    done = shell.run("search", "x", "--mode", "lexical")
    assert done.stdout == ""
    assert "mdvec import -n notes" in done.stderr


@pytest.mark.parametrize("query", ["", "  ", "\u3000"])
def test_a_blank_query_is_a_usage_error(shell: Shell, query: str) -> None:
    """There is nothing to search for: exit code 2."""
    add_notes(shell)
    assert shell.run("search", query, code=2).stdout == ""


def test_a_huge_query_is_cut_with_a_warning(shell: Shell) -> None:
    """A query of 100 kB is searched by its beginning, and the warning is part of the answer."""
    add_notes(shell)
    import_words(shell)
    answer = shell.json("search", "milk" + " tea" * 24_999, "--mode", "lexical")
    assert answer["hits"][0]["path"] == "todo.txt"
    assert any("100,000 characters" in warning for warning in answer["warnings"])


def test_wrong_names_are_told(shell: Shell) -> None:
    """An impossible name is a usage error; a taken or an unknown one, or no folder, fails."""
    add_notes(shell)
    for said, code, args in (
        ("'Bad Name'", 2, ("tool", "add", "-n", "Bad Name", "-d", "x", "-s", "notes")),
        ("'notes'", 1, ("tool", "add", "-n", "notes", "-d", "x", "-s", "notes")),
        ("nowhere", 1, ("tool", "add", "-n", "other", "-d", "x", "-s", "nowhere")),
        ("'nope'", 1, ("import", "-n", "nope")),
        ("'nope'", 1, ("search", "x", "-n", "nope")),
    ):
        assert said in shell.run(*args, code=code).stderr.splitlines()[0]


def test_a_file_that_is_no_database_is_left_alone(shell: Shell) -> None:
    """Naming another file as the database is a clear error, and the file stays as it is."""
    before = (shell.cwd / "notes" / "account.md").read_bytes()
    done = shell.run("tool", "ls", "--database", "notes/account.md", code=1)
    assert done.stderr.startswith("error: ")
    assert (shell.cwd / "notes" / "account.md").read_bytes() == before


def test_the_configuration_is_found_upward(shell: Shell) -> None:
    """A ``mdvec.toml`` above the working directory counts, and its paths are relative to it."""
    del shell.env["MDVEC_DATABASE_PATH"]
    shell.write("mdvec.toml", '[database]\npath = "here.sqlite"\n[search]\nmode = "lexical"\n')
    inside = Shell(shell.cwd / "notes", shell.env)
    shell.run("trust", ".")
    add = ("tool", "add", "-n", "notes", "-d", "x", "-s", ".")
    inside.run(*add)
    assert (shell.cwd / "here.sqlite").exists()
    inside.json("import", "-n", "notes", "--no-embed")
    assert inside.json("search", "milk")["mode"] == "lexical"


def test_verbose_tells_the_steps(shell: Shell) -> None:
    """``--verbose`` prints milliseconds of the steps on stderr; stdout stays pure JSON."""
    add_notes(shell)
    done = shell.run("--verbose", "import", "-n", "notes", "--no-embed", "--format", "json")
    json.loads(done.stdout)
    assert any(line.startswith("[scan] ") and " ms" in line for line in done.stderr.splitlines())


def test_a_reader_that_goes_away_is_no_error(shell: Shell) -> None:
    """When the other end of the pipe closes, mdvec ends quietly with 0."""
    add_notes(shell)
    import_words(shell)
    reader, writer = os.pipe()
    os.close(reader)
    process = shell.start("search", "milk", "--mode", "lexical", stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    _, err = process.communicate(timeout=HANG_S)
    assert (process.returncode, err) == (0, "")


def test_python_m_mdvec_is_mdvec(shell: Shell) -> None:
    """The module runs as the script does."""
    command = [sys.executable, "-m", "mdvec", "--version"]
    done = subprocess.run(command, env=shell.env, capture_output=True, text=True, check=True)
    assert done.stdout == shell.run("--version", process=True).stdout


def on_terminal(shell: Shell, *args: str, **env: str) -> str:
    """Run ``mdvec`` with stdout and stderr on a terminal and return what appears there."""
    import pty

    master, slave = pty.openpty()
    settings = {**shell.env, "TERM": "xterm-256color", "COLUMNS": "80", **env}
    process = subprocess.Popen([MDVEC, *args], cwd=shell.cwd, env=settings, stdout=slave, stderr=slave)
    os.close(slave)
    shown = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # Linux: the last process has closed the terminal
            break
        if not part:
            break
        shown += part
    os.close(master)
    assert process.wait(timeout=HANG_S) == 0
    return shown.decode()


@needs_terminal
def test_matched_words_are_coloured_on_a_terminal(shell: Shell) -> None:
    """On a terminal the words of the query are coloured; ``NO_COLOR`` and ``--color never`` are respected."""
    add_notes(shell)
    import_words(shell)
    search = ("search", "旅館", "--mode", "lexical")
    assert "\x1b[31m\x1b[1m旅館\x1b[0m" in on_terminal(shell, *search)
    assert "\x1b[" not in on_terminal(shell, *search, NO_COLOR="1")
    assert "\x1b[" not in on_terminal(shell, *search, "--color", "never")


@needs_terminal
def test_tables_and_progress_on_a_terminal(shell: Shell) -> None:
    """On a terminal an import shows a bar while it runs, and ``tool ls`` draws a table."""
    add_notes(shell)
    assert "Reading documents" in on_terminal(shell, "import", "-n", "notes", "--no-embed")
    assert "My notes" in on_terminal(shell, "tool", "ls")
