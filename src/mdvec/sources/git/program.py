"""Runs git without prompts, without running code of the repository, and not longer than mdvec itself."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from mdvec import run
from mdvec.errors import SourceError

_PROGRAM = "git"
_TICK_S = 0.5
_MAX_LINES = 4
_ADVICE = ("warning:", "hint:", "Please make sure", "and the repository exists")

# Set if mdvec runs inside a hook: they would point git to another repository than ours.
_MISLEADING = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"),
    *("GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_SHALLOW_FILE"),
    *("GIT_GRAFT_FILE", "GIT_QUARANTINE_PATH", "GIT_REPLACE_REF_BASE", "GIT_IMPLICIT_WORK_TREE"),
)
_SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "gc.autoDetach": "false",  # nothing continues in the background
    "maintenance.autoDetach": "false",
    "fetch.recurseSubmodules": "false",
    "http.lowSpeedLimit": "1",  # bytes a second; less than that for
    "http.lowSpeedTime": "60",  # so many seconds ends the transfer
}
_SHELL = "/bin/sh"
# Runs "$@" and ends with its status. A watcher ends the whole group when the pipe is closed.
# The standard input of what "&" starts is /dev/null, so it is passed as 3.
_GUARD = """exec 3<&0
(exec 4<"/dev/fd/$0" || exit; read -r _ <&4; kill -9 0) >/dev/null 2>&1 3<&- &
watcher=$!
"$@" <&3 3<&- &
wait $!
status=$?
kill -9 $watcher 2>/dev/null
exit $status
"""
_TRANSPORTS = "https:http:ssh:git:file"
_SSH = "ssh -o BatchMode=yes -o ConnectTimeout=30"


class GitFailedError(Exception):
    """Git failed. The text is its last message; the caller knows what that means."""


class GitProgram:
    """The program git with one of our repositories.

    Twice a second while it runs, progress is reported; it ends when the run is cancelled. It inherits our
    environment: the user's proxies, credential helpers and keys.

    Attributes:
        directory: The repository; it may not exist yet.
        expected_files: How many files are fetched, for the progress.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.expected_files = 0
        inherited = {name: value for name, value in os.environ.items() if name not in _MISLEADING}
        self._environment = {
            **inherited,
            "LC_ALL": "C",
            "GIT_ALLOW_PROTOCOL": _TRANSPORTS,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_NO_REPLACE_OBJECTS": "1",
        }

    def disable_ssh_prompts(self) -> None:
        """Make ssh fail where it would prompt for a password, unless the user chose how ssh is run.

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
        """Run git and return its output.

        Raises:
            GitFailedError: If it fails.
            SourceError: If there is no git.
        """
        with tempfile.TemporaryFile() as output:
            self.run_into(output, *arguments, stdin=stdin)
            return output.read()

    def run_into(self, output: BinaryIO, *arguments: str, stdin: bytes = b"") -> None:
        """Run git with a file as its output; the file is then at its beginning.

        Raises:
            GitFailedError: If it fails.
            SourceError: If there is no git.
        """
        settings = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
        command = [_PROGRAM, f"--git-dir={self.directory}", *settings, *arguments]
        # Files instead of pipes: however much git writes, it does not wait for a reader.
        with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as errors:
            source.write(stdin)
            source.seek(0)
            status = self._wait(command, source, output, errors)
            errors.seek(0)
            if status != 0:
                raise GitFailedError(_last_words(errors.read()) or f"git ended with {status}")
        output.seek(0)

    def _wait(self, command: Sequence[str], source: BinaryIO, output: BinaryIO, errors: BinaryIO) -> int:
        with _lifeline(command) as (guarded, descriptors):
            process = self._start(guarded, descriptors, source, output, errors)
            try:
                while True:
                    try:
                        return process.wait(_TICK_S)
                    except subprocess.TimeoutExpired:
                        run.current().report(run.Stage.FETCH, 0, self.expected_files)
                        run.current().check()
            except BaseException:  # Ctrl-C among them
                _end(process)
                raise

    def _start(
        self,
        command: Sequence[str],
        descriptors: Sequence[int],
        source: BinaryIO,
        output: BinaryIO,
        errors: BinaryIO,
    ) -> subprocess.Popen[bytes]:
        if shutil.which(_PROGRAM, path=self._environment.get("PATH")) is None:
            msg = "the program git is not installed"
            raise SourceError(msg, hint="Install git (https://git-scm.com), or read GitHub with github:.")
        try:
            return subprocess.Popen(  # noqa: S603 - every argument is checked, and the shell expands none
                command,
                stdin=source,
                stdout=output,
                stderr=errors,
                env=self._environment,
                pass_fds=descriptors,
                start_new_session=True,  # no terminal to prompt on, and what git starts ends with it
            )
        except OSError as error:
            msg = f"the program git cannot be run: {error.strerror}"
            raise SourceError(msg) from error


@contextmanager
def _lifeline(command: Sequence[str]) -> Iterator[tuple[Sequence[str], Sequence[int]]]:
    """Make a command end with this process, however that ends: a killed process cannot end it itself.

    Yields:
        The command to run instead, and the descriptor it inherits: one end of a pipe, whose other end is
        closed when this process ends.
    """
    if sys.platform == "win32":
        yield command, ()
        return
    reader, writer = os.pipe()
    try:
        yield (_SHELL, "-c", _GUARD, str(reader), *command), (reader,)
    finally:
        os.close(reader)
        os.close(writer)


def _end(process: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _last_words(errors: bytes) -> str:
    """Return the last messages of git and the programs it ran, without advice that does not apply here."""
    lines = (line.strip() for line in errors.decode("utf-8", "replace").splitlines())
    words = [line for line in lines if line and not line.startswith(_ADVICE)]
    return "; ".join(dict.fromkeys(words[-_MAX_LINES:]))
