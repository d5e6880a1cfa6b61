"""File events: which paths in some folders changed, as the operating system reports it.

An event only says where something changed, not what: see :mod:`mdvec.indexing.watch`.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Collection, Iterator

from mdvec.errors import WatchError

_QUIET_MS = 100  # events that follow each other faster are one change
_LONGEST_MS = 3_000  # a longer burst is reported in parts
_LOOK_MS = 500  # how often a quiet watch returns
_WATCHES_TREES = sys.platform in ("darwin", "win32")

# Writes by other machines, or by the host of a virtual machine, raise no events here.
_REMOTE = (
    "9p", "afpfs", "afs", "ceph", "cifs", "davfs", "drvfs", "fuse", "gluster", "lustre", "ncpfs", "nfs",
    "prl_fs", "smb", "vboxsf", "virtiofs", "webdav",
)  # fmt: skip
_LOCAL = ("fuseblk",)

# The message with which watchfiles ends at the event of a file whose name is not UTF-8.
_UNDECODABLE = re.compile('Unable to decode path "(.*)"')


def watched_folders(root: str, folders: Collection[str]) -> list[str]:
    """Return the folders to watch in order to see changes in a tree.

    Linux watches each folder separately: only those that a scan enters, not thousands without documents.
    Other systems watch the whole tree at once.

    Args:
        root: The root of the tree.
        folders: The root and all folders below it that a scan enters.
    """
    return [root] if _WATCHES_TREES else list(folders)


def why_no_events(folder: str) -> str:
    """Return why changes in a folder raise no events, judged by its file system; empty if they do."""
    import psutil

    if folder.startswith("\\\\"):
        return "it is on a network drive"
    places = [
        (len(each.mountpoint), each.fstype.lower(), each.opts)
        for each in psutil.disk_partitions(all=True)
        if folder == each.mountpoint or folder.startswith(each.mountpoint.rstrip("/\\") + os.sep)
    ]
    _, kind, options = max(places, default=(0, "", ""))
    is_remote = kind.startswith(_REMOTE) and not kind.startswith(_LOCAL)
    return f"its file system is {kind or 'remote'}" if is_remote or "remote" in options.split(",") else ""


def watch(folders: Collection[str], stop: threading.Event) -> Iterator[set[str]]:
    """Yield the absolute paths that changed in some folders, until ``stop`` is set.

    Yields:
        The paths of one burst of changes; from time to time an empty set if there were none. The first set
        comes when the watch is established.

    Raises:
        WatchError: If the system refuses to watch them: one is gone, or there are too many; or at the event
            of a file whose name is not UTF-8. Then its ``folders`` are those that hold the file.
    """
    import watchfiles

    changes = watchfiles.watch(
        *folders,
        watch_filter=None,
        debounce=_LONGEST_MS,
        step=_QUIET_MS,
        rust_timeout=_LOOK_MS,
        yield_on_timeout=True,
        stop_event=stop,
        raise_interrupt=False,
        force_polling=False,
        recursive=_WATCHES_TREES,
        ignore_permission_denied=True,
    )
    try:
        for found in changes:
            # New times or permissions of a folder say nothing about its contents.
            yield {
                path
                for change, path in found
                if change is not watchfiles.Change.modified or not os.path.isdir(path)  # noqa: PTH112
            }
    except (OSError, RuntimeError) as error:  # watchfiles raises RuntimeError for unknown errors
        raised = WatchError(str(error))
        if undecodable := _UNDECODABLE.search(str(error)):
            raised.folders = [each for each in folders if undecodable[1].startswith(each + os.sep)]
        raise raised from error
