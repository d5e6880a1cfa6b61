"""Servers to test: notes to search, and processes that serve them over HTTP."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.waiting import HANG_S, wait_until

MDVEC = (sys.executable, "-m", "mdvec")


class ServerFailedError(Exception):
    """A server did not start, or did not end as it should."""


def make_notes(folder: Path) -> dict[str, str]:
    """Write two notes, register and import them.

    Args:
        folder: An empty directory; it becomes the home, too.

    Returns:
        The environment in which ``mdvec`` finds them.

    Raises:
        ServerFailedError: If ``mdvec`` itself fails.
    """
    notes = folder / "notes"
    (notes / "旅行").mkdir(parents=True)
    (notes / "旅行" / "京都.md").write_text(
        "# 京都の旅\n\n## 宿\n\n四条の静かな旅館に二泊した。\n", encoding="utf-8"
    )
    (notes / "account.md").write_text("# Account\n\nReset your password here.\n", encoding="utf-8")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MDVEC_", "XDG_"))}
    environment = {
        **inherited,
        "HOME": str(folder),
        "MDVEC_DATABASE_PATH": str(folder / "index.sqlite"),
        "MDVEC_EMBEDDING_CACHE_DIR": str(folder / "model"),
    }
    for arguments in (
        ("tool", "add", "-n", "notes", "-d", "Notes on travels and accounts", "-s", str(notes)),
        ("import", "-n", "notes"),
    ):
        done = subprocess.run(
            [*MDVEC, *arguments],
            env=environment,
            cwd=folder,
            check=False,
            capture_output=True,
            encoding="utf-8",
        )
        if done.returncode:
            msg = f"mdvec {arguments[0]} failed:\n{done.stderr}"
            raise ServerFailedError(msg)
    return environment


@contextmanager
def serving(command: Sequence[str], environment: Mapping[str, str], log: Path) -> Iterator[str]:
    """Run a server that says on stderr where it listens.

    Args:
        command: The server; it picks a free port by itself.
        environment: Its environment.
        log: Where its stderr goes.

    Yields:
        The URL of its MCP endpoint.

    Raises:
        ServerFailedError: If it does not start, or does not end cleanly on SIGTERM.
    """
    with (
        log.open("wb") as stderr,
        subprocess.Popen(
            command, env=dict(environment), stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr
        ) as process,
    ):
        try:
            yield _url(process, log)
        finally:
            process.terminate()
            try:
                code = process.wait(HANG_S)
            except subprocess.TimeoutExpired:
                process.kill()
                code = process.wait()
    if code not in {0, 143, -15}:
        msg = f"the server ended with {code}:\n{log.read_text(encoding='utf-8', errors='replace')}"
        raise ServerFailedError(msg)


def _url(process: subprocess.Popen[bytes], log: Path) -> str:
    def url() -> str:
        found = re.search(r"http://[^\s/]+/mcp", log.read_text(encoding="utf-8", errors="replace"))
        return found.group() if found else ""

    wait_until(lambda: url() or process.poll() is not None)
    if not url():
        said = log.read_text(encoding="utf-8", errors="replace")
        msg = f"the server does not say where it listens:\n{said}"
        raise ServerFailedError(msg)
    return url()
