"""Runs git: never asks anybody anything, runs nothing of the repository's, and can be stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from mdvec.errors import SourceError

_PROGRAM = "git"
_TICK_S = 0.5
_MOST_LINES = 4
_ADVICE = ("warning:", "hint:", "Please make sure", "and the repository exists")

# Set where mdvec runs inside a hook: they would lead git to another repository than ours.
_MISLEADING = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"),
    *("GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_SHALLOW_FILE"),
    *("GIT_GRAFT_FILE", "GIT_QUARANTINE_PATH", "GIT_REPLACE_REF_BASE", "GIT_IMPLICIT_WORK_TREE"),
)
_SETTINGS = {
    "core.hooksPath": os.devnull,
    "gc.autoDetach": "false",  # nothing goes on behind our back
    "maintenance.autoDetach": "false",
    "fetch.recurseSubmodules": "false",
    "http.lowSpeedLimit": "1",  # bytes a second; less than that for
    "http.lowSpeedTime": "60",  # so many seconds is given up
}
_TRANSPORTS = "https:http:ssh:git:file"
_SSH = "ssh -o BatchMode=yes -o ConnectTimeout=30"


class GitFailedError(Exception):
    """What git says when it fails; the ones who ran it know what that means.

    Attributes:
        said: Its last words, for people.
    """

    def __init__(self, said: str) -> None:
        super().__init__(said)
        self.said = said


class GitProgram:
    """The program git with one repository of ours."""

    def __init__(
        self, directory: Path, *, environment: Mapping[str, str], on_tick: Callable[[], None]
    ) -> None:
        """Take note; nothing is run.

        Args:
            directory: The repository; it may not exist yet.
            environment: What git inherits: the user's proxies, credential helpers and keys.
            on_tick: Called twice a second while git runs; what it raises ends git.
        """
        self.directory = directory
        self.on_tick = on_tick
        kept = {name: value for name, value in environment.items() if name not in _MISLEADING}
        self._environment = {
            **kept,
            "LC_ALL": "C",
            "GIT_ALLOW_PROTOCOL": _TRANSPORTS,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_NO_REPLACE_OBJECTS": "1",
        }

    def ask_nobody_over_ssh(self) -> None:
        """Have ssh fail where it would ask for a password, unless the user chose how ssh is run.

        Raises:
            SourceError: If there is no git.
        """
        if self._environment.keys() & {"GIT_SSH", "GIT_SSH_COMMAND"}:
            return
        try:
            self.run("config", "--get", "core.sshCommand")
        except GitFailedError:
            self._environment["GIT_SSH_COMMAND"] = _SSH

    def run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Run git and return what it prints.

        Raises:
            GitFailedError: If it fails.
            SourceError: If there is no git.
        """
        with tempfile.TemporaryFile() as output:
            self.run_into(output, *arguments, stdin=stdin)
            return output.read()

    def run_into(self, output: BinaryIO, *arguments: str, stdin: bytes = b"") -> None:
        """Run git and have it write to a file, which is at its beginning then.

        Raises:
            GitFailedError: If it fails.
            SourceError: If there is no git.
        """
        settings = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
        command = [_PROGRAM, f"--git-dir={self.directory}", *settings, *arguments]
        # Files and no pipes: however much is written, nobody waits for a reader.
        with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as errors:
            source.write(stdin)
            source.seek(0)
            status = self._wait(command, source, output, errors)
            errors.seek(0)
            if status != 0:
                raise GitFailedError(_last_words(errors.read()) or f"git ended with {status}")
        output.seek(0)

    def _wait(self, command: Sequence[str], source: BinaryIO, output: BinaryIO, errors: BinaryIO) -> int:
        try:
            process = subprocess.Popen(  # noqa: S603 - no shell, and every argument is checked
                command,
                stdin=source,
                stdout=output,
                stderr=errors,
                env=self._environment,
                start_new_session=True,  # no terminal to ask on, and what git starts ends with it
            )
        except FileNotFoundError as error:
            msg = "the program git is not installed"
            raise SourceError(
                msg, hint="Install git (https://git-scm.com), or read GitHub with github:."
            ) from error
        except OSError as error:
            msg = f"the program git cannot be run: {error.strerror}"
            raise SourceError(msg) from error
        try:
            while True:
                try:
                    return process.wait(_TICK_S)
                except subprocess.TimeoutExpired:
                    self.on_tick()
        except BaseException:  # Ctrl-C among them: nothing that was started goes on by itself
            _end(process)
            raise


def _end(process: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _last_words(errors: bytes) -> str:
    """Return what git, and the programs it ran, said at the end; without advice that suits no reader."""
    lines = (line.strip() for line in errors.decode("utf-8", "replace").splitlines())
    told = [line for line in lines if line and not line.startswith(_ADVICE)]
    return "; ".join(dict.fromkeys(told[-_MOST_LINES:]))
