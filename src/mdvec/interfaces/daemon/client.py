"""Runs a command line in a running daemon. Imports almost nothing, to start fast."""

from __future__ import annotations

import os
import sys

from mdvec import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import Any

COMMANDS = ("search", "get", "ls", "related", "tags", "status")
"""What a daemon runs: commands that only read."""

METHOD = "daemon.run"
"""The method of a daemon that runs a command line, see :class:`mdvec.interfaces.daemon.calls.CommandLine`."""

_REFUSING = {"--no-daemon", "--verbose"}
_PASSED_PREFIX = "MDVEC_"
_PASSED_NAMES = ("NO_COLOR", "TERM")
_CONNECT_TIMEOUT_S = 2.0
# A daemon that hangs must not keep others from their work: the command then runs in this process.
_ANSWER_TIMEOUT_S = 60.0


def outcome_of(
    args: Sequence[str], *, env: Mapping[str, str], cwd: Path | None, columns: int | None
) -> tuple[int, list[tuple[int, str]]] | None:
    """Let the daemon of the database run a command.

    Any daemon finds out which database a command line means, so the first one gets it, and if it is not the
    right one, then that. Nothing is changed by asking.

    Args:
        args: Arguments without the program's name.
        env: Environment variables.
        cwd: Absolute path of the working directory; None for the process's own.
        columns: Width of the terminal that results go to, 0 if it is not known; None if it is none.

    Returns:
        The exit code, and what to write: the number of a stream and a text, in order. None if the command
        has to run in this process.
    """
    if sys.platform == "win32" or not _can_be_served(args):
        return None
    sockets = _sockets()
    if not sockets:
        return None
    import json

    params: dict[str, object] = {
        "args": [*args],
        "env": {name: value for name, value in env.items() if _is_passed(name)},
        "shared": shared_environment(),
        "columns": columns,
    }
    place = ""
    try:
        params["cwd"] = os.fspath(cwd or os.getcwd())
        call = {"jsonrpc": "2.0", "id": 1, "method": METHOD, "params": params}
        # A name that is no UTF-8 cannot be sent.
        request = json.dumps(call, ensure_ascii=False).encode() + b"\n"
    except (OSError, ValueError):
        return None
    while sockets:
        try:
            socket = sockets.pop(place) if place in sockets else sockets.popitem()[1]
            outcome = _answer(socket, request)
            if outcome["code"] is not None:
                return outcome["code"], outcome["output"]
            place = outcome["place"]
        except (OSError, ValueError, KeyError, TypeError):
            continue  # it is gone, or has a bug, which shows up here, too
        if place not in sockets:
            break
    return None


def shared_environment() -> list[str]:
    """Return the environment that a daemon and its commands must share.

    That is where files are looked for, and how moments are printed.
    """
    places = (("CONFIG", "~/.config"), ("DATA", "~/.local/share"), ("CACHE", "~/.cache"))
    return [
        os.path.expanduser("~"),
        os.environ.get("TZ", ""),
        *(os.path.expanduser(os.environ.get(f"XDG_{name}_HOME") or usual) for name, usual in places),
    ]


def _can_be_served(args: Sequence[str]) -> bool:
    return not _REFUSING.intersection(args) and any(name in args for name in COMMANDS)


def _is_passed(name: str) -> bool:
    return name.upper().startswith(_PASSED_PREFIX) or name in _PASSED_NAMES


def _sockets() -> dict[str, str]:
    """Return the sockets of the daemons of this version, by the names of their places."""
    sockets: dict[str, str] = {}
    folder = _daemons_folder()
    try:
        places = os.listdir(folder)
    except OSError:
        return {}
    import json

    for place in places:
        try:
            with open(os.path.join(folder, place, "daemon.json"), "rb") as file:
                info = json.loads(file.read())
            if info["version"] == __version__:
                sockets[place] = info["socket"]
        except (OSError, ValueError, TypeError, KeyError):
            continue
    return sockets


def _daemons_folder() -> str:
    """Return the folder of :func:`mdvec.interfaces.daemon.place.place_of`.

    That takes platformdirs, which takes long to import. Where the two should differ, no daemon is found.
    """
    if sys.platform == "darwin":
        data = "~/Library/Application Support"
    else:
        data = os.environ.get("XDG_DATA_HOME", "").strip() or "~/.local/share"
    return os.path.join(os.path.expanduser(data), "mdvec", "daemons")


def _answer(path: str, request: bytes) -> dict[str, Any]:
    """Send a request to a daemon and return the result.

    Raises:
        OSError: If nothing answers there.
        ValueError: If the answer is not complete.
        KeyError: If the daemon could not do it.
    """
    import json
    import socket

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_CONNECT_TIMEOUT_S)
        connection.connect(path)
        connection.settimeout(_ANSWER_TIMEOUT_S)
        connection.sendall(request)
        with connection.makefile("rb") as lines:
            result: dict[str, Any] = json.loads(lines.readline())["result"]
    return result
