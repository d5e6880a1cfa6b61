"""Runs the real command line in this process: starting Python anew takes most of a command's time."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from mdvec.interfaces.cli.main import run


def run_here(args: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run ``mdvec`` with a working directory and an environment, as a process of its own would have them.

    What only a process has is tested with one: signals, a terminal, a closed pipe, encodings, starting.
    """
    out, err = io.StringIO(), io.StringIO()
    with (
        in_environment(env),
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = run(args, env=env)
    return subprocess.CompletedProcess(["mdvec", *args], code, out.getvalue(), err.getvalue())


@contextlib.contextmanager
def in_environment(env: Mapping[str, str]) -> Iterator[None]:
    """Have an environment, and nothing of the one before, for a while."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(env)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
