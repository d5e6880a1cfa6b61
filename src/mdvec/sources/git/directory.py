"""The folder of a clone: made by us, and with a configuration of ours alone."""

from __future__ import annotations

import os
import re
import stat
import sys
from contextlib import suppress
from pathlib import Path

from mdvec.errors import SourceError
from mdvec.files import write_whole

REMOTE = "origin"

# The two settings that are read from the configuration that git left: how objects are named, and whether some
# are fetched when they are needed. Neither can name a program or a place.
_PROMISED = re.compile(r"^\s*promisor\s*=\s*true\s*$", re.MULTILINE | re.IGNORECASE)
_SHA256 = re.compile(r"^\s*objectformat\s*=\s*sha256\s*$", re.MULTILINE | re.IGNORECASE)

# Files by which git would read a configuration or objects elsewhere; a clone of ours has none.
_ELSEWHERE = (
    *("commondir", "config.worktree", "gitdir"),
    *("objects/info/alternates", "objects/info/http-alternates"),
)


def check_own(directory: Path) -> None:
    """Check that a clone and the folder it lies in are folders of ours, and no links.

    Raises:
        SourceError: If one of them is something else.
    """
    for place in (directory.parent, directory):
        try:
            state = place.lstat()
        except FileNotFoundError:
            continue
        if not stat.S_ISDIR(state.st_mode):
            kind = "a link" if stat.S_ISLNK(state.st_mode) else "no folder"
            msg = f"{place} is {kind}, but should be a folder for mdvec's clones"
            raise SourceError(msg, hint="Remove it; mdvec runs and deletes nothing through it.")
        if sys.platform != "win32" and state.st_uid != os.geteuid():
            msg = f"{place} belongs to another user, but should be a folder for mdvec's clones"
            raise SourceError(msg, hint="Remove it, or set [embedding] cache_dir to a folder of yours.")


def write_configuration(directory: Path, url: str, *, promised: bool | None = None) -> None:
    """Replace the configuration of a clone, whatever it says, by what mdvec needs.

    Args:
        directory: The clone; it exists.
        url: What it is a clone of.
        promised: Whether objects that are missing are fetched when they are needed; None to keep that.

    Raises:
        OSError: If it cannot be written.
    """
    for name in _ELSEWHERE:
        with suppress(FileNotFoundError, NotADirectoryError):
            (directory / name).unlink()
    file = directory / "config"
    try:
        before = "" if file.is_symlink() else file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        before = ""
    is_promised = bool(_PROMISED.search(before)) if promised is None else promised
    after = _configuration(url, is_promised=is_promised, is_sha256=bool(_SHA256.search(before)))
    if after != before or file.is_symlink():
        write_whole(file, after.encode("utf-8", "surrogateescape"))


def _configuration(url: str, *, is_promised: bool, is_sha256: bool) -> str:
    quoted = url.replace("\\", "\\\\").replace('"', '\\"')
    lines = ["[core]", "\trepositoryformatversion = 1", "\tbare = true"]
    if is_sha256:
        lines += ["[extensions]", "\tobjectformat = sha256"]
    lines += [f'[remote "{REMOTE}"]', f'\turl = "{quoted}"']
    if is_promised:
        lines += ["\tpromisor = true", "\tpartialclonefilter = blob:none"]
    return "".join(f"{line}\n" for line in lines)
