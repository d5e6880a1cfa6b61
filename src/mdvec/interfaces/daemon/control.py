"""Starts and ends the daemon of a database, at login too, and finds out whether it runs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from mdvec.interfaces.daemon.place import LOG, OUTPUT, DaemonError, DaemonInfo, read_info, running
from mdvec.locks import locked
from mdvec.text.addresses import without_password

_START_WAIT_S = 60.0
_STOP_WAIT_S = 10.0
_LOOK_EVERY_S = 0.05
# The end of a terminal does not end it.
_DETACHED = 0x8 if sys.platform == "win32" else 0  # subprocess.DETACHED_PROCESS, which only Windows has

_Found = TypeVar("_Found")


@contextmanager
def one_at_a_time(place: Path) -> Iterator[None]:
    """Let no other command start this daemon meanwhile: the second one would report a failure.

    After a minute it goes on regardless.
    """
    from mdvec.config.trust import make_private_folder  # loads the settings, which help does without

    make_private_folder(place)
    with locked(place / "start.lock", wait_s=_START_WAIT_S):
        yield


def start(place: Path, command: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> DaemonInfo | None:
    """Start a daemon, and wait until it is ready.

    Its folder must exist; its output is written to :data:`OUTPUT` there.

    Returns:
        Its description of itself; None if it ended.

    Raises:
        DaemonError: If it was not ready in time.
    """
    with os.fdopen(os.open(place / OUTPUT, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as output:
        process = subprocess.Popen(  # noqa: S603 - this program itself
            command,
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            creationflags=_DETACHED,
        )

    def answering() -> DaemonInfo | None:
        info = read_info(place)
        return info if info is not None and info.pid == process.pid else None

    info = _wait_for(answering, process)
    if info is None and process.poll() is None:
        msg = f"the daemon is not ready after {_START_WAIT_S:.0f} seconds: process {process.pid}"
        raise DaemonError(msg, hint=f"It may still become ready. What it does is in {place / LOG}.")
    return info


def stop(place: Path, info: DaemonInfo) -> None:
    """End a daemon, by force if it does not end by itself.

    Raises:
        DaemonError: If it runs on.
    """
    import psutil  # the page and mdvec --help do without

    for end in (psutil.Process.terminate, psutil.Process.kill):
        with suppress(psutil.NoSuchProcess):
            end(psutil.Process(info.pid))
        if _wait_for(lambda: running(place) is None, None, most_s=_STOP_WAIT_S):
            return
    msg = f"the daemon did not stop: process {info.pid}"
    raise DaemonError(msg, hint="It may wait for a disk; end the process yourself.")


def _wait_for(
    find: Callable[[], _Found | None],
    process: subprocess.Popen[bytes] | None,
    *,
    most_s: float = _START_WAIT_S,
) -> _Found | None:
    """Wait until something is found, a process has ended, or time is up."""
    deadline = time.monotonic() + most_s
    while not (found := find()) and time.monotonic() < deadline:
        if process is not None and process.poll() is not None:
            return None
        time.sleep(_LOOK_EVERY_S)
    return found or None


# --- the files by which the system starts a daemon at login

_LABEL = "mdvec"
# Secrets do not belong into a file that starts a program.
_SECRETS = ("MDVEC_TOKEN",)
# Commands that have others do not use the daemon.
_FOLDERS = ("TZ", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")


class Unit(Struct, frozen=True):
    """A file that starts a daemon.

    Attributes:
        path: Where it goes.
        content: Its bytes.
        start: The command that starts the daemon now and at every login.
        stop: The command that ends both.
    """

    path: Path
    content: bytes
    start: str
    stop: str


def inherited(env: Mapping[str, str]) -> dict[str, str]:
    """Return mdvec's variables except tokens, and those that name folders of the user.

    Raises:
        DaemonError: If one contains a password.
    """
    variables = {
        name: value
        for name, value in env.items()
        if name in _FOLDERS or (name.startswith("MDVEC_") and name not in _SECRETS)
    }
    secret = next((name for name, value in variables.items() if without_password(value) != value), None)
    if secret is not None:
        msg = f"{secret} contains a password, which the unit's file would contain, too"
        raise DaemonError(msg, hint="Leave the password to ~/.pgpass, or set [store] location.")
    return variables


def unit_for(
    place: Path,
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    platform: str,
) -> Unit:
    """Return the file for this system, which sets the variables ``env``.

    Raises:
        DaemonError: If this system has neither systemd nor launchd.
    """
    name = f"{_LABEL}-{place.name}"
    if platform == "linux":
        path = Path(
            env.get("XDG_CONFIG_HOME") or Path.home() / ".config", "systemd", "user", f"{name}.service"
        )
        return Unit(
            path,
            _systemd_unit(command, cwd, env).encode(),
            f"systemctl --user daemon-reload && systemctl --user enable --now {path.name}",
            f"systemctl --user disable --now {path.name}",
        )
    if platform == "darwin":
        import plistlib

        path = Path.home() / "Library" / "LaunchAgents" / f"{name}.plist"
        agent = {
            "Label": name,
            "ProgramArguments": [*command],
            "WorkingDirectory": str(cwd),
            "EnvironmentVariables": {**env},
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ProcessType": "Background",
            "LowPriorityIO": True,
            "Umask": 0o077,
        }
        return Unit(
            path, plistlib.dumps(agent), f"launchctl load -w '{path}'", f"launchctl unload -w '{path}'"
        )
    msg = "there is no systemd or launchd here"
    raise DaemonError(msg, hint="Run 'mdvec daemon start' when you log in.")


def _systemd_unit(command: Sequence[str], cwd: Path, env: Mapping[str, str]) -> str:
    variables = "".join(f"Environment={_quoted(f'{name}={value}')}\n" for name, value in env.items())
    return f"""[Unit]
Description=mdvec: search over your documents

[Service]
ExecStart={" ".join(_quoted(each, in_command=True) for each in command)}
WorkingDirectory={str(cwd).replace("%", "%%")}
{variables}Restart=on-failure
RestartSec=5
Nice=10
IOSchedulingClass=idle
UMask=0077

[Install]
WantedBy=default.target
"""


def _quoted(text: str, *, in_command: bool = False) -> str:
    """Return a text as one word of a unit (systemd.syntax(7)); only commands replace variables."""
    for mark, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("%", "%%")):
        text = text.replace(mark, escaped)
    return f'"{text.replace("$", "$$") if in_command else text}"'
