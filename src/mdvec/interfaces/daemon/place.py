"""The place of a database's daemon: its lock, its socket, and its description of itself."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from mdvec import __version__
from mdvec.errors import MdvecError
from mdvec.interfaces.daemon.client import INFO, LOCK, daemons_folder, holds_lock, shared_environment

if TYPE_CHECKING:
    from mdvec.config.schema import Config

LOG = "daemon.log"
"""The file for its log."""
OUTPUT = "output"
"""The file for its output before there is a log, and when it crashes."""

# The shortest limit of an address of AF_UNIX is 104 bytes, on macOS.
_MAX_SOCKET_BYTES = 100
# Settings that change no answer.
_OTHERS_MAY_DIFFER = ("access", "display", "mcp", "log", "watch")


class DaemonError(MdvecError):
    """The daemon cannot be started or stopped."""

    code = "daemon"


class DaemonInfo(Struct, frozen=True, kw_only=True):
    """A running daemon's description of itself.

    Attributes:
        pid: Its process.
        version: The version of mdvec it runs.
        settings: The digest of its settings, see :func:`settings_id`.
        socket: Path of its Unix socket; empty where there is none.
        url: Of its HTTP server.
        database: Its database, for people.
        started_ms: When it was ready, in milliseconds since 1970.
        token: Lets programs of its user run commands in it, and use all that its HTTP server has. Only its
            user can read it, as this is in a file of theirs.
    """

    pid: int
    version: str
    settings: str
    socket: str
    url: str
    database: str
    started_ms: int
    token: str


def read_info(place: Path) -> DaemonInfo | None:
    """Return the description of the last daemon, which may have ended; None if it cannot be read."""
    try:
        return msgspec.json.decode((place / INFO).read_bytes(), type=DaemonInfo)
    except (OSError, msgspec.DecodeError):
        return None


def running(place: Path) -> DaemonInfo | None:
    """Return the description of the daemon that holds the lock; None if none does."""
    if not (place / LOCK).exists():
        return None
    return read_info(place) if holds_lock(os.fspath(place)) else None


def place_of(database: Path | str) -> Path:
    """Return the folder of the daemon of a database, the same for every path to the file.

    Only its owner can read it. It may not exist.
    """
    name = os.path.realpath(database) if isinstance(database, Path) else database
    return Path(daemons_folder(), _short_hash(name))


def settings_id(config: Config, docs_dir: Path | None) -> str:
    """Return a digest of the settings that answers depend on."""
    shown = {
        name: getattr(config, name) for name in config.__struct_fields__ if name not in _OTHERS_MAY_DIFFER
    }
    # It also decides which settings win over a collection's preset.
    shown["from_environment"] = sorted(
        each for each in config.from_environment if each.partition(".")[0] not in _OTHERS_MAY_DIFFER
    )
    shown["environment"] = shared_environment()
    shown["docs_dir"] = None if docs_dir is None else docs_dir.resolve()
    return blake2b(msgspec.json.encode(shown, enc_hook=str, order="sorted"), digest_size=16).hexdigest()


def why_not(info: DaemonInfo, settings: str) -> str:
    """Return the reason why commands do not use a daemon, for people; empty if they do."""
    if info.version != __version__:
        return f"the daemon runs mdvec {info.version}, and this is {__version__}"
    if info.socket and not Path(info.socket).exists():  # a clean-up of temporary files may have removed it
        return f"the daemon's socket {info.socket} is gone"
    return "" if info.settings == settings else "the daemon was started with other settings"


def socket_path(place: Path, env: Mapping[str, str]) -> Path | None:
    """Return the path for a Unix socket, in a folder that is its user's alone; it is made.

    Returns:
        The path; None where Python has no Unix sockets, which is on Windows.

    Raises:
        DaemonError: If another user owns the folder.
        OSError: If it cannot be made.
    """
    if sys.platform == "win32":
        return None
    import tempfile  # only a daemon needs it

    runtime = env.get("XDG_RUNTIME_DIR")
    folders = [Path(runtime, "mdvec")] if runtime else []
    folders.append(Path(tempfile.gettempdir(), f"mdvec-{os.geteuid()}"))
    # A hash of the whole path, since daemons with folders of their own may share the one for sockets.
    name = f"{_short_hash(os.fspath(place))}.sock"
    fitting = (each for each in folders if len(os.fsencode(each / name)) <= _MAX_SOCKET_BYTES)
    folder = next(fitting, Path("/tmp", f"mdvec-{os.geteuid()}"))  # noqa: S108 - checked below
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700, parents=True)
    state = folder.lstat()
    if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.geteuid() or state.st_mode & 0o077:
        msg = f"{folder} is not a folder that only you can use"
        raise DaemonError(msg, hint="Remove it, or set XDG_RUNTIME_DIR to a folder of yours.")
    return folder / name


def _short_hash(text: str) -> str:
    return blake2b(os.fsencode(text), digest_size=8).hexdigest()
