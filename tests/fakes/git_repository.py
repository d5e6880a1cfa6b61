"""A bare repository on this machine, written by the program git."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.fakes.github_server import Files, Link, Submodule

_NOBODY = {
    "GIT_AUTHOR_NAME": "n",
    "GIT_AUTHOR_EMAIL": "n@example.com",
    "GIT_COMMITTER_NAME": "n",
    "GIT_COMMITTER_EMAIL": "n@example.com",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}


class GitRepository:
    """A repository that is fetched from."""

    def __init__(self, path: Path, *, allows_filter: bool = True, object_format: str = "sha1") -> None:
        """Make an empty one.

        Args:
            path: Where.
            allows_filter: Whether it can be cloned without contents, as it can at all large hosts.
            object_format: Which hash names things.
        """
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        command = ["git", "init", "-q", "--bare", "-b", "main", f"--object-format={object_format}", str(path)]
        subprocess.run(command, check=True, env=os.environ | _NOBODY)
        self.git("config", "uploadpack.allowFilter", str(allows_filter).lower())

    @property
    def url(self) -> str:
        return f"file://{self.path}"

    def commit(self, files: Files, branch: str = "main") -> str:
        """Point a branch to a commit with these files, without a parent: every one is a force push."""
        marks: list[bytes] = [
            f"commit refs/heads/{branch}\ncommitter n <n@example.com> 1000000000 +0000\ndata 0\n".encode(),
            b"deleteall\n",
        ]
        for path, content in files.items():
            name = b'"' + path.encode().replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'
            match content:
                case Submodule(commit):
                    marks.append(b"M 160000 " + commit.encode() + b" " + name + b"\n")
                case Link(target):
                    raw = target.encode()
                    marks.append(b"M 120000 inline %s\ndata %d\n%s\n" % (name, len(raw), raw))
                case bytes():
                    marks.append(b"M 100644 inline %s\ndata %d\n%s\n" % (name, len(content), content))
        self.git("update-ref", "-d", f"refs/heads/{branch}")
        self.git("fast-import", "--quiet", "--force", stdin=b"".join(marks))
        return self.git("rev-parse", f"refs/heads/{branch}")

    def git(self, *arguments: str, stdin: bytes = b"") -> str:
        """Run git in it."""
        done = subprocess.run(
            ["git", f"--git-dir={self.path}", *arguments],
            check=True,
            input=stdin,
            capture_output=True,
            env=_environment(),
        )
        return done.stdout.decode().strip()


def _environment() -> Mapping[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | _NOBODY
