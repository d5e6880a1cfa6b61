"""The real ``mdvec``, with a home of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.commands import run_here

MDVEC = Path(sysconfig.get_path("scripts")) / "mdvec"


@dataclass(frozen=True, slots=True)
class Shell:
    """A person's shell: a working directory and an environment.

    Attributes:
        cwd: Where commands run.
        env: Their environment.
    """

    cwd: Path
    env: dict[str, str]

    def run(self, *args: str, code: int = 0, process: bool = False) -> subprocess.CompletedProcess[str]:
        """Run ``mdvec``, in a process of its own if that matters, and check its exit code."""
        if process:
            command = [str(MDVEC), *args]
            done = subprocess.run(
                command, cwd=self.cwd, env=self.env, capture_output=True, encoding="utf-8", check=False
            )
        else:
            done = run_here(args, cwd=self.cwd, env=self.env)
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        return done

    def json(self, *args: str, code: int = 0, process: bool = False) -> Any:
        """Run ``mdvec … --format json`` and return what it prints."""
        done = self.run(*args, "--format", "json", code=code, process=process)
        assert done.stdout.count("\n") == 1
        return json.loads(done.stdout)

    def start(self, *args: str, **settings: Any) -> subprocess.Popen[str]:
        """Start ``mdvec`` and return at once."""
        return subprocess.Popen([MDVEC, *args], cwd=self.cwd, env=self.env, encoding="utf-8", **settings)

    def write(self, path: str, text: str) -> None:
        """Write a file below the working directory."""
        target = self.cwd / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


@pytest.fixture
def shell(tmp_path: Path, model_cache: Path) -> Shell:
    """A fresh home with a small folder of notes in two languages."""
    home = tmp_path / "home"
    home.mkdir()
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MDVEC_", "XDG_"))}
    env = {
        **inherited,
        "HOME": str(home),
        "MDVEC_EMBEDDING_CACHE_DIR": str(model_cache),
        "MDVEC_DATABASE_PATH": str(home / "index.sqlite"),
    }
    shell = Shell(tmp_path / "work", env)
    shell.write(
        "notes/旅行/京都.md",
        "---\ntags: [旅行/国内]\naliases: [Kyoto]\n---\n# 京都の旅\n\n"
        "## 宿\n\n四条の静かな旅館に二泊した。\n\n"
        "## 交通\n\n新幹線で二時間十五分、駅からはバスに乗る。\n",
    )
    shell.write(
        "notes/account.md",
        "# Account\n\n## Passwords\n\nReset your password from the account page. #help\n\n"
        "## Invoices\n\nInvoices are sent on the first day of the month.\n",
    )
    shell.write("notes/todo.txt", "Buy milk.\n\nCall the plumber about the dripping tap.\n")
    shell.write("notes/picture.png", "not a document")
    return shell
