"""``mdvec watch`` in processes of their own."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from tests.e2e.conftest import Shell
from tests.waiting import HANG_S, wait_until

pytestmark = pytest.mark.harness


def start(shell: Shell, log: Path) -> subprocess.Popen[str]:
    """Start a watcher that writes its log to a file."""
    with log.open("w", encoding="utf-8") as stderr:
        return shell.start("watch", stderr=stderr)


def is_found(shell: Shell, word: str, path: str) -> bool:
    """Return True if a search of the index as it is finds a word in a file."""
    found = shell.json("search", word, "--mode", "lexical", "--limit", "1")
    return [hit["path"] for hit in found["hits"]] == [path]


def test_watch_in_the_foreground(shell: Shell, tmp_path: Path) -> None:
    """It says what it does, finds an edit, and ends cleanly at SIGTERM and at Ctrl-C."""
    shell.write("watched/a.md", "# First\n")
    shell.run("tool", "add", "-n", "watched", "-d", "x", "-s", "watched")
    shell.run("import", "-n", "watched", "--no-embed")
    for number, end in enumerate((signal.SIGTERM, signal.SIGINT)):
        log = tmp_path / f"{number}.log"
        watcher = start(shell, log)
        wait_until(lambda log=log: "INFO watching" in log.read_text(encoding="utf-8"))  # type: ignore[misc]
        assert "keeping the index up to date" in shell.json("status")["watcher"]
        word = f"quagga{number}"
        shell.write("watched/a.md", f"# Edited\n\n{word}\n")
        wait_until(lambda word=word: is_found(shell, word, "a.md"))  # type: ignore[misc]
        # The line comes when vectors are made, too; an update that a newer one interrupts has none.
        wait_until(lambda log=log: "INFO reindex" in log.read_text(encoding="utf-8"))  # type: ignore[misc]
        watcher.send_signal(end)
        assert watcher.wait(HANG_S) == 0
        lines = log.read_text(encoding="utf-8")
        assert "Traceback" not in lines
        assert shell.json("status")["watcher"] is None


def test_another_takes_over_from_one_that_is_killed(shell: Shell, tmp_path: Path) -> None:
    """Of five, four stand by; each is killed in turn, and an edit is found every time."""
    shell.write("watched/a.md", "# First\n")
    shell.run("tool", "add", "-n", "watched", "-d", "x", "-s", "watched")
    shell.run("import", "-n", "watched", "--no-embed")
    logs = [tmp_path / f"{number}.log" for number in range(5)]
    watchers = {watcher.pid: watcher for watcher in (start(shell, log) for log in logs)}
    wait_until(lambda: sum("standing by" in each.read_text() for each in logs) == 4)
    for number in range(5):
        word = f"okapi{number}"
        shell.write("watched/a.md", f"{word}\n")
        wait_until(lambda word=word: is_found(shell, word, "a.md"))  # type: ignore[misc]
        wait_until(lambda: shell.json("status")["watcher"] is not None)
        [holder] = [pid for pid in watchers if f"process {pid} on " in shell.json("status")["watcher"]]
        watchers[holder].kill()
        watchers.pop(holder).wait()
