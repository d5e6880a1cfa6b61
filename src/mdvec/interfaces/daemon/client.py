"""Runs a command line in a running daemon. Imports little, to start fast."""

from __future__ import annotations

import os

from mdvec import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Any

COMMANDS = ("search", "get", "ls", "related", "tags", "status")
"""The commands that a daemon runs: those that only read."""

COMMAND_PATH = "/command"
"""The path at which a daemon runs a command line, see :class:`mdvec.interfaces.cli.served.CommandLine`."""

LOCK = "lock"
"""The file in a daemon's place that it holds locked while it runs."""

INFO = "daemon.json"
"""The file in which a daemon describes itself once it is ready; only the holder of the lock writes it."""

_REFUSING = {"--help", "-h", "--no-daemon", "--verbose"}
_PASSED = ("MDVEC_", "NO_COLOR", "TERM")
# After that long a daemon is taken to hang, and the command runs in this process.
_TIMEOUT_S = 60.0


def outcome_of(
    args: Sequence[str], *, env: Mapping[str, str], cwd: Path | None, columns: int | None
) -> tuple[int, list[tuple[int, str]]] | None:
    """Let the daemon of the database run a command.

    Any daemon finds out which database a command line means. The first one is asked, then the one that it
    names; asking changes nothing.

    Args:
        args: Arguments without the program's name.
        env: Environment variables.
        cwd: Absolute path of the working directory; None for the process's own.
        columns: Width of the terminal that results go to, 0 if it is not known; None if it is none.

    Returns:
        The exit code and the output: the number of a stream and a text, in order. None if the command has to
        run in this process.
    """
    can_be_served = not _REFUSING.intersection(args) and any(name in args for name in COMMANDS)
    daemons = dict(_daemons()) if can_be_served else {}
    place = next(iter(daemons), "")
    while daemon := daemons.pop(place, None):
        line = {
            "args": [*args],
            "env": {name: value for name, value in env.items() if name.upper().startswith(_PASSED)},
            "shared": shared_environment(),
            "columns": columns,
        }
        try:
            outcome = _answer(daemon, {**line, "cwd": os.fspath(cwd or os.getcwd())})
            if outcome["code"] is not None:
                return outcome["code"], outcome["output"]
            place = outcome["place"]
        except (OSError, ValueError, KeyError, TypeError):  # it has gone, or has a bug, which shows here, too
            place = next(iter(daemons), "")
    return None


def daemons_folder() -> str:
    """Return the folder with a folder for each daemon; it may not exist."""
    import platformdirs

    return os.path.join(platformdirs.user_data_dir("mdvec", appauthor=False), "daemons")


def shared_environment() -> list[str]:
    """Return the environment that a daemon and its commands must share: time zone and folders of the user."""
    import platformdirs

    folders = (platformdirs.user_config_dir, platformdirs.user_data_dir, platformdirs.user_cache_dir)
    return [os.path.expanduser("~"), os.environ.get("TZ", ""), *(folder() for folder in folders)]


def holds_lock(place: str) -> bool:
    """Return True if a daemon holds the lock of a place: another program may have the port of one killed."""
    from pathlib import Path

    from mdvec.locks import locked

    with locked(Path(place, LOCK), wait_s=0) as is_free:
        return not is_free


def _daemons() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the names of the places of daemons of this version, and their descriptions of themselves."""
    folder = daemons_folder()
    try:
        places = os.listdir(folder)
    except OSError:
        return
    import json

    for place in places:
        try:
            with open(os.path.join(folder, place, INFO), "rb") as file:
                info = json.loads(file.read())
            if info["version"] == __version__ and (info["socket"] or holds_lock(os.path.join(folder, place))):
                yield place, info
        except (OSError, ValueError, TypeError, KeyError):
            continue


def _answer(daemon: Mapping[str, Any], line: Mapping[str, object]) -> dict[str, Any]:
    """Send a command line to a daemon and return the outcome.

    Raises:
        OSError: If nothing answers there.
        ValueError: If the line cannot be sent, such as a name that is no UTF-8, or the answer is incomplete.
        KeyError: If the daemon could not do it.
    """
    import json
    import socket

    body = json.dumps(line, ensure_ascii=False).encode()
    host, path = daemon["url"].partition("//")[2], daemon["socket"]
    # http.client would import the parsers of mail and the engine of TLS. HTTP/1.0 ends with the connection.
    head = (
        f"POST {COMMAND_PATH} HTTP/1.0\r\nHost: {host}\r\nAuthorization: Bearer {daemon['token']}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    name, _, port = host.rpartition(":")  # for systems without Unix sockets
    with (
        socket.socket(socket.AF_UNIX)
        if path
        else socket.create_connection((name.strip("[]"), int(port)), _TIMEOUT_S)
    ) as connection:
        connection.settimeout(_TIMEOUT_S)
        if path:
            connection.connect(path)
        connection.sendall(head.encode() + body)
        with connection.makefile("rb") as response:
            outcome: dict[str, Any] = json.loads(response.read().partition(b"\r\n\r\n")[2])
    return outcome
